"""Pictures whose contents no test looks at: drawing one takes about as long as training a tiny search."""

from pathlib import Path
from typing import TYPE_CHECKING

from nasbench1shot1.cell_drawing.graph import is_drawable
from nasbench1shot1.files import PictureFormat, atomic_write, picture_name
from nasbench1shot1.one_shot_search.folder import CELLS, FIGURE
from nasbench1shot1.one_shot_search.search_record import SearchRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table


def save_unrendered(figure: "Figure | None", path: Path) -> None:
    """What `files.save_figure` does, but for the rendering: the file has only the signature of a PNG."""
    with atomic_write(path) as file:
        file.write(b"\x89PNG\r\n\x1a\n")


def save_undrawn(run: SearchRecord, table: "Table", suffix: PictureFormat | None = None) -> None:
    """What `pictures.save_pictures` does, without a figure."""
    for name in (FIGURE, CELLS) if is_drawable(run.architectures[0]) else (FIGURE,):
        save_unrendered(None, run.folder / picture_name(name, suffix))
