"""Killed, interrupted, damaged and resumed trainings of a cell; the command line."""

import io
import os
import re
import shutil
from pathlib import Path

import pytest
import torch
from command_line import command, new_process
from killed_training import assert_training_killed
from refusals import fails, missing
from rich.console import Console
from tiny_training import CELL, TINY, assert_same_training, train, write_images

import nasbench1shot1 as nb
from nasbench1shot1.cell_training import Training, load_training

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Path:
    return write_images(tmp_path_factory.mktemp("images") / "coloured.npz")


@pytest.fixture(scope="module")
def unbroken(images, tmp_path_factory) -> Training:
    return train(tmp_path_factory.mktemp("unbroken") / "run", images)


def killed(moment: str, step: int, out: Path, images: Path, **options) -> None:
    """Train in a separate process that is killed at this point."""
    assert_training_killed(moment, step, CELL, out, {**TINY, "images": str(images), **options})


@pytest.mark.parametrize(
    "kills",
    [
        (("training", 0), ("training", 3), ("training", 13), ("summary", 20)),
        (("evaluation", 1), ("line", 1), ("evaluation", 10), ("line", 10)),
        (("metrics", 1), ("checkpoint", 1), ("checkpoint", 10), ("metrics", 15)),
    ],
    ids=["while training", "around lines", "while writing"],
)
def test_a_killed_and_resumed_training_equals_an_uninterrupted_one(unbroken, images, tmp_path, kills):
    for moment, step in kills:
        killed(moment, step, tmp_path / "run", images)
    resumed = nb.train_cell(resume=tmp_path / "run", console=QUIET)
    assert_same_training(unbroken, resumed)
    assert not list((tmp_path / "run").rglob("*.part"))


def test_rare_checkpoints_change_only_the_epoch_to_resume_from(unbroken, images, tmp_path):
    killed("training", 17, tmp_path / "run", images, checkpoint_every=3)
    content = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)
    assert content["step"] == 15
    resumed = nb.train_cell(resume=tmp_path / "run", console=QUIET)
    rare = train(tmp_path / "rare", images, checkpoint_every=3)
    assert_same_training(rare, resumed)
    assert [line["batch_loss"] for line in rare.lines] == [line["batch_loss"] for line in unbroken.lines]


def test_resuming_adds_to_the_recorded_time(images, tmp_path):
    killed("training", 12, tmp_path / "run", images)
    before = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["training_seconds"]
    resumed = nb.train_cell(resume=tmp_path / "run", console=QUIET)
    assert resumed.lines[2]["training_time"] == before < resumed.final.training_time


def test_resuming_a_finished_training_changes_nothing(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    screen = Console(file=io.StringIO(), width=200)
    resumed = nb.train_cell(CELL, resume=folder, console=screen, epochs=4, seed=0)
    assert_same_training(unbroken, resumed)
    said = screen.file.getvalue().splitlines()
    assert [line.split(":")[0].split()[0] for line in said[1:]] == ["Accuracy", "Record"] and "4" in said[1]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("x", "options", "sentence"),
    [
        (None, {"epochs": 12}, r"epochs=4.*\b12\b"),
        (None, {"seed": 1}, r"seed=0.*\b1\b"),
        (None, {"sed": 1}, "mean 'seed'"),
        (None, {"out": "elsewhere"}, "out="),
        ("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv3x3,maxpool3x3,conv3x3", {}, "cell"),
    ],
)
def test_resuming_with_other_options_is_refused(unbroken, x, options, sentence):
    before = (unbroken.folder / "metrics.jsonl").read_bytes()
    with pytest.raises(nb.InvalidInputError, match=sentence):
        nb.train_cell(x, resume=unbroken.folder, console=QUIET, **options)
    assert (unbroken.folder / "metrics.jsonl").read_bytes() == before


def test_an_existing_folder_is_never_overwritten(unbroken, images, tmp_path):
    before = {path.name: path.stat().st_mtime_ns for path in unbroken.folder.iterdir()}
    with pytest.raises(nb.InvalidInputError, match="out="):
        train(unbroken.folder, images)
    assert {path.name: path.stat().st_mtime_ns for path in unbroken.folder.iterdir()} == before
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(nb.InvalidInputError, match="out="):
        train(tmp_path, images)


def test_two_processes_cannot_write_to_the_same_folder(unbroken, tmp_path):
    from nasbench1shot1.runs.lock import locked

    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    with locked(folder), pytest.raises(nb.InvalidInputError, match="process"):
        nb.train_cell(resume=folder, console=QUIET)


