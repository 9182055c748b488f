"""docs/own_optimizer.md: a method outside the package is installed, searched with and refused."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import warm_process
from command_line import CODE
from conftest import CHECKOUT
from pages import blocks_of, broken_links
from refusals import exits, fails, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.one_shot_search.options import check_method
from nasbench1shot1.optimizer import Hyperparameters
from nasbench1shot1.optimizers.adam import AdamOptimizer
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientOptimizer
from nasbench1shot1.optimizers.sampling import SamplingOptimizer

EXAMPLE, PAGE = CHECKOUT / "tests" / "conformance" / "third_party", CHECKOUT / "docs" / "own_optimizer.md"
FILES = {
    "population.py": "python",
    "beta_darts.py": "python",
    "test_population.py": "python",
    "pyproject.toml": "toml",
}
TINY = "--epochs 1 --channels 2 --cells 1 --images-per-half 40 --batch-size 20 --threads 1 --images cifar10-sample"


def blocks(language: str) -> list[str]:
    return blocks_of(PAGE, language)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A user folder with the files shown on the page."""
    folder = tmp_path_factory.mktemp("project")
    for name in FILES:
        shutil.copy(EXAMPLE / name, folder)
    return folder


@pytest.fixture(scope="module")
def installed(project, tmp_path_factory) -> Path:
    """The folder in which pip installed it, with its entry point."""
    folder = tmp_path_factory.mktemp("installed")
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "install", *offline, "--target", folder, project], check=True)
    return folder


def run(words: list[str], cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a new process that finds modules in `path`, but not in its working folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([path, str(CHECKOUT), str(CHECKOUT / "tests" / "helpers")]),
    }
    line = [sys.executable, "-P", "-c", "from nasbench1shot1.cli import main; main()", *words[1:]]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def forked(words: list[str], cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Like `command`, but in a forked process with modules already imported."""
    return warm_process.python(f"import sys; sys.path.insert(0, {path!r}); {CODE}", *words[1:], cwd=cwd)


def refused(capsys, *arguments: str) -> str:
    """Error message of the command line for bad input."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["search", "--scale", "quick", *TINY.split(), *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    return said


@pytest.mark.parametrize(("name", "language"), FILES.items())
def test_the_page_shows_the_tested_files(name, language):
    assert (EXAMPLE / name).read_text() in blocks(language)


def test_the_links_of_the_page_resolve():
    assert broken_links(PAGE) == []


def test_the_commands_of_the_page_run(project, installed, tmp_path):
    """Installed or run in place: options are recorded and a run can be resumed."""
    lines = [shlex.split(line, comments=True) for block in blocks("bash") for line in block.splitlines()]
    assert [words[:2] for words in lines] == [
        ["nb1shot1", "search"],
        ["pip", "install"],
        ["nb1shot1", "search"],
        ["nb1shot1", "search"],
        ["pip", "install"],
        ["python", "-m"],
    ]
    assert lines[5][2:] == ["pytest", "test_population.py"]
    own_term = forked([*lines[0], *TINY.split(), "--out", "term"], project, str(project))
    assert own_term.returncode == 0, own_term.stderr
    first = run([*lines[2], *TINY.split(), "--out", "first"], tmp_path, str(installed))
    assert first.returncode == 0, first.stderr
    assert "population on s1" in first.stdout
    recorded = nb.load_run(tmp_path / "first").config
    assert (recorded["optimizer"], recorded["population"], recorded["replaced"]) == ("population", 30, 10)
    longer = forked(["nb1shot1", "search", "--resume", "first", "--epochs", "2"], tmp_path, str(installed))
    assert longer.returncode == 0, longer.stderr
    assert len(nb.load_run(tmp_path / "first").lines) == 3
    where_it_lies = forked([*lines[3], *TINY.split(), "--out", "second"], project, str(project))
    assert where_it_lies.returncode == 0, where_it_lies.stderr
    assert nb.load_run(project / "second").config["optimizer"] == "population:Population"


def test_the_suite_is_collected_in_a_user_folder(project, monkeypatch):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # another -v would undo the -q below
    (project / "empty.ini").write_text("[pytest]\n")
    arguments = ["test_population.py", "--collect-only", "-q", "-c", "empty.ini"]
    collected = warm_process.python("import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))", *arguments, cwd=project)
    assert collected.returncode == 0, collected.stdout
    assert "TestPopulation::test_same_seed_gives_identical_runs" in collected.stdout


def test_the_method_is_unknown_without_its_package(tmp_path):
    done = forked(["nb1shot1", "search", "--optimizer", "population", "--scale", "quick"], tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("nb1shot1: unknown optimizer 'population'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--optimizer population --populaton 3", "unknown option '--populaton'; did you mean '--population'?"),
        (
            "--optimizer darts --population 3",
            "--population does not apply to darts: remove it (only spos and population have it)",
        ),
        ("--optimizer population --population many", "--population must be a whole number, not 'many'"),
        ("--optimizer population --population 1", "--population must be at least 2, not 1"),
        ("--optimizer population --population 3 --replaced 3", "--replaced must be between 1 and 2, not 3"),
        ("--optimizer population --perturbation random", "remove --perturbation"),
        ("--optimizer populatio", "unknown optimizer 'populatio'; did you mean 'population'?"),
        ("--optimizer population:Populatio", "has no attribute 'Populatio'): choose Population"),
        ("--optimizer population:PopulationHyperparameters", "is not a one-shot optimizer"),
        ("--optimizer mine", "give your own optimizer as module:Class"),
    ],
)
def test_options_of_the_method_are_checked(installed, tmp_path, monkeypatch, capsys, arguments, sentence):
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, *arguments.split())


