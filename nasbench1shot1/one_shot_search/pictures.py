"""The pictures in the folder of a finished search."""

from typing import TYPE_CHECKING

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.ground.files import PictureFormat, picture_name
from nasbench1shot1.one_shot_search.cells_over_epochs import cells_figure
from nasbench1shot1.one_shot_search.record import CELLS, FIGURE, SearchRecord
from nasbench1shot1.one_shot_search.regret_curve import regret_figure

if TYPE_CHECKING:
    from nasbench1shot1.tables.table import Table


def save_pictures(run: SearchRecord, table: "Table", suffix: PictureFormat | None = None) -> None:
    """Write the pictures of a finished run into its folder: its regret and, if they can be drawn, its cells."""
    save_figure(regret_figure([run], [run.metrics], table), run.folder / picture_name(FIGURE, suffix))
    if (cells := cells_figure(run)) is not None:
        save_figure(cells, run.folder / picture_name(CELLS, suffix))
