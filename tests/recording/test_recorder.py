"""Records of a user's own loop: writing, reading, comparing, resuming and refusals."""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import compared_runs as make
import numpy as np
import pytest
import torch
import warm_process
from command_line import command
from refusals import fails, refuses

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.one_shot_search.writer import SearchWriter
from nasbench1shot1.runs.lock import LOCK

S1 = nb.search_space("s1")


def parameters(seed: int) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(seed)
    return {key: torch.tensor(rng.normal(size=shape), requires_grad=True) for key, shape in S1.mixing_shapes().items()}


def recorded(folder: Path, epochs: int = 3, **options: object) -> SearchRecord:
    with nb.Recorder(folder, "s1", optimizer="mine", **options) as recorder:
        for epoch in range(epochs):
            recorder.record(
                parameters(epoch),
                seconds=10.0,
                train_loss=2.0 - epoch,
                entropy=torch.tensor(epoch / 2, requires_grad=True),
            )
    run = nb.load_run(folder)
    assert isinstance(run, SearchRecord)
    return run


def test_a_record_contains_values_of_the_loop_and_of_the_table(tmp_path):
    run, table = recorded(tmp_path / "own", notes={"learning_rate": 0.1}), nb.load_table()
    archs = [S1.discretise(parameters(epoch)) for epoch in range(3)]
    assert run.architectures == archs
    assert run.metrics["epoch"].tolist() == [0, 1, 2]
    assert run.metrics["search_seconds"].tolist() == [10.0, 20.0, 30.0]
    assert run.metrics["train_loss"].tolist() == [2.0, 1.0, 0.0]
    assert run.metrics["entropy"].tolist() == [0.0, 0.5, 1.0]
    assert run.metrics["one_shot_validation_error"].isna().all()
    assert run.metrics["test_regret"].tolist() == table.regret(archs, "s1").tolist()
    assert run.metrics["validation_regret"].tolist() == table.regret(archs, "s1", "validation").tolist()
    assert run.summary["test_regret"] == run.lines[-1]["test_regret"] and run.summary["final_epoch"] == 2
    for key, values in run.architecture_parameters.items():
        assert np.array_equal(values[1], parameters(1)[key].detach().numpy().astype(np.float32))
    assert {path.name for path in run.folder.iterdir()} >= {"regret.png", "cells.png", "summary.json"}
    assert run.config["notes"] == {"learning_rate": 0.1} and run.config["space_id"] == S1.id
    assert "mine on s1, seed 0, epoch 2" in repr(run)
    with nb.Recorder(tmp_path / "shown", "s1") as recorder:
        assert f"Recorder('{tmp_path / 'shown'}': s1, no epoch yet, {table.id})" == repr(recorder)
        recorder.record(archs[0], seconds=1.0)
        assert ": s1, epoch 0, " in repr(recorder)
        with refuses(nb.InvalidInputError, tmp_path / "shown"):
            nb.Recorder.resume(tmp_path / "shown")
    assert ": s1, epoch 0, closed, " in repr(recorder)


def test_a_record_of_architectures_marks_them_with_ones(tmp_path):
    arch = S1.sample(np.random.default_rng(0))
    with nb.Recorder(tmp_path / "own", S1) as recorder:
        line = recorder.record(arch)
    run = nb.load_run(tmp_path / "own")
    assert line == run.lines[0] and run.architectures == [arch]
    for key, values in S1.one_hot(arch).items():
        assert np.array_equal(run.architecture_parameters[key][0], values)


def test_times_are_whole_milliseconds_also_after_the_recorder_was_resumed(tmp_path):
    arch = S1.sample(np.random.default_rng(0))
    with nb.Recorder(tmp_path / "unbroken", S1) as recorder:
        lines = [recorder.record(arch, seconds=0.12345) for _ in range(3)]
    assert [line["search_seconds"] for line in lines] == [0.123, 0.246, 0.369]
    assert [line["simulated_seconds"] for line in lines] == [round(line["simulated_seconds"], 3) for line in lines]
    with nb.Recorder(tmp_path / "resumed", S1) as recorder:
        recorder.record(arch, seconds=0.12345)
    with nb.Recorder.resume(tmp_path / "resumed") as recorder:
        recorder.record(arch, seconds=0.12345)
        recorder.record(arch, seconds=0.12345)
    assert nb.load_run(tmp_path / "resumed").lines == lines == nb.load_run(tmp_path / "unbroken").lines


