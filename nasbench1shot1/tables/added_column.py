"""A column that is added to an existing table: where its values go, and how it is described."""

import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, alternatives, quote, unknown_name
from nasbench1shot1.tables.checks import ORDER
from nasbench1shot1.tables.columns import Column
from nasbench1shot1.tables.description import MEASURED, MEMBER, find_problem_of_column
from nasbench1shot1.tables.folder import TableFolder, table_id
from nasbench1shot1.tables.stored_columns import Rows
from nasbench1shot1.tables.writing import copy_of_description, with_columns

RowsOf = Callable[[list[Any]], Rows]
"""A function that returns the rows of items."""


def with_added_column(
    folder: TableFolder, rows_of: RowsOf, column: Column, values: Any, name: str | None, facts: Mapping[str, Any]
) -> TableFolder:
    """Return a table in memory that has one more column for each data set of the column; see `Table.with_column`."""
    facts = copy_of_description(facts)
    described = {_stored_name(folder, one): one for one in _on_data_sets(folder, column)}
    entries = {stored: one.entry(**facts) for stored, one in described.items()}
    for stored, entry in entries.items():
        if wrong := find_problem_of_column(stored, entry, folder.meta):
            raise InvalidInputError(f"the new column cannot be added, because it {wrong}")
    array = _array(folder, rows_of, next(iter(described.values())), values)
    based_on = {"id": table_id(folder.meta), "source": folder.meta.get("source")}
    about = {
        "name": f"{folder.meta['name']}-with-{column.metric}" if name is None else name,
        "based_on": {field: said for field, said in based_on.items() if said is not None},
        "source": None,  # of an imported file, which is not the source of the new column
    }
    try:
        return with_columns(folder, dict.fromkeys(described, array), entries, about)
    except DamagedFileError as error:
        raise InvalidInputError(quote(error)) from error


def _on_data_sets(folder: TableFolder, column: Column) -> list[Column]:
    """Return the column for its data set; without one, for all data sets if its values do not depend on trainings."""
    datasets = folder.meta["datasets"]
    if column.dataset and column.dataset not in datasets:
        raise unknown_name("data set", column.dataset, datasets)
    if not column.dataset and column.epochs and len(datasets) > 1:
        raise InvalidInputError(
            f"the column {column.metric} has budgets, so it belongs to one training: describe it with dataset="
            f"{alternatives(repr(one) for one in datasets)}"
        )
    return [column] if column.dataset else [replace(column, dataset=dataset) for dataset in datasets]


def _stored_name(folder: TableFolder, column: Column) -> str:
    """Return the name of the stored column; raises InvalidInputError if the table has such a column."""
    name = free_name(column, folder.meta["datasets"], folder.columns)
    if name is None or (column.metric, column.dataset, column.moment) in folder.names.measurements:
        raise InvalidInputError(
            f"the table {table_id(folder.meta)} already has {column.metric} on {column.dataset}: choose another metric"
        )
    return name


def free_name(column: Column, datasets: Sequence[str], taken: Container[str]) -> str | None:
    """Return the name of a new column of a table by the convention of `tables.folder`; None if it is taken.

    Args:
        column: the description. A measurement has the prefix "measured_" if a column without it is taken.
        datasets: the data sets of the table.
        taken: the names of the table's columns.
    """
    plain = f"{column.prefix}{f'{column.dataset}.' if len(datasets) > 1 else ''}{column.metric}"
    names = [plain, f"{MEASURED}{plain}"] if column.fidelity == "measured" else [plain]
    free = (name for name in names if name not in taken and name != ORDER and not name.startswith(MEMBER))
    return next(free, None)


def _array(folder: TableFolder, rows_of: RowsOf, column: Column, values: Any) -> NDArray[Any]:
    """Return the values of all rows in the form in which they are stored."""
    if isinstance(values, Mapping) or _is_labelled(values):
        array = _spread(folder.meta["rows"], rows_of, column, list(values.items()))
    else:
        array = _numbers(column, values)
    if array.dtype.kind == "f" and np.isnan(array).all():
        raise InvalidInputError(f"the new column {column.metric} has no values: give at least one")
    is_stored = array.dtype == np.float32 or (array.dtype.kind in "iu" and not column.epochs)
    return np.array(array if is_stored else array.astype(np.float64), order="C")  # a copy, which becomes read-only


def _is_labelled(values: Any) -> bool:
    """Return whether values are a pandas Series whose index names networks: any but the default one, 0, 1, 2, …"""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(values, pandas.Series):
        return False
    return not values.index.equals(pandas.RangeIndex(len(values)))


def _spread(n_rows: int, rows_of: RowsOf, column: Column, values: Sequence[tuple[Any, Any]]) -> NDArray[Any]:
    """Return the values of (item, value) pairs in the rows of the items, and NaN in all other rows."""
    rows, given = rows_of([item for item, _ in values]), [_numbers(column, value) for _, value in values]
    if len(set(rows.tolist())) < len(rows):
        raise InvalidInputError(f"the values of {column.metric} name a network twice: give each network one value")
    if len(shapes := sorted({one.shape for one in given})) > 1:
        raise InvalidInputError(
            f"the values of {column.metric} have shapes {alternatives(shapes)}: fill missing repeats with NaN"
        )
    array = np.full((n_rows, *(shapes[0] if shapes else ())), np.nan)
    array[rows] = given
    return array


def _numbers(column: Column, values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"the values of {column.metric} are not numbers or equally long lists: give numbers")
    return array
