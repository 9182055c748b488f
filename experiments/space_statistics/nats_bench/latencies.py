"""Pareto fronts of test error and latency on each device of HELP (Lee et al., NeurIPS 2021)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Mark, Panel, Series
from nasbench1shot1.display.colours import BLUE, GREEN, PURPLE, VERMILION
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.experiments.rank_correlation import spearman
from nasbench1shot1.experiments.space_statistics import pareto
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import REFERENCE, Measurements
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.nasbench201.embedded_table import DEVICES
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.tables.columns import Column
from nasbench1shot1.tables.table import Table

LATENCIES = tuple(f"latency_{name}" for name in DEVICES)
"""The metrics of the 27 device settings."""
_BATCH = ", batch size "
_FRONTS = {
    "1": ("batch size 1", BLUE, "-"),
    "32": ("batch size 32", GREEN, "--"),
    "256": ("batch size 256", VERMILION, "-"),
    "": ("devices with one setting", PURPLE, "-"),
}
"""Label, colour and dashes of the front of each batch size, empty where a device has only one."""


def latency_fronts(table: Table, kind: str = "all", mark: Iterable[Asked] | None = None) -> pandas.DataFrame:
    """Return the Pareto-optimal architectures of test error and latency, for each device setting.

    Args:
        table: a table of NAS-Bench-201 with latencies.
        kind: which architectures are included, a kind of the space nb201.
        mark: networks that the figure marks, as in `pareto.pareto_fronts`.

    Returns:
        What `pareto.pareto_fronts` returns, only of the architectures on a front. `attrs["correlations"]` has
        Spearman's correlation of each latency with the FLOPs on CIFAR-10.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has no test accuracy, or no latency of a device.
    """
    found = Measurements(table, kind)
    attributes = found.attributes(f"test error at {found.full_budget} epochs and latency", found.columns(("test",)))
    metrics = [metric for metric in LATENCIES if metric in table.metrics]
    if not metrics:
        raise OutOfDomainError(f"the table {table.id} has no latencies of devices: open the table 'nb201'")
    frame = pareto.pareto_fronts(table, costs=metrics, rows=found.rows, predicted=True, mark=mark, only_front=True)
    found.insert_indices(frame)
    training = table.objective(REFERENCE).test
    flops = found.cost(REFERENCE, "flops")
    abouts = {metric: table.about(metric, training) for metric in metrics}
    correlations = {m: spearman(table.values(m, dataset=training)[found.rows, 0], flops) for m in metrics}
    modelled = [str(about.device) for about in abouts.values() if about.fidelity == "modelled"]
    measured = f"measured, except on {' and '.join(modelled)}, where a model computed them" if modelled else "measured"
    notes = [
        *attributes["notes"],
        f"lines: Pareto fronts on CIFAR-10; test accuracy is measured; latencies are {measured}",
        *frame.attrs["notes"][1:],
        *(f"{about.device}: {about.caveat}" for about in abouts.values() if about.caveat),
    ]
    about: dict[Any, Any] = {
        "metrics": frame.attrs["metrics"],
        "metric": frame.attrs["metric"],
        "marks": frame.attrs["marks"],
    }
    frame.attrs = {**attributes, **about, "datasets": found.titles, "correlations": correlations, "notes": notes}
    return frame


def latency_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the fronts on CIFAR-10, one panel for each device; the batch sizes of a GPU share a panel."""
    abouts = {metric: Column.from_entry(entry) for metric, entry in frame.attrs["metrics"].items()}
    devices: dict[str, list[str]] = {}
    for metric in (metric for metric in LATENCIES if metric in abouts):
        devices.setdefault(str(abouts[metric].device).partition(_BATCH)[0], []).append(metric)
    return [_panel(frame, device, metrics, abouts) for device, metrics in devices.items()]


def _panel(frame: pandas.DataFrame, device: str, metrics: list[str], abouts: dict[str, Column]) -> Panel:
    fronts: list[Mark] = []
    points: list[Mark] = []
    for metric in metrics:
        shown = frame[(frame["dataset"] == REFERENCE) & (frame["cost"] == metric)]
        label, colour, dashes = _FRONTS[str(abouts[metric].device).partition(_BATCH)[2]]
        look: dict[str, Any] = {"color": colour, "line": dashes, "marker": "o", "size": 3, "steps": True}
        fronts.append(Series(shown["value"], 100 * shown["error"], label=label, **look))
        for of in frame.attrs["marks"]:
            if of["dataset"] == REFERENCE and metric in of:
                points.append(marked(of["name"], of["place"], of[metric], 100 * of["error"], of["source"]))
    modelled = " (modelled)" if abouts[metrics[0]].fidelity == "modelled" else ""
    return Panel(f"{device}{modelled}", Axis("latency [ms]"), Axis("test error [%]", log=True), [*fronts, *points])


def latency_summary(frame: pandas.DataFrame) -> str:
    """Return the sizes of the fronts on CIFAR-10, and how latency correlates with FLOPs, in one line."""
    sizes = frame[frame["dataset"] == REFERENCE].groupby("cost").size()
    correlations = frame.attrs["correlations"]
    lowest, highest = (of(correlations, key=correlations.__getitem__) for of in (min, max))
    return (
        f"CIFAR-10 fronts of {sizes.min()} to {sizes.max()} architectures on {len(sizes)} device settings; Spearman of "
        f"latency and FLOPs: {correlations[lowest]:.3f} ({lowest}) to {correlations[highest]:.3f} ({highest}); mean "
        f"{np.mean(list(correlations.values())):.3f}"
    )
