"""Accuracy and cost of every architecture: NAS-Bench-201's figure 2, NATS-Bench's figure 3 and its Pareto fronts."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, GREY, finish
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import (
    DATASETS,
    RESNET,
    SPLITS,
    Column,
    Measurements,
)
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cost = Literal["trainable_parameters", "flops"]
AXES = {"trainable_parameters": "parameters [millions]", "flops": "FLOPs [millions]", "index": "official index"}
COSTS: tuple[Cost, ...] = ("trainable_parameters", "flops")


# Accuracy by index and by cost ----------------------------------------------------------------------------------------


def accuracy_by_cost(table: Table, cost: Cost = "trainable_parameters", kind: str = "all") -> pandas.DataFrame:
    """Return training, validation and test accuracy of every architecture at the full budget, and its cost.

    Args:
        table: a table of NAS-Bench-201.
        cost: "trainable_parameters", or "flops" of a forward pass on one image.
        kind: which architectures are included, a kind of the space nb201.

    Returns:
        `index` (official), `dataset`, `split`, `accuracy` (fraction, mean over seeds), the cost, and `n`, the number of
        architectures with this data set and split. `attrs["resnet"]` compares the ResNet cell with the best test
        accuracy of each data set, among all architectures and among architectures of equal cost.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has none of the values.
    """
    found = Measurements(table, kind)
    columns = found.columns(("train", *SPLITS))
    words = f"accuracy at {found.full_budget} epochs and {AXES[cost].split()[0]}"
    attributes = found.attributes(words, columns, "star: the ResNet cell", cost=cost)
    frame = pandas.concat([_long_format(found, column, cost) for column in columns if column.n], ignore_index=True)
    place = found.place(RESNET)
    star = None if place is None else int(found.indices[place])
    frame.attrs = {**attributes, "resnet_index": star, "resnet": _compare(frame, star, cost)}
    return frame


def plot_accuracy(
    frame: pandas.DataFrame, ax: "Axes | None" = None, *, dataset: str, split: str = "test", against: str
) -> "Axes":
    """Draw accuracies of a data set and split against "index", "trainable_parameters" or "flops"."""
    axes = axes_or_new(ax)
    shown = frame[(frame["dataset"] == dataset) & (frame["split"] == split)]
    scale = 1 if against == "index" else 1e6
    axes.scatter(
        shown[against] / scale,
        100 * shown["accuracy"],
        s=3,
        alpha=0.35,
        linewidths=0,
        color=COLOURS[0],
        rasterized=True,
    )
    star = shown[shown["index"] == frame.attrs["resnet_index"]]
    axes.scatter(
        star[against] / scale, 100 * star["accuracy"], marker="*", s=170, color=COLOURS[4], edgecolors="black", zorder=3
    )
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(AXES[against])
    axes.set_ylabel(f"{split} accuracy [%]")
    if shown.empty:
        axes.text(0.5, 0.5, "not in this table", transform=axes.transAxes, ha="center", color=GREY)
        axes.set_xticks([])
        axes.set_yticks([])
    return finish(axes, frame, f"{DATASETS[dataset]}, {split}: n = {len(shown):,}")


def _long_format(found: Measurements, column: Column, cost: Cost) -> pandas.DataFrame:
    """Return the architectures that have a value in a column."""
    parts = {
        "index": found.indices,
        "dataset": column.dataset,
        "split": column.split,
        "accuracy": column.accuracy,
        cost: found.cost(column.dataset, cost),
        "n": column.n,
    }
    return pandas.DataFrame(parts)[column.known]


def _compare(frame: pandas.DataFrame, star: int | None, cost: Cost) -> list[dict[str, Any]]:
    """Return the ResNet cell's test accuracy and the best test accuracies, for each data set."""
    compared = []
    for dataset, tested in frame[frame["split"] == "test"].groupby("dataset", sort=False):
        for resnet in tested[tested["index"] == star].to_dict("records"):
            equal = tested.loc[tested[cost] == resnet[cost], "accuracy"].max()
            best = tested["accuracy"].max()
            best_accuracies = {"best": float(best), "best_of_equal_cost": float(equal)}
            compared.append({"dataset": dataset, "accuracy": resnet["accuracy"], **best_accuracies})
    return compared


# Pareto fronts --------------------------------------------------------------------------------------------------------


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
