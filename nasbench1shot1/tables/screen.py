"""The description of a table on the screen: its metrics, budgets and repeats, and what is measured or predicted."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.table import Table as Screen

from nasbench1shot1.ground.errors import alternatives, flag
from nasbench1shot1.ground.text import counted, literal_console, print_table, print_to_stdout
from nasbench1shot1.tables.columns import ESTIMATED, PARTLY_MEASURED
from nasbench1shot1.tables.description import MetricNames
from nasbench1shot1.tables.stored_columns import stored_column
from nasbench1shot1.tables.table import Table

_FIDELITIES = {
    ESTIMATED: "predicted, shrunk toward the measurement where there is one",
    PARTLY_MEASURED: "measured where there is a measurement, else predicted",
}


def show_table(table: Table) -> None:
    """Print what a table contains, where its values come from, and how good its predictions are."""
    console, info = literal_console(), table.info()
    network, networks = table.benchmark.networks
    rows, repeats = counted(info["rows"], network), counted(info["repeats"], "repeat")
    if table.seeds:
        repeats = f"up to {repeats}"
    budget = "budget" if len(table.epochs) - len(table.empty_budgets) == 1 else "budgets"
    budgets = f"{budget} of {budgets_text(table)} epochs"
    print_to_stdout(f"Table {info['id']}: {rows}, {budgets}, {repeats} per {network} and budget")
    if table.empty_budgets:
        print_to_stdout(f"No metric has values at {alternatives(table.empty_budgets)} epochs.")
    print_to_stdout(f"Data set{'s' if len(table.datasets) > 1 else ''}: {', '.join(table.datasets)}")
    if table.is_part:
        print_to_stdout(f"The table contains only part of its space: regret is relative to the best of its {networks}.")
    if text := table.source:
        print_to_stdout(f"Source: {text}")
    if info["spaces"]:
        print_to_stdout("; ".join(f"{space}: {counted(n, network)}" for space, n in info["spaces"].items()))
    print_to_stdout(f"Folder: {table.folder or 'none, because the table is only in memory'}")
    screen = Screen("metric", "epochs", "description")
    screen.columns[0].no_wrap = True  # names are copied
    for row in _rows(table, info["columns"]):
        screen.add_row(*row)
    print_table(screen, console)
    if others := [name for name, about in info["columns"].items() if "fidelity" in about and "metric" not in about]:
        print_to_stdout(f"Columns without a metric (keys, encodings, and memberships in spaces): {', '.join(others)}")
    if len(table.datasets) > 1:
        print_to_stdout(
            f"METRIC@DATASET names a cost on one data set, as in {flag('max')} flops@{table.objectives[0].dataset}=1e8."
        )
    for told in (table.info().get("description"), table.missing):
        if told:
            print_to_stdout(told)
    for column, about in info.get("fidelity", {}).items():
        for epochs, figures in _by_budget(about, info["epochs"][-1]).items():
            if isinstance(figures, dict) and isinstance(figures.get("spearman"), float):
                top = figures.get("spearman_above_0.9")
                among = f", {top:.3f} among cells measured above 90 %" if top else ""
                what = f"{column} at {epochs} epochs: Spearman {figures['spearman']:.3f}{among}"
                print_to_stdout(f"Cross-validated, {what}")


def budgets_text(table: Table) -> str:
    """Return the budgets at which a table has values."""
    return ", ".join(str(epochs) for epochs in table.epochs if epochs not in table.empty_budgets)


def _by_budget(about: Any, full: int) -> dict[Any, Any]:
    """Return the fidelity of a column at each budget; a column without budgets was checked at the full one."""
    if not isinstance(about, dict):
        return {}
    return about if all(isinstance(figures, dict) for figures in about.values()) else {full: about}


def _rows(table: Table, columns: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return a row for each metric: its name, its epochs and its description.

    A row stands for all data sets on which these agree. Learning curves have rows of their own.
    """
    names, found = MetricNames(columns), dict[tuple[str, str, str], list[str]]()
    companions = {(of.metric, of.dataset, of.moment): n for n, of in names.about.items() if names.is_companion(n)}
    for name, column in names.about.items():
        if name in companions.values():
            continue
        about, is_curve = columns[name], isinstance(column.moment, int)
        facts = ["learning curves" if is_curve else _in_words(table, name, about)]
        if other := companions.get((column.metric, column.dataset, column.moment)):
            facts.append(f"measurements: {_gaps(table, other, columns[other]) or 'all rows'}")
        facts += ["half-way"] if column.moment == "halfway" else []
        epochs = ", ".join(map(str, column.epochs))
        if is_curve:
            epochs = _of_curves(stored_column(table.columns()[name], about, name))
        found.setdefault((column.metric, epochs, "; ".join(facts)), []).extend((column.dataset, *column.also_of))
    order = {metric: place for place, metric in enumerate(names.metrics)}
    rows = []
    for (metric, epochs, what), datasets in sorted(found.items(), key=lambda item: order[item[0][0]]):
        on = "on all data sets" if len(datasets) == len(table.datasets) else f"on {', '.join(datasets)}"
        rows.append((metric, epochs, f"{what}; {on}" if len(table.datasets) > 1 else what))
    return rows


