"""Pareto fronts of a metric and its costs, such as test error and parameters or latency, in tables of any benchmark.

Names, units and directions follow from the descriptions of the table's columns, so a new column gets a front without
further code.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.benchmark import load
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Panel, Series
from nasbench1shot1.display.colours import BLUE, VERMILION
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.display.style import CAPTION_COLOUR
from nasbench1shot1.experiments.space_statistics.analysis import Analysis
from nasbench1shot1.experiments.space_statistics.marked_rows import absence_notes, points_to_mark
from nasbench1shot1.experiments.space_statistics.values import accuracy, no_values_error
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.reference_points import Asked, ReferencePoint
from nasbench1shot1.tables.columns import Column, standard
from nasbench1shot1.tables.stored_columns import Rows, mean_of_known
from nasbench1shot1.tables.table import Table

MANY = 100
"""From this number of distinct costs, a figure shows dots instead of circles, and no medians."""
WIDE = 50
"""From this ratio of the highest to the lowest cost, the cost axis of a figure is logarithmic."""


def pareto_fronts(
    table: Table,
    metric: str = "test_accuracy",
    costs: Iterable[str] | None = None,
    epochs: int | None = None,
    rows: Rows | None = None,
    predicted: bool = False,
    mark: Iterable[Asked] | None = None,
    only_front: bool = False,
) -> pandas.DataFrame:
    """Return the best value of a metric at each cost, and which of these networks are Pareto-optimal.

    Args:
        table: a table of any benchmark.
        metric: any metric with a direction.
        costs: other metrics with a direction. Default: `cost_metrics`.
        epochs: budget of the metric, and of costs that have budgets. Default: the table's full budget.
        rows: rows of the table that are included, such as `table.members("s1")`. Default: all.
        predicted: use estimates of metrics that are not measured.
        mark: networks that figures mark, as in `reference_points.reference_points`. Default: the first reference point
            of the benchmark.
        only_front: return only Pareto-optimal networks.

    Returns:
        A data frame with a row for each data set, each of `costs` (`cost`) and each distinct value of this cost
        (`value`), from the best value to the worst. The other columns: `architecture`, the best network at this value,
        as `Table.hashes` writes it (ties go to the first row of the table); `error`, its 1 - accuracy, or what
        `Column.cost` returns for another metric; `median_error`, the median over all networks at this value;
        `on_front`, whether the network is Pareto-optimal; `n`, the number of networks at this value; and `of`, the
        number of networks for which metric and cost are known. Values are means over repeats. `attrs["metrics"]` has
        the descriptions of the metrics, and `attrs["marks"]` has the values of each marked network on each data set.

    Raises:
        InvalidInputError: a metric is unknown, or neither high nor low values of it are better.
        OutOfDomainError: the table lacks the budget, the metric or all costs.
    """
    epochs = table.full_budget if epochs is None else epochs
    rows = np.arange(len(table)) if rows is None else np.asarray(rows)
    asked = [cost for cost in cost_metrics(table) if cost != metric] if costs is None else list(costs)
    pairs = [pair for pair in _pairs(table, metric, asked, epochs, predicted) if len(pair.known(rows))]
    if not pairs:
        raise _no_cost_error(table, asked, epochs, predicted)
    frame = pandas.concat([pair.front(rows, only_front) for pair in pairs], ignore_index=True)
    shown, place = np.unique(frame.pop("row"), return_inverse=True)  # many networks are the best at more than one cost
    names = table.hashes(shown)
    frame.insert(list(frame.columns).index("value") + 1, "architecture", [names[at] for at in place.tolist()])
    frame.attrs = _attributes(table, pairs, rows, epochs)
    if left_out := [_name(_describe(table, cost)) for cost in asked if cost not in frame.attrs["metrics"]]:
        kind = "" if predicted else "measured "
        frame.attrs["notes"].append(f"left out, because this table has no {kind}values: {', '.join(left_out)}")
    points = points_to_mark(mark, table)
    values = [_values_of(point, place, table, pairs, rows) for place, point in enumerate(points)]
    frame.attrs["marks"] = [of_dataset for of_point in values for of_dataset in of_point]
    if mark is not None:
        frame.attrs["notes"] += absence_notes(points, [bool(of_point) for of_point in values], table)
    return frame


def cost_metrics(table: Table) -> list[str]:
    """Return the metrics whose lower values are better, except losses: parameters, FLOPs, latencies and times.

    They include the costs that the benchmark computes for tables without them (`Benchmark.costs`). Metrics that depend
    on the budget, such as the training time, come last.
    """
    described = {metric: _describe(table, metric) for metric in (*table.metrics, *_computed_costs(table))}
    costs = [metric for metric, about in described.items() if about.direction == "lower" and about.split is None]
    return sorted(costs, key=lambda metric: bool(described[metric].epochs))


# Figures and results in words -----------------------------------------------------------------------------------------


def front_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return a panel for each cost and data set, cost by cost."""
    shown = frame[["cost", "dataset"]].drop_duplicates()
    return [
        _panel(frame, dataset, cost)
        for cost in shown["cost"].unique()
        for dataset in shown.loc[shown["cost"] == cost, "dataset"]
    ]


