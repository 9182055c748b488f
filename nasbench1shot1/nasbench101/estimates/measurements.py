"""All bundled measurements of NAS-Bench-101, cell by cell."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.encoding import Encodings
from nasbench1shot1.nasbench101.sources import (
    DRAWS,
    IMAGES,
    SAMPLE,
    TEST_MEANS,
    TEST_REPEATS,
    Floats,
    cells_of,
    read_source,
)

REPORTED_BY_SEARCHES = 4 | 8
"""Bits of `source` in the file of test means: results of searches that selected cells by these very measurements."""
_REPEATS = 3


@dataclass(frozen=True)
class Measurements:
    """What is measured of N distinct cells of NAS-Bench-101; NaN where a value is not known.

    Attributes:
        hashes: (N,) MD5s of 16 bytes, ascending.
        encodings: (N,) encodings of the cells.
        epochs: the four budgets in epochs.
        validation: (N, 4, 3) validation accuracies, the known official repeats of each budget, each value once; at most
            one repeat is known at the first three budgets.
        test: (N,) test accuracies at 108 epochs, means of the three official repeats.
        seconds: (N,) training times of one 108-epoch training.
        was_selected: (N,) whether a test accuracy is only known because a search reported the cell as one of its best.
            The noise of such a measurement is likely favourable, so it would bias a regression.
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    epochs: tuple[int, ...]
    validation: Floats
    test: Floats
    seconds: Floats
    was_selected: NDArray[np.bool_]

    @property
    def n_repeats(self) -> NDArray[np.int64]:
        """The number of known validation repeats, (N, 4)."""
        return np.asarray((~np.isnan(self.validation)).sum(axis=2))

    @property
    def mean_validation(self) -> Floats:
        """The means of the known validation repeats, (N, 4)."""
        total, n = np.nansum(self.validation, axis=2), self.n_repeats
        return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def read_measurements(folder: Path | None = None) -> Measurements:
    """Return all measurements; raises DamagedFileError if a source cannot be read.

    Args:
        folder: the folder of the sources. Default: the package's own sources.
    """
    sample, means, draws = (read_source(name, folder) for name in (SAMPLE, TEST_MEANS, DRAWS))
    (hashes, codes), *others = map(cells_of, (sample, means, draws))
    every, first = np.unique(np.concatenate([hashes, *(of for of, _ in others)]), return_index=True)
    encodings = np.concatenate([codes, *(of for _, of in others)])[first]
    in_sample, in_means, in_draws = (np.searchsorted(every, of) for of in (hashes, others[0][0], others[1][0]))
    validation = np.full((len(every), len(sample["epochs"]), _REPEATS), np.nan)
    validation[in_sample, :, 0] = sample["valid_acc"]
    for row, drawn in zip(in_draws, draws["valid_acc_e108"], strict=True):
        validation[row, -1] = _distinct([*validation[row, -1], *drawn])
    test, seconds, was_selected = np.full(len(every), np.nan), np.full(len(every), np.nan), np.zeros(len(every), bool)
    test[in_means] = _quotients(means["test_mean3"], TEST_REPEATS * IMAGES)
    seconds[in_sample] = sample["train_time_s_e108"]
    was_selected[in_means] = means["source"] & ~np.uint8(REPORTED_BY_SEARCHES) == 0
    epochs = tuple(int(budget) for budget in sample["epochs"])
    return Measurements(every, encodings, epochs, validation, test, seconds, was_selected)


def _distinct(values: list[float]) -> list[float]:
    """Return the distinct numbers in a list of accuracies in their order, at most three, then NaN."""
    of_count: dict[int, float] = {}
    for value in values:
        if value == value:  # not NaN
            of_count.setdefault(round(value * IMAGES), value)
    known = list(of_count.values())[:_REPEATS]
    return known + [np.nan] * (_REPEATS - len(known))


def _quotients(accuracies: Floats, images: int) -> Floats:
    return np.asarray(np.rint(accuracies * images) / images)
