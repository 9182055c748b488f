"""The row keys of NAS-Bench-101 tables: a cell's hash, or any of its encodings, which are faster to compute.

Columns of R rows, sorted by hash:

    hash                       (R, 16) uint8, ascending
    cell                       (R,) uint64, see `nasbench101.encoding`
    encoding, encoding_row     (L,) uint64, ascending, and (L,) integers: every numbering of every cell, and its row
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, is_text_form, parsed
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, UserError, either, flag
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import (
    MAX_VERTICES,
    VERTEX_BIT,
    Encodings,
    are_possible,
    encode_architecture,
    encode_architectures,
    is_possible,
)
from nasbench1shot1.nasbench101.numbering import canonicalise, numberings
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.checks import damaged_column_error
from nasbench1shot1.tables.keys import Item, KeyColumn, RowKeys, StoredColumns, wrong_benchmark_error
from nasbench1shot1.tables.stored_columns import Rows

Hashes = NDArray[np.uint8]
PART_VERTICES = {"nb101-mini": 6, "nb101-5v": 5}
"""Maximum number of vertices of a cell in the parts of NAS-Bench-101 that are spaces of their own."""
_HASH = re.compile("[0-9a-f]{32}")
_INDEX_METHOD = "every numbering of the cells, and their rows"
_IMPOSSIBLE = "contains an impossible cell"
_AT_ONCE = 1_000


class CellKeys(RowKeys):
    """The rows of a table by hash and by encoding."""

    COLUMNS: Mapping[str, KeyColumn] = {"hash": KeyColumn((16,), "u", 1), "cell": KeyColumn()}
    DERIVED: Mapping[str, KeyColumn] = {
        "encoding": KeyColumn(kinds="u", method=_INDEX_METHOD),
        "encoding_row": KeyColumn(method=_INDEX_METHOD),
    }
    WHOLE = "nb101"
    PARTS = tuple(PART_VERTICES)
    SPACES: Mapping[str, str] = {
        "s1": "nb101-s1-v1",
        "s2": "nb101-s2-v1",
        "s3": "nb101-s3-v1",
        "nb101": "nb101-v1",
        "nb101-mini": "nb101-mini-v1",
        "nb101-5v": "nb101-5v-v1",
    }
    SIZES: Mapping[str, int] = {"nb101": 423_624, "nb101-mini": 64_542, "nb101-5v": 2_532}

    def __init__(self, table_id: str, folder: StoredColumns) -> None:
        super().__init__(table_id, folder)
        self._hashes: NDArray[np.bytes_] = folder.columns["hash"].view("S16")[:, 0]

    def item_of(self, text: str) -> Item:
        """Return a text that is a hash; raises InvalidInputError for any other text."""
        if is_hash(text):
            return text
        raise InvalidInputError(
            f"'{text}' cannot be looked up in a table of NAS-Bench-101: give an architecture, such as "
            "'s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3', or a hash of 32 hexadecimal digits; an "
            f"official index needs its own table, such as {either(flag('table') + ' nb201', 'nb201')}"
        )

    def row_of(self, item: Item) -> int:
        """Return the row of one item; raises the errors of `rows`."""
        if isinstance(item, CellArchitecture):
            return self.row_of_encoding(encode_architecture(item))
        if is_text_form(item):
            return self.row_of(Architecture.parse(item))
        if isinstance(item, Cell) and (code := _encoding(item)) is not None:
            return self.row_of_encoding(code)
        hash_ = np.frombuffer(bytes.fromhex(checked_hashes([item])), "S16")[0]  # numpy strips trailing zero bytes
        row = int(self._hashes.searchsorted(hash_))
        if row == len(self._hashes) or self._hashes[row] != hash_:
            raise self._unknown(hash_)
        return row

    def row_of_encoding(self, code: int) -> int:
        """Return the row of the cell with an encoding; raises OutOfDomainError if there is none."""
        codes, rows = self._index
        place = bisect_left(codes, code)
        if place == len(codes) or codes[place] != code:
            raise self._unknown_encoding(code)
        row = rows[place]
        if not 0 <= row < len(self._hashes):
            raise self._impossible_row()
        return row

    @cached_property
    def _index(self) -> tuple["memoryview[int]", "memoryview[int]"]:
        """The index for single look-ups; Python's bisection of a view takes half the time of `searchsorted`."""
        return _view(self._folder.columns["encoding"]), _view(self._folder.columns["encoding_row"])

    def rows_of_space(self, space: SearchSpace) -> Rows:
        """Return the row of every distinct cell of a space, (N,), -1 for a missing cell; raises InvalidInputError."""
        if hasattr(space, "enumerate_cells"):  # ten times as fast, because it needs neither architectures nor hashes
            return self.rows_of_encodings(space.enumerate_cells()[1])
        codes = [encode_architecture(_cell_architecture(arch)) for arch in space.architectures("unique")]
        return self.rows_of_encodings(np.array(codes, np.uint64))

    def members(self, part: str) -> Rows:
        """Return the ascending rows of "nb101" (all rows), or of the cells with few vertices (`PART_VERTICES`)."""
        if part == self.WHOLE:
            return np.arange(len(self._hashes))
        n_vertices = np.asarray(self._folder.checked_column("cell"), np.uint64) >> np.uint64(VERTEX_BIT)
        return np.flatnonzero(n_vertices <= PART_VERTICES[part])

    def names(self, rows: Any) -> list[str]:
        """Return the hashes of rows."""
        digits = np.ascontiguousarray(self._folder.columns["hash"][np.atleast_1d(rows)]).tobytes().hex()
        return [digits[i : i + 32] for i in range(0, len(digits), 32)]

    def network(self, row: int) -> Cell:
        """Return the cell of a row."""
        return self.cell(row)

    def cell(self, row: int) -> Cell:
        """Return the cell of a row."""
        code = int(self._folder.columns["cell"][row])
        if not is_possible(code):
            raise damaged_column_error(self._folder.path, "cell", f"names a cell that cannot be in row {row}")
        return Cell.from_encoding(code)

    def architecture(self, row: int) -> CellArchitecture:
        """Return an architecture of nb101 with the cell of a row."""
        return CellArchitecture.of_cell(self.cell(row), self.WHOLE, MAX_VERTICES)

    @classmethod
    def columns_of(cls, architectures: Sequence[Any]) -> tuple[dict[str, NDArray[Any]], Rows]:
        """Return the columns of a new table, and the row of each architecture's cell, (N,); raises InvalidInputError.

        Cells are accepted, too. They are numbered as NAS-Bench-101's enumeration first meets them.
        """
        codes = canonicalise(np.array([_encoding_of(item) for item in architectures], np.uint64))
        cells, place = np.unique(codes, return_inverse=True)
        hashes = np.array([list(bytes.fromhex(Cell.from_encoding(int(code)).hash)) for code in cells], np.uint8)
        order = np.argsort(hashes.view("S16")[:, 0], kind="stable")
        rows = np.empty(len(cells), np.int64)
        rows[order] = np.arange(len(cells))
        return {"hash": hashes[order], "cell": cells[order]}, rows[place]

    def rows(self, items: Sequence[Item]) -> Rows:
        """Return the rows of N items, (N,); only hashes, or only architectures of one size, are looked up all at once.

        Raises:
            OutOfDomainError: the table lacks a cell.
            InvalidInputError: something cannot be looked up in this table.
        """
        kinds = set(map(type, items))
        if str in kinds and any(map(is_text_form, items)):
            return self.rows(list(map(parsed, items)))
        if kinds == {str}:
            return self._rows_of_hashes(checked_hashes(items))
        if kinds == {CellArchitecture} and len({len(item.operations) for item in items}) == 1:
            codes = encode_architectures(items)
            rows = self.rows_of_encodings(codes)
            if (rows < 0).any():
                self.row_of_encoding(int(codes[np.argmin(rows)]))  # raises an error that names the cell
            return rows
        return np.array([self.row_of(item) for item in items], np.int64)

    def rows_of_encodings(self, wanted: Encodings) -> Rows:
        """Return the rows of N encodings, (N,); -1 for a missing cell."""
        codes, rows = self._folder.columns["encoding"], self._folder.columns["encoding_row"]
        place = np.minimum(codes.searchsorted(wanted), len(codes) - 1)
        is_known = codes[place] == wanted
        found = np.where(is_known, rows[place], -1).astype(np.int64)
        if (found >= len(self._hashes)).any() or (found[is_known] < 0).any():
            raise self._impossible_row()
        return found

    def verify(self, progress: Callable[[str, float], None] = lambda doing, fraction: None) -> None:
        """Recompute the hashes of all rows, and check that no cell has two; takes half a minute for all of
        NAS-Bench-101.

        Raises DamagedFileError if a check fails.
        """
        hashes, cells = self._folder.checked_column("hash"), self._folder.checked_column("cell")
        for start in range(0, len(cells), _AT_ONCE):
            rows = range(start, min(start + _AT_ONCE, len(cells)))
            if (row := first_wrong_hash(hashes, cells, rows)) is not None:
                raise DamagedFileError(
                    f"the table {self._table_id} is damaged: its hash {hash_text(hashes[row])} does not match its "
                    "graph; import or build it again"
                )
            progress("computing hashes", rows.stop / len(cells))
        if pair := find_duplicate_cell(hashes, cells):
            raise DamagedFileError(
                f"the table {self._table_id} is damaged: {pair[0]} and {pair[1]} are the same cell; import or build it "
                "again"
            )

    def _rows_of_hashes(self, digits: str) -> Rows:
        wanted = np.frombuffer(bytes.fromhex(digits), "S16")
        found = self._hashes.searchsorted(wanted)
        known = self._hashes[np.minimum(found, len(self._hashes) - 1)] == wanted
        if not known.all():
            raise self._unknown(wanted[int(np.argmin(known))])
        return found

    def _unknown_encoding(self, code: int) -> UserError:
        if not is_possible(code):
            return InvalidInputError(f"{code} is not the encoding of a cell: encode one with nasbench101.encoding")
        return self._unknown(bytes.fromhex(Cell.from_encoding(code).hash))

    def _impossible_row(self) -> DamagedFileError:
        return damaged_column_error(
            self._folder.path, "encoding_row", f"refers to a row outside the table's {len(self._hashes):,} rows"
        )

    def _unknown(self, hash_: bytes) -> OutOfDomainError:
        return OutOfDomainError(
            f"the table {self._table_id} has no cell {hash_.ljust(16, bytes(1)).hex()}: use one of its "
            f"{len(self._hashes):,} cells, or a table with more cells (the official data has all 423,624)"
        )

    # Checks of columns -----------------------------------------------------------------------------------------

    @classmethod
    def derive(cls, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the index: every numbering of every cell, and its row."""
        cells = np.asarray(columns["cell"])
        if cells.size and not are_possible(cells).all():
            raise damaged_column_error(None, "cell", _IMPOSSIBLE)
        encodings, rows = numberings(np.asarray(cells, np.uint64))
        return {"encoding": encodings, "encoding_row": rows.astype(np.int32)}

    @classmethod
    def fault(cls, name: str, values: NDArray[Any], rows: int) -> str | None:
        """Return whether cells are impossible, or the index refers to rows that do not exist."""
        if name == "cell" and not are_possible(values).all():
            return _IMPOSSIBLE
        if name == "encoding_row" and (values.min() < 0 or values.max() >= rows):
            return f"refers to a row outside the table's {rows:,} rows"
        return None


def checked_hashes(items: Sequence[Item]) -> str:
    """Return the concatenated hashes of items; raises InvalidInputError for an item without a hash."""
    hashes = [item.hash if isinstance(item, Cell) else item for item in items]
    if wrong := [item for item in hashes if not isinstance(item, str) or not is_hash(item)]:
        raise _invalid_item_error(wrong[0])
    return "".join(hashes)


def is_hash(text: str) -> bool:
    """Return whether a text is written as the hash of a cell, 32 hexadecimal digits."""
    return _HASH.fullmatch(text) is not None


def _invalid_item_error(given: object) -> InvalidInputError:
    if isinstance(given, Architecture):
        return wrong_benchmark_error(given, "NAS-Bench-101")
    return InvalidInputError(
        f"{given!r} cannot be looked up in a table of NAS-Bench-101: give an architecture (such as "
        "'s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3'), a cell, or a hash of 32 "
        "hexadecimal digits; an official index needs its own table, such as nb201"
    )


def _view(integers: NDArray[np.integer]) -> "memoryview[int]":
    """Return a view of integers; they are copied only if their byte order is not this machine's."""
    native = np.ascontiguousarray(integers, integers.dtype.newbyteorder("="))
    return memoryview(native)  # type: ignore[arg-type]  # NumPy declares the buffer protocol from Python 3.12 on


def _cell_architecture(arch: Architecture) -> CellArchitecture:
    if not isinstance(arch, CellArchitecture):
        raise wrong_benchmark_error(arch, "NAS-Bench-101")
    return arch


def _encoding_of(item: Any) -> int:
    """Return the encoding of a cell, or of an architecture's cell; raises InvalidInputError for anything else."""
    return item.encoding if isinstance(item, Cell) else encode_architecture(_cell_architecture(item))


def _encoding(cell: Cell) -> int | None:
    try:
        return cell.encoding
    except InvalidInputError:  # such a cell has no hash, or one that no table has
        return None


def hash_text(digest: NDArray[np.uint8]) -> str:
    """Return a row of the column `hash` as 32 hexadecimal digits."""
    return digest.tobytes().hex()


def first_wrong_hash(hashes: Hashes, cells: Encodings, rows: Iterable[int]) -> int | None:
    """Recompute the MD5 of rows' graphs, about 70 µs each.

    Returns:
        The first row whose hash does not match its graph; None if all match.
    """
    return next((row for row in rows if Cell.from_encoding(int(cells[row])).hash != hash_text(hashes[row])), None)


def find_duplicate_cell(hashes: Hashes, cells: Encodings) -> tuple[str, str] | None:
    """Return the hashes of two rows with isomorphic graphs; None if there are none."""
    codes = canonicalise(cells)
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    if not len(same):
        return None
    one, other = sorted(order[same[0] : same[0] + 2])
    return hash_text(hashes[one]), hash_text(hashes[other])


def check_identities(hashes: Hashes, cells: Encodings, source: str, every: int) -> None:
    """Check the hashes of a sample of rows, and that no cell has two.

    Raises InvalidInputError if a check fails.
    """
    if (row := first_wrong_hash(hashes, cells, range(0, len(cells), every))) is not None:
        raise InvalidInputError(
            f"{source}: the hash {hash_text(hashes[row])} does not match its graph, whose hash is "
            f"{Cell.from_encoding(int(cells[row])).hash}"
        )
    if pair := find_duplicate_cell(hashes, cells):
        raise InvalidInputError(f"{source}: {pair[0]} and {pair[1]} are two hashes of one cell")
