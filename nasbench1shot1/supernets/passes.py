"""The inputs of a supernet's forward pass: images, and mixing weights or architectures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    from torch import Tensor

    from nasbench1shot1.supernets.supernet import Supernet


class WithUnsampledTerms(int):
    """A sampled operation that adds the mixing weights of all other operations of its row to its output.

    These weights are 0, but have a gradient. Only cells with the feature "unsampled-terms" distinguish it from an
    integer.
    """


@dataclass(frozen=True)
class Mixing:
    """The input of one forward pass besides the images: mixing weights, or an architecture, or both.

    Attributes:
        weights: mixing weights, with one tensor per key of `space.mixing_shapes()`. A tuple holds several sets of
            mixing weights, which the mixed places use in turn. None computes `path` without weights.
        operations: the sample of this pass: one operation for every row of the space's `operation_key`, as Python
            or NumPy integers, or two widths that are interpolated. Other operations are not computed. If `weights` is a
            tuple, this is a tuple with the sample for each set. None: nothing is sampled.
        allowed: the operations of every row that the method has not excluded, for all sets of weights. Excluded
            operations are not computed, whatever their weight, and lose their momentum in a weight step. None: all are
            allowed, or the pass samples.
        allowed_edges: the entries that the method has not excluded, for each other choice with excluded entries, by
            key. Parts that only excluded edges need are not computed, and lose their momentum if the pass does not
            sample. None: all are allowed.
        path: the architecture to which the pass is restricted: only its live blocks, operations and edges.
    """

    weights: Mapping[str, Tensor] | tuple[Mapping[str, Tensor], ...] | None = None
    operations: tuple[Any, ...] | None = None
    path: Architecture | None = None
    allowed: tuple[tuple[int, ...], ...] | None = None
    allowed_edges: Mapping[str, tuple[int, ...]] | None = None

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of `Supernet.forward` that follow the images."""
        if self.weights is None:
            return (self.path,)
        edges = () if self.allowed_edges is None else (self.allowed_edges,)
        return (self.weights, self.computed, self.path, *edges)

    @property
    def computed(self) -> tuple[Any, ...] | None:
        """The argument `operations` of `Supernet.forward`: the sampled or allowed operations, for each set of weights.

        None computes all operations.
        """
        if self.allowed is None or not isinstance(self.weights, tuple):
            return self.allowed or self.operations
        return (self.allowed,) * len(self.weights)

    @property
    def is_sampled(self) -> bool:
        """Whether the host draws operations, for each of which a compiled supernet would be compiled again.

        Allowed operations change rarely. A compiled supernet is compiled again for every change, up to PyTorch's limit.
        """
        return self.operations is not None or self.path is not None

    @property
    def leaves_out_excluded(self) -> bool:
        """Whether the pass leaves out exactly what the method has excluded: parts are excluded, and none is sampled."""
        return not self.is_sampled and (self.allowed is not None or self.allowed_edges is not None)

    def tensors(self) -> list[Tensor]:
        """Return all mixing weights, in a fixed order."""
        mappings = self.weights if isinstance(self.weights, tuple) else (self.weights or {},)
        return [tensor for weights in mappings for tensor in weights.values()]

    def unstacked(self) -> Mixing:
        """Return a mixing that mixed places use in turn, from weights and operations with a leading axis of samples."""
        assert isinstance(self.weights, Mapping)
        parts = zip(*(value.unbind() for value in self.weights.values()), strict=True)
        weights = tuple(dict(zip(self.weights, part, strict=True)) for part in parts)
        operations: Any = self.operations and tuple(tuple(sample) for sample in self.operations)
        return Mixing(weights, operations)

    def with_each(self, change: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]) -> Mixing:
        """Return a copy in which every set of mixing weights is replaced by `change` of it."""
        if isinstance(self.weights, tuple):
            return replace(self, weights=tuple(map(change, self.weights)))
        return self if self.weights is None else replace(self, weights=change(self.weights))

    def as_leaves(self, copies: int = 1) -> Mixing:
        """Return a copy whose mixing weights are leaves with gradients; with several copies, one for each mixed place.

        A mixing that already has several sets of mixing weights is repeated in turn.
        """
        mixing = self
        if copies > 1 and self.weights is not None:
            several = isinstance(self.weights, tuple)
            sets: Any = self.weights if several else (self.weights,)
            operations: Any = self.operations if several or self.operations is None else (self.operations,)
            mixing = replace(
                self,
                weights=tuple(sets[i % len(sets)] for i in range(copies)),
                operations=operations and tuple(operations[i % len(operations)] for i in range(copies)),
            )
        return mixing.with_tensors(iter([tensor.detach().clone().requires_grad_() for tensor in mixing.tensors()]))

    def with_tensors(self, tensors: Iterator[Tensor]) -> Mixing:
        """Return a copy with other mixing weights, given in the order of `tensors()`."""
        if isinstance(self.weights, tuple):
            return replace(self, weights=tuple({key: next(tensors) for key in weights} for weights in self.weights))
        return replace(self, weights={key: next(tensors) for key in self.weights or {}})


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
    import torch  # here, because help imports this module

    forward = net if compiled and not mixing.is_sampled else net.forward
    with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        logits: Tensor = forward(images, *mixing.arguments())
    return logits.float()


@dataclass(frozen=True)
class Subnetwork:
    """An architecture without some of its parts, which is computed alone.

    Attributes:
        architecture: an architecture of the supernet's space.
        path: the remaining parts in the form of an architecture, which need not be in the space.
        removed: the entries of mixing weights that belong to the missing parts: (key, entries) for each key.
    """

    architecture: Architecture
    path: Architecture
    removed: tuple[tuple[str, tuple[int, ...]], ...]


Pass = Architecture | Subnetwork | Mixing
"""What shared weights can score."""


def path_of(given: Pass) -> Architecture | None:
    """Return the single path of a pass; None if the pass has mixing weights."""
    if isinstance(given, Mixing):
        return given.path if given.weights is None else None
    return given.path if isinstance(given, Subnetwork) else given


def is_mixture(given: Pass) -> bool:
    """Return whether a pass may need all operations and edges."""
    return isinstance(given, Mixing) and given.path is None


def as_mixing(given: Pass, space: OneShotSpace) -> Mixing:
    """Return a pass as a mixing, which `Supernet.forward` accepts.

    Raises InvalidInputError for a `Subnetwork` if the space has no mixing weights for its missing parts.
    """
    if isinstance(given, Mixing):
        return given
    if isinstance(given, Architecture):
        return Mixing(path=given)
    import torch

    weights = {key: torch.from_numpy(value).clone() for key, value in space.one_hot(given.architecture).items()}
    for key, entries in given.removed:
        if key not in weights:
            raise InvalidInputError(
                f"{space.name} has no mixing weights '{key}', from which a Subnetwork removes edges: "
                "give whole architectures"
            )
        weights[key][list(entries)] = 0
    return Mixing(weights, path=given.architecture)


def check_passes(passes: Iterable[Pass], space: OneShotSpace) -> None:
    """Raise InvalidInputError if an input is not a `Pass`, or an architecture is not in the space."""
    for given in passes:
        if not isinstance(given, Pass):
            raise InvalidInputError(
                f"an object of type {type(given).__name__} cannot be scored: give an nb.Architecture or a Mixing, such "
                "as Mixing(weights)"
            )
        architecture = given.architecture if isinstance(given, Subnetwork) else path_of(given)
        if architecture is not None:
            space.index(architecture)
