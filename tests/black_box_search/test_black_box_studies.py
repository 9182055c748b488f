"""Black-box studies: their records, determinism, resumption, processes and bad input."""

import dataclasses
import gc
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
from black_box_tables import s1_table, smooth_table
from command_line import command, new_process
from forked_jobs import fork_jobs
from killed_run import assert_killed
from refusals import fails, missing, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search import studying
from nasbench1shot1.black_box_search.drawing import caption, zero_note
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.display.axes import ZERO_NOTE, save_figure
from nasbench1shot1.display.curves import Pooled, Statistic, pool_values
from nasbench1shot1.display.style import Spread
from nasbench1shot1.evaluator import ELSEWHERE
from nasbench1shot1.ground.text import percent
from nasbench1shot1.tables.columns import Column

QUIET = Console(quiet=True)
SHORT = {"space": "s1", "evaluations": 30, "console": QUIET}


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of searches run in forked processes, which start quickly."""
    fork_jobs(monkeypatch)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render pictures in this test."""
    monkeypatch.setattr(studying, "save_figure", save_figure)


def study(folder: Path, optimizer: Any = "random", **options: Any) -> nb.BlackBoxStudy:
    return nb.black_box(optimizer, out=folder, **{"repeats": 4, **SHORT, **options})


class Spy(nb.BlackBoxOptimizer):
    """Random search that searches every reachable object for test values."""

    def ask(self) -> Query:
        return self.query(self.space.sample(self.rng))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        seen, waiting = set(), [vars(self), query, validation_error, seconds]
        while waiting:
            found = waiting.pop()
            if id(found) in seen or isinstance(found, type | str) or type(found).__name__ in ("module", "function"):
                continue
            seen.add(id(found))
            assert not isinstance(found, nb.Table | nb.Metrics)
            waiting.extend(gc.get_referents(found))


@pytest.mark.usefixtures("rendered")
def test_final_results_and_trajectory_of_a_study(tmp_path: Path) -> None:
    made = study(tmp_path / "made")
    table = nb.load_table("embedded")
    assert isinstance(nb.open_run(made.folder), nb.BlackBoxStudy)
    for changed in (made.final, made.trajectory):
        changed["test_regret"] *= 100
    assert list(made.final["repeat"]) == [0, 1, 2, 3]
    assert made.trajectory.groupby("repeat")["test_regret"].last().tolist() == made.final["test_regret"].tolist()
    for row in made.final.itertuples():
        arch = nb.Architecture.parse(row.architecture)
        known = table.query(arch)
        assert row.evaluations == 30
        assert row.validation_error == 1 - known.validation_accuracy
        assert row.test_error == 1 - known.test_accuracy
        assert row.test_regret == table.regret(arch)
        own = made.trajectory[made.trajectory["repeat"] == row.repeat]
        assert own["validation_error"].is_monotonic_decreasing and own["validation_error"].is_unique
        assert own["simulated_seconds"].is_monotonic_increasing
        assert own.iloc[-1]["architecture"] == row.architecture
        assert own.iloc[-1]["simulated_seconds"] <= row.simulated_seconds
    assert made.summary["test_regret"]["mean"] == pytest.approx(made.final["test_regret"].mean())
    assert (made.folder / "regret.png").stat().st_size > 10_000
    axes = nb.draw_regret(made)
    drawn = axes.get_lines()[0]
    assert (axes.get_xlabel(), drawn.get_xdata()[-1]) == ("evaluations", 30)
    assert drawn.get_ydata()[-1] == drawn.get_ydata()[-2] == pytest.approx(100 * made.final["test_regret"].mean())