def _of_curves(column: Any) -> str:
    """Return the epochs at which learning curves have a value, as a text."""
    known, length = column.known_epochs, column.stored.shape[1]
    if len(known) == length > 1:
        return f"1 to {length}"
    return ", ".join(map(str, known)) if len(known) <= 4 else f"{len(known)} of {length} epochs"


def _in_words(table: Table, name: str, about: Mapping[str, Any]) -> str:
    """Return what a column is: where its values come from, its unit, direction and device, and its gaps."""
    direction = about.get("direction")
    facts = [
        _FIDELITIES.get(about["fidelity"], about["fidelity"]),
        about.get("unit"),
        direction and f"{direction} is better",
        about.get("device") and f"on {about['device']}",
        _repeats(table, name, about),
        about.get("means") and f"means over repeats at {', '.join(map(str, about['means']))} epochs",
        _gaps(table, name, about),
        about.get("caveat"),
    ]
    return "; ".join(filter(None, facts))


def _repeats(table: Table, name: str, about: Mapping[str, Any]) -> str:
    """Return the number of measured repeats of a metric at each budget with single repeats, as a text."""
    if not (epochs := about.get("epochs")) or about["fidelity"] != "measured":
        return ""
    if about.get("is_same_for_repeats"):
        return "one value for all repeats"
    values = table.columns()[name]
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(values.shape, bool)
    counts, budgets = known.sum(axis=2), dict[str, list[int]]()
    for place, budget in enumerate(epochs):
        here = counts[:, place][counts[:, place] > 0]
        if len(here) and budget not in about.get("means", ()):
            least, most = int(here.min()), int(here.max())
            text = counted(most, "repeat") if least == most else f"{least} to {counted(most, 'repeat')}"
            budgets.setdefault(text, []).append(budget)
    if list(budgets.values()) == [list(epochs)]:
        return next(iter(budgets))
    return "; ".join(f"{text} at {', '.join(map(str, of))} epochs" for text, of in budgets.items())


def _gaps(table: Table, name: str, about: Mapping[str, Any]) -> str:
    """Return how many rows have a value of a metric, at each of its budgets; empty if all have one."""
    values = table.columns()[name]
    if values.dtype.kind != "f":
        return ""
    known = ~np.isnan(values.reshape(len(values), len(about.get("epochs", ())) or 1, -1))
    rows = known.any(axis=-1).sum(axis=0).tolist()
    of = f"of {len(table):,} rows"
    if len(set(rows)) == 1:
        return f"{rows[0]:,} {of}" if rows[0] < len(table) else ""
    budgets: dict[int, list[int]] = {}
    for n, epochs in zip(rows, about["epochs"], strict=True):
        budgets.setdefault(n, []).append(epochs)
    return "; ".join(
        f"{n:,} {of} at {', '.join(map(str, epochs))} epochs" for n, epochs in budgets.items() if n < len(table)
    )
