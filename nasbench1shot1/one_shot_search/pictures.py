"""The pictures of a search: its preferred cells over the epochs, with Λ as widths of edges, and its regret."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.display.axes import AxesList, checked_axes_list, save_figure
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.cells import (
    Fills,
    describe_drawing,
    draw_cells_alike,
    drawable_weights,
    is_drawable,
    text_points,
)
from nasbench1shot1.display.colours import checked_labels
from nasbench1shot1.display.options import figure_style
from nasbench1shot1.display.style import NARROWEST, AnyStyle, FigureStyle, checked_style, look
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, value_of
from nasbench1shot1.ground.files import picture_name
from nasbench1shot1.one_shot_search.captions import selection_text, table_text
from nasbench1shot1.one_shot_search.entropy import learned_weights
from nasbench1shot1.one_shot_search.record import CELLS, FIGURE, SearchRecord, describe_regrets
from nasbench1shot1.one_shot_search.regret_curve import other_regrets, regret_figure
from nasbench1shot1.reading import Shares
from nasbench1shot1.runs.folder import SUMMARY
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure
    from nasbench1shot1.tables.table import Table

PANELS = 6
"""Largest number of epochs in a picture."""
PER_ROW = 3
"""Largest number of panels in a row; with more, the text would be too small."""
PANEL_WIDTH, TITLE_HEIGHT = 2.9, 0.47
"""Width of a panel, and height of its title with all margins, in inches."""
READABLE, SIDES = 6.0, 0.1
"""Smallest size of text in the paper style, in points, and space at the sides of a panel, in inches."""
MOST_ROWS = 3
"""Largest number of rows of panels in the paper style, so that a picture is not taller than a page."""
TALLEST = 1.25
"""Largest height of a drawn cell, relative to the width of its panel; only cells with few arcs are narrower."""


def save_pictures(run: SearchRecord, table: "Table") -> None:
    """Write the pictures of a finished run into its folder: its regret and, if they can be drawn, its cells."""
    format, style = run.config.get("format"), figure_style(run.config)
    save_figure(regret_figure([run], [run.metrics], table, style=style), run.folder / picture_name(FIGURE, format))
    if (cells := cells_figure(run, style)) is not None:
        save_figure(cells, run.folder / picture_name(CELLS, format))


def lacks_pictures(run: SearchRecord) -> bool:
    """Return whether pictures of a finished run are missing or outdated, because of a full disk or a kill."""
    ended, format = (run.folder / SUMMARY).stat().st_mtime_ns, run.config.get("format")
    drawn = (FIGURE, CELLS) if is_drawable(run.architectures[0]) else (FIGURE,)
    files = [run.folder / picture_name(name, format) for name in drawn]
    return not all(file.is_file() and file.stat().st_mtime_ns >= ended for file in files)


def cells_figure(run: SearchRecord, style: AnyStyle | None = None) -> "Figure | None":
    """Return the figure of `draw_cells` for a search with a recorded epoch; None if its cells cannot be drawn."""
    if not is_drawable(run.architectures[0]):
        return None
    return draw_cells(run, style=style)[0].get_figure(root=True)


def draw_cells(
    run: SearchRecord | str | Path,
    ax: "Sequence[Axes] | NDArray[Any] | None" = None,
    panels: int = PANELS,
    *,
    labels: Sequence[str] | None = None,
    colors: Fills | None = None,
    style: AnyStyle | None = None,
) -> AxesList:
    """Draw the preferred cells of some epochs of a search, including the first and the last, with their regrets.

    The width of an edge is its mixing weight, as the optimizer's relaxation of Λ gives it at the mean of its noise.
    All edges have the same width if the search does not learn Λ, or if the Λ of a user-defined space has other keys or
    shapes than the drawn form of its architectures. The caption states which weights are drawn. Decided operations have
    thick frames; excluded edges are dotted.

    Args:
        run: a search, finished or not, or its folder.
        ax: the axes to draw on, one per epoch shown. Default: rows of at most three axes in a new figure with a
            caption that names the table.
        panels: largest number of epochs, at least 2. Epochs are spread evenly. The paper style has at most three rows,
            and as many panels in a row as its text can be read in.
        labels: titles of the axes, one per epoch shown. Default: epoch and test regret.
        colors: fill colours of nodes, as in `draw_cell`.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).

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
    columns, is_compact = _arrangement(found, epochs, checked_style(style)) if ax is None else (len(epochs), False)
    if ax is None and not checked_style(style).has_texts:
        epochs = _shown_epochs(found, min(panels, MOST_ROWS * columns))
    titles = checked_labels(labels, [_title(found, epoch) for epoch in epochs], "epoch shown")
    if ax is not None:
        given = checked_axes_list(ax, "epoch shown (panels=)", len(epochs))
        with look(style, given[0]):
            return _draw(found, epochs, given, titles, colors)
    rows = -(-len(epochs) // columns)
    columns = -(-len(epochs) // rows)
    with Canvas(rows, columns, panel=(PANEL_WIDTH, PANEL_WIDTH), style=style, empty=True) as canvas:
        places = _centred_panels(canvas.figure, rows, columns, len(epochs))
        drawn = _draw(found, epochs, places, titles, colors, is_compact=is_compact)
        canvas.finish(
            caption=_caption(found, epochs), height=rows * _height(drawn, canvas.figure.get_figwidth() / columns)
        )
        return drawn


def _weights(run: SearchRecord, epochs: Sequence[int]) -> Mapping[int, Shares]:
    """Return the mixing weights that pictures of some epochs show; empty if they show none."""
    return drawable_weights(run.architectures, learned_weights(run, epochs))


def _arrangement(run: SearchRecord, epochs: Sequence[int], style: FigureStyle) -> tuple[int, bool]:
    """Return the largest number of panels in a row, and whether cells are compact, so that text can be read.

    In the paper style, these are the most panels whose text has at least `READABLE` points; nodes have two lines of
    text only where that allows more of them.
    """
    if style.has_texts:
        return PER_ROW, False
    shown = _weights(run, epochs)
    architectures, weights = [run.architectures[epoch] for epoch in epochs], [shown.get(epoch) for epoch in epochs]
    for columns in range(style.columns(PER_ROW, NARROWEST), 1, -1):
        width = style.figure_width(columns) / columns - SIDES
        for is_compact in (False, True):
            if text_points(architectures, weights, width, is_compact=is_compact) >= READABLE:
                return columns, is_compact
    return 1, False


def _draw(
    run: SearchRecord,
    epochs: Sequence[int],
    panels: "Sequence[Axes]",
    titles: Sequence[str],
    colors: Fills | None,
    *,
    is_compact: bool = False,
) -> AxesList:
    shown = _weights(run, epochs)
    architectures = [run.architectures[epoch] for epoch in epochs]
    weights = [shown.get(epoch) for epoch in epochs]
    draw_cells_alike(architectures, panels, weights, titles, colors, is_compact=is_compact)
    return AxesList(panels)


def _centred_panels(figure: "Figure", rows: int, columns: int, number: int) -> "list[Axes]":
    """Return axes in rows; a shorter last row is centred."""
    grid, found = figure.add_gridspec(rows, 2 * columns), []
    for panel in range(number):
        row, place = divmod(panel, columns)
        first = 2 * place + max(0, (row + 1) * columns - number)
        found.append(figure.add_subplot(grid[row, first : first + 2], anchor="N"))
    return found


def _height(panels: "Sequence[Axes]", width: float) -> float:
    """Return the height of a row of panels in which drawn cells about fill the width of their panels."""
    left, right = panels[0].get_xlim()
    height = max(top - bottom for bottom, top in (axes.get_ylim() for axes in panels))
    return TITLE_HEIGHT + width * min(height / (right - left), TALLEST)


def _shown_epochs(run: SearchRecord, panels: int) -> list[int]:
    last = len(run.lines) - 1
    epochs: list[int] = np.unique(np.linspace(0, last, min(panels, last + 1)).round().astype(int)).tolist()
    return epochs


def _caption(run: SearchRecord, epochs: Sequence[int]) -> str:
    """Return the caption: the search, what the drawings mean, and the table."""
    search = f"{run.config['optimizer']} on {run.config['space']}, seed {run.config['seed']}"
    if (dataset := run.config.get("dataset")) and other_regrets(run.metrics):
        search += f"; test regrets on {dataset}"
    weights = _weights(run, epochs)
    excludes = any(np.isnan(values).any() for of_epoch in weights.values() for values in of_epoch.values())
    drawn = [run.architectures[epoch] for epoch in epochs]
    meaning = describe_drawing(drawn, _reading_text(run, epochs) if weights else "", excludes)
    selection, table = selection_text(run.lines[-1:]), table_text([run.metrics], run.config["table_id"])
    note = run.reading_note if weights else ""
    return "\n".join(filter(None, (search, meaning, note, selection, table)))


def _reading_text(run: SearchRecord, epochs: Sequence[int]) -> str:
    """Return a description of the mixing weights, with the temperature, unless it is always 1."""
    return run.describe_reading(max(epochs, key=lambda epoch: run.reading(epoch).temperature != 1))


def _title(run: SearchRecord, epoch: int) -> str:
    line = run.lines[epoch]
    return f"epoch {epoch}\n{describe_regrets('test regret', [line['test_regret']], line['test_measured'])}"
