"""Class scores from `Supernet.forward`, for mixtures, for other kinds of cells, and for groups of passes on a GPU."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from nasbench1shot1.supernet import Supernet, to_tensors
from nasbench1shot1.supernets.passes import Mixing, class_scores
from nasbench1shot1.weight_sharing.group_statistics import GroupStatistics, fixed_statistics, measured_statistics


class GenericPasses:
    """Class scores of A passes, each of which may be any `Mixing`.

    Args:
        net: a supernet in evaluation mode.
        mixings: A passes.
        batch_norm: "batch", "running" or "recalibrated", as in `SharedWeights`.
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
    def logits(self, images: Tensor) -> Iterator[tuple[list[int], Tensor]]:
        """Yield, for every pass, a list with its position in `mixings`, and its class scores (N, classes)."""
        position = 0
        for group, measured in zip(self._groups, self._measured, strict=True):
            with self._statistics(len(group), measured):
                logits = self._logits(group, images)
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
        return measured_statistics(self._net, groups) if self._batch_norm == "batch" else nullcontext()

    def _logits(self, group: Sequence[Mixing], images: Tensor) -> Tensor:
        """Return class scores (G · N, classes): the N images in the first pass, then in the second, …"""
        if len(group) == 1:
            compiled = self._batch_norm == "running"  # a compiled graph supports only running statistics
            return class_scores(self._net, group[0], images, self._precision, compiled)
        one_hot = [to_tensors(self._net.space.one_hot(mixing.path), images.device) for mixing in group if mixing.path]
        weights = {
            key: torch.stack([of[key] for of in one_hot]).repeat_interleave(len(images), 0) for key in one_hot[0]
        }
        return class_scores(self._net, Mixing(weights), images.repeat(len(group), 1, 1, 1), self._precision)
