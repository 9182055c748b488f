"""The table for a search space, and the name of a table in records."""

from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.names import bundled_tables, folder_of
from nasbench1shot1.tables.references import PRESENT, Reference
from nasbench1shot1.tables.table import Table, load_table


def table_for(space: SearchSpace, path: str | Path | None = None, reference: Reference | None = None) -> Table:
    """Open the table that measures regrets in a space; all searches call this function.

    Args:
        space: the space. Its name becomes a reference of the table, also for a user's own space.
        path: as in `load_table`.
        reference: "present" to measure regret relative to the best network that the table has, if it lacks some.

    Raises:
        OutOfDomainError: the table lacks networks of the space, and `reference` is not given.
        InvalidInputError: as `load_table`; or the table and the space belong to different benchmarks.
        DamagedFileError: as `load_table`.
    """
    return load_table(path).covering(space, present=reference == PRESENT)


def recorded_name(table: Table) -> str:
    """Return the name or folder with which a table can be opened again.

    Raises InvalidInputError for a table that is only in memory.
    """
    folders = {name: folder_of(bundled) for name, bundled in bundled_tables().items()}
    if table.folder is not None:
        return next((name for name, folder in folders.items() if folder == table.folder), str(table.folder))
    if table.name in folders:  # a bundled table in memory has its own name
        return table.name
    raise InvalidInputError(
        f"the table {table.id} is only in memory, so a run cannot find it again: save it with "
        "table.save('my-table') and give that folder"
    )
