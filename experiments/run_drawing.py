"""Drawing the regret of one run on matplotlib axes: `nb.draw_regret`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from nasbench1shot1.black_box_search.drawing import (
    band_text,
    caption,
    draw_anytime,
    draw_baseline,
    draw_marked_regrets,
    optimizer_of,
    regret_floor,
    title_of,
    zero_note,
)
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.axes import EPOCH_LABEL, AxesList, checked_axes, checked_axes_list, start_at_zero
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import Colors, curve_styles, from_legend, main_first
from nasbench1shot1.display.curves import describe_band
from nasbench1shot1.display.marked_networks import draw_marked
from nasbench1shot1.display.style import AnyStyle, Spread, look
from nasbench1shot1.experiments.rescoring import recorded_table
from nasbench1shot1.ground.errors import InvalidInputError, value_of
from nasbench1shot1.one_shot_search.captions import one_shot_error_text, regret_caption, regret_title
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.one_shot_search.regret_curve import (
    anytime_regret,
    draw_anytime_regret,
    draw_events,
    draw_largest,
    draw_one_shot_error,
    draw_references,
)
from nasbench1shot1.reference_points import NO_REGRETS, Asked, MarkedRegrets, marked_regrets
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import no_result_error
from nasbench1shot1.tuning.drawing import draw_trajectory, trajectory_caption, trajectory_title
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, DrawnAxes

Drawable = SearchRecord | SearchGroup | BlackBoxStudy | Study
Labels = str | Sequence[str]
SIZE = (6.4, 3.8)
"""Width and height of new axes in inches, without their legend."""


@overload
def draw_regret(
    run: Drawable | str | Path,
    ax: "Axes | None" = None,
    *,
    spread: Spread | None = None,
    colors: Colors | None = None,
    labels: Labels | None = None,
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> "DrawnAxes": ...


@overload
def draw_regret(
    run: Drawable | str | Path,
    ax: "Sequence[Axes]",
    *,
    spread: Spread | None = None,
    colors: Colors | None = None,
    labels: Labels | None = None,
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> "list[Axes]": ...


def draw_regret(
    run: Drawable | str | Path,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    spread: Spread | None = None,
    colors: Colors | None = None,
    labels: Labels | None = None,
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> "Axes | list[Axes]":
    """Draw the recorded regret of a run in percent, of an unfinished run as far as it is recorded.

    Searches are drawn over epochs; studies are drawn over simulated time, or over evaluations if evaluations limit
    them. `nb.compare` draws several runs. For searches, a dash-dot-dot line shows the mean test regret of the space if
    the table of the search can be opened. Vertical lines show where phases begin, and triangles mark epochs with
    decisions. The title of the legend names what a band shows: by default, the 95 % confidence interval of the mean
    over the seeds of a group or over the searches of a black-box study. New figures have a title and a caption, which
    name the run and its table.

    Args:
        run: a search, a group of seeds, a black-box study or a tuning study, or its folder.
        ax: the axes to draw on; for searches, also a pair of axes, for the regret and the one-shot validation error,
            one above the other (`plt.subplots(2, sharex=True)[1]`) or side by side. Default: the axes of a new figure
            that is not registered with pyplot.
        spread: what bands show: "ci" (default, the 95 % confidence interval), "std", "quartiles" or "range".
        colors: the colour of the test regret, a colour per curve, or colours by label, by the name of the optimizer, or
            for "validation". Default: the optimizer's colour, and black for the validation regret.
        labels: the label of the test regret, or a label per curve.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).
        mark: networks whose test regret is drawn as a horizontal line: names of the benchmark's reference points, such
            as "ResNet cell", architectures, or pairs of a name and an architecture. Default: none.

    Returns:
        The axes, or the pair; `ax.figure.savefig("regret.svg")` writes the picture.

    Raises:
        InvalidInputError: the run has no result yet, or is of a kind without regrets; `ax` is not axes, or is a pair
            for a run without one-shot errors; `colors`, `labels`, `spread` or `style` are wrong; or `mark` is not a
            network of the run's table, or this table cannot be opened.
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
    looks: dict[str, Any] = {"colors": colors, "labels": labels}
    if isinstance(found, SearchRecord | SearchGroup):
        return _draw_searches(cast("list[SearchRecord]", started), ax, spread, style, looks, mark)
    if _is_pair(ax):
        raise InvalidInputError(
            f"{value_of('ax')} must be single axes, because '{found.folder}' has no one-shot errors"
        )
    regrets = _marked(found, mark)
    canvas = Canvas(panel=SIZE, style=style) if ax is None else None
    axes, name = checked_axes(ax) if canvas is None else canvas.axes[0], optimizer_of(found)
    with look(style, axes):
        if isinstance(found, Study):
            draw_trajectory(found.lines, axes, name, guide=found.guide, **looks)
            start_at_zero(draw_marked(draw_largest(found.baseline, axes), regrets.levels()))
            if canvas is None:
                return _with_legend(axes, regrets.note)
            about = trajectory_caption(found, found.lines, recorded_table(found), found.baseline, regrets.note)
            canvas.finish(trajectory_title(found, found.lines), about, legend=True)
            return axes
        (label,) = main_first(labels, [name])
        (own,) = curve_styles([name], colors, [label])
        draw_anytime(axes, found, label=label, style=own, spread=spread)
        draw_baseline(axes, [found], floor := regret_floor([found], spread=spread))
        draw_marked_regrets(axes, found, regrets, floor)
        band = band_text([found], spread)
        if canvas is None:
            return _with_legend(axes, band, zero_note([found]), regrets.note)
        about = "\n".join(filter(None, [caption([found]), regrets.note]))
        canvas.finish(title_of([found], [label]), about, legend=True, band=band)
        return axes


