"""--overwrite: a new search replaces an old one, which is deleted only after the new one has started."""

import json
import re

import numpy as np
import pytest
from killed_run import assert_killed
from refusals import exits, missing, refuses
from rich.console import Console
from tiny_search import TINY, search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.runs import overwriting
from nasbench1shot1.runs.lock import locked

QUIET = Console(quiet=True)
SMALL = {**TINY, "epochs": 1}


@pytest.fixture
def old(tmp_path):
    """The folder of a finished search."""
    return search(tmp_path / "run", epochs=1, seed=7).folder


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_search_and_a_group_can_overwrite_each_other(old):
    (old / "report-mine").mkdir()
    assert search(old, epochs=1, seed=8, overwrite=True).config["seed"] == 8
    assert not (old / "report-mine").exists()
    group = nb.search_seeds([0], out=old, overwrite=True, console=QUIET, **SMALL)
    assert not (old / "config.json").exists()
    assert nb.load_run(old).seeds == (0,)
    assert group[0].folder == old / "seed-0"
    (old / ".seed-0.token").touch()  # as if killed while a search was running
    assert search(old, epochs=1, seed=9, overwrite=True).is_finished
    assert not (old / "seeds.json").exists()
    assert [path.name for path in old.parent.iterdir()] == ["run"]


def test_overwrite_accepts_a_new_folder(tmp_path):
    assert search(tmp_path / "new", epochs=1, overwrite=True).is_finished


def test_a_search_behind_a_link_is_replaced_where_it_is(old, monkeypatch):
    link = old.with_name("link")
    link.symlink_to(old, target_is_directory=True)
    before = contents(old)
    with monkeypatch.context() as failing, pytest.raises(ZeroDivisionError):
        failing.setattr(loop, "evaluate", lambda *_: 1 / 0)
        search(link, epochs=1, overwrite=True)
    assert contents(old) == before
    assert search(link, epochs=1, seed=8, overwrite=True).config["seed"] == 8
    assert nb.search_seeds([0], out=link, overwrite=True, console=QUIET, **SMALL).is_finished
    assert link.readlink() == old and (old / "seeds.json").is_file()
    assert {path.name for path in old.parent.iterdir()} == {"run", "link"}


def test_a_link_to_a_missing_folder_is_a_new_folder(tmp_path, monkeypatch):
    link, folder = tmp_path / "link", tmp_path / "other" / "run"
    link.symlink_to(folder, target_is_directory=True)
    with monkeypatch.context() as failing, pytest.raises(ZeroDivisionError):
        failing.setattr(loop, "evaluate", lambda *_: 1 / 0)
        search(link, epochs=1)
    assert link.is_symlink() and not folder.exists()
    assert search(link, epochs=1).is_finished and (folder / "summary.json").is_file()


BAD = {
    "unknown option": ({"epoch": 1}, "unknown option"),
    "missing images": ({"images": "cifar100"}, "not installed"),
    "missing table": ({"table": "nowhere"}, "nowhere"),
}


@pytest.mark.parametrize("seeds", [None, [0, 1]], ids=["one search", "seeds"])
@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_input_keeps_the_old_run(old, seeds, given, sentence):
    before = contents(old)
    with pytest.raises(nb.UserError, match=sentence):
        if seeds:
            nb.search_seeds(seeds, out=old, overwrite=True, console=QUIET, **{**SMALL, **given})
        else:
            search(old, overwrite=True, **{**SMALL, **given})
    assert contents(old) == before


@pytest.mark.parametrize("error", [nb.UserError("the disk is full"), KeyboardInterrupt()])
def test_a_failure_before_the_first_epoch_restores_the_old_run(old, monkeypatch, error):
    before = contents(old)

    def fail(*_):
        raise error

    monkeypatch.setattr(loop, "evaluate", fail)
    with pytest.raises(type(error)) as caught:
        search(old, epochs=1, overwrite=True)
    assert caught.value is error or not missing(str(caught.value), old)
    assert contents(old) == before
    assert [path.name for path in old.parent.iterdir()] == ["run"]


