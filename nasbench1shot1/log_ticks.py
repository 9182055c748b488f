"""Logarithmic axes: ticks that are readable over less than a decade and over many, and where zero is drawn."""

import math
from typing import Any, Final

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullFormatter

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
