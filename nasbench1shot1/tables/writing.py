"""Tables that are written into a folder, or made in memory from columns and a description."""

import copy
import hashlib
import io
import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, quote, shorten
from nasbench1shot1.ground.files import atomic_folder, atomic_write, check_replaceable, sha256, write_json
from nasbench1shot1.ground.folder_swap import read_consistently
from nasbench1shot1.tables.checks import ORDER, check_columns, check_identity, keys_of
from nasbench1shot1.tables.columns import STANDARD
from nasbench1shot1.tables.description import CHECKSUM, MEMBER, Meta, content_sha256, exact_entry, find_problem
from nasbench1shot1.tables.folder import FORMAT, META, Columns, TableFolder, open_folder
from nasbench1shot1.tables.growing_column import release
from nasbench1shot1.tables.keys import RowKeys


def check_target(folder: Path) -> None:
    """Raise the errors that `write_table` would raise for a folder, before the table is computed."""
    check_replaceable(folder)
    if not folder.resolve().parent.is_dir():
        return
    if read_consistently(folder, _is_foreign):
        raise InvalidInputError(f"{folder} contains files other than a table: choose another or an empty folder")


def _is_foreign(folder: Path) -> bool:
    """Return whether a path is a file, or a folder with anything else than a table, which would be lost."""
    if not folder.is_dir():
        return folder.exists()
    if not (names := {path.name for path in folder.iterdir()}):
        return False
    is_table = META in names and all(name == META or name.endswith(".npy") for name in names)
    return not is_table or not _may_describe_table(folder / META)


def _may_describe_table(path: Path) -> bool:
    """Return whether a file describes a table, or did so before it was damaged; image sets have such files, too."""
    try:
        described = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return not isinstance(described, dict) or not described or "keyed_by" in described


def write_table(folder: Path, columns: Mapping[str, NDArray[Any]], meta: Meta) -> Meta:
    """Write a table completely or not at all; a table in `folder` is replaced only when the new one is complete.

    Args:
        folder: folder of the new table; its parent is created if it is missing.
        columns: the arrays by name, as `tables.folder` lists them, without columns that follow from others, which are
            added.
        meta: name, version, keyed_by (name of the benchmark), datasets, epochs, repeats, spaces, and in `columns` the
            entry of each column: for metrics, `columns.Column.entry`; other fields are kept unchanged. A column that
            has the name of a standard metric only needs the attributes that differ from `columns.STANDARD`.

    Returns:
        The written description: `meta` with the format, the number of rows and each column's SHA-256.

    Raises:
        InvalidInputError: `folder` contains files other than a table.
        UserError: the disk is full, or the folder cannot be written.
    """
    check_target(folder)
    columns, full = _complete(columns, meta)
    with atomic_folder(folder) as beside:
        for name, values in columns.items():
            with atomic_write(beside / f"{name}.npy") as file:
                np.save(file, values, allow_pickle=False)
            release(values)
            full["columns"][name]["sha256"] = sha256(beside / f"{name}.npy")
        full[CHECKSUM] = content_sha256(full)
        write_json(beside / META, full)
        open_folder(beside)
    return full


def with_columns(folder: TableFolder, columns: Columns, entries: Mapping[str, Any], about: Meta) -> TableFolder:
    """Return a table in memory with the columns of another table, which it shares, and further ones.

    Args:
        folder: the other table.
        columns: the further columns by name.
        entries: their entries in the description.
        about: further fields of the description; None removes a field.

    Raises DamagedFileError if columns and description do not match, or a further column has impossible values.
    """
    fields = {field: said for field, said in {**folder.meta, **about}.items() if said is not None}
    described = {name: {**entries[name], "sha256": _sha256_in_memory(values)} for name, values in columns.items()}
    meta = {**_without_derived_fields(fields), "columns": {**folder.meta["columns"], **described}}
    made = _checked_folder({**folder.columns, **columns}, meta)
    for name in columns:
        made.checked_column(name)
    return made


def make_checked_folder(columns: Mapping[str, NDArray[Any]], meta: Meta) -> TableFolder:
    """Return a table in memory as `make_in_memory_folder` does, from arguments of any types and values.

    Raises InvalidInputError if columns and description do not match, have wrong types, or have impossible values, such
    as more correct images than there are.
    """
    arrays = {name: _as_numbers(name, values) for name, values in _as_mapping("columns", columns).items()}
    described = copy_of_description(_as_mapping("description of the table", meta))
    for name, entry in _as_mapping("entries of the columns", described.get("columns", {})).items():
        _as_mapping(f"entry of the column {name}", entry)
    if "keyed_by" in described and not isinstance(described["keyed_by"], str):
        raise InvalidInputError(f"keyed_by is {shorten(repr(described['keyed_by']))}: give the name of a benchmark")
    try:
        folder = make_in_memory_folder(arrays, described)
        for name in folder.columns:
            folder.checked_column(name)
        return folder
    except DamagedFileError as error:
        raise InvalidInputError(quote(error)) from error


