"""Axes: checks of given ones, display in notebooks, scales and ticks; and the saving of figures.

Matplotlib is imported when something is drawn. Other rooms import its types from here, under `TYPE_CHECKING`.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nasbench1shot1.display.style import look
from nasbench1shot1.ground.errors import InvalidInputError, shorten, value_of
from nasbench1shot1.ground.files import DATA_SUFFIX, TEXT_SUFFIX, as_path, atomic_write, check_picture

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Figure
    from matplotlib.figure import SubFigure as SubFigure

    class DrawnAxes(Axes):
        """The type of axes that functions return: `axes.figure.savefig(path)` is possible.

        matplotlib's type hints say that axes may belong to a SubFigure, which cannot be saved.
        """

        @property
        def figure(self) -> Figure:
            """The figure, which is not a part of another figure."""


ZERO_NOTE: Final = "Regrets of zero are drawn at the lower edge."
"""Sentence for the caption of a logarithmic plot whose lower edge is `curves.log_floor`."""
EPOCH_LABEL: Final = "search epoch (0: before training)"
BELOW, ABOVE = 0.03, 0.05
"""Margins of an axis that starts at zero, as fractions of its largest value."""
_UNDATED: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
_METADATA = {".png": ("Title", "Description"), ".svg": ("Title", "Description"), ".pdf": ("Title", "Subject")}
"""The keys of a title and a caption in the metadata of each format."""


def checked_axes(ax: Any) -> "Axes":
    """Return `ax`; raises InvalidInputError if it is something other than matplotlib axes."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InvalidInputError(
            f"{value_of('ax')} must be matplotlib axes, as plt.subplots() returns them, not {_shown(ax)}"
        )
    return ax


def checked_axes_list(axes: Any, each: str, number: int) -> "list[Axes]":
    """Return the axes of a picture that has several.

    Args:
        axes: the value of the option: a sequence, or an array of any shape.
        each: what one of the axes shows, for the message, such as "epoch".
        number: the number of axes that the picture needs.

    Raises:
        InvalidInputError: `axes` has another length, or contains something other than axes.
    """
    from matplotlib.axes import Axes

    found = list(getattr(axes, "flat", axes)) if isinstance(axes, Iterable) else [axes]
    if not all(isinstance(ax, Axes) for ax in found):
        raise InvalidInputError(
            f"{value_of('ax')} must be a list of matplotlib axes, one per {each}, not {_shown(axes)}"
        )
    if len(found) != number:
        raise InvalidInputError(
            f"{value_of('ax')} must have {number} matplotlib axes, one per {each}, not {len(found)}"
        )
    return found


def _shown(value: object) -> str:
    return shorten(repr(value))


class AxesList(list["Axes"]):
    """Matplotlib axes; as the result of a notebook's cell, the figure of the first ones is shown."""

    @property
    def figure(self) -> "Figure":
        """The figure of the first axes."""
        figure = self[0].get_figure(root=True)
        assert figure is not None  # axes that were drawn on have one
        return figure

    def _repr_png_(self) -> bytes | None:
        """Return the figure as a PNG."""
        from nasbench1shot1.display.artists import picture

        return picture(self[0]) if self else None


