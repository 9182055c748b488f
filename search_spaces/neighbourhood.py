"""Numbered elementary changes of architectures: another operation at one place, or another parent of a node."""

from functools import lru_cache

from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import OPERATIONS

Parents = tuple[int, ...]


def with_another_operation(operations: tuple[int, ...], number: int, n_operations: int) -> tuple[int, ...]:
    """Return operations that differ at one place, by the number of the change.

    Args:
        operations: the operation at each of n places.
        number: 0 … n(n_operations - 1) - 1; changes are numbered place by place, with ascending operations.
        n_operations: number of operations at each place.
    """
    place, operation = divmod(number, n_operations - 1)
    if operation >= operations[place]:  # the current operation is not a change
        operation += 1
    return (*operations[:place], operation, *operations[place + 1 :])


@lru_cache(maxsize=1 << 10)
def parent_exchanges_of(node: int, parents: Parents) -> tuple[Parents, ...]:
    """Return the parents of a node after each exchange of one parent for another predecessor, k(node - k) of them."""
    return tuple(tuple(sorted({*parents, new} - {old})) for old in parents for new in range(node) if new not in parents)


def operation_changes(arch: CellArchitecture) -> list[CellArchitecture]:
    """Return every architecture that differs in the operation of one block."""
    n_operations = len(OPERATIONS)
    return [
        CellArchitecture.unchecked(
            arch.space, arch.parents, with_another_operation(arch.operations, number, n_operations)
        )
        for number in range(len(arch.operations) * (n_operations - 1))
    ]


def parent_exchanges(arch: CellArchitecture) -> list[CellArchitecture]:
    """Return every architecture in which one parent of one node is replaced by another."""
    return [
        with_parents(arch, node, exchanged)
        for node, parents in enumerate(arch.parents, start=1)
        for exchanged in parent_exchanges_of(node, parents)
    ]


def with_parents(arch: CellArchitecture, node: int, parents: Parents) -> CellArchitecture:
    """Return the architecture with other parents of one node."""
    changed = (*arch.parents[: node - 1], parents, *arch.parents[node:])
    return CellArchitecture.unchecked(arch.space, changed, arch.operations)
