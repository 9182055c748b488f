"""Ranks of all architectures against each other.

NAS-Bench-201's figure 3 and NATS-Bench's figure 2 (data sets), NAS-Bench-201's figure 5 (short and long trainings).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.rank_correlation import kendall, spearman
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, GREY, finish
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import (
    DATASETS,
    REFERENCE,
    SHORT,
    Column,
    Measurements,
)
from nasbench1shot1.experiments.space_statistics.values import Floats
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dataset_ranks(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return ranks by test accuracy on CIFAR-10 and on each other data set.

    Args:
        table: a table of NAS-Bench-201.
        kind: which architectures are included, a kind of the space nb201.

    Returns:
        `index` (official), `x_rank` on CIFAR-10, `dataset` and `y_rank` on it (1 is best, ties share their mean rank),
        and `n`, the number of architectures ranked. `attrs["correlations"]` has the rank correlations.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: no other data set has the test accuracy of every architecture.
    """
    found = Measurements(table, kind)
    first = found.reference()
    others = [found.column(dataset, "test") for dataset in found.datasets if dataset != REFERENCE]
    words = f"ranks by test accuracy at {found.full_budget} epochs"
    return _rank_pairs(found, [(first, other) for other in others], words)


def short_training_ranks(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return ranks by final test accuracy, and by validation accuracy after 12 epochs and at the end.

    The 12 epochs are a separate schedule. NAS-Bench-201 also shows epochs in the middle of the long schedule, which
    tables without training curves do not have.

    Arguments and errors are as for `dataset_ranks`.

    Returns:
        `index`, `dataset`, `epochs` of the validation accuracy, `x_rank` by final test accuracy, `y_rank` by validation
        accuracy, and `n`. Columns that only some architectures have are left out.
    """
    found = Measurements(table, kind)
    budgets = [epochs for epochs in (SHORT, found.full_budget) if epochs in table.epochs]
    pairs = [
        (found.column(dataset, "test"), found.column(dataset, "validation", epochs))
        for dataset in found.datasets
        for epochs in budgets
    ]
    listed = " and ".join(map(str, budgets))
    words = f"ranks by test accuracy at {found.full_budget} epochs and by validation accuracy at {listed} epochs"
    return _rank_pairs(
        found, pairs, words, "epochs in the middle of a schedule need training curves, not in this table"
    )


def plot_ranks(frame: pandas.DataFrame, ax: "Axes | None" = None, *, dataset: str, x: str, y: str) -> "Axes":
    """Draw the ranks of a data set, one colour for each budget of the y axis, with Spearman's ρ in the legend."""
    axes = axes_or_new(ax)
    shown = frame[frame["dataset"] == dataset]
    for colour, (epochs, of_epochs) in zip(COLOURS, shown.groupby("epochs"), strict=False):
        [known] = [c for c in frame.attrs["correlations"] if (c["dataset"], c["epochs"]) == (dataset, epochs)]
        label = f"{epochs} epochs: ρ = {known['spearman']:.3f}, n = {known['n']:,}"
        axes.scatter(
            of_epochs["x_rank"], of_epochs["y_rank"], s=2, alpha=0.35, linewidths=0, color=colour, label=label,
            rasterized=True,
        )  # fmt: skip
    axes.locator_params(nbins=5)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if shown.empty:
        axes.text(0.5, 0.5, "not in this table", transform=axes.transAxes, ha="center", color=GREY)
    else:
        legend = axes.legend(fontsize=8, loc="upper left", markerscale=5, framealpha=0.95)
        for handle in legend.legend_handles:
            handle.set_alpha(1)  # type: ignore[union-attr]
    return finish(axes, frame, DATASETS[dataset])


def _rank_pairs(found: Measurements, pairs: list[tuple[Column, Column]], words: str, *notes: str) -> pandas.DataFrame:
    """Return the ranks of each pair of columns that every architecture has."""
    whole = [pair for pair in pairs if all(column.n == len(found.rows) for column in pair)]
    if not whole:
        raise OutOfDomainError(
            f"the table {found.table.id} does not have two of these accuracies for all architectures: open another "
            "table"
        )
    frame = pandas.concat([_ranks(found, *pair) for pair in whole], ignore_index=True)
    columns = {(column.dataset, column.split, column.epochs): column for pair in pairs for column in pair}
    correlations = [_correlate(*pair) for pair in whole]
    frame.attrs = found.attributes(words, columns.values(), *notes, correlations=correlations)
    return frame


def _ranks(found: Measurements, x: Column, y: Column) -> pandas.DataFrame:
    ranks = {"x_rank": _rank(x.accuracy), "y_rank": _rank(y.accuracy)}
    return pandas.DataFrame({"index": found.indices, "dataset": y.dataset, "epochs": y.epochs, **ranks, "n": y.n})


def _correlate(x: Column, y: Column) -> dict[str, Any]:
    values = {"spearman": spearman(x.accuracy, y.accuracy), "kendall": kendall(x.accuracy, y.accuracy)}
    return {"dataset": y.dataset, "epochs": y.epochs, **values, "n": y.n}


def _rank(accuracy: Floats) -> Floats:
    """Return ranks (N,), 1 for the highest accuracy; equal accuracies share the mean of their ranks."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-accuracy))
