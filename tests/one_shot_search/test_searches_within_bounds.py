"""One-shot searches within bounds: the recorded architectures, what optimizers see, and the record."""

import json
from pathlib import Path

import numpy as np
import pytest
import tiny_search
import torch
from refusals import exits, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.experiments.correlation.correlating import rank
from nasbench1shot1.experiments.reports import write_report
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.optimizers.enas import conditioned
from nasbench1shot1.optimizers.enas_controller import Controller, ControllerSettings
from nasbench1shot1.probability import log_softmax, preferred_within
from nasbench1shot1.tables.bounds import Bounds

QUIET = Console(quiet=True)
TINY = {**tiny_search.TINY, "epochs": 1}
SMALL = {
    "darts": {},
    "setn": {"candidates": 5, "candidate_batches": 1},
    "random-ws": {"candidates": 5, "finalists": 2, "candidate_batches": 1},
    "enas": {"candidates": 5, "finalists": 2, "candidate_batches": 1, "controller_steps": 3},
}
BOUNDS = Bounds.of(trainable_parameters=200_000)


def search(out: Path, optimizer: str = "darts", **options: object) -> nb.Run:
    given = {"space": "nb201", "max_parameters": 200_000, **TINY, **SMALL[optimizer], **options}
    return nb.search(optimizer, out=out, console=QUIET, **given)


@pytest.fixture(scope="module")
def table() -> nb.Table:
    return nb.load_table("nb201")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> nb.Run:
    return search(tmp_path_factory.mktemp("runs") / "run", keep_weights_every=1)


def test_the_record_has_the_bounds_and_regrets_within_them(run: nb.Run, table: nb.Table, tmp_path: Path) -> None:
    resolved, config = table.resolve(BOUNDS), json.loads((run.folder / "config.json").read_text())
    assert config["bounds"] == run.summary["bounds"] and config["options"]["max_parameters"] == 200_000
    assert run.baseline.networks == len(table.members("nb201", resolved))
    for line, arch in zip(run.lines, run.architectures, strict=True):
        assert resolved.allows(table, arch)
        assert line["test_regret"] == pytest.approx(table.regret(arch, dataset="cifar10", within=resolved))
        assert line["test_regret"] >= 0
        elsewhere = line["other_datasets"]["ImageNet16-120"]["test_regret"]
        expected = table.regret(arch, dataset="ImageNet16-120", within=resolved)
        assert elsewhere == pytest.approx(expected)
    assert rescore(run, table).equals(run.metrics)
    assert write_report(run, table, tmp_path / "report")["bounds"] == run.summary["bounds"]
    axes = regret_figure([run], [run.metrics], table).axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert any("mean within the bounds" in text for text in labels)
    assert any(
        f"largest network that fits on cifar10 ({100 * run.baseline.test_regret:.2f} %" in text for text in labels
    )
    assert nb.draw_regret(run).get_legend_handles_labels()[1][-1] in labels


@pytest.mark.parametrize("optimizer", ["setn", "random-ws", "enas"])
def test_sampling_methods_choose_within_the_bounds(tmp_path: Path, table: nb.Table, optimizer: str) -> None:
    made, resolved = search(tmp_path / "run", optimizer), table.resolve(BOUNDS)
    assert all(resolved.allows(table, arch) for arch in made.architectures)


def test_a_search_without_bounds_records_nothing_new(tmp_path: Path) -> None:
    made = search(tmp_path / "run", max_parameters=None)
    config = json.loads((made.folder / "config.json").read_text())
    assert made.baseline is None and "bounds" not in {**config, **made.summary}
    assert not {name for name in config["options"] if name.startswith("max")}
    stored = torch.load(made.folder / "checkpoint.pt", weights_only=True)
    assert not {name for name in stored["run"] if name.startswith("max")}


def test_a_longer_search_continues_within_the_bounds(run: nb.Run, tmp_path: Path) -> None:
    short = search(tmp_path / "short")
    grown = nb.search(resume=short.folder, epochs=2, console=QUIET)
    assert grown.baseline == run.baseline and len(grown.lines) == 3
    with refuses(nb.InvalidInputError, "100000.0", options="max_parameters epochs"):
        nb.search(resume=short.folder, max_parameters=100_000, console=QUIET)


@pytest.mark.parametrize("seed", range(5))
def test_the_preferred_architecture_is_the_most_probable_one_within_the_bounds(table: nb.Table, seed: int) -> None:
    space = nb.search_space("nb201")
    constraint = table.constraint(space, Bounds.of(trainable_parameters=120_000, flops=3e7), "cifar10")
    logits = 3 * np.random.default_rng(seed).normal(size=space.mixing_shapes()["operations"])
    parameters = {"operations": torch.tensor(logits)}
    preferred = space.discretise(parameters)
    found = preferred_within(constraint, preferred, space, parameters)
    fitting = [space[number] for number in range(len(space)) if constraint.allows(space[number])]
    values = np.array([space.values_of(arch) for arch in fitting])
    scores = log_softmax(logits)[np.arange(6), values].sum(axis=1)
    assert found == fitting[int(np.argmax(scores))]
    assert preferred_within(constraint, found, space, parameters) is found
    assert preferred_within(None, preferred, space, parameters) is preferred


def test_enas_subtracts_the_log_probability_of_the_bounds() -> None:
    space = nb.search_space("nb201")
    controller = Controller(space, ControllerSettings(), torch.Generator().manual_seed(0))
    drawn = controller.sample(torch.Generator().manual_seed(1), 8)
    kept = [2, 3, 7]
    found = conditioned(drawn, kept)
    assert found.architectures == (drawn.architectures[2],)
    assert [picks.tolist() for picks in found.decisions] == [picks[[2]].tolist() for picks in drawn.decisions]
    expected = drawn.log_probability[2] - drawn.log_probability[[3, 7]].mean()
    assert torch.equal(found.log_probability, expected[None]) and torch.equal(found.entropy, drawn.entropy[[2]])
    assert conditioned(drawn, [5]).log_probability.tolist() == [0]


def test_a_ranking_has_only_architectures_within_the_bounds(run: nb.Run, table: nb.Table, tmp_path: Path) -> None:
    given = {"architectures": 20, "images": 40, "epochs": 1, "resamples": 2, "budgets": 200, "console": QUIET}
    ranking = rank(run, out=tmp_path / "own", **given)
    assert ranking.config["max_parameters"] == 200_000 and "200000" in ranking.summary["bounds"]
    space, resolved = nb.search_space("nb201"), table.resolve(BOUNDS)
    numbers = ranking.scores(1).numbers
    assert len(numbers) == 20 and all(resolved.allows(table, space[int(number)]) for number in numbers)


def test_impossible_bounds_end_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", "--scale", "quick", "--space", "nb201", "--out", str(tmp_path / "made")]
    for options, values in (
        (["--max-parameters", "5"], ["--max-parameters 5", "73,306"]),
        (["--max", "test_loss=1"], ["test loss"]),
        (["--max", "x"], ["--max 'x'"]),
    ):
        with exits(capsys, *values):
            main([*arguments, *options])
        assert list(tmp_path.iterdir()) == []
