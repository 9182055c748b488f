"""Scores of architectures with a supernet's shared weights, for sampling methods and rankings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import batches, endless_batches, epoch_generator
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import Split
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.group_statistics import (
    GroupStatistics,
    MovingStatistics,
    fixed_statistics,
    measured_statistics,
)
from nasbench1shot1.supernets.layers import Observer, normalised_by, untracked_norms
from nasbench1shot1.supernets.passes import (
    Batch,
    Mixing,
    Pass,
    as_mixing,
    check_passes,
    class_scores,
    is_mixture,
    path_of,
)
from nasbench1shot1.supernets.presets import BATCH_NORMS
from nasbench1shot1.supernets.supernet import Supernet, to_tensors

# Class scores from `Supernet.forward`, for mixtures, for other kinds of cells, and for groups of passes on a GPU ------


class SharedPasses(Protocol):
    """The interface of a faster way to score many architectures of one supernet (`Benchmark.shared_passes`).

    Attributes:
        IMAGES_AT_ONCE: number of images per batch with fixed batch-norm statistics; larger feature maps do not fit into
            a CPU's cache.
    """

    IMAGES_AT_ONCE: ClassVar[int]

    def __init__(
        self,
        net: Supernet,
        paths: Sequence[Any],
        batch_norm: str,
        reference: Callable[[], Tensor],
        precision: str = "float32",
    ) -> None:
        """Take A architectures, which are computed alone, and arguments as for `GenericPasses`."""

    @staticmethod
    def supports(net: Supernet) -> bool:
        """Return whether this class supports a supernet, and is faster than `GenericPasses` for it."""

    @staticmethod
    def sharing_key(path: Any) -> Any:
        """Return the key in whose order consecutive architectures share as many computations as possible."""

    def logits(self, images: Tensor) -> Iterator[tuple[list[int], Tensor]]:
        """Yield, for every distinct path, its positions in `paths` and its class scores (N, classes), float32."""


def shared_passes(space: OneShotSpace) -> type[SharedPasses] | None:
    """Return the class `shared_passes` of a space's benchmark; None if the benchmark has none."""
    if space.benchmark.shared_passes is None:
        return None
    found: type[SharedPasses] = space.benchmark.load("shared_passes")
    return found


class GenericPasses:
    """Class scores of A passes, each of which may be any `Mixing`.

    Args:
        net: a supernet in evaluation mode.
        mixings: A passes.
        batch_norm: "batch", "running", "recalibrated" or "batch-in-cells", as in `SharedWeights`.
        reference: function that returns the images (N, 3, H, W) on which recalibrated statistics are measured.
        precision: "float32" or "bfloat16".
        together: number of architectures that share a pass, with mixing weights per image; 1 computes each alone.
    """

    def __init__(
        self,
        net: Supernet,
        mixings: Sequence[Mixing],
        batch_norm: str,
        reference: Callable[[], Tensor],
        precision: str = "float32",
        together: int = 1,
    ) -> None:
        self._net, self._batch_norm, self._precision = net, batch_norm, precision
        self._groups = [mixings[start : start + together] for start in range(0, len(mixings), together)]
        self._measured = [self._measure(group, reference) for group in self._groups]

    @torch.no_grad()
    def logits(self, images: Tensor, compiled: bool = True) -> Iterator[tuple[list[int], Tensor]]:
        """Yield, for every pass, a list with its position in `mixings`, and its class scores (N, classes).

        `compiled` has an effect only on a compiled supernet.
        """
        position = 0
        for group, measured in zip(self._groups, self._measured, strict=True):
            with self._statistics(len(group), measured):
                logits = self._logits(group, images, compiled)
            for of_one in logits.chunk(len(group)):
                yield [position], of_one
                position += 1

    @torch.no_grad()
    def _measure(self, group: Sequence[Mixing], reference: Callable[[], Tensor]) -> GroupStatistics | None:
        """Return the statistics of the reference images in each pass of a group; None unless recalibrated."""
        if self._batch_norm != "recalibrated":
            return None
        with measured_statistics(self._net, len(group)) as statistics:
            self._logits(group, reference())
        return statistics

    def _statistics(self, groups: int, measured: GroupStatistics | None) -> AbstractContextManager[object]:
        if measured is not None:
            return fixed_statistics(self._net, measured)
        of_batch = {"batch": self._net, "batch-in-cells": self._net.cells}.get(self._batch_norm, nn.ModuleList())
        if groups > 1:  # layers without running statistics are normalised by each architecture's own images
            of_batch = nn.ModuleList([of_batch, *untracked_norms(self._net)])
        return measured_statistics(of_batch, groups)

    def _logits(self, group: Sequence[Mixing], images: Tensor, compiled: bool = True) -> Tensor:
        """Return class scores (G · N, classes): the N images in the first pass, then in the second, …"""
        if len(group) == 1:
            compiled = compiled and self._batch_norm == "running"  # a compiled graph supports only running statistics
            return class_scores(self._net, group[0], images, self._precision, compiled)
        one_hot = [to_tensors(self._net.space.one_hot(mixing.path), images.device) for mixing in group if mixing.path]
        weights = {
            key: torch.stack([of[key] for of in one_hot]).repeat_interleave(len(images), 0) for key in one_hot[0]
        }
        return class_scores(self._net, Mixing(weights), images.repeat(len(group), 1, 1, 1), self._precision)


