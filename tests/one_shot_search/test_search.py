"""Searches end to end on a tiny proxy: record, determinism, kills, bad input."""

import json
import os
import random
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from killed_run import assert_killed
from refusals import missing, refuses
from rich.console import Console
from tiny_search import FOR_TINY, TINY, search

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import differences, flatten
from nasbench1shot1.experiments.comparison.opening import open_entries
from nasbench1shot1.ground.errors import DivergedError
from nasbench1shot1.one_shot_search.captions import scale_text
from nasbench1shot1.one_shot_search.options import non_default_options, search_options
from nasbench1shot1.one_shot_search.record import FIELDS
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.schedules import Cosine

SECONDS = ("search_seconds", "simulated_seconds")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> nb.Run:
    return search(tmp_path_factory.mktemp("unbroken") / "run", keep_weights_every=2)


def without_seconds(run: nb.Run) -> list[dict]:
    return [{key: value for key, value in line.items() if key not in SECONDS} for line in run.lines]


def assert_same_run(a: nb.Run, b: nb.Run) -> None:
    assert differences(a, b) == []
    assert len(flatten(torch.load(a.folder / "checkpoint.pt", weights_only=True))) > 50
    assert (b.folder / "regret.png").exists()
    assert a.summary.keys() == b.summary.keys()


def test_what_callers_change_does_not_change_the_run(unbroken):
    frame, parameters, before = unbroken.metrics, unbroken.architecture_parameters, unbroken.mixing_weights(4)
    frame["test_regret"] *= 100
    frame.loc[:, "validation_regret"] = np.nan
    for values in parameters.values():
        values *= 50
    regrets = [line["test_regret"] for line in unbroken.lines]
    assert unbroken.metrics["test_regret"].tolist() == unbroken.to_frame()["test_regret"].tolist() == regrets
    assert unbroken.metrics["validation_regret"].notna().all()
    assert nb.draw_regret(unbroken).get_lines()[0].get_ydata() == pytest.approx(100 * np.array(regrets))
    again = unbroken.mixing_weights(4)
    assert all(np.array_equal(again[key], before[key]) for key in again)
    assert all((values != unbroken.architecture_parameters[key]).any() for key, values in parameters.items())
    _, learned = unbroken.supernet(4)
    learned["operations"].zero_()
    assert unbroken.architecture_parameters["operations"][4].any()


def test_the_run_folder_contains_the_documented_files(unbroken):
    names = {path.name for path in unbroken.folder.iterdir()}
    assert names == {
        "config.json",
        "environment.json",
        "metrics.jsonl",
        "architecture_parameters.npz",
        "checkpoint.pt",
        "weights",
        "summary.json",
        "regret.png",
        "cells.png",
    }
    assert sorted(p.name for p in (unbroken.folder / "weights").iterdir()) == ["epoch-002.pt", "epoch-004.pt"]
    assert list(unbroken.metrics.columns) == [name for name in FIELDS if name != "other_datasets"]
    assert unbroken.metrics["epoch"].tolist() == [0, 1, 2, 3, 4]
    assert unbroken.lines[0]["train_loss"] is None
    assert unbroken.lines[0]["train_error"] is None
    assert unbroken.metrics["train_loss"].notna().tolist() == [False, True, True, True, True]
    assert unbroken.config["threads"] == 1
    assert unbroken.config["table_id"] == nb.load_table().id == unbroken.summary["table_id"]
    environment = json.loads((unbroken.folder / "environment.json").read_text())
    assert environment["torch"] == torch.__version__


def test_every_line_agrees_with_the_space_and_the_table(unbroken):
    space, table = nb.search_space("s1"), nb.load_table()
    shapes = {key: (5, *shape) for key, shape in space.mixing_shapes().items()}
    assert {key: value.shape for key, value in unbroken.architecture_parameters.items()} == shapes
    for epoch, line in enumerate(unbroken.lines):
        raw = {key: values[epoch] for key, values in unbroken.architecture_parameters.items()}
        arch = space.discretise(raw)
        metrics = table.query(arch)
        assert line["architecture"] == str(arch) == str(unbroken.architectures[epoch])
        assert line["cell_hash"] == arch.cell.hash
        assert line["table_test_error"] == 1 - metrics.test_accuracy
        assert line["table_validation_error"] == 1 - metrics.validation_accuracy
        assert line["test_regret"] == table.regret(arch) >= 0
        assert line["validation_regret"] == table.regret(arch, split="validation") >= 0
        assert line["test_measured"] is metrics.is_measurement("test_accuracy")
        assert line["validation_measured"] is False  # estimates, even if they are shrunk toward a measurement
        assert line["simulated_seconds"] == round(line["search_seconds"] + metrics.training_time, 3)
        assert line["search_seconds"] == round(line["search_seconds"], 3)
        assert 0 <= line["one_shot_validation_error"] <= 1


