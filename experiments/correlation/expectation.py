"""Estimates of the time that a ranking takes, from small parts of it that are timed on this machine."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.experiments.correlation.analysis import Pairing, Predictions, compare, merge_copies, pairings
from nasbench1shot1.experiments.correlation.evaluation import CHUNK, scores_of, shared_weights_of
from nasbench1shot1.experiments.correlation.options import RankingOptions, chosen_budgets
from nasbench1shot1.experiments.correlation.state import RankingState, in_sharing_order
from nasbench1shot1.experiments.correlation.truth import table_mask, true_errors
from nasbench1shot1.tables.table import Table

TIMED = 24
"""Number of architectures whose evaluation is timed."""
TIMED_RESAMPLES = 5
"""Number of bootstrap resamples that are timed."""
PROBABILITY = 0.7
"""Work for the predictor `probability`, relative to the error or the loss: it only has correlations."""


@dataclass(frozen=True)
class Expectation:
    """The remaining seconds of a ranking.

    Attributes:
        evaluation: for the architectures that are not yet evaluated; 0 if all are.
        statistics: for the correlations and their confidence intervals.
    """

    evaluation: float
    statistics: float


def expected_seconds(state: RankingState, table: Table, left: int) -> Expectation:
    """Estimate the remaining seconds of a ranking; `left` is the number of evaluations that are left, in all epochs."""
    numbers = state.numbers(state.epochs[-1])
    architectures = state.architectures(numbers)
    compared = state.architectures(numbers[table_mask(table, state.space, numbers)])
    statistics = statistics_seconds(compared, table, state.options, state.learns_parameters)
    evaluation = left * _seconds_per_architecture(state, architectures) if left else 0.0
    return Expectation(evaluation, len(state.epochs) * statistics)


def statistics_seconds(
    architectures: Sequence[Architecture], table: Table, options: RankingOptions, learns_parameters: bool
) -> float:
    """Estimate the seconds for all criteria and confidence intervals of one epoch.

    Every budget, split and scope is timed with a few bootstrap resamples, on random predictions by one predictor.

    Args:
        architectures: the ranked architectures.
        table: the table with their true errors.
        options: resolved options, which decide on budgets, copies and the number of resamples.
        learns_parameters: whether the probability is a predictor, in addition to error and loss.
    """
    values = {"error": np.random.default_rng(0).random(len(architectures)).round(3)}
    predictions = Predictions(0, values, table.rows(architectures), {})
    found = true_errors(table, architectures, chosen_budgets(options.budgets, table.epochs))
    parts, few = (
        list(pairings(*merge_copies(predictions, found, options.copies))),
        min(TIMED_RESAMPLES, options.resamples),
    )
    compare(parts[-1], 0, 1)  # not timed, because it imports scipy
    one, several = (_seconds_to_compare(parts, resamples) for resamples in (1, few))
    each = max(several - one, 0.0) / (few - 1)
    return (one + each * (options.resamples - 1)) * (2 + PROBABILITY * learns_parameters)


def _seconds_to_compare(parts: Sequence[Pairing], resamples: int) -> float:
    started = time.perf_counter()
    for part in parts:
        compare(part, 0, resamples)
    return time.perf_counter() - started


def _seconds_per_architecture(state: RankingState, architectures: Sequence[Architecture]) -> float:
    """Return the mean seconds to evaluate an architecture at an epoch."""
    chunk = architectures[:CHUNK]
    some = [chunk[i] for i in in_sharing_order(chunk)][:TIMED]
    shared = shared_weights_of(state, state.epochs[-1])
    with torch.inference_mode():
        scores_of(state, shared, some[:2])
        started = time.perf_counter()
        scores_of(state, shared, some)
    return (time.perf_counter() - started) / len(some)
