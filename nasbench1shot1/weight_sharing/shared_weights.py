"""Scores of architectures with a supernet's shared weights, for sampling methods and rankings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import batches, epoch_generator
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import Split
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.shared_passes import IMAGES_AT_ONCE, ChoiceBlockPaths, is_supported
from nasbench1shot1.supernet import Supernet
from nasbench1shot1.supernets.passes import Batch, Mixing, Pass, as_mixing, check_passes, is_mixture, path_of
from nasbench1shot1.supernets.presets import BATCH_NORMS
from nasbench1shot1.weight_sharing.generic_passes import GenericPasses

REFERENCE_IMAGES = 128  # images of the weight half, without augmentation, that measure "recalibrated" statistics
PATH_BATCH = 384  # images scored per pass of one architecture; larger batches do not fit into a CPU's cache
MIXED_BATCH = 128  # images scored per pass that computes all operations
STATISTICS_KEPT = 1024  # passes whose "recalibrated" statistics are in memory at a time, about 40 kB each
LARGEST_ON_GPU = 2**29  # bytes of the widest feature map of a joint pass; about ten such maps exist at a time


@dataclass(frozen=True)
class ImageScores:
    """Errors and losses of A architectures on each of N images.

    Attributes:
        wrong: bool (A, N), whether the architecture misclassifies the image.
        losses: float32 (A, N), cross-entropy in nats.
    """

    wrong: NDArray[np.bool_]
    losses: NDArray[np.float32]


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

    Batch norm uses the statistics of the images in the same pass ("batch"), of training ("running"), or of `reference`,
    passed through the scored architecture ("recalibrated"). The recalibrated scores of an image do not depend on the
    other scored images.

    Args:
        net: the supernet, on the device of the images.
        images: the image set that `split` and `rows` refer to.
        split: its half `architecture` is scored by default; its half `weights` provides `reference`.
        batch_norm: "batch", "running" or "recalibrated".
        augmentation: normalises the images. Default: normalisation with the set's mean and standard deviation.
        augments: whether scored images are also augmented (preset original). All architectures in a call then see the
            same augmented images; the next call uses different ones.
        seed: with `epoch`, the random seed for the choice of reference images, and for augmentation.
        epoch: see `seed`.
        batch_size: number of images of a training step, the unit in which methods count scored images.
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
        self._augmentation = augmentation or Augmentation.of(images)
        self._drawn = epoch_generator(seed, "scoring", epoch) if augments else None
        self._of_reference = epoch_generator(seed, "recalibration", epoch)

    @cached_property
    def reference(self) -> Tensor:
        """The normalised images that measure recalibrated statistics: up to 128 rows of the weight half."""
        weights = self._split.weights
        rows = next(batches(weights, min(REFERENCE_IMAGES, len(weights)), self._of_reference))
        return self._augmentation.normalise(self._images.batch(rows)[0])

    def rows(self, images: int, generator: torch.Generator) -> Tensor:
        """Draw a number of rows of the architecture half without repetition, or all rows if it has fewer."""
        half = self._split.architecture
        return next(batches(half, min(images, len(half)), generator))

    def errors(self, architectures: Sequence[Architecture], rows: Tensor | None = None) -> NDArray[np.float64]:
        """Return the classification errors (A,) of A architectures, fractions; arguments as for `scores`."""
        return self.scores(architectures, rows).errors

    def scores(self, passes: Sequence[Pass], rows: Tensor | None = None) -> Scores:
        """Score architectures, or mixtures of architectures, on one set of images.

        On a CPU, architectures of choice blocks share computations (`ChoiceBlockPaths`). On a GPU, several passes are
        computed together, because kernel launches cost more than arithmetic.

        Args:
            passes: A architectures or sub-networks, each computed alone, or mixings for `Supernet.forward`.
            rows: int64 (N,) rows of the image set. Default: the whole architecture half.

        Raises:
            InvalidInputError: an architecture is not in the supernet's space.
        """
        rows = self._rows(rows)
        sums = torch.zeros(2, len(passes), dtype=torch.float64, device=self._images.images.device)
        for positions, _, answers in self._answers(passes, rows):
            found = torch.stack([answers.wrong.double().sum(), answers.losses.double().sum()])
            sums.index_add_(1, torch.tensor(positions, device=sums.device), found[:, None].expand(2, len(positions)))
        wrong, losses = sums.cpu().numpy() / len(rows)  # the only time that the host waits for a GPU
        return Scores(wrong, losses)

    def by_image(self, passes: Sequence[Pass], rows: Tensor | None = None) -> ImageScores:
        """Score architectures, or mixtures of architectures, on each image; arguments as for `scores`.

        On a CPU, the scores of a pass do not depend on the other passes in the call or their order; they are
        bit-identical for a given number of threads and images without augmentation. On a GPU, the number of passes in
        the call may affect rounding. With batch norm "batch", scores also depend on the set and order of images.

        Raises:
            InvalidInputError: an architecture is not in the supernet's space.
        """
        rows = self._rows(rows)
        shape = (len(passes), len(rows))
        wrong, losses = np.zeros(shape, np.bool_), np.zeros(shape, np.float32)
        for positions, images, answers in self._answers(passes, rows):
            wrong[positions, images] = answers.wrong.cpu().numpy()
            losses[positions, images] = answers.losses.cpu().numpy()
        return ImageScores(wrong, losses)

    def images_passed(self, passes: int, images: int) -> int:
        """Return an upper bound on the number of images that pass through the network to score passes.

        Architectures that share computations need fewer images in the first cell. Architectures that differ only in
        loose ends are computed once.
        """
        reference = min(REFERENCE_IMAGES, len(self._split.weights)) if self.batch_norm == "recalibrated" else 0
        return passes * (images + reference)

    def _rows(self, rows: Tensor | None) -> Tensor:
        return torch.from_numpy(self._split.architecture) if rows is None else rows

    def _answers(self, passes: Sequence[Pass], rows: Tensor) -> Iterator[tuple[list[int], slice, "_Answers"]]:
        """Yield positions in `passes` with equal scores, a slice of the rows, and the scores on these rows."""
        check_passes(passes, self.net.space)
        state = None if self._drawn is None else self._drawn.get_state()
        with self._evaluating():
            for positions in self._group_alike(passes):
                for start in range(0, len(positions), STATISTICS_KEPT):
                    if self._drawn is not None and state is not None:
                        self._drawn.set_state(state)  # all passes see the same augmented images
                    part = positions[start : start + STATISTICS_KEPT]
                    for found, images, answers in self._answers_alike([passes[i] for i in part], rows):
                        yield [part[i] for i in found], images, answers

    def _group_alike(self, passes: Sequence[Pass]) -> list[list[int]]:
        """Return the positions of passes, grouped by the way in which they are computed; groups are independent."""
        alike: dict[object, list[int]] = {}
        for position, given in enumerate(passes):
            kind = (self._shares_work(given), isinstance(given, Mixing), is_mixture(given))
            alike.setdefault(kind, []).append(position)
        return list(alike.values())

    def _answers_alike(self, passes: Sequence[Pass], rows: Tensor) -> Iterator[tuple[list[int], slice, "_Answers"]]:
        """Yield `_answers` for passes that are computed alike and whose batch-norm statistics fit in memory."""
        size = MIXED_BATCH if is_mixture(passes[0]) else PATH_BATCH
        way, at_once = self._way(passes, min(size, len(rows)))
        first = 0
        for batch in self._batches(rows, size, at_once):
            images = slice(first, first + len(batch.labels))
            for positions, logits in way.logits(batch.images):
                yield positions, images, _Answers.from_logits(logits, batch.labels)
            first = images.stop

    def _way(self, passes: Sequence[Pass], images: int) -> tuple[ChoiceBlockPaths | GenericPasses, int]:
        """Return the object that computes passes of one kind, and the number of images per batch."""
        how = (self.batch_norm, lambda: self.reference, self._precision)
        if self._shares_work(passes[0]):
            at_once = images if self.batch_norm == "batch" else IMAGES_AT_ONCE
            paths = [path for given in passes if isinstance(path := path_of(given), CellArchitecture)]
            return ChoiceBlockPaths(self.net, paths, *how), at_once
        mixings = [as_mixing(given, self.net.space) for given in passes]
        return GenericPasses(self.net, mixings, *how, self._together(mixings, images)), images

    def _shares_work(self, given: Pass) -> bool:
        """Return whether `ChoiceBlockPaths` computes a pass."""
        return path_of(given) is not None and is_supported(self.net) and self._images.images.device.type == "cpu"

    def _together(self, mixings: Sequence[Mixing], images: int) -> int:
        """Return how many mixings share a pass."""
        alone = any(mixing.weights is not None for mixing in mixings) or not self._images.images.is_cuda
        return 1 if alone else self._at_once_on_gpu(max(images, REFERENCE_IMAGES))

    def _at_once_on_gpu(self, images: int) -> int:
        """Return how many architectures can share a pass on a number of images within the GPU's memory."""
        channels = int(self.net.cells[0].out_channels)  # type: ignore[arg-type]  # deeper maps are smaller
        return max(LARGEST_ON_GPU // (4 * channels * images * self._images.images[0, ..., 0].numel()), 1)

    def _batches(self, rows: Tensor, size: int, at_once: int) -> Iterator[Batch]:
        """Yield the images of the rows in batches of `at_once`; they are augmented in batches of `size`."""
        for part in rows.split(size):
            batch = self._batch(part)
            yield from map(Batch, batch.images.split(at_once), batch.labels.split(at_once))

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


@dataclass(frozen=True)
class _Answers:
    """Whether each image is misclassified, bool (n,), and the cross-entropy losses, float32 (n,)."""

    wrong: Tensor
    losses: Tensor

    @classmethod
    def from_logits(cls, logits: Tensor, labels: Tensor) -> "_Answers":
        """Compute the answers from class scores (n, classes)."""
        return cls(logits.argmax(dim=1) != labels, F.cross_entropy(logits, labels, reduction="none"))
