"""What Jupyter notebooks show: the progress of a call in one output, and records as HTML with a picture."""

import base64
import io
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def record_as_html(text: str, picture: Path | None) -> str:
    """Return HTML that shows a text and a picture, if it is a readable PNG or SVG file.

    The picture is embedded, so notebooks keep it.
    """
    shown = f"<pre>{escape(text)}</pre>"
    if picture is None or picture.suffix not in PICTURE_TYPES:
        return shown
    try:
        data = base64.b64encode(picture.read_bytes()).decode()
    except OSError:  # a repr must not fail
        return shown
    source = f"data:{PICTURE_TYPES[picture.suffix]};base64,{data}"
    return f'{shown}<img src="{source}" alt="{escape(picture.name)}" style="max-width: {PICTURE_WIDTH}px">'
