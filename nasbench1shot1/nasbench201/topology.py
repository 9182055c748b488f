"""Topologies of NAS-Bench-201's architectures: architectures with equal published strings have the same topology.

The rules come from `CellStructure.to_unique_str` in AutoDL-Projects, which yields the counts of NAS-Bench-201 (section
2.1): 12,751 and 6,466 topologies. Strings are compared as they are, not as sums, so classes also depend on how terms
were sorted. For example, take classes of architectures whose strings are equal without the zero rule. With the zero
rule, 109 architectures have another string than the first architecture of their class.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench201.architecture import EDGES, N_NODES, NONE, OPERATIONS, checked_operations
from nasbench1shot1.nasbench201.numbering import all_operations

_ZERO = "#"
_SKIP = OPERATIONS.index("skip_connect")


def unique_string(operations: Iterable[int], zero_rule: bool) -> str:
    """Return the string of a cell's topology, in which a skip connection passes on the string of its source.

    Args:
        operations: the operations of the six edges.
        zero_rule: also simplify zeroized edges: "none", and every operation on a node whose string is "#", yields "#".

    Raises InvalidInputError like `checked_operations`.
    """
    checked, nodes = checked_operations(operations), ["0"]
    for node in range(1, N_NODES):
        terms = [
            _term(operation, nodes[source], zero_rule)
            for (target, source), operation in zip(EDGES, checked, strict=True)
            if target == node
        ]
        nodes.append("+".join(sorted(terms)))
    return nodes[-1]


@cache
def representatives(zero_rule: bool) -> NDArray[np.int64]:
    """Return for each official index the lowest one with an equal `unique_string`, (15625,), read-only."""
    first: dict[str, int] = {}
    strings = (unique_string(operations, zero_rule) for operations in all_operations().tolist())
    lowest = np.array([first.setdefault(string, i) for i, string in enumerate(strings)], np.int64)
    lowest.flags.writeable = False
    return lowest


@cache
def unique_indices(zero_rule: bool) -> NDArray[np.int64]:
    """Return the lowest official index of each topology, ascending, read-only: (12751,), or (6466,) with the rule."""
    indices = np.unique(representatives(zero_rule))
    indices.flags.writeable = False
    return indices


def _term(operation: int, source: str, zero_rule: bool) -> str:
    if zero_rule and (operation == NONE or source == _ZERO):
        return _ZERO
    return source if operation == _SKIP else f"({source})@{OPERATIONS[operation]}"
