"""Names of spaces and tables: conversion of Python objects to names, and of a run's names to objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.registry import check_trusted, name_of_space, search_space
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    from nasbench1shot1.tables.coverage import Reference
    from nasbench1shot1.tables.table import Table

SCRIPT = "__main__:"
"""Prefix of the names of objects that a script or notebook defines, which other processes cannot import."""


def with_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which `space` and `table` are names, with which another process can open the same objects.

    Raises InvalidInputError for a space that is not an attribute of any module, or a table that is only in memory.
    """
    from nasbench1shot1.tables.space_table import recorded_name
    from nasbench1shot1.tables.table import Table

    found = dict(options)
    if isinstance(space := found.get("space"), SearchSpace):
        found["space"] = name_of_space(space)
    elif isinstance(space, type):
        raise InvalidInputError(f"space={space.__name__} is a class: give an instance of it, or a name")
    if isinstance(table := found.get("table"), Table):
        found["table"] = recorded_name(table)
    return found


def table_of_run(
    config: Mapping[str, Any],
    where: Path,
    table: str | Path | None = None,
    reference: "Reference | None" = None,
) -> "Table":
    """Open the table for scoring a run, with the networks of the run's space as a reference.

    Args:
        config: the run's configuration: its `space`, and `reference` if the run has this option.
        where: path of the configuration's file, for messages.
        table: folder or name of the table. Default: the table of the space.
        reference: as in `tables.space_table.table_for`. Default: the run's reference.

    Raises InvalidInputError if using the space would import a module that is not allowed, and errors of `table_for`.
    """
    from nasbench1shot1.tables.space_table import table_for

    check_trusted("search_spaces", "space", config["space"], where)
    space = search_space(config["space"])
    return table_for(space, table or space.table, reference or config.get("reference"))


def check_importable(name: str, what: str) -> None:
    """Raise InvalidInputError for a name of a script or notebook, which other processes cannot import."""
    if name.startswith(SCRIPT):
        raise InvalidInputError(
            f"the {what} '{name.removeprefix(SCRIPT)}' is part of this script or notebook, which other processes "
            "cannot import: move it into a module"
        )
