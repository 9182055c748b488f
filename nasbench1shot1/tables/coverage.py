"""Find the networks of a search space in a table, and report missing ones."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.columns import Rows
from nasbench1shot1.tables.description import MEMBER
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.keys import RowKeys

Reference = Literal["present"]
"""Values of the option `reference`: "present" uses the best of a space's networks that the table has."""
PRESENT: Reference = "present"


@dataclass(frozen=True, eq=False)
class Coverage:
    """The networks of a space that a table has.

    Attributes:
        space: short name of the space.
        rows: ascending rows (M,) of its distinct networks.
        networks: number of distinct networks of the space, including missing ones.
    """

    space: str
    rows: Rows
    networks: int

    @property
    def missing(self) -> int:
        """Number of networks that the table lacks."""
        return self.networks - len(self.rows)


def coverage(space: SearchSpace, folder: TableFolder, keys: RowKeys) -> Coverage:
    """Find the networks of a space in a table.

    Spaces whose rows the table stores and complete benchmarks are not enumerated. Other spaces take about a second for
    50,000 cells.

    Raises InvalidInputError if the table belongs to another benchmark.
    """
    name = space.name
    known = keys.SPACES.get(name) == space.id  # a user's space can have the name of a built-in space
    if known and name in folder.meta["spaces"]:
        rows = np.asarray(folder.checked_column(MEMBER + name), np.int64)
        return Coverage(name, rows, len(rows))
    if known and name in keys.SIZES:
        return Coverage(name, keys.members(name), keys.SIZES[name])
    found = keys.rows_of_space(space)
    rows = np.unique(found[found >= 0])
    return Coverage(name, rows, len(rows) + int((found < 0).sum()))


def incomplete_coverage_error(found: Coverage, space: SearchSpace, table_id: str, keys: RowKeys) -> OutOfDomainError:
    """Return the error for a table that lacks networks of a space; it states their number and names the option."""
    all_ = "a table that has them all (embedded has s1, s2 and s3; the official data has all of NAS-Bench-101)"
    other = f"the table {space.table}" if space.table else all_
    present = len(found.rows)
    option = (
        f", or add --reference {PRESENT} to measure regret relative to the best of the {present:,} that it has"
        if present
        else ""
    )
    return OutOfDomainError(
        f"the table {table_id} lacks {found.missing:,} of the {found.networks:,} {keys.NETWORKS} of {found.space}, so "
        f"the best one is unknown: choose {other}{option}"
    )


def unsupported_space_error(space: SearchSpace, table_id: str) -> InvalidInputError:
    """Return the error for a table that cannot have networks of a space."""
    return InvalidInputError(
        f"the table {table_id} has no networks of {space.name}, because it belongs to another benchmark: choose the "
        f"table {space.table or 'embedded, or official data'}"
    )