def save_figure(
    drawn: "Figure | Axes | Sequence[Axes]", path: str | Path, data: "pandas.DataFrame | bool" = True
) -> list[Path]:
    """Write a figure in the format of the file's suffix, such as ".png" or ".svg", and its data as CSV beside it.

    The files have equal names apart from their suffixes. In styles that draw neither title nor caption, a text file
    has both. Each file is written completely or not at all. Equal figures give equal files: they have no date, and
    identifiers in SVG files are not random. The title and the caption of a `Canvas` are also in the picture's metadata.

    Args:
        drawn: a figure, or axes of one, such as the functions that draw return them.
        path: the path of the picture: .png, .svg or .pdf. The file is replaced, and so are the files beside it.
        data: the drawn values. Default (True): those that a function of this package drew in a new figure
            (docs/figures.md). False: no CSV file.

    Returns:
        The paths of the written files, the picture first.

    Raises:
        InvalidInputError: `drawn` is something else, or the path has another suffix.
        UserError: the folder cannot be written, or the disk is full.
    """
    figure, path = figure_of(drawn), as_path(path, "path")
    check_picture(path)
    style, beside = getattr(figure, "style", None), dict[Path, str]()
    if isinstance(data, bool):
        noted = figure_data(figure) if data else None
        content = "" if noted is None or noted.empty else noted.to_csv(index=False, float_format="%.10g")
    else:
        content = data.to_csv(index=False)
    if content:
        beside[path.with_suffix(DATA_SUFFIX)] = content
    if style is not None and not style.has_texts and (texts := figure_texts(figure)):
        beside[path.with_suffix(TEXT_SUFFIX)] = texts
    for other, content in beside.items():
        with atomic_write(other) as file:
            file.write(content.encode())
    metadata = dict(_UNDATED.get(path.suffix, {}))
    for name, text in zip(_METADATA.get(path.suffix, ()), ("title", "caption"), strict=False):
        if said := getattr(figure, text, ""):
            metadata[name] = said
    with atomic_write(path) as file, look(style):
        figure.savefig(file, format=path.suffix.removeprefix("."), metadata=metadata)
    return [path, *beside]


def figure_of(drawn: Any) -> "Figure":
    """Return a figure, or the figure of axes; raises InvalidInputError for anything else."""
    from matplotlib.figure import Figure

    if isinstance(drawn, Figure):
        return drawn
    first = next(iter(getattr(drawn, "flat", drawn)), None) if isinstance(drawn, Iterable) else drawn
    figure = checked_axes(first).get_figure(root=True)
    assert figure is not None  # axes that were drawn on have one
    return figure


def figure_data(figure: "Figure") -> "pandas.DataFrame | None":
    """Return what functions of this room drew in a figure (`data.COLUMNS`); None for the figures of others."""
    found: pandas.DataFrame | None = getattr(figure, "data", None)
    return found


def figure_texts(figure: "Figure") -> str:
    """Return title and caption of a figure, as in the text file beside a picture; empty if it has none."""
    texts = [text for name in ("title", "caption") if (text := getattr(figure, name, ""))]
    return "".join(f"{text}\n" for text in texts)


# Scales and ticks -----------------------------------------------------------------------------------------------------


def label_log_axis(axis: "Axis") -> None:
    """Give a logarithmic axis readable ticks, and no labels between them."""
    from matplotlib.ticker import NullFormatter

    from nasbench1shot1.display.artists import LogTicks, PlainOrPower

    axis.set_major_locator(LogTicks())
    axis.set_major_formatter(PlainOrPower())
    axis.set_minor_formatter(NullFormatter())


def use_log_axes(axes: "Axes") -> None:
    """Make both axes logarithmic, with readable ticks."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    label_log_axis(axes.xaxis)
    label_log_axis(axes.yaxis)


def use_whole_numbers(axis: "Axis") -> None:
    """Draw ticks only at whole numbers, such as epochs, even if there is a single one."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))  # two ticks could be fractions


def label_epochs(axes: "Axes") -> None:
    """Label a horizontal axis of search epochs."""
    axes.set_xlabel(EPOCH_LABEL)
    use_whole_numbers(axes.xaxis)


def start_at_zero(axes: "Axes") -> "Axes":
    """Show 0 and all values of linear axes and of the axes that share them; return the axes.

    The margin below 0 keeps a regret of 0 apart from the frame.
    """
    if axes.get_yscale() != "linear":  # the caller's choice
        return axes
    limits = [of.dataLim for of in axes.get_shared_y_axes().get_siblings(axes)]
    lows, highs = [min(0.0, float(of.y0)) for of in limits], [float(of.y1) for of in limits]
    top = max((high for high in highs if math.isfinite(high)), default=0.0) or 1.0
    axes.set_ylim(min((low for low in lows if math.isfinite(low)), default=0.0) - BELOW * top, (1 + ABOVE) * top)
    return axes
