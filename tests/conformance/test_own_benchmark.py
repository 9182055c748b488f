"""docs/own_benchmark.md: a third benchmark outside the package is searched, ranked, queried, compared and drawn."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
import tiny_training
import torch
import warm_process
from command_line import CODE
from conftest import CHECKOUT
from pages import blocks_of, broken_links
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.conformance.black_box_optimizer import BlackBoxOptimizerConformance
from nasbench1shot1.conformance.optimizer import OptimizerConformance
from nasbench1shot1.conformance.search_space import OneShotSpaceConformance
from nasbench1shot1.conformance.table import TableConformance
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizers.widths import used_samples

EXAMPLE = CHECKOUT / "tests" / "conformance" / "third_party_benchmark"
PAGE = CHECKOUT / "docs" / "own_benchmark.md"
FILES = ("benchmark.py", "space.py", "network.py", "training.py", "table.py")
SEARCH = ["search", "--space", "widths", "--scale", "quick", "--channels", "8", "--images-per-half", "400"]
SEARCH += ["--batch-size", "20", "--learning-rate", "0.3", "--threads", "1", "--out"]
LOWEST = 1.5722867  # of latency_phone, in ms: the narrowest network


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which pip installed the package, with its entry points."""
    project, folder = tmp_path_factory.mktemp("project") / "package", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "install", *offline, "--target", folder, project], check=True)
    return folder


