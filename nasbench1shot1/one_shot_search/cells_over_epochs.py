"""The picture of the cells that a search preferred: a strip over its epochs, with Λ as the widths of the edges."""

from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.cell_drawing.drawing import draw_cell
from nasbench1shot1.cell_drawing.graph import is_drawable
from nasbench1shot1.files import PictureFormat, picture_name, save_figure
from nasbench1shot1.one_shot_search.folder import CELLS, FIGURE
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.one_shot_search.search_record import Parameters, SearchRecord
from nasbench1shot1.wording import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table

PANELS = 5
"""Largest number of epochs in a strip."""


def save_pictures(run: SearchRecord, table: "Table", suffix: PictureFormat | None = None) -> None:
    """Write the pictures of a finished run into its folder: its regret, and its cells where they can be drawn."""
    save_figure(regret_figure([run], [run.metrics], table), run.folder / picture_name(FIGURE, suffix))
    if (cells := cells_figure(run)) is not None:
        save_figure(cells, run.folder / picture_name(CELLS, suffix))


def cells_figure(run: SearchRecord, panels: int = PANELS) -> "Figure | None":
    """Return a figure with the preferred cells of some epochs, the first and the last among them, and their regrets.

    Args:
        run: a search with at least one recorded epoch.
        panels: largest number of epochs, at least 2.

    Returns:
        None if the form of its architectures cannot be drawn.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not is_drawable(run.architectures[0]):
        return None
    last = len(run.lines) - 1
    epochs = np.unique(np.linspace(0, last, min(panels, last + 1)).round().astype(int)).tolist()
    parameters = searched_parameters(run)
    figure = Figure(figsize=(max(2.9 * len(epochs), 5.0), 3.9), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    for ax, epoch in zip(figure.subplots(1, len(epochs), squeeze=False)[0], epochs, strict=True):
        of_epoch = {key: values[epoch] for key, values in parameters.items()} or None
        draw_cell(run.architectures[epoch], ax, parameters=of_epoch, title=_title(run, epoch))
    widths = "; widths: softmax of Λ, grey: not chosen, or without a path to the output" if parameters else ""
    figure.supxlabel(f"{run.config['optimizer']} on {run.config['space']}{widths}", fontsize=8, color="#444444")
    return figure


def searched_parameters(run: SearchRecord) -> Parameters:
    """Return Λ of every epoch; nothing if the search did not change it, as random search with weight sharing."""
    found = run.architecture_parameters
    return found if any(np.ptp(values, axis=0).any() for values in found.values()) else {}


def _title(run: SearchRecord, epoch: int) -> str:
    regret = run.lines[epoch]["test_regret"]
    return f"epoch {epoch}" + ("" if regret is None else f"\ntest regret {percent(regret)}")
