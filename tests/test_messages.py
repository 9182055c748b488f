"""The sentence of each kind of error, once for each package (messages.txt).

All other tests check errors by their type and by the option, the value or the name that the message contains.
"""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.api.nas_201_api import NASBench201API
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import data_set
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.images.pickles import read_python_batch
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench201.numbering import index_of
from nasbench1shot1.tables.importing import import_table
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


def published() -> NASBench201API:
    return NASBench201API("nb201", verbose=False)


def supernet(**options: Any) -> nb.Supernet:
    return nb.Supernet(nb.search_space("s1"), **{"channels": 2, "cells": 1, **options})


def mixing() -> dict[str, torch.Tensor]:
    return {name: torch.ones(shape) for name, shape in nb.search_space("s1").mixing_shapes().items()}


def search(tmp: Path, method: str, **options: Any) -> None:
    nb.search(method, space="s1", scale="quick", out=tmp / "run", **options)


def record(tmp: Path, **values: float) -> None:
    nb.Recorder(tmp / "own", "s1").record(nb.Architecture.parse(S1) if values else S1, **values)


KINDS: dict[str, dict[str, Callable[[Path], object]]] = {
    "tables": {
        "a look-up": lambda tmp: table().query("abc"),
        "an unknown cell": lambda tmp: table().query("0" * 32),
        "an unknown budget": lambda tmp: table().query(best(), epochs=107),
        "a budget of another type": lambda tmp: table().query(best(), epochs=True),
        "a missing repeat": lambda tmp: table().query(best(), run=1),
        "a repeat of another type": lambda tmp: table().query(best(), run=False),
        "a random repeat without a generator": lambda tmp: table().query(best(), run="random"),
        "half-way values": lambda tmp: table().query(best(), halfway=True),
        "an unknown reference": lambda tmp: table().best("s11"),
        "an unknown split": lambda tmp: table().best("s1", split="tset"),
        "an unknown column": lambda tmp: table().column("test_acuracy"),
        "a bound that is no bound": lambda tmp: nb.Bounds.parse("flops"),
        "two bounds": lambda tmp: nb.Bounds.parse("flops=1,flops=2"),
        "a bound that no network meets": lambda tmp: table().members("s1", nb.Bounds.of(trainable_parameters=5)),
        "a bound on a missing column": lambda tmp: table().allowed(nb.Bounds.of(flops=5)),
        "a bound on an accuracy": lambda tmp: table().allowed(nb.Bounds.of(test_accuracy=0.5)),
        "a bound on several data sets": lambda tmp: nb.load_table("nb201").allowed(nb.Bounds.of(flops=5)),
        "several data sets": lambda tmp: nb.load_table("nb201").best("nb201"),
        "an unknown data set": lambda tmp: nb.load_table("nb201").best("nb201", dataset="cifar-10"),
        "a row of another benchmark": lambda tmp: nb.load_table("nb201").query(S1),
        "no table": lambda tmp: nb.load_table(tmp),
        "an absent official file": lambda tmp: nb.load_table("nasbench_full.tfrecord"),
        "an unknown name": lambda tmp: nb.load_table("another"),
        "a changed description": lambda tmp: nb.load_table(edited(tmp)),
        "a damaged column": lambda tmp: nb.load_table(truncated(tmp)),
        "a target with other files": lambda tmp: table().save(notes(tmp)),
    },
    "images": {
        "an unknown data set": lambda tmp: data_set("imagenet16-120"),
        "an unknown image set": lambda tmp: load_images("cifar10-smple"),
        "CIFAR-10 is absent": lambda tmp: load_images("cifar10"),
        "ImageNet16-120 is absent": lambda tmp: load_images("ImageNet16-120"),
        "a missing file": lambda tmp: load_images("no/such/file.npz"),
        "a missing archive": lambda tmp: import_images("no/such/file.npz"),
        "a special file": lambda tmp: import_images("/dev/full"),
        "not an archive": lambda tmp: import_images(notes(tmp) / "notes.txt"),
        "no arrays": lambda tmp: load_images(npz(tmp, labels=np.arange(4))),
        "another shape": lambda tmp: load_images(npz(tmp, images=PIXELS.transpose(0, 3, 1, 2), labels=np.arange(4))),
        "no training images": lambda tmp: load_images(labelled(tmp, is_test=np.ones(4, bool))),
        "a reserved name": lambda tmp: import_images(labelled(tmp), "cifar10"),
        "the name of the sample": lambda tmp: import_images(labelled(tmp), "cifar10-sample"),
        "damaged columns": damaged_images,
        "a flip of no probability": lambda tmp: Augmentation(flip=1.1),
        "a pickle": lambda tmp: read_python_batch(b"(" * 9, "data_batch_1"),
    },
    "nasbench101": {
        "no path": lambda tmp: Cell(np.zeros((3, 3), int), ["input", CONV, "output"]).hash,
        "other entries": lambda tmp: Cell([[0, 2], [0, 0]], ["input", "output"]),
        "another shape": lambda tmp: Cell([[0, 1]], ["input", "output"]),
        "not triangular": lambda tmp: Cell([[0, 1], [1, 0]], ["input", "output"]),
        "an unknown operation": lambda tmp: Cell(CHAIN, ["input", "conv", "output"]),
        "no list of labels": lambda tmp: Cell([[0, 1], [0, 0]], "io"),
        "a number as a cell": lambda tmp: nb.build_network(7),
        "a text as a cell": lambda tmp: nb.build_network(S1),
        "channels": lambda tmp: nb.build_network(best(), stem_channels=0),
        "an unknown numbering": lambda tmp: nb.build_network(best(), numbering="nasbench11"),
        "an absent file": lambda tmp: import_table("no.tfrecord", tmp / "mine"),
        "an empty file": lambda tmp: import_table(file(tmp, b""), tmp / "mine"),
        "another kind of file": lambda tmp: import_table(file(tmp, bytes(99)), tmp / "mine"),
        "a packed file": lambda tmp: import_table(file(tmp, b"\x1f\x8b" + bytes(99)), tmp / "mine"),
    },
    "nasbench201": {
        "no text of an architecture": lambda tmp: nb.Architecture.parse("nb201:|nor_conv_1x1|"),
        "an unknown operation": lambda tmp: nb.Architecture.parse(
            "nb201:|conv~0|+|none~0|none~1|+|none~0|none~1|none~2|"
        ),
        "an unknown name of a space": lambda tmp: nb.Architecture.parse(
            ":|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
        ),
        "too many operations": lambda tmp: index_of((0,) * 7),
        "an absent operation": lambda tmp: index_of((0, 0, 0, 0, 0, 5)),
        "another architecture": lambda tmp: nb.search_space("nb201").index(nb.Architecture.parse(S1)),
        "a truncated archive": lambda tmp: import_table(
            file(tmp, bytes(99), "NATS-tss-v1_0-3ffb9-simple.tar"), tmp / "mine"
        ),
    },
    "nats_size": {
        "a width that does not exist": lambda tmp: nb.Architecture.parse("64:48:33:16:8"),
        "an incomplete text": lambda tmp: nb.Architecture.parse("nats-size:64:48"),
        "too few widths": lambda tmp: nb.WidthArchitecture("nats-size", (8, 8)),
        "no integers": lambda tmp: nb.WidthArchitecture("nats-size", "8:8"),  # type: ignore[arg-type]
        "an index out of range": lambda tmp: nb.load_table("nats-size").query(32_768, dataset="cifar10"),
        "an architecture of another space": lambda tmp: nb.search_space("nats-size").index(
            nb.Architecture.parse(EDGES)
        ),
        "a budget without values": lambda tmp: nb.load_table("nats-size").regret(0, epochs=12, dataset="cifar10"),
        "no validation accuracy": lambda tmp: nb.black_box("random", space="nats-size", out=tmp / "run"),
        "no training times": lambda tmp: nb.black_box(
            "random", space="nats-size", objective="test_accuracy", seconds=1e4, out=tmp / "run"
        ),
    },
    "api": {
        "no path": lambda tmp: ask(np.zeros((2, 2), int), ["input", "output"]),
        "too many edges": lambda tmp: api.NASBench(table()).query(
            api.ModelSpec(np.triu(np.ones((6, 6), int), 1), ["input", *[CONV] * 4, "output"])
        ),
        "an unknown operation": lambda tmp: api.NASBench(table()).query(
            api.ModelSpec(CHAIN, ["input", "conv", "output"])
        ),
        "an unknown budget": lambda tmp: api.NASBench(table()).query(
            api.ModelSpec([[0, 1], [0, 0]], ["input", "output"]), epochs=0
        ),
        "no spec": lambda tmp: api.NASBench(table()).query("28cfc7874f6d200472e1a9dcd8650aa0"),
        "a seed": lambda tmp: api.NASBench(table(), seed=[]),
        "single trainings": lambda tmp: NASBench201API("nb201", verbose=False).get_more_info(
            0, "cifar10", is_random=777
        ),
    },
    "search_spaces": {
        "an unknown space": lambda tmp: nb.search_space("s4"),
        "an architecture of another space": lambda tmp: nb.search_space("s1").index(
            nb.Architecture.parse("s2:0|0,1|0,1|0,1|0,1:conv3x3,conv3x3,conv3x3,conv3x3")
        ),
        "a text as an architecture": lambda tmp: nb.search_space("s1").index(S1),
        "an unknown kind": lambda tmp: nb.search_space("s1").count("loose"),
        "an unknown rule": lambda tmp: nb.search_space("s1").count("loose_ends", rule="papr"),
        "a space without a relaxation": lambda tmp: nb.Supernet(nb.search_space("nb101")),
        "integers": lambda tmp: nb.search_space("s1").from_values(()),
    },
    "supernets": {
        "an unknown preset": lambda tmp: supernet(preset="orginal"),
        "no channels": lambda tmp: supernet(channels=0),
        "channels that cannot be divided": lambda tmp: supernet(channels=6, partial_channels=4),
        "other mixing weights": lambda tmp: supernet()(torch.zeros(1, 3, 8, 8), {}),
        "operations": lambda tmp: supernet()(torch.zeros(1, 3, 8, 8), mixing(), operations=(0, 0, 3, 0)),
    },
    "cell_training": {
        "an unknown option": lambda tmp: nb.train_cell(S1, epoch=4),
        "too few epochs": lambda tmp: nb.train_cell(S1, epochs=0),
        "an unknown scale": lambda tmp: nb.train_cell(S1, scale="ful"),
        "an unknown precision": lambda tmp: nb.train_cell(S1, scale="quick", precision="bfloat"),
        "a large batch": lambda tmp: nb.train_cell(S1, scale="quick", batch_size=10**6, out=tmp / "run"),
        "an option of the other benchmark": lambda tmp: nb.train_cell(S1, scale="quick", channels=4),
        "no architecture": lambda tmp: nb.train_cell(),
        "no run folder": lambda tmp: nb.train_cell(resume=tmp),
    },
    "optimizers": {
        "an unknown optimizer": lambda tmp: nb.search("dart", space="s1"),
        "an unknown relaxation": lambda tmp: search(tmp, "darts", relaxation="gumble"),
        "draws": lambda tmp: search(tmp, "darts", draws=0),
        "finalists": lambda tmp: search(tmp, "random-ws", finalists=101, candidates=100),
        "an option of another optimizer": lambda tmp: search(tmp, "random-ws", relaxation="softmax"),
        "a space without widths": lambda tmp: search(tmp, "tas"),
        "another size of the supernet": lambda tmp: nb.search(
            "tas", space="nats-size", scale="quick", channels=32, out=tmp / "r"
        ),
    },
    "one_shot_search": {
        "a folder with other files": lambda tmp: nb.search(scale="quick", out=notes(tmp)),
        "few images": lambda tmp: search(tmp, "darts", images_per_half=10_000),
        "no epochs": lambda tmp: search(tmp, "darts", epochs=0),
        "rates": lambda tmp: search(tmp, "darts", learning_rate=0.001, learning_rate_min=1),
        "no seeds": lambda tmp: nb.search_seeds([], scale="quick"),
        "a seed and seeds": lambda tmp: nb.search_seeds([0, 1], seed=5, scale="quick"),
        "callbacks of other processes": lambda tmp: nb.search_seeds(
            [0, 1], scale="quick", out=tmp / "runs", workers=2, callbacks=[print]
        ),
    },
    "black_box_search": {
        "a one-shot optimizer": lambda tmp: nb.black_box("darts"),
        "an option of another optimizer": lambda tmp: nb.black_box("random", population=5),
        "no evaluations": lambda tmp: nb.black_box("random", evaluations=0),
        "two clocks": lambda tmp: nb.black_box("random", seconds=1e4, evaluations=10),
        "a table of another benchmark": lambda tmp: nb.black_box("random", space="nb201", table="embedded"),
    },
    "recording": {
        "a text as an architecture": lambda tmp: record(tmp),
        "no epochs": lambda tmp: nb.Recorder(tmp / "own", "s1").finish(),
        "a field of records": lambda tmp: nb.Recorder(tmp / "own", "s1").record(
            nb.Architecture.parse(S1), test_regret=0.1
        ),
        "no finite number": lambda tmp: record(tmp, loss=math.nan),
    },
    "experiments": {
        "another object": lambda tmp: nb.compare([3]),
        "no runs": lambda tmp: nb.compare([]),
        "no run of a ranking": lambda tmp: nb.correlate(),
        "a figure that is not drawn": lambda tmp: reproduce("figure6"),
        "equal seeds": lambda tmp: reproduce("figure9", scale="quick", out=tmp, seeds=[0, 0]),
        "a file as a folder": lambda tmp: reproduce("figure9", scale="quick", out=file(tmp, b"mine")),
    },
}


def read_table() -> dict[tuple[str, str], tuple[str, str]]:
    """The type and the sentence of each package's kinds."""
    sentences, package = {}, ""
    for line in (Path(__file__).parent / "messages.txt").read_text().splitlines():
        if line.startswith("["):
            package = line.strip("[]")
        elif line and not line.startswith("#"):
            kind, name, sentence = line.split(": ", 2)
            assert (package, kind) not in sentences, f"{kind} twice"
            sentences[package, kind] = name, sentence
    return sentences


SENTENCES = read_table()


def test_every_sentence_has_a_trigger_and_every_trigger_a_sentence() -> None:
    assert list(SENTENCES) == [(package, kind) for package, kinds in KINDS.items() for kind in kinds]


@pytest.mark.filterwarnings("ignore:the table")
@pytest.mark.parametrize(("package", "kind"), SENTENCES)
def test_the_message_of(package: str, kind: str, tmp_path: Path, home: Path) -> None:
    with pytest.raises(nb.UserError) as caught:
        KINDS[package][kind](tmp_path)
    message = str(caught.value).replace(str(home), "{home}").replace(str(tmp_path), "{tmp}")
    assert (type(caught.value).__name__, message) == SENTENCES[package, kind]
