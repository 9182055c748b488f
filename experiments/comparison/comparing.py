"""Comparing runs of any kind: `nb.compare` draws a figure, `compare_runs` returns the numbers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.display.axes import checked_axes, checked_axes_list
from nasbench1shot1.experiments.comparison.comparison import Comparison, Contender
from nasbench1shot1.experiments.comparison.entries import (
    Entry,
    Over,
    Repetition,
    axis_of,
    check_comparable,
    labels_of,
    open_entries,
)
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.registry import check_trusted, import_trusted, search_space
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.coverage import PRESENT
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(
    runs: Iterable[Any],
    labels: Sequence[str] | None = None,
    over: Over | None = None,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    table: str | Path | Table | None = None,
    allow_module: str | None = None,
) -> Any:
    """Plot the test regret of several runs in one figure.

    Each axes shows at most five curves: six to ten runs are drawn on two axes, one below the other.

    Args:
        runs: folders or records (from `nb.open_run`) of searches, groups of seeds, black-box studies and tuning
            studies; at most ten.
        labels: one label per run. Default: the names of the optimizers.
        over: "epochs", "search-time" or "simulated-time". Default: "simulated-time" if any run is a study, otherwise
            "epochs". Studies can only be plotted over simulated time.
        ax: the axes to draw on; a pair of axes for more than five runs. Default: the axes of a new figure with a
            caption.
        table: table on which all architectures are scored, or its folder or name. Default: the recorded regrets.
        allow_module: a module that may be imported because the config.json of a run names it.

    Returns:
        The axes; `axes.figure.savefig(…)` saves the figure. For more than five runs, a list of two axes.
        `compare_runs` returns the numbers.

    Raises:
        UserError: no run is given, a folder is not a run, a run is given twice, runs are not comparable, a run does
            not support the axis, the table lacks an architecture, or `ax` is not axes.
    """
    from nasbench1shot1.experiments.comparison.drawing import comparison_figure, draw_rows, rows_of

    found = compare_runs(runs, labels, over, table=table, allow_module=allow_module)
    rows = len(rows_of(found))
    if ax is None:
        drawn = comparison_figure(found).axes
    elif rows == 1:
        drawn = draw_rows(found, [checked_axes(ax)])
    else:
        drawn = draw_rows(found, checked_axes_list(ax, "row of at most five runs", rows, "--ax"))
    return drawn[0] if rows == 1 else drawn


def compare_runs(
    runs: Iterable[Any],
    labels: Sequence[str] | None = None,
    over: str | None = None,
    *,
    table: str | Path | Table | None = None,
    allow_module: str | None = None,
) -> Comparison:
    """Return the curves, the table and the rank tests of several runs. Arguments and errors are as in `compare`."""
    import_trusted(allow_module)
    entries = open_entries(runs)
    names, axis = labels_of(entries, labels), axis_of(entries, over)
    facts = check_comparable(entries, table is not None)
    scored_on = None if table is None else _cover_space(table, entries)
    contenders = [
        Contender(name, entry, _repetitions(entry, axis, scored_on)) for name, entry in zip(names, entries, strict=True)
    ]
    facts = facts if scored_on is None else facts._replace(table=scored_on.id)
    return Comparison(contenders, axis, facts, scored_on is not None)


def _cover_space(table: str | Path | Table, entries: Sequence[Entry]) -> Table:
    """Return a table with the runs' space as reference; it may lack networks of the space if a run's table may."""
    opened = table if isinstance(table, Table) else load_table(table)
    configs = [(config, entry.folder) for entry in entries for config in entry.configs]
    config, folder = configs[0]
    check_trusted("search_spaces", "space", config["space"], folder / CONFIG)
    return opened.covering(search_space(config["space"]), any(of.get("reference") == PRESENT for of, _ in configs))


def _repetitions(entry: Entry, over: Over, table: Table | None) -> list[Repetition]:
    found = entry.repetitions(over, table)
    if not found:
        raise InvalidInputError(
            f"'{entry.folder}' does not have a result yet: remove it from the comparison or resume it"
        )
    return found