def test_parameters_may_be_a_parameter_dict(tmp_path):
    with nb.Recorder(tmp_path / "own", S1) as recorder:
        line = recorder.record(torch.nn.ParameterDict(parameters(1)))
        assert line["architecture"] == recorder.record(parameters(1))["architecture"]
    for values in nb.load_run(tmp_path / "own").architecture_parameters.values():
        assert np.array_equal(values[0], values[1])


def test_parameters_are_discretised_before_they_are_rounded(tmp_path):
    chosen = {key: np.zeros(shape) for key, shape in S1.mixing_shapes().items()}
    chosen["operations"] += [1, 1 + 1e-9, 0]
    with nb.Recorder(tmp_path / "own", S1) as recorder:
        recorder.record(chosen)
    run = nb.load_run(tmp_path / "own")
    assert run.architectures == [S1.discretise(chosen)] and run.architectures[0].operations == (1, 1, 1, 1)
    assert set(run.architecture_parameters["operations"][0].ravel()) == {0.0, 1.0}  # float32


def test_notes_may_be_numpy_scalars(tmp_path):
    notes = {"n": np.int64(3), "rate": np.float32(0.5), "decay": np.float64(0.1), "is_on": np.bool_(True)}
    own = recorded(tmp_path / "own", epochs=1, notes=notes)
    assert own.config["notes"] == {"n": 3, "rate": 0.5, "decay": 0.1, "is_on": True}


def test_report_and_compare_accept_a_record(tmp_path):
    own = recorded(tmp_path / "own")
    assert nb.draw_regret(own).get_lines()[0].get_ydata() == pytest.approx(100 * own.metrics["test_regret"].to_numpy())
    make.search(tmp_path / "darts", (2, 1, 0))
    said = command("compare", str(own.folder), str(tmp_path / "darts"), "--out", str(tmp_path / "both"))
    assert said.returncode == 0, said.stderr
    assert "mine" in said.stdout and "darts" in said.stdout
    report = command("report", str(own.folder), "--out", str(tmp_path / "report"))
    assert report.returncode == 0, report.stderr
    scored = [json.loads(line) for line in (tmp_path / "report" / "metrics.jsonl").read_text().splitlines()]
    assert scored == own.lines
    fails(command("correlate", str(own.folder)), own.folder)
    fails(command("search", "--resume", str(own.folder)), "nb.Recorder.resume")


def test_values_of_all_data_sets_are_recorded(tmp_path):
    space = nb.search_space("nb201")
    with nb.Recorder(tmp_path / "own", "nb201", dataset="cifar100") as recorder:
        line = recorder.record(space.sample(np.random.default_rng(0)))
    assert set(line["other_datasets"]) == {"cifar10", "ImageNet16-120"}
    assert nb.load_run(tmp_path / "own").config["dataset"] == "cifar100"


def test_after_an_error_recording_continues_where_it_stopped(tmp_path):
    def interrupted():
        with nb.Recorder(tmp_path / "own", "s1") as recorder:
            recorder.record(parameters(0), seconds=1)
            recorder.record(parameters(1), seconds=1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stop:
        interrupted()
    assert type(stop.value) is KeyboardInterrupt  # no command can resume a user's own loop
    with refuses(nb.UserError, "nb.Recorder.resume"):
        _ = nb.load_run(tmp_path / "own").summary
    with nb.Recorder.resume(tmp_path / "own", after_epoch=0) as recorder:
        assert recorder.epoch == 0
        recorder.record(parameters(2), seconds=1)
    run = nb.load_run(tmp_path / "own")
    assert run.architectures == [S1.discretise(parameters(seed)) for seed in (0, 2)]
    assert run.metrics["search_seconds"].tolist() == [1.0, 2.0]
    with nb.Recorder.resume(run.folder) as recorder:  # a finished record can become longer
        recorder.record(parameters(3))
    assert len(nb.load_run(run.folder).lines) == 3


KILLED = """
import os, signal, sys
import numpy as np
import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.writer import SearchWriter
space = nb.search_space("s1")
rng = np.random.default_rng(0)
recorder = nb.Recorder(sys.argv[1], space)
recorder.record(space.sample(rng))
recorder.record(space.sample(rng))
SearchWriter._write_history = lambda self: os.kill(os.getpid(), signal.SIGKILL)
recorder.record(space.sample(rng))
"""


def test_a_process_killed_between_line_and_parameters_loses_only_that_epoch(tmp_path):
    killed = warm_process.python(KILLED, str(tmp_path / "own"))
    assert killed.returncode == -signal.SIGKILL
    with nb.Recorder.resume(tmp_path / "own") as recorder:
        assert recorder.epoch == 1
        recorder.record(parameters(0))
    assert len(nb.load_run(tmp_path / "own").lines) == 3


@pytest.mark.parametrize("kept", [0, 1])
def test_a_record_that_lacks_parameters_is_not_cut(tmp_path, kept):
    run = recorded(tmp_path / "own")
    file = run.folder / "architecture_parameters.npz"
    shorter = {key: values[:kept] for key, values in run.architecture_parameters.items()}
    file.unlink()
    if kept:
        np.savez(file, **shorter)
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.suffix in (".jsonl", ".json")}
    for after in (None, 2):
        with refuses(nb.DamagedFileError, file, options=""):
            nb.Recorder.resume(run.folder, after_epoch=after)
    assert {name: (run.folder / name).read_bytes() for name in before} == before


