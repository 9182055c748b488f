"""--tensorboard: readable event files, also for resumed searches, without changing the search."""

import os
import sys

import pytest
from refusals import refuses
from rich.console import Console
from same_search import assert_same_search
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_search import TINY, search

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.callbacks import _Events, tensorboard_callbacks

QUIET = Console(quiet=True)
FIELDS = ["train_loss", "train_error", "one_shot_validation_error", "test_regret"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return search(tmp_path_factory.mktemp("plain") / "run", epochs=2)


def read(run):
    events = EventAccumulator(str(run.folder / "tensorboard"))
    events.Reload()
    return events


def assert_shows(run):
    """Assert that every epoch of these fields occurs once, at its step, with the recorded value."""
    events = read(run)
    for name in FIELDS:
        tag = f"{name.rpartition('_')[2]}/{name}"
        expected = [(line["epoch"], line[name]) for line in run.lines if line[name] is not None]
        shown = [(event.step, event.value) for event in events.Scalars(tag)]
        assert [step for step, _ in shown] == [epoch for epoch, _ in expected]
        assert [value for _, value in shown] == pytest.approx([value for _, value in expected], rel=1e-6)
    (text,) = events.Tensors("options/text_summary")
    assert '"learning_rate": 0.025' in text.tensor_proto.string_val[0].decode()


def test_tensorboard_events_equal_the_record_and_do_not_change_the_search(plain, tmp_path):
    run = search(tmp_path / "run", epochs=2, tensorboard=True)
    assert_shows(run)
    assert_same_search(run, plain)
    assert not (plain.folder / "tensorboard").exists()


def test_a_resumed_search_shows_every_epoch_once(tmp_path, capsys):
    def stop(epoch):
        if epoch.line["epoch"] == 1:
            raise KeyboardInterrupt

    with refuses(KeyboardInterrupt, tmp_path / "run"):
        search(tmp_path / "run", epochs=2, tensorboard=True, callbacks=[stop])
    run = nb.search(resume=tmp_path / "run", tensorboard=True)
    assert f"Resuming {run.folder} after epoch 1 of 2." in capsys.readouterr().out.splitlines()
    assert_shows(run)
    run = nb.search(resume=tmp_path / "run", epochs=3, tensorboard=True, console=QUIET)
    assert_shows(run)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_last_epoch_is_shown_if_the_search_was_killed_after_recording_it(tmp_path, monkeypatch):
    if (child := os.fork()) == 0:
        write = _Events.__call__
        monkeypatch.setattr(
            _Events, "__call__", lambda self, epoch: os._exit(9) if epoch.line["epoch"] == 2 else write(self, epoch)
        )
        search(tmp_path / "run", epochs=2, tensorboard=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert_shows(nb.search(resume=tmp_path / "run", tensorboard=True, console=QUIET))


class FullDisk:
    """An event writer whose disk is full at the last lines."""

    def close(self):
        raise OSError(28, "No space left on device")


def test_an_error_while_closing_the_events_does_not_hide_the_first(tmp_path):
    def close_after(error):
        with tensorboard_callbacks(True) as (events,):
            events._folder, events._writer = tmp_path, FullDisk()
            if error is not None:
                raise error

    with pytest.raises(RuntimeError, match="first"):
        close_after(RuntimeError("the first error"))
    with refuses(nb.UserError, tmp_path):
        close_after(None)


def test_events_can_be_enabled_on_resuming(tmp_path):
    search(tmp_path / "run", epochs=1)
    assert_shows(nb.search(resume=tmp_path / "run", epochs=2, tensorboard=True, console=QUIET))


def test_every_seed_has_its_own_events(tmp_path):
    runs = nb.search_seeds([0, 1], out=tmp_path / "group", tensorboard=True, console=QUIET, **{**TINY, "epochs": 1})
    for run in runs:
        assert_shows(run)


@pytest.mark.parametrize("seeds", [None, [0, 1]])
def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch, seeds):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    call = nb.search if seeds is None else lambda **options: nb.search_seeds(seeds, **options)
    with pytest.raises(nb.UserError, match=r"'\.\[tensorboard\]'"):
        call(out=tmp_path / "run", tensorboard=True, **TINY)
    assert list(tmp_path.iterdir()) == []
