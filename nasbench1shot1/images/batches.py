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

from nasbench1shot1.ground.arguments import check_torch_generator, whole_number
from nasbench1shot1.ground.errors import InvalidInputError, shorten
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
    or no batches, or if an argument has the wrong type.
    """
    check_torch_generator(generator)
    rows, batch_size = _as_rows(rows), whole_number("batch_size", batch_size, "a number of images, such as 64")
    if not len(rows) or batch_size < 1 or (drop_last and batch_size > len(rows)):
        raise InvalidInputError(f"no batch of {batch_size} can be made from {len(rows):,} images")
    return _epoch(rows, batch_size, generator, drop_last)


def endless_batches(
    rows: np.ndarray | Tensor, batch_size: int, generator: torch.Generator, drop_last: bool = False
) -> Iterator[Tensor]:
    """Return batches without end: like `batches`, repeated with a new order in every epoch."""
    first = batches(rows, batch_size, generator, drop_last)
    return _endless(first, _as_rows(rows), batch_size, generator, drop_last)


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

    Raises InvalidInputError if there are no rows, the image set does not have one of them, the batch size is less than
    1, or an argument has the wrong type.
    """
    normalise, rows = Augmentation.of(images).normalise, _as_rows(rows)
    total = len(images) + (0 if images.test_images is None else len(images.test_images))
    if len(wrong := rows[(rows < 0) | (rows >= total)]):
        raise InvalidInputError(f"'{images.name}' does not have row {int(wrong[0])}: give rows from 0 to {total - 1:,}")
    for chosen in batches(rows, batch_size, generator):
        pixels, labels = images.batch(chosen)
        yield (normalise(pixels) if augmentation is None else augmentation(pixels, generator)), labels


def _as_rows(rows: np.ndarray | Tensor) -> Tensor:
    """Return rows (N,) as int64; raises InvalidInputError for anything but a list or array of whole numbers."""
    try:
        found = torch.as_tensor(np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"rows must be an array of whole numbers, not {shorten(repr(rows))}") from error
    is_whole = not (found.is_floating_point() or found.is_complex() or found.dtype == torch.bool)
    if found.ndim != 1 or not (is_whole or not len(found)):
        shape = tuple(found.shape)
        raise InvalidInputError(f"rows must be an array (N,) of whole numbers, not {found.dtype} of shape {shape}")
    return found.long()


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
