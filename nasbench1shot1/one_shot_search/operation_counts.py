"""The number of edges with each operation in the preferred architecture, by epoch, in spaces with operations on edges.

A growing number of skip connections is how DARTS collapses on NAS-Bench-201 (Dong and Yang 2020, section 5).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.operations import OPERATIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "none": "#d9d9d9",
    "skip_connect": "#c0392b",
    "nor_conv_1x1": "#7fb3d5",
    "nor_conv_3x3": "#1b6ca8",
    "avg_pool_3x3": "#e9c46a",
}


def operation_counts(runs: Sequence[Iterable[str]]) -> pandas.DataFrame | None:
    """Return the mean number of edges with each operation, by epoch.

    Args:
        runs: for each run, the texts of its architectures, epoch 0 first.

    Returns:
        A frame with a row for every epoch that all runs have, and a column for each operation; None if the
        architectures do not have operations on edges.
    """
    architectures = [[Architecture.parse(text) for text in texts] for texts in runs]
    if not all(isinstance(arch, EdgeArchitecture) for found in architectures for arch in found):
        return None
    counts = [
        pandas.DataFrame([{o: arch.operations.count(i) for i, o in enumerate(OPERATIONS)} for arch in found])  # type: ignore[attr-defined]
        for found in architectures
    ]
    epochs = min(map(len, counts))
    return sum(frame.iloc[:epochs] for frame in counts) / len(counts)  # type: ignore[return-value]


def draw_operation_counts(counts: pandas.DataFrame, axes: "Axes") -> "Axes":
    """Draw what `operation_counts` returned as stacked bars, with skip connections at the bottom."""
    from matplotlib.ticker import MaxNLocator

    bottom = pandas.Series(0.0, counts.index)
    for name in ("skip_connect", *(name for name in counts if name != "skip_connect")):
        axes.bar(counts.index, counts[name], 1.0, bottom, color=_COLOURS[str(name)], label=str(name))
        bottom += counts[name]
    axes.set_xlabel("search epoch (0: before training)")
    axes.set_ylabel("edges")
    axes.set_xlim(counts.index.min() - 0.5, counts.index.max() + 0.5)
    axes.set_ylim(0, bottom.max())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.42), ncols=5, frameon=False, fontsize=7)
    return axes
