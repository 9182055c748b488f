"""The picture of a search's preferred cells: a strip over its epochs, in which the widths of edges show Λ."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.cell_drawing.drawing import draw_cell
from nasbench1shot1.cell_drawing.graph import is_drawable
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.notebooks.axes_list import AxesList
from nasbench1shot1.notebooks.default_axes import checked_axes_list
from nasbench1shot1.one_shot_search.search_record import Parameters, SearchRecord
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error
from nasbench1shot1.tables.metric_column import whole_number
from nasbench1shot1.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 5
"""Largest number of epochs in a strip."""


def draw_cells(
    run: SearchRecord | str | Path, ax: "Sequence[Axes] | NDArray[Any] | None" = None, panels: int = PANELS
) -> AxesList:
    """Draw the preferred cells of some epochs of a search, including the first and the last, with their regrets.

    The width of an edge is the softmax of its architecture parameters Λ, unless the search does not learn Λ.

    Args:
        run: a search, finished or not, or its folder.
        ax: the axes to draw on, one per epoch shown. Default: a row of axes in a new figure with a caption.
        panels: largest number of epochs, at least 2. Epochs are spread evenly.

    Returns:
        A list of E axes, for E = min(panels, number of recorded epochs, with epoch 0); `axes[0].figure` is the
        figure.

    Raises:
        InvalidInputError: the run is not a search or has no result yet, its architectures cannot be drawn, or `ax`
            is not a list of E matplotlib axes.
    """
    found = open_run(run) if isinstance(run, str | Path) else run
    if not isinstance(found, SearchRecord):
        raise InvalidInputError(f"{found!r} has no cells to draw: give a single search")
    if whole_number("panels", panels, "a number of epochs") < 2:
        raise InvalidInputError(f"--panels must be at least 2, not {panels}")
    if not found.lines:
        raise no_result_error(found.folder)
    if not is_drawable(found.architectures[0]):
        raise InvalidInputError(f"architectures of '{found.config['space']}' cannot be drawn: use a bundled space")
    epochs = _shown_epochs(found, panels)
    given = _new_axes(found, len(epochs)) if ax is None else checked_axes_list(ax, "epoch shown (panels=)", len(epochs))
    parameters = searched_parameters(found)
    for place, epoch in zip(given, epochs, strict=True):
        of_epoch = {key: values[epoch] for key, values in parameters.items()} or None
        draw_cell(found.architectures[epoch], place, parameters=of_epoch, title=_title(found, epoch))
    return AxesList(given)


def cells_figure(run: SearchRecord) -> "Figure | None":
    """Return the figure of `draw_cells` for a search with a recorded epoch; None if its cells cannot be drawn."""
    if not is_drawable(run.architectures[0]):
        return None
    return draw_cells(run)[0].get_figure(root=True)


def searched_parameters(run: SearchRecord) -> Parameters:
    """Return Λ of every epoch; empty if the search does not learn Λ, as in random search with weight sharing."""
    found = run.architecture_parameters
    return found if any(np.ptp(values, axis=0).any() for values in found.values()) else {}


def _shown_epochs(run: SearchRecord, panels: int) -> list[int]:
    last = len(run.lines) - 1
    epochs: list[int] = np.unique(np.linspace(0, last, min(panels, last + 1)).round().astype(int)).tolist()
    return epochs


def _new_axes(run: SearchRecord, number: int) -> "list[Axes]":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(2.9 * number, 5.0), 3.9), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    widths = "; widths: softmax of Λ, grey: not chosen, or without a path to the output"
    note = widths if searched_parameters(run) else ""
    figure.supxlabel(f"{run.config['optimizer']} on {run.config['space']}{note}", fontsize=8, color="#444444")
    return list(figure.subplots(1, number, squeeze=False)[0])


def _title(run: SearchRecord, epoch: int) -> str:
    regret = run.lines[epoch]["test_regret"]
    return f"epoch {epoch}" + ("" if regret is None else f"\ntest regret {percent(regret)}")
