"""Files in a figure's folder besides its runs: the mark that names the figure, and the names of the results."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.runs.folder import read_object

MARK = "figure.json"
LONGEST = 80  # maximum number of characters for the parts in a file name


def stem(name: str, only: Sequence[str]) -> str:
    """Return the name of picture and CSV file without suffix; parts of a figure have different names than the whole
    figure.

    Args:
        name: "figure2", …
        only: the parts, as in `catalogue.open_figure`; empty for the whole figure.
    """
    if not only:
        return name
    parts = re.sub(r"[^\w.+-]", "_", "+".join(only).replace("/", "-"))
    if len(parts) > LONGEST:
        parts = f"{parts[:LONGEST]}-{hashlib.sha256(parts.encode()).hexdigest()[:8]}"
    return f"{name}-{parts}"


def mark_folder(folder: Path, name: str) -> None:
    """Record that a folder belongs to a figure."""
    if not (folder / MARK).is_file():
        write_json(folder / MARK, {"figure": name})


def check_belongs_to(folder: Path, name: str) -> None:
    """Raise InvalidInputError if a folder belongs to another figure, DamagedFileError if its mark is damaged."""
    if (folder / MARK).is_file() and (other := read_object(folder / MARK).get("figure")) != name:
        raise InvalidInputError(f"{folder} holds {other}, not {name}: choose another --out")