def _panel(frame: pandas.DataFrame, dataset: str, cost: str) -> Panel:
    """Return the front, the best and the median value at each cost, and the marked network."""
    described = frame.attrs["metrics"]
    shown = frame[(frame["dataset"] == dataset) & (frame["cost"] == cost)]
    across = _Scale(Column.from_entry(described[cost]), shown["value"])
    up = _Scale(Column.from_entry(described[frame.attrs["metric"]]), shown["error"], is_minimised=True)
    x, y, front = across(shown["value"]), up(shown["error"]), shown["on_front"]
    look: dict[str, Any] = {"label": f"{up.extreme} at a cost", "color": BLUE}
    if len(shown) < MANY:
        median: dict[str, Any] = {"label": "median at a cost", "color": CAPTION_COLOUR, "marker": "o", "size": 2}
        marks = [Series(x, up(shown["median_error"]), **median), Series(x, y, marker="o", hollow=True, **look)]
    else:
        marks = [Series(x, y, marker="o", size=1.5, **look)]
    line: dict[str, Any] = {"color": VERMILION, "line": "-", "marker": "o", "size": 5, "steps": True}
    marks.append(Series(x[front], y[front], label="Pareto front", **line))
    shown_marks = [of for of in frame.attrs.get("marks", ()) if of["dataset"] == dataset and cost in of]
    return Panel(
        f"{frame.attrs['datasets'][dataset]}: n = {shown['of'].iloc[0]:,}, {front.sum():,} on the front",
        Axis(across.label, log=bool(x.min() > 0 and x.max() >= WIDE * x.min())),
        Axis(up.label, log=bool(y.min() > 0)),
        [
            *marks,
            *(marked(of["name"], of["place"], across(of[cost]), up(of["error"]), of["source"]) for of in shown_marks),
        ],
    )


def front_sizes(frame: pandas.DataFrame) -> str:
    """Return the number of networks on each front, in one line."""
    sizes = frame.groupby(["dataset", "cost"], sort=False)["on_front"].sum().reset_index()
    listed = [
        f"{frame.attrs['datasets'][row['dataset']]}, {row['cost'].replace('_', ' ')}: {row['on_front']}"
        for row in sizes.to_dict("records")
    ]
    return f"{frame.attrs['unit']} on the front: {'; '.join(listed)}"


class _Scale:
    """The scale of an axis: accuracies as errors in percent, large numbers in millions, all else in its unit.

    Attributes:
        extreme: which values are better, "lowest" or "highest".
    """

    def __init__(self, about: Column, values: "pandas.Series[Any]", is_minimised: bool = False) -> None:
        """Choose the scale of a metric, given its values or, with `is_minimised`, what is minimised instead."""
        is_higher_better, is_fraction = about.direction == "higher", about.unit == "fraction"
        is_error = is_minimised and is_higher_better and is_fraction
        in_millions = not about.unit and len(values) > 0 and values.abs().max() >= 1e6
        self._name = _error_name(about) if is_error else _name(about)
        self._unit = "%" if is_fraction else "millions" if in_millions else about.unit
        self._factor = 100 if is_fraction else 1e-6 if in_millions else 1
        self._factor *= -1 if is_minimised and is_higher_better and not is_fraction else 1
        self.extreme = "highest" if is_higher_better and not is_error else "lowest"

    def __call__(self, values: Any) -> Any:
        """Return values as they are drawn."""
        return values * self._factor

    @property
    def label(self) -> str:
        """The label of the axis, with its unit."""
        return f"{self._name} [{self._unit}]" if self._unit else self._name


