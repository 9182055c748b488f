"""The edges of NAS-Bench-201's cell and their operations (Dong and Yang 2020, section 2.1)."""

import operator
from collections.abc import Iterable

from nasbench1shot1.ground.errors import InvalidInputError

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
"""The operations in the order of the official API, which numbers them 0 to 4; "none" is zeroize."""

NONE = OPERATIONS.index("none")
"""The operation zeroize, with which the cell lacks an edge."""

N_NODES = 4
"""Number of nodes of a cell: 0 is the input, 3 the output."""

EDGES = tuple((target, source) for target in range(1, N_NODES) for source in range(target))
"""All edges as (target, source), in the order of an architecture's operations: 1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2."""

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
