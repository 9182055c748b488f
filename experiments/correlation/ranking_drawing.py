"""Drawing a ranking on matplotlib axes: `nb.draw_ranking`."""

from pathlib import Path
from typing import TYPE_CHECKING

from nasbench1shot1.display.axes import axes_or_new, checked_axes
from nasbench1shot1.experiments.correlation.analysis import Predictions
from nasbench1shot1.experiments.correlation.drawing import X_LABELS, draw_by_epoch, draw_scatter
from nasbench1shot1.experiments.correlation.outcome import compute_correlations, predictions_and_truths, spearman_row
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.truth import Truth, headline, table_of_ranking
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error
from nasbench1shot1.tables.metric_column import whole_number

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from nasbench1shot1.tables.table import Table


def draw_ranking(
    ranking: Ranking | str | Path,
    ax: "Axes | None" = None,
    *,
    epoch: int | None = None,
    predictor: str = "error",
) -> "Axes":
    """Draw how well one-shot errors predict true errors, for an unfinished ranking as far as it is evaluated.

    By default, Spearman's ρ is drawn over the search epochs, with one line per training budget of the true errors and
    95 % bootstrap intervals as vertical bars (Figure 3 of NAS-Bench-1Shot1).

    Args:
        ranking: the ranking, as `nb.correlate` returns it, or its folder.
        ax: the axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
        epoch: if given, draw the true error of every architecture against its one-shot error after this search epoch.
        predictor: "error" for one-shot errors, or "loss" for one-shot losses.

    Returns:
        The axes; `ax.figure.savefig("ranking.svg")` writes the picture.

    Raises:
        InvalidInputError: the run is not a ranking or has no result yet, the epoch is not evaluated, `predictor` is
            unknown, or `ax` is not axes.
        OutOfDomainError: the table lacks an architecture of an unfinished ranking.
    """
    found = open_run(ranking) if isinstance(ranking, str | Path) else ranking
    if not isinstance(found, Ranking):
        raise InvalidInputError(f"{found!r} is not a ranking: give what nb.correlate returned, or its folder")
    if not isinstance(predictor, str) or predictor not in X_LABELS:
        raise unknown_name("predictor", predictor, X_LABELS)
    if epoch is not None:
        epoch = whole_number("epoch", epoch, "the number of an evaluated epoch")
    if ax is not None:
        checked_axes(ax)
    if not found.lines:
        raise no_result_error(found.folder)
    if epoch is None:
        frame = (
            found.correlations
            if found.is_finished
            else compute_correlations(found, _table(found), found.scored_epochs).frame
        )
        return draw_by_epoch(frame, ax, predictor)
    frame, predictions, truth = _results_at_epoch(found, epoch)
    row = spearman_row(frame, epoch, truth, predictor)
    return draw_scatter(predictions.values[predictor], truth, row, predictor, axes_or_new(ax))


def _results_at_epoch(ranking: Ranking, epoch: int) -> "tuple[pandas.DataFrame, Predictions, Truth]":
    """Return the correlations of an epoch, its predictions and the true errors."""
    if not ranking.is_finished:
        found = compute_correlations(ranking, _table(ranking), [epoch])
        return found.frame, found.predictions, found.truth
    predictions, truths = predictions_and_truths(ranking, _table(ranking), epoch)
    return ranking.correlations, predictions, headline(truths)


def _table(ranking: Ranking) -> "Table":
    return table_of_ranking(ranking.run, ranking.space, ranking.options.table or ranking.space.table)
