"""Plots of a ranking: rank correlation by search epoch (the paper's Figure 3), and true against one-shot errors."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import axes_or_new, checked_axes
from nasbench1shot1.experiments.correlation.analysis import Predictions, compute_correlations, predictions_and_truths
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.truth import (
    Truth,
    headline,
    place_per_budget,
    rows_at,
    rows_of_all,
    table_of_ranking,
)
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, GREY, new_figure
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table

X_LABELS = {"error": "one-shot error [%]", "loss": "one-shot cross-entropy loss [nats]"}
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2, "frameon": False}
"""Place and look of legends: below the axes, where they hide nothing."""
SHOWN, FEW = 0.99, 500
"""Fraction of the true errors that the scatter plot covers, because a few networks fail to train."""


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


def draw_by_epoch(frame: pandas.DataFrame, ax: "Axes | None" = None, predictor: str = "error") -> "Axes":
    """Plot Spearman's ρ over all architectures against the search epoch, one line per budget.

    Vertical bars are confidence intervals. The lines are shifted sideways, so that no bar hides another.

    Args:
        frame: the content of correlations.csv.
        ax: axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
        predictor: "error" or "loss".
    """
    axes = axes_or_new(ax)
    shown = headline_rows(frame, f"spearman_{predictor}")
    by_budget = _by_budget(shown)
    for colour, (budget, line), shift in zip(COLOURS, by_budget, shifts(shown["epoch"], len(by_budget)), strict=False):
        epochs, label = line["epoch"] + shift, f"{budget} epochs ({line['split'].iloc[0]})"
        axes.plot(epochs, line["value"], "o-", color=colour, linewidth=1.2, markersize=4, label=label)
        axes.vlines(epochs, line["low"], line["high"], color=colour, alpha=0.5, linewidth=1.6)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel("search epoch")
    axes.set_ylabel(f"Spearman's ρ of one-shot {predictor} and true error", fontsize=9)
    axes.grid(alpha=0.25)
    if len(shown):  # otherwise, ρ is undefined everywhere
        axes.legend(title="true error after training for", fontsize=8, title_fontsize=8, **BELOW)
    _whole_epochs(axes, sorted(set(frame["epoch"])))
    return axes


def by_epoch_figure(frame: pandas.DataFrame, title: str, caption: str) -> "Figure":
    """Return a figure with plots for one-shot errors and losses side by side (`draw_by_epoch`)."""
    figure = new_figure(2)
    for panel, predictor in zip(figure.subplots(1, 2, sharey=True), X_LABELS, strict=True):
        draw_by_epoch(frame, panel, predictor)
        panel.yaxis.set_tick_params(labelleft=True)
    return _finish_figure(figure, title, f"Vertical bars: 95 % bootstrap intervals over architectures. {caption}")


def draw_scatter(
    predicted: NDArray[np.floating], truth: Truth, row: Mapping[str, Any] | None, predictor: str, ax: "Axes"
) -> "Axes":
    """Plot the true error of every architecture against its one-shot error or loss.

    Args:
        predicted: (A,) errors (fractions) or losses (nats).
        truth: true errors of the same architectures.
        row: the row of correlations.csv with Spearman's ρ, for the title; None if ρ is undefined.
        predictor: "error" or "loss".
        ax: axes to draw on.
    """
    scale = 100 if predictor == "error" else 1
    top = _highest_shown(truth)
    inside = truth.errors <= top
    for mask, colour, label in (
        (inside & ~truth.measured, COLOURS[0], "predicted by the table"),
        (inside & truth.measured, COLOURS[1], "measured"),
    ):
        if mask.any():
            count = f"{label} ({int(mask.sum()):,})"
            y = 100 * truth.errors[mask]
            size = 5 if len(predicted) > 500 else 16
            ax.scatter(scale * predicted[mask], y, s=size, alpha=0.35, linewidths=0, color=colour, label=count)
    ax.set_xlabel(X_LABELS[predictor])
    ax.set_ylabel(f"{truth.split} error in the table after {truth.budget} epochs [%]")
    ax.set_title(_spearman_text(row), fontsize=9)
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, markerscale=2, **BELOW)
    return ax


def scatter_figure(
    scores: Mapping[str, NDArray[np.floating]], truth: Truth, rows: Mapping[str, Any], title: str, caption: str
) -> "Figure":
    """Return a figure with scatter plots of one-shot errors and losses side by side (`draw_scatter`).

    Args:
        scores: (A,) arrays "error" and "loss".
        truth: true errors of the same architectures.
        rows: for "error" and "loss", the row of correlations.csv, or None.
        title: title of the figure.
        caption: text below the figure.
    """
    figure = new_figure(2)
    axes = figure.subplots(1, 2, sharey=True)
    for panel, predictor in zip(axes, scores, strict=True):
        draw_scatter(scores[predictor], truth, rows.get(predictor), predictor, panel)
    axes[1].set_ylabel("")
    hidden = int((truth.errors > _highest_shown(truth)).sum())
    note = f"Not shown: {counted(hidden, 'architecture')} with a larger true error. " if hidden else ""
    return _finish_figure(figure, title, note + caption)


def headline_rows(frame: pandas.DataFrame, criterion: str) -> pandas.DataFrame:
    """Return one row per epoch and budget, over all architectures: on test if available, else on validation."""
    rows = rows_of_all(frame)
    rows = rows[rows["criterion"] == criterion]
    shown = [rows_at(rows, place) for place in place_per_budget(rows)]
    return pandas.concat(shown).sort_values(["epoch", "budget"]) if shown else rows


def spearman_row(frame: pandas.DataFrame, epoch: int, truth: Truth, predictor: str) -> dict[str, Any] | None:
    """Return the row of correlations.csv with Spearman's ρ of an epoch and a predictor; None if ρ is undefined."""
    found = rows_at(headline_rows(frame[frame["epoch"] == epoch], f"spearman_{predictor}"), truth.place)
    return dict(found.iloc[0]) if len(found) else None


def shifts(epochs: Iterable[int], lines: int) -> NDArray[np.floating]:
    """Return sideways shifts (lines,) in epochs, so that bars at equal epochs do not hide each other.

    Five lines cover less than half of the smallest gap between two epochs.
    """
    distinct = np.unique(list(epochs))
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
    return gap * 0.1 * (np.arange(lines) - (lines - 1) / 2)


def _by_budget(rows: pandas.DataFrame) -> list[tuple[int, pandas.DataFrame]]:
    return [(int(str(budget)), line) for budget, line in rows.groupby("budget")]


def _whole_epochs(axes: "Axes", epochs: Sequence[int]) -> None:
    from matplotlib.ticker import MaxNLocator

    if len(epochs) == 1:  # otherwise, the shifts would fill the axes
        axes.set_xlim(epochs[0] - 1, epochs[0] + 1)
    if len(epochs) <= 12:
        axes.set_xticks(epochs)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _highest_shown(truth: Truth) -> float:
    """Return the highest true error on the axis; few architectures are all shown."""
    known = truth.errors[~np.isnan(truth.errors)]
    return float(np.quantile(known, SHOWN)) if len(known) > FEW else float(known.max())


def _spearman_text(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "Spearman's ρ is undefined"
    return f"Spearman's ρ = {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}], n = {row['n']:,}"


def _finish_figure(figure: "Figure", title: str, caption: str) -> "Figure":
    import textwrap

    figure.suptitle(title, fontsize=10)
    figure.supxlabel("\n".join(textwrap.wrap(caption, 170)), fontsize=7, color=GREY)
    return figure
