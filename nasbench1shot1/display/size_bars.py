"""Drawing architectures whose choices are sizes: one bar per layer, from the input at the top to the output.

With mixing weights, every candidate is a step of the bar, and its shade is its weight; excluded ones are hatched.
"""

import math
from collections.abc import Mapping
from colorsys import hsv_to_rgb, rgb_to_hsv
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Bars
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.layout import CHARACTER, HALF_HEIGHT, LARGEST_TEXT
from nasbench1shot1.display.style import relative_size, tone

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes

LENGTH = 3.4
"""Length of the bar of the largest candidate, in data units."""
DISTANCE = 0.64
"""Distance between the centres of adjacent bars."""
SPACE = 0.15
"""Space between a bar and the texts beside it."""
TEXT = 0.9 * LARGEST_TEXT
"""Font size of the texts."""
TRACK, EDGE = "#f2f2f2", "#444444"
"""Fill colour of the largest candidate's length, and colour of outlines."""

EXCLUDED = "#bbbbbb"
"""Colour of the hatching of excluded steps."""
SATURATION, BRIGHTNESS = 2.2, 0.75
"""Factor of the saturation, and brightness, of the colours of shaded steps, which would otherwise be pale."""


def draw_bars(axes: "Axes", bars: Bars, fills: Mapping[str, str]) -> None:
    """Draw the bars on axes with an equal aspect; `fills` has the colour of each layer, by its name."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    from nasbench1shot1.display.artists import ScaledText

    unit = LENGTH / max(bars.candidates)
    steps = list(pairwise((0, *bars.candidates)))
    for row, (name, value) in enumerate(zip(bars.names, bars.values, strict=True)):
        y, height = -row * DISTANCE, 2 * HALF_HEIGHT
        axes.add_patch(Rectangle((0, y - HALF_HEIGHT), LENGTH, height, facecolor=tone(TRACK), edgecolor="none"))
        parts, color = [(0, value, 1.0)], to_rgb(fills[name])
        if bars.weights is not None:
            parts = [(low, high, float(w)) for (low, high), w in zip(steps, bars.weights[row], strict=True)]
            color = _vivid(color)
        for low, high, shade in parts:
            corner, width = (low * unit, y - HALF_HEIGHT), (high - low) * unit
            fill: dict[str, Any] = {"facecolor": color, "alpha": min(shade, 1.0), "edgecolor": "none"}
            if math.isnan(shade):
                fill = {"facecolor": "none", "edgecolor": tone(EXCLUDED), "linewidth": 0, "hatch": "////"}
            axes.add_patch(Rectangle(corner, width, height, **fill))
        outline: dict[str, Any] = {"facecolor": "none", "edgecolor": tone(EDGE), "linewidth": 0.9}
        axes.add_patch(Rectangle((0, y - HALF_HEIGHT), value * unit, height, **outline))
        more: dict[str, Any] = {"fontsize": relative_size(0.8), "height": TEXT, "transform": axes.transData}
        axes.add_artist(ScaledText(-SPACE, y, name, ha="right", **more))
        axes.add_artist(ScaledText(LENGTH + SPACE, y, _result(bars, row), ha="left", **more))
        _note(axes, bars, row)
    axes.set_xlim(bar_limits(bars))
    axes.set_ylim(-(len(bars.names) - 1) * DISTANCE - HALF_HEIGHT - 0.1, HALF_HEIGHT + 0.1)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _note(axes: "Axes", bars: Bars, row: int) -> None:
    """Note the candidates of a layer with their weights, or its value if there are no weights."""
    value = bars.values[row]
    shown, weights = ([value], None) if bars.weights is None else (bars.candidates, bars.weights[row])
    chosen = ["chosen" if size == value else "" for size in shown]
    note_drawn(axes, "bars", bars.names[row], x=shown, value=weights, text=chosen)


def figure_size(bars: Bars) -> tuple[float, float]:
    """Return the width and height of a figure of one architecture, in inches."""
    left, right = bar_limits(bars)
    return 3.4, 3.4 * (len(bars.names) * DISTANCE + 0.4) / (right - left)


def _vivid(color: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return a colour with the same hue that is still visible with a small weight."""
    hue, saturation, _ = rgb_to_hsv(*color)
    return hsv_to_rgb(hue, min(1.0, SATURATION * saturation), BRIGHTNESS)


def _result(bars: Bars, row: int) -> str:
    """Return the chosen value of a layer, and its mixing weight, if it is known."""
    value = bars.values[row]
    if bars.weights is None:
        return str(value)
    return f"{value} ({bars.weights[row][bars.candidates.index(value)]:.2f})"


def bar_limits(bars: Bars) -> tuple[float, float]:
    """Return the horizontal limits of the axes, which leave space for the texts."""
    digits = len(str(max(bars.candidates))) + (len(" (0.00)") if bars.weights is not None else 0)
    left, right = max(map(len, bars.names)) * TEXT * CHARACTER, digits * TEXT * CHARACTER
    return -left - 2 * SPACE, LENGTH + right + 2 * SPACE
