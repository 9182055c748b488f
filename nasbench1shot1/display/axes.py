"""Figures and axes, either new or the caller's: saving, display in notebooks, and logarithmic scales.

Matplotlib is imported when something is drawn.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, shorten
from nasbench1shot1.ground.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from nasbench1shot1.display.artists import InlineAxes

ZERO_NOTE: Final = "Regrets of zero are drawn at the lower edge."
"""Sentence for the caption of a logarithmic plot whose lower edge is `zero_floor`."""
_UNDATED: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = (6.4, 4.4)) -> "Axes":
    """Return the given axes, or the axes of a new figure that is not registered with pyplot.

    Args:
        ax: the value of `ax=`.
        size: width and height of a new figure, in inches.

    Raises:
        InvalidInputError: `ax` is neither axes nor None.
    """
    from matplotlib.figure import Figure

    if ax is not None:
        return checked_axes(ax)
    return inline_axes(Figure(figsize=size, layout="constrained", dpi=150))


def inline_axes(figure: "Figure") -> "InlineAxes":
    """Add the only axes to a figure, and give it a canvas that can be saved without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from nasbench1shot1.display.artists import InlineAxes

    FigureCanvasAgg(figure)
    axes = figure.add_subplot(axes_class=InlineAxes)
    assert isinstance(axes, InlineAxes)
    return axes


def checked_axes(ax: Any) -> "Axes":
    """Return `ax`; raises InvalidInputError if it is something other than matplotlib axes."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InvalidInputError(f"--ax must be matplotlib axes, as plt.subplots() returns them, not {_shown(ax)}")
    return ax


def checked_axes_list(axes: Any, each: str, number: int, option: str = "--ax") -> "list[Axes]":
    """Return the axes of a picture that has several.

    Args:
        axes: the value of the option: a sequence, or an array of any shape.
        each: what one of the axes shows, for the message, such as "epoch".
        number: the number of axes that the picture needs.
        option: the option, as on the command line.

    Raises:
        InvalidInputError: `axes` has another length, or contains something other than axes.
    """
    from matplotlib.axes import Axes

    found = list(getattr(axes, "flat", axes)) if isinstance(axes, Iterable) else [axes]
    if not all(isinstance(ax, Axes) for ax in found):
        raise InvalidInputError(f"{option} must be a list of matplotlib axes, one per {each}, not {_shown(axes)}")
    if len(found) != number:
        raise InvalidInputError(f"{option} must have {number} matplotlib axes, one per {each}, not {len(found)}")
    return found


def _shown(value: object) -> str:
    return shorten(repr(value))


class AxesList(list["Axes"]):
    """Matplotlib axes; as the result of a notebook's cell, the figure of the first ones is shown."""

    def _repr_png_(self) -> bytes | None:
        """Return the figure as a PNG."""
        from nasbench1shot1.display.artists import picture

        return picture(self[0]) if self else None


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure in the format of the file's suffix, such as ".png" or ".svg", completely or not at all.

    Equal figures give equal files: they have no date, and identifiers in SVG files are not random.
    """
    import matplotlib

    with atomic_write(path) as file, matplotlib.rc_context({"svg.hashsalt": "nb1shot1"}):
        figure.savefig(file, format=path.suffix.removeprefix("."), metadata=_UNDATED.get(path.suffix))


def label_log_axis(axis: "Axis") -> None:
    """Give a logarithmic axis readable ticks, and no labels between them."""
    from matplotlib.ticker import NullFormatter

    from nasbench1shot1.display.artists import LogTicks, PlainOrPower

    axis.set_major_locator(LogTicks())
    axis.set_major_formatter(PlainOrPower())
    axis.set_minor_formatter(NullFormatter())


def zero_floor(values: Any) -> float:
    """Return the lower edge of a logarithmic axis, where zero is drawn: half of the smallest positive value.

    Args:
        values: fractions, an array of any shape. If none is positive, the result is half a percent.
    """
    found = np.asarray(values, np.float64)
    return 0.5 * float(found[found > 0].min(initial=0.01))
