"""The architectures of cell spaces: parents per node and an operation per choice block."""

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, check_space_name, checked_weights, is_decided, weight_text
from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT, Cell, drawn_graph
from nasbench1shot1.nasbench101.encoding import edge_bits

if TYPE_CHECKING:
    import networkx

SHORT_NAMES = ("conv3x3", "conv1x1", "maxpool3x3")
"""Names of NAS-Bench-101's operations in the text form of architectures, in the order of `cell.OPERATIONS`."""

_TEXT = re.compile(r"(?P<space>[\w-]+):(?P<parents>[0-9,|]*):(?P<operations>(?![0-9]+$)[\w,]*)")
"""Operations are never a number: nats-size:64:48 is an incomplete architecture of another benchmark."""
_BEGINNING = re.compile(r"(?![0-9:]+$)[\w-]+:(?:[^|~][^~]*)?")
"""What only an architecture in this form can begin with: the sources in NAS-Bench-201's strings follow a tilde."""
_NODE = r"(?:0|[1-9][0-9]{0,2})"  # one way to write a number, so that equal architectures have equal texts


@dataclass(frozen=True, repr=False)
class CellArchitecture(Architecture):
    """An architecture of a cell space; immutable, hashable, comparable.

    Nodes are numbered 0 (input), 1…n (choice blocks), n + 1 (output). Loose ends are kept: two architectures
    that differ only in blocks without a path to the output are unequal, but have equal cells. A node may have no
    parents if its space allows it.

    Attributes:
        space: the short name of its search space, "s1" for example.
        parents: the ascending parents of block 1, …, block n and the output (n + 1 tuples).
        operations: index in `cell.OPERATIONS` of the operation of each block (n integers).

    Lists and NumPy integers are accepted and converted to tuples of Python integers.

    Raises:
        InvalidInputError: a part does not consist of integers, the parents of a node are not ascending or do not come
            before it, an operation does not exist, or the numbers of operations and blocks differ. Only
            `SearchSpace.index` checks whether the architecture is in its space.
    """

    benchmark: ClassVar[Benchmark] = BENCHMARK
    SYNTAX: ClassVar[str] = (
        "space:parents:operations, for example s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
    )

    space: str
    parents: tuple[tuple[int, ...], ...]
    operations: tuple[int, ...]

    def __post_init__(self) -> None:
        check_space_name(self.space)
        try:
            parents = tuple(_as_integers(of_node) for of_node in self.parents)
            operations = _as_integers(self.operations)
        except TypeError as error:
            raise InvalidInputError(
                f"an architecture of {self.space} needs integers, parents=((0,), (0, 1), …) and operations=(0, …), "
                f"not {self.parents!r} and {self.operations!r}"
            ) from error
        _check(_text(self.space, parents, operations), parents, operations)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "operations", operations)

    @classmethod
    def unchecked(
        cls, space: str, parents: tuple[tuple[int, ...], ...], operations: tuple[int, ...], edges: int | None = None
    ) -> "CellArchitecture":
        """Create an architecture from valid tuples without checks, in a tenth of the time; for search spaces.

        `edges` can be given if it is known.
        """
        arch = object.__new__(cls)
        of_arch = arch.__dict__
        of_arch["space"], of_arch["parents"], of_arch["operations"] = space, parents, operations
        if edges is not None:
            of_arch["edges"] = edges
        return arch

    @classmethod
    def resembles(cls, text: str) -> bool:
        """Return whether invalid text names a space and has no parts of NAS-Bench-201's strings."""
        return _BEGINNING.fullmatch(text) is not None

    @classmethod
    def from_text(cls, text: str) -> "CellArchitecture | None":
        """Read "space:parents:operations"; return None for text in another format.

        A node without parents has nothing between its bars, such as block 2 in "nb101:0||0,1|…".

        Raises:
            InvalidInputError: the parents or operations are not valid.
        """
        match = _TEXT.fullmatch(text)
        if not match:
            return None
        parents = tuple(_integers(part, text) for part in match["parents"].split("|"))
        operations = tuple(_operation(name) for name in match["operations"].split(","))
        return cls(match["space"], parents, operations)

    @classmethod
    def of_cell(cls, cell: Cell, space: str, vertices: int) -> "CellArchitecture":
        """Return the architecture of a space with `vertices` vertices whose first blocks are the vertices of a cell.

        The other blocks have no parents and the first operation, as in the kind "no_loose_ends" of
        `NASBench101Space`.
        """
        blocks = [tuple(np.flatnonzero(column).tolist()) for column in cell.matrix.T[1:]]
        loose = vertices - len(cell.ops)
        parents = (*blocks[:-1], *((),) * loose, blocks[-1])
        operations = (*(OPERATIONS.index(label) for label in cell.ops[1:-1]), *(0,) * loose)
        return cls(space, parents, operations)

    @cached_property
    def cell(self) -> Cell:
        """The NAS-Bench-101 cell of this architecture; loose ends are pruned."""
        nodes = len(self.parents) + 1
        matrix = np.zeros((nodes, nodes), np.int8)
        for node, parents in enumerate(self.parents, start=1):
            matrix[list(parents), node] = 1
        return Cell(matrix, [INPUT, *(OPERATIONS[op] for op in self.operations), OUTPUT])

    @cached_property
    def edges(self) -> int:
        """The edges as bits (`encoding.edge_bits`)."""
        return edge_bits(self.parents)

    @property
    def network_id(self) -> str:
        """NAS-Bench-101's MD5 of the cell."""
        return self.cell.hash

    @cached_property
    def live_blocks(self) -> tuple[int, ...]:
        """The blocks with a path to the output, ascending; all other blocks are loose ends."""
        return live_blocks(self.parents)

    def drawn_graph(self, weights: Mapping[str, NDArray[Any]] | None = None) -> "networkx.DiGraph[int]":
        """Return the labelled graph that `nb.draw_cell` draws (`Architecture.drawn_graph`)."""
        pairs = ((parent, node) for node, parents in enumerate(self.parents, start=1) for parent in parents)
        graph = drawn_graph(self.operations, pairs)
        if weights is not None:
            self._weigh(graph, weights)
        return graph

    def _weigh(self, graph: "networkx.DiGraph[int]", given: Mapping[str, NDArray[Any]]) -> None:
        """Add all candidate edges, the weights of parents, and the weights of operations in labels."""
        nodes = len(self.parents)
        shapes = {"operations": (nodes - 1, len(OPERATIONS)), "output_edges": (nodes,)}
        weights = checked_weights(given, shapes | {f"input_edges/{node}": (node,) for node in range(1, nodes)})
        texts = [weight_text(row, taken) for row, taken in zip(weights["operations"], self.operations, strict=True)]
        for block, text in enumerate(texts, start=1):
            graph.nodes[block]["label"] += f" {text}"
            graph.nodes[block]["decided"] = is_decided(weights["operations"][block - 1])
        graph.graph["node_characters"] += 1 + max(map(len, texts))
        for node, parents in enumerate(self.parents, start=1):
            key = "output_edges" if node == nodes else f"input_edges/{node}"
            of_parents = weights.get(key, np.ones(node))
            for parent, weight in enumerate(of_parents.tolist()):
                if not graph.has_edge(parent, node):
                    graph.add_edge(parent, node, label="", chosen=False)
                graph.edges[parent, node].update(weight=weight, decided=is_decided(of_parents, len(parents)))

    def __str__(self) -> str:
        return _text(self.space, self.parents, self.operations)