@pytest.fixture(autouse=True)
def registered(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Find the installed package, and forget its modules afterwards."""
    monkeypatch.syspath_prepend(str(installed))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "small_widths"]:
        del sys.modules[name]


def run(words: list[str], cwd: Path, path: Path) -> str:
    """Output of a command in a separate process that finds the installed package."""
    done = warm_process.python(f"import sys; sys.path.insert(0, {str(path)!r}); {CODE}", *words, cwd=cwd)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


class TestSpace(OneShotSpaceConformance):
    @pytest.fixture
    def space(self) -> Any:
        return nb.search_space("widths")


class TestTable(TableConformance):
    @pytest.fixture
    def table(self) -> nb.Table:
        return nb.load_table("small-widths")


class TestGDAS(OptimizerConformance):
    @pytest.fixture
    def optimizer(self) -> str:
        return "gdas"

    @pytest.fixture(params=["widths"])
    def space(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def searched_space(self) -> str:
        return "widths"


class TestEvolution(BlackBoxOptimizerConformance):
    @pytest.fixture
    def optimizer(self) -> str:
        return "regularized-evolution"

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"population": 10, "tournament": 3}

    @pytest.fixture(params=["widths"])
    def space(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)


@pytest.mark.parametrize("name", FILES)
def test_the_page_shows_the_tested_files(name: str) -> None:
    assert (EXAMPLE / "small_widths" / name).read_text() in blocks_of(PAGE, "python")
    assert (EXAMPLE / "pyproject.toml").read_text() in blocks_of(PAGE, "toml")


def test_the_links_of_the_page_resolve() -> None:
    assert broken_links(PAGE) == []


def test_every_command_works_on_the_benchmark(installed: Path, tmp_path: Path) -> None:
    found = run([*SEARCH, "darts", "--epochs", "3", "--keep-weights-every", "1"], tmp_path, installed)
    assert "the mean over all architectures of widths is" in found
    assert (tmp_path / "darts" / "cells.png").is_file()
    run([*SEARCH, "random-ws", "--epochs", "1", "--optimizer", "random-ws"], tmp_path, installed)
    ranked = ["correlate", "darts", "--images", "200", "--resamples", "2", "--architectures", "12"]
    assert "True test errors after 9 epochs: measured" in run(ranked, tmp_path, installed)
    run(
        ["blackbox", "--space", "widths", "--repeats", "2", "--evaluations", "5", "--out", "study"], tmp_path, installed
    )
    run(["compare", "darts", "random-ws", "study", "--out", "comparison"], tmp_path, installed)
    assert "random-ws" in (tmp_path / "comparison" / "comparison.csv").read_text()
    assert "Test regret" in run(["report", "darts"], tmp_path, installed)
    queried = run(["query", "widths:4-2-1", "--draw", "cell.png"], tmp_path, installed)
    assert all(word in queried for word in ("latency_phone", "2.689 ms", "7,000", "test regret in widths"))
    assert matplotlib.image.imread(tmp_path / "cell.png").ndim == 3
    assert "latency_phone" in run(["table", "info", "--table", "small-widths"], tmp_path, installed)
    assert "64" in run(["space", "widths"], tmp_path, installed)
    searched = nb.load_run(tmp_path / "darts")
    assert (searched.config["space"], searched.config["table"]) == ("widths", "small-widths")
    assert all(line["architecture"].startswith("widths:") for line in searched.lines)


def test_a_new_column_is_queried_and_ranked_by_its_description() -> None:
    table, space = nb.load_table("small-widths"), nb.search_space("widths")
    every = list(space.architectures("all"))
    latency = table.query(every)["latency_phone"]
    fastest, metrics = table.best("widths", metric="latency_phone")
    assert metrics.latency_phone == latency.min() == pytest.approx(LOWEST)
    np.testing.assert_array_equal(table.regret(every, metric="latency_phone"), latency - latency.min())
    assert table.regret(fastest, metric="latency_phone") == 0
    assert table.about("latency_phone").device == "phone"


def test_mixing_weights_reach_the_stem_and_the_reductions() -> None:
    """Widths differ from place to place; a single path equals one-hot weights, also with one set for each image."""
    space = nb.search_space("widths")
    net = nb.Supernet(space, channels=8, cells=3, generator=torch.Generator().manual_seed(0)).eval().double()
    images = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1)).double()
    kinds = [(place.kind, place.stage, place.stride, place.side) for place in net.places]
    assert kinds == [
        ("stem", 0, 1, 32), ("cell", 0, 1, 32), ("reduction", 1, 2, 32), ("cell", 1, 1, 16),
        ("reduction", 2, 2, 16), ("cell", 2, 1, 8), ("head", 2, 1, 8),
    ]  # fmt: skip
    assert [space.is_mixed(place) for place in net.places] == [True] * 6 + [False]
    one, other = space[3], space[40]
    for arch in (one, other):
        weights = net.discrete_mixing(arch)
        torch.testing.assert_close(net(images, arch), net(images, weights))
        torch.testing.assert_close(net(images, arch), net(images, weights, operations=arch.widths))
    together = net(images, net.discrete_mixing([one, other]))
    torch.testing.assert_close(together, torch.stack([net(images, one)[0], net(images, other)[1]]))
    mixing = {"widths": torch.full((3, 4), 0.25, dtype=torch.float64, requires_grad=True)}
    net(images, mixing).sum().backward()
    assert (mixing["widths"].grad[:, -1] != 0).all()


@pytest.mark.parametrize("draws", [1, 4, 6])
def test_methods_for_widths_know_which_draws_decide_about_which_layers(draws: int) -> None:
    """The passes of TuNAS depend on exactly the draws whose probabilities it learns."""
    space, generator = nb.search_space("widths"), torch.Generator().manual_seed(2)
    own = search_options({"optimizer": "tunas", "space": "widths", "device": "cpu", "draws": draws}).own
    method = registry.optimizer("tunas")(space, own, generator, torch.device("cpu"))
    method.begin_epoch(1, 1, generator)
    net = nb.Supernet(space, channels=8, cells=3, generator=torch.Generator().manual_seed(0))
    positions = method._draw()
    assert positions.shape == (draws, 3)
    mixing = [{"widths": torch.eye(4)[of_sample].requires_grad_()} for of_sample in positions]
    net(torch.randn(2, 3, 8, 8, generator=generator), mixing).square().sum().backward()
    reached = {(sample, row) for sample in range(draws) for row in range(3) if mixing[sample]["widths"].grad[row].any()}
    assert reached == set(used_samples(space.layer_rows, draws))
    logarithms = method.parameters["widths"].detach().log_softmax(dim=-1)
    wanted = sum(logarithms[row, positions[sample, row]] for sample, row in reached)
    torch.testing.assert_close(method.log_probability(positions).detach(), wanted)
    cells = {1: (0, 0, 0), 4: (1, 3, 1), 6: (1, 3, 5)}[draws]  # the cell of a stage is its last layer
    assert method.drawn_architecture(positions).widths == tuple(int(positions[cells[row], row]) for row in range(3))


def test_tunas_searches_widths(tmp_path: Path) -> None:
    small = {"scale": "quick", "channels": 8, "images_per_half": 200, "batch_size": 20, "epochs": 2, "threads": 1}
    for draws in (1, 6):
        found = nb.search("tunas", space="widths", draws=draws, out=tmp_path / str(draws), **small)
        assert all(line["architecture"].startswith("widths:") for line in found.lines)


def test_captions_do_not_explain_weights_that_graphs_do_not_show(tmp_path: Path) -> None:
    small: dict[str, Any] = {"scale": "quick", "images_per_half": 40, "batch_size": 20, "epochs": 1, "device": "cpu"}
    run = nb.search("darts", space="widths", out=tmp_path / "run", console=Console(quiet=True), threads=1, **small)
    caption = nb.draw_cells(run)[0].figure.caption
    assert caption.splitlines() == ["darts on widths, seed 0", f"table {run.config['table_id']}"]
    page = nb.write_report_page(run, tmp_path / "report.html").read_text()
    assert '"meaning":""' in page and "line widths" not in page.partition('id="data"')[2].partition("</script>")[0]


def test_a_network_is_trained_by_the_protocol_of_the_benchmark(installed: Path, tmp_path: Path) -> None:
    """A single training is recorded with its options, and trainings of a list become a table."""
    images = tiny_training.write_images(tmp_path / "images.npz")
    train = ["train", "widths:4-2-1", "--scale", "quick", "--images", str(images), "--batch-size", "20"]
    train += ["--epochs", "2", "--evaluate-every", "1", "--threads", "1", "--out"]
    assert "Small-Widths" in run([*train, "trained"], tmp_path, installed)
    trained = nb.open_run(tmp_path / "trained")
    assert (trained.config["architecture"], trained.config["channels"]) == ("widths:4-2-1", 4)
    parameters = sum(value.numel() for value in nb.build_network(trained.trained).parameters())
    assert trained.trainable_parameters == parameters and not trained.config["is_protocol"]
    assert [line["evaluation"] for line in trained.lines] == ["epoch", "final"]
    rates = [line["learning_rate"] for line in trained.lines]
    assert 0.1 > rates[0] > rates[1] > 0
    small = {"images": images, "batch_size": 20, "epochs": 1, "threads": 1, "scale": "quick"}
    group = nb.train_cells(["widths:4-2-1", "widths:1-1-1"], seeds=[0, 1], out=tmp_path / "group", **small)
    table = group.table()
    assert table.query("widths:1-1-1", run="all").test_accuracy.shape == (2,)
    assert table.query("widths:1-1-1").test_accuracy == pytest.approx(
        np.mean([run.final.test_accuracy for run in group if run.config["architecture"] == "widths:1-1-1"])
    )


def test_parts_that_the_record_does_not_name_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    architecture = nb.search_space("widths")[0].__class__
    monkeypatch.setattr(architecture, "benchmark", replace(architecture.benchmark, training=None))
    with pytest.raises(nb.InvalidInputError, match="Small-Widths"):
        nb.train_cell("widths:4-2-1")
    with pytest.raises(nb.InvalidInputError, match=r"preset=.original."):
        nb.search("darts", space="widths", preset="original", scale="quick")
