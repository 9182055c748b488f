"""Numbers, durations and lines on screens."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nasbench1shot1.ground.terminal import print_line, terminal_width, wrap_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNLIMITED = 10_000
"""A width in columns that no table needs."""


def percent(value: float | None, digits: int = 2) -> str:
    """Return a fraction in percent; a dash for None."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def counted(number: int, noun: str) -> str:
    """Return a number with a noun in the singular or plural: "1 epoch", "50 epochs", "2 searches"."""
    plural = "es" if noun.endswith("search") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def typed(value: object) -> str:
    """Return a value of an option as on the command line: "yes" and "no" for truth values."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def number_range(numbers: Collection[int]) -> str:
    """Return the smallest and the largest of at least one number: "2 to 10", or "10" if all are equal."""
    least, most = min(numbers), max(numbers)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def counted_range(numbers: Collection[int], noun: str) -> str:
    """Return the smallest and the largest of at least one number with a noun: "2 to 10 seeds", or "10 seeds"."""
    least, most = min(numbers), max(numbers)
    return counted(most, noun) if least == most else f"{least:,} to {counted(most, noun)}"


def duration(seconds: float) -> str:
    """Return a duration in words, rounded for an estimate."""
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.0f} h" if seconds < 100 * 3600 else f"about {seconds / 86400:.0f} days"


def listed_lines(text: str) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of a list with their numbers, from 1, without comments (after #) and empty lines.

    A byte order mark, which some editors write at the beginning, is ignored.
    """
    given = text.removeprefix("\ufeff").splitlines()
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(given, start=1))
    return ((number, line) for number, line in lines if line)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Return a table in Markdown, with a line break at its end; the columns `numbers` are aligned to the right."""
    rules = ["---:" if column in numbers else "---" for column in range(len(headings))]
    lines = [headings, rules, *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def line_printer(console: "Console") -> Callable[[str], None]:
    """Return a function that prints lines literally, without rich's markup; on a terminal, they are wrapped."""

    def print_literally(text: str) -> None:
        shown = text if terminal_width(console.file) is None else wrap_text(text, console.width)
        console.print(shown, highlight=False, soft_wrap=True, markup=False, emoji=False)

    return print_literally


def row_printer(console: "Console", heading: str) -> Callable[[str], None]:
    """Return a function that prints a line as `line_printer` does, with a heading above the first one."""
    print_literally, rows = line_printer(console), 0

    def print_row(text: str) -> None:
        nonlocal rows
        rows += 1
        print_literally(f"{heading}\n{text}" if rows == 1 else text)

    return print_row


def print_table(table: "Table", console: "Console") -> None:
    """Print a table without cutting names or numbers, however narrow the console is.

    Words, and cells of columns with `no_wrap`, stay whole if the console is wide enough, if necessary without the
    table's borders. In a narrower console, the cells of all columns are folded.
    """
    for column in table.columns:
        column.overflow = "fold"
    if not _set_widths(table, console):
        table.box, table.padding = None, (0, 2, 0, 0)
        if not _set_widths(table, console):
            table.padding = (0, 1, 0, 0)
            for column in table.columns:
                column.no_wrap = False
    console.print(table)


def _set_widths(table: "Table", console: "Console") -> bool:
    """Set the widths of columns so that their words stay whole; return False if the console is too narrow.

    The remaining width goes first to the columns that need the least of it to keep their cells on one line.
    """
    from rich.measure import Measurement, measure_renderables

    unlimited = console.options.update(max_width=_UNLIMITED)
    widths = [measure_renderables(console, unlimited, [of.header, *of.cells]) for of in table.columns]
    most = [width.maximum for width in widths]
    least = [width.maximum if of.no_wrap else width.minimum for of, width in zip(table.columns, widths, strict=True)]
    around = Measurement.get(console, unlimited, table).maximum - sum(most)
    if (spare := console.width - sum(least) - around) < 0:
        return False
    wanted = [width - needed for width, needed in zip(most, least, strict=True)]
    for number in sorted(range(len(least)), key=wanted.__getitem__):
        added = min(spare, wanted[number])
        table.columns[number].width = least[number] + added
        spare -= added
    return True


def literal_console() -> "Console":
    """Return a console for standard output that prints text, and the cells and titles of tables, literally."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def print_to_stdout(line: str) -> None:
    """Print a line to standard output, wrapped on a terminal."""
    print_line(line, sys.stdout)


def print_to_stderr(line: str) -> None:
    """Print a line to standard error, wrapped on a terminal; the default `report` of many functions."""
    print_line(line, sys.stderr)
