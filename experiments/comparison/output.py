"""The output of a comparison: the tables of `nb1shot1 compare` on the screen, and its files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas
from rich.console import Console
from rich.table import Table as Screen

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.style import PictureStyle
from nasbench1shot1.experiments.comparison.accuracies import NAME as ACCURACIES
from nasbench1shot1.experiments.comparison.drawing import (
    baseline_label,
    comparison_figure,
    missing_text,
    objective_text,
    progress_text,
)
from nasbench1shot1.experiments.comparison.entries import CLOCKS
from nasbench1shot1.experiments.comparison.statistics import FEWEST, SIGNIFICANT, Comparison, describe_effect
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import FORMATS, PictureFormat, atomic_folder, check_writable
from nasbench1shot1.ground.text import counted, line_printer

FIGURE, RESULTS, RANK_TESTS = "comparison", "comparison.csv", "rank_tests.csv"
FILES = {
    *(RESULTS, RANK_TESTS, f"{ACCURACIES}.csv", f"{ACCURACIES}-by-epoch.csv", f"{ACCURACIES}.md"),
    *(f"{name}.{suffix}" for name in (FIGURE, ACCURACIES) for suffix in FORMATS),
}
WIDE = 110
"""Columns of a terminal that show the kind and the optimizer of every run."""


# Screen ---------------------------------------------------------------------------------------------------------------


def show(comparison: Comparison, files: Sequence[Path], console: Console) -> None:
    """Print the table, the rank tests and the paths of the written files."""
    print_line = line_printer(console)
    console.print(_results(comparison, is_wide=console.width >= WIDE))
    if comparison.over in CLOCKS and comparison.results["common_mean"].isna().any():
        print_line(f"–: some searches do not have a result after {_common_time(comparison)}.")
    baseline = f"Baseline: {label}." if (label := baseline_label(comparison)) else ""
    bounds = [comparison.baseline.sentence, baseline] if comparison.baseline else []
    texts = (objective_text(comparison), *bounds, missing_text(comparison), progress_text(comparison))
    for text in filter(None, texts):
        print_line(text)
    if len(comparison.rank_tests):
        console.print(_tests(comparison.rank_tests))
    if text := _left_out(comparison):
        print_line(text)
    for file in files:
        print_line(f"Written: {file}")


def _results(comparison: Comparison, is_wide: bool) -> Screen:
    """Return the table; only a wide one has kind and optimizer, which results.csv always has."""
    facts, goal = comparison.facts, comparison.goal
    where = f"{comparison.space}, {facts.dataset}, table {facts.table}"
    screen = Screen(title=f"{goal.with_unit(goal.title)}, {comparison.source}; {where}", title_justify="left")
    names = ("label", "kind", "optimizer") if is_wide else ("label",)
    for name in names:
        screen.add_column(name, overflow="fold")
    for name in ("n", "mean ± std", "median", "best"):
        screen.add_column(name, justify="right", no_wrap=True)
    has_clock = comparison.over in CLOCKS
    if has_clock:
        screen.add_column(f"after {_common_time(comparison)}", justify="right", no_wrap=True)
    for row in comparison.results.to_dict("records"):
        final = [_spread(row, "final", goal), *(_number(row[f"final_{name}"], goal) for name in ("median", "best"))]
        common = ["–" if pandas.isna(row["common_mean"]) else _spread(row, "common", goal)] if has_clock else []
        screen.add_row(*(row[name] for name in names), f"{row['n']:,}", *final, *common)
    return screen


def _common_time(comparison: Comparison) -> str:
    """Return the last time that all curves reach, such as "12,000 s" or "500 evaluations"."""
    unit = {"seconds": "s"}.get(unit := CLOCKS[comparison.over], unit)
    return f"{comparison.common_time:,.0f} {unit}"


def _spread(row: Mapping[Any, Any], moment: str, goal: Goal) -> str:
    mean, std = row[f"{moment}_mean"], row[f"{moment}_std"]
    return _number(mean, goal) if pandas.isna(std) else f"{_number(mean, goal)} ± {_number(std, goal)}"


def _number(value: float, goal: Goal) -> str:
    return "–" if pandas.isna(value) else goal.number(value, 3)


def _tests(frame: pandas.DataFrame) -> Screen:
    screen = Screen(title="Two-sided Mann–Whitney U tests; p-values with Holm's correction", title_justify="left")
    for name in ("regret at", "result"):
        screen.add_column(name)
    screen.add_column("p", justify="right", no_wrap=True)
    for row in frame.to_dict("records"):
        words = describe_effect(row["first"], row["second"], row["a12"])
        words += "" if row["p_holm"] < SIGNIFICANT else " (not significant)"
        screen.add_row(row["moment"], words, f"{row['p_holm']:.2g}")
    return screen


def _left_out(comparison: Comparison) -> str:
    """Return a sentence about the runs with too few searches for a rank test; empty if there are none."""
    few = [
        f"{contender.label} ({counted(len(contender.repetitions), 'search')})"
        for contender in comparison.contenders
        if len(contender.repetitions) < FEWEST
    ]
    return f"Too few searches for a rank test (fewer than {FEWEST}): {'; '.join(few)}." if few else ""


# Files ----------------------------------------------------------------------------------------------------------------


def check_out(out: Path) -> None:
    """Raise UserError if a folder cannot be written or contains anything other than a comparison."""
    check_writable(out)
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"'{out}' is a file: choose another {option('out')}")
    if out.exists() and not all(path.name in FILES and path.is_file() for path in out.iterdir()):
        raise InvalidInputError(f"'{out}' contains files other than a comparison: choose another {option('out')}")


def write_comparison(
    comparison: Comparison, out: Path, suffix: PictureFormat = "png", style: PictureStyle | None = None
) -> list[Path]:
    """Write comparison.png (or .svg, .pdf), comparison.csv and rank_tests.csv into a folder; return their paths.

    Either all files are written or none. An earlier comparison in the folder is replaced.

    Raises:
        InvalidInputError: the folder contains other files.
        UserError: the folder cannot be written, or the disk is full.
    """
    check_out(out)
    with atomic_folder(out) as folder:
        save_figure(comparison_figure(comparison, style=style), folder / f"{FIGURE}.{suffix}")
        comparison.results.to_csv(folder / RESULTS, index=False)
        comparison.rank_tests.to_csv(folder / RANK_TESTS, index=False)
    return [out / name for name in (f"{FIGURE}.{suffix}", RESULTS, RANK_TESTS)]
