"""The picture of importances: a row per space, with loss surfaces, importances and pairwise interactions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.experiments.tuning.importance import FANOVA, HYPERSHAP, PAIR, order_of
from nasbench1shot1.ground.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = ("#9ecae1", "#4292c6", "#084594", "#636363", "#252525")


@dataclass(frozen=True, eq=False)
class Row:
    """The analyses of the studies of one space.

    Attributes:
        title: name of the space.
        surfaces: a frame of `importance.marginal` for each budget.
        points: the observed pairs of hyperparameters for each budget, shape (N, 2).
        importances: the frame of `importance.importances`.
        interactions: the frame of `importance.interactions`; None if hypershap is not installed.
    """

    title: str
    surfaces: dict[int, pandas.DataFrame]
    points: dict[int, "np.ndarray[Any, Any]"]
    importances: pandas.DataFrame
    interactions: pandas.DataFrame | None


def draw_importances(rows: Sequence[Row], title: str, caption: str) -> "Figure":
    """Plot expected losses over cutout and weight decay for each budget, then importances, then pairwise interactions.

    Args:
        rows: one row per space; at least one.
        title: title of the figure.
        caption: text below the figure.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    budgets = sorted({budget for row in rows for budget in row.surfaces})
    pairwise = any(row.interactions is not None for row in rows)
    columns = len(budgets) + 1 + pairwise
    canvas = Figure(figsize=(3.1 * columns + 0.6, 2.7 * len(rows) + 1.5), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    grid = canvas.subplots(len(rows), columns, squeeze=False)
    for row, axes in zip(rows, grid, strict=True):
        _draw_surfaces(row, budgets, axes[: len(budgets)], canvas)
        _draw_importances(row, axes[len(budgets)])
        if pairwise:
            _draw_interactions(row, axes[-1])
    canvas.suptitle(title, fontsize=10)
    canvas.supxlabel(caption, fontsize=7, color="#444444")
    return canvas


def _draw_surfaces(row: Row, budgets: Sequence[int], axes: "Sequence[Axes]", canvas: "Figure") -> None:
    """Draw a surface for each budget; all of a row have one colour scale."""
    found = [frame["loss"] for frame in row.surfaces.values() if len(frame)]
    limits = (100 * min(map(min, found)), 100 * max(map(max, found))) if found else (0.0, 1.0)
    drawn = None
    for budget, ax in zip(budgets, axes, strict=True):
        frame = row.surfaces.get(budget)
        ax.set_title(f"{row.title}, {counted(budget, 'epoch')}", fontsize=9)
        if frame is None or not len(frame):
            ax.set_axis_off()
            ax.text(0.5, 0.5, "too few searches", ha="center", va="center", fontsize=8, transform=ax.transAxes)
            continue
        x, y = (np.unique(frame[name]) for name in PAIR)
        values = 100 * frame["loss"].to_numpy().reshape(len(x), len(y)).T
        drawn = ax.pcolormesh(x, y, values, cmap="viridis_r", vmin=limits[0], vmax=limits[1], shading="nearest")
        ax.plot(*row.points[budget].T, ".", color="white", markeredgecolor="black", markersize=5, markeredgewidth=0.4)
        ax.set_yscale("log")
        ax.set_xlabel(PAIR[0].replace("_", " "), fontsize=8)
    axes[0].set_ylabel(PAIR[1].replace("_", " "), fontsize=8)
    if drawn is not None:
        canvas.colorbar(drawn, ax=axes[-1]).set_label("expected validation error [%]", fontsize=7)


def _draw_importances(row: Row, axes: "Axes") -> None:
    frame = row.importances
    names, budgets = order_of(frame), sorted(set(frame["budget"]))
    height = 0.8 / max(len(budgets), 1)
    for number, budget in enumerate(budgets):
        own = frame[frame["budget"] == budget].set_index("hyperparameter")["importance"].reindex(names)
        places = np.arange(len(names)) + (number - (len(budgets) - 1) / 2) * height
        axes.barh(places, own.fillna(0.0), height, color=SHADES[number % len(SHADES)], label=counted(budget, "epoch"))
    axes.set_yticks(np.arange(len(names)), [name.replace("_", "\n", 1) for name in names], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_title(f"{row.title}, importance", fontsize=9)
    axes.set_xlabel(f"fraction of variance\n({FANOVA})", fontsize=7)
    axes.legend(fontsize=6, frameon=False, loc="lower right")
    axes.grid(alpha=0.25, axis="x")


def _draw_interactions(row: Row, axes: "Axes") -> None:
    """Draw a symmetric matrix: hyperparameters on the diagonal, pairs beside it."""
    frame = row.interactions
    axes.set_title(f"{row.title}, interactions", fontsize=9)
    if frame is None or not len(frame):
        axes.set_axis_off()
        return
    names = list(frame.loc[frame["second"] == "", "first"])
    matrix = np.full((len(names), len(names)), np.nan)
    for first, second, value in frame.itertuples(index=False):
        i, j = names.index(first), names.index(second or first)
        matrix[i, j] = matrix[j, i] = 1e4 * value
    largest = float(np.nanmax(np.abs(matrix))) or 1.0
    axes.imshow(matrix, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    for (i, j), value in np.ndenumerate(matrix):
        dark = abs(value) > 0.6 * largest
        axes.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize=7, color="white" if dark else "black")
    short = [name.replace("_", "\n", 1) for name in names]
    axes.set_xticks(range(len(names)), short, fontsize=6, rotation=45 if len(names) > 3 else 0)
    axes.set_yticks(range(len(names)), short, fontsize=6)
    axes.set_xlabel(f"variance in squared percentage points\n({HYPERSHAP})", fontsize=6)