def disk_full_within_a_line(file: int) -> None:
    os.ftruncate(file, os.fstat(file).st_size - 9)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("owner", "name", "failing"),
    [
        (os, "fsync", disk_full_within_a_line),
        (SearchWriter, "_write_history", Mock(side_effect=nb.UserError("disk full"))),
        (SearchWriter, "_write_history", Mock(side_effect=KeyboardInterrupt)),
    ],
    ids=["line", "parameters", "interrupted"],
)
def test_an_epoch_that_could_not_be_written_can_be_recorded_again(tmp_path, monkeypatch, owner, name, failing):
    recorder = nb.Recorder(tmp_path / "own", "s1")
    recorder.record(parameters(0))
    before = (tmp_path / "own" / "metrics.jsonl").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        with pytest.raises((nb.UserError, KeyboardInterrupt)):
            recorder.record(parameters(1))
    assert (tmp_path / "own" / "metrics.jsonl").read_bytes() == before
    assert recorder.epoch == 0
    recorder.record(parameters(2))
    run = recorder.finish()
    assert [line["epoch"] for line in run.lines] == [0, 1]
    for key, values in run.architecture_parameters.items():
        assert np.array_equal(values[1], parameters(2)[key].detach().numpy().astype(np.float32))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda r: r.record("s1:0"), "s1:0"),
        (lambda r: r.record({"operations": np.zeros(3)}), "s1"),
        (lambda r: r.record(nb.search_space("s2").sample(np.random.default_rng(0))), "s2"),
        (lambda r: r.record(parameters(0), train_loss=float("nan")), "train_loss nan"),
        (lambda r: r.record(parameters(0), train_error=40), "train_error 40"),
        (lambda r: r.record(parameters(0), seed=1), "seed"),
        (lambda r: r.record(parameters(0), entropy="0.5"), "entropy 0.5"),
        (lambda r: r.record(parameters(0), entropy=10**400), "entropy"),
        (lambda r: r.record(parameters(0), seconds=-5), "seconds 5"),
        (lambda r: r.record({key: values * 1e300 for key, values in parameters(0).items()}), "float32"),
        (lambda r: r.record(parameters(0), test_regret=0.1), "test_regret"),
        (lambda r: r.record(parameters(0), selected_epoch=1), "selected_epoch"),
        (lambda r: r.record(parameters(0), entropy="high"), "entropy high"),
        (lambda r: r.finish(), "record"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_recorded(tmp_path, call, named):
    recorder = nb.Recorder(tmp_path / "own", "s1")
    with refuses(nb.InvalidInputError, *named.split()):
        call(recorder)
    recorder.record(parameters(0))
    assert len(recorder.finish().lines) == 1
    with refuses(nb.InvalidInputError, tmp_path / "own"):
        recorder.record(parameters(0))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"space": "nb101"}, "nb101"),
        ({"seed": -1}, "seed"),
        ({"reference": "some"}, "some"),
        ({"notes": [1]}, "notes"),
        ({"notes": {"rate": np.float32("nan")}}, "'rate'"),
        ({"dataset": "cifar100", "space": "nb201", "notes": {"a": [1]}}, "'a'"),
        ({"table": "nowhere"}, "nowhere"),
    ],
)
def test_a_recorder_refuses_bad_options_and_leaves_no_folder(tmp_path, options, named):
    with refuses(nb.UserError, named):
        nb.Recorder(tmp_path / "own", **{"space": "s1", **options})
    assert not (tmp_path / "own").exists()


