"""Drawing the regret of one run on matplotlib axes: `nb.draw_regret`."""

from pathlib import Path
from typing import TYPE_CHECKING

from nasbench1shot1.black_box_search.drawing import draw_anytime
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.method_colours import colours
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.regret_curve import anytime_regret, draw_anytime_regret
from nasbench1shot1.one_shot_search.search_record import SearchRecord
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.result import draw_trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawable = SearchRecord | SearchGroup | BlackBoxStudy | Study


def draw_regret(run: Drawable | str | Path, ax: "Axes | None" = None) -> "Axes":
    """Draw the recorded regret of a run in percent, of an unfinished run as far as it is recorded.

    Searches are drawn over epochs, studies over simulated seconds or hours. `nb.compare` draws several runs.

    Args:
        run: a search, a group of seeds, a black-box study or a tuning study, or its folder.
        ax: the axes to draw on. Default: the axes of a new figure that is not registered with pyplot.

    Returns:
        The axes; `ax.figure.savefig("regret.svg")` writes the picture.

    Raises:
        InvalidInputError: the run has no result yet, or is of a kind without regrets.
    """
    found = open_run(run) if isinstance(run, str | Path) else run
    if not isinstance(found, Drawable):
        raise InvalidInputError(
            f"{found!r} has no regret to draw: give a search, a group of seeds, a black-box study or a tuning study"
        )
    runs = found.runs if isinstance(found, SearchGroup) else [found]
    begun = [each for each in runs if each.lines]
    if not begun:
        raise InvalidInputError(f"'{found.folder}' does not have a result yet: resume it, or wait for one")
    axes = ax if ax is not None else _new_axes()
    if isinstance(found, Study):
        return draw_trajectory(found.lines, axes)
    if isinstance(found, BlackBoxStudy):
        name = found.config["optimizer"]
        draw_anytime(axes, found, label=name.rpartition(":")[2], color=colours([name])[0])
    else:
        frame, method = anytime_regret([each.metrics for each in begun]), begun[0].config["optimizer"]
        draw_anytime_regret(frame, axes, method, len(begun)).set_xlabel("search epoch (0: before training)")
    axes.legend(frameon=False, fontsize=8)
    return axes


def _new_axes() -> "Axes":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from nasbench1shot1.notebooks.axes import inline_axes

    figure = Figure(figsize=(6.4, 4.4), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    return inline_axes(figure)
