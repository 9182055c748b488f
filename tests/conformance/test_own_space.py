"""docs/own_space.md: spaces outside the package are installed, searched, scored, ranked and compared."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm_process
from command_line import CODE
from conftest import CHECKOUT
from pages import blocks_of, broken_links
from refusals import fails, missing, refuses
from rich.console import Console
from tiny_search import TINY, search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.conformance.tiny_search import random_images, resume_search, tiny_search
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.tables.table import Table

EXAMPLE = CHECKOUT / "tests" / "conformance" / "third_party_space"
PAGE = CHECKOUT / "docs" / "own_space.md"
FILES = {"short_cells.py": "python", "pyproject.toml": "toml"}
SEARCH = "--epochs 1 --channels 2 --cells 1 --images-per-half 40 --batch-size 20 --threads 1 --keep-weights-every 1"
SMALLER = {
    "search": SEARCH,
    "blackbox": "--repeats 2 --evaluations 5",
    "correlate": "--architectures 10 --images 20 --resamples 2 --budgets 108",
}


def blocks(language: str) -> list[str]:
    return blocks_of(PAGE, language)


def shown(block: int) -> list[list[str]]:
    """The commands in a block of the page, at a smaller scale."""
    lines = [shlex.split(line, comments=True) for line in blocks("bash")[block].splitlines()]
    words = [line[line.index("nb1shot1") + 1 :] for line in lines if "nb1shot1" in line]
    return [[*line, *SMALLER.get(line[0], "").split()] for line in words]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder in which pip installed the package, with its entry points."""
    project, folder = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("installed")
    for name in FILES:
        shutil.copy(EXAMPLE / name, project)
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "install", *offline, "--target", folder, project], check=True)
    return folder