def test_a_curve_ends_with_the_longest_search_and_where_a_regret_is_unknown(tmp_path: Path) -> None:
    made = study(tmp_path / "made", evaluations=None, seconds=6e4)
    axes, longest = nb.draw_regret(made), made.final["simulated_seconds"].max()
    whole = axes.get_lines()[0]
    assert axes.get_xlabel() == "simulated seconds"
    assert whole.get_xdata()[-1] == made.regret_curve().at.max() == longest < 6e4
    lines = [json.loads(line) for line in (made.folder / "metrics.jsonl").read_text().splitlines()]
    last = max((line["incumbents"][-1] for line in lines), key=lambda entry: entry[0])
    last[-1] = None  # as in a table without its test error
    (made.folder / "summary.json").unlink()
    (made.folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    part = nb.draw_regret(made.folder).get_lines()[0]
    known = np.where(whole.get_xdata() < last[0], whole.get_ydata(), np.nan)
    assert np.isnan(known[-1]) and not np.isnan(known[0])
    np.testing.assert_array_equal(part.get_ydata(), known)


def test_nb201_is_scored_on_all_data_sets(tmp_path: Path) -> None:
    made = study(tmp_path / "made", space="nb201", evaluations=None)
    assert (made.config["seconds"], made.config["epochs"]) == (12_000.0, 12)
    assert made.final["simulated_seconds"].between(11_000, 12_000).all()
    table = nb.load_table("nb201")
    for row in made.final.to_dict("records"):
        arch = nb.Architecture.parse(row["architecture"])
        assert row["test_error"] == 1 - table.query(arch, dataset="cifar10").test_accuracy
        assert row["test_error/cifar100"] == 1 - table.query(arch, dataset="cifar100").test_accuracy
        assert row["test_regret/ImageNet16-120"] == table.regret(arch, dataset="ImageNet16-120")


def test_multi_fidelity_methods_use_only_budgets_available_for_the_data_set(tmp_path: Path) -> None:
    whole = nb.load_table("nb201")
    some = Column(metric="validation_loss", quantity="loss", unit="nats", direction="lower", dataset="cifar100")
    losses = np.full((len(whole), 2, 1), 0.5)
    losses[10:, 1] = np.nan
    table = whole.with_column(replace(some, epochs=(12, 200), split="validation"), losses)
    assert [table.epochs_of(f"validation_{name}", "cifar100") for name in ("accuracy", "loss")] == [(12, 200), (12,)]
    table.save(tmp_path / "table")
    given: dict[str, Any] = {"dataset": "cifar100", "objective": "validation_loss", "table": tmp_path / "table"}
    made = study(tmp_path / "made", optimizer="hyperband", space="nb201", repeats=1, **given)
    assert list(made.config["feedback_repeats"]) == ["12"]


@pytest.mark.parametrize(
    ("options", "epochs"),
    [
        ({"optimizer": "random", "epochs": 36}, "36 epochs"),
        ({"optimizer": "hyperband"}, "4, 12, 36 or 108 epochs"),
        ({"optimizer": "bohb", "space": "nb201"}, "12 or 200 epochs"),
        ({"optimizer": "bohb", "space": "nb201", "budgets": "ignored"}, "12 epochs"),
    ],
)
def test_the_screen_names_the_budgets_of_the_optimizer(tmp_path: Path, options: dict[str, Any], epochs: str) -> None:
    console = Console(file=io.StringIO(), width=200)
    study(tmp_path / "made", repeats=1, **{**options, "evaluations": 3, "console": console})
    assert f"data set cifar10, {epochs} per training\n" in console.file.getvalue()


@pytest.mark.parametrize("optimizer", ["hyperband", "bohb"])
@pytest.mark.parametrize(("space", "epochs"), [("s1", 36), ("nb201", 12)])  # 12: the usual budget on nb201
def test_methods_with_brackets_of_budgets_refuse_a_budget(
    tmp_path: Path, optimizer: str, space: str, epochs: int
) -> None:
    with refuses(nb.InvalidInputError, epochs, "all budgets", options="epochs"):
        study(tmp_path / "made", optimizer=optimizer, space=space, epochs=epochs)
    assert not (tmp_path / "made").exists()


def test_bohb_trains_at_the_given_budget_if_it_ignores_the_budgets_of_its_brackets(tmp_path: Path) -> None:
    given = {"optimizer": "bohb", "space": "nb201", "budgets": "ignored", "evaluations": 3, "repeats": 1}
    made = study(tmp_path / "made", epochs=200, **given)
    assert made.config["epochs"] == 200 and list(made.config["feedback_repeats"]) == ["200"]


def test_the_budget_of_a_metric_does_not_limit_methods_that_train_at_its_budgets(tmp_path: Path) -> None:
    """The default of --epochs, 12 on nb201, has no values here."""
    whole = nb.load_table("nb201")
    losses = np.full((len(whole), 2, 1), [[np.nan], [0.5]])
    column = Column(metric="validation_loss", quantity="loss", unit="nats", direction="lower", dataset="cifar100")
    whole.with_column(replace(column, epochs=(12, 200), split="validation"), losses).save(tmp_path / "table")
    given: dict[str, Any] = {"dataset": "cifar100", "objective": "validation_loss", "table": tmp_path / "table"}
    short = {"space": "nb201", "evaluations": 4, "repeats": 1}
    made = study(tmp_path / "made", optimizer="hyperband", **short, **given)
    assert list(made.config["feedback_repeats"]) == ["200"]
    with refuses(nb.OutOfDomainError, 200, 12, options="epochs"):
        study(tmp_path / "random", optimizer="random", **short, **given)


@pytest.mark.parametrize(
    ("limit", "least", "needed"),
    [
        ({"seconds": 1.0}, 2_685 * 108, "289,980 simulated seconds"),
        ({"seconds": 1.0, "epochs": 4}, 2_685 * 4, "10,740 simulated seconds"),
        ({"seconds": 1.0, "optimizer": "hyperband"}, 2_685 * 108, "289,980 simulated seconds"),
        ({"seconds": 1.0, "simulated_workers": 10}, 28_998, "289,980 simulated seconds"),
        ({"seconds": 1.0, "decision_seconds": 2.0}, 2_685 * 110, "295,350 simulated seconds"),
        ({"evaluations": 1}, 2_685, "2,685 trainings"),
    ],
)
def test_a_limit_within_which_all_networks_could_be_trained_is_noted(
    limit: dict[str, Any], least: int, needed: str
) -> None:
    def note(value: float) -> str:
        given = {"optimizer": "random", "space": "s1", **limit, next(iter(limit)): value}
        return Repeats(black_box_options(given), smooth).exhaustive_note()

    smooth = smooth_table()
    assert note(least - 1) == "" and f"all 2,685 networks of s1 for {limit.get('epochs', 108)} epochs" in note(least)
    assert f"({needed})" in note(least)


def test_all_networks_within_bounds_and_values_without_training_are_noted() -> None:
    def note(**given: Any) -> str:
        options = black_box_options({"optimizer": "random", "space": "nb201", "dataset": "cifar10", **given})
        return Repeats(options, nb.load_table("nb201")).exhaustive_note()

    few = int((nb.load_table("nb201").query(list(nb.search_space("nb201")), dataset="cifar10")["flops"] <= 2e7).sum())
    bounded = note(evaluations=few, max_flops=2e7)
    assert f"train all {few:,} networks of nb201 within the bounds for 12 epochs" in bounded
    assert note(evaluations=few - 1, max_flops=2e7) == ""
    assert "evaluate all 15,625 networks of nb201: lower" in note(evaluations=15_625, objective="flops")


def test_the_screen_notes_that_all_networks_could_be_trained(tmp_path: Path) -> None:
    def screen(evaluations: int) -> str:
        out = tmp_path / str(evaluations)
        console = Console(file=io.StringIO(), width=300)
        nb.black_box("random", space="s1", evaluations=evaluations, repeats=1, out=out, console=console)
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    assert "networks of s1" not in screen(2_684) and screen(2_685).count("all 2,685 networks of s1") == 1


def test_a_search_is_determined_by_its_seed_and_number(tmp_path: Path) -> None:
    first, again = study(tmp_path / "a"), study(tmp_path / "b")
    assert first.lines == again.lines
    assert len({line["architecture"] for line in first.lines}) > 1
    assert study(tmp_path / "c", repeats=2).lines == first.lines[:2]
    assert study(tmp_path / "d", seed=1).lines != first.lines


def test_the_number_of_repeats_of_a_study_can_only_grow(tmp_path: Path) -> None:
    whole, short = study(tmp_path / "whole", repeats=6), study(tmp_path / "short", repeats=3)
    grown = nb.black_box(resume=short.folder, repeats=6, console=QUIET)
    assert grown.lines == whole.lines
    assert grown.summary == whole.summary
    with refuses(nb.InvalidInputError, 6, 5, options="repeats"):
        nb.black_box(resume=short.folder, repeats=5, console=QUIET)
    with refuses(nb.InvalidInputError, 31, options="evaluations repeats"):
        nb.black_box(resume=short.folder, evaluations=31, console=QUIET)


class Mute(nb.BlackBoxOptimizer):
    """Proposes nothing."""

    def ask(self) -> None:
        return None

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        raise AssertionError


def test_an_optimizer_that_proposes_nothing_is_named(tmp_path: Path) -> None:
    with refuses(nb.InvalidInputError, "Mute.ask()", None):
        study(tmp_path / "mute", Mute)


class Impostor(nb.BlackBoxOptimizer):
    """Proposes architectures of s3 under the name of s1."""

    def ask(self) -> Query:
        return self.query(dataclasses.replace(nb.search_space("s3").sample(self.rng), space="s1"))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        pass


def test_an_architecture_under_the_name_of_another_space_is_refused(tmp_path: Path) -> None:
    with refuses(nb.InvalidInputError, "s1", 4):
        study(tmp_path / "made", Impostor)


@pytest.mark.usefixtures("rendered")
def test_a_free_incumbent_without_regret_is_drawn_at_the_lower_edge(tmp_path: Path) -> None:
    s1_table(np.full((2685, 4, 1), 0.5), np.zeros((2685, 4, 1))).save(tmp_path / "table")
    made = study(tmp_path / "made", table=str(tmp_path / "table"), evaluations=3)
    assert (made.trajectory["simulated_seconds"] == 0).all()
    assert (made.folder / "regret.png").stat().st_size > 10_000
    axes = nb.draw_regret(made)
    assert set(axes.get_lines()[0].get_ydata()) == {axes.get_ylim()[0]}
    assert axes.figure.caption.endswith(f"\n{ZERO_NOTE}")
    assert caption([made]).endswith(f"\n{ZERO_NOTE}")


def test_a_band_that_is_cut_at_zero_is_called_so(tmp_path: Path) -> None:
    accuracies = np.full((2685, 4, 1), 0.9)
    accuracies[::8] = 0.1
    s1_table(accuracies, np.ones((2685, 4, 1))).save(tmp_path / "table")
    made = study(tmp_path / "made", table=str(tmp_path / "table"), evaluations=1, repeats=12)
    assert 0 < made.final["test_regret"].mean() < made.final["test_regret"].std()
    legend = nb.draw_regret(made).figure.legends[0].get_title().get_text()
    assert legend == "mean and 95 % confidence interval (cut at 0), 12 searches"
    assert "cut" not in nb.draw_regret(made, spread="range").figure.legends[0].get_title().get_text()


def test_zeros_of_a_median_are_noted_where_the_mean_is_positive() -> None:
    def regret_curve(spread: Spread, statistic: Statistic) -> Pooled:
        return pool_values([1.0], [[0.0], [0.0], [0.3]], spread=spread, statistic=statistic)

    shown: Any = SimpleNamespace(regret_curve=regret_curve)
    assert (zero_note([shown]), zero_note([shown], "median")) == ("", ZERO_NOTE)


def test_without_test_values_a_study_has_no_picture(tmp_path: Path) -> None:
    accuracies = np.random.default_rng(0).random((2685, 4, 1))
    s1_table(accuracies, np.ones((2685, 4, 1)), np.full((2685, 4, 1), np.nan)).save(tmp_path / "table")
    made = study(tmp_path / "made", table=str(tmp_path / "table"))
    assert made.is_finished and made.summary["test_regret"] is None
    assert made.final["test_regret"].isna().all() and made.final["validation_regret"].notna().all()
    assert not (made.folder / "regret.png").exists()


def test_a_single_search_has_no_spread_on_screens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A standard deviation of one value does not exist."""
    made = study(tmp_path / "made", repeats=1, evaluations=10, console=Console(width=200))
    cli.main(["report", str(made.folder)])
    said = capsys.readouterr().out
    assert "1 search of 10 trainings\n" in said
    regret = percent(made.final["test_regret"].item())
    assert said.count(f"Test regret of the final incumbent: {regret} (") == 2 and "±" not in said
    assert said.count(f"{regret} ({'measured' if made.summary['measured_test_errors'] else 'predicted'})") == 2
    assert f"{regret} (" in made._repr_html_() and "deviation" not in made._repr_html_()


def test_a_report_does_not_call_exact_values_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = study(tmp_path / "made", objective="trainable_parameters")
    cli.main(["report", str(made.folder)])
    said = capsys.readouterr().out
    assert "Regret in trainable parameters of the final incumbents: " in said and "measured" not in said


def test_resuming_with_another_optimizer_is_reported(tmp_path: Path) -> None:
    made = study(tmp_path / "made", "local-search", repeats=1)
    with refuses(nb.InvalidInputError, "local-search", "random", options="optimizer"):
        nb.black_box("random", resume=made.folder, console=QUIET)


KILLED = """
import os, signal, sys
import nasbench1shot1 as nb
from nasbench1shot1.runs.writer import RunWriter
append, count = RunWriter.append_line, [0]
def append_and_die(self, line):
    append(self, line)
    count[0] += 1
    if count[0] == 2:
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write('{"repeat": 2, "archi')
        os.kill(os.getpid(), signal.SIGKILL)
RunWriter.append_line = append_and_die
nb.black_box("random", space="s1", evaluations=30, repeats=5, out=sys.argv[1])
"""


def test_a_killed_study_resumes_to_the_same_record(tmp_path: Path) -> None:
    whole = study(tmp_path / "whole", repeats=5)
    assert_killed(KILLED, tmp_path / "killed", str(tmp_path / "killed"))
    resumed = nb.black_box(resume=tmp_path / "killed", console=QUIET)
    assert (resumed.folder / "metrics.jsonl").read_bytes() == (whole.folder / "metrics.jsonl").read_bytes()
    assert resumed.summary == whole.summary


SCRIPT = """
import nasbench1shot1 as nb
from nasbench1shot1.optimizers.black_box.random_search import RandomSearch
class Own(RandomSearch):
    pass
nb.black_box(Own, space="s1", evaluations=3, repeats=1, out="here")
nb.black_box(Own, space="s1", evaluations=3, repeats=1, out="there", workers=2)
"""


def test_a_class_defined_in_a_script_searches_only_in_its_own_process(tmp_path: Path) -> None:
    assert not missing(new_process(code=SCRIPT, cwd=tmp_path).stderr, "InvalidInputError: Own")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_an_optimizer_cannot_reach_test_values(tmp_path: Path) -> None:
    assert len(study(tmp_path / "spied", Spy, repeats=1, evaluations=3).final) == 1


def test_any_table_that_contains_the_space_can_be_used(tmp_path: Path) -> None:
    smooth_table().save(tmp_path / "table")
    made = study(tmp_path / "made", table=str(tmp_path / "table"), evaluations=None, seconds=108 * 40 + 1.0)
    assert made.config["epochs"] is None
    assert (made.final["evaluations"] == 40).all()
    assert made.final["test_measured"].all()
    assert np.allclose(made.final["simulated_seconds"], 108 * 40)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"optimizer": "randm"}, "randm random"),
        ({"optimizer": "darts"}, "darts nb.search"),
        ({"population": 5}, "population= random regularized-evolution"),
        ({"evaluations": 0}, "evaluations 0"),
        ({"epochs": 5}, "5"),
        ({"space": "nb201", "table": "embedded"}, "embedded nb201"),
        ({"space": "nb101"}, "357,513 423,624 nb101"),
        ({"space": "s1", "dataset": "cifar100"}, "cifar100 cifar10"),
        ({"dataset": "cifar11", "space": "nb201"}, "cifar11"),
        ({"evaluations": None, "seconds": 3.0}, "0 3"),
        ({"space": "s9"}, "s9"),
        ({"repeats": 0}, "repeats 0"),
        ({"workers": 0}, "workers 0"),
    ],
)
def test_bad_options_are_reported_in_one_sentence_and_leave_no_folder(
    tmp_path: Path, options: dict[str, Any], values: str
) -> None:
    with refuses(nb.UserError, *values.split()):
        nb.black_box(**{"optimizer": "random", "out": tmp_path / "bad", "repeats": 2, **SHORT, **options})
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("change", "values"),
    [
        (lambda lines: lines[1].update(repeat=3), "metrics.jsonl"),
        (lambda lines: lines[1].update(incumbents=[]), "incumbent"),
        (lambda lines: lines[1]["incumbents"][0].__setitem__(0, "soon"), "1 incumbent"),
        (lambda lines: lines[0].update(other_datasets={"cifar100": {}}), "1 other_datasets"),
        (lambda lines: lines[1].update(other_datasets={"cifar100": {}}), "2 other_datasets"),
        (lambda lines: lines[1].update(other_datasets={"cifar100": dict.fromkeys(ELSEWHERE)}), "1 other 0"),
        (lambda lines: lines[0].update(test_regret="high"), "test_regret"),
    ],
)
def test_damaged_lines_are_refused(tmp_path: Path, change: Any, values: str) -> None:
    made = study(tmp_path / "made", repeats=2)
    lines = [json.loads(line) for line in (made.folder / "metrics.jsonl").read_text().splitlines()]
    change(lines)
    (made.folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with refuses(nb.DamagedFileError, *values.split()):
        nb.open_run(made.folder).final  # noqa: B018


@pytest.mark.parametrize(
    "changes",
    [
        {"test_regret": 0.01},
        {"test_regret": {"mean": 0.01}},
        {"test_regret": dict.fromkeys(("mean", "std", "median", "min", "max"))},
        {"mean_evaluations": None},
        {"measured_test_errors": "all"},
    ],
)
def test_a_damaged_summary_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = study(tmp_path / "made", repeats=2)
    (made.folder / "summary.json").write_text(json.dumps({**made.summary, **changes}))
    with refuses(nb.DamagedFileError, made.folder / "summary.json", *changes):
        nb.open_run(made.folder).result  # noqa: B018


def test_a_study_without_a_search_has_no_curve(tmp_path: Path) -> None:
    made = study(tmp_path / "made", repeats=2)
    for name in ("summary.json", "metrics.jsonl"):
        (made.folder / name).unlink()
    with refuses(nb.InvalidInputError, made.folder):
        nb.open_run(made.folder).regret_curve()


def test_a_finished_study_that_was_changed_is_not_resumed(tmp_path: Path) -> None:
    made = study(tmp_path / "made", repeats=2)
    metrics = made.folder / "metrics.jsonl"
    changed = metrics.read_text().replace('"evaluations": 30', '"evaluations": 29')
    metrics.write_text(changed)
    with refuses(nb.DamagedFileError, metrics, "summary.json"):
        nb.black_box(resume=made.folder, repeats=3, console=QUIET)
    assert metrics.read_text() == changed
    assert json.loads((made.folder / "summary.json").read_text()) == made.summary


def test_the_command_searches_and_resumes(tmp_path: Path) -> None:
    options = ("--optimizer", "random", "--space", "s1", "--evaluations", "10", "--repeats", "3", "--out", "study")
    ended = command("blackbox", *options, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "Test regret of the final incumbents" in ended.stdout
    assert re.search(r"\((measured|partly predicted: [12] of 3 values are measured|predicted)\)", ended.stdout)
    again = command("blackbox", "--resume", "study", "--repeats", "4", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "3 searches already recorded" in again.stdout
    assert isinstance(nb.open_run(tmp_path / "study").trajectory, pandas.DataFrame)
    shutil.rmtree(tmp_path / "study")
    fails(command("blackbox", "--optimizer", "random", "--population", "3", cwd=tmp_path), "--population", "random")
    assert list(tmp_path.iterdir()) == []
