"""Numbers of encodings that prune to the top cells (isomorphic copies), as in NAS-Bench-101's figure 6 (right)."""

from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, graphs
from nasbench1shot1.experiments.space_statistics.top_cells import copies, top_rows
from nasbench1shot1.experiments.space_statistics.values import accuracy, cells_of, known_values, vertices_of
from nasbench1shot1.nasbench101.encoding import VERTEX_BIT
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def isomorphic_copies(
    table: Table,
    split: str = "test",
    epochs: int | None = None,
    top: int | None = None,
    vertices: int | None = None,
    rule: str = "pruned",
    predicted: bool = False,
) -> pandas.DataFrame:
    """Return the top cells and the number of encodings (labelled V × V matrices) that prune to each.

    Args:
        table: a table of NAS-Bench-101.
        split: the split of the accuracy.
        epochs: budget. Default: the table's full budget.
        top: number of cells. Default: all cells within two standard errors of the best, or without repeats the 12 best.
        vertices: V, the number of vertices of an encoding. Default: the number of vertices of the table's largest
            cells; 7 in NAS-Bench-101, which has 2²¹ · 3⁵ = 509,607,936 encodings.
        rule: whether the "pruned" cell or the "raw" matrix may have at most nine edges.
        predicted: use estimates if the metric is not measured.

    Returns:
        A data frame, best cell first, with `hash`, `accuracy` (fraction, mean over repeats), `vertices`, `copies` and
        `cumulative_share` (of all encodings, including invalid ones). `attrs["copies"]` is the sum of the copies,
        `attrs["encodings"]` the number of all encodings.

    Raises OutOfDomainError if accuracy is unknown, InvalidInputError if the rule or a number is invalid.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    rows, which = top_rows(values, top)
    codes = cells_of(table)[rows]
    space = graphs(vertices_of(table, vertices))
    counted = copies(codes, space, rule)
    total = len(space.edges) * N_OPERATIONS**space.inner
    frame = pandas.DataFrame(
        {
            "hash": table.hashes(rows),
            "accuracy": values.mean[rows],
            "vertices": (codes >> np.uint64(VERTEX_BIT)).astype(np.int64),
            "copies": counted,
            "cumulative_share": np.cumsum(counted) / total,
        }
    )
    odds = f"one in {total / counted.sum():,.0f}"
    frame.attrs = values.attributes(
        split=split,
        copies=int(counted.sum()),
        encodings=total,
        notes=[f"{which}: {counted.sum():,} of {total:,} encodings, {odds}"],
    )
    return frame


def plot_isomorphic_copies(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the number of copies of each top cell, best first."""
    axes = axes_or_new(ax)
    ranks = np.arange(1, len(frame) + 1)
    bars = axes.bar(ranks, frame["copies"], color=COLOURS[0])
    if len(frame) <= 16:
        axes.bar_label(bars, [f"{count:,}" for count in frame["copies"]], fontsize=8, padding=2)
        names = [f"{rank}\n{100 * value:.2f}" for rank, value in zip(ranks, frame["accuracy"], strict=True)]
        axes.set_xticks(ranks, names, fontsize=7)
    axes.set_yscale("log")
    axes.set_ylim(0.8, 3 * frame["copies"].max())
    below = ", with its accuracy [%]" if len(frame) <= 16 else ""
    axes.set_xlabel(f"top cell by {frame.attrs['split']} accuracy{below}")
    axes.set_ylabel("number of encodings that prune to the cell")
    return finish(axes, frame, f"Isomorphic copies: {frame.attrs['copies']:,} encodings of {len(frame)} top cells")
