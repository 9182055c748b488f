"""Black-box searches within bounds: proposals, policies, regrets, records, and errors."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import exits, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.drawing import caption, regret_figure
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats, with_dataset
from nasbench1shot1.black_box_search.simulation import Limits, TableTrainings, TrainingResult, simulate
from nasbench1shot1.cli import main
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.comparison.drawing import caption as comparison_caption
from nasbench1shot1.optimizers.black_box import reinforce
from nasbench1shot1.tables.bounds import Bounds

QUIET = Console(quiet=True)
BOUNDS = Bounds.of(trainable_parameters=300_000, flops=4e7)
WITHIN = {"max_parameters": 300_000, "max_flops": 4e7}
METHODS = (
    "random",
    "regularized-evolution",
    "non-regularized-evolution",
    "local-search",
    "reinforce",
    "hyperband",
    "bohb",
    "tpe",
)


@pytest.fixture(scope="module")
def table() -> nb.Table:
    return nb.load_table("nb201")


def study(folder: Path, optimizer: str = "random", **options: Any) -> nb.BlackBoxStudy:
    short = {"space": "nb201", "evaluations": 15, "repeats": 2, "console": QUIET}
    return nb.black_box(optimizer, out=folder, **{**short, **options})


def repeats_of(optimizer: str, table: nb.Table, **options: Any) -> Repeats:
    given = {"optimizer": optimizer, "space": "nb201", "evaluations": 15, **options}
    return Repeats(with_dataset(black_box_options(given), table), table)


@pytest.mark.parametrize("optimizer", METHODS)
def test_all_trainings_are_within_the_bounds(table: nb.Table, optimizer: str) -> None:
    found, asked = repeats_of(optimizer, table, evaluations=40, **WITHIN), []
    method = found.method(np.random.default_rng(0))
    trainings = TableTrainings(found.space, table, None, np.random.default_rng(1))

    def train(query: Query, now: float) -> TrainingResult:
        asked.append(query.architecture)
        return trainings(query, now)

    result = simulate(method, train, Limits(evaluations=40, workers=2))
    resolved = table.resolve(BOUNDS)
    assert len(asked) == result.evaluations == 40 and len(set(asked)) > 5
    assert all(resolved.allows(table, arch) for arch in asked)


def test_records_have_the_bounds_and_the_baseline(table: nb.Table, tmp_path: Path) -> None:
    made = study(tmp_path / "made", **WITHIN)
    resolved, config = table.resolve(BOUNDS), json.loads((made.folder / "config.json").read_text())
    largest = table.largest("nb201", BOUNDS)
    assert config["options"]["max_parameters"] == 300_000 and "max" not in config["options"]
    assert config["bounds"] == made.summary["bounds"]
    assert config["bounds"]["networks"] == len(table.members("nb201", resolved))
    assert config["bounds"]["network"] == largest.official
    regret = table.regret(largest, dataset="cifar10", within=resolved)
    assert made.baseline.test_regret == pytest.approx(regret) and made.baseline.bounds == resolved
    for line in made.lines:
        arch = nb.Architecture.parse(line["architecture"])
        assert line["test_regret"] == pytest.approx(table.regret(arch, dataset="cifar10", within=resolved))
        assert line["test_regret"] >= 0
        elsewhere = line["other_datasets"]["cifar100"]["test_regret"]
        assert elsewhere == pytest.approx(table.regret(arch, dataset="cifar100", within=resolved))
    figure, percentage = regret_figure([made]), f"{100 * regret:.2f} %"
    assert [text for text in figure.axes[0].get_legend_handles_labels()[1] if percentage in text]
    assert "300,000" in caption([made]) and "40,000,000" in caption([made])


def test_the_screen_states_that_a_first_population_is_random_and_what_is_measured(tmp_path: Path) -> None:
    def shown(folder: str, **options: Any) -> tuple[str, nb.BlackBoxStudy]:
        console = Console(file=StringIO(), width=200)
        made = nb.black_box(
            "regularized-evolution", space="nb201", repeats=2, out=tmp_path / folder, console=console, **options
        )
        return console.file.getvalue(), made  # type: ignore[attr-defined]

    screen, made = shown("few", evaluations=10, max_flops=4e7)
    assert made.summary["note"] in screen and "regularized-evolution is random search" in made.summary["note"]
    assert screen.count("is random search") == 1
    assert f"largest network that fits: {100 * made.baseline.test_regret:.2f} % (measured)" in screen
    screen, made = shown("many", evaluations=11)
    assert "note" not in made.summary and "random search" not in screen
    screen, made = shown("short", seconds=700.0)
    assert made.final["evaluations"].max() <= 10 and screen.count(made.summary["note"]) == 1


def test_a_study_without_bounds_records_nothing_new(tmp_path: Path) -> None:
    made = study(tmp_path / "made")
    config = json.loads((made.folder / "config.json").read_text())
    assert made.baseline is None and "bounds" not in {**config, **made.summary}
    assert not {name for name in config["options"] if name.startswith("max")}
    assert "ounds" not in caption([made])


def test_a_resumed_study_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    study(tmp_path / "made", "reinforce", repeats=1, bounds=BOUNDS)
    resumed = nb.black_box(resume=tmp_path / "made", repeats=2, console=QUIET)
    whole = study(tmp_path / "whole", "reinforce", max=str(BOUNDS))
    assert resumed.lines == whole.lines and resumed.baseline == whole.baseline
    with refuses(nb.InvalidInputError, "flops=10000000", options="max repeats"):
        nb.black_box(resume=tmp_path / "made", bounds={"flops": 1e7}, console=QUIET)


def test_studies_with_different_bounds_are_not_compared(tmp_path: Path) -> None:
    one, two = study(tmp_path / "one", **WITHIN), study(tmp_path / "two", "reinforce", bounds=str(BOUNDS))
    free, wider = study(tmp_path / "free"), study(tmp_path / "wider", max_parameters=400_000)
    for other in (free, wider):
        with refuses(nb.InvalidInputError, "300,000"):
            compare_runs([one, other])
        with refuses(nb.InvalidInputError, "300,000"):
            regret_figure([one, other])
    found = compare_runs([one, two])
    assert found.baseline == one.baseline and "300,000" in comparison_caption(found)
    axes = nb.compare([one, two])
    assert any("largest network that fits" in text.get_text() for text in axes.figure.legends[0].get_texts())
    again = compare_runs([one, two], table="nb201")
    assert again.baseline == one.baseline
    assert again.results["final_mean"].tolist() == pytest.approx(found.results["final_mean"].tolist())


class Stubborn(nb.BlackBoxOptimizer):
    """Asks for an architecture outside the bounds before each one within them."""

    rejected = 0

    def ask(self) -> Query:
        self.turn = not getattr(self, "turn", False)
        choice = 0 if self.hopeless or self.turn else 1
        return self.query(self.large_and_small[choice])

    def reject(self, query: Query) -> None:
        self.rejected += 1

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        assert query.architecture == self.large_and_small[1]


@pytest.mark.parametrize("hopeless", [False, True])
def test_any_method_is_asked_again_up_to_a_limit(
    table: nb.Table, hopeless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench1shot1.constraint.REJECTIONS", 50)
    space = nb.search_space("nb201")
    method = Stubborn(space, None, 12, (12,), np.random.default_rng(0))
    method.hopeless, method.large_and_small = hopeless, (table.network(11718), table.network(0))
    method.constrain(table.constraint(space, BOUNDS), 1.0)
    trainings = TableTrainings(space, table, None, np.random.default_rng(1))
    if hopeless:
        with refuses(nb.InvalidInputError, "50", "300,000"):
            simulate(method, trainings, Limits(evaluations=5))
    else:
        assert simulate(method, trainings, Limits(evaluations=5)).evaluations == 5 and method.rejected == 5


def test_reinforce_learns_the_conditional_policy(table: nb.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reinforce, "FEASIBILITY_SAMPLES", 40_000)
    method = repeats_of("reinforce", table, **WITHIN).method(np.random.default_rng(0))
    method.logits[:] = np.random.default_rng(3).normal(size=method.logits.shape)
    method._probabilities = method.probabilities()
    space, resolved = nb.search_space("nb201"), table.resolve(BOUNDS)
    allowed = table.allowed(resolved)
    values = np.array([space.values_of(table.network(row)) for row in np.flatnonzero(allowed)])
    likely = np.prod(method._probabilities[np.arange(6), values], axis=1)
    exact = [[likely[values[:, edge] == operation].sum() for operation in range(5)] for edge in range(6)]
    assert np.abs(method._probabilities_within() - np.array(exact) / likely.sum()).max() < 0.02
    assert np.abs(method._probabilities - np.array(exact) / likely.sum()).max() > 0.1
    gradient = method._log_gradient(table.network(int(np.flatnonzero(allowed)[0])))
    assert np.allclose(gradient.sum(axis=1), 0)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (["--max-parameters", "10"], ["--max-parameters 10", "73,306"]),
        (["--max", "latency_phone=3"], ["latency_phone"]),
        (["--max", "flops"], ["--max 'flops'"]),
        (["--max", "flops=1e8", "--max-flops", "2e8"], ["flops"]),
        (["--max-parameters", "-1"], ["--max-parameters"]),
    ],
)
def test_impossible_bounds_end_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], values: list[str]
) -> None:
    arguments = ["blackbox", "--optimizer", "random", "--space", "nb201", "--evaluations", "5", "--out"]
    with exits(capsys, *values):
        main([*arguments, str(tmp_path / "made"), *options])
    assert list(tmp_path.iterdir()) == []


def test_a_repeated_bound_adds_to_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["blackbox", "--optimizer", "random", "--space", "nb201", "--evaluations", "5", "--repeats", "1"]
    main([*arguments, "--max", "flops=4e7", "--max", "trainable_parameters=3e5", "--out", str(tmp_path / "made")])
    assert nb.open_run(tmp_path / "made").baseline.bounds == nb.load_table("nb201").resolve(BOUNDS)
    assert "largest network that fits" in capsys.readouterr().out
