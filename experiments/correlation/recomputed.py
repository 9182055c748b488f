"""Correlations of a ranking, computed from its recorded scores and compared with its recorded correlations."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.experiments.correlation.criteria import FEWEST
from nasbench1shot1.experiments.correlation.options import chosen_budgets
from nasbench1shot1.experiments.correlation.record import CSV_PRECISION, EpochScores, Ranking
from nasbench1shot1.experiments.correlation.truth import Truth, rows_at, true_errors
from nasbench1shot1.experiments.rank_correlation import pearson, spearman
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import SUMMARY, damaged_file_error
from nasbench1shot1.tables.table import Table, load_table

SPEARMAN = ("spearman_error", "spearman_loss")
"""Names of the criteria for Spearman's ρ of one-shot errors and of one-shot losses."""


def scored_epochs(
    ranking: Ranking, table: Table, budgets: Sequence[int] | None = None, epochs: Sequence[int] | None = None
) -> Iterator[tuple[int, EpochScores, list[Truth]]]:
    """Yield epochs of a finished ranking, with the scores and the true errors of their architectures.

    The true errors are on the data set of the search or, if the ranking does not record it, on the table's first one.
    Architectures that several epochs share are looked up once.

    Args:
        ranking: the ranking.
        table: the table with the true errors.
        budgets: training budgets in epochs. Default: all budgets of the table.
        epochs: evaluated search epochs. Default: all of them.

    Raises:
        OutOfDomainError: the table lacks one of the architectures or the data set, or has no value for any of them.
        DamagedFileError: the scores or the summary are damaged.
    """
    space, known = search_space(ranking.config["space"]), dict[bytes, list[Truth]]()
    for epoch in ranking.config["evaluated_epochs"] if epochs is None else epochs:
        scores = ranking.scores(epoch)
        key = scores.numbers.tobytes()
        if key not in known:
            architectures = [space[int(number)] for number in scores.numbers]
            at = table.epochs if budgets is None else budgets
            known[key] = true_errors(table, architectures, at, ranking.dataset)
        yield epoch, scores, known[key]


def spearman_by_epoch(ranking: Ranking, table: Table, budgets: Sequence[int] | None = None) -> pandas.DataFrame:
    """Return Spearman's ρ over all sub-networks of a finished ranking, computed from its scores.

    Returns:
        A frame with the columns epoch, budget, split, `SPEARMAN` (NaN where undefined), n, and measured, the fraction
        of measurements among the n true errors.

    Arguments and errors are as in `scored_epochs`. Also raises DamagedFileError if the ranking recorded other values
    for the same table.
    """
    rows = []
    for epoch, scores, truths in scored_epochs(ranking, table, budgets):
        for truth in truths:
            known = truth.known
            values = [
                spearman(of[known].astype(np.float64), truth.errors[known]) for of in (scores.errors, scores.losses)
            ]
            rows.append((epoch, *truth.place, *values, int(known.sum()), truth.measured_share))
    frame = pandas.DataFrame(rows, columns=["epoch", "budget", "split", *SPEARMAN, "n", "measured"])
    if table.id == ranking.summary["table_id"] and ranking.options.copies != "mean":  # "mean" is by cell
        _check_recorded(ranking, frame)
    return frame


def validation_pearson(
    ranking: Ranking, table: Table, predict: Callable[[EpochScores], NDArray[np.floating]] = attrgetter("errors")
) -> float:
    """Return Pearson's r of predictions at the last ranked epoch and validation errors at the largest budget.

    Architectures whose prediction is infinite, or whose error is unknown, are left out. The result is NaN if the table
    has no validation errors, or if r is undefined.

    Args:
        ranking: a finished ranking.
        table: the table with the true errors.
        predict: returns the predictions (A,) for the architectures of some scores. Default: their one-shot errors.

    Raises the errors of `scored_epochs`, and InvalidInputError if the table lacks a budget of the ranking.
    """
    budgets = chosen_budgets(ranking.options.budgets, table.epochs)
    ((_, scores, truths),) = scored_epochs(ranking, table, budgets, ranking.config["evaluated_epochs"][-1:])
    if not (validation := [truth for truth in truths if truth.split == "validation"]):
        return float("nan")
    predicted, true = predict(scores).astype(np.float64), validation[-1].errors
    known = np.isfinite(predicted) & validation[-1].known
    return pearson(predicted[known], true[known])


def _check_recorded(ranking: Ranking, frame: pandas.DataFrame) -> None:
    """Raise DamagedFileError unless summary.json has the values of a frame of `spearman_by_epoch`."""
    summary = ranking.summary
    at_place = rows_at(frame, (summary["budget"], summary["split"])).to_dict("records")
    computed = {row["epoch"]: row for row in at_place if row["n"] >= FEWEST}
    for epoch in ranking.config["evaluated_epochs"]:
        recorded = summary["epochs"].get(str(epoch), {})
        for name in SPEARMAN:
            value = computed.get(epoch, {}).get(name, np.nan)
            known = recorded.get(name, {}).get("value", np.nan)
            if not np.isclose(known, value, rtol=0, atol=CSV_PRECISION, equal_nan=True):
                raise damaged_file_error(ranking.folder / SUMMARY, "its correlations contradict the scores")


def recorded_table(ranking: Ranking, load: Callable[[str | None], Table] = load_table) -> Table | None:
    """Return the table whose id a ranking recorded; None if the table in its options is missing or has another id.

    `load` opens the table by name or folder.
    """
    try:
        table = load(ranking.options.table or ranking.space.table)
    except UserError:
        return None
    return table if table.id == ranking.config["table_id"] else None
