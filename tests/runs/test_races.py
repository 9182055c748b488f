"""Runs that are started in the same folder at the same time: one wins, the others say so, and nothing is mixed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from tiny_search import TINY

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search import searching

START = """
import sys
from rich.console import Console
import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.one_shot_search import state, searching, loop
real = state.begin
def begin(options):
    made = real(options)
    print("ready", flush=True)
    sys.stdin.readline()  # all start at once
    return made
state.begin = begin
cli.main(sys.argv[1:])
"""


def started(out: Path, weight_decay: float) -> "subprocess.Popen[str]":
    options = {**TINY, "weight_decay": weight_decay, "out": str(out)}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", START, "search", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_of_two_searches_with_the_same_new_folder_one_wins(tmp_path):
    out, decays = tmp_path / "run", (0.1, 0.2)
    searches = [started(out, decay) for decay in decays]
    for search in searches:
        assert search.stdout is not None
        assert search.stdout.readline() == "ready\n"
    for search in searches:
        assert search.stdin is not None
        search.stdin.write("\n")
        search.stdin.flush()
    said = [search.communicate()[1] for search in searches]
    codes = [search.returncode for search in searches]
    assert sorted(codes) == [0, 2], said
    [refused] = [text for text, code in zip(said, codes, strict=True) if code]
    assert any(why in refused for why in ("another process is writing to", "already exists", "holds another search"))
    assert len(refused.splitlines()) == 1
    run = nb.load_run(out)
    assert run.config["weight_decay"] == decays[codes.index(0)]
    assert len(run.lines) == TINY["epochs"] + 1
    alone = nb.search(out=tmp_path / "alone", console=Console(quiet=True), **{**TINY, **kept(run)})
    assert [line["train_loss"] for line in alone.lines] == [line["train_loss"] for line in run.lines]


def kept(run: nb.Run) -> dict[str, float]:
    return {"weight_decay": run.config["weight_decay"]}


def test_a_search_that_fails_before_its_first_line_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_):
        raise nb.UserError("no more")

    monkeypatch.setattr("nasbench1shot1.one_shot_search.loop.run_search", fails)
    with pytest.raises(nb.UserError, match="no more"):
        searching.search(out=tmp_path / "run", console=Console(quiet=True), **TINY)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_a_new_one(tmp_path):
    (tmp_path / "run").mkdir()
    run = nb.search(out=tmp_path / "run", console=Console(quiet=True), **{**TINY, "epochs": 1})
    assert json.loads((run.folder / "config.json").read_text())["options"]["epochs"] == 1
