"""Arguments, files, folders and calls that the package refuses, for the table of messages."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from synthetic_study import write_study

import nasbench1shot1 as nb
from nasbench1shot1 import api, cli
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.runs.lock import locked
from nasbench1shot1.tables.table import Table

S1 = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
EDGES = "nb201:|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
CONV = "conv3x3-bn-relu"
CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
PIXELS = np.zeros((4, 32, 32, 3), np.uint8)


def table() -> Table:
    return nb.load_table("embedded")


def best() -> Cell:
    return table().best("s1")[0]


def edited(tmp: Path) -> Path:
    """A copy of the embedded table with another description."""
    folder = Path(shutil.copytree(PACKAGE_DATA / "table", tmp / "mine"))
    (folder / "meta.json").write_text((folder / "meta.json").read_text().replace("embedded", "embodded", 1))
    return folder


def truncated(tmp: Path) -> Path:
    """A copy of the embedded table with a shorter column."""
    folder = Path(shutil.copytree(PACKAGE_DATA / "table", tmp / "mine"))
    (folder / "hash.npy").write_bytes((folder / "hash.npy").read_bytes()[:-1])
    return folder


def file(tmp: Path, content: bytes, name: str = "a.tfrecord") -> Path:
    (tmp / name).write_bytes(content)
    return tmp / name


def notes(tmp: Path) -> Path:
    """A folder with another file."""
    (tmp / "mine").mkdir()
    file(tmp / "mine", b"notes", "notes.txt")
    return tmp / "mine"


def npz(tmp: Path, **arrays: Any) -> Path:
    np.savez(tmp / "mine.npz", **arrays)
    return tmp / "mine.npz"


def labelled(tmp: Path, **arrays: Any) -> Path:
    return npz(tmp, images=PIXELS, labels=np.arange(4), **arrays)


def damaged_images(tmp: Path) -> None:
    (import_images(labelled(tmp)) / "images.npy").write_bytes(b"")
    load_images("mine")


def ask(matrix: Any, ops: list[str], **options: Any) -> None:
    api.NASBench(table()).query(api.ModelSpec(matrix, ops), **options)


def supernet(**options: Any) -> nb.Supernet:
    return nb.Supernet(nb.search_space("s1"), **{"channels": 2, "cells": 1, **options})


def mixing() -> dict[str, torch.Tensor]:
    return {name: torch.ones(shape) for name, shape in nb.search_space("s1").mixing_shapes().items()}


class ReturnsWeights(DARTS):
    """An optimizer that forgets to return a Mixing."""

    def mixing(self) -> Any:
        return super().mixing().weights


class KeepsNumPy(DARTS):
    """An optimizer whose state a checkpoint cannot restore."""

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "best": np.float64(0.5)}


def search(tmp: Path, method: str | type, **options: Any) -> None:
    nb.search(method, space="s1", scale="quick", out=tmp / "run", **options)


def record(tmp: Path, **values: float) -> None:
    nb.Recorder(tmp / "own", "s1").record(nb.Architecture.parse(S1) if values else S1, **values)


def own_run(tmp: Path, finished: bool = True) -> Path:
    """The folder of a recorded search of one epoch."""
    recorder = nb.Recorder(tmp / "own", "s1")
    recorder.record(nb.Architecture.parse(S1))
    if finished:
        recorder.finish()
    return recorder.folder


def written_study(tmp: Path) -> Path:
    """The folder of an unfinished tuning study."""
    return write_study(tmp / "study", iterations=2, finished=False).folder


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    """A run's folder in which a text of a file is replaced."""
    (folder / name).write_text((folder / name).read_text().replace(old, new, 1))
    return folder


def lock_twice(folder: Path) -> None:
    with locked(folder), locked(folder):
        pass


def tune(tmp: Path, **options: Any) -> None:
    nb.tune(scale="quick", out=tmp / "study", console=Console(quiet=True), **options)


def pth(tmp: Path, content: Any) -> Path:
    torch.save(content, tmp / "mine.pth")
    return tmp / "mine.pth"


def command(words: str) -> Callable[[Path], object]:
    """A call of the command line, in which {tmp} is the test's folder."""
    return lambda tmp: cli._run(words.format(tmp=tmp).split())
