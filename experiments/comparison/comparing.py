"""Comparing runs of any kind: `nb.compare` draws a figure, `compare_runs` returns the numbers."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.axes import AxesList, checked_axes, checked_axes_list
from nasbench1shot1.display.colours import Colors, checked_labels
from nasbench1shot1.display.curves import Trace, checked_spread
from nasbench1shot1.display.style import PictureStyle, Spread, look
from nasbench1shot1.evaluator import Baseline, common_baseline
from nasbench1shot1.experiments.comparison.entries import (
    EPOCHS,
    EVALUATIONS,
    OVER,
    SIMULATED_TIME,
    BlackBoxEntry,
    Entry,
    Facts,
    Over,
    SearchEntry,
    TrajectoryEntry,
    TuningEntry,
)
from nasbench1shot1.experiments.comparison.statistics import Comparison, Contender
from nasbench1shot1.experiments.rescoring import recorded_table, warn_of_other_values
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option, quoted_option, unknown_name
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.one_shot_search.regret_curve import mean_regret_of
from nasbench1shot1.reference_points import NO_REGRETS, Asked, MarkedRegrets, marked_regrets
from nasbench1shot1.registry import check_trusted, import_trusted, search_space
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.tables.references import PRESENT
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes

MOST = 10
"""Maximum number of curves in a figure."""
KINDS = "searches, groups of seeds, black-box studies or tuning studies"


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
    style: PictureStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> Any:
    """Plot the test regret of several runs in one figure.

    Each axes shows at most five curves: six to ten runs are drawn on two axes, one below the other.

    Args:
        runs: folders or records (from `nb.open_run`) of searches, groups of seeds, black-box studies and tuning
            studies; at most ten.
        labels: one label per run. Default: the names of the optimizers.
        over: "epochs", "search-time", "simulated-time" or "evaluations". Default: "epochs" if all runs are searches,
            otherwise "simulated-time", or "evaluations" if a black-box study has no simulated time. Black-box studies
            can be plotted over simulated time and evaluations, tuning studies only over simulated time.
        ax: the axes to draw on; a pair of axes for more than five runs. Default: the axes of a new figure with a
            caption.
        table: table on which all architectures are scored, or its folder or name. Default: the recorded regrets.
        allow_module: a module that may be imported because the config.json of a run names it.
        spread: what the bands show: "ci" (default, the 95 % confidence interval of the mean by bootstrap), "std",
            "quartiles" or "range".
        colors: colours by label or optimizer, or one per run. Default: the methods' colours.
        style: "screen" (default) or "paper": without title and caption, as wide as a column, with embedded fonts.
        mark: networks whose test regret is drawn as a horizontal line: names of the benchmark's reference points, such
            as "ResNet cell", architectures, or pairs of a name and an architecture. Default: none.

    Returns:
        The axes; `axes.figure.savefig(…)` saves the figure. For more than five runs, a list of two axes.
        `compare_runs` returns the numbers.

    Raises:
        UserError: no run is given, a folder is not a run, a run is given twice, runs are not comparable, a run does
            not support the axis, the table lacks an architecture, `ax` is not axes, `colors` are not colours, or `mark`
            is not a network of the table.
    """
    found = compare_runs(runs, labels, over, table=table, allow_module=allow_module, spread=spread, mark=mark)
    return plot_comparison(found, ax, colors=colors, style=style)


def plot_comparison(
    comparison: Comparison,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    colors: Colors | None = None,
    style: PictureStyle | None = None,
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
        with look(style):
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
    """Return the curves, the table and the rank tests of several runs. Arguments and errors are as in `compare`."""
    import_trusted(allow_module)
    entries = open_entries(runs)
    names, axis = labels_of(entries, labels), axis_of(entries, over)
    facts = check_comparable(entries, table is not None)
    baseline = common_baseline({name: found for entry in entries for name, found in entry.baselines.items()})
    scored_on = None if table is None else _cover_space(table, entries)
    for entry in entries:
        warn_of_other_values(entry.records, scored_on)
    regrets = _marked(mark, entries, scored_on)
    contenders = [
        Contender(name, entry, _repetitions(entry, axis, scored_on)) for name, entry in zip(names, entries, strict=True)
    ]
    goal = entries[0].goal
    if scored_on is not None:
        if baseline is not None:
            space = search_space(entries[0].configs[0]["space"]).name
            baseline = Baseline.of(space, scored_on, baseline.bounds, facts.dataset, goal.guide.metric)
        facts = facts._replace(table=scored_on.id)
        goal = goal if goal.is_default else goal.on_table(scored_on, facts.dataset)
    mean = _mean_regret(entries[0], scored_on, facts, goal, baseline)
    band = checked_spread(spread)
    return Comparison(contenders, axis, facts, goal, scored_on is not None, band, baseline, regrets, mean)


def _mean_regret(
    entry: Entry, scored_on: Table | None, facts: Facts, goal: Goal, baseline: Baseline | None
) -> float | None:
    """Return the mean test regret of the networks of the space, within the bounds if there are any.

    None if the table cannot be opened, or does not have all test values.
    """
    with suppress(UserError):
        table = recorded_table(entry.run) if scored_on is None else scored_on
        if table is not None:
            space, within = search_space(entry.configs[0]["space"]).name, baseline.bounds if baseline else None
            return mean_regret_of(space, facts.dataset, table, within, goal.guide.metric)
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
        raise InvalidInputError(
            f"'{entry.folder}' does not have a result yet: remove it from the comparison or resume it"
        )
    return found


# Opening and checking runs before any computation ---------------------------------------------------------------------


def open_entries(runs: Any, most: int | None = MOST) -> list[Entry]:
    """Return one entry per run.

    Args:
        runs: folders or records (from `nb.open_run`), or a single folder or record.
        most: the largest number of runs; None: any number.

    Raises:
        InvalidInputError: no run or too many runs are given, a folder is not a run, a run has another kind, or a run is
            given twice.
        DamagedFileError: a run's config.json is damaged.
    """
    is_single = isinstance(runs, str | SearchGroup) or not isinstance(runs, Iterable)
    given = [runs] if is_single else list(runs)
    if not given:
        raise InvalidInputError(f"no run is given: give at least one folder of {KINDS}")
    if most is not None and len(given) > most:
        raise InvalidInputError(f"{len(given)} runs are too many for one figure: compare at most {most}")
    entries = [_entry(run) for run in given]
    _check_different(entries)
    return entries


def _entry(run: Any) -> Entry:
    record = open_run(run) if isinstance(run, str | Path) else run
    if isinstance(record, SearchGroup):
        return SearchEntry.from_group(record)
    if isinstance(record, SearchRecord):
        return SearchEntry.from_run(record)
    if isinstance(record, BlackBoxStudy):
        return (TrajectoryEntry if record.is_trajectory else BlackBoxEntry).from_study(record)
    if isinstance(record, Study):
        return TuningEntry.from_study(record)
    if isinstance(record, list | tuple):
        raise InvalidInputError("a list of runs within the list is not a group: give nb.load_run(the group's folder)")
    what = f"'{record.folder}' is a {record.KIND}" if hasattr(record, "KIND") else f"{record!r} is not a run"
    raise InvalidInputError(f"{what}: compare takes {KINDS}")


def _check_different(entries: Sequence[Entry]) -> None:
    """Raise InvalidInputError if a run is given twice, separately or as part of its group."""
    seen = dict[Path, Entry]()
    for entry in entries:
        for folder in entry.folders:
            if other := seen.get(folder.resolve()):
                within = (
                    "" if folder in (entry.folder, other.folder) and entry.kind == other.kind else " with its group"
                )
                raise InvalidInputError(f"'{folder}' is given twice{within}: give each run once")
        seen |= {folder.resolve(): entry for folder in entry.folders}


def labels_of(entries: Sequence[Entry], labels: Sequence[str] | None) -> list[str]:
    """Return the label of each entry: the given label, or the optimizer's name, with the folder if the name repeats.

    Raises InvalidInputError if the number of labels is wrong, a label is empty, or a label repeats.
    """
    found = [label.strip() for label in checked_labels(labels, _default_labels(entries), "run")]
    if not all(found) or len(set(found)) < len(found):
        raise InvalidInputError(
            f"{quoted_option('labels', ','.join(found))} contains an empty or repeated label: give different labels"
        )
    return found


def _default_labels(entries: Sequence[Entry]) -> list[str]:
    names = [entry.name for entry in entries]
    for part in (lambda folder: folder.resolve().name, str):
        names = [
            f"{entry.name} ({part(entry.folder)})" if names.count(name) > 1 else name
            for entry, name in zip(entries, names, strict=True)
        ]
    return names


def axis_of(entries: Sequence[Entry], over: str | None) -> Over:
    """Return the horizontal axis. Default: the first of epochs, simulated time and evaluations that all runs have.

    Raises InvalidInputError if the axis is unknown, a run does not support it, or the runs have no axis in common.
    """
    usual: list[Over] = [
        axis for axis in (EPOCHS, SIMULATED_TIME, EVALUATIONS) if all(axis in entry.axes for entry in entries)
    ]
    if over is None:
        if usual:
            return usual[0]
        clocks = {entry.axes: f"'{entry.folder}' ({entry.kind}) has {', '.join(entry.axes)}" for entry in entries}
        raise InvalidInputError(
            f"these runs have no clock in common ({'; '.join(clocks.values())}): compare them separately"
        )
    if over not in OVER:
        raise unknown_name("axis", over, OVER)
    if others := [f"'{entry.folder}' ({entry.kind})" for entry in entries if over not in entry.axes]:
        instead = f", or compare with {option('over', usual[0])}" if usual else ""
        raise InvalidInputError(
            f"{option('over', over)} does not apply to {', '.join(others)}: leave them out{instead}"
        )
    return next(axis for axis in OVER if axis == over)


def check_comparable(entries: Sequence[Entry], is_rescored: bool) -> Facts:
    """Return the space, data set, table and objective of all runs.

    Raises InvalidInputError if they differ. Different tables are allowed if all runs are scored again on one table.
    """
    by_facts = {facts: entry for entry in reversed(entries) for facts in entry.facts}
    first = min(entries[0].facts)
    parts = (("space", "search spaces"), ("dataset", "data sets"), ("table", "tables"), ("objective", "objectives"))
    for part, what in parts:
        values = {getattr(facts, part): entry for facts, entry in by_facts.items()}
        if len(values) > 1 and not (part == "table" and is_rescored):
            preposition = "with" if part == "objective" else "on"
            named = ", ".join(f"{value} ('{entry.folder}')" for value, entry in sorted(values.items(), key=_value))
            remedy = (
                f"score all runs on one table with {option('table')}"
                if part == "table"
                else f"compare only runs {preposition} the same {what[:-1]}"
            )
            raise InvalidInputError(f"regrets {preposition} different {what} are not comparable ({named}): {remedy}")
    return first


def _value(item: tuple[str, Entry]) -> str:
    return item[0]