def test_a_failure_after_the_first_epoch_keeps_the_new_run(old, monkeypatch):
    def stop(epoch):
        raise KeyboardInterrupt

    with refuses(KeyboardInterrupt, old):
        search(old, epochs=1, seed=3, overwrite=True, callbacks=[stop])
    assert nb.load_run(old).config["seed"] == 3
    assert [path.name for path in old.parent.iterdir()] == ["run"]
    assert nb.search(resume=old, console=QUIET).is_finished


def test_a_run_in_progress_is_not_replaced(old):
    before = contents(old)
    with locked(old), refuses(nb.InvalidInputError, old):
        search(old, epochs=1, overwrite=True)
    assert contents(old) == before


@pytest.mark.parametrize("kind", ["files", "file", "training", "damaged"])
def test_only_searches_are_replaced(tmp_path, kind):
    folder = tmp_path / "run"
    if kind == "file":
        folder.write_text("mine")
    else:
        folder.mkdir()
        content = {"files": None, "training": json.dumps({"kind": "training"}), "damaged": "{"}[kind]
        (folder / ("notes.txt" if content is None else "config.json")).write_text(content or "mine")
    before = contents(tmp_path)
    with pytest.raises(nb.UserError, match="run"):
        search(folder, epochs=1, overwrite=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["ranking/config.json", "notes.txt", "seed-0/config.json", "report-1.txt"])
def test_a_folder_with_other_files_is_not_replaced(old, name):
    (old / name).parent.mkdir(parents=True, exist_ok=True)
    (old / name).write_text("{}")
    before = contents(old)
    with refuses(nb.InvalidInputError, re.sub("/(config.json|epoch-001.pt)", "", name), options="overwrite"):
        search(old, epochs=1, overwrite=True)
    assert contents(old) == before


@pytest.mark.parametrize(
    "name",
    [
        "weights/notes.md",
        "weights/averaged/epoch-001.pt",
        "tensorboard/layout.json",
        "report-draft/thesis.md",
        ".notes.old",
    ],
)
def test_a_folder_of_the_search_with_other_files_is_not_replaced(old, name):
    test_a_folder_with_other_files_is_not_replaced(old, name)


def test_files_of_the_search_and_its_reports_are_replaced(old):
    cli.main(["report", str(old), "--format", "svg", "--style", "paper"])
    assert len(list(old.glob("report-*/*"))) > 3
    events = "events.out.tfevents.1.host.2.0"
    for name in ("weights/epoch-001.pt", "weights/.epoch-002.pt.host.12.part", f"tensorboard/{events}", "cells.pdf"):
        (old / name).parent.mkdir(exist_ok=True)
        (old / name).touch()
    group = nb.search_seeds([0], out=old, overwrite=True, console=QUIET, **SMALL)
    assert {path.name for path in old.iterdir()} == {"seeds.json", "regret.png", "seed-0"}
    cli.main(["report", str(old)])
    assert len(list(old.glob("report-*/seed-0/*"))) > 3
    (group[0].folder / "notes.txt").touch()
    with refuses(nb.InvalidInputError, "seed-0/notes.txt", options="overwrite"):
        search(old, epochs=1, seed=8, overwrite=True)
    (group[0].folder / "notes.txt").unlink()
    assert search(old, epochs=1, seed=8, overwrite=True).is_finished
    assert not list(old.glob("report-*"))


def test_a_recorded_search_is_not_replaced(tmp_path):
    folder, space = tmp_path / "own", nb.search_space("s1")
    arch = space.sample(np.random.default_rng(0))
    with nb.Recorder(folder, "s1", optimizer="mine") as recorder:
        recorder.record(arch, seconds=1.0)
    before = contents(folder)
    with refuses(nb.InvalidInputError, folder, options="overwrite out"):
        search(folder, epochs=1, overwrite=True)
    assert contents(folder) == before


