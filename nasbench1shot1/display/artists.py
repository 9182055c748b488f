"""Subclasses of matplotlib's classes: figures with a style, axes that notebooks show, ticks, and text that shrinks.

This module imports matplotlib, so others import it only where they draw.
"""

import math
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator
from matplotlib.transforms import Bbox

from nasbench1shot1.display.data import Drawn, frame_of
from nasbench1shot1.display.style import FigureStyle, look

if TYPE_CHECKING:
    import pandas

RESOLUTION = 100
"""Dots per inch of pictures in notebooks."""
DECADE: Final = 10
"""Ratio of both ends of an axis from which its ticks are never evenly spaced."""
EVEN: Final = 3
"""Ratio of both ends of an axis up to which its ticks are always evenly spaced."""
PER_DECADE: Final[dict[tuple[float, ...], float]] = {
    (1, 1.5, 2, 3, 4, 5, 7): DECADE,
    (1, 2, 3, 5): DECADE,
    (1, 2, 5): 1e3,
    (1, 3): 1e4,
}
"""Factors of the ticks in every decade, and the ratios of both ends of an axis up to which they are used."""
LETTER: Final = 0.65
"""Width of a digit with some space, relative to the font size."""
PLAIN: Final = 1e5
"""Axes that end below this value have plain numbers; others have powers of ten."""


class StyledFigure(Figure):
    """A figure that is drawn and saved in its own style, regardless of matplotlib's current settings.

    Matplotlib creates ticks only when it draws, and chooses how to embed fonts when it saves.

    Attributes:
        style: the style.
        title, caption: the texts around the panels, which the paper style does not draw.
        drawn: what is drawn on the axes, with its values.
    """

    def __init__(self, size: tuple[float, float], style: FigureStyle) -> None:
        super().__init__(figsize=size, dpi=style.dots, layout="constrained")
        FigureCanvasAgg(self)  # can be saved without a window
        self.style, self.title, self.caption = style, "", ""
        self.drawn: list[Drawn] = []

    @property
    def data(self) -> "pandas.DataFrame":
        """The drawn values: a row for each, with the columns `display.data.COLUMNS`."""
        return frame_of(self.drawn)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure in its style."""
        with look(self.style):
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure in its style; arguments as in matplotlib."""
        with look(self.style):
            super().savefig(fname, **options)


class InlineAxes(Axes):
    """Matplotlib axes; as the result of a notebook's cell, their figure is shown."""

    def _repr_png_(self) -> bytes:
        """Return the figure as a PNG."""
        return picture(self)


def picture(axes: Axes) -> bytes:
    """Return the figure of axes as a PNG."""
    file = BytesIO()
    figure = axes.get_figure(root=True)
    assert figure is not None  # axes that were drawn on have one
    figure.savefig(file, format="png", dpi=RESOLUTION)
    return file.getvalue()


class LogTicks(LogLocator):
    """Two to ten ticks: as many as an axis has space for, evenly spaced or with the same factors in every decade."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the values of the ticks between two positive numbers."""
        low, high = sorted((vmin, vmax))
        choices: list[Sequence[float]] = []
        if low > 0 and high >= EVEN * low:
            choices += [_ticks(factors, low, high) for factors, most in PER_DECADE.items() if high < most * low]
        if low <= 0 or high < DECADE * low:
            choices += [MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high) for n in (5, 4, 3)]
        else:
            choices.append(LogLocator().tick_values(low, high))
        shown = [[tick for tick in ticks if low <= tick <= high] for ticks in choices]
        several = [ticks for ticks in shown if len(ticks) >= 2]
        fitting = (ticks for ticks in several if self._fit(ticks, low, high))
        return next(fitting, min(several, key=len, default=shown[-1]))

    def _fit(self, ticks: Sequence[float], low: float, high: float) -> bool:
        """Return whether the labels of neighbouring ticks do not overlap on this axis."""
        if low <= 0 or not isinstance(self.axis, Axis):
            return True
        gap = min(math.log10(after / before) for before, after in pairwise(ticks)) / math.log10(high / low)
        space = gap * self.axis.get_tick_space()  # in heights of three letters across, and of two upwards
        if isinstance(self.axis, YAxis):
            return 2 * space >= 1
        return 3 * space >= LETTER * max(len(f"{tick:,.6g}") for tick in ticks)


def _ticks(factors: Iterable[float], low: float, high: float) -> list[float]:
    """Return products of factors and powers of ten that cover the range of two positive numbers, ascending."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [factor * 10.0**decade for decade in decades for factor in factors]


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


class ScaledText(Text):
    """A text in a size of `fontsize` points, or smaller, so that it is at most `height` data units high.

    It is centred by default.

    The size is set whenever the text is drawn, because layouts and savefig change the size of the axes. The width is
    only limited on axes with an equal aspect.
    """

    def __init__(self, x: float, y: float, text: str, *, fontsize: float, height: float, **properties: Any) -> None:
        placed = {"ha": "center", "va": "center", "clip_on": False, **properties}
        super().__init__(x, y, text, fontsize=fontsize, **placed)
        self._largest, self._height = fontsize, height

    def draw(self, renderer: RendererBase) -> None:
        """Draw the text in the size that fits."""
        self._shrink()
        super().draw(renderer)

    def get_window_extent(self, renderer: RendererBase | None = None, dpi: float | None = None) -> Bbox:
        """Return the extent in pixels, in the size that fits."""
        self._shrink()
        return super().get_window_extent(renderer, dpi)

    def _shrink(self) -> None:
        figure = self.get_figure(root=True)
        if not isinstance(self.axes, Axes) or figure is None:
            return
        (_, bottom), (_, top) = self.axes.transData.transform([(0, 0), (0, self._height)])
        size = min(self._largest, max(72 * abs(top - bottom) / figure.dpi, 0.1))
        if size != self.get_fontsize():
            self.set_fontsize(size)
