"""Which architectures have the lowest test error for their cost? NATS-Bench discusses these fronts with figure 3."""

from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, GREY, finish
from nasbench1shot1.experiments.space_statistics.nasbench201.accuracy_by_cost import AXES, Cost
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import (
    DATASETS,
    RESNET,
    Column,
    Measurements,
)
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COSTS: tuple[Cost, ...] = ("trainable_parameters", "flops")


def pareto_fronts(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return the lowest test error at each number of parameters and of FLOPs, and which of these are Pareto-optimal.

    Args:
        table: a table of NAS-Bench-201.
        kind: which architectures are included, a kind of the space nb201.

    Returns:
        A row for each data set, measure (`cost`: "trainable_parameters" or "flops") and distinct `value` of it,
        ascending: `index` and `architecture` (official) of the most accurate architecture of that cost, ties to the
            lowest index, its `error` (fraction, at the full budget), `median_error` of all architectures of that cost,
            `on_front` (no architecture is better in one respect without being worse in the other), `n`, the number of
            architectures of that cost, and `of`, the number of architectures with a value on the data set.
            `attrs["resnet"]` has the ResNet cell.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has no test accuracy.
    """
    found = Measurements(table, kind)
    columns = found.columns(("test",))
    attributes = found.attributes(f"test error at {found.full_budget} epochs", columns, "star: the ResNet cell")
    known = [column for column in columns if column.n]
    frame = pandas.concat([_lowest(found, column, cost) for column in known for cost in COSTS], ignore_index=True)
    frame.attrs = {**attributes, "resnet": _resnet(found, known)}
    return frame


def plot_pareto_front(frame: pandas.DataFrame, ax: "Axes | None" = None, *, dataset: str, cost: str) -> "Axes":
    """Draw the front, the lowest and the median error at each cost, and the ResNet cell."""
    axes = axes_or_new(ax)
    shown = frame[(frame["dataset"] == dataset) & (frame["cost"] == cost)]
    front = shown[shown["on_front"]]
    axes.plot(
        shown["value"] / 1e6, 100 * shown["median_error"], ".", color=GREY, markersize=4, label="median at a cost"
    )
    axes.plot(shown["value"] / 1e6, 100 * shown["error"], "o", mfc="none", color=COLOURS[0], label="lowest at a cost")
    label = f"Pareto front ({len(front)})"
    axes.step(
        front["value"] / 1e6, 100 * front["error"], "o-", where="post", color=COLOURS[1], markersize=5, label=label
    )
    for star in [star for star in frame.attrs["resnet"] if star["dataset"] == dataset]:
        x, y = star[cost] / 1e6, 100 * star["error"]
        axes.plot(x, y, "*", color=COLOURS[4], markeredgecolor="black", markersize=13, label="ResNet")
    axes.set_yscale("log")
    axes.set_xlabel(AXES[cost])
    axes.set_ylabel("test error [%, log scale]")
    _percent_ticks(axes)
    axes.legend(fontsize=7, loc="upper right")
    n = int(shown["of"].iloc[0]) if len(shown) else 0
    return finish(axes, frame, f"{DATASETS[dataset]}: n = {n:,}")


def _lowest(found: Measurements, column: Column, cost: Cost) -> pandas.DataFrame:
    """Return the lowest error at each cost; ties go to the lowest index, because rows ascend by index."""
    places = np.flatnonzero(column.known)
    every = pandas.DataFrame(
        {"value": found.cost(column.dataset, cost)[places], "error": 1 - column.accuracy[places], "place": places}
    )
    errors_by_cost = every.groupby("value")["error"]
    best = every.loc[errors_by_cost.idxmin()].reset_index(drop=True)
    best["median_error"], best["n"] = errors_by_cost.median().to_numpy(), errors_by_cost.size().to_numpy()
    cheaper = best["error"].cummin().shift(fill_value=np.inf)
    best["on_front"] = best["error"] < cheaper
    best["index"] = found.indices[best["place"]]
    best["architecture"] = found.table.hashes(found.rows[best["place"]])
    best["dataset"], best["cost"], best["of"] = column.dataset, cost, column.n
    names = ["dataset", "cost", "value", "index", "architecture", "error", "median_error", "on_front", "n", "of"]
    return best[names]


def _resnet(found: Measurements, columns: list[Column]) -> list[dict[str, object]]:
    place = found.place(RESNET)
    return [
        {
            "dataset": column.dataset,
            "error": 1 - float(column.accuracy[place]),
            **{cost: int(found.cost(column.dataset, cost)[place]) for cost in COSTS},
        }
        for column in columns
        if place is not None and column.known[place]
    ]


def _percent_ticks(axes: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
