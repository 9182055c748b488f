"""The HTML of a record in a notebook: its repr and its picture."""

import base64
from html import escape
from pathlib import Path

WIDTH = 640
"""Maximum width of a picture in CSS pixels."""


def record_as_html(text: str, picture: Path | None) -> str:
    """Return HTML that shows a text and, if the file exists, a PNG. The picture is embedded, so notebooks keep it."""
    shown = f"<pre>{escape(text)}</pre>"
    if picture is None or not picture.is_file():
        return shown
    data = base64.b64encode(picture.read_bytes()).decode()
    return f'{shown}<img src="data:image/png;base64,{data}" alt="{escape(picture.name)}" style="max-width: {WIDTH}px">'
