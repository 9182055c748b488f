"""Axes of every picture: the caller's or new ones, their PNG in a notebook, and logarithmic ticks."""

import math
from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullFormatter

from nasbench1shot1.ground.errors import InvalidInputError, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


RESOLUTION = 100
"""Dots per inch of pictures in notebooks."""


class AxesList(list["Axes"]):
    """Matplotlib axes; as the result of a notebook's cell, the figure of the first ones is shown."""

    def _repr_png_(self) -> bytes | None:
        """Return the figure as a PNG."""
        return picture(self[0]) if self else None


def picture(axes: "Axes") -> bytes:
    """Return the figure of axes as a PNG."""
    file = BytesIO()
    figure = axes.get_figure(root=True)
    assert figure is not None  # axes that were drawn on have one
    figure.savefig(file, format="png", dpi=RESOLUTION)
    return file.getvalue()


# Axes that a notebook shows as a picture, although pyplot does not know their figure ----------------------------------


class InlineAxes(Axes):
    """Matplotlib axes; as the result of a notebook's cell, their figure is shown."""

    def _repr_png_(self) -> bytes:
        """Return the figure as a PNG."""
        return picture(self)


def inline_axes(figure: "Figure") -> InlineAxes:
    """Add the only axes to a figure, and give it a canvas that can be saved without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    axes = figure.add_subplot(axes_class=InlineAxes)
    assert isinstance(axes, InlineAxes)
    return axes


# The axes that a function draws on: the caller's (`ax=`, `axes=`), or the axes of a new figure ------------------------


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


# Logarithmic axes: ticks that are readable over less than a decade and over many, and where zero is drawn -------------


DENSE: Final = (1, 2, 5)
"""Factors of the ticks in every decade."""
PLAIN: Final = 1e5
"""Axes that end below this value have plain numbers; others have powers of ten."""
ZERO_NOTE: Final = "Regrets of zero are drawn at the lower edge."
"""Sentence for the caption of a logarithmic plot whose lower edge is `zero_floor`."""


class LogTicks(LogLocator):
    """About three to ten ticks: evenly spaced over less than a decade, otherwise one to three per decade."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the values of the ticks between two positive numbers."""
        if vmin <= 0 or vmax < 10 * vmin:
            return MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(vmin, vmax)
        factors = DENSE if vmax < 1e3 * vmin else (1, 3) if vmax < 1e4 * vmin else (1,)
        return LogLocator(subs=factors).tick_values(vmin, vmax)


class PlainOrPower(Formatter):
    """Plain numbers, such as 20,000, or powers of ten, such as 3 · 10⁶, if the axis has large numbers."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick at `x`."""
        assert self.axis is not None  # matplotlib sets it
        low, high = sorted(self.axis.get_view_interval())
        digits = _significant_digits(low, high)
        if x <= 0 or high < PLAIN:
            return f"{x:,.{max(digits, 6)}g}" if x < PLAIN else f"{x:,.0f}"
        mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
        factor, power = f"{float(mantissa):.{digits}g}", f"10^{{{int(exponent)}}}"
        return f"${power}$" if factor == "1" else f"${factor}\\cdot {power}$"


def _significant_digits(low: float, high: float) -> int:
    """Return the number of digits that tell ticks apart: three, and more if the axis spans little of its values."""
    return min(3 + math.ceil(math.log10(high / (high - low))), 15) if 0 < low < high < 10 * low else 3


def label_log_axis(axis: Axis) -> None:
    """Give a logarithmic axis readable ticks, and no labels between them."""
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
