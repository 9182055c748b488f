"""Named tables: the tables that come with benchmarks, and tables imported into the data folder."""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from nasbench1shot1.benchmark import BENCHMARKS, BundledTable, benchmark, benchmarks, load
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, shell_word, suggestion
from nasbench1shot1.ground.files import as_path, data_folder
from nasbench1shot1.ground.folder_swap import recover_folder

if TYPE_CHECKING:
    from nasbench1shot1.tables.folder import TableFolder


def bundled_tables() -> dict[str, BundledTable]:
    """Return the tables that come with benchmarks, by name: the default table, this package's others, all others."""
    return {name: table for owner in benchmarks() for name, table in owner.tables.items()}


def _own_tables() -> dict[str, BundledTable]:
    """Return this package's tables, without listing the installed packages, which takes 10 ms."""
    return {name: table for owner in map(benchmark, BENCHMARKS.built_in) for name, table in owner.tables.items()}


def tables_folder() -> Path:
    """Return the folder of imported tables, which contains a folder with the name of each table."""
    return data_folder() / "tables"


def resolve_table_name(named: str | None) -> str:
    """Return the name or absolute path of a table, which does not depend on the working directory.

    Args:
        named: a folder or a name. Default: the value of NB1SHOT1_TABLE, or else "embedded". A table of this package
            takes precedence over a folder with its name (write ./embedded), and a folder over other tables.
    """
    own = _own_tables()
    default = os.environ.get("NB1SHOT1_TABLE") or next(iter(own))
    asked, option = (named, "table") if named else (default, "NB1SHOT1_TABLE")
    path = as_path(asked, option)
    return str(path.absolute()) if asked not in own and recover_folder(path) else asked


def name_of_folder(folder: Path) -> str:
    """Return the shortest text that `load_table` and --table open an existing table's folder with.

    This is the name in the folder of imported tables, or the path; "./embedded" if "embedded" is another table.
    """
    here = folder.resolve()
    names = [folder.name] if here.parent == tables_folder().resolve() else []
    if not folder.is_absolute():
        names.append(str(folder))
        names.append(f".{os.sep}{folder}")
    return next((name for name in names if _opens(name, here)), str(folder.absolute()))


def _opens(name: str, folder: Path) -> bool:
    """Return whether a name means the table in a folder, without opening a table."""
    found = resolve_table_name(name)
    if found in _own_tables():
        return False
    return (tables_folder() / found).resolve() == folder  # a path of a folder is absolute, so it stays as it is


def find_table(named: str | Path | None) -> "Path | TableFolder":
    """Return the folder of a table, or the table itself if it is in memory; `named` is as in `resolve_table_name`.

    Raises InvalidInputError if neither a folder nor a table with this name exists.
    """
    if isinstance(named, Path) and recover_folder(path := as_path(named, "table")):  # a folder with any name
        return _checked_folder(path)
    asked = resolve_table_name(None if named is None else str(named))
    if asked in (own := _own_tables()):
        return _open_bundled(asked, own[asked])
    for path in (as_path(asked, "table"), tables_folder() / asked):
        if recover_folder(path):
            return _checked_folder(path)
    if asked in (known := bundled_tables()):
        return _open_bundled(asked, known[asked])
    raise _no_table_error(asked)


def folder_of(table: BundledTable) -> Path | None:
    """Return the folder of a bundled table; None if the table is in memory."""
    if table.folder is None:
        return None
    package, _, path = table.folder.partition(":")
    return Path(str(import_module(package).__file__)).parent / path


def _open_bundled(name: str, table: BundledTable) -> "Path | TableFolder":
    if (folder := folder_of(table)) is not None:
        return folder
    from nasbench1shot1.tables.writing import make_in_memory_folder

    return make_in_memory_folder(*load(str(table.columns), f"the table {name}")())


def _checked_folder(path: Path) -> Path:
    """Return `path`; raises InvalidInputError for official files, which must be imported first."""
    if path.is_file():
        raise InvalidInputError(f"{path} is a file, but a table is a folder: {_import_advice(path)}")
    from nasbench1shot1.tables.folder import META

    if not (path / META).is_file():
        from nasbench1shot1.tables.formats import format_of

        if found := format_of(path):
            raise InvalidInputError(f"{path} is {found.example}: {_import_advice(path)}")
    return path


def _import_advice(path: Path) -> str:
    """Return how to use an official file, or a folder of files: import it, then give the table's name or folder."""
    from nasbench1shot1.tables.formats import table_name

    name, command = table_name(path), f"nb1shot1 table import {shell_word(path)}"
    if resolve_table_name(name) == name:
        return f"run `{command}`, then give the table's name, {name}"
    folder = tables_folder() / name
    return f"run `{command}`, then give the table's folder, {folder}, because the current folder also contains '{name}'"


def _no_table_error(asked: str) -> InvalidInputError:
    from nasbench1shot1.tables.folder import unset_hint
    from nasbench1shot1.tables.formats import format_of

    if format_of(Path(asked)):
        return InvalidInputError(
            f"'{asked}' does not exist: run `nb1shot1 table download`, or `nb1shot1 table import` with your file, then "
            f"give the table's name, {Path(asked).stem}"
        )
    known = available_tables()
    return InvalidInputError(
        f"there is no table in {asked}, and no table with this name{suggestion(asked, known)} (known: "
        f"{', '.join(known)}): {_download_advice(asked)}give the name or the folder of a table{unset_hint()}"
    )


def _download_advice(asked: str) -> str:
    """Return the beginning of the advice for the table of an official file that can be downloaded; "" for others."""
    official = ((name, file) for known in benchmarks() for name, file in known.downloads.items())
    names = [name for name, file in official if Path(load(file, "an official file").file).stem == asked]
    return f"run `nb1shot1 table download {names[0]}`, or " if names else ""


def build_bundled_table(name: str, out: Path, report: Callable[[str], None]) -> None:
    """Build a bundled table again from its bundled sources, into a new folder.

    Raises InvalidInputError if there is no bundled table with this name, or it cannot be built.
    """
    tables = bundled_tables()
    if name not in tables or tables[name].build is None:
        buildable = [known for known, table in tables.items() if table.build is not None]
        raise InvalidInputError(f"'{name}' cannot be built from bundled measurements: choose {alternatives(buildable)}")
    load(str(tables[name].build), f"the builder of the table {name}")(out, report)


def available_tables() -> list[str]:
    """Return the names of the tables that come with benchmarks, then of the imported tables."""
    return [*bundled_tables(), *_imported()]


def _imported() -> list[str]:
    from nasbench1shot1.tables.folder import META

    folder = tables_folder()
    found = [path.name for path in folder.iterdir() if (path / META).is_file()] if folder.is_dir() else []
    return sorted(name for name in found if not name.startswith("."))