def test_equal_seeds_give_identical_runs_and_other_seeds_differ(unbroken, tmp_path):
    assert_same_run(unbroken, search(tmp_path / "again", keep_weights_every=2))
    assert without_seconds(search(tmp_path / "other", seed=1)) != without_seconds(unbroken)


def test_lambda_and_weights_both_change(unbroken):
    for history in unbroken.architecture_parameters.values():
        assert (np.abs(np.diff(history, axis=0)).max(axis=tuple(range(1, history.ndim))) > 0).all()
    assert unbroken.lines[-1]["train_loss"] != unbroken.lines[1]["train_loss"]


# A real process that sends itself SIGKILL at a chosen point: no handler, no clean-up.
DRIVER = """
import os, signal, sys
from rich.console import Console
import nasbench1shot1 as nb
from nasbench1shot1.ground import files
from nasbench1shot1.runs import checkpoints, writer
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.one_shot_search.writer import SearchWriter

def die(): os.kill(os.getpid(), signal.SIGKILL)

moment, epoch, out, options = sys.argv[1], int(sys.argv[2]), sys.argv[3], eval(sys.argv[4])
if moment == "training":
    def kill_in_training(state, now, reporter, real=loop.train_epoch):
        class Killer:
            def step(self, *_): die()
        return real(state, now, Killer() if now == epoch else reporter)
    loop.train_epoch = kill_in_training
elif moment == "metrics":
    def kill_after_half_a_line(self, line, parameters, real=SearchWriter.append):
        if line["epoch"] == epoch:
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write('{"epoch": %d, "train_lo' % epoch)
            die()
        real(self, line, parameters)
    SearchWriter.append = kill_after_half_a_line
elif moment == "checkpoint":
    def kill_while_writing(path, content, real=checkpoints.save_checkpoint):
        if path.name == "checkpoint.pt" and content["epoch"] == epoch:
            with files.atomic_write(path) as file:
                file.write(b"PK half a checkpoint")
                file.flush()
                die()
        real(path, content)
    writer.save_checkpoint = kill_while_writing
elif moment == "summary":
    SearchWriter.finish = lambda self, summary: die()
given = {"resume": out} if os.path.exists(out) else {"out": out, **options}
nb.search(console=Console(quiet=True), **given)
"""


def killed(moment: str, epoch: int, out: Path, **options) -> None:
    """Search in a separate process, or resume the search in `out`, until the process is killed at this point."""
    assert_killed(DRIVER, out, moment, str(epoch), str(out), repr({**TINY, **options}))


@pytest.mark.parametrize(
    "kills",
    [
        (("training", 1), ("training", 3), ("summary", 4)),
        (("metrics", 0), ("metrics", 3)),
        (("checkpoint", 0), ("checkpoint", 2)),
    ],
    ids=["while training", "in a line", "in a checkpoint"],
)
def test_a_killed_and_resumed_run_equals_an_uninterrupted_one(unbroken, tmp_path, kills):
    for moment, epoch in kills:
        killed(moment, epoch, tmp_path / "run", keep_weights_every=2)
    assert_same_run(unbroken, nb.search(resume=tmp_path / "run", console=Console(quiet=True)))
    assert not list((tmp_path / "run").rglob("*.part"))


