"""How well does validation accuracy on CIFAR-10 predict final accuracies? NAS-Bench-201's table 6."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.rank_correlation import kendall, pearson, spearman
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import (
    REFERENCE,
    Column,
    Measurements,
    tick_label,
)
from nasbench1shot1.experiments.space_statistics.nasbench201.published import TABLE_6, TABLE_6_CURVES, published_value
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COEFFICIENTS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def schedule_correlation(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return the correlation of CIFAR-10 validation accuracy at the end of two schedules with all final accuracies.

    The other rows of NAS-Bench-201's table 6 need accuracies in the middle of a schedule, which are not in the table;
    `attrs["lacking"]` lists them.

    Args:
        table: a table of NAS-Bench-201.
        kind: which architectures are included, a kind of the space nb201.

    Returns:
        `epochs` (of the validation accuracy; the schedule ends there), `dataset` and `split` of the final accuracy,
        `pearson`, `spearman`, `kendall` (τ-b), `published` (the paper does not name its coefficient), and `n`, the
        number of architectures with both accuracies.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has no validation accuracy on CIFAR-10.
    """
    found, rows = Measurements(table, kind), []
    finals = found.columns()
    schedules = [epochs for epochs, _ in TABLE_6 if epochs in table.epochs]
    starts = [column for epochs in schedules if (column := found.column(REFERENCE, "validation", epochs)).n]
    for start in starts:
        rows += [_row(start, final) for final in finals if (start.known & final.known).sum() >= 3]
    if not rows:
        raise OutOfDomainError(f"the table {table.id} has no CIFAR-10 validation accuracy: open another table")
    frame = pandas.DataFrame(rows)
    lacking = ", ".join(f"{epoch} of {total}" for epoch, total in TABLE_6_CURVES)
    note = f"table 6's other rows need training curves, which are not in this table: epochs {lacking}"
    words = f"CIFAR-10 validation accuracy and accuracies at {found.full_budget} epochs"
    frame.attrs = found.attributes(words, [*starts, *finals], note, lacking=[list(row) for row in TABLE_6_CURVES])
    return frame


def plot_schedule_correlation(frame: pandas.DataFrame, ax: "Axes | None" = None, *, epochs: int) -> "Axes":
    """Draw the coefficients of a schedule with every final accuracy, and the published coefficients."""
    axes, shown = axes_or_new(ax), frame[frame["epochs"] == epochs]
    places = np.arange(len(shown))
    drawn = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ-b", "published": "printed"}
    for colour, marker, (column, label) in zip(COLOURS, "os^*", drawn.items(), strict=False):
        size = 11 if marker == "*" else 6
        face = "none" if marker == "*" else colour
        axes.plot(places, shown[column], marker, color=colour, mfc=face, markersize=size, label=label)
    names = [
        f"{tick_label(dataset, split)}\nn = {n:,}"
        for dataset, split, n in zip(shown["dataset"], shown["split"], shown["n"], strict=True)
    ]
    axes.set_xticks(places, names, fontsize=7)
    axes.set_xlim(-0.5, len(shown) - 0.5)
    axes.set_ylim(0.4, 1.03)
    axes.set_ylabel("correlation")
    axes.legend(fontsize=8, loc="lower left", ncols=2)
    return finish(axes, frame, f"CIFAR-10 validation after {epochs} of {epochs} epochs")


def _row(start: Column, final: Column) -> dict[str, Any]:
    both = start.known & final.known
    values = {name: of(start.accuracy[both], final.accuracy[both]) for name, of in COEFFICIENTS.items()}
    published = published_value(TABLE_6[start.epochs, start.epochs], final.dataset, final.split)
    place = {"epochs": start.epochs, "dataset": final.dataset, "split": final.split}
    return {**place, **values, "published": published, "n": int(both.sum())}
