"""NAS-Bench-101's two other encodings (Ying et al. 2019, supplement S3), as its authors' benchmarks decode them.

The matrix encoding has a choice for each possible edge. These two have at most nine edges, so that their configurations
are only invalid if they have no path from input to output. Source: NASCifar10B and NASCifar10C in
automl/nas_benchmarks (29fc2c0, `tabular_benchmarks/nas_cifar10.py`), which score an invalid configuration with an error
of 1 at no cost. The hyperparameters of edges have their published names. The hyperparameters of operations have the
names that all spaces of this package use, `choice_block_1_op` instead of `op_node_0`.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import Encoding, values_by_name
from nasbench1shot1.ground.errors import InvalidInputError, shorten
from nasbench1shot1.nasbench101.encoding import MAX_EDGES, edge_bit
from nasbench1shot1.search_spaces.cell_choices import (
    HasBlocks,
    add_operations,
    checked_choice,
    operation_keys,
    operations_of,
)
from nasbench1shot1.search_spaces.edge_masks import n_edges

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

N_EDGES = "num_edges"


class HasEdges(HasBlocks, Protocol):
    """The part of a space's interface that encodings of edges need."""

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""

    def with_edges(self, mask: int, operations: tuple[int, ...]) -> Architecture:
        """Return the valid architecture with a set of edges; raises InvalidInputError if it is not in the space."""


class EdgeIndexEncoding(Encoding):
    """The numbers of nine edges, some of which may be equal: categorical `edge_0` … `edge_8`, NASCifar10B.

    The published code numbers the 21 possible edges from the highest bit of NAS-Bench-101's masks: 0 is the edge 5 → 6,
    5 is 0 → 6, 20 is 0 → 1. With fewer vertices, the numbers start likewise at the last edge.
    """

    def __init__(self, space: HasEdges) -> None:
        self._space = space

    def configuration_space(self) -> "ConfigurationSpace":
        """See `Encoding`."""
        from ConfigSpace import Categorical, ConfigurationSpace

        configurations = ConfigurationSpace(name=f"{self._space.id}-edge-index")
        add_operations(configurations, self._space)
        numbers = list(range(n_edges(self._space.n_vertices)))
        configurations.add(Categorical(edge, numbers) for edge in _edges(self._chosen))
        return configurations

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> Architecture:
        """See `Encoding`."""
        edges, possible = _edges(self._chosen), n_edges(self._space.n_vertices)
        values = values_by_name(configuration, self._space.name, [*operation_keys(self._space), *edges])
        known = [str(number) for number in range(possible)]
        numbers = {int(checked_choice(values, edge, known)) for edge in edges}
        mask = sum(1 << possible - 1 - number for number in numbers)
        return self._space.with_edges(mask, operations_of(values, self._space))

    @property
    def _chosen(self) -> int:
        """Number of chosen edges: nine, or all if there are fewer."""
        return min(MAX_EDGES, n_edges(self._space.n_vertices))


class ContinuousEncoding(Encoding):
    """A number of edges, `num_edges`, and a number from 0 to 1 for each possible edge, `edge_0` … `edge_20`.

    The architecture has the edges with the highest numbers: NASCifar10C. Edges x → y are numbered by x, then by y.
    Among equal numbers, later edges come first; the published code sorts them in an unspecified order.
    """

    def __init__(self, space: HasEdges) -> None:
        self._space = space

    def configuration_space(self) -> "ConfigurationSpace":
        """See `Encoding`."""
        from ConfigSpace import ConfigurationSpace, Float, Integer

        configurations, possible = ConfigurationSpace(name=f"{self._space.id}-continuous"), self._possible
        add_operations(configurations, self._space)
        configurations.add(Integer(N_EDGES, (0, min(MAX_EDGES, possible))))
        configurations.add(Float(edge, (0.0, 1.0)) for edge in _edges(possible))
        return configurations

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> Architecture:
        """See `Encoding`."""
        edges, possible = _edges(self._possible), self._possible
        values = values_by_name(configuration, self._space.name, [*operation_keys(self._space), N_EDGES, *edges])
        count = int(checked_choice(values, N_EDGES, [str(of) for of in range(min(MAX_EDGES, possible) + 1)]))
        numbers = [_fraction(values, edge) for edge in edges]
        highest = sorted(range(possible), key=lambda place: (numbers[place], place), reverse=True)[:count]
        v = self._space.n_vertices
        bits = [edge_bit(x, y) for x in range(v) for y in range(x + 1, v)]
        return self._space.with_edges(sum(1 << bits[place] for place in highest), operations_of(values, self._space))

    @property
    def _possible(self) -> int:
        return n_edges(self._space.n_vertices)


def _edges(number: int) -> list[str]:
    """Return the names of the first edges in configurations."""
    return [f"edge_{place}" for place in range(number)]


def _fraction(values: Mapping[str, Any], key: str) -> float:
    """Return a number of a configuration; raises InvalidInputError if it is missing or not from 0 to 1."""
    value = values.get(key)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 1:
        raise InvalidInputError(f"'{key}' cannot be {shorten(repr(value))}: give a number from 0 to 1")
    return number