def test_resuming_a_finished_run_changes_nothing_unless_epochs_are_added(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    assert_same_run(unbroken, nb.search(resume=folder, console=Console(quiet=True)))
    longer = nb.search(resume=folder, epochs=6, console=Console(quiet=True))
    assert longer.metrics["epoch"].tolist() == list(range(7))
    assert longer.summary["epochs"] == longer.config["epochs"] == 6
    assert without_seconds(longer)[:5] == without_seconds(unbroken)
    assert len(longer.architecture_parameters["operations"]) == 7


def test_a_table_with_missing_cells_is_refused_before_the_search(tmp_path):
    with refuses(nb.OutOfDomainError, "nb101-sample", "2,512", "2,685", "s1", "embedded"):
        search(tmp_path / "run", table="nb101-sample")
    assert not (tmp_path / "run").exists()


def test_the_name_of_a_bundled_table_is_recorded(tmp_path, monkeypatch):
    (tmp_path / "embedded").mkdir()
    monkeypatch.chdir(tmp_path)
    config = search_options({"table": "embedded"}).common
    assert config.table == "embedded"
    assert search_options({"table": "./embedded"}).common.table == str(tmp_path / "embedded")


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"epochs": 3}, "epochs=4 3"),
        ({"epochs": 0}, "epochs 1,000,000 0"),
        ({"seed": 5}, "seed=0 5"),
        ({"sed": 5}, "sed seed"),
        ({"out": "elsewhere"}, "out="),
    ],
)
def test_resuming_with_another_configuration_is_refused(unbroken, options, values):
    before = (unbroken.folder / "metrics.jsonl").read_bytes()
    with refuses(nb.UserError, *values.split()):
        nb.search(resume=unbroken.folder, **options)
    assert (unbroken.folder / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("damage", [lambda data: data[:200], lambda data: b"no archive", lambda data: b""])
def test_a_damaged_checkpoint_is_reported_in_one_sentence_and_loses_nothing(unbroken, tmp_path, damage):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    checkpoint = folder / "checkpoint.pt"
    checkpoint.write_bytes(damage(checkpoint.read_bytes()))
    with refuses(nb.DamagedFileError, "checkpoint.pt"):
        nb.search(resume=folder, console=Console(quiet=True))
    assert nb.load_run(folder).lines == unbroken.lines


def test_a_checkpoint_of_another_space_is_refused(unbroken, tmp_path):
    other = search(tmp_path / "s2", space="s2", epochs=1)
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    shutil.copy(other.folder / "checkpoint.pt", folder / "checkpoint.pt")
    with refuses(nb.InvalidInputError, "nb101-s2-v1", "nb101-s1-v1"):
        nb.search(resume=folder, console=Console(quiet=True))


def test_missing_lines_are_refused(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(lines[:3]))
    with refuses(nb.DamagedFileError, "metrics.jsonl", 3, 5):
        nb.search(resume=folder, console=Console(quiet=True))


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"space": "s4"}, "s4 s1"),
        ({"optimizer": "dart"}, "dart darts"),
        ({"preset": "orginal"}, "orginal original"),
        ({"scale": "quik"}, "quik quick"),
        ({"learnin_rate": 1}, "learnin_rate learning_rate"),
        ({"images": "cifar11"}, "cifar11 cifar10"),
        ({"epochs": 0}, "epochs 1,000,000 0"),
        ({"epochs": "many"}, "epochs many"),
        ({"epochs": 2.5}, "epochs 2.5"),
        ({"batch_size": 20.0}, "batch_size 20.0"),
        ({"seed": True}, "seed True"),
        ({"compile": "no"}, "compile no"),
        ({"space": None}, "space None"),
        ({"grad_clip": float("inf")}, "grad_clip inf"),
        ({"threads": 0}, "threads 0"),
        ({"threads": 100_000}, "threads 100000"),
        ({"device": "cpu:foo"}, "cpu:foo"),
        ({"batch_size": 41}, "batch_size=41 40"),
        ({"learning_rate": float("nan")}, "learning_rate nan"),
        ({"grad_clip": -1.0}, "grad_clip -1.0"),
        ({"learning_rate": 0.001, "learning_rate_min": 1}, "learning_rate=0.001 learning_rate_min=1.0"),
        ({"precision": "float16"}, "float16 bfloat16"),
        ({"device": "tpu"}, "tpu"),
        ({"table": "/nowhere"}, "/nowhere"),
        ({"images_per_half": 10_000}, "10,000 350"),
    ],
)
def test_bad_options_are_reported_in_one_sentence_and_write_nothing(tmp_path, options, values):
    with refuses(nb.UserError, *values.split()):
        search(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_the_full_scale_without_cifar10_suggests_both_remedies(tmp_path, monkeypatch):
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path / "empty"))
    with refuses(nb.UserError, options="scale"):
        nb.search(out=tmp_path / "run", console=Console(quiet=True))