def _marked(run: SearchRecord | BlackBoxStudy | Study, mark: Iterable[Asked] | None) -> MarkedRegrets:
    """Return the regrets of marked networks in the table that a run recorded."""
    return marked_regrets(mark, recorded_table(run), run) if mark else NO_REGRETS


def _draw_searches(
    runs: "Sequence[SearchRecord]",
    ax: Any,
    spread: Spread | None,
    style: AnyStyle | None,
    looks: dict[str, Any],
    mark: Iterable[Asked] | None,
) -> "Axes | list[Axes]":
    """Draw the regrets of searches, and if `ax` is a pair of axes, their one-shot errors on the second."""
    regrets = _marked(runs[0], mark)
    pair = checked_axes_list(ax, "curve", 2) if _is_pair(ax) else []
    canvas = Canvas(panel=SIZE, style=style) if ax is None else None
    axes = pair[0] if pair else checked_axes(ax) if canvas is None else canvas.axes[0]
    frames, method = [run.metrics for run in runs], runs[0].config["optimizer"]
    found = anytime_regret(frames, spread)
    if pair and not found.has_error:
        raise InvalidInputError(
            f"{value_of('ax')} must be single axes, because '{runs[0].folder}' has no one-shot errors"
        )
    with look(style, axes):
        table, dataset = recorded_table(runs[0]), runs[0].config["dataset"]
        before = len(axes.lines)
        draw_anytime_regret(found, axes, method, dataset, table, **looks)
        labels = [from_legend(str(line.get_label())) for line in axes.lines[before:]]
        axes.set_xlabel(EPOCH_LABEL)
        baseline = runs[0].baseline
        if table is None:
            draw_largest(baseline, axes, found.where(dataset))
        else:
            baseline = draw_references(runs[0], frames[0], table, axes, found.where(dataset))
        draw_events(frames, runs[0].config, [axes, *pair[1:]])
        start_at_zero(draw_marked(axes, regrets.levels()))
        band = describe_band(spread, len(runs), is_cut=found.is_cut)
        if canvas is None:
            _with_legend(axes, band, regrets.note)
        else:
            sentences = [baseline.sentence if baseline else "", regrets.note]
            about = regret_caption(runs, frames, len(found.frame), table, sentences)
            canvas.finish(regret_title(runs, frames, len(found.frame)), about, legend=True, band=band)
        if not pair:
            return axes
        name = one_shot_error_text([run.config for run in runs])
        second = draw_one_shot_error(found, pair[1], method, colors=looks["colors"], labels=labels, name=name)
        second.set_xlabel(EPOCH_LABEL)
        _fit_labels(*pair)
        return AxesList(pair)


def _fit_labels(first: "Axes", second: "Axes") -> None:
    """Keep labels out of the gap between two axes, which is small in matplotlib's default layout."""
    one, other = first.get_position(), second.get_position()
    if max(one.x0, other.x0) < min(one.x1, other.x1) and one.y0 != other.y0:  # one above the other
        (first if one.y0 > other.y0 else second).set_xlabel("")
        return
    second.set_ylabel(second.get_ylabel().replace("\n", " "))
    right = first if one.x0 > other.x0 else second
    right.yaxis.tick_right()
    right.yaxis.set_label_position("right")


def _is_pair(ax: Any) -> bool:
    """Return whether `ax` is something other than single axes or None: a list, a tuple or an array."""
    return hasattr(ax, "__len__") and not isinstance(ax, str)


def _with_legend(axes: "Axes", *lines: str) -> "Axes":
    """Add a legend with a title of several lines inside given axes, around which there may be no space; return them."""
    axes.legend(frameon=False, title="\n".join(filter(None, lines)) or None)
    return axes