def _error_name(about: Column) -> str:
    """Return what is minimised if a metric is optimised, such as "test error" for the test accuracy."""
    if about.unit != "fraction" or about.direction != "higher":
        return _name(about)
    return about.words.replace("accuracy", "error") if "accuracy" in about.words else f"1 - {about.words}"


def _name(about: Column) -> str:
    """Return the name of a metric, such as "FLOPs" or "latency edgegpu on Jetson TX2"."""
    name = about.quantity if about.quantity.lower() == about.words.lower() else about.words
    return name if about.device is None or about.device.lower() in name.lower() else f"{name} on {about.device}"


def _fronts_of_split(
    table: Table, split: str, predicted: bool, mark: Iterable[Asked] | None = None
) -> pandas.DataFrame:
    return pareto_fronts(table, accuracy(split), predicted=predicted, mark=mark)


PARETO_FRONTS = Analysis(
    _fronts_of_split,
    front_panels,
    front_sizes,
    "test",
    takes=("predicted", "split", "mark"),
    columns=3,
    panel_inches=(4.2, 3.4),
)
"""The analysis of accuracy and costs that every benchmark has."""


# Values ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Known:
    """The values of a metric in a training.

    Attributes:
        training: the data set of the training.
        about: the description of the values.
        values: (R,) means over the repeats of each row of the table, NaN if unknown.
        measured: (R,) bool: whether a row has a measurement.
    """

    training: str
    about: Column
    values: NDArray[Any]
    measured: NDArray[np.bool_]

    def source_of(self, row: int) -> str:
        """Return whether the value of a row is measured, in words."""
        return self.about.source(bool(self.measured[row]))


@dataclass(frozen=True, eq=False)
class _Pair:
    """A metric and a cost on the data set of a search."""

    dataset: str
    metric: _Known
    cost: _Known

    def known(self, rows: Rows) -> Rows:
        """Return the rows for which metric and cost are known."""
        known = np.isfinite(self.metric.values[rows]) & np.isfinite(self.cost.values[rows])
        return np.asarray(rows[known], np.int64)

    def front(self, rows: Rows, only_front: bool) -> pandas.DataFrame:
        """Return the best network at each cost, as `row`; ties go to the first row."""
        rows = self.known(rows)
        values, errors = self.cost.values[rows], self.metric.about.cost(self.metric.values[rows])
        every = pandas.DataFrame(
            {"minimised": self.cost.about.cost(values), "value": values, "error": errors, "row": rows}
        )
        errors_by_cost = every.groupby("minimised")["error"]
        best = every.loc[errors_by_cost.idxmin()].reset_index(drop=True)
        best["median_error"], best["n"] = errors_by_cost.median().to_numpy(), errors_by_cost.size().to_numpy()
        cheaper = best["error"].cummin().shift(fill_value=np.inf)
        best["on_front"] = best["error"] < cheaper
        best = best[best["on_front"]].reset_index(drop=True) if only_front else best
        best["dataset"], best["cost"], best["of"] = self.dataset, self.cost.about.metric, len(rows)
        return best[["dataset", "cost", "value", "row", "error", "median_error", "on_front", "n", "of"]]


def _pairs(table: Table, metric: str, costs: Sequence[str], epochs: int, predicted: bool) -> list[_Pair]:
    """Return the metric with each cost on each data set that has both; raises OutOfDomainError without the metric.

    Costs belong to the metric's training if it has them, because they depend on the numbers of classes and pixels.
    """
    split, judged, pairs = _describe(table, metric).split, False, []
    for objective in table.objectives:
        both = objective.test, objective.validation
        trainings = both if split is None else both[:1] if split == "test" else both[1:]
        found = _find(table, metric, trainings, epochs, predicted)
        if found is not None:
            judged = True
            known = [_find(table, cost, (found.training, *both), epochs, predicted) for cost in costs]
            pairs += [_Pair(objective.dataset, found, cost) for cost in known if cost is not None]
    if not judged:
        raise no_values_error(table, metric, epochs, predicted, instead="use its validation accuracy")
    return pairs


def _computed_costs(table: Table) -> list[str]:
    """Return the costs that the benchmark computes from the networks, because the table lacks them."""
    return [metric for metric in table.benchmark.costs if metric not in table.metrics]


