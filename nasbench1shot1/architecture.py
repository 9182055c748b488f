"""One discrete choice in a search space: the only thing that travels between the parts."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nasbench1shot1.cells import INPUT, OPERATIONS, OUTPUT, Cell
from nasbench1shot1.errors import InvalidInputError, unknown_name

SHORT_NAMES = ("conv3x3", "conv1x1", "maxpool3x3")
"""The operations of NAS-Bench-101 as an architecture's text writes them; same order as `cells.OPERATIONS`."""

_TEXT = re.compile(r"(?P<space>[\w-]+):(?P<parents>[\d,|]*):(?P<operations>[\w,]*)")


@dataclass(frozen=True)
class Architecture:
    """An architecture of a choice-block space; immutable, hashable, comparable.

    Nodes are numbered 0 (input), 1…n (choice blocks), n + 1 (output). Loose ends are kept: two architectures
    that differ only in blocks nobody reads are different here and equal as `cell`.

    Attributes:
        space: the short name of its search space, "s1" for example.
        parents: the ascending parents of block 1, …, block n and the output, in that order (n + 1 tuples).
        operations: index in `cells.OPERATIONS` for each block (n integers).
    """

    space: str
    parents: tuple[tuple[int, ...], ...]
    operations: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "Architecture":
        """Read what `str(architecture)` wrote, e.g. "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3".

        The form is checked here, membership in the space by `SearchSpace.index`.

        Raises:
            InvalidInputError: the text does not have that form.
        """
        match = _TEXT.fullmatch(text.strip())
        if not match:
            raise InvalidInputError(
                f"'{text}' is not an architecture: write space:parents:operations, for example "
                "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
            )
        parents = tuple(_integers(part, text) for part in match["parents"].split("|"))
        operations = tuple(_operation(name) for name in match["operations"].split(","))
        if len(parents) != len(operations) + 1:
            raise InvalidInputError(
                f"'{text}' names parents for {len(parents)} nodes and operations for {len(operations)} blocks: "
                "give parents for every block and the output, and an operation for every block"
            )
        if any(p >= node for node, of_node in enumerate(parents, start=1) for p in of_node):
            raise InvalidInputError(f"'{text}' gives a node a parent that does not come before it")
        return cls(match["space"], parents, operations)

    @cached_property
    def cell(self) -> Cell:
        """The cell that this architecture is in NAS-Bench-101, loose ends pruned."""
        nodes = len(self.parents) + 1
        matrix = np.zeros((nodes, nodes), np.int8)
        for node, parents in enumerate(self.parents, start=1):
            matrix[list(parents), node] = 1
        return Cell(matrix, [INPUT, *(OPERATIONS[op] for op in self.operations), OUTPUT])

    def __str__(self) -> str:
        parents = "|".join(",".join(map(str, of_node)) for of_node in self.parents)
        return f"{self.space}:{parents}:{','.join(SHORT_NAMES[op] for op in self.operations)}"


def _integers(part: str, text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+)*", part):
        raise InvalidInputError(f"'{text}' has a node without parents or a stray comma: write them as in 0|0,1|0,2")
    values = tuple(int(p) for p in part.split(","))
    if sorted(set(values)) != list(values):
        raise InvalidInputError(f"'{text}' must list each node's parents once, in ascending order")
    return values


def _operation(name: str) -> int:
    if name not in SHORT_NAMES:
        raise unknown_name("operation", name, SHORT_NAMES)
    return SHORT_NAMES.index(name)