def test_a_folder_is_not_overwritten_and_an_unknown_epoch_not_resumed(tmp_path):
    own = recorded(tmp_path / "own").folder
    with refuses(nb.InvalidInputError, own):
        nb.Recorder(own, "s1")
    for epoch in (7, "1", 0.5):
        with refuses(nb.InvalidInputError, own, repr(epoch), 2):
            nb.Recorder.resume(own, after_epoch=epoch)
    assert nb.load_run(own).is_finished
    nb.Recorder.resume(own, after_epoch=np.int64(1)).close()
    assert len(nb.load_run(own).lines) == 2


def test_a_record_resumed_without_a_new_epoch_can_be_resumed_again(tmp_path):
    own = recorded(tmp_path / "own", epochs=4).folder
    nb.Recorder.resume(own, after_epoch=1).close()
    assert not nb.load_run(own).is_finished
    with nb.Recorder.resume(own) as recorder:
        assert recorder.epoch == 1
    assert len(nb.load_run(own).lines) == 2


def test_changes_of_a_returned_line_are_not_recorded(tmp_path):
    with nb.Recorder(tmp_path / "own", "s1", notes={"patience": 1}) as recorder:
        line = recorder.record(parameters(0), entropy=0.5)
        line["numbers"]["entropy"] = 2.0  # the caller's own
        line["other_datasets"]["cifar100"] = {}
    run = nb.load_run(tmp_path / "own")
    assert run.lines[0]["numbers"] == {"entropy": 0.5} and run.config["notes"] == {"patience": 1}


def test_numbers_named_like_columns_of_other_data_sets_are_refused(tmp_path):
    arch = nb.search_space("nb201").sample(np.random.default_rng(0))
    with nb.Recorder(tmp_path / "own", "nb201") as recorder:
        with refuses(nb.InvalidInputError, "cifar100_test_regret"):
            recorder.record(arch, cifar100_test_regret=1.0)
        recorder.record(arch)


def test_a_recorder_without_epochs_leaves_neither_folder_nor_lock(tmp_path):
    with refuses(nb.InvalidInputError, tmp_path / "own"), nb.Recorder(tmp_path / "own", "s1"):
        pass
    assert not (tmp_path / "own").exists()
    with nb.Recorder(tmp_path / "own", "s1") as recorder:
        recorder.record(parameters(0))


def test_a_loop_that_changes_the_current_folder_keeps_its_record_in_one_place(tmp_path, monkeypatch):
    (other := tmp_path / "data" / "own").mkdir(parents=True)
    (other / "mine.txt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError), nb.Recorder("own", "s1"):
        os.chdir("data")
        raise ZeroDivisionError
    assert not (tmp_path / "own").exists()
    os.chdir(tmp_path)
    with nb.Recorder("own", "s1") as recorder:
        recorder.record(parameters(0))
        os.chdir("data")
        recorder.record(parameters(1))
    assert recorder.folder == tmp_path / "own" and nb.load_run(recorder.folder).is_finished
    os.chdir(tmp_path)
    with nb.Recorder.resume("own", after_epoch=0) as recorder:
        os.chdir("data")
        recorder.record(parameters(1))
    assert len(nb.load_run(recorder.folder).lines) == 2
    assert [path.name for path in other.iterdir()] == ["mine.txt"]


def test_an_error_before_the_first_epoch_leaves_files_of_the_loop(tmp_path):
    with pytest.raises(ZeroDivisionError), nb.Recorder(tmp_path / "own", "s1") as recorder:
        for name in ("log.txt", "weights/epoch-001.pt"):
            (recorder.folder / name).parent.mkdir(exist_ok=True)
            (recorder.folder / name).touch()
        raise ZeroDivisionError
    left = [path for path in (tmp_path / "own").rglob("*") if path.is_file()]
    assert {path.name for path in left} == {"log.txt", "epoch-001.pt"}


def test_a_record_is_resumed_only_with_its_table_and_space(tmp_path):
    own = recorded(tmp_path / "own").folder
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps({**config, "table_id": "another-v1-0000000"}))
    with refuses(nb.InvalidInputError, "table_id", "another-v1-0000000"):
        nb.Recorder.resume(own)


def test_damaged_numbers_are_reported_as_damaged(tmp_path):
    own = recorded(tmp_path / "own").folder
    lines = (own / "metrics.jsonl").read_text().replace('"entropy": 0.5', '"entropy": "x"')
    (own / "metrics.jsonl").write_text(lines)
    with refuses(nb.DamagedFileError, "metrics.jsonl", "entropy"):
        _ = nb.load_run(own).lines


