"""Named tables: bundled tables, and tables imported into the data folder."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import PACKAGE_DATA, as_path, data_folder
from nasbench1shot1.ground.folder_swap import recover_folder

if TYPE_CHECKING:
    from nasbench1shot1.tables.folder import TableFolder

EMBEDDED, SAMPLE, NASBENCH201 = "embedded", "nb101-sample", "nb201"
BUNDLED = (EMBEDDED, SAMPLE, NASBENCH201)
"""The bundled tables: estimates for NAS-Bench-101, the measured sample that they are based on, and NAS-Bench-201."""


def tables_folder() -> Path:
    """Return the folder of imported tables, which contains a folder with the name of each table."""
    return data_folder() / "tables"


def resolve_table_name(named: str | None) -> str:
    """Return the name or absolute path of a table, which does not depend on the working directory.

    Args:
        named: a folder or a name. Default: the value of NB1SHOT1_TABLE, or else "embedded". A bundled table takes
            precedence over a folder with its name (write ./embedded), and a folder over an imported table.
    """
    asked, option = (named, "table") if named else (os.environ.get("NB1SHOT1_TABLE") or EMBEDDED, "NB1SHOT1_TABLE")
    path = as_path(asked, option)
    return str(path.absolute()) if asked not in BUNDLED and recover_folder(path) else asked


def find_table(named: str | Path | None) -> "Path | TableFolder":
    """Return the folder of a table, or the table itself if it is in memory; `named` is as in `resolve_table_name`.

    Raises InvalidInputError if neither a folder nor a table with this name exists.
    """
    if isinstance(named, Path) and recover_folder(path := as_path(named, "table")):  # a folder with any name
        return _folder(path)
    asked = resolve_table_name(None if named is None else str(named))
    if asked == EMBEDDED:
        return PACKAGE_DATA / "table"
    if asked == NASBENCH201:
        return PACKAGE_DATA / "nb201" / "table"
    if asked == SAMPLE:
        from nasbench1shot1.nasbench101.sample import sample_columns
        from nasbench1shot1.tables.folder import make_in_memory_folder

        return make_in_memory_folder(*sample_columns())
    for path in (as_path(asked, "table"), tables_folder() / asked):
        if recover_folder(path):
            return _folder(path)
    if asked.endswith(".tfrecord"):
        raise InvalidInputError(
            f"'{asked}' does not exist: run `nb1shot1 table download`, or `nb1shot1 table import` with your file, then "
            f"give the table's name, {Path(asked).stem}"
        )
    from nasbench1shot1.tables.checks import unset_hint

    raise InvalidInputError(
        f"there is no table in {asked}, and no table with this name: give a folder or one of "
        f"{', '.join(available_tables())}{unset_hint()}"
    )


def _folder(path: Path) -> Path:
    """Return `path`; raises InvalidInputError for a file or an archive of NATS-Bench, which must be imported first."""
    if path.is_file():
        raise InvalidInputError(
            f"{path} is a file, but a table is a folder: run `nb1shot1 table import {path}`, then give the table's "
            f"name, {path.stem}"
        )
    if (path / "meta.pickle.pbz2").is_file():
        raise InvalidInputError(
            f"{path} is an archive of NATS-Bench: run `nb1shot1 table import {path}`, then give the table's name, "
            f"{path.stem}"
        )
    return path


def available_tables() -> list[str]:
    """Return the names of the bundled tables, then of the imported tables."""
    return [*BUNDLED, *_imported()]


def _imported() -> list[str]:
    from nasbench1shot1.tables.folder import META

    folder = tables_folder()
    found = [path.name for path in folder.iterdir() if (path / META).is_file()] if folder.is_dir() else []
    return sorted(name for name in found if not name.startswith("."))