# Scores ---------------------------------------------------------------------------------------------------------------


REFERENCE_IMAGES = 128  # images of the weight half, without augmentation, that measure "recalibrated" statistics
PATH_BATCH = 384  # images scored per pass of one architecture; larger batches do not fit into a CPU's cache
MIXED_BATCH = 128  # images scored per pass that computes all operations
STATISTICS_KEPT = 1024  # passes whose "recalibrated" statistics are in memory at a time, about 40 kB each
LARGEST_ON_GPU = 2**29  # bytes of the widest feature map of a joint pass
MAPS_ON_GPU = 10  # number of such feature maps that exist at a time, about


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
    """Scores architectures with a supernet's weights; only `scores_in_training` changes the supernet.

    Batch norm uses the statistics of the images in the same pass ("batch"), of training ("running"), or of `reference`,
    passed through the scored architecture ("recalibrated"). "batch-in-cells" uses the statistics of the pass in cells,
    and running statistics in all other layers: NAS-Bench-201's published code for the rows of Table 5 with a †.
    The recalibrated scores of an image do not depend on the other scored images.

    Args:
        net: the supernet, on the device of the images.
        images: the image set that `split` and `rows` refer to.
        split: its half `architecture` is scored by default; its half `weights` provides `reference`.
        batch_norm: "batch", "running", "recalibrated" or "batch-in-cells".
        augmentation: normalises the images. Default: normalisation with the set's mean and standard deviation.
        augments: whether scored images are also augmented (preset original). All architectures in a call then see the
            same augmented images; the next call uses different ones.
        seed: with `epoch`, the random seed for the choice of reference images, and for augmentation.
        epoch: see `seed`.
        batch_size: number of images of a training step, the unit in which methods count scored images.
        precision: "float32" or "bfloat16" (under autocast).
        scored_batch_size: number of images per pass of `scores`, on which scores depend if batch norm uses statistics
            of the pass. Default: up to 128 for mixtures, 384 for architectures.

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
        scored_batch_size: int | None = None,
    ) -> None:
        if batch_norm not in BATCH_NORMS:
            raise unknown_name("evaluation batch-norm", batch_norm, BATCH_NORMS)
        self.net, self.batch_norm, self.batch_size = net, batch_norm, batch_size
        self.scored_batch_size = scored_batch_size
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

    def rows_in_turn(self, size: int, generator: torch.Generator, together: int = 1) -> Iterator[Tensor]:
        """Yield endlessly the rows of the next `together` batches of the architecture half.

        As in published loaders, the half is shuffled again in every pass, and the last batch of a pass may be smaller.
        The rows of successive batches may come from two passes. If the half has at most `together` · `size` rows, all
        of them are yielded each time.
        """
        half = self._split.architecture
        if size * together >= len(half):
            size, together = len(half), 1
        loader = endless_batches(half, size, generator)
        return map(torch.cat, zip(*repeat(loader, together), strict=True))  # each tuple has the loader's next batches

    def errors(self, architectures: Sequence[Architecture], rows: Tensor | None = None) -> NDArray[np.float64]:
        """Return the classification errors (A,) of A architectures, fractions; arguments as for `scores`."""
        return self.scores(architectures, rows).errors

    def scores(self, passes: Sequence[Pass], rows: Tensor | None = None) -> Scores:
        """Score architectures, or mixtures of architectures, on one set of images.

        On a CPU, architectures of choice blocks share computations (`SharedPasses`). On a GPU, several passes are
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

    def training_batches(self, images: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Yield batches of augmented images of the weight half endlessly, (images, 3, H, W), on the device.

        Every image is used once before the half is shuffled again, except a remainder that does not fill a batch.
        """
        for rows in endless_batches(self._split.weights, images, generator, drop_last=True):
            yield self._augmentation(self._images.batch(rows)[0], generator)

    @torch.no_grad()
    def recalibrated_error(self, arch: Pass, calibration: Iterable[Tensor], rows: Tensor | None = None) -> float:
        """Return the classification error of an architecture with its own statistics (`MovingStatistics`).

        Args:
            arch: as for `scores`.
            calibration: batches of images (N, 3, H, W), at least one.
            rows: as for `scores`.
        """
        check_passes([arch], self.net.space)
        mixing, measured, wrong = as_mixing(arch, self.net.space), MovingStatistics(), 0.0
        rows = self._rows(rows)
        size = min(PATH_BATCH, len(rows))
        with self._evaluating(), normalised_by(self.net, measured):
            for images in calibration:
                class_scores(self.net, mixing, images, self._precision)
            measured.is_fixed = True
            for batch in self._batches(rows, size, size):
                logits = class_scores(self.net, mixing, batch.images, self._precision)
                wrong += float(_Answers.from_logits(logits, batch.labels).wrong.sum())
        return wrong / len(rows)

    @torch.no_grad()
    def scores_in_training(self, mixings: Sequence[Mixing], generator: torch.Generator) -> Scores:
        """Score mixings on the architecture half in training mode, as the published code of DARTS-PT does.

        Every batch of `batch_size` images is normalised by its own statistics, and updates the running statistics.
        Unlike all other scores, these scores change the supernet, and depend on the order of the mixings. Each mixing
        sees the images in another order and, under a preset that augments them, with another augmentation.

        Args:
            mixings: A mixings for `Supernet.forward`.
            generator: on the CPU; draws the orders of the images.
        """
        half, found = self._split.architecture, []
        was_training = self.net.training
        self.net.train()
        try:
            for mixing in mixings:
                sums = torch.zeros(2, dtype=torch.float64, device=self._images.images.device)
                for rows in batches(half, self.batch_size, generator):
                    batch = self._batch(rows)
                    logits = class_scores(self.net, mixing, batch.images, self._precision, compiled=True)
                    answers = _Answers.from_logits(logits, batch.labels)
                    sums += torch.stack([answers.wrong.double().sum(), answers.losses.double().sum()])
                found.append(sums)
        finally:
            self.net.train(was_training)
        wrong, losses = torch.stack(found, dim=1).cpu().numpy() / len(half)
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

    def training_rows(self, images: Literal["weight-half", "all"]) -> Tensor:
        """Return the rows of the images that train the weights, int64 (N,): the weight half, or both halves."""
        halves = [self._split.weights] + ([self._split.architecture] if images == "all" else [])
        return torch.from_numpy(np.concatenate(halves))

    @torch.no_grad()
    def observe(self, mixing: Mixing, rows: Tensor, observer: Observer) -> None:
        """Show an observer the outputs of all candidates in cells, batch by batch, in passes of a mixture.

        Batch norm works as in `scores`.

        Args:
            mixing: mixing weights; excluded operations are not computed.
            rows: int64 (N,) rows of the image set, each of which is passed once.
            observer: called for every candidate of every cell in every pass.

        Raises:
            InvalidInputError: the cells do not show outputs (`Supernet.observed_candidates`).
        """
        size = min(MIXED_BATCH, len(rows))
        with self._evaluating():
            way = GenericPasses(self.net, [mixing], self.batch_norm, lambda: self.reference, self._precision)
            with self.net.observed_candidates(observer):
                for batch in self._batches(rows, size, size):
                    for _ in way.logits(batch.images, compiled=False):
                        pass

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
            kind = (self._faster_way(given) is None, isinstance(given, Mixing), is_mixture(given))
            alike.setdefault(kind, []).append(position)
        return list(alike.values())

    def _answers_alike(self, passes: Sequence[Pass], rows: Tensor) -> Iterator[tuple[list[int], slice, "_Answers"]]:
        """Yield `_answers` for passes that are computed alike and whose batch-norm statistics fit in memory."""
        size = self.scored_batch_size or (MIXED_BATCH if is_mixture(passes[0]) else PATH_BATCH)
        way, at_once = self._way(passes, min(size, len(rows)))
        first = 0
        for batch in self._batches(rows, size, at_once):
            images = slice(first, first + len(batch.labels))
            for positions, logits in way.logits(batch.images):
                yield positions, images, _Answers.from_logits(logits, batch.labels)
            first = images.stop

    def _way(self, passes: Sequence[Pass], images: int) -> tuple[SharedPasses | GenericPasses, int]:
        """Return the object that computes passes of one kind, and the number of images per batch."""
        how = (self.batch_norm, lambda: self.reference, self._precision)
        shared = self._faster_way(passes[0])
        if shared is not None:
            at_once = images if self.batch_norm == "batch" else shared.IMAGES_AT_ONCE
            return shared(self.net, list(map(path_of, passes)), *how), at_once
        mixings = [as_mixing(given, self.net.space) for given in passes]
        return GenericPasses(self.net, mixings, *how, self._together(mixings, images)), images

    def _faster_way(self, given: Pass) -> type[SharedPasses] | None:
        """Return the benchmark's faster way to compute a pass; None if it has none for it, or for these statistics."""
        alone = path_of(given) is None or self.batch_norm == "batch-in-cells"
        shared = None if alone else shared_passes(self.net.space)
        return shared if shared is not None and shared.supports(self.net) else None

    def _together(self, mixings: Sequence[Mixing], images: int) -> int:
        """Return how many mixings share a pass."""
        alone = any(mixing.weights is not None for mixing in mixings) or not self._images.images.is_cuda
        return 1 if alone else self._at_once_on_gpu(max(images, REFERENCE_IMAGES))

    def _at_once_on_gpu(self, images: int) -> int:
        """Return how many architectures can share a pass on a number of images within the GPU's memory."""
        cells = [place for place in self.net.places if place.kind == "cell"]
        channels = max(place.out_channels * place.side**2 for place in cells) / cells[0].side ** 2  # at full size
        return max(int(LARGEST_ON_GPU // (4 * channels * images * self._images.images[0, ..., 0].numel())), 1)

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