def test_resuming_does_not_import_modules_named_in_the_record(tmp_path):
    own = recorded(tmp_path / "own").folder
    config = json.loads((own / "config.json").read_text())
    config["options"]["space"] = "unimported_module:SPACE"
    (own / "config.json").write_text(json.dumps(config))
    with pytest.raises(nb.InvalidInputError, match="unimported_module"):
        nb.Recorder.resume(own)
    assert "unimported_module" not in sys.modules


def test_resuming_imports_a_module_that_the_caller_allows(tmp_path, monkeypatch):
    (tmp_path / "module_of_a_space.py").write_text(
        "from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace\n"
        "SPACE = ChoiceBlockSpace('own', 'own-v1', n_parents=(1, 1, 2))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with nb.Recorder(tmp_path / "own", "module_of_a_space:SPACE") as recorder:
        recorder.record(recorder.space[0])
    monkeypatch.delitem(sys.modules, "module_of_a_space")
    with refuses(nb.InvalidInputError, "module_of_a_space:SPACE"):
        nb.Recorder.resume(tmp_path / "own")
    with nb.Recorder.resume(tmp_path / "own", allow_module="module_of_a_space") as recorder:
        recorder.record(recorder.space[1])
    assert len(nb.load_run(tmp_path / "own").lines) == 2


def refused(act: Callable[[], object]) -> str:
    """Return the type of the error of an action; an empty string without an error."""
    try:
        act()
    except Exception as error:
        return type(error).__name__
    return ""


def test_another_thread_may_not_use_a_recorder(tmp_path):
    arch = S1[0]
    with nb.Recorder(tmp_path / "own", "s1") as recorder:
        recorder.record(arch, seconds=1.0)
        with ThreadPoolExecutor(1) as pool:
            for act in (lambda: recorder.record(arch, seconds=1.0), recorder.finish, recorder.close):
                assert pool.submit(refused, act).result() == "InvalidInputError"
            assert pool.submit(refused, lambda: recorder.__exit__(None, None, None)).result() == "InvalidInputError"
            recorder_of_thread = pool.submit(nb.Recorder, tmp_path / "other", "s1").result()
            pool.submit(recorder_of_thread.record, arch, seconds=1.0).result()
            pool.submit(recorder_of_thread.finish).result()
        recorder.record(arch, seconds=1.0)
    assert [line["epoch"] for line in nb.load_run(tmp_path / "own").lines] == [0, 1]
    assert nb.load_run(tmp_path / "other").is_finished


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("recorded_epochs", [0, 1])
def test_a_forked_process_may_not_use_a_recorder(tmp_path, recorded_epochs):
    arch = S1[0]
    with nb.Recorder(tmp_path / "own", "s1") as recorder:
        for _ in range(recorded_epochs):
            recorder.record(arch, seconds=1.0)
        if (child := os.fork()) == 0:
            found = [refused(act) for act in (lambda: recorder.record(arch, seconds=1.0), recorder.finish)]
            recorder.__exit__(ValueError, ValueError(), None)  # must not remove the folder, nor release the lock
            os._exit(0 if found == ["InvalidInputError"] * 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (tmp_path / "own" / "config.json").exists() and (tmp_path / "own" / LOCK).exists()
        recorder.record(arch, seconds=1.0)
    assert [line["epoch"] for line in nb.load_run(tmp_path / "own").lines] == list(range(recorded_epochs + 1))


def test_a_recorder_discretises_within_bounds_and_refuses_other_architectures(tmp_path):
    space, table = nb.search_space("nb201"), nb.load_table("nb201")
    large = space.from_values([3] * 6)  # 3×3 convolutions
    with nb.Recorder(tmp_path / "run", "nb201", bounds={"trainable_parameters": 200_000}) as recorder:
        line = recorder.record(space.one_hot(large))
        with pytest.raises(nb.InvalidInputError, match="outside the bounds"):
            recorder.record(large)
    with nb.Recorder.resume(tmp_path / "run") as resumed:
        again = resumed.record(space.one_hot(large))
        run = resumed.finish()
    found, within = nb.Architecture.parse(line["architecture"]), run.baseline.bounds
    assert within.allows(table, found) and not within.allows(table, large) and run.summary["bounds"]["networks"] == 4077
    assert line["test_regret"] == again["test_regret"] == table.regret(found, dataset="cifar10", within=within)


def test_a_data_set_that_the_table_lacks_is_refused(tmp_path):
    with refuses(nb.OutOfDomainError, "'mnist'", "cifar10", options="dataset"):
        nb.Recorder(tmp_path / "own", "s1", dataset="mnist")
    assert not (tmp_path / "own").exists()
