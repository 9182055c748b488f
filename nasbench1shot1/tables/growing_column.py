"""A column that is built row by row in a temporary file, for sources whose columns do not fit in memory."""

import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import reason
from nasbench1shot1.tables.stored_columns import to_counts

_BLOCK = 2**22


class GrowingColumn:
    """Rows of numbers, appended one after another. Only the current row is in memory.

    Accuracies are stored as image counts, as in `columns.CurveColumn`; if a source has other accuracies, all become
    float32 quotients. Other values are stored as `dtype`.

    Args:
        shape: the shape of a row.
        folder: the folder of the temporary file, which has no name and disappears with this object and its arrays.
            Default: the system's folder of temporary files.
        images: for accuracies, the number of images on which they were measured.
        dtype: the type of other values.
    """

    def __init__(
        self, shape: tuple[int, ...], folder: Path | None, images: int | None = None, dtype: type = np.float32
    ) -> None:
        self._shape, self._folder, self._images = shape, folder, images
        counts = np.uint16 if images is not None and images < 2**16 - 1 else np.uint32
        self._dtype: np.dtype[Any] = np.dtype(dtype if images is None else counts)
        self._file = self._temporary()
        self._rows = 0

    def append(self, row: int, values: NDArray[np.float64]) -> None:
        """Append a row of float64 values, NaN if unknown; rows that were skipped are unknown.

        Args:
            row: the number of the row, larger than all earlier ones.
            values: its values; accuracies are fractions.

        Raises UserError if the disk is full.
        """
        blank = np.full(self._shape, np.nan)
        for one in (*([blank] * (row - self._rows)), values):
            stored = self._stored(one)  # may replace the file
            self._write(self._file, stored)
        self._rows = row + 1

    def finish(self, rows: int) -> tuple[NDArray[Any], dict[str, int]]:
        """Return all rows as a memory-mapped array (rows, *shape), and the facts of its storage for its entry."""
        blank = self._stored(np.full(self._shape, np.nan))
        for _ in range(rows - self._rows):
            self._write(self._file, blank)
        self._rows = max(rows, self._rows)
        self._file.flush()
        mapped = np.memmap(self._file, self._dtype, "r", shape=(rows, *self._shape))
        return mapped, {} if self._images is None else {"images": self._images}

    @classmethod
    def stack(
        cls,
        columns: Sequence[Self],
        rows: int,
        unknown: Callable[[slice], NDArray[np.float64]] | None = None,
    ) -> tuple[NDArray[Any], dict[str, int]]:
        """Return K columns with equal rows as one memory-mapped array (rows, *shape, K), and the facts of its storage.

        Args:
            columns: the columns; they must not be used afterwards.
            rows: number of rows.
            unknown: a function from a range of rows to values (n, *shape, K) that replace unknown ones; only for
                columns that are not accuracies.
        """
        if len({one._dtype for one in columns}) > 1:
            for one in columns:
                if one._images is not None:
                    one._to_quotients()
        parts = [one.finish(rows)[0] for one in columns]
        first, shape = columns[0], (rows, *columns[0]._shape, len(columns))
        stacked = np.memmap(first._temporary(), first._dtype, "w+", shape=shape)
        step = max(_BLOCK // (stacked[:1].nbytes or 1), 1)
        for low in range(0, rows, step):
            block = slice(low, min(low + step, rows))
            values = np.stack([part[block] for part in parts], axis=-1)
            stacked[block] = values if unknown is None else np.where(np.isnan(values), unknown(block), values)
        for part in (*parts, stacked):
            release(part)
        return stacked, {} if first._images is None else {"images": first._images}

    def _stored(self, values: NDArray[np.float64]) -> NDArray[Any]:
        if self._images is None:
            return values.astype(self._dtype)
        counts = to_counts(values, self._images)
        if counts is None:
            self._to_quotients()
            return values.astype(self._dtype)
        return np.where(np.isnan(counts), np.iinfo(self._dtype).max, counts).astype(self._dtype)

    def _to_quotients(self) -> None:
        """Replace the counts that are already in the file."""
        images, missing, counts = self._images or 1, np.iinfo(self._dtype).max, self._file
        size = _BLOCK // self._dtype.itemsize * self._dtype.itemsize
        self._file = self._temporary()
        counts.seek(0)
        while block := counts.read(size):
            found = np.frombuffer(block, self._dtype)
            self._write(self._file, np.where(found == missing, np.nan, found / images).astype(np.float32))
        counts.close()
        self._images, self._dtype = None, np.dtype(np.float32)

    def _temporary(self) -> IO[bytes]:
        file: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  closed with this object
        weakref.finalize(self, file.close)
        return file

    def _write(self, file: IO[bytes], values: NDArray[Any]) -> None:
        try:
            file.write(values.tobytes())
        except OSError as error:
            raise UserError(
                f"cannot write a temporary file in {self._folder or tempfile.gettempdir()} ({reason(error)}): free "
                "space on this disk"
            ) from error


def release(values: NDArray[Any]) -> None:
    """Let the system reuse the memory of a mapped array's pages, which are read again from its file when needed."""
    base: Any = values
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    if isinstance(base, mmap.mmap) and os.name == "posix":
        with suppress(OSError, ValueError):
            base.madvise(mmap.MADV_DONTNEED)
