"""Inputs that shared weights can score: architectures, architectures without some output edges, and mixings."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.weight_sharing.passes import Mixing


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


def without_last_edge(architecture: CellArchitecture) -> "CellArchitecture | Subnetwork":
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
