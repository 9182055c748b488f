"""Checks that hashes match their cells, and the search spaces that a table's cells cover."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import Encodings
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.tables.table import Table, load_table

Hashes = NDArray[np.uint8]
_AT_ONCE = 1_000


def hash_text(digest: NDArray[np.uint8]) -> str:
    """Return a row of the column `hash` as 32 hexadecimal digits."""
    return digest.tobytes().hex()


def first_wrong_hash(hashes: Hashes, cells: Encodings, rows: Iterable[int]) -> int | None:
    """Recompute the MD5 of rows' graphs, about 70 µs each.

    Returns:
        The first row whose hash does not match its graph; None if all match.
    """
    return next((row for row in rows if Cell.from_encoding(int(cells[row])).hash != hash_text(hashes[row])), None)


def verify_hashes(table: Table, progress: Callable[[str, float], None] = lambda doing, fraction: None) -> None:
    """Recompute all hashes of a table, and check that no cell has two; takes half a minute for all of NAS-Bench-101.

    Raises DamagedFileError if a check fails.
    """
    hashes, cells = table.column("hash"), table.column("cell")
    for start in range(0, len(table), _AT_ONCE):
        rows = range(start, min(start + _AT_ONCE, len(table)))
        if (row := first_wrong_hash(hashes, cells, rows)) is not None:
            raise DamagedFileError(
                f"the table {table.id} is damaged: its hash {hash_text(hashes[row])} does not match its graph; "
                "import or build it again"
            )
        progress("computing hashes", rows.stop / len(table))
    if pair := find_duplicate_cell(hashes, cells):
        raise DamagedFileError(
            f"the table {table.id} is damaged: {pair[0]} and {pair[1]} are the same cell; import or build it again"
        )


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


def complete_spaces(hashes: Hashes) -> dict[str, NDArray[np.int32]]:
    """Return the search spaces whose distinct cells are all present, with their ascending rows.

    The embedded table stores the hashes of each space, so spaces are not enumerated.

    Args:
        hashes: (R, 16) hashes, ascending.
    """
    embedded, keys = load_table(PACKAGE_DATA / "table"), _keys(hashes)
    found = {}
    for space in embedded.spaces:
        wanted = _keys(embedded.column("hash")[embedded.members(space)])
        rows = np.searchsorted(keys, wanted)
        if np.array_equal(keys[np.minimum(rows, len(keys) - 1)], wanted):
            found[space] = rows.astype(np.int32)
    return found


def _keys(hashes: Hashes) -> NDArray[np.bytes_]:
    keys: NDArray[np.bytes_] = np.ascontiguousarray(hashes).view("S16")[:, 0]
    return keys
