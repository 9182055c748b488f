"""A plan on a screen and in Markdown: work, then expected times, in tables of at most 80 columns."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nasbench1shot1.experiments.planning.plan import HERE, TOTAL, Plan, Row, total
from nasbench1shot1.ground.text import line_printer, print_table
from nasbench1shot1.runs.devices import gpus

if TYPE_CHECKING:
    from rich.console import Console

PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
WORK = ("runs", "steps", "forward FLOPs", "backward FLOPs", "GPU memory", "main memory", "disk")
"""Headings of the columns of work."""
LONGEST_NAME = 20
"""In a table that would be too wide, longer names of curves have two lines."""
UNITS = {"hours": 1, "minutes": 60, "seconds": 3600}
"""Units of a table of times, with their number in an hour."""
NOTHING = "–"
"""A cell without a value."""
GAP = "  "
"""What separates columns."""
HERE_EXPLAINED = "Times are for all runs, one after another on one device. Times on this machine come from timed steps."
GPUS_EXPLAINED = (
    "Times on GPUs are FLOPs divided by a share of the published throughput (docs/full_scale.md). They are not "
    "measured: the error can be a factor of two, and much larger for small networks."
)
DASH_EXPLAINED = "A dash means: not measured, no network to compute, or not enough GPU memory."


def show(plan: Plan, console: "Console") -> None:
    """Print a plan. Columns without any value are left out."""
    print_line = line_printer(console)
    print_line(plan.title)
    has_times = has_dashes = False
    for number_of_table, (headings, lines) in enumerate((work_table(plan), times_table(plan))):
        cells = list(zip(*lines, strict=True))
        kept = [number for number, column in enumerate(cells) if number == 0 or set(column) != {NOTHING}]
        if len(kept) > 1:
            shown, *rows = [[line[number] for number in kept] for line in (headings, *lines)]
            print_line("")
            _show_table(shown, rows, console)
            has_times, has_dashes = number_of_table == 1, has_dashes or any(NOTHING in row for row in rows)
    print_line("")
    if has_times:
        has_flops = any(row.work.flops.total for row in plan.rows)
        print_line(" ".join([HERE_EXPLAINED, *[GPUS_EXPLAINED] * has_flops, *[DASH_EXPLAINED] * has_dashes]))
    for text in plan.notes:
        print_line(text)


def _show_table(headings: Sequence[str], lines: Sequence[Sequence[str]], console: "Console") -> None:
    """Print a table whose names are broken at their slash if it would be wider than the console."""
    from rich.table import Table as Screen

    stacked = [headings[0], *(heading.replace(" ", "\n", 1) for heading in headings[1:])]
    columns = zip(stacked, *lines, strict=True)
    widths = [max(len(part) for cell in column for part in cell.split("\n")) for column in columns]
    fits = sum(widths) + len(GAP) * (len(widths) - 1) <= console.width
    screen = Screen(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0))
    screen.add_column(stacked[0], vertical="bottom")
    for heading in stacked[1:]:
        screen.add_column(heading, justify="right", vertical="bottom", no_wrap=True)
    for name, *others in lines:
        screen.add_row(name if fits or len(name) <= LONGEST_NAME else name.replace("/", "/\n", 1), *others)
    print_table(screen, console)


def work_table(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the lines of the table of work, with a line for all runs."""
    return ["", *WORK], [[name, *work_cells(values)] for name, values in _lines(plan)]


def hours_table(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the lines of the table of expected hours, with a line for all runs."""
    return _times(plan, "hours")


def times_table(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Return the same table in hours, minutes or seconds, so that the longest time is at least two of them."""
    known = [hours for _, values in _lines(plan) for hours in _hours(plan, values) if not math.isnan(hours)]
    longest = max(known, default=0.0)
    return _times(plan, next((unit for unit, each in UNITS.items() if each * longest >= 2), "seconds"))


def _times(plan: Plan, unit: str) -> tuple[list[str], list[list[str]]]:
    headings = [f"expected {unit}", "here", *(gpu.title for gpu in gpus(plan.gpus))]
    cells = ((name, _hours(plan, values)) for name, values in _lines(plan))
    return headings, [[name, *(two_digits(UNITS[unit] * number) for number in of_row)] for name, of_row in cells]


def _hours(plan: Plan, values: dict[str, Any]) -> list[float]:
    """Return the expected hours of a row, here and on GPUs; NaN if unknown."""
    return [values[column] for column in (HERE, *plan.hours)]


def work_cells(values: dict[str, Any]) -> list[str]:
    """Return the cells of the columns `WORK`, from the values of a row."""
    memory = (values["gpu_memory"], values["memory"], values["disk"])
    return [
        f"{values['runs']:,}",
        f"{values['steps']:,}" if values["steps"] else NOTHING,
        flops(values["forward_flops"]),
        flops(values["backward_flops"]),
        *map(size, memory),
    ]


def flops(number: float) -> str:
    """Return a number of FLOPs with two digits and a prefix: "1.9 P"; a dash for 0."""
    if not number:
        return NOTHING
    power = min(max(math.floor(math.log10(float(f"{number:.2g}")) / 3), 0), len(PREFIXES) - 1)
    return f"{float(f'{number:.2g}') / 1000**power:.3g} {PREFIXES[power]}"


def size(number: float) -> str:
    """Return a number of bytes in words, rounded for an estimate: "1.4 GB", "30 MB", "1.2 MB"; a dash for 0."""
    if not number:
        return NOTHING
    if number >= 9.95e6:
        return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
    return f"{max(number / 1e6, 0.1):.1f} MB"


def two_digits(number: float) -> str:
    """Return a number of hours, minutes or seconds with two digits: "0.12", "3.4", "1,200"; a dash for NaN."""
    if math.isnan(number):
        return NOTHING
    rounded = float(f"{number:.2g}")
    if rounded < 0.01:
        return "<0.01" if number else "0"
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _lines(plan: Plan) -> list[tuple[str, dict[str, Any]]]:
    """Return the name and the values of every row, and of all runs if there are several rows."""
    rows: Sequence[Row] = [*plan.rows, total(plan.rows)] if plan.has_total and len(plan.rows) > 1 else plan.rows
    names_kind = plan.has_total and len({row.kind for row in plan.rows}) > 1

    def name_of(row: Row) -> str:
        return f"{row.part}, {row.kind}" if names_kind and row.part != TOTAL else row.part

    return [(name_of(row), plan.values(row)) for row in rows]
