"""Concurrent runs in one folder: one wins, the others are refused, and nothing is mixed."""

import json
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from light_run import LightRun, LightWriter
from rich.console import Console
from tiny_search import TINY
from warm_process import WarmProcess

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search import searching
from nasbench1shot1.runs.lifecycle import new_run

START = """
import sys, time
from rich.console import Console
import nasbench1shot1 as nb
from nasbench1shot1 import cli
from pathlib import Path
from nasbench1shot1.one_shot_search import beginning
ready = Path(sys.argv.pop(1))
real = beginning.begin
def begin(options):
    made = real(options)
    ready.touch()
    while not (ready.parent / "go").exists():  # all start at once
        time.sleep(0.001)
    return made
beginning.begin = begin
cli.main(sys.argv[1:])
"""


def started(out: Path, ready: Path, weight_decay: float) -> WarmProcess:
    options = {**TINY, "weight_decay": weight_decay, "out": str(out)}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return WarmProcess(START, str(ready), "search", *words)


def test_only_one_of_two_searches_gets_a_new_folder(tmp_path):
    out, decays = tmp_path / "run", (0.1, 0.2)
    flags = [tmp_path / f"ready-{decay}" for decay in decays]
    with ExitStack() as stack:
        searches = [stack.enter_context(started(out, *given)) for given in zip(flags, decays, strict=True)]
        while not all(flag.exists() for flag in flags):
            assert all(search.poll() is None for search in searches)
            time.sleep(0.01)
        (tmp_path / "go").touch()
        said = [search.communicate()[1] for search in searches]
        codes = [search.returncode for search in searches]
    assert sorted(codes) == [0, 2], said
    [refused] = [text for text, code in zip(said, codes, strict=True) if code]
    assert any(
        why in refused
        for why in ("another process is writing to", "already exists", "holds a finished run", "holds another search")
    )
    assert len(refused.splitlines()) == 1
    run = nb.load_run(out)
    assert run.config["weight_decay"] == decays[codes.index(0)]
    assert len(run.lines) == TINY["epochs"] + 1
    alone = nb.search(out=tmp_path / "alone", console=Console(quiet=True), **{**TINY, **kept(run)})
    assert [line["train_loss"] for line in alone.lines] == [line["train_loss"] for line in run.lines]


def kept(run: nb.Run) -> dict[str, float]:
    return {"weight_decay": run.config["weight_decay"]}


def test_a_search_that_fails_before_its_first_line_leaves_no_folder(tmp_path, monkeypatch):
    def fails(*_):
        raise nb.UserError("no more")

    monkeypatch.setattr("nasbench1shot1.one_shot_search.loop.run_search", fails)
    with pytest.raises(nb.UserError, match="more"):
        searching.search(out=tmp_path / "run", console=Console(quiet=True), **TINY)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_existed_before_stays_after_a_failure(tmp_path):
    with pytest.raises(ZeroDivisionError), new_run(tmp_path, LightWriter, LightRun) as writer:
        writer.describe({}, {})
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_treated_as_new(tmp_path):
    (tmp_path / "run").mkdir()
    run = nb.search(out=tmp_path / "run", console=Console(quiet=True), **{**TINY, "epochs": 1})
    assert json.loads((run.folder / "config.json").read_text())["options"]["epochs"] == 1
