"""docs/own_table.md: a CSV file of trainings in a space of the user's own is imported and used with every command."""

import shlex
import sys
from pathlib import Path

import pytest
import warm_process
from command_line import CODE
from conftest import CHECKOUT
from pages import blocks_of, broken_links
from refusals import fails, missing

import nasbench1shot1 as nb

PAGE = CHECKOUT / "docs" / "own_table.md"
SMALLER = {
    "search": "--epochs 1 --channels 2 --cells 1 --images-per-half 40 --batch-size 20 --threads 1",
    "blackbox": "--repeats 2",
    "correlate": "--architectures 10 --images 20 --resamples 2",
}
SPACE, EXAMPLE, AGAIN, KEYS = blocks_of(PAGE, "python")


def commands() -> list[list[str]]:
    """The commands of the page, at a smaller scale."""
    lines = [shlex.split(line)[1:] for line in blocks_of(PAGE, "bash")[0].splitlines()]
    return [[*words, *shlex.split(SMALLER.get(words[0], ""))] for words in lines]


def run(words: list[str], cwd: Path) -> str:
    """Output of a command in a separate process, in the folder of my_space.py."""
    done = warm_process.python(f"import sys; sys.path.insert(0, {str(cwd)!r}); {CODE}", *words, cwd=cwd)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def test_the_links_of_the_page_resolve() -> None:
    assert broken_links(PAGE) == []


@pytest.mark.usefixtures("home")
def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_space.py").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        exec(compile(EXAMPLE + AGAIN + KEYS, str(PAGE), "exec"), names := {})
    finally:
        sys.modules.pop("my_space", None)
    table = names["table"]
    assert table.best("tiny", "validation")[1].validation_accuracy == table.values("validation_accuracy").mean(1).max()
    assert table.repeats_of("test_accuracy", 4) == (2, 2)
    assert len(table) == names["KEYS"].SIZES["tiny"] == 27
    said = {words[0]: run(words, tmp_path) for words in commands()}
    imported = nb.load_table("trained")
    assert imported.values("test_accuracy", 4).tolist() == table.values("test_accuracy", 4).tolist()
    assert not missing(said["query"], "measured", "ms", "test regret in tiny")
    assert not missing(run(["table", "info", "--table", "trained"], tmp_path), "trained.csv", "2 repeats", imported.id)
    assert imported.id in said["blackbox"]
    found = nb.open_run(tmp_path / "runs" / "random").to_frame()
    assert set(found["final_architecture"]) <= set(found["architecture"])
    assert found.attrs["config"]["table_id"] == imported.id
    assert (tmp_path / "comparison" / "comparison.csv").is_file()
    searched = nb.load_run(tmp_path / "runs" / "darts")
    assert searched.to_frame()["architecture"].tolist() == [line["architecture"] for line in searched.lines]
    fails(warm_process.python(CODE, "table", "import", "trained.csv", cwd=tmp_path), "trained.csv", "--space s1")
