"""All criteria of how well predictions rank architectures by true errors, for every epoch, budget and scope."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.experiments.correlation.criteria import CRITERIA, FEWEST, evaluate, scopes
from nasbench1shot1.experiments.correlation.headline import ALL
from nasbench1shot1.experiments.correlation.intervals import bootstrap
from nasbench1shot1.experiments.correlation.truth import Truth

COLUMNS = ("epoch", "budget", "split", "criterion", "scope", "value", "low", "high", "n", "measured")
"""The columns of correlations.csv (docs/ranking.md)."""
CALLED = {"error": "one-shot errors", "loss": "one-shot losses", "probability": "log-probabilities"}
"""Names of the predictors in messages, by the suffix of a criterion's name: `spearman_error`, …"""
OF_PROBABILITY = ("spearman", "kendall", "pearson", "sparse-kendall")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Undefined:
    """A criterion that has no value.

    Attributes:
        place: epoch, budget, split, criterion, scope.
        cause: the reason, as a sentence.
    """

    place: tuple[Any, ...]
    cause: str


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted values of A architectures, which stand for their true errors; smaller is better.

    Attributes:
        epoch: the search epoch.
        values: (A,) arrays by the names in `CALLED`.
        groups: (A,) integers; architectures with equal cells have equal numbers.
        subsets: bool (A,) masks of further scopes by name, such as the controller's samples.
    """

    epoch: int
    values: Mapping[str, Floats]
    groups: NDArray[np.int64]
    subsets: Mapping[str, NDArray[np.bool_]]

    def only(self, mask: NDArray[np.bool_]) -> "Predictions":
        """Return the predictions for some of the architectures."""
        values = {name: of[mask] for name, of in self.values.items()}
        return Predictions(self.epoch, values, self.groups[mask], {name: of[mask] for name, of in self.subsets.items()})

    def mean_over_copies(self) -> "tuple[Predictions, NDArray[np.int64]]":
        """Return one prediction per distinct cell, the mean over its copies, and the index of each first copy."""
        _, first, inverse = np.unique(self.groups, return_index=True, return_inverse=True)
        count = np.bincount(inverse)
        values = {name: np.bincount(inverse, of) / count for name, of in self.values.items()}
        subsets = {name: np.bincount(inverse, of) > 0 for name, of in self.subsets.items()}
        return Predictions(self.epoch, values, np.arange(len(first)), subsets), first


def correlations(
    predictions: Predictions,
    truths: Sequence[Truth],
    seed: int,
    resamples: int | None = None,
) -> tuple[pandas.DataFrame, list[Undefined]]:
    """Compute all criteria of one epoch.

    The rows of all architectures, whose true errors may be estimates, come first. If only some architectures are
    measured, rows for these architectures and their measurements follow. Scopes of fewer than three architectures are
    left out.

    Args:
        predictions: the predictions for A architectures.
        truths: the true errors of these architectures, for every budget and split.
        seed: random seed of the bootstrap.
        resamples: number of bootstrap resamples. Default: `intervals.default_resamples`.

    Returns:
        A frame with `COLUMNS` (`measured`: fraction of measurements among the n true errors), and undefined criteria.
    """
    rows, undefined = list[tuple[Any, ...]](), list[Undefined]()
    for truth in truths:
        for name in predictions.values:
            for errors, mask, measured in _versions(truth):
                _compare(
                    predictions.only(mask), truth, errors[mask], name, measured, (seed, resamples), rows, undefined
                )
    return pandas.DataFrame(rows, columns=list(COLUMNS)), undefined


def _versions(truth: Truth) -> Iterator[tuple[Floats, NDArray[np.bool_], float]]:
    """Yield true errors, a mask of known values, and the measured fraction: for all, then for measurements only."""
    known, measured = ~np.isnan(truth.errors), truth.measured
    yield truth.errors, known, float(measured[known].mean())
    if FEWEST <= measured.sum() < known.sum():
        yield truth.measurements, measured, 1.0


def _compare(
    predictions: Predictions,
    truth: Truth,
    errors: Floats,
    name: str,
    measured: float,
    bootstrapping: tuple[int, int | None],
    rows: list[tuple[Any, ...]],
    undefined: list[Undefined],
) -> None:
    """Append the criteria of one predictor in every scope, or the causes for undefined criteria."""
    criteria = OF_PROBABILITY if name == "probability" else tuple(CRITERIA)
    called = (CALLED[name], f"{truth.split} errors after {truth.budget} epochs")

    @cache  # small samples have equal scopes
    def measure(chosen: bytes) -> tuple[dict[str, tuple[float, float, float]], dict[str, str]]:
        mask = np.frombuffer(chosen, np.bool_)
        predicted, true, groups = predictions.values[name][mask], errors[mask], predictions.groups[mask]
        values, causes = _defined(predicted, true, criteria, called)
        seed, resamples = bootstrapping
        rng = np.random.default_rng([seed, predictions.epoch, truth.budget])
        ends = bootstrap(predicted, true, values, rng, resamples, groups=groups, called=called) if values else {}
        return {criterion: (value, *ends[criterion]) for criterion, value in values.items()}, causes

    place = (predictions.epoch, truth.budget, truth.split)
    for scope, mask in {**scopes(errors), **predictions.subsets}.items():
        if scope != ALL and mask.sum() < FEWEST:  # the top 10 % of a small sample
            continue
        found, causes = measure(mask.tobytes())
        for criterion, values in found.items():
            rows.append((*place, f"{criterion}_{name}", scope, *values, int(mask.sum()), measured))
        undefined += [Undefined((*place, f"{criterion}_{name}", scope), cause) for criterion, cause in causes.items()]


def _defined(
    predicted: Floats, true: Floats, criteria: Sequence[str], called: tuple[str, str]
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the values of the defined criteria, and the causes for undefined criteria."""
    try:
        return evaluate(predicted, true, criteria, called), {}
    except InvalidInputError:
        pass
    values, causes = dict[str, float](), dict[str, str]()
    for criterion in criteria:
        try:
            values |= evaluate(predicted, true, [criterion], called)
        except InvalidInputError as error:
            causes[criterion] = str(error)
    return values, causes
