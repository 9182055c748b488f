"""What Jupyter notebooks show: the progress of a call in one output, and records as HTML tables with pictures."""

import base64
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.plugins import imported

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Columns of the output."""
PICTURE_WIDTH = 640
"""Maximum width of a picture in CSS pixels."""
PICTURE_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
"""Media types of the pictures that browsers show in an HTML image, by suffix; PDF files are not among them."""
_PIECES = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|(\n|\r)|([^\x1b\n\r]+)")


def console_or_new(console: "Console | None", stderr: bool = False) -> "Console":
    """Return a console or, for None, a new one: for a notebook if this is one, else for standard output or error.

    In notebooks, rich makes a separate output of every line, and shows progress bars only with ipywidgets.
    """
    from rich.console import Console

    if console is not None:
        return console
    found = Console(stderr=stderr)
    return notebook_console(_displayed()) if found.is_jupyter else found


def notebook_console(show: Callable[[str], None]) -> "Console":
    """Return a console with live displays whose whole content is passed to `show` whenever it changes."""
    from rich.console import Console

    kind = {"force_jupyter": False, "force_terminal": True, "legacy_windows": False, "color_system": None}
    return Console(file=CellOutput(show), width=WIDTH, **kind)  # type: ignore[arg-type]


class CellOutput(io.TextIOBase):
    """A text file that interprets a terminal's control codes for live displays; other codes are left out.

    Interpreted are line feed, carriage return, cursor up and erase line.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._shown = show, ""
        self._lines, self._row, self._column = [""], 0, 0

    def write(self, text: str) -> int:
        """Write at the cursor."""
        for numbers, code, control, plain in _PIECES.findall(text):
            if code:
                self._command(numbers, code)
            elif control:
                self._move(control)
            else:
                self._overwrite(plain)
        return len(text)

    def flush(self) -> None:
        """Show the content if it has changed."""
        text = "\n".join(self._lines).rstrip()
        if text != self._shown:
            self._shown = text
            self._show(text)

    def _command(self, numbers: str, code: str) -> None:
        if code == "A":
            self._row = max(self._row - int(numbers or 1), 0)
        elif code == "K" and numbers == "2":
            self._lines[self._row] = ""

    def _move(self, control: str) -> None:
        self._column = 0
        if control == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append("")

    def _overwrite(self, text: str) -> None:
        line, end = self._lines[self._row].ljust(self._column), self._column + len(text)
        self._lines[self._row] = line[: self._column] + text + line[end:]
        self._column = end


def _displayed() -> Callable[[str], None]:
    """Return a function that replaces the text of one output of the running cell."""
    from IPython import display as ipython

    display: Any = ipython.display  # without annotations
    handles: list[Any] = []

    def show(text: str) -> None:
        content = {"text/plain": text}
        if handles:
            handles[0].update(content, raw=True)
        else:
            handles.append(display(content, raw=True, display_id=True))

    return show


class Displayed:
    """Base class of whatever notebooks show as a table with a picture, and `plot` draws.

    Attributes:
        DRAWING: the function that draws it, as module:function, which is imported when `plot` is called. Empty if none
            does.
    """

    DRAWING: ClassVar[str] = ""

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw this on matplotlib axes, and return the axes.

        The same as `nb.draw_regret` for searches, groups of seeds, black-box studies and tuning studies, as
        `nb.draw_ranking` for rankings, as `nb.compare` for comparisons, and as `cell_training.drawing.draw_training`
        for trainings and their groups.

        Args:
            ax: the axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
            options: further arguments of this function, such as `style` and `colors`.

        Raises:
            InvalidInputError: nothing draws this kind of run; and the errors of the function.
        """
        if not self.DRAWING:
            raise InvalidInputError(f"{self!r} cannot be drawn: read its metrics, and draw them with matplotlib")
        return imported(self.DRAWING)(self, ax=ax, **options)

    def _repr_html_(self) -> str:
        """Return a table and, if there is one, a picture, as notebooks show this object.

        The table is replaced by the repr for anything unfinished or damaged.
        """
        shown = f"<pre>{escape(repr(self))}</pre>"
        with suppress(Exception):  # a repr must not fail, whatever damaged files contain
            shown = self._as_html() or shown
        return shown + _image(self._picture())

    def _as_html(self) -> str:
        """Return the table of `_facts`; empty for anything unfinished. May raise any exception for damaged files."""
        facts = self._facts()
        return html_table(self._heading(), (), facts.items()) if facts else ""

    def _heading(self) -> str:
        """Return in words what this is."""
        return type(self).__name__

    def _facts(self) -> Mapping[str, str]:
        """Return options and results as texts, by name; empty if there is no result yet."""
        return {}

    def _picture(self) -> Path | None:
        """Return the path of a picture; None if there is none."""
        return None


def html_table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in HTML; all texts are escaped.

    Args:
        heading: the text above the table.
        columns: the names of the columns; empty for a table without a row of names.
        rows: the texts of each row; the first one names the row.
    """
    left = ' style="text-align: left"'
    names = "".join(f"<th{left}>{escape(name)}</th>" for name in columns)
    lines = [f"<tr>{names}</tr>"] if names else []
    for name, *values in rows:
        cells = "".join(f"<td{left}>{escape(value)}</td>" for value in values)
        lines.append(f"<tr><th{left}>{escape(name)}</th>{cells}</tr>")
    return f"<table><caption{left}>{escape(heading)}</caption>{''.join(lines)}</table>"


def _image(picture: Path | None) -> str:
    """Return an HTML image with an embedded PNG or SVG file, so notebooks keep it; empty if it cannot be read."""
    if picture is None or picture.suffix not in PICTURE_TYPES:
        return ""
    try:
        data = base64.b64encode(picture.read_bytes()).decode()
    except OSError:  # a repr must not fail
        return ""
    source = f"data:{PICTURE_TYPES[picture.suffix]};base64,{data}"
    return f'<img src="{source}" alt="{escape(picture.name)}" style="max-width: {PICTURE_WIDTH}px">'
