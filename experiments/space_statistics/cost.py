"""Training time, parameters and accuracy of cells. NAS-Bench-101's figure 3."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.rank_correlation import pearson, spearman
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.locality import cell_distances
from nasbench1shot1.experiments.space_statistics.values import Floats, accuracy, cells_of, check_enough, known_values
from nasbench1shot1.ground.text import counted
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("training_time", "trainable_parameters", "accuracy")


def cost(
    table: Table,
    cell: Cell | None = None,
    split: str = "validation",
    epochs: int | None = None,
    predicted: bool = False,
) -> pandas.DataFrame:
    """Return training time, parameters and accuracy of every cell whose time and accuracy are known.

    Args:
        table: a table of NAS-Bench-101.
        cell: a cell whose neighbours are marked; it need not be in the table. Default: no marks.
        split: the split of the accuracy.
        epochs: budget. Default: the table's full budget.
        predicted: use estimates if the metric is not measured.

    Returns:
        A data frame with `hash`, `training_time` (s), `trainable_parameters`, `accuracy` (fraction), means over
        repeats, and `distance` from `cell` (differing edges and operations, see `locality`; <NA> without a cell).
        `attrs["pearson"]` and `attrs["spearman"]` have the correlations of all pairs. If the table lacks the cell,
        `attrs["notes"]` says so, and captions repeat it.

    Raises OutOfDomainError if fewer than three cells have both.
    """
    epochs = table.full_budget if epochs is None else epochs
    values = known_values(table, accuracy(split), epochs, predicted)
    seconds = known_values(table, "training_time", epochs, predicted)
    rows = np.intersect1d(values.rows, seconds.rows)
    check_enough(len(rows), 3, f"cells with both time and {values.what}", table)
    columns = {
        "hash": table.hashes(rows),
        "training_time": seconds.mean[rows],
        "trainable_parameters": np.asarray(table.column("trainable_parameters")[rows], np.int64),
        "accuracy": values.mean[rows],
    }
    frame = pandas.DataFrame(columns)
    distance = None if cell is None else cell_distances(cells_of(table)[rows], cell.encoding)
    is_missing = distance is not None and not (distance == 0).any()
    frame["distance"] = pandas.array([pandas.NA] * len(rows) if distance is None else distance, dtype="Int64")
    frame.attrs = values.attributes(
        quantity=f"{split} accuracy and training time at {epochs} epochs",
        predicted=values.predicted or seconds.predicted,
        rows=len(rows),
        dropped=len(table) - len(rows),
        split=split,
        pearson=_pairs(frame, pearson),
        spearman=_pairs(frame, spearman),
        **({"notes": [_missing_note(cell, int((frame["distance"] == 1).sum()))]} if cell and is_missing else {}),
    )
    return frame


def _missing_note(cell: Cell, near: int) -> str:
    """Return a sentence about a given cell without time or accuracy in the table, of which `near` neighbours have."""
    marked = f"only {counted(near, 'neighbour')} of it can be marked" if near else "neither it nor neighbours are"
    return f"The given cell {cell.hash} is not among these rows; {marked}."


def plot_cost(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw time against parameters, coloured by accuracy, with the best cell, the given cell and its neighbours."""
    axes = axes_or_new(ax)
    shown = frame.sort_values("accuracy")
    points = axes.scatter(
        shown["trainable_parameters"] / 1e6,
        shown["training_time"],
        c=100 * shown["accuracy"],
        vmin=100 * float(frame["accuracy"].quantile(0.1)),
        cmap="viridis",
        s=3,
        linewidths=0,
        rasterized=True,
    )
    bar = axes.figure.colorbar(points, ax=axes, extend="min")
    bar.set_label(f"{frame.attrs['split']} accuracy [%]")
    _mark(axes, shown.iloc[[-1]], "*", COLOURS[1], f"most accurate ({100 * shown['accuracy'].iloc[-1]:.1f} %)")
    for distance, marker, label in ((1, "o", "one edit from the given cell"), (0, "s", "the given cell")):
        near = shown[(shown["distance"] == distance).fillna(False)]
        if len(near):
            _mark(axes, near, marker, COLOURS[1], f"{label} ({len(near)})")
    axes.set_xlabel("trainable parameters [millions]")
    axes.set_ylabel("training time [s]")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, loc="lower right")
    return finish(axes, frame, "Time, parameters and accuracy")


def _mark(axes: "Axes", cells: pandas.DataFrame, marker: str, colour: str, label: str) -> None:
    axes.scatter(
        cells["trainable_parameters"] / 1e6,
        cells["training_time"],
        marker=marker,
        s=150 if marker == "*" else 32,
        facecolors=colour if marker == "*" else "none",
        edgecolors="black" if marker == "*" else colour,
        label=label,
    )


def _pairs(frame: pandas.DataFrame, coefficient: Callable[[Floats, Floats], float]) -> dict[str, float]:
    return {
        f"{a}, {b}": coefficient(frame[a].to_numpy(float), frame[b].to_numpy(float))
        for i, a in enumerate(COLUMNS)
        for b in COLUMNS[i + 1 :]
    }