def test_an_existing_folder_is_never_overwritten(unbroken, tmp_path):
    before = sorted((path.name, path.stat().st_mtime_ns) for path in unbroken.folder.rglob("*"))
    with refuses(nb.InvalidInputError, unbroken.folder, options="overwrite out"):
        search(unbroken.folder, keep_weights_every=2)
    with refuses(nb.InvalidInputError, "softmax", "gumbel", options="relaxation overwrite out"):
        search(unbroken.folder, keep_weights_every=2, relaxation="gumbel")
    assert sorted((path.name, path.stat().st_mtime_ns) for path in unbroken.folder.rglob("*")) == before
    (tmp_path / "mine.txt").write_text("mine")
    with refuses(nb.InvalidInputError, tmp_path, options="out"):
        search(tmp_path)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"images_per_half": 10_000}, "10,000 350"),
        ({"batch_size": 41}, "batch_size=41"),
    ],
)
def test_an_existing_folder_does_not_hide_a_bad_option(unbroken, options, values):
    with refuses(nb.InvalidInputError, *values.split()):
        search(unbroken.folder, **options)


def test_a_nan_loss_ends_the_search_and_keeps_the_record(tmp_path):
    with refuses(DivergedError, "training", 1, options="learning_rate grad_clip"):
        search(tmp_path / "run", learning_rate=1e30, grad_clip=1e30, images_per_half=400)
    assert [line["epoch"] for line in nb.load_run(tmp_path / "run").lines] == [0]


def test_a_full_disk_is_reported_in_one_sentence_and_the_run_can_be_resumed(unbroken, tmp_path, monkeypatch):
    import errno

    from nasbench1shot1.ground import files

    real = os.fsync

    def full(descriptor: int) -> None:
        if (tmp_path / "run" / "metrics.jsonl").exists() and len(nb.load_run(tmp_path / "run").lines) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(files.os, "fsync", full)
    with refuses(nb.UserError, tmp_path / "run" / "metrics.jsonl", options=""):
        search(tmp_path / "run", keep_weights_every=2)
    assert not list((tmp_path / "run").rglob("*.part"))
    monkeypatch.undo()
    assert_same_run(unbroken, nb.search(resume=tmp_path / "run", console=Console(quiet=True)))


def test_preset_corrected_never_uses_validation_images_of_nas_bench_101(tmp_path, monkeypatch):
    """With all indices of CIFAR-10 and tiny halves, every row fetched by a search is below 40,000."""
    from nasbench1shot1.images.image_set import ImageSet

    index, one = torch.arange(50_000), torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
    whole = ImageSet("cifar10", one.expand(50_000, -1, -1, -1), index % 10, index, "0" * 64)
    monkeypatch.setattr("nasbench1shot1.one_shot_search.beginning.load_images", lambda name: whole)
    seen: set[int] = set()
    real = ImageSet.batch

    def watched(self, rows):
        seen.update(self.index[rows].tolist())
        return real(self, rows)

    monkeypatch.setattr(ImageSet, "batch", watched)
    options = {"epochs": 1, "images_per_half": 200}
    search(tmp_path / "corrected", **options)
    weights, architecture = {i for i in seen if i < 20_000}, {i for i in seen if i >= 20_000}
    assert (len(weights), len(architecture)) == (200, 200)
    assert max(seen) < 40_000
    seen.clear()
    search(tmp_path / "original", preset="original", **options)
    assert max(seen) >= 40_000


def test_numpy_scalars_and_paths_are_accepted_as_options(unbroken, tmp_path):
    options = {"seed": np.int64(0), "epochs": np.int32(4), "momentum": np.float64(0.9), "keep_weights_every": 2}
    assert_same_run(unbroken, search(tmp_path / "run", **options))
    grown = nb.search(resume=tmp_path / "run", epochs=np.int64(5), console=Console(quiet=True))
    assert grown.config["epochs"] == 5


