"""Trainings of a cell that take half a second."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.cell_training import Training
from nasbench1shot1.images.image_set import ImageSet

CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
TINY: dict[str, Any] = {
    "scale": "quick",
    "epochs": 4,
    "stem_channels": 4,
    "batch_size": 20,
    "threads": 1,
    "device": "cpu",
}
"""100 training images, five steps an epoch, twenty in all."""

EDGES = "nb201:|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"
TINY_EDGES: dict[str, Any] = {
    "scale": "quick",
    "epochs": 4,
    "channels": 4,
    "batch_size": 15,
    "threads": 1,
    "device": "cpu",
}
"""100 training images, six steps of 15 images and one of 10 an epoch, 28 in all."""


def write_images(path: Path, per_class: int = 14) -> Path:
    """Noise in one colour per class; of 140 images, 100 train, 20 validate and 20 test."""
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(10), per_class)
    colours = np.array([[i % 3, i // 3 % 3, i // 9] for i in range(0, 20, 2)]) * 70
    images = (rng.integers(0, 100, (len(labels), 32, 32, 3)) + colours[labels][:, None, None]).astype(np.uint8)
    np.savez(path, images=images, labels=labels, train_index=np.arange(len(labels)))
    return path


def whole_cifar10(shuffled: bool = False) -> ImageSet:
    """Indices and sizes of the official set, with black images of 4 × 4 pixels."""
    index = torch.from_numpy(np.random.default_rng(0).permutation(50_000)) if shuffled else torch.arange(50_000)
    black = torch.zeros(50_000, 4, 4, 3, dtype=torch.uint8)
    return ImageSet("cifar10", black, index % 10, index, "0" * 64, black[:10_000], torch.arange(10_000) % 10)


def train(out: Path, images: Path, x: Any = CELL, **options: Any) -> Training:
    return nb.train_cell(x, out=out, images=images, console=Console(quiet=True), **{**TINY, **options})


def train_edges(out: Path, images: Path, x: Any = EDGES, **options: Any) -> Training:
    return nb.train_cell(x, out=out, images=images, console=Console(quiet=True), **{**TINY_EDGES, **options})


def without_seconds(training: Training) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "training_time"} for line in training.lines]


def tensors(content: Any, path: str = "") -> dict[str, torch.Tensor]:
    """All tensors and numbers of a checkpoint by path, without times."""
    if isinstance(content, dict):
        parts = [tensors(value, f"{path}/{key}") for key, value in content.items() if key != "training_seconds"]
    elif isinstance(content, list | tuple):
        parts = [tensors(value, f"{path}/{i}") for i, value in enumerate(content)]
    else:
        return {path: torch.as_tensor(content)} if isinstance(content, int | float | torch.Tensor) else {}
    return {key: value for part in parts for key, value in part.items()}


def assert_same_training(a: Training, b: Training) -> None:
    """Assert equal lines except times, and identical tensors in the checkpoint."""
    assert without_seconds(a) == without_seconds(b)
    ours, theirs = (tensors(torch.load(t.folder / "checkpoint.pt", weights_only=True)) for t in (a, b))
    assert set(ours) == set(theirs)
    assert len(ours) > 100
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert a.summary.keys() == b.summary.keys()