@pytest.fixture
def short_cells(monkeypatch) -> Any:
    """The module, imported in place."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import short_cells

    yield short_cells
    sys.modules.pop("short_cells", None)


def forked(words: list[str], cwd: Path, path: Path) -> str:
    """Output of a command in a separate process that finds modules in `path`."""
    done = warm_process.python(f"import sys; sys.path.insert(0, {str(path)!r}); {CODE}", *words, cwd=cwd)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@pytest.mark.parametrize(("name", "language"), FILES.items())
def test_the_page_shows_the_tested_files(name, language):
    assert (EXAMPLE / name).read_text() in blocks(language)


def test_the_links_of_the_page_resolve():
    assert broken_links(PAGE) == []


def test_the_commands_of_the_page_run_with_the_package_installed(installed, tmp_path):
    said = {words[0]: forked(words, tmp_path, installed) for words in shown(0)}
    assert list(said) == ["search", "blackbox", "query", "correlate", "report", "compare"]
    assert not missing(said["search"], "short") and not missing(said["query"], "short")
    run = nb.load_run(tmp_path / "runs" / "short")
    assert (run.config["space"], run.config["space_id"], run.config["reference"]) == ("short", "short-v1", None)
    assert all(line["architecture"].startswith("short:") and line["test_regret"] >= 0 for line in run.lines)
    assert (tmp_path / "comparison" / "comparison.csv").is_file()


def test_the_commands_of_the_page_run_without_installation_and_ask_before_importing(tmp_path):
    search_, report, query = shown(1)
    forked(search_, tmp_path, EXAMPLE)
    assert nb.load_run(tmp_path / "runs" / "other").config["space"] == "short_cells:SPACE"
    forked(report, tmp_path, EXAMPLE)
    assert not missing(forked(query, tmp_path, EXAMPLE), "tiny")
    resume = ["search", "--resume", "runs/other", "--epochs", "2"]
    for refused in (report[:2], resume):
        fails(warm_process.python(CODE, *refused, cwd=tmp_path), "'short_cells:SPACE'", "--allow-module short_cells")
    forked([*resume, "--space", "short_cells:SPACE"], tmp_path, EXAMPLE)  # naming it gives permission
    assert len(nb.load_run(tmp_path / "runs" / "other").lines) == 3


def test_the_python_example_of_the_page_runs(short_cells, tmp_path, monkeypatch):
    from nasbench1shot1.one_shot_search import options

    monkeypatch.setitem(options.SCALES, "quick", {**TINY, "scale": "quick", "images": "cifar10-sample"})
    monkeypatch.chdir(tmp_path)
    example = next(block for block in blocks("python") if "nb.search(" in block)
    exec(compile(example, str(PAGE), "exec"), names := {})
    assert names["run"].config["space"] == "short_cells:SPACE"
    assert names["run"].config["table"] == "embedded"


def test_an_imported_table_gives_regret_relative_to_the_cells_of_the_space(
    short_cells, official_table: Table, tmp_path
):
    run = search(tmp_path / "run", space=short_cells.TINY, table=official_table, epochs=1)
    assert run.config["table"] == str(official_table.folder)
    best = official_table.query(list(short_cells.TINY.architectures("unique"))).test_accuracy.max()
    for line, arch in zip(run.lines, run.architectures, strict=True):
        assert line["test_regret"] == pytest.approx(best - official_table.query(arch).test_accuracy)
    longer = nb.search(resume=run.folder, space=short_cells.TINY, epochs=2, console=Console(quiet=True))
    assert len(longer.lines) == 3
    study = nb.black_box("random", space=short_cells.TINY, table=official_table, out=tmp_path / "study", repeats=2)
    assert study.final["test_regret"].min() >= 0
    drawn = nb.compare([longer, study], over="simulated-time").lines
    curves = [line for line in drawn if not str(line.get_label()).startswith("mean over the space")]
    assert sum(line.get_linestyle() != ":" for line in curves) == 2  # dotted line: the result after the end of a run


def test_the_suite_for_optimizers_resumes_a_search_of_a_space_whose_module_is_not_imported(short_cells, tmp_path):
    options = {"optimizer": "darts", "space": "short_cells:TINY", "images": str(random_images(tmp_path)), "epochs": 1}
    searched = tiny_search(tmp_path / "run", options)
    del sys.modules["short_cells"]  # as in the process in which the suite resumes a killed search
    assert resume_search(tmp_path / "run").lines == searched.lines


def test_a_class_that_a_run_could_not_reimport_is_refused_before_writing(tmp_path):
    with refuses(nb.InvalidInputError, "ChoiceBlockSpace", "lost-v1"):
        search(tmp_path / "run", space=ChoiceBlockSpace("lost", "lost-v1", n_parents=(1, 1, 2)))
    with pytest.raises(nb.InvalidInputError, match="space=ChoiceBlockSpace"):
        search(tmp_path / "run", space=ChoiceBlockSpace)
    memory = Table.from_columns(nb.load_table()._columns, nb.load_table()._folder.meta)
    with refuses(nb.InvalidInputError, memory.id):
        search(tmp_path / "run", space="s1", table=memory)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def partial(short_cells, official_table: Table, tmp_path) -> nb.Run:
    """A search that prefers only architectures outside the table, which contains a few cells of the space."""
    options = {"epochs": 1, "reference": "present", "architecture_learning_rate": 3e-4}
    return search(tmp_path / "run", space=short_cells.SPACE, table=official_table, **options)


def test_a_table_with_missing_cells_is_refused_unless_its_best_is_requested_as_reference(
    short_cells, official_table, partial, tmp_path, capsys
):
    with pytest.raises(nb.OutOfDomainError, match=r'[\d,]+.*2,700 cells.*reference="present"'):
        search(tmp_path / "other", space=short_cells.SPACE, table=official_table)
    assert not (tmp_path / "other").exists()
    assert partial.config["reference"] == "present"
    lines = [json.loads(line) for line in (partial.folder / "metrics.jsonl").read_text().splitlines()]
    outside = [line for line in lines if line["test_regret"] is None]
    assert outside and all(line["table_test_error"] is None and line["cell_hash"] for line in outside)
    cli.main(["report", str(partial.folder), "--table", str(official_table.folder)])
    assert "Test regret: – (not in the table)" in capsys.readouterr().out
    cli.main(["compare", str(partial.folder), "--out", str(tmp_path / "comparison")])
    assert "Not in the table: 1 of 1 results of darts." in capsys.readouterr().out


def test_a_black_box_training_outside_the_table_fails_at_once(short_cells, official_table, tmp_path):
    options = {"space": short_cells.SPACE, "table": official_table, "repeats": 2, "evaluations": 200, "seconds": None}
    study = nb.black_box("random", out=tmp_path / "study", reference="present", **options)
    covering = official_table.covering(short_cells.SPACE, present=True)
    for text in study.trajectory["architecture"]:
        assert nb.Architecture.parse(text) in covering
    assert study.final["test_regret"].notna().all() and (study.final["evaluations"] == 200).all()