def test_a_search_is_locked_while_it_is_moved_aside(old, monkeypatch):
    held = []

    def look(folder, real=overwriting.check_has_no_other_files):
        with refuses(nb.InvalidInputError, folder), locked(folder):
            held.append("not held")
        real(folder)
        held.append(folder)

    monkeypatch.setattr(overwriting, "check_has_no_other_files", look)
    assert search(old, epochs=1, seed=8, overwrite=True).is_finished
    assert held == [old]


def test_a_failure_does_not_touch_the_folder_of_another_process(old):
    """The other process has replaced the old search and not yet recorded an epoch."""
    with pytest.raises(RuntimeError, match="mine"), overwriting.moved_aside(old, True, (nb.Run,)):
        overwriting.restore_moved_aside(old)
        assert not old.exists(), "the old folder of a running process"
        old.mkdir()
        (old / "config.json").write_text("{}")
        with locked(old):
            (aside,) = old.parent.glob(".run.*.old")
            before = contents(aside)
            overwriting._restore(aside, old)
        assert contents(aside) == before and (old / "config.json").read_text() == "{}"
        raise RuntimeError("mine")
    assert (old / "summary.json").is_file() and not list(old.parent.glob(".run.*"))


DRIVER = """
import os, signal, sys
from rich.console import Console
import nasbench1shot1 as nb
from nasbench1shot1.runs import overwriting
from nasbench1shot1.runs.writer import RunWriter

def die(*_): os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "before config.json":
    RunWriter.describe = die
else:
    overwriting._discard = die
nb.search(out=sys.argv[2], overwrite=True, console=Console(quiet=True), **{**eval(sys.argv[3]), "seed": 8})
"""


def kill(moment, old):
    """Kill the process of a search while it replaces an old one."""
    assert_killed(DRIVER, old, moment, str(old), str(SMALL))
    assert len(list(old.parent.glob(".run.*.old"))) == 1


def test_a_process_killed_before_writing_its_options_keeps_the_old_run(old, capsys):
    before = contents(old)
    kill("before config.json", old)
    for read in (nb.open_run, nb.load_run, nb.draw_regret, lambda folder: cli.main(["report", str(folder)])):
        with pytest.raises((nb.InvalidInputError, SystemExit)) as caught:
            read(old)
        if isinstance(caught.value, nb.UserError):
            assert caught.value.options == ("overwrite", "resume") and f'resume="{old}"' in str(caught.value)
        else:
            assert not missing(capsys.readouterr().err, f"nb1shot1 search --resume {old}")
    with refuses(nb.InvalidInputError, old, 8, options="seed overwrite out"):
        search(old, epochs=1, seed=8)
    assert contents(old) == before
    kill("before config.json", old)
    assert nb.search(resume=old, console=QUIET).config["seed"] == 7
    assert [path.name for path in old.parent.iterdir()] == ["run"]
    kill("before config.json", old)
    assert search(old, epochs=1, seed=8, overwrite=True).config["seed"] == 8
    assert [path.name for path in old.parent.iterdir()] == ["run"]


def test_a_resumed_search_deletes_the_old_run_of_a_killed_process(old):
    kill("after an epoch", old)
    assert nb.search(resume=old, console=QUIET).config["seed"] == 8
    assert [path.name for path in old.parent.iterdir()] == ["run"]


def test_the_current_folder_is_not_replaced(old, monkeypatch):
    monkeypatch.chdir(old)
    with refuses(nb.InvalidInputError, ".", options="overwrite"):
        search(".", epochs=1, overwrite=True)


def test_resuming_does_not_overwrite(old, capsys):
    with exits(capsys, "remove --overwrite"):
        cli.main(["search", "--resume", str(old), "--overwrite"])
    with exits(capsys, old, "--overwrite"):
        cli.main(["search", "--scale", "quick", "--seed", "7", "--out", str(old)])
