"""The distinct cells of a space: one architecture and one hash for each, enumerated once, then cached."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, UserError
from nasbench1shot1.ground.files import atomic_write, data_folder, read_npz
from nasbench1shot1.nasbench101.cell import MAX_VERTICES, graph_hashes
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, OPERATION_BITS, Encodings, decode_graph


class EnumeratedSpace(Protocol):
    """The part of a space's interface that enumerating its distinct cells needs."""

    @property
    def id(self) -> str:
        """Versioned name of the space and of its cache."""

    @property
    def definition(self) -> str:
        """A string that determines the meaning of the numbers; a cache with another definition is ignored."""

    def enumerate_cells(self) -> tuple[NDArray[np.int64], Encodings]:
        """Return the lowest architecture number (C,) of every distinct cell, ascending, and the cell's encoding."""


@dataclass(frozen=True)
class DistinctCells:
    """The distinct cells of a space, in ascending order of the lowest-numbered architecture that has the cell.

    Attributes:
        indices: (C,) int64, the numbers of these architectures.
        hashes: (C, 16) uint8, the MD5s of the cells.
    """

    indices: NDArray[np.int64]
    hashes: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.indices.flags.writeable = self.hashes.flags.writeable = False


def numbers_by_hash(cells: DistinctCells) -> dict[str, int]:
    """Return the number of each cell's architecture by its hash, 32 hexadecimal digits."""
    digits = cells.hashes.tobytes().hex()
    hashes = (digits[i : i + 32] for i in range(0, len(digits), 32))
    return dict(zip(hashes, cells.indices.tolist(), strict=True))


def distinct_cells(space: EnumeratedSpace) -> DistinctCells:
    """Return the distinct cells of a space, from the cache if it is intact, else enumerated and cached."""
    path = data_folder() / "spaces" / f"{space.id}.npz"
    cells = _read(path, space)
    if cells is None:
        cells = _enumerate(space)
        with suppress(UserError):  # a cache that cannot be written costs time, not results
            _write(path, space, cells)
    return cells


def lowest_numbers(numbers: NDArray[np.int64], codes: Encodings) -> tuple[NDArray[np.int64], Encodings]:
    """Return the lowest number among the architectures with each (canonical) encoding.

    Args:
        numbers: (N,) numbers of distinct architectures, in any order.
        codes: (N,) encodings of these architectures.

    Returns:
        (C,) numbers, ascending, and (C,) codes.
    """
    order = np.argsort(numbers)
    _, first = np.unique(codes[order], return_index=True)
    chosen = order[np.sort(first)]
    return numbers[chosen], codes[chosen]


def hashes_of(codes: Encodings) -> NDArray[np.uint8]:
    """Return the MD5s of many cells, (N, 16); 40 µs per cell if most cells share their graph with many others."""
    above_edges, inner = np.uint64(EDGE_BITS), range(MAX_VERTICES - 2)
    operations = codes >> above_edges & np.uint64(2**OPERATION_BITS - 1)
    graphs, graph = np.unique(codes ^ operations << above_edges, return_inverse=True)
    rows, ends = np.argsort(graph, kind="stable"), np.cumsum(np.bincount(graph)).tolist()
    hashes = np.empty((len(codes), 16), np.uint8)
    for code, start, end in zip(graphs.tolist(), [0, *ends], ends, strict=False):
        matrix, labels = decode_graph(code)
        of_graph = rows[start:end]
        labellings = np.stack([operations[of_graph] >> np.uint64(2 * i) & np.uint64(3) for i in inner], axis=1)
        digests = graph_hashes(np.array(matrix), labellings[:, : len(labels) - 2].tolist())
        hashes[of_graph] = np.frombuffer(bytes.fromhex("".join(digests)), np.uint8).reshape(-1, 16)
    return hashes


def _enumerate(space: EnumeratedSpace) -> DistinctCells:
    numbers, codes = space.enumerate_cells()
    return DistinctCells(numbers, hashes_of(codes))


def _read(path: Path, space: EnumeratedSpace) -> DistinctCells | None:
    """Return the cached cells, or None if the file is missing or was not written for this space."""
    try:
        stored = read_npz(path, needed=("indices", "hashes", "checksum"))
    except DamagedFileError:  # the cells are then enumerated again
        return None
    cells = DistinctCells(stored["indices"], stored["hashes"])
    return cells if str(stored["checksum"]) == _checksum(space, cells) else None


def _write(path: Path, space: EnumeratedSpace, cells: DistinctCells) -> None:
    with atomic_write(path) as file:
        np.savez(file, indices=cells.indices, hashes=cells.hashes, checksum=_checksum(space, cells))


def _checksum(space: EnumeratedSpace, cells: DistinctCells) -> str:
    return sha256(space.definition.encode() + cells.indices.tobytes() + cells.hashes.tobytes()).hexdigest()
