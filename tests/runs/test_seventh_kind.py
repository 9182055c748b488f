"""A kind of run that this package does not have needs only its own five things; the life cycle is shared."""

import json
from io import StringIO
from pathlib import Path

import pytest
from killed_run import assert_killed
from pi_estimate.estimating import PiEstimate, estimate_pi
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.runs import opening, overwriting

QUIET = Console(quiet=True)
KILLED = """
import os, signal, sys
from pi_estimate.estimating import estimate_pi
from nasbench1shot1.runs.writer import RunWriter

moment, count = sys.argv[2], 0
real = getattr(RunWriter, moment)

def die(self, *given):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, *given)

setattr(RunWriter, moment, die)
estimate_pi(out=sys.argv[1])
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> PiEstimate:
    return estimate_pi(out=tmp_path_factory.mktemp("whole") / "run", console=QUIET)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".json", ".jsonl")}


@pytest.mark.parametrize("moment", ["append_line", "save"])
def test_a_killed_run_is_resumed_and_equals_an_uninterrupted_one(whole, tmp_path, moment):
    folder = tmp_path / "run"
    assert_killed(KILLED, folder, str(folder), moment)
    resumed = estimate_pi(resume=folder, console=QUIET)
    assert resumed.lines == whole.lines and len(whole.lines) == 5
    assert contents(folder) == contents(whole.folder)
    assert (folder / "estimate.png").is_file()


def test_the_life_cycle_of_all_kinds(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    screen = Console(file=StringIO(), width=200)
    run = estimate_pi(batches=2, console=screen)
    assert run.folder == Path("runs/pi-0") and run.is_finished and run.metrics["batch"].tolist() == [0, 1]
    assert screen.file.getvalue() == f"estimating π, after batch 0\nπ is about {run.summary['estimate']}\n"
    grown = estimate_pi(resume=run.folder, batches=5, console=QUIET)
    assert grown.lines == whole.lines and grown.config["batches"] == 5 and grown.environment["nasbench1shot1"]
    for refused, word in (({"batches": 2}, "increase"), ({"seed": 1}, "seed"), ({"out": "x"}, "out")):
        with pytest.raises(nb.InvalidInputError, match=word):
            estimate_pi(resume=run.folder, **refused)
    for taken, word in (({"seed": 7, "out": run.folder}, "seed"), ({"out": run.folder}, "finished")):
        with pytest.raises(nb.InvalidInputError, match=word):
            estimate_pi(**taken)
    monkeypatch.setitem(opening.KINDS, PiEstimate.KIND, "pi_estimate.estimating:PiEstimate")
    (run.folder / "notes.txt").touch()
    with pytest.raises(nb.InvalidInputError, match=r"notes\.txt"):
        estimate_pi(out=run.folder, overwrite=True)
    (run.folder / "notes.txt").unlink()
    other = estimate_pi(out=run.folder, overwrite=True, seed=7, console=QUIET)
    assert other.config["seed"] == 7 and [path.name for path in run.folder.parent.iterdir()] == ["pi-0"]
    assert type(nb.open_run(run.folder)) is PiEstimate


def test_a_new_folder_is_not_opened_for_the_advice_on_replacing_a_run(tmp_path, monkeypatch):
    opened = list[Path]()
    monkeypatch.setattr(overwriting, "open_run", lambda folder: opened.append(folder) or nb.open_run(folder))
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        assert estimate_pi(out=tmp_path / name, batches=1, console=QUIET).is_finished
    assert opened == []
    monkeypatch.setitem(opening.KINDS, PiEstimate.KIND, "pi_estimate.estimating:PiEstimate")
    with pytest.raises(nb.InvalidInputError, match="finished run: replace it with overwrite=True, or choose"):
        estimate_pi(out=tmp_path / "new", batches=1)
    assert tmp_path / "new" in opened


def test_data_that_changed_and_damaged_lines_are_refused(whole, tmp_path, monkeypatch):
    run = estimate_pi(out=tmp_path / "run", console=QUIET)
    config = json.loads((run.folder / "config.json").read_text())
    (run.folder / "config.json").write_text(json.dumps({**config, "generator": "other"}))
    with pytest.raises(nb.InvalidInputError, match="generator"):
        estimate_pi(resume=run.folder, console=QUIET)
    (run.folder / "config.json").write_text(json.dumps(config))
    lines = (run.folder / "metrics.jsonl").read_text()
    (run.folder / "metrics.jsonl").write_text(lines.replace('"batch": 1', '"batch": 8'))
    with pytest.raises(nb.DamagedFileError):
        estimate_pi(resume=run.folder, console=QUIET)


def test_a_run_that_fails_at_once_leaves_no_folder(tmp_path):
    with pytest.raises(nb.UserError, match="inside"):
        estimate_pi(out=tmp_path / "run", points=1, console=QUIET)
    assert not (tmp_path / "run").exists()
