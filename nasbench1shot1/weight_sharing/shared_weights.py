"""Scores of architectures under a supernet's shared weights, for sampling methods and rankings."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import unknown_name
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import batches, epoch_generator
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import Split
from nasbench1shot1.supernet import Supernet, to_tensors
from nasbench1shot1.supernets.presets import BATCH_NORMS
from nasbench1shot1.weight_sharing.group_statistics import GroupStatistics, fixed_statistics, measured_statistics
from nasbench1shot1.weight_sharing.passes import Batch, Mixing, class_scores

REFERENCE_IMAGES = 128  # of the weight half, not augmented: what "recalibrated" statistics are measured on
PATH_BATCH = 384  # images scored per pass of one architecture; larger batches leave a CPU's cache
MIXED_BATCH = 128  # the same for a pass that computes every operation
STATISTICS_KEPT = 1024  # passes whose "recalibrated" statistics are in memory at a time: some 40 kB each
LARGEST_ON_GPU = 2**29  # bytes of the widest feature map where several architectures pass together; ten or so are alive


@dataclass(frozen=True)
class Scores:
    """Errors and losses of A architectures on one set of images.

    Attributes:
        errors: classification errors (A,), fractions.
        losses: mean cross-entropy (A,), nats.
    """

    errors: NDArray[np.float64]
    losses: NDArray[np.float64]


class SharedWeights:
    """Scores architectures with a supernet's weights, without changing the supernet.

    Batch-norm takes one of three statistics: "batch", those of the images scored in the same pass; "running", those
    that training left behind; "recalibrated", those of `reference`, passed through the very architecture to be
    scored. Recalibrated scores of an image depend neither on the images scored beside it nor on their number.

    Args:
        net: the supernet, on the device of the images.
        images: the set that `split` and `rows` count in.
        split: `architecture` is scored on by default; `reference` comes from `weights`.
        batch_norm: "batch", "running" or "recalibrated".
        augmentation: normalises the images; plain normalisation by the set's mean and standard deviation by default.
        augments: whether scored images are augmented too (preset original); all architectures of a call then see the
            same augmented images, and the next call sees others.
        seed: with `epoch`, decides which images are the reference, and how images are augmented.
        epoch: see `seed`.
        batch_size: images of a training step, in which methods count the images that they score on.
        precision: "float32" or "bfloat16" (under autocast).

    Raises:
        InvalidInputError: `batch_norm` has an unknown value.
    """

    def __init__(
        self,
        net: Supernet,
        images: ImageSet,
        split: Split,
        *,
        batch_norm: str = "recalibrated",
        augmentation: Augmentation | None = None,
        augments: bool = False,
        seed: int = 0,
        epoch: int = 0,
        batch_size: int = 96,
        precision: str = "float32",
    ) -> None:
        if batch_norm not in BATCH_NORMS:
            raise unknown_name("evaluation batch-norm", batch_norm, BATCH_NORMS)
        self.net, self.batch_norm, self.batch_size = net, batch_norm, batch_size
        self._images, self._split, self._precision = images, split, precision
        self._augmentation = augmentation or Augmentation(mean=images.mean, std=images.std)
        self._drawn = epoch_generator(seed, "scoring", epoch) if augments else None
        self._of_reference = epoch_generator(seed, "recalibration", epoch)

    @cached_property
    def reference(self) -> Tensor:
        """The images, normalised, that recalibrated statistics are measured on: up to 128 rows of the weight half."""
        weights = self._split.weights
        rows = next(batches(weights, min(REFERENCE_IMAGES, len(weights)), self._of_reference))
        return self._augmentation.normalise(self._images.batch(rows)[0])

    def rows(self, images: int, generator: torch.Generator) -> Tensor:
        """Draw a number of rows of the architecture half without repetition, or all rows if it has fewer."""
        half = self._split.architecture
        return next(batches(half, min(images, len(half)), generator))

    def errors(self, architectures: Sequence[Architecture], rows: Tensor | None = None) -> NDArray[np.float64]:
        """Return the classification errors (A,) of A architectures, fractions; arguments as those of `scores`."""
        return self.scores(architectures, rows).errors

    def scores(self, passes: Sequence[Architecture | Mixing], rows: Tensor | None = None) -> Scores:
        """Score architectures, or mixtures of architectures, on one set of images.

        On a CPU they are computed one after another. On a GPU, where launches cost more than arithmetic, several
        architectures share a pass.

        Args:
            passes: A architectures, each computed alone, or mixings as `Supernet.forward` takes them.
            rows: int64 (N,) rows of the image set; the whole architecture half by default.
        """
        rows = torch.from_numpy(self._split.architecture) if rows is None else rows
        mixings = [Mixing(path=given) if isinstance(given, Architecture) else given for given in passes]
        begun = None if self._drawn is None else self._drawn.get_state()
        sums = []
        with torch.no_grad(), self._evaluating():
            for start in range(0, len(mixings), STATISTICS_KEPT):
                if self._drawn is not None and begun is not None:
                    self._drawn.set_state(begun)  # so that all see the same images
                sums.append(self._sums(mixings[start : start + STATISTICS_KEPT], rows).cpu().numpy())
        wrong, losses = np.concatenate([np.zeros((2, 0)), *sums], axis=1)
        return Scores(wrong / len(rows), losses / len(rows))

    def images_passed(self, passes: int, images: int) -> int:
        """Count the images that pass through the network to score a number of passes on a number of images each."""
        reference = min(REFERENCE_IMAGES, len(self._split.weights)) if self.batch_norm == "recalibrated" else 0
        return passes * (images + reference)

    def _sums(self, mixings: Sequence[Mixing], rows: Tensor) -> Tensor:
        """Sum over the rows the wrong answers and the losses of every pass: float64 (2, A)."""
        size = PATH_BATCH if all(mixing.path is not None for mixing in mixings) else MIXED_BATCH
        groups = list(self._groups(mixings, min(size, len(rows))))
        measured = [self._measured(group) for group in groups]
        total = torch.zeros(2, len(mixings), dtype=torch.float64, device=self._images.images.device)
        for part in rows.split(size):
            batch = self._batch(part)
            found = [self._of_batch(*of, batch) for of in zip(groups, measured, strict=True)]
            total += torch.cat(found, dim=1)
        return total

    def _groups(self, mixings: Sequence[Mixing], images: int) -> Iterator[Sequence[Mixing]]:
        """Which of them are computed together."""
        alone = any(mixing.weights is not None for mixing in mixings) or not self._images.images.is_cuda
        together = 1 if alone else self._at_once_on_gpu(max(images, REFERENCE_IMAGES))
        return (mixings[start : start + together] for start in range(0, len(mixings), together))

    def _at_once_on_gpu(self, images: int) -> int:
        """How many architectures' feature maps of so many images a GPU must hold at most."""
        channels = int(self.net.cells[0].out_channels)  # type: ignore[arg-type]  # deeper maps are smaller
        return max(LARGEST_ON_GPU // (4 * channels * images * self._images.images[0, ..., 0].numel()), 1)

    def _measured(self, group: Sequence[Mixing]) -> GroupStatistics | None:
        """Batch-norm statistics of the reference images under each pass of a group, where those are wanted."""
        if self.batch_norm != "recalibrated":
            return None
        with measured_statistics(self.net, len(group)) as statistics:
            self._logits(group, self.reference)
        return statistics

    def _of_batch(self, group: Sequence[Mixing], measured: GroupStatistics | None, batch: Batch) -> Tensor:
        """Wrong answers and summed losses of each pass of a group on one batch, float64 (2, G)."""
        with self._statistics(len(group), measured):
            logits = self._logits(group, batch.images)
        labels = batch.labels.repeat(len(group))
        losses = F.cross_entropy(logits, labels, reduction="none")
        found = torch.stack([(logits.argmax(dim=1) != labels).double(), losses.double()])
        sums: Tensor = found.unflatten(1, (len(group), -1)).sum(dim=2)
        return sums

    def _statistics(self, groups: int, measured: GroupStatistics | None) -> AbstractContextManager[object]:
        if measured is not None:
            return fixed_statistics(self.net, measured)
        return measured_statistics(self.net, groups) if self.batch_norm == "batch" else nullcontext()

    def _logits(self, group: Sequence[Mixing], images: Tensor) -> Tensor:
        """(G · N, classes), the N images under each pass in turn."""
        if len(group) == 1:
            compiled = self.batch_norm == "running"  # a compiled graph knows no other statistics
            return class_scores(self.net, group[0], images, self._precision, compiled)
        one_hot = [to_tensors(self.net.space.one_hot(mixing.path), images.device) for mixing in group if mixing.path]
        weights = {
            key: torch.stack([of[key] for of in one_hot]).repeat_interleave(len(images), 0) for key in one_hot[0]
        }
        return class_scores(self.net, Mixing(weights), images.repeat(len(group), 1, 1, 1), self._precision)

    def _batch(self, rows: Tensor) -> Batch:
        pixels, labels = self._images.batch(rows)
        if self._drawn is None:
            return Batch(self._augmentation.normalise(pixels), labels)
        return Batch(self._augmentation(pixels, self._drawn), labels)

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        was_training = self.net.training
        self.net.eval()
        try:
            yield
        finally:
            self.net.train(was_training)
