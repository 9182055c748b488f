"""The inputs of a supernet's forward pass: images, and mixing weights or architectures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    from torch import Tensor

    from nasbench1shot1.supernets.supernet import Supernet


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


# Inputs that shared weights can score: architectures, architectures without some output edges, and mixings ------------


@dataclass(frozen=True)
class Subnetwork:
    """An architecture whose output has only some of its parents.

    The published correlation script evaluates architectures of s1 and s2 in this way: it drops the edge from the last
    block to the output (docs/presets.md).

    Attributes:
        architecture: an architecture of the supernet's space.
        output_parents: the remaining parents of the output, ascending; at least one.

    Raises:
        InvalidInputError: `output_parents` is empty, or contains a node that is not a parent of the output.
    """

    architecture: CellArchitecture
    output_parents: tuple[int, ...]

    def __post_init__(self) -> None:
        kept = tuple(node for node in self.architecture.parents[-1] if node in self.output_parents)
        if not kept or kept != tuple(self.output_parents):
            raise InvalidInputError(
                f"output_parents={self.output_parents!r} is not a subset of the output's parents in "
                f"'{self.architecture}': give one or more of {self.architecture.parents[-1]}, ascending"
            )

    @property
    def path(self) -> CellArchitecture:
        """Return the sub-network as an architecture; it is not in the space, because its output has too few parents."""
        whole = self.architecture
        return CellArchitecture.unchecked(whole.space, (*whole.parents[:-1], self.output_parents), whole.operations)


def without_last_edge(architecture: CellArchitecture) -> CellArchitecture | Subnetwork:
    """Return an architecture without the edge from its last block to the output.

    The published evaluation script drops this edge in s1 and s2.

    An architecture that does not have the edge is returned unchanged.

    Raises:
        InvalidInputError: the last block is the only parent of the output.
    """
    last, parents = len(architecture.operations), architecture.parents[-1]
    if last not in parents:
        return architecture
    return Subnetwork(architecture, tuple(node for node in parents if node != last))


Pass = Architecture | Subnetwork | Mixing


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

    Raises InvalidInputError for a `Subnetwork` of a space whose mixing weights have no key "output_edges".
    """
    if isinstance(given, Mixing):
        return given
    if isinstance(given, Architecture):
        return Mixing(path=given)
    weights = {key: torch.from_numpy(value).clone() for key, value in space.one_hot(given.architecture).items()}
    if "output_edges" not in weights:
        raise InvalidInputError(
            f"{space.name} has no mixing weights 'output_edges', from which a Subnetwork removes edges: "
            "give whole architectures"
        )
    for node in set(given.architecture.parents[-1]) - set(given.output_parents):
        weights["output_edges"][node] = 0
    return Mixing(weights, path=given.architecture)


def check_passes(passes: Iterable[Pass], space: OneShotSpace) -> None:
    """Raise InvalidInputError if an architecture is not in the space."""
    for given in passes:
        architecture = given.architecture if isinstance(given, Subnetwork) else path_of(given)
        if architecture is not None:
            space.index(architecture)
