"""The HTML of a record in a notebook, with its repr and its picture."""

import base64
from html import escape
from pathlib import Path

WIDTH = 640
"""Maximum width of a picture in CSS pixels."""
TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
"""Media types of the pictures that browsers show in an HTML image, by suffix; PDF files are not among them."""


def record_as_html(text: str, picture: Path | None) -> str:
    """Return HTML that shows a text and a picture, if it is a readable PNG or SVG file.

    The picture is embedded, so notebooks keep it.
    """
    shown = f"<pre>{escape(text)}</pre>"
    if picture is None or picture.suffix not in TYPES:
        return shown
    try:
        data = base64.b64encode(picture.read_bytes()).decode()
    except OSError:  # a repr must not fail
        return shown
    source = f"data:{TYPES[picture.suffix]};base64,{data}"
    return f'{shown}<img src="{source}" alt="{escape(picture.name)}" style="max-width: {WIDTH}px">'