@pytest.mark.parametrize(
    ("name", "damage", "sentence"),
    [
        ("checkpoint.pt", lambda data: data[:200], r"checkpoint\.pt"),
        ("checkpoint.pt", lambda data: b"", r"checkpoint\.pt"),
        ("checkpoint.pt", None, r"checkpoint\.pt"),
        (
            "metrics.jsonl",
            lambda data: data.split(b"\n", 1)[0] + b"\n",
            "1 line, .*line 5",
        ),
        ("metrics.jsonl", lambda data: b"[]\n" + data, r"metrics\.jsonl"),
        ("metrics.jsonl", lambda data: data + data, "increase"),
        ("config.json", lambda data: b"[]", "JSON"),
        ("config.json", lambda data: data.replace(b'"momentum"', b'"momentun"'), "lacks 'momentum'"),
        ("config.json", lambda data: data.replace(b'"seed": 0', b'"seed": 1'), "seed 0"),
        ("config.json", lambda data: data.replace(b'"steps": 20', b'"steps": 21'), "steps 21"),
    ],
)
def test_damage_is_reported_in_one_sentence_before_training(unbroken, tmp_path, name, damage, sentence):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    path = folder / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(nb.UserError, match=sentence) as caught:
        nb.train_cell(resume=folder, console=QUIET)
    assert "\n" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_checkpoint_of_another_training_is_refused(unbroken, images, tmp_path):
    other = train(tmp_path / "other", images, "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv3x3,maxpool3x3,conv3x3", epochs=4)
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    shutil.copy(other.folder / "checkpoint.pt", folder / "checkpoint.pt")
    with pytest.raises(nb.InvalidInputError, match="training"):
        nb.train_cell(resume=folder, console=QUIET)


def test_resuming_with_other_images_is_refused(images, tmp_path):
    own = shutil.copy(images, tmp_path / "own.npz")
    training = train(tmp_path / "run", own)
    write_images(own, per_class=15)
    with pytest.raises(nb.InvalidInputError, match="images_sha256"):
        nb.train_cell(resume=training.folder, console=QUIET)


def test_a_full_disk_is_reported_in_one_sentence_and_the_training_can_be_resumed(
    unbroken, images, tmp_path, monkeypatch
):
    import errno

    from nasbench1shot1.ground import files

    real = os.fsync

    def full(descriptor: int) -> None:
        metrics = tmp_path / "run" / "metrics.jsonl"
        if metrics.exists() and metrics.read_text().count("\n") > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(nb.UserError, match="space"):
        train(tmp_path / "run", images)
    monkeypatch.undo()
    assert_same_training(unbroken, nb.train_cell(resume=tmp_path / "run", console=QUIET))


# The command line -----------------------------------------------------------------------------------------------------


def flags(images: Path) -> list[str]:
    options = {**TINY, "images": images}
    return [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def test_the_command_shows_results_next_to_the_table(unbroken, images, tmp_path):
    done = new_process("train", CELL, *flags(images), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    training = load_training(tmp_path / "runs" / f"cell-{unbroken.cell.hash[:8]}-4-0")
    assert_same_training(unbroken, training)
    screen = " ".join(done.stdout.split())
    assert "quick scale: 4 channels × 3 cells" in screen
    assert "100 train, 20 validate, 20 test" in screen
    assert re.search(r"On this CPU it takes (less than a minute|about \d+ min)\.", screen)
    metrics = nb.load_table().query(unbroken.cell, epochs=4)
    for value in (training.final.validation_accuracy, metrics.validation_accuracy):
        assert f"{value:.4f}" in screen
    assert f"{training.trainable_parameters:,} │ {metrics.trainable_parameters:,} │ exact" in screen
    assert "predicted" in screen
    assert "not in this table" in screen
    assert "so accuracies and times are not comparable" in screen
    assert metrics.fidelity in screen
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("    ") and "%" in line]
    assert rows == [["0", "1"], ["2", "10"], ["4", "20"]]


def test_the_command_resumes_and_takes_a_hash(unbroken, images, tmp_path):
    killed("training", 8, tmp_path / "run", images)
    done = command("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_training(unbroken, load_training(tmp_path / "run"))
    by_hash = command("train", unbroken.cell.hash, *flags(images), "--epochs", "1", "--out", "hash", cwd=tmp_path)
    assert by_hash.returncode == 0, by_hash.stderr
    assert not missing(by_hash.stdout, "nb101-embedded-v2-5915e9e")
    fails(command("train", "--resume", "run", "--epochs", "12", cwd=tmp_path), "--epochs 4", 12)
    fails(command("train", cwd=tmp_path), "architecture")
