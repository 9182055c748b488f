"""The pictures of a search: its preferred cells over the epochs, with Λ as widths of edges, and its regret."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.display.axes import AxesList, checked_axes_list, save_figure
from nasbench1shot1.display.cells import draw_cell, is_drawable
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, value_of
from nasbench1shot1.ground.files import PictureFormat, picture_name
from nasbench1shot1.one_shot_search.captions import table_text
from nasbench1shot1.one_shot_search.record import CELLS, FIGURE, Parameters, SearchRecord, describe_regrets
from nasbench1shot1.one_shot_search.regret_curve import other_regrets, regret_figure
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table

PANELS = 5
"""Largest number of epochs in a picture."""
PER_ROW = 3
"""Largest number of panels in a row; with more, the text would be too small."""
PANEL_WIDTH, TITLE_HEIGHT, LINE_HEIGHT = 2.9, 0.47, 0.14
"""Width of a panel, height of its title with all margins, and height of a line of the caption, in inches."""
TALLEST = 1.25
"""Largest height of a drawn cell, relative to `PANEL_WIDTH`; only cells with few arcs are narrower."""
LINE = 48
"""Number of characters of the caption that fit below a panel."""


def save_pictures(run: SearchRecord, table: "Table", suffix: PictureFormat | None = None) -> None:
    """Write the pictures of a finished run into its folder: its regret and, if they can be drawn, its cells."""
    save_figure(regret_figure([run], [run.metrics], table), run.folder / picture_name(FIGURE, suffix))
    if (cells := cells_figure(run)) is not None:
        save_figure(cells, run.folder / picture_name(CELLS, suffix))


def cells_figure(run: SearchRecord) -> "Figure | None":
    """Return the figure of `draw_cells` for a search with a recorded epoch; None if its cells cannot be drawn."""
    if not is_drawable(run.architectures[0]):
        return None
    return draw_cells(run)[0].get_figure(root=True)


def draw_cells(
    run: SearchRecord | str | Path, ax: "Sequence[Axes] | NDArray[Any] | None" = None, panels: int = PANELS
) -> AxesList:
    """Draw the preferred cells of some epochs of a search, including the first and the last, with their regrets.

    The width of an edge is the softmax of its architecture parameters Λ, unless the search does not learn Λ.

    Args:
        run: a search, finished or not, or its folder.
        ax: the axes to draw on, one per epoch shown. Default: rows of at most three axes in a new figure with a
            caption that names the table.
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
        raise InvalidInputError(f"{value_of('panels')} must be at least 2, not {panels}")
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
    _share_limits(given)
    if ax is None:
        _fit_height(given)
    return AxesList(given)


def searched_parameters(run: SearchRecord) -> Parameters:
    """Return Λ of every epoch; empty if the search does not learn Λ.

    Optimizers that sample architectures, such as random search with weight sharing, record 1 for the choices of the
    preferred architecture and 0 otherwise. Softmaxes of zeros and ones would look like learned weights.
    """
    found = run.architecture_parameters
    is_learned = any(np.ptp(values, axis=0).any() and not np.isin(values, (0, 1)).all() for values in found.values())
    return found if is_learned else {}


def _shown_epochs(run: SearchRecord, panels: int) -> list[int]:
    last = len(run.lines) - 1
    epochs: list[int] = np.unique(np.linspace(0, last, min(panels, last + 1)).round().astype(int)).tolist()
    return epochs


def _new_axes(run: SearchRecord, number: int) -> "list[Axes]":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = -(-number // PER_ROW), min(number, PER_ROW)
    caption = _caption(run, LINE * columns)
    figure = Figure(layout="constrained", dpi=150)
    figure.set_figwidth(PANEL_WIDTH * columns)
    FigureCanvasAgg(figure)
    figure.supxlabel("\n".join(caption), fontsize=7, color="#444444")
    return [figure.add_subplot(rows, columns, place, anchor="N") for place in range(1, number + 1)]


def _caption(run: SearchRecord, characters: int) -> list[str]:
    """Return the lines of the caption: the search, what widths, numbers and grey mean, and the table."""
    search = f"{run.config['optimizer']} on {run.config['space']}, seed {run.config['seed']}"
    if (dataset := run.config.get("dataset")) and other_regrets(run.metrics):
        search += f"; test regrets on {dataset}"
    drawn = "not on a path from input to output"
    if searched_parameters(run):
        drawn = f"not chosen, or {drawn}; widths: softmax of Λ; numbers: softmax weights of the preferred operations"
    texts = (search, f"grey: {drawn}", table_text([run.metrics], run.config["table_id"]))
    return [line for text in texts for line in textwrap.wrap(text, characters, break_on_hyphens=False)]


def _title(run: SearchRecord, epoch: int) -> str:
    line = run.lines[epoch]
    return f"epoch {epoch}\n{describe_regrets('test regret', [line['test_regret']], line['test_measured'])}"


def _share_limits(panels: "Sequence[Axes]") -> None:
    """Give all panels the limits of the widest, so that equally large panels have text of one size."""
    lefts, rights = zip(*(axes.get_xlim() for axes in panels), strict=True)
    for axes in panels:
        axes.set_xlim(min(lefts), max(rights))


def _fit_height(panels: "Sequence[Axes]") -> None:
    """Set the height of the figure of drawn cells, so that they about fill the width of their panels."""
    figure = panels[0].get_figure(root=True)
    assert figure is not None  # panels of a new figure
    left, right = panels[0].get_xlim()
    height = max(top - bottom for bottom, top in (axes.get_ylim() for axes in panels))
    panel = TITLE_HEIGHT + PANEL_WIDTH * min(height / (right - left), TALLEST)
    rows, lines = -(-len(panels) // PER_ROW), len(figure.get_supxlabel().splitlines())
    figure.set_figheight(rows * panel + LINE_HEIGHT * lines)
