"""Comparing runs of any kind: `nb.compare` draws a figure, `compare_runs` and `compare_tasks` return the numbers."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.axes import AxesList, checked_axes, checked_axes_list
from nasbench1shot1.display.colours import Colors, checked_labels
from nasbench1shot1.display.curves import Trace, checked_spread
from nasbench1shot1.display.style import AnyStyle, Spread, look
from nasbench1shot1.evaluator import Baseline, common_baseline, dataset_of_regrets, mean_regret_of
from nasbench1shot1.experiments.comparison.entries import Entry, Over
from nasbench1shot1.experiments.comparison.opening import (
    axis_of,
    check_comparable,
    check_number,
    labels_of,
    open_entries,
    tasks_of,
)
from nasbench1shot1.experiments.comparison.statistics import Comparison, Contender
from nasbench1shot1.experiments.comparison.tasks import TaskComparison
from nasbench1shot1.experiments.rescoring import recorded_table, warn_of_other_values
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.reference_points import NO_REGRETS, Asked, MarkedRegrets, marked_regrets
from nasbench1shot1.registry import check_trusted, import_trusted, search_space
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.references import PRESENT
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes


def compare(
    runs: Iterable[Any],
    labels: Sequence[str] | None = None,
    over: Over | None = None,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    table: str | Path | Table | None = None,
    allow_module: str | None = None,
    spread: Spread | None = None,
    colors: Colors | None = None,
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> Any:
    """Plot the test regret of several runs in one figure.

    Each axes shows at most five curves: six to ten runs are drawn on two axes, one below the other. Runs on several
    tasks, which are different spaces, data sets, tables or scales, have a panel for each task.

    Args:
        runs: folders or records (from `nb.open_run`) of searches, groups of seeds, black-box studies and tuning
            studies; at most ten on each task.
        labels: one label per run. Default: the names of the optimizers. Runs with equal labels on different tasks are
            runs of one method.
        over: "epochs", "search-time", "simulated-time" or "evaluations". Default: "epochs" if all runs are searches,
            otherwise "simulated-time", or "evaluations" if a black-box study has no simulated time. Black-box studies
            can be plotted over simulated time and evaluations, tuning studies only over simulated time.
        ax: the axes to draw on; a pair of axes for more than five runs, and one or two for each task in the order of
            the tasks. Default: the axes of a new figure with a caption.
        table: table on which all architectures are scored, or its folder or name. Default: the recorded regrets.
        allow_module: a module that may be imported because the config.json of a run names it.
        spread: what the bands show: "ci" (default, the 95 % confidence interval of the mean), "std", "quartiles"
            or "range".
        colors: colours by label or optimizer, or one per run. Default: the methods' colours.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).
        mark: networks whose test regret is drawn as a horizontal line: names of the benchmark's reference points, such
            as "ResNet cell", architectures, or pairs of a name and an architecture. Default: none.

    Returns:
        The axes; `axes.figure.savefig(…)` saves the figure. For more than five runs or several tasks, a list of axes.
        `compare_runs` and `compare_tasks` return the numbers.

    Raises:
        UserError: no run is given, a folder is not a run, a run is given twice, runs are not comparable, a run does
            not support the axis, the table lacks an architecture, `ax` is not axes, `colors` are not colours, or `mark`
            is not a network of the table.
    """
    every = compare_tasks(runs, labels, over, table=table, allow_module=allow_module, spread=spread, mark=mark)
    return plot_tasks(every, ax, colors=colors, style=style)


def plot_tasks(
    every: TaskComparison,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    colors: Colors | None = None,
    style: AnyStyle | None = None,
) -> Any:
    """Draw the comparisons of all tasks, and return the axes as `nb.compare` does. Arguments: see there.

    Raises the errors of `plot_comparison`.
    """
    from nasbench1shot1.experiments.comparison.drawing import draw_tasks, task_axes, task_rows, tasks_figure

    if len(every.tasks) == 1:
        (found,) = every.tasks.values()
        return plot_comparison(found, ax, colors=colors, style=style)
    if ax is None:
        return AxesList(task_axes(tasks_figure(every.tasks, colors, style).axes, every.tasks))
    panels = checked_axes_list(ax, "task", len(every.tasks) * len(task_rows(every.tasks)))
    with look(style, panels[0]):
        return draw_tasks(every.tasks, panels, colors)


def plot_comparison(
    comparison: Comparison,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    colors: Colors | None = None,
    style: AnyStyle | None = None,
) -> Any:
    """Draw a comparison and return the axes; a list of two axes for more than five runs. Arguments: see `nb.compare`.

    Raises InvalidInputError if `ax` is not axes, or not as many as needed, or if `colors` or `style` do not fit.
    """
    from nasbench1shot1.experiments.comparison.drawing import comparison_figure, draw_rows, rows_of

    rows = len(rows_of(comparison))
    if ax is None:
        drawn = AxesList(comparison_figure(comparison, colors, style).axes)
    else:
        each = "row of at most five runs"
        given = [checked_axes(ax)] if rows == 1 else checked_axes_list(ax, each, rows)
        with look(style, given[0]):
            drawn = draw_rows(comparison, given, colors)
    return drawn[0] if rows == 1 else drawn


def compare_runs(
    runs: Iterable[Any],
    labels: Sequence[str] | None = None,
    over: str | None = None,
    *,
    table: str | Path | Table | None = None,
    allow_module: str | None = None,
    spread: Spread | None = None,
    mark: Iterable[Asked] | None = None,
) -> Comparison:
    """Return the curves, the table and the rank tests of several runs on one task.

    Arguments and errors are as in `compare`, and:

    Raises:
        InvalidInputError: the runs have different spaces, data sets, tables or scales. `compare_tasks` accepts them.
    """
    import_trusted(allow_module)
    entries = open_entries(runs)
    names, axis = labels_of(entries, labels), axis_of(entries, over)
    check_comparable(entries, table is not None)
    return _comparison(dict(zip(names, entries, strict=True)), axis, table, spread, mark)


def compare_tasks(
    runs: Iterable[Any],
    labels: Sequence[str] | None = None,
    over: str | None = None,
    *,
    table: str | Path | Table | None = None,
    allow_module: str | None = None,
    spread: Spread | None = None,
    mark: Iterable[Asked] | None = None,
) -> TaskComparison:
    """Return the comparisons of runs on one or several tasks, and the statistics over all tasks.

    A task is a search space, a data set, a table and a scale. Arguments and errors are as in `compare`. A black-box
    study has no scale; it takes part in the tasks of all scales on its space, data set and table.
    """
    import_trusted(allow_module)
    entries = open_entries(runs, most=None)
    axis, by_task = axis_of(entries, over), tasks_of(entries, table is not None)
    default = [entry.name for entry in entries]
    given = dict(zip(map(id, entries), checked_labels(labels, default, "run"), strict=True))
    tasks = {}
    for name, own in by_task.items():
        check_number(own)
        names = labels_of(own, None if labels is None else [given[id(entry)] for entry in own])
        tasks[name] = _comparison(dict(zip(names, own, strict=True)), axis, table, spread, mark)
    return TaskComparison(tasks)


def _comparison(
    entries: Mapping[str, Entry],
    axis: Over,
    table: str | Path | Table | None,
    spread: Spread | None,
    mark: Iterable[Asked] | None,
) -> Comparison:
    """Return the comparison of comparable runs, by label."""
    every = list(entries.values())
    facts = check_comparable(every, table is not None)
    baseline = common_baseline({name: found for entry in every for name, found in entry.baselines.items()})
    scored_on = None if table is None else _cover_space(table, every)
    for entry in every:
        warn_of_other_values(entry.records, scored_on)
    regrets = _marked(mark, every, scored_on)
    contenders = tuple(
        Contender(name, entry, tuple(_repetitions(entry, axis, scored_on))) for name, entry in entries.items()
    )
    goal = every[0].goal
    if scored_on is not None:
        if baseline is not None:
            space = search_space(every[0].configs[0]["space"]).name
            baseline = Baseline.of(space, scored_on, baseline.bounds, facts.dataset, goal.guide.metric)
        goal = goal.on_table(scored_on, facts.dataset)
        facts = facts._replace(table=scored_on.id, dataset=dataset_of_regrets(scored_on, facts.dataset))
    mean = mean_regret(every[0], scored_on, facts.dataset, goal, baseline)
    band = checked_spread(spread)
    return Comparison(contenders, axis, facts, goal, scored_on is not None, band, baseline, regrets, mean)


def mean_regret(
    entry: Entry, scored_on: Table | None, dataset: str, goal: Goal, baseline: Baseline | None
) -> float | None:
    """Return the mean test regret of the networks of a run's space, within the bounds if there are any.

    `scored_on` is the table of the regrets; None: the run's own. The result is None if the table cannot be opened, or
    does not have all test values.
    """
    with suppress(UserError):
        table = recorded_table(entry.run) if scored_on is None else scored_on
        if table is not None:
            space, within = search_space(entry.configs[0]["space"]).name, baseline.bounds if baseline else None
            return mean_regret_of(space, dataset, table, within, goal.guide.metric)
    return None


def _marked(mark: Iterable[Asked] | None, entries: Sequence[Entry], scored_on: Table | None) -> MarkedRegrets:
    """Return the regrets of marked networks in the table of the comparison."""
    if not mark:
        return NO_REGRETS
    run = entries[0].run
    return marked_regrets(mark, recorded_table(run) if scored_on is None else scored_on, run)


def _cover_space(table: str | Path | Table, entries: Sequence[Entry]) -> Table:
    """Return a table with the runs' space as reference; it may lack networks of the space if a run's table may."""
    opened = table if isinstance(table, Table) else load_table(table)
    configs = [(config, entry.folder) for entry in entries for config in entry.configs]
    config, folder = configs[0]
    check_trusted("search_spaces", "space", config["space"], folder / CONFIG)
    return opened.covering(search_space(config["space"]), any(of.get("reference") == PRESENT for of, _ in configs))


def _repetitions(entry: Entry, over: Over, table: Table | None) -> list[Trace]:
    found = entry.repetitions(over, table)
    if not found:
        raise entry.no_result_error()
    return found
