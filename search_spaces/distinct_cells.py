"""The distinct cells of a choice-block space: one architecture and one hash for each, enumerated once, then cached."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.cells import graph_hashes
from nasbench1shot1.errors import UserError
from nasbench1shot1.files import data_folder, replacing
from nasbench1shot1.search_spaces.wirings import canonical_codes, labellings, live_blocks, pruned_matrix

if TYPE_CHECKING:
    from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace


@dataclass(frozen=True)
class DistinctCells:
    """The distinct cells of a space, in ascending order of the lowest-numbered architecture that has the cell.

    Attributes:
        indices: (C,) int64, that architecture's number.
        hashes: (C, 16) uint8, the cell's MD5.
    """

    indices: NDArray[np.int64]
    hashes: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.indices.flags.writeable = self.hashes.flags.writeable = False


def distinct_cells(space: "ChoiceBlockSpace") -> DistinctCells:
    """The distinct cells of a space, from the cache if it is whole, else enumerated and cached."""
    path = data_folder() / "spaces" / f"{space.id}.npz"
    cells = _read(path, space)
    if cells is None:
        cells = _enumerate(space)
        with suppress(UserError):  # a cache that cannot be written costs time, not results
            _write(path, space, cells)
    return cells


def _enumerate(space: "ChoiceBlockSpace") -> DistinctCells:
    """Number every architecture without loose ends canonically and keep the first of each number."""
    indices, codes, hashed = [], [], []
    for wiring_index in space.loose_end_free_wirings:
        wiring = space.wirings[wiring_index]
        labels = labellings(len(live_blocks(wiring)))
        indices.append(space.numbers_of_live_labels(wiring_index, labels))
        codes.append(canonical_codes(pruned_matrix(wiring), labels))
        hashed.append((pruned_matrix(wiring), labels))
    flat = np.concatenate(indices)
    order = np.argsort(flat)
    _, first = np.unique(np.concatenate(codes)[order], return_index=True)
    chosen = order[np.sort(first)]
    return DistinctCells(flat[chosen], _hash_chosen(hashed, chosen))


def _hash_chosen(
    groups: list[tuple[NDArray[np.int8], NDArray[np.int64]]], chosen: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Hash the chosen rows of consecutive (matrix, labels) groups; hashing all would take twice as long."""
    hashes = np.empty((len(chosen), 16), np.uint8)
    start = 0
    for matrix, labels in groups:
        where = np.flatnonzero((chosen >= start) & (chosen < start + len(labels)))
        digests = graph_hashes(matrix, labels[chosen[where] - start].tolist())
        for at, digest in zip(where, digests, strict=True):
            hashes[at] = np.frombuffer(bytes.fromhex(digest), np.uint8)
        start += len(labels)
    return hashes


def _read(path: Path, space: "ChoiceBlockSpace") -> DistinctCells | None:
    """The cached cells, or None where the file is missing or not what was written for this space."""
    try:
        # Opened here, as np.load leaves the file open when it is a truncated archive.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            cells = DistinctCells(stored["indices"], stored["hashes"])
            return cells if stored["checksum"] == _checksum(space, cells) else None
    except Exception:  # a damaged archive can fail in any way; whichever, the cells are enumerated anew
        return None


def _write(path: Path, space: "ChoiceBlockSpace", cells: DistinctCells) -> None:
    with replacing(path) as file:
        np.savez(file, indices=cells.indices, hashes=cells.hashes, checksum=_checksum(space, cells))


def _checksum(space: "ChoiceBlockSpace", cells: DistinctCells) -> str:
    return sha256(repr(space.n_parents).encode() + cells.indices.tobytes() + cells.hashes.tobytes()).hexdigest()