def test_a_finished_run_without_its_checkpoint_is_not_erased(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    (folder / "checkpoint.pt").unlink()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with refuses(nb.DamagedFileError, "checkpoint.pt"):
        nb.search(resume=folder, epochs=6, console=Console(quiet=True))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_flipped_bit_inside_a_checkpoint_tensor_is_detected(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    tensor = torch.load(folder / "checkpoint.pt", weights_only=True)["supernet"]["head.weight"].numpy().tobytes()
    content = bytearray((folder / "checkpoint.pt").read_bytes())
    content[content.index(tensor[:16])] ^= 1
    (folder / "checkpoint.pt").write_bytes(content)
    with refuses(nb.DamagedFileError, "checkpoint.pt"):
        nb.search(resume=folder, console=Console(quiet=True))


@pytest.mark.parametrize(("other", "name"), [({"seed": 3}, "seed"), ({"channels": 3}, "channels")])
def test_a_checkpoint_of_another_run_is_refused(unbroken, tmp_path, other, name):
    stranger = search(tmp_path / "other", **{"epochs": 1, "keep_weights_every": 2, **other})
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    shutil.copy(stranger.folder / "checkpoint.pt", folder / "checkpoint.pt")
    with refuses(nb.InvalidInputError, name, 3):
        nb.search(resume=folder, console=Console(quiet=True))


@pytest.mark.parametrize("missing", ["method", "epoch"])
def test_an_incomplete_checkpoint_is_refused(unbroken, tmp_path, missing):
    from nasbench1shot1.runs.checkpoints import load_checkpoint, save_checkpoint

    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    content = load_checkpoint(folder / "checkpoint.pt")
    del content[missing]
    save_checkpoint(folder / "checkpoint.pt", content)
    with refuses(nb.DamagedFileError, "checkpoint.pt"):
        nb.search(resume=folder, console=Console(quiet=True))


def test_weights_that_diverge_in_the_last_step_of_an_epoch_are_not_recorded(tmp_path):
    with refuses(DivergedError, "one-shot loss", 1, options="learning_rate grad_clip"):
        search(tmp_path / "run", learning_rate=1e30, grad_clip=1e30, batch_size=40)
    assert [line["epoch"] for line in nb.load_run(tmp_path / "run").lines] == [0]


def test_an_extended_run_is_reported_as_extended(unbroken, tmp_path):
    assert unbroken.config["grown"] == []
    search(tmp_path / "run", epochs=2)
    grown = nb.search(resume=tmp_path / "run", epochs=4, console=Console(quiet=True))
    assert grown.config["grown"] == [{"from": 2, "to": 4, "after_epoch": 2}]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("metrics.jsonl", b"\xff\xfe no utf-8\n"),
        ("metrics.jsonl", b"not json\n"),
        ("metrics.jsonl", b"[]\n"),
        ("metrics.jsonl", b'{"epoch": 0}\n'),
        ("config.json", b"[]"),
        ("summary.json", b"[]"),
    ],
)
def test_damaged_records_are_reported_in_one_sentence_before_training_or_writing(unbroken, tmp_path, name, damage):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    (folder / name).write_bytes(damage)
    with pytest.raises(nb.DamagedFileError) as caught:
        _ = nb.load_run(folder).lines, nb.load_run(folder).summary
    assert "\n" not in str(caught.value)
    if name != "summary.json":  # a resumed search rewrites it
        with pytest.raises(nb.DamagedFileError):
            nb.search(resume=folder, epochs=5, console=Console(quiet=True))
        assert (folder / name).read_bytes() == damage


@pytest.mark.parametrize("grown", [None, {}, [1], [{"from": 2, "to": 4}], [{"from": 2, "to": 4, "after_epoch": "2"}]])
def test_damaged_earlier_lengths_are_refused(unbroken, tmp_path, grown):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, "grown": grown}))
    with refuses(nb.DamagedFileError, folder / "config.json", "grown"):
        nb.load_run(folder)