def live_blocks(parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the blocks with a path to the output, ascending, given the parents of block 1, …, block n, the output.

    These blocks also have a path from the input if every node has at least one parent.
    """
    live = {len(parents)}
    for node in range(len(parents), 0, -1):
        if node in live:
            live.update(parents[node - 1])
    return tuple(sorted(live - {0, len(parents)}))


def _text(space: str, parents: Iterable[Iterable[int]], operations: Iterable[int]) -> str:
    """Return the text form; for error messages, an operation that does not exist is written as its number."""
    of_nodes = "|".join(",".join(map(str, of_node)) for of_node in parents)
    names = [SHORT_NAMES[op] if 0 <= op < len(SHORT_NAMES) else str(op) for op in operations]
    return f"{space}:{of_nodes}:{','.join(names)}"


def _check(text: str, parents: tuple[tuple[int, ...], ...], operations: tuple[int, ...]) -> None:
    """Raise InvalidInputError if parents and operations cannot form an architecture."""
    if not operations or len(parents) != len(operations) + 1:
        raise InvalidInputError(
            f"'{text}' names parents for {len(parents)} nodes and operations for {len(operations)} blocks: "
            "give parents for every block and the output, and an operation for every block"
        )
    if any(a >= b for of_node in parents for a, b in pairwise(of_node)):
        raise InvalidInputError(f"'{text}' must list each node's parents once, in ascending order")
    for node, of_node in enumerate(parents, start=1):
        if late := [parent for parent in of_node if not 0 <= parent < node]:
            earlier = "0" if node == 1 else f"0 to {node - 1}"
            raise InvalidInputError(
                f"'{text}' gives node {node} the parent {late[0]}, which is not an earlier node: give {earlier}"
            )
    if not all(0 <= op < len(SHORT_NAMES) for op in operations):
        names = ", ".join(f"{i} ({name})" for i, name in enumerate(SHORT_NAMES))
        raise InvalidInputError(f"'{text}' has an operation that does not exist: give {names}")


def _as_integers(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(operator.index(value)) for value in values)


def _integers(part: str, text: str) -> tuple[int, ...]:
    if not re.fullmatch(f"({_NODE}(,{_NODE})*)?", part):
        raise InvalidInputError(
            f"'{text}' has a stray comma, or a number with a leading zero or too many digits: write a node's parents "
            "as in 0|0,1|0,2"
        )
    return tuple(int(p) for p in part.split(",") if p)


def _operation(name: str) -> int:
    if name not in SHORT_NAMES:
        raise unknown_name("operation", name, SHORT_NAMES)
    return SHORT_NAMES.index(name)
