"""Tables that are known by a name: the carried ones, and what was imported into the data folder."""

import os
from pathlib import Path

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.files import PACKAGE_DATA, data_folder
from nasbench1shot1.table_folder import META, TableFolder, table_in_memory

EMBEDDED, SAMPLE = "embedded", "nb101-sample"


def tables_folder() -> Path:
    """Where imported tables lie, each in a folder of its name."""
    return data_folder() / "tables"


def named_table(named: str | Path | None) -> Path | TableFolder:
    """The folder of a table, or the table itself where it is made in memory.

    Args:
        named: a folder or a name; if not given, what NB1SHOT1_TABLE says, else the embedded table. A folder of the
            same name comes before a name.

    Raises InvalidInputError where there is neither such a folder nor such a name.
    """
    asked = str(named or os.environ.get("NB1SHOT1_TABLE") or EMBEDDED)
    if (path := Path(asked).expanduser()).exists():
        return path
    if asked == EMBEDDED:
        return PACKAGE_DATA / "table"
    if asked == SAMPLE:
        from nasbench1shot1.measured_sample import sample_columns

        return table_in_memory(*sample_columns())
    if (imported := tables_folder() / asked).is_dir():
        return imported
    raise InvalidInputError(
        f"there is no table in {asked} (no {META}) and none of that name: give a folder or one of "
        f"{', '.join([EMBEDDED, SAMPLE, *_imported()])}, or unset NB1SHOT1_TABLE to use the embedded one"
    )


def _imported() -> list[str]:
    folder = tables_folder()
    return sorted(path.name for path in folder.iterdir() if (path / META).is_file()) if folder.is_dir() else []