def test_lambda_of_another_shape_is_refused_on_resuming(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    np.savez(folder / "architecture_parameters.npz", operations=np.zeros((5, 4, 3), np.float32))
    with refuses(nb.DamagedFileError, "architecture_parameters.npz"):
        nb.search(resume=folder, epochs=5, console=Console(quiet=True))


def test_two_processes_cannot_write_to_the_same_run(unbroken, tmp_path):
    from nasbench1shot1.runs.lock import locked

    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    with locked(folder), refuses(nb.InvalidInputError, folder):
        nb.search(resume=folder, epochs=5, console=Console(quiet=True))


def test_global_modes_of_pytorch_do_not_change_a_search(tmp_path):
    plain = search(tmp_path / "plain", optimizer="random-ws", epochs=1)
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        with torch.inference_mode():
            other = search(tmp_path / "other", optimizer="random-ws", epochs=1)
        with torch.no_grad():
            resumed = nb.search(resume=other.folder, epochs=2, console=Console(quiet=True))
        assert (torch.get_default_dtype(), torch.get_default_device().type) == (torch.float64, "meta")
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    plain = nb.search(resume=plain.folder, epochs=2, console=Console(quiet=True))
    assert differences(plain, resumed) == []


def test_a_search_restores_the_number_of_threads(tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(3)  # one thread: several threads on a busy core would wait for one another
    try:
        search(tmp_path / "run", epochs=1)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_run_can_be_resumed_from_another_folder_and_environment(tmp_path, monkeypatch, measured_table):
    run = search(tmp_path / "run", epochs=1)
    monkeypatch.setenv("NB1SHOT1_TABLE", measured_table.info()["folder"])
    grown = nb.search(resume=run.folder, epochs=2, console=Console(quiet=True))
    assert grown.config["table"] == "embedded"
    other = search(tmp_path / "other", epochs=1)
    assert other.config["table"] == measured_table.info()["folder"]
    assert other.lines[-1]["test_measured"]


def test_a_user_defined_optimizer_class_is_found_again_on_resuming(tmp_path):
    from annealed_darts import AnnealedDARTS

    run = nb.search(AnnealedDARTS, out=tmp_path / "run", console=Console(quiet=True), **{**TINY, "epochs": 1})
    assert run.config["optimizer"] == "annealed_darts:AnnealedDARTS"
    assert len(nb.search(resume=run.folder, epochs=2, console=Console(quiet=True)).lines) == 3
    with refuses(nb.InvalidInputError, "annealed_darts:Nothing"):
        search(tmp_path / "other", optimizer="annealed_darts:Nothing")


def test_a_refused_smaller_group_is_left_unchanged(tmp_path):
    options = {**TINY, "epochs": 2, "console": Console(quiet=True)}
    nb.search_seeds([0, 1], out=tmp_path / "group", **options)
    before = (tmp_path / "group" / "seeds.json").read_bytes()
    for epochs, sentence in (
        (1, "epochs may only increase, not fall to 1"),
        (-3, "epochs must be between 1 and 1,000,000"),
    ):
        with pytest.raises(nb.InvalidInputError, match=sentence):
            nb.search_seeds([], resume=tmp_path / "group", epochs=epochs, console=Console(quiet=True))
    assert (tmp_path / "group" / "seeds.json").read_bytes() == before
    (tmp_path / "group" / "seed-1" / "config.json").unlink()  # as if killed before the options were recorded
    for path in (tmp_path / "group" / "seed-1").iterdir():
        if path.name != "environment.json":
            path.unlink()
    runs = nb.search_seeds([], resume=tmp_path / "group", epochs=3, console=Console(quiet=True))
    assert [len(run.lines) for run in runs] == [4, 4]


def test_a_search_that_fails_before_its_first_record_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("nasbench1shot1.one_shot_search.loop.one_shot_error", lambda state, epoch: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        search(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_mixed_optimizers_are_named_on_screen_and_in_the_picture(tmp_path):
    screen = StringIO()
    options = {**TINY, "epochs": 1, "relaxation": "gumbel", "weight_decay": 0.01}
    run = nb.search(out=tmp_path / "run", console=Console(file=screen, width=80), **options)
    assert "With --weight-decay 0.01, --relaxation gumbel" in screen.getvalue()
    assert non_default_options(run.config) == {"weight_decay": 0.01, "relaxation": "gumbel"}
    assert scale_text([run.config]).endswith("\n--weight-decay\xa00.01, --relaxation\xa0gumbel")
    other = {**run.config, "weight_decay": 0.02}
    assert scale_text([run.config, other]).endswith("preset\xa0corrected\n--relaxation\xa0gumbel")


class KeepingTheGenerator(DARTS):
    """A method whose `begin_epoch` does not call the method that it overrides."""

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        pass


def test_begin_epoch_must_store_the_generator_of_the_epoch(tmp_path):
    with refuses(nb.InvalidInputError, "KeepingTheGenerator.begin_epoch()", "super().begin_epoch(", options=""):
        search(tmp_path / "run", optimizer=KeepingTheGenerator)


class Still(DARTS):
    """A method whose steps forget to update Λ."""

    def architecture_step(self, step: SearchStep) -> None:
        pass


class StillButChoosing(Still):
    """A method that does not use Λ, and prefers another architecture after every epoch."""

    preferred = 0

    def begin_epoch(self, epoch: int, *others) -> None:
        super().begin_epoch(epoch, *others)
        self.preferred = epoch

    def architecture(self) -> nb.Architecture:
        return self.space[self.preferred]


class OnlyWarmingUp(Still):
    """A method that only trains weights."""

    def phases(self, epochs: int, warm_start_epochs: int) -> list[Phase]:
        return [Phase("weights", epochs, Cosine(epochs), moves_parameters=False)]


def test_a_search_in_which_lambda_never_moved_ends_with_a_warning(tmp_path):
    folder = search(tmp_path / "run", optimizer=Still, epochs=1).folder
    screen = StringIO()
    resumed = nb.search(resume=folder, epochs=2, console=Console(file=screen, width=1000))
    assert screen.getvalue().count(resumed.summary["note"]) == 1
    assert not missing(resumed.summary["note"], "no step of", ":Still changed Λ", "learning rate of Λ is not 0")
    assert open_entries(resumed)[0].note == resumed.summary["note"]
    assert {line["architecture"] for line in resumed.lines} == {resumed.summary["architecture"]}


def test_a_group_of_searches_that_never_moved_lambda_warns_once(tmp_path):
    screen = StringIO()
    options = {**TINY, "architecture_learning_rate": 0.0, "epochs": 1}
    nb.search_seeds([0, 1], out=tmp_path / "group", console=Console(file=screen, width=1000), **options)
    assert screen.getvalue().rpartition("Picture: ")[2].count("no step of darts changed Λ") == 1


class DrawingFromPyTorch(DARTS):
    """A method that draws Λ from PyTorch's global generator."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.parameters = {key: torch.randn(of.shape).requires_grad_() for key, of in self.parameters.items()}


class DrawingFromNumPy(DARTS):
    """A method that draws noise from NumPy's global generator."""

    def mixing(self) -> Mixing:
        return super().mixing().with_each(lambda of: {key: of[key] + np.random.rand() for key in of})  # noqa: NPY002


class DrawingFromPython(DARTS):
    """A method that prefers an architecture at random."""

    def architecture(self) -> nb.Architecture:
        return self.space[random.randrange(100)]


@pytest.mark.parametrize("optimizer", [DrawingFromPyTorch, DrawingFromNumPy, DrawingFromPython])
def test_a_search_that_draws_from_a_global_generator_ends_with_a_warning(optimizer, tmp_path):
    screen = StringIO()
    options = {**TINY, "optimizer": optimizer, "epochs": 1}
    run = nb.search(out=tmp_path / "run", console=Console(file=screen, width=1000), **options)
    assert not missing(run.summary["note"], f":{optimizer.__name__} draws random numbers", "generator=self.generator")
    assert screen.getvalue().count(run.summary["note"]) == 1
    again = nb.search(resume=run.folder, console=Console(quiet=True))
    assert again.summary["note"] == run.summary["note"]


@pytest.mark.parametrize("optimizer", ["darts", "random-ws", "enas", "spos", StillButChoosing, OnlyWarmingUp])
def test_methods_that_move_lambda_or_do_not_use_it_are_not_warned_of(optimizer, tmp_path):
    own = FOR_TINY.get(optimizer, {}) if isinstance(optimizer, str) else {}
    assert "note" not in search(tmp_path / "run", optimizer=optimizer, **{"epochs": 1, **own}).summary