def _find(table: Table, metric: str, trainings: Iterable[str], epochs: int, predicted: bool) -> _Known | None:
    """Return a metric in the first training that has values of it; None if there is none."""
    if metric in _computed_costs(table):
        values = load(table.benchmark.costs[metric], f"the {metric} of {table.benchmark.title}")(table)
        return _Known(next(iter(trainings)), _describe(table, metric), values, np.ones(len(values), bool))
    for training in trainings:
        repeats = (table.values if predicted else table.measured)(metric, epochs, training)
        if np.isfinite(repeats).any():
            about = table.about(metric, training)
            is_companion = not predicted and not about.is_measured  # measurements beside estimates
            found = np.isfinite(table.measured(metric, epochs, training)).any(axis=1) if predicted else None
            measured = np.asarray(np.isfinite(repeats).any(axis=1) if found is None else found)
            described = replace(about, fidelity="measured") if is_companion else about
            return _Known(training, described, _means(repeats), measured)
    return None


def _means(repeats: NDArray[Any]) -> NDArray[Any]:
    """Return means over the repeats that have a value; single values keep their type."""
    if repeats.shape[1] == 1:
        return np.asarray(repeats[:, 0])
    return mean_of_known(repeats)


def _describe(table: Table, metric: str) -> Column:
    """Return the description of a metric in the first training that has it; raises InvalidInputError if unknown."""
    if metric in _computed_costs(table):
        return standard(metric, table.datasets[0])
    having = [dataset for dataset in table.datasets if table.stored(metric, dataset) is not None]
    return table.about(metric, (*having, *table.datasets)[0])


def _attributes(table: Table, pairs: Sequence[_Pair], rows: Rows, epochs: int) -> dict[Any, Any]:
    metric, used = pairs[0].metric.about, np.unique(np.concatenate([pair.known(rows) for pair in pairs]))
    trainings = {pair.metric.training for pair in pairs}
    measured = [np.isfinite(table.measured(metric.metric, epochs, name)[used]).any(axis=1) for name in trainings]
    described: dict[str, list[Column]] = {}
    for about in (*(pair.metric.about for pair in pairs), *(pair.cost.about for pair in pairs)):
        described.setdefault(about.metric, []).append(about)
    return {
        "table": table.id,
        "quantity": f"{_error_name(metric)} at {epochs} epochs and costs",
        "predicted": any(not about.is_measured for abouts in described.values() for about in abouts),
        "unit": table.benchmark.networks[1],
        "rows": len(used),
        "measured_rows": int(np.any(measured, axis=0).sum()),
        "dropped": len(rows) - len(used),
        "metric": metric.metric,
        "metrics": {name: abouts[0].entry() for name, abouts in described.items()},
        "datasets": {pair.dataset: pair.dataset for pair in pairs},
        "notes": [", ".join(map(_fidelity, described.values()))],
    }


def _fidelity(abouts: Sequence[Column]) -> str:
    """Return how the values of a metric were obtained on all data sets, such as "FLOPs (exact)"."""
    kinds = dict.fromkeys(about.fidelity for about in abouts)
    name = _error_name(abouts[0]) if abouts[0].split else _name(abouts[0])
    return f"{name} ({', '.join(kinds)})"


def _values_of(
    point: ReferencePoint, place: int, table: Table, pairs: Sequence[_Pair], rows: Rows
) -> list[dict[str, Any]]:
    """Return the values of a marked network, one dictionary for each data set; empty if the rows lack it."""
    row = table.row_of(point.network) if point.network in table else None
    found: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        if row is not None and row in pair.known(rows):
            named = {"name": point.name, "place": place, "dataset": pair.dataset, "source": pair.metric.source_of(row)}
            error = float(pair.metric.about.cost(pair.metric.values[row]))
            found.setdefault(pair.dataset, {**named, "error": error})
            found[pair.dataset][pair.cost.about.metric] = pair.cost.values[row].item()
    return list(found.values())


def _no_cost_error(table: Table, asked: Sequence[str], epochs: int, predicted: bool) -> OutOfDomainError:
    """Return the error for a table without any of the costs."""
    if asked:
        return no_values_error(table, asked[0], epochs, predicted)
    return OutOfDomainError(
        f"the table {table.id} has no costs, such as parameters, a latency or a training time: open another table"
    )
