"""The architectures of NAS-Bench-201: an operation for each edge of a cell of four nodes (Dong and Yang 2020)."""

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, check_space_name, checked_weights, is_decided, weight_text
from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench201.benchmark import BENCHMARK

if TYPE_CHECKING:
    import networkx


OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
"""The operations in the order of the official API, which numbers them 0 to 4; "none" is zeroize."""

NONE = OPERATIONS.index("none")
"""The operation zeroize, which removes an edge from the cell."""

N_NODES = 4
"""Number of nodes of a cell: 0 is the input, 3 the output."""

EDGES = tuple((target, source) for target in range(1, N_NODES) for source in range(target))
"""All edges as (target, source), in the order of an architecture's operations: 1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2."""

NODE_NAMES = ("input", *map(str, range(1, N_NODES - 1)), "output")
"""The names of the nodes in pictures and on screens."""

EDGE_NAMES = tuple(f"{target}<-{source}" for target, source in EDGES)
"""The names that the published BOHB gives to the edges."""


def checked_operations(operations: Iterable[int]) -> tuple[int, ...]:
    """Return the operations of the six edges as Python integers.

    Raises:
        InvalidInputError: they are not six integers, or an operation does not exist.
    """
    try:
        checked = tuple(int(operator.index(operation)) for operation in operations)
    except TypeError as error:
        raise InvalidInputError(
            f"the operations of a NAS-Bench-201 cell are six integers, such as (3, 3, 3, 1, 3, 3), not {operations!r}"
        ) from error
    if len(checked) != len(EDGES):
        raise InvalidInputError(
            f"a NAS-Bench-201 cell has {len(EDGES)} operations, not {len(checked)}: "
            f"give one for each of the edges {', '.join(EDGE_NAMES)}"
        )
    if not all(0 <= operation < len(OPERATIONS) for operation in checked):
        names = ", ".join(f"{i} ({name})" for i, name in enumerate(OPERATIONS))
        raise InvalidInputError(f"{checked} has an operation that does not exist: give {names}")
    return checked


SPACE_NAME = "nb201"
"""The space of official strings, which do not name one."""

_GROUPS = ["".join(f"{{}}~{source}|" for source in range(target)) for target in range(1, N_NODES)]
_FORM = "+".join(f"|{group}" for group in _GROUPS)  # |{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|
_OFFICIAL = re.compile(re.escape(_FORM).replace(re.escape("{}"), r"(\w*)"))
BEST = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
"""Architecture 9930, the best on CIFAR-100's validation images; every cell of NATS-Bench's size space is this one."""
_TEXT = re.compile(r"(?:(?P<space>[\w-]+):)?(?P<official>\|[\w|+]*~[\w|+~]*)")


@dataclass(frozen=True, repr=False)
class EdgeArchitecture(Architecture):
    """An architecture of NAS-Bench-201's topology space; immutable, hashable, comparable.

    Attributes:
        space: the short name of its search space, "nb201".
        operations: index in `OPERATIONS` of the operation of each edge, in the order of `EDGES`
            (6 integers).

    Lists and NumPy integers are accepted and converted to a tuple of Python integers.

    Raises:
        InvalidInputError: there are not six integers, or an operation does not exist.
    """

    benchmark: ClassVar[Benchmark] = BENCHMARK
    SYNTAX: ClassVar[str] = f"space:|operation~source|+…, for example {SPACE_NAME}:{BEST}"

    space: str
    operations: tuple[int, ...]

    def __post_init__(self) -> None:
        check_space_name(self.space)
        object.__setattr__(self, "operations", checked_operations(self.operations))

    @classmethod
    def unchecked(cls, space: str, operations: tuple[int, ...]) -> "EdgeArchitecture":
        """Create an architecture from valid operations without checks; for search spaces."""
        arch = object.__new__(cls)
        arch.__dict__.update(space=space, operations=operations)
        return arch

    @classmethod
    def from_text(cls, text: str) -> "EdgeArchitecture | None":
        """Read "space:official string", or only an official string (space "nb201"); None for text in another format.

        Raises:
            InvalidInputError: the edges are not the six edges of a cell, or an operation is unknown.
        """
        match = _TEXT.fullmatch(text)
        if not match:
            return None
        official = _OFFICIAL.fullmatch(match["official"])
        if not official:
            raise InvalidInputError(
                f"'{text}' does not list the edges {', '.join(EDGE_NAMES)} in this order: write {BEST}"
            )
        return cls(match["space"] or SPACE_NAME, tuple(_operation(name) for name in official.groups()))

    @cached_property
    def official(self) -> str:
        """NAS-Bench-201's string of the architecture; groups belong to nodes 1, 2, 3, and "~i" names the source."""
        return _FORM.format(*(OPERATIONS[operation] for operation in self.operations))

    def operation_counts(self) -> dict[str, int]:
        """Return the number of edges with each operation."""
        return {name: self.operations.count(operation) for operation, name in enumerate(OPERATIONS)}

    @property
    def is_connected(self) -> bool:
        """Whether a path without zeroized edges leads from the input to the output."""
        reached = {0}
        for (target, source), operation in zip(EDGES, self.operations, strict=True):  # ascending targets
            if source in reached and operation != NONE:
                reached.add(target)
        return N_NODES - 1 in reached

    @property
    def network_id(self) -> str:
        """NAS-Bench-201's string, because the benchmark trained every architecture, including isomorphic ones."""
        return self.official

    def drawn_graph(self, weights: Mapping[str, NDArray[Any]] | None = None) -> "networkx.DiGraph[int]":
        """Return the labelled graph that `nb.draw_cell` draws (`Architecture.drawn_graph`), without zeroized edges.

        With `weights`, zeroized edges are included as not chosen.
        """
        import networkx

        characters = {"node_characters": max(map(len, NODE_NAMES)), "edge_characters": max(map(len, OPERATIONS))}
        graph: networkx.DiGraph[int] = networkx.DiGraph(**characters)
        graph.add_nodes_from((node, {"label": name, "operation": None}) for node, name in enumerate(NODE_NAMES))
        for (target, source), operation in zip(EDGES, self.operations, strict=True):
            if operation != NONE:
                graph.add_edge(source, target, label=OPERATIONS[operation], chosen=True, weight=0.0)
        if weights is not None:
            rows = checked_weights(weights, {"operations": (len(EDGES), len(OPERATIONS))})["operations"]
            for (target, source), operation, row in zip(EDGES, self.operations, rows, strict=True):
                more = {"chosen": operation != NONE, "weight": float(row[operation]), "decided": is_decided(row)}
                label = f"{OPERATIONS[operation]}\n{weight_text(row, operation)}"
                graph.add_edge(source, target, label=label, **more)
        return graph

    def __str__(self) -> str:
        return f"{self.space}:{self.official}"


def _operation(name: str) -> int:
    if name not in OPERATIONS:
        raise unknown_name("operation", name, OPERATIONS)
    return OPERATIONS.index(name)
