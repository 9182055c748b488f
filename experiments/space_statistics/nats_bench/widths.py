"""Analyses of NATS-Bench's size space: accuracy by the width of each layer, the best architectures and known ones."""

from typing import Any

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Bars, Panel, Series
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import DATASETS, Column, Measurements
from nasbench1shot1.ground.text import number_range
from nasbench1shot1.nats_size.architecture import LAYERS, WIDTHS
from nasbench1shot1.nats_size.benchmark import BENCHMARK
from nasbench1shot1.nats_size.numbering import all_widths
from nasbench1shot1.tables.table import Table

BEST, MEAN, MEDIAN, WORST = "best", "mean", "median", "worst"


# Accuracy by width ----------------------------------------------------------------------------------------------------


def accuracy_by_width(table: Table) -> pandas.DataFrame:
    """Return the mean, lowest and highest test accuracy of the architectures that have a width in a layer.

    Args:
        table: a table of NATS-Bench's size space.

    Returns:
        `dataset`, `layer` (one of `LAYERS`), `width`, `mean`, `low`, `high` (fractions, at the full budget), and `n`,
        the number of architectures with this width and a value.

    Raises:
        InvalidInputError: the table is of another benchmark.
        OutOfDomainError: the table has no test accuracy.
    """
    found = Measurements(table, of=BENCHMARK)
    columns = found.columns(("test",))
    attributes = found.attributes(f"test accuracy at {found.full_budget} epochs", columns)
    widths = all_widths()[found.indices]
    rows = [
        _of_width(column, layer, width, widths[:, place] == width)
        for column in columns
        if column.n
        for place, layer in enumerate(LAYERS)
        for width in WIDTHS
    ]
    frame = pandas.DataFrame([row for row in rows if row["n"]])
    frame.attrs = attributes
    return frame


def _of_width(column: Column, layer: str, width: int, has_width: Any) -> dict[str, Any]:
    values = column.accuracy[has_width & column.known]
    of = {"dataset": column.dataset, "layer": layer, "width": width, "n": len(values)}
    if not len(values):
        return of
    return {**of, "mean": float(values.mean()), "low": float(values.min()), "high": float(values.max())}