def test_options_of_the_method_are_in_the_help(installed, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(installed))
    cli.main(["search", "--optimizer", "population", "--help"])
    screen = " ".join(capsys.readouterr().out.split())
    assert "drnas-progressive, population, or your own as module:Class." in screen
    assert "--population INT" in screen.partition(" This optimizer: ")[2].partition(" Measuring: ")[0]
    assert "Architectures that are alive at a time. (default: 50)" in screen


def test_a_run_keeps_the_options_of_the_method(installed, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.chdir(tmp_path)
    given = ["search", "--optimizer", "population", "--population", "4", "--replaced", "1", "--scale", "quick"]
    cli.main([*given, *TINY.split(), "--out", "run"])
    capsys.readouterr()
    with exits(capsys, "--population 4", 5):
        cli.main(["search", "--resume", "run", "--optimizer", "population", "--population", "5"])


def test_an_option_with_the_name_of_a_common_option_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Clashing(Hyperparameters):
        epochs: int = 3

    class Method(nb.OneShotOptimizer):
        Hyperparameters = Clashing

    with pytest.raises(nb.InvalidInputError, match="'epochs'"):
        check_method(Method)


@pytest.mark.parametrize("name", ["strength", "architecture_learning_rate"])
def test_options_outside_a_dataclass_are_refused(name):
    options = type("Options", (DARTS.Hyperparameters,), {"__annotations__": {name: float}, name: 0.5})
    method = type("Mine", (DARTS,), {"Hyperparameters": options})
    with refuses(nb.InvalidInputError, f"'{name}' of Options", "@dataclass(frozen=True", options=""):
        check_method(method)


def test_the_page_marks_the_required_methods():
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    required = {name for row in rows if "(required)" in row for name in re.findall(r"`(\w+)`", row)}
    assert required == nb.OneShotOptimizer.__abstractmethods__
    assert AdamOptimizer.__abstractmethods__ == {"mixing"} and not GradientOptimizer.__abstractmethods__
    assert SamplingOptimizer.__abstractmethods__ == {"sample"}


def test_a_term_in_the_loss_of_the_parameters_moves_them(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    options = {"epochs": 2, "channels": 2, "cells": 1, "images_per_half": 40, "batch_size": 20, "threads": 1}

    def final(name: str, optimizer: str, **own: float) -> dict:
        run = nb.search(optimizer, scale="quick", out=tmp_path / name, console=Console(quiet=True), **options, **own)
        return {key: of[-1] for key, of in run.architecture_parameters.items()}

    plain, without, strong = (
        final("plain", "darts"),
        final("without", "beta_darts:BetaDARTS", beta_decay=0.0),
        final("strong", "beta_darts:BetaDARTS", beta_decay=1e4),
    )
    assert all((plain[key] == without[key]).all() for key in plain)
    assert any((plain[key] != strong[key]).any() for key in plain)
    run = nb.open_run(tmp_path / "strong")
    fails(
        warm_process.python(CODE, "search", "--resume", str(run.folder), "--epochs", "3", cwd=EXAMPLE),
        "--allow-module beta_darts",
    )
    allowed = ["--allow-module", "beta_darts:BetaDARTS"]  # as given to --optimizer
    done = warm_process.python(CODE, "search", "--resume", str(run.folder), "--epochs", "3", *allowed, cwd=EXAMPLE)
    assert done.returncode == 0, done.stderr
