"""Rank correlation of small proxies: Spearman's ρ of proxy errors and table errors after every training epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.evaluator import score
from nasbench1shot1.experiments.correlation.criteria import bootstrap, evaluate
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proxy_training import ProxyTrainings
from nasbench1shot1.tables.table import Table

SPLITS = ("validation", "test")
"""Splits of the table."""
RESAMPLES, LEVEL = 200, 0.95
UNDEFINED = float("nan")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ProxyResult:
    """The finished trainings of one size of the proxy, pooled over seeds and scored on one table.

    Attributes:
        trainings: one record per seed.
        errors: (architectures, epochs), validation error of the proxy after every epoch, a fraction.
        true: for each of `SPLITS`, (architectures,) the table's error after 108 epochs; NaN for missing values.
        measured: for each of `SPLITS`, (architectures,) whether the table's value is a measurement.
        groups: (architectures,) number of the architecture's cell; equal cells share one value in the table.
    """

    trainings: Sequence[ProxyTrainings]
    errors: Floats
    true: dict[str, Floats]
    measured: dict[str, NDArray[np.bool_]]
    groups: Ints

    @property
    def cells(self) -> int:
        """Number of cells of the proxy."""
        return int(self.trainings[0].config["cells"])

    @property
    def channels(self) -> int:
        """Number of channels of the proxy."""
        return int(self.trainings[0].config["channels"])

    @cached_property
    def by_epoch(self) -> pandas.DataFrame:
        """The rows of `as_table` for this size, one per split and epoch."""
        return pandas.DataFrame([row for split in SPLITS for row in self._rows(split)])

    def last(self, split: str) -> "pandas.Series[float]":
        """Return the row of the last epoch."""
        return self.by_epoch[self.by_epoch["split"] == split].iloc[-1]

    def _rows(self, split: str) -> Iterator[dict[str, object]]:
        known = np.isfinite(self.true[split])
        true, measured, groups = self.true[split][known], self.measured[split][known], self.groups[known]
        for epoch, errors in enumerate(self.errors[known].T, start=1):
            value, (low, high) = correlation(errors, true), interval(errors, true, groups)
            place = {"cells": self.cells, "channels": self.channels, "epoch": epoch, "split": split}
            share = float(measured.mean()) if len(true) else UNDEFINED
            yield {**place, "spearman": value, "low": low, "high": high, "n": len(true), "measured": share}


def as_table(found: Sequence[ProxyResult]) -> pandas.DataFrame:
    """Return one row per size of the proxy, split and epoch.

    Columns: cells, channels, epoch (from 1), split (of the table), spearman, low and high (95 % bootstrap interval over
    architectures), n (number of architectures), measured (fraction of the n values that are measured). Undefined
    correlations are NaN.
    """
    return pandas.concat([result.by_epoch for result in found], ignore_index=True)


def score_trainings(trainings: Sequence[ProxyTrainings], table: Table) -> ProxyResult:
    """Score the trainings of all seeds of one size on a table; raises OutOfDomainError if it lacks an architecture."""
    scores = [score(arch, table) for each in trainings for arch in each.architectures]
    true = {split: [getattr(s, f"table_{split}_error") for s in scores] for split in SPLITS}
    measured = {split: [getattr(s, f"{split}_measured") for s in scores] for split in SPLITS}
    return ProxyResult(
        trainings,
        np.concatenate([each.validation_errors for each in trainings]),
        {split: np.array(values, np.float64) for split, values in true.items()},
        {split: np.array(values, bool) for split, values in measured.items()},
        np.unique([s.cell_hash for s in scores], return_inverse=True)[1].astype(np.int64),
    )


def correlation(errors: Floats, true: Floats) -> float:
    """Return Spearman's ρ of (N,) errors; NaN if a side is constant or fewer than 3 architectures are given."""
    try:
        return evaluate(errors, true, ["spearman"])["spearman"]
    except InvalidInputError:
        return UNDEFINED


def interval(errors: Floats, true: Floats, groups: Ints) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of Spearman's ρ over (N,) architectures; NaN if ρ is undefined.

    Architectures of one group are drawn together. All curves use equal random numbers.
    """
    if np.isnan(correlation(errors, true)):
        return UNDEFINED, UNDEFINED
    rng = np.random.default_rng(0)
    return bootstrap(errors, true, ["spearman"], rng, RESAMPLES, LEVEL, groups)["spearman"]
