"""Placeholders for pictures: drawing one takes longer than a tiny search.

Importing this module replaces nothing. `undrawn_server` replaces pictures in all processes of the fork server.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nasbench1shot1.black_box_search import studying
from nasbench1shot1.display.cells import is_drawable
from nasbench1shot1.ground.files import atomic_write, picture_name
from nasbench1shot1.one_shot_search import pictures, seeds
from nasbench1shot1.one_shot_search.record import CELLS, FIGURE, SearchRecord
from nasbench1shot1.tuning import tuning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table


def save_unrendered(figure: "Figure | None", path: Path, data: object = True) -> list[Path]:
    """Replace `display.axes.save_figure`: write only the signature of a PNG, without rendering."""
    with atomic_write(path) as file:
        file.write(b"\x89PNG\r\n\x1a\n")
    return [path]


def save_undrawn(run: SearchRecord, table: "Table") -> None:
    """Replace `pictures.save_pictures` without drawing a figure."""
    for name in (FIGURE, CELLS) if is_drawable(run.architectures[0]) else (FIGURE,):
        save_unrendered(None, run.folder / picture_name(name, run.config.get("format")))


def skip_pictures(patch: pytest.MonkeyPatch) -> None:
    """Write placeholders instead of the pictures of searches, groups and studies; reports and figures are drawn."""
    for module in (studying, seeds, tuning):
        patch.setattr(module, "save_figure", save_unrendered)
    patch.setattr(pictures, "save_pictures", save_undrawn)
