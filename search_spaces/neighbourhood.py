"""Neighbours of architectures: one block has another operation, or one parent of a node is exchanged."""

from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import OPERATIONS


def operation_changes(arch: CellArchitecture) -> list[CellArchitecture]:
    """Return every architecture that differs in the operation of one block."""
    return [
        _with_operation(arch, block, operation)
        for block, now in enumerate(arch.operations)
        for operation in range(len(OPERATIONS))
        if operation != now
    ]


def parent_exchanges(arch: CellArchitecture) -> list[CellArchitecture]:
    """Return every architecture in which one parent of one node is exchanged for another."""
    return [
        _with_parents(arch, node, {*parents, new} - {old})
        for node, parents in enumerate(arch.parents, start=1)
        for old in parents
        for new in range(node)
        if new not in parents
    ]


def _with_operation(arch: CellArchitecture, block: int, operation: int) -> CellArchitecture:
    operations = (*arch.operations[:block], operation, *arch.operations[block + 1 :])
    return CellArchitecture.unchecked(arch.space, arch.parents, operations)


def _with_parents(arch: CellArchitecture, node: int, parents: set[int]) -> CellArchitecture:
    changed = (*arch.parents[: node - 1], tuple(sorted(parents)), *arch.parents[node:])
    return CellArchitecture.unchecked(arch.space, changed, arch.operations)
