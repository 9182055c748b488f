"""Drawing the regret of one run on matplotlib axes: `nb.draw_regret`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from nasbench1shot1.black_box_search.drawing import QUARTILE_BAND, draw_anytime, zero_note
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.axes import AxesList, axes_or_new, checked_axes_list
from nasbench1shot1.display.colours import colours
from nasbench1shot1.display.curves import Spread, describe_band
from nasbench1shot1.ground.errors import InvalidInputError, value_of
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.one_shot_search.regret_curve import (
    anytime_regret,
    draw_anytime_regret,
    draw_one_shot_error,
)
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error
from nasbench1shot1.tuning.drawing import draw_trajectory
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawable = SearchRecord | SearchGroup | BlackBoxStudy | Study
EPOCHS = "search epoch (0: before training)"


@overload
def draw_regret(run: Drawable | str | Path, ax: "Axes | None" = None, *, spread: Spread | None = None) -> "Axes": ...


@overload
def draw_regret(run: Drawable | str | Path, ax: "Sequence[Axes]", *, spread: Spread | None = None) -> "list[Axes]": ...


def draw_regret(
    run: Drawable | str | Path, ax: "Axes | Sequence[Axes] | None" = None, *, spread: Spread | None = None
) -> "Axes | list[Axes]":
    """Draw the recorded regret of a run in percent, of an unfinished run as far as it is recorded.

    Searches are drawn over epochs, studies over simulated seconds or hours. `nb.compare` draws several runs. The legend
    names what a band shows: by default, the 95 % confidence interval of the mean over the seeds of a group; or the
    quartiles over the searches of a black-box study.

    Args:
        run: a search, a group of seeds, a black-box study or a tuning study, or its folder.
        ax: the axes to draw on; for searches, also a pair of axes, for the regret and the one-shot validation error,
            one above the other (`plt.subplots(2, sharex=True)[1]`) or side by side. Default: the axes of a new figure
            that is not registered with pyplot.
        spread: what the band over the seeds of a group shows: "ci" (default, the 95 % confidence interval by
            bootstrap), "std", "quartiles" or "range".

    Returns:
        The axes, or the pair; `ax.figure.savefig("regret.svg")` writes the picture.

    Raises:
        InvalidInputError: the run has no result yet, or is of a kind without regrets; `ax` is not axes, or is a pair
            for a run without one-shot errors.
    """
    found = open_run(run) if isinstance(run, str | Path) else run
    if not isinstance(found, Drawable):
        raise InvalidInputError(
            f"{found!r} has no regret to draw: give a search, a group of seeds, a black-box study or a tuning study"
        )
    runs = found.runs if isinstance(found, SearchGroup) else [found]
    started = [each for each in runs if each.lines]
    if not started:
        raise no_result_error(found.folder)
    if isinstance(found, SearchRecord | SearchGroup):
        return _draw_searches(cast("list[SearchRecord]", started), ax, spread)
    if _is_pair(ax):
        raise InvalidInputError(
            f"{value_of('ax')} must be single axes, because '{found.folder}' has no one-shot errors"
        )
    axes = axes_or_new(cast("Axes | None", ax))
    if isinstance(found, Study):
        return draw_trajectory(found.lines, axes)
    name = found.config["optimizer"]
    band = QUARTILE_BAND if len(found.lines) > 1 else None
    draw_anytime(axes, found, label=name.rpartition(":")[2], color=colours([name])[0], band_label=band)
    return _with_legend(axes, title=zero_note([found]))


def _draw_searches(runs: "Sequence[SearchRecord]", ax: Any, spread: Spread | None) -> "Axes | list[Axes]":
    """Draw the regrets of searches, and if `ax` is a pair of axes, their one-shot errors on the second."""
    pair = checked_axes_list(ax, "curve", 2) if _is_pair(ax) else []
    axes = pair[0] if pair else axes_or_new(ax)
    frame, method = anytime_regret([run.metrics for run in runs], spread), runs[0].config["optimizer"]
    if pair and frame["one_shot_validation_error_mean"].isna().all():
        raise InvalidInputError(
            f"{value_of('ax')} must be single axes, because '{runs[0].folder}' has no one-shot errors"
        )
    dataset = runs[0].config["dataset"]
    _with_legend(draw_anytime_regret(frame, axes, method, len(runs), dataset), describe_band(spread, len(runs)))
    axes.set_xlabel(EPOCHS)
    if not pair:
        return axes
    draw_one_shot_error(frame, pair[1], method, len(runs)).set_xlabel(EPOCHS)
    _fit_labels(*pair)
    return AxesList(pair)


def _fit_labels(first: "Axes", second: "Axes") -> None:
    """Keep labels out of the gap between two axes, which is small in matplotlib's default layout."""
    one, other = first.get_position(), second.get_position()
    if max(one.x0, other.x0) < min(one.x1, other.x1) and one.y0 != other.y0:  # one above the other
        (first if one.y0 > other.y0 else second).set_xlabel("")
        return
    second.set_ylabel("one-shot validation error [%]")
    right = first if one.x0 > other.x0 else second
    right.yaxis.tick_right()
    right.yaxis.set_label_position("right")


def _is_pair(ax: Any) -> bool:
    """Return whether `ax` is something other than single axes or None: a list, a tuple or an array."""
    return hasattr(ax, "__len__") and not isinstance(ax, str)


def _with_legend(axes: "Axes", title: str = "") -> "Axes":
    axes.legend(frameon=False, fontsize=8, title=title or None, title_fontsize=8)
    return axes
