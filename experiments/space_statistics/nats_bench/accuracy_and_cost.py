"""Accuracy and cost of every architecture: NAS-Bench-201's figure 2, NATS-Bench's figure 3 and its Pareto fronts."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Mark, Panel, Series
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.experiments.rank_correlation import spearman
from nasbench1shot1.experiments.space_statistics import pareto
from nasbench1shot1.experiments.space_statistics.marked_rows import marked_rows
from nasbench1shot1.experiments.space_statistics.nats_bench.latencies import LATENCIES
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import (
    DATASETS,
    FEWEST,
    SPLITS,
    Column,
    Measurements,
    drawn_datasets,
)
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.tables.table import Table

Cost = Literal["trainable_parameters", "flops"]
AXES = {"trainable_parameters": "parameters [millions]", "flops": "FLOPs [millions]", "index": "official index"}


# Accuracy by index and by cost ----------------------------------------------------------------------------------------


def accuracy_by_cost(
    table: Table,
    cost: Cost = "trainable_parameters",
    kind: str = "all",
    splits: Sequence[str] = ("train", *SPLITS),
    mark: Iterable[Asked] | None = None,
) -> pandas.DataFrame:
    """Return training, validation and test accuracy of every architecture at the full budget, and its cost.

    Args:
        table: a table of NAS-Bench-201 or NATS-Bench.
        cost: "trainable_parameters", or "flops" of a forward pass on one image.
        kind: which architectures are included, a kind of the table's space.
        splits: the accuracies.
        mark: networks that the figure marks, as in `marked_rows`.

    Returns:
        `index` (official), `dataset`, `split`, `accuracy` (fraction, mean over seeds), the cost, and `n`, the number of
        architectures with this data set and split. `attrs["marks"]` has the marked networks, and `attrs["compared"]`
        compares the first of them, such as the ResNet cell, with the best test accuracy of each data set, among all
        architectures and among architectures of equal cost. `attrs["correlations"]` has Spearman's ρ of test accuracy
        and cost.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has none of the values.
    """
    found = Measurements(table, kind)
    columns = found.columns(splits)
    words = f"accuracy at {found.full_budget} epochs and {AXES[cost].split()[0]}"
    marks, notes = marked_rows(mark, table, found.rows)
    attributes = found.attributes(words, columns, *notes, cost=cost, splits=list(splits))
    parts = [part for column in columns if len(part := _long_format(found, column, cost))]
    if not parts:
        raise OutOfDomainError(
            f"no architecture of the table {table.id} has both an accuracy at {found.full_budget} epochs and "
            f"{AXES[cost].split()[0]}: open a table that has both"
        )
    frame = pandas.concat(parts, ignore_index=True)
    for of in marks:
        of["index"] = int(table.column("index")[of.pop("row")])
    more: dict[Any, Any] = {"marks": marks, "compared": _compare(frame, marks[0]["index"] if marks else None, cost)}
    frame.attrs = {**attributes, **more, "correlations": _correlations(frame, cost)}
    return frame


def accuracy_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return accuracies of each data set: test accuracy by index (with parameters), then each split by cost."""
    cost = frame.attrs["cost"]
    shown = [(split, cost) for split in frame.attrs["splits"]]
    by_index = [("test", "index")] if cost == "trainable_parameters" else []
    return [_panel(frame, dataset, *which) for dataset in drawn_datasets(frame) for which in (*by_index, *shown)]


def _panel(frame: pandas.DataFrame, dataset: str, split: str, against: str) -> Panel:
    shown = frame[(frame["dataset"] == dataset) & (frame["split"] == split)]
    x, y = shown[against] / (1 if against == "index" else 1e6), 100 * shown["accuracy"]
    title, marks = f"{DATASETS[dataset]}, {split}: n = {len(shown):,}", list[Mark]()
    for of in frame.attrs["marks"]:
        for at in np.flatnonzero(shown["index"] == of["index"]):
            marks.append(marked(of["name"], of["place"], float(x.iloc[at]), float(y.iloc[at]), "measured"))
    marks.insert(0, Series(x, y, marker="o", size=1.7, alpha=0.35))
    return Panel(title, Axis(AXES[against]), Axis(f"{split} accuracy [%]"), marks if len(shown) else [])


def _long_format(found: Measurements, column: Column, cost: Cost) -> pandas.DataFrame:
    """Return the architectures that have a value in a column, and the cost."""
    costs = found.cost(column.dataset, cost)
    has_both = column.known & ~np.isnan(costs)
    parts = {
        "index": found.indices[has_both],
        "dataset": column.dataset,
        "split": column.split,
        "accuracy": column.accuracy[has_both],
        cost: costs[has_both].astype(np.int64),
        "n": int(has_both.sum()),
    }
    return pandas.DataFrame(parts)


def _compare(frame: pandas.DataFrame, star: int | None, cost: Cost) -> list[dict[str, Any]]:
    """Return the marked architecture's test accuracy and the best test accuracies, for each data set."""
    compared = []
    for dataset, tested in frame[frame["split"] == "test"].groupby("dataset", sort=False):
        for of in tested[tested["index"] == star].to_dict("records"):
            equal = tested.loc[tested[cost] == of[cost], "accuracy"].max()
            best = tested["accuracy"].max()
            best_accuracies = {"best": float(best), "best_of_equal_cost": float(equal)}
            compared.append({"dataset": dataset, "accuracy": of["accuracy"], **best_accuracies})
    return compared


def _correlations(frame: pandas.DataFrame, cost: Cost) -> list[dict[str, Any]]:
    """Return Spearman's rank correlation of test accuracy and cost, for each data set."""
    tests = frame[frame["split"] == "test"].groupby("dataset", sort=False)
    return [
        {"dataset": dataset, "spearman": spearman(of["accuracy"].to_numpy(), of[cost].to_numpy()), "n": len(of)}
        for dataset, of in tests
        if len(of) >= FEWEST
    ]


# Pareto fronts --------------------------------------------------------------------------------------------------------


def pareto_fronts(table: Table, kind: str = "all", mark: Iterable[Asked] | None = None) -> pandas.DataFrame:
    """Return the lowest test error at each cost, such as FLOPs, and which of these architectures are Pareto-optimal.

    `latency_fronts` has the latencies of the bundled table's 27 device settings.

    Args:
        table: a table of NAS-Bench-201 or NATS-Bench.
        kind: which architectures are included, a kind of the table's space.
        mark: networks that the figure marks, as in `pareto.pareto_fronts`.

    Returns:
        What `pareto.pareto_fronts` returns, with the official `index` of each architecture.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has no test accuracy, or no cost.
    """
    found = Measurements(table, kind)
    attributes = found.attributes(f"test error at {found.full_budget} epochs", found.columns(("test",)))
    costs = [cost for cost in pareto.cost_metrics(table) if cost not in LATENCIES]
    frame = pareto.pareto_fronts(table, costs=costs, rows=found.rows, mark=mark)
    found.insert_indices(frame)
    notes = [*attributes["notes"], *frame.attrs["notes"]]
    frame.attrs |= {
        **attributes,
        "datasets": found.titles,
        "notes": notes,
    }
    return frame