def width_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the mean accuracy by width, with one line for each layer, for each data set."""
    return [_width_panel(frame[frame["dataset"] == name], name) for name in frame["dataset"].unique()]


def _width_panel(shown: pandas.DataFrame, dataset: str) -> Panel:
    marks = []
    for layer, marker in zip(LAYERS, "os^vD", strict=True):
        of = shown[shown["layer"] == layer]
        look: dict[str, Any] = {"line": "-", "marker": marker, "size": 4, "label": layer}
        marks.append(Series(of["width"], 100 * of["mean"], **look))
    ticks = {width: str(width) for width in WIDTHS}
    title = f"{DATASETS[dataset]}: n = {number_range(shown['n'].tolist())} per point"
    return Panel(title, Axis("width of the layer [channels]", ticks=ticks), Axis("mean test accuracy [%]"), marks)


def width_headline(frame: pandas.DataFrame) -> str:
    """Return the mean accuracy at the smallest and the largest width of the last layer, which matters most."""
    last = frame[frame["layer"] == LAYERS[-1]].set_index(["dataset", "width"])["mean"]
    listed = [
        f"{DATASETS[name]} {100 * last[name].iloc[0]:.2f} to {100 * last[name].iloc[-1]:.2f}"
        for name in last.index.get_level_values("dataset").unique()
    ]
    return f"mean test accuracy in % from {WIDTHS[0]} to {WIDTHS[-1]} channels in {LAYERS[-1]}: {', '.join(listed)}"


# The best architectures and known ones --------------------------------------------------------------------------------


def known_architectures(table: Table) -> pandas.DataFrame:
    """Return the best and the worst architecture, known ones, and the mean and median accuracy, by data set.

    Without a bound on costs, the largest network is close to the best one; so its regret is a baseline for searches.

    Args:
        table: a table of NATS-Bench's size space.

    Returns:
        `dataset`, `network` ("best", "worst", a name of `Benchmark.reference_points`, "mean" or "median"), `accuracy`
        (fraction, test, at the full budget), `regret` (fraction), `better`, the number of architectures with a higher
        accuracy, and `n`, the number of architectures with a value. Single architectures also have the official
        `index`, `architecture`, `trainable_parameters` and `flops`. Ties for the best and the worst have a row each.

    Raises:
        InvalidInputError: the table is of another benchmark.
        OutOfDomainError: the table has no test accuracy.
    """
    found = Measurements(table, of=BENCHMARK)
    columns = found.columns(("test",))
    attributes = found.attributes(f"test accuracy at {found.full_budget} epochs", columns)
    frame = pandas.DataFrame([row for column in columns if column.n for row in _rows_of(found, column)])
    frame[["index", "trainable_parameters", "flops"]] = frame[["index", "trainable_parameters", "flops"]].astype(
        "Int64"
    )
    frame.attrs = attributes
    return frame


def _rows_of(found: Measurements, column: Column) -> list[dict[str, Any]]:
    accuracy = column.accuracy
    best, worst = (np.flatnonzero(accuracy == extreme(accuracy)).tolist() for extreme in (np.nanmax, np.nanmin))
    known = ((name, found.place(text)) for name, text in BENCHMARK.reference_points.items())
    named = [(name, place) for name, place in known if place is not None and column.known[place]]
    single = [*((BEST, place) for place in best), *named, *((WORST, place) for place in worst)]
    rows = [_row(column, name, float(accuracy[place]), **_facts(found, column, place)) for name, place in single]
    nothing = dict.fromkeys(("index", "architecture", "trainable_parameters", "flops"))
    averages = ((MEAN, np.nanmean(accuracy)), (MEDIAN, np.nanmedian(accuracy)))
    return rows + [_row(column, name, float(value), **nothing) for name, value in averages]


def _row(column: Column, network: str, accuracy: float, **facts: Any) -> dict[str, Any]:
    of = {"dataset": column.dataset, "network": network, **facts, "accuracy": accuracy}
    regret, better = float(np.nanmax(column.accuracy)) - accuracy, int((column.accuracy > accuracy).sum())
    return {**of, "regret": regret, "better": better, "n": column.n}


def _facts(found: Measurements, column: Column, place: int) -> dict[str, Any]:
    known = {name: float(found.cost(column.dataset, name)[place]) for name in ("trainable_parameters", "flops")}
    costs = {name: None if np.isnan(cost) else int(cost) for name, cost in known.items()}
    text = found.table.hashes(found.rows[place])[0]
    return {"index": int(found.indices[place]), "architecture": text, **costs}


def known_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the accuracies of the best, of known and of the worst architectures, for each data set."""
    return [_known_panel(frame[frame["dataset"] == name], name) for name in frame["dataset"].unique()]


def _known_panel(shown: pandas.DataFrame, dataset: str) -> Panel:
    once = shown.drop_duplicates("network").sort_values("accuracy", kind="stable")
    places, accuracies = np.arange(len(once)), 100 * once["accuracy"].to_numpy()
    texts = [f"{value:.2f}" for value in accuracies]
    names = [
        f"{network} ({text})" if isinstance(text, str) else network
        for network, text in zip(once["network"], once["architecture"], strict=True)
    ]
    ticks = dict(zip(places.tolist(), names, strict=True))
    low = max(0.0, 10 * float(np.floor(accuracies.min() / 10 - 0.5)))
    high = low + 1.15 * (float(accuracies.max()) - low)  # with space for the texts
    across = Axis("test accuracy [%]", low=low, high=high)
    up = Axis("", low=-0.5, high=len(once) - 0.5, ticks=ticks)
    title = f"{DATASETS[dataset]}: n = {once['n'].iloc[0]:,}"
    return Panel(title, across, up, [Bars(places, accuracies, texts=texts, horizontal=True)])


def known_headline(frame: pandas.DataFrame) -> str:
    """Return the regret of the largest network, and how many architectures are better than it."""
    name = next(iter(BENCHMARK.reference_points))
    listed = [
        f"{DATASETS[row['dataset']]} {100 * row['regret']:.2f} ({row['better']} better)"
        for row in frame[frame["network"] == name].to_dict("records")
    ]
    if not listed:
        return f"the {name} is not among these architectures"
    return f"test regret of always choosing the {name}, in percentage points: {', '.join(listed)}"
