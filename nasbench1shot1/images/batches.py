"""Mini-batches of row numbers, from generators that depend only on seed, stream and epoch.

A run that resumes at the beginning of an epoch therefore draws the same batches as an uninterrupted run, without any
saved state.
"""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.ground.arguments import check_torch_generator
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.augment import Augmentation

if TYPE_CHECKING:
    from nasbench1shot1.images.image_set import ImageSet


def epoch_generator(seed: int, stream: str, epoch: int) -> torch.Generator:
    """Return a CPU generator for one purpose (`stream`, such as "weights") in one epoch of the run with a seed.

    The generator's seed is the first 8 bytes (little endian) of SHA-256("seed/stream/epoch").
    """
    digest = hashlib.sha256(f"{seed}/{stream}/{epoch}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))


def batches(
    rows: np.ndarray | Tensor, batch_size: int, generator: torch.Generator, drop_last: bool = False
) -> Iterator[Tensor]:
    """Return the batches of one epoch: all rows (N,) in a new order, as int64 tensors (batch_size,) on the CPU.

    The last batch may be smaller; `drop_last` drops it then. Raises InvalidInputError immediately if there are no rows
    or no batches.
    """
    check_torch_generator(generator)
    rows = torch.as_tensor(rows)
    if not len(rows) or batch_size < 1 or (drop_last and batch_size > len(rows)):
        raise InvalidInputError(f"no batch of {batch_size} can be made from {len(rows):,} images")
    return _epoch(rows, batch_size, generator, drop_last)


def endless_batches(
    rows: np.ndarray | Tensor, batch_size: int, generator: torch.Generator, drop_last: bool = False
) -> Iterator[Tensor]:
    """Return batches without end: like `batches`, repeated with a new order in every epoch."""
    first = batches(rows, batch_size, generator, drop_last)
    return _endless(first, torch.as_tensor(rows), batch_size, generator, drop_last)


def draw_rows(rows: np.ndarray | Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw `count` of the rows (N,) with replacement, int64 on the CPU."""
    rows = torch.as_tensor(rows)
    return rows[torch.randint(len(rows), (count,), generator=generator)]


def image_batches(
    images: "ImageSet",
    rows: np.ndarray | Tensor,
    batch_size: int,
    generator: torch.Generator,
    augmentation: Augmentation | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield one epoch of images with labels, on the image set's device.

    Args:
        images: the image set.
        rows: rows of the images, int64 (N,), such as a half from `split_images`. All rows are used in a new order; the
            last batch may be smaller.
        batch_size: number of images in a batch.
        generator: draws the order and the augmentation; on the CPU.
        augmentation: augmentation of each image. Default: images are only normalised, as for evaluation.

    Yields:
        Images float32 (B, 3, side, side) in channels_last, and labels int64 (B,).

    Raises InvalidInputError if there are no rows, or the batch size is less than 1.
    """
    normalise = Augmentation.of(images).normalise
    for chosen in batches(rows, batch_size, generator):
        pixels, labels = images.batch(chosen)
        yield (normalise(pixels) if augmentation is None else augmentation(pixels, generator)), labels


def _epoch(rows: Tensor, batch_size: int, generator: torch.Generator, drop_last: bool) -> Iterator[Tensor]:
    shuffled = rows[torch.randperm(len(rows), generator=generator)]
    for start in range(0, len(rows), batch_size):
        if start + batch_size <= len(rows) or not drop_last:
            yield shuffled[start : start + batch_size]


def _endless(
    first: Iterator[Tensor], rows: Tensor, batch_size: int, generator: torch.Generator, drop_last: bool
) -> Iterator[Tensor]:
    yield from first
    while True:
        yield from _epoch(rows, batch_size, generator, drop_last)
