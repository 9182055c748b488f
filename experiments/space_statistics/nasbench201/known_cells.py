"""The optima and two known cells, compared with the published values: NAS-Bench-201's table 5."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import (
    ALL_SKIP,
    RESNET,
    Column,
    Measurements,
    tick_label,
)
from nasbench1shot1.experiments.space_statistics.nasbench201.published import TABLE_5, published_value
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELLS = {"ResNet": RESNET, "all skip": ALL_SKIP}


def known_cells(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return the best architecture of each column, the ResNet cell and the all-skip cell, with published accuracies.

    DARTS's cell in NAS-Bench-201's table 5 has skip connections only.

    Args:
        table: a table of NAS-Bench-201.
        kind: architectures among which the best is sought, a kind of the space nb201.

    Returns:
        `cell` ("optimal", "ResNet" or "all skip"), `dataset`, `split`, `index` and `architecture` (official),
        `accuracy` (fraction, at the full budget), `published` and `difference` (fractions), and `n`, the number of
        architectures with a value in the column. If only some architectures have a value, the optimum can be lower than
        the true one.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has none of the values.
    """
    found = Measurements(table, kind)
    columns = found.columns()
    attributes = found.attributes(f"accuracy at {found.full_budget} epochs", columns)
    rows = [_row(found, column, "optimal", int(np.nanargmax(column.accuracy))) for column in columns if column.n]
    for cell, architecture in CELLS.items():
        place = found.place(architecture)
        rows += [_row(found, column, cell, place) for column in columns if place is not None and column.known[place]]
    frame = pandas.DataFrame(rows)
    frame["difference"] = frame["accuracy"] - frame["published"]
    frame.attrs = attributes
    return frame


def plot_known_cells(frame: pandas.DataFrame, ax: "Axes | None" = None, *, cell: str) -> "Axes":
    """Draw the accuracies of a cell in the table and in the paper, with both numbers under each column."""
    axes, shown = axes_or_new(ax), frame[frame["cell"] == cell]
    places = np.arange(len(shown))
    for offset, column, colour in ((-0.2, "accuracy", COLOURS[0]), (0.2, "published", COLOURS[4])):
        label = "this table" if column == "accuracy" else "printed in table 5"
        bars = axes.bar(places + offset, 100 * shown[column], 0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="%.2f", fontsize=7, padding=2, rotation=90)
    names = [
        f"{tick_label(dataset, split)}\nn = {n:,}"
        for dataset, split, n in zip(shown["dataset"], shown["split"], shown["n"], strict=True)
    ]
    axes.set_xticks(places, names, fontsize=7)
    axes.set_ylim(0, 118)
    axes.set_ylabel("accuracy [%]")
    axes.legend(fontsize=8, loc="upper right")
    return finish(axes, frame, cell if cell != "optimal" else "optimal: the best of each column")


def _row(found: Measurements, column: Column, cell: str, place: int) -> dict[str, Any]:
    return {
        "cell": cell,
        "dataset": column.dataset,
        "split": column.split,
        "index": int(found.indices[place]),
        "architecture": found.table.hashes(found.rows[place])[0],
        "accuracy": float(column.accuracy[place]),
        "published": published_value(TABLE_5[cell], column.dataset, column.split) / 100,
        "n": column.n,
    }
