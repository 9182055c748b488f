"""The inputs of a supernet's forward pass: images, and mixing weights or architectures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture

if TYPE_CHECKING:
    from torch import Tensor

    from nasbench1shot1.supernet import Supernet


@dataclass(frozen=True)
class Mixing:
    """The input of one forward pass besides the images: mixing weights, or an architecture, or both.

    Attributes:
        weights: mixing weights, with one tensor per key of `space.mixing_shapes()`. A tuple holds several sets of
            mixing weights, which the cells use in turn. None computes `path` without weights.
        operations: the sampled operation of every block, as Python integers, to compute only these operations. If
            `weights` is a tuple, this is a tuple with the operations for each set.
        path: the architecture to which the pass is restricted: only its live blocks, operations and edges.
    """

    weights: Mapping[str, Tensor] | tuple[Mapping[str, Tensor], ...] | None = None
    operations: tuple[int, ...] | tuple[tuple[int, ...], ...] | None = None
    path: Architecture | None = None

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of `Supernet.forward` that follow the images."""
        return (self.path,) if self.weights is None else (self.weights, self.operations, self.path)

    @property
    def is_sampled(self) -> bool:
        """Return whether the host chooses operations, for each of which a compiled supernet would be compiled again."""
        return self.operations is not None or self.path is not None

    def tensors(self) -> list[Tensor]:
        """Return all mixing weights, in a fixed order."""
        mappings = self.weights if isinstance(self.weights, tuple) else (self.weights or {},)
        return [tensor for weights in mappings for tensor in weights.values()]

    def unstacked(self) -> Mixing:
        """Return a mixing that the cells use in turn, from weights and operations with a leading axis of samples."""
        assert isinstance(self.weights, Mapping)
        parts = zip(*(value.unbind() for value in self.weights.values()), strict=True)
        weights = tuple(dict(zip(self.weights, part, strict=True)) for part in parts)
        operations: Any = self.operations and tuple(tuple(sample) for sample in self.operations)  # type: ignore[arg-type]
        return Mixing(weights, operations)

    def with_tensors(self, tensors: Iterator[Tensor]) -> Mixing:
        """Return a copy with other mixing weights, given in the order of `tensors()`."""
        if isinstance(self.weights, tuple):
            cells = tuple({key: next(tensors) for key in weights} for weights in self.weights)
            return Mixing(cells, self.operations, self.path)
        return Mixing({key: next(tensors) for key in self.weights or {}}, self.operations, self.path)


@dataclass(frozen=True)
class Batch:
    """Normalised images (N, 3, H, W) and their labels (N,)."""

    images: Tensor
    labels: Tensor


def class_scores(
    net: Supernet, mixing: Mixing, images: Tensor, precision: str = "float32", compiled: bool = False
) -> Tensor:
    """Return the supernet's class scores, (N, classes) float32.

    Args:
        net: a supernet.
        mixing: mixing weights or architecture.
        images: (N, 3, H, W) normalised images.
        precision: "float32", or "bfloat16" for a pass under autocast.
        compiled: whether to use the compiled forward pass of a network that has one.
    """
    import torch

    forward = net if compiled and not mixing.is_sampled else net.forward
    with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        logits: Tensor = forward(images, *mixing.arguments())
    return logits.float()