def copy_of_description(fields: Mapping[str, Any]) -> Meta:
    """Return a copy of fields of a description, which later changes by the caller do not affect.

    Raises InvalidInputError for a value that cannot be written as JSON.
    """
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            "the description of the table has a value that is not a finite number, a text, a list or a dictionary "
            f"({error}): convert it"
        ) from error
    return copy.deepcopy(dict(fields))


def _as_mapping(what: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"the {what} must be a dictionary, not {shorten(repr(given))}: correct it")
    if wrong := [name for name in given if not isinstance(name, str)]:
        raise InvalidInputError(f"the {what} have a name that is not a text, {shorten(repr(wrong[0]))}: correct it")
    return dict(given)


def _as_numbers(name: str, values: Any) -> NDArray[Any]:
    """Return the values of a column as an array of numbers with at least one axis."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # of lists with different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" or not array.ndim:
        raise InvalidInputError(f"the column {name} is not an array of numbers: give one with a value for each row")
    return array


def make_in_memory_folder(columns: Mapping[str, NDArray[Any]], meta: Meta) -> TableFolder:
    """Return a table in memory from the arguments of `write_table`; it has the same id as the written table.

    Raises DamagedFileError if columns and description do not match.
    """
    columns, full = _complete(columns, meta)
    for name, values in columns.items():
        full["columns"][name]["sha256"] = _sha256_in_memory(values)
    return _checked_folder(columns, full)


def _sha256_in_memory(values: NDArray[Any]) -> str:
    """Return the SHA-256 that a column would have on disk, and make the column read-only."""
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    values.flags.writeable = False
    return hashlib.sha256(file.getbuffer()).hexdigest()


def _checked_folder(columns: Columns, meta: Meta) -> TableFolder:
    if (wrong := find_problem(meta)) is not None:
        raise DamagedFileError(f"the description of a table in memory {wrong}: fix the code that created it")
    check_columns(None, meta, columns)
    return TableFolder(None, meta, columns)


def _complete(columns: Mapping[str, NDArray[Any]], meta: Meta) -> tuple[Columns, Meta]:
    """Return all columns, including columns that follow from others, and a description with an entry for each."""
    if lacking := [name for name in ("keyed_by", "datasets", "columns") if name not in meta]:
        raise InvalidInputError(f"the description of the table lacks {lacking[0]}: add it")
    if isinstance(meta.get("spaces"), Mapping):
        raise InvalidInputError(
            f"the description of the table has a mapping as spaces: give their names, {list(meta['spaces'])}"
        )
    keys = keys_of(meta)
    if lacking := [name for name in keys.COLUMNS if name not in columns]:
        raise InvalidInputError(f"the table lacks the column {lacking[0]}, which identifies its rows: add it")
    check_identity(columns, keys)
    derived = keys.derive(columns)
    methods = {name: exact_entry(keys.DERIVED[name].method) for name in derived}
    entries = {**methods, **meta["columns"]}
    whole = {name: np.ascontiguousarray(values).view() for name, values in {**columns, **derived}.items()}
    if lacking := [name for name in whole if name not in entries and not _needs_no_entry(name, keys)]:
        raise InvalidInputError(
            f"the column {lacking[0]} has no description: add meta['columns']['{lacking[0]}'] = "
            "nasbench1shot1.tables.columns.Column(…).entry()"
        )
    described = {name: _complete_entry(name, entries.get(name, {}), meta) for name in whole}
    rows = len(columns[next(iter(keys.COLUMNS))])
    return whole, {**_without_derived_fields(meta), "format": FORMAT, "rows": rows, "columns": described}


def without_checksums(meta: Meta, derived: Container[str]) -> Meta:
    """Return a copy of a description without checksums, number of rows, and the columns that follow from others."""
    fields: Meta = copy.deepcopy(
        {field: said for field, said in meta.items() if field not in (CHECKSUM, "rows", "format")}
    )
    entries = {name: about for name, about in fields["columns"].items() if name not in derived}
    for about in entries.values():
        about.pop("sha256", None)
    return {**fields, "columns": entries}


def _without_derived_fields(meta: Meta) -> Meta:
    """Return a description without its checksum and what `Table.info` adds to it."""
    return {field: said for field, said in meta.items() if field not in (CHECKSUM, "id", "folder", "bytes")}


def _needs_no_entry(name: str, keys: type[RowKeys]) -> bool:
    return name in keys.COLUMNS or name.startswith(MEMBER) or name == ORDER or name in STANDARD


def _complete_entry(name: str, entry: Mapping[str, Any], meta: Meta) -> dict[str, Any]:
    """Return an entry; if the column has the name of a standard metric, with the metric's description."""
    if "metric" in entry or name not in STANDARD:
        return dict(entry)
    return {**STANDARD[name].entry(), "dataset": meta["datasets"][0], **entry}
