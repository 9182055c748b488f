"""Are rows the cells that their hashes say? And which search spaces do they make up?"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import Encodings
from nasbench1shot1.nasbench101.numbering import canonical
from nasbench1shot1.tables.table import Table, load_table

Hashes = NDArray[np.uint8]
_AT_ONCE = 1_000


def text(digest: NDArray[np.uint8]) -> str:
    """A row of the column `hash` as 32 hexadecimal digits."""
    return digest.tobytes().hex()


def first_wrong_hash(hashes: Hashes, cells: Encodings, rows: Iterable[int]) -> int | None:
    """Compute the MD5 of some rows' graphs anew, about 70 µs each.

    Returns:
        The first row whose hash is not its graph's; None if all are.
    """
    return next((row for row in rows if Cell.from_encoding(int(cells[row])).hash != text(hashes[row])), None)


def verify_hashes(table: Table, progress: Callable[[str, float], None] = lambda doing, fraction: None) -> None:
    """Compute every hash of a table anew and see that no cell has two; half a minute for the whole of NAS-Bench-101.

    Raises DamagedFileError.
    """
    hashes, cells = table.column("hash"), table.column("cell")
    for start in range(0, len(table), _AT_ONCE):
        rows = range(start, min(start + _AT_ONCE, len(table)))
        if (row := first_wrong_hash(hashes, cells, rows)) is not None:
            raise DamagedFileError(
                f"the table {table.id} is damaged: its hash {text(hashes[row])} is not that of its graph; import or "
                "build it anew"
            )
        progress("computing hashes", rows.stop / len(table))
    if pair := two_hashes_of_one_cell(hashes, cells):
        raise DamagedFileError(
            f"the table {table.id} is damaged: {pair[0]} and {pair[1]} are one cell; import or build it anew"
        )


def two_hashes_of_one_cell(hashes: Hashes, cells: Encodings) -> tuple[str, str] | None:
    """Two rows that are one graph, numbered differently or not; None if there are none."""
    codes = canonical(cells)
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    if not len(same):
        return None
    one, other = sorted(order[same[0] : same[0] + 2])
    return text(hashes[one]), text(hashes[other])


def check_identities(hashes: Hashes, cells: Encodings, source: str, every: int) -> None:
    """Check the hashes of a sample of rows, and that no cell has two.

    Raises InvalidInputError.
    """
    if (row := first_wrong_hash(hashes, cells, range(0, len(cells), every))) is not None:
        raise InvalidInputError(
            f"{source}: the hash {text(hashes[row])} is not that of its graph, which has "
            f"{Cell.from_encoding(int(cells[row])).hash}"
        )
    if pair := two_hashes_of_one_cell(hashes, cells):
        raise InvalidInputError(f"{source}: {pair[0]} and {pair[1]} are two hashes of one cell")


def whole_spaces(hashes: Hashes) -> dict[str, NDArray[np.int32]]:
    """The search spaces of which every distinct cell is there, and its ascending rows.

    The embedded table knows the hashes of each space, so none needs to be enumerated.

    Args:
        hashes: (R, 16), ascending.
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
