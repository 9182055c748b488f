"""The table of a search space, and how a record names a table."""

from pathlib import Path

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.coverage import PRESENT, Reference
from nasbench1shot1.tables.measured_sample import NAME
from nasbench1shot1.tables.names import EMBEDDED, NASBENCH201, SAMPLE, named_table
from nasbench1shot1.tables.table import Table, load_table


def table_for(space: SearchSpace, path: str | Path | None = None, reference: Reference | None = None) -> Table:
    """Open the table with which regrets in a space are measured; everything that searches a space calls this.

    Args:
        space: the space. Its name is a reference of the table, also if it is a space of one's own.
        path: as in `load_table`.
        reference: "present" to take the best of those networks of the space that the table has, if it lacks some.

    Raises:
        OutOfDomainError: the table lacks networks of the space, and `reference` is not given.
        InvalidInputError: as `load_table`; or the table is of another benchmark than the space.
        DamagedFileError: as `load_table`.
    """
    return load_table(path).covering(space, present=reference == PRESENT)


def recorded_name(table: Table) -> str:
    """Return what opens a table again: a bundled table's name, or its folder.

    Raises InvalidInputError for a table that lies in memory only.
    """
    if table.folder is None and table.name != NAME:
        raise InvalidInputError(
            f"the table {table.id} lies in memory, where a run cannot find it again: save it with "
            "table.save('my-table') and give that folder"
        )
    bundled = {EMBEDDED: named_table(EMBEDDED), NASBENCH201: named_table(NASBENCH201)}
    return next((name for name, folder in bundled.items() if folder == table.folder), str(table.folder or SAMPLE))
