"""The output of a comparison: the tables of `nb1shot1 compare` on the screen, and its files."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
from rich.console import Console
from rich.table import Column
from rich.table import Table as Screen

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.axes import figure_data, save_figure
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.experiments.comparison.accuracies import NAME as ACCURACIES
from nasbench1shot1.experiments.comparison.drawing import (
    baseline_label,
    comparison_figure,
    objective_text,
    tasks_figure,
)
from nasbench1shot1.experiments.comparison.measures import interval_name
from nasbench1shot1.experiments.comparison.overviews import (
    critical_difference_figure,
    distribution_figure,
    profile_figure,
)
from nasbench1shot1.experiments.comparison.rank_tests import FEWEST, describe_effect
from nasbench1shot1.experiments.comparison.sentences import (
    TEST_WORDS,
    common_time_text,
    missing_text,
    progress_text,
    row_name,
)
from nasbench1shot1.experiments.comparison.statistics import COMMON, END, Comparison
from nasbench1shot1.experiments.comparison.tasks import TaskComparison
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import PictureFormat, atomic_folder, check_replaceable, picture_files
from nasbench1shot1.ground.text import counted, line_printer, print_table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Figure

FIGURE, DISTRIBUTION, RANKS, PROFILE = "comparison", "distribution", "average_ranks", "profile"
"""Names of the figures. Each has a CSV file of the same name, but `CURVES` has the curves of the first one."""
RESULTS, CURVES, RANK_TESTS, WINS = "comparison.csv", "comparison-curves.csv", "rank_tests.csv", "win_tie_loss.csv"
TABLE, TASKS, METHODS = "table", "tasks", "methods.txt"
"""Names of the tables in Markdown and LaTeX, and of the text for a paper."""
FILES = {
    *(RESULTS, CURVES, RANK_TESTS, WINS, METHODS, f"{ACCURACIES}-by-epoch.csv", f"{ACCURACIES}.md"),
    *(name for figure in (FIGURE, DISTRIBUTION, RANKS, PROFILE, ACCURACIES) for name in picture_files(f"{figure}.png")),
    *(f"{name}.{suffix}" for name in (TABLE, TASKS) for suffix in ("md", "tex")),
}
MOMENTS = {END: "end", COMMON: "common time"}
"""The moments of rank tests on the screen."""
WIDE, WIDEST = 130, 150
"""Columns of a terminal that show the kind and the optimizer of every run, and all statistics."""


# Screen ---------------------------------------------------------------------------------------------------------------


def show(found: TaskComparison, files: Sequence[Path], console: Console) -> None:
    """Print the table and the rank tests of each task, the statistics over all tasks, and the paths of the files."""
    print_line = line_printer(console)
    if found.separation:
        print_line(found.separation)
    for comparison in found.tasks.values():
        _show_task(comparison, console)
    if len(found.win_tie_loss) and len(found.tasks) > 1:
        print_table(_wins(found.win_tie_loss), console)
    if ranks := found.ranks:
        statistic, p = ranks.friedman
        average = ", ".join(f"{label} {rank:.2f}" for label, rank in ranks.averages.items())
        print_line(
            f"Average ranks: {average} (Friedman test: χ² = {statistic:.2f}, p = {p:.2g}; Nemenyi's critical "
            f"difference {ranks.critical_difference:.2f})."
        )
    for text in filter(None, [found.ranks_note, *(f"Warning: {text}" for text in found.warnings)]):
        print_line(text)
    for file in files:
        print_line(f"Written: {file}")


def _show_task(comparison: Comparison, console: Console) -> None:
    """Print the table, the rank tests and the sentences of one task."""
    print_line = line_printer(console)
    print_table(_results(comparison, console.width), console)
    if comparison.ends_differ and comparison.results["common_mean"].isna().any():
        print_line(f"–: some searches do not have a result after {common_time_text(comparison)}.")
    baseline = f"Baseline: {label}." if (label := baseline_label(comparison)) else ""
    bounds = [comparison.baseline.sentence, baseline] if comparison.baseline else []
    texts = (objective_text(comparison), *bounds, missing_text(comparison), progress_text(comparison))
    for text in filter(None, texts):
        print_line(text)
    if len(comparison.rank_tests):
        print_table(_tests(comparison), console)
    if text := _left_out(comparison):
        print_line(text)


def _results(comparison: Comparison, width: int) -> Screen:
    """Return the table for a terminal of some width; results.csv always has all columns."""
    facts, goal = comparison.facts, comparison.goal
    where = f"{comparison.space}, {facts.dataset}, table {facts.table}"
    screen = Screen(title=f"{goal.with_unit(goal.title)}, {comparison.source}; {where}", title_justify="left")
    names = ("label", "kind", "optimizer") if width >= WIDE else ("label",)
    for name in names:
        screen.add_column(name)
    counts = [contender.n for contender in comparison.contenders]
    interval = interval_name(counts).replace("; ", ";\n")
    columns = {"median": "final_median", "best": "final_best"}
    if comparison.ends_differ:
        columns[f"after\n{common_time_text(comparison)}"] = "common_mean"
    if width >= WIDEST:
        columns |= {"std": "final_std", "anytime": "anytime_mean"}
        columns |= {"anytime,\nlog axis": "log_anytime_mean"} if comparison.has_log_areas else {}
    for name in ("n", f"mean\n[{interval}]" if any(n > 1 for n in counts) else "mean", *columns):
        screen.add_column(name, justify="right", no_wrap=True)
    rows = comparison.results.to_dict("records")
    for row, contender in zip(rows, comparison.contenders, strict=True):
        row["label"] = row_name(contender.label, contender.entry)
        numbers = [_number(row[column], goal) for column in columns.values()]
        screen.add_row(*(row[name] for name in names), f"{row['n']:,}", _with_interval(row, goal), *numbers)
    return screen


def _with_interval(row: Mapping[Any, Any], goal: Goal) -> str:
    mean, low, high = (_number(row[f"final_{of}"], goal) for of in ("mean", "low", "high"))
    return mean if pandas.isna(row["final_low"]) else f"{mean} [{low}, {high}]"


def _number(value: float, goal: Goal) -> str:
    return "–" if pandas.isna(value) else goal.number(value, 3)


def _tests(comparison: Comparison) -> Screen:
    """Return the deciding rank tests at the end and at the common time; only the file has tests of anytime regrets."""
    words = TEST_WORDS[comparison.test]
    columns = "regret at", "result", Column("p", justify="right", no_wrap=True)
    title = f"{words[0].upper()}{words[1:]}; p-values with Holm's correction"
    screen = Screen(*columns, title=title, title_justify="left")
    frame, shown = comparison.rank_tests, [END, *([COMMON] if comparison.ends_differ else [])]
    tested = {moment: (comparison.better(moment), comparison.p_values(moment)) for moment in shown}
    for row in frame[frame["moment"].isin(shown)].to_dict("records"):
        pair, moment = frozenset((row["first"], row["second"])), row["moment"]
        words, (better, p_values) = describe_effect(row["first"], row["second"], row["a12"]), tested[moment]
        if pair not in better:
            words += f" (not tested: {counted(row['pairs'], 'matched search')})"
        elif (of := better[pair]) is None:
            words += " (not significant)"
        elif (of == row["first"]) != (row["a12"] > 0.5):
            words += f", but the test favours {of}"
        screen.add_row(MOMENTS[moment], words, f"{p_values[pair]:.2g}" if pair in better else "–")
    return screen


def _wins(frame: pandas.DataFrame) -> Screen:
    counts = ("wins", "ties", "losses")
    title = "Tasks on which the first method wins, ties (not significant) or loses"
    numbers = (Column(name, justify="right") for name in counts)
    screen = Screen("first", "second", *numbers, title=title, title_justify="left")
    for row in frame.to_dict("records"):
        screen.add_row(row["first"], row["second"], *(str(row[name]) for name in counts))
    return screen


def _left_out(comparison: Comparison) -> str:
    """Return a sentence about the runs with too few searches for a rank test; empty if there are none."""
    few = [
        f"{contender.label} ({counted(contender.n, 'search')})"
        for contender in comparison.contenders
        if contender.n < FEWEST
    ]
    return f"Too few searches for a rank test (fewer than {FEWEST}): {'; '.join(few)}." if few else ""


# Files ----------------------------------------------------------------------------------------------------------------


def check_out(out: Path) -> None:
    """Raise UserError if a folder cannot be written or contains anything other than a comparison."""
    check_replaceable(out)
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"'{out}' is a file: choose another {option('out')}")
    if out.exists() and not all(path.name in FILES and path.is_file() for path in out.iterdir()):
        raise InvalidInputError(f"'{out}' contains files other than a comparison: choose another {option('out')}")


def write_comparison(
    found: TaskComparison, out: Path, suffix: PictureFormat = "png", style: AnyStyle | None = None
) -> list[Path]:
    """Write the figures, tables and texts of a comparison into a folder; return their paths (docs/compare.md).

    Either all files are written or none. An earlier comparison in the folder is replaced.

    Raises:
        InvalidInputError: the folder contains other files.
        UserError: the folder cannot be written, or the disk is full.
    """
    check_out(out)
    with atomic_folder(out) as folder:
        figures = _figures(found, style)
        drawn = [save_figure(figure, folder / f"{name}.{suffix}", data=False) for name, figure in figures.items()]
        frames, texts = _frames(found, figures), _texts(found)
        for name, frame in frames.items():
            frame.to_csv(folder / name, index=False)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    pictures = [path.name for paths in drawn for path in paths]
    return [out / name for name in (*pictures, *frames, *texts)]


def _figures(found: TaskComparison, style: AnyStyle | None) -> dict[str, "Figure"]:
    """Return the figures, by the names of their files without suffixes."""
    if len(found.tasks) == 1:
        (comparison,) = found.tasks.values()
        figures: dict[str, Figure] = {FIGURE: comparison_figure(comparison, style=style)}
    else:
        figures = {FIGURE: tasks_figure(found.tasks, style=style)}
    if len(found.distributions):
        figures[DISTRIBUTION] = distribution_figure(found, style=style)
    if len(found.profile):
        figures[PROFILE] = profile_figure(found, style=style)
    if found.ranks is not None:
        figures[RANKS] = critical_difference_figure(found, style=style)
    return figures


def _frames(found: TaskComparison, figures: Mapping[str, "Figure"]) -> dict[str, pandas.DataFrame]:
    """Return the tables of numbers, by the names of their files; each figure has one."""
    curves = figure_data(figures[FIGURE])
    assert curves is not None  # the figure is new
    frames = {RESULTS: found.results, CURVES: curves, RANK_TESTS: found.rank_tests}
    frames |= {f"{DISTRIBUTION}.csv": found.distributions} if DISTRIBUTION in figures else {}
    frames |= {f"{PROFILE}.csv": found.profile} if PROFILE in figures else {}
    frames |= {f"{RANKS}.csv": _ranks(found)} if RANKS in figures else {}
    return frames | ({WINS: found.win_tie_loss} if len(found.tasks) > 1 else {})


def _ranks(found: TaskComparison) -> pandas.DataFrame:
    """Return the average ranks at each moment, with Friedman's test and the critical difference in each row."""
    frames = []
    for moment in next(iter(found.tasks.values())).moments:
        with suppress(InvalidInputError):  # anytime regrets can be unknown on a task
            ranks = found.average_ranks(moment)
            statistic, p = ranks.friedman
            tests = {"friedman": statistic, "p": p, "critical_difference": ranks.critical_difference}
            frame = ranks.frame.assign(**tests)
            frame.insert(0, "moment", moment)
            frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def _texts(found: TaskComparison) -> dict[str, str]:
    """Return the tables and the text for a paper, by the names of their files."""
    tables = {TABLE: found.table(), **({TASKS: found.task_table()} if len(found.tasks) > 1 else {})}
    texts = {f"{name}.md": table.markdown() for name, table in tables.items()}
    return {**texts, **{f"{name}.tex": table.latex() for name, table in tables.items()}, METHODS: found.methods_text()}
