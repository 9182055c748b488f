"""The axes of a panel as data: label, scale and ticks, whose texts do not overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

from nasbench1shot1.display.axes import label_log_axis
from nasbench1shot1.display.canvas import LINE_HEIGHT, evenly_wrapped, text_width
from nasbench1shot1.display.colours import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nasbench1shot1.display.style import FigureStyle

THOUSAND, MOST_TICKS, TICK_WIDTH = 1e3, 6, 4.5
"""The value from which ticks have separators, the maximum number of intervals of an axis, and the width of an interval,
relative to the font size."""
FILLED = 0.88
"""The share of their place that texts side by side take; layouts make axes narrower than they are at first."""
UPRIGHT = 5.0
"""Font size in points below which the texts of ticks are rotated."""
SMALLEST = 4.0
"""Smallest font size of texts that must fit, in points."""


@dataclass(frozen=True)
class Axis:
    """An axis of a panel.

    Attributes:
        label: what it shows, with the unit.
        log: whether it is logarithmic; the label then says so.
        low, high: its ends. None: chosen from the data.
        ticks: labels by position. Default: chosen from the data.
    """

    label: str
    _: KW_ONLY
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: Mapping[Any, str] | None = None

    def apply(self, axes: "Axes", name: Literal["x", "y"]) -> None:
        """Set up an axis on which everything is drawn."""
        from matplotlib import rcParams
        from matplotlib.font_manager import FontProperties
        from matplotlib.ticker import FixedLocator

        axis = axes.xaxis if name == "x" else axes.yaxis
        label = _with_remark(self.label, "log scale") if self.log else self.label
        length = (axes.bbox.width if name == "x" else axes.bbox.height) / axes.figure.dpi
        width = FILLED * length if name == "x" and is_compact(axes) else length
        axis.set_label_text(evenly_wrapped(label, width, float(axis.label.get_fontsize())))
        if self.log:
            axes.set(**{f"{name}scale": "log"})
            label_log_axis(axis)
        if self.low != self.high:  # equal if neither is given, or for the range of a single point
            axes.set(**{f"{name}lim": (self.low, self.high)})
        if self.ticks is not None:
            texts = [literal(text) for text in self.ticks.values()]
            setting = rcParams["xtick.labelsize" if name == "x" else "ytick.labelsize"]  # in points, or a word
            largest = FontProperties(size=setting).get_size_in_points()
            size, rotation = fitting_size(axes, texts if name == "x" else [], largest), 0.0
            if size < UPRIGHT:
                height = LINE_HEIGHT * max(text.count("\n") + 1 for text in texts) / 72
                size, rotation = min(largest, FILLED * length / len(texts) / height), 90.0
            axis.set_ticks(list(self.ticks), texts, fontsize=size, rotation=rotation)
        elif not self.log and not isinstance(axis.get_major_locator(), FixedLocator):  # as of a matrix
            most = length / (TICK_WIDTH * font_size() / 72) if name == "x" else MOST_TICKS
            axes.locator_params(name, nbins=int(min(MOST_TICKS, max(most, 2))))
            if max(map(abs, axis.get_view_interval())) > THOUSAND:
                axis.set_major_formatter("{x:,.0f}")


def is_compact(axes: "Axes") -> bool:
    """Return whether axes are beside others in a figure in the paper style, so that no text may be wider than them."""
    figure = axes.get_figure(root=True)
    style: FigureStyle | None = getattr(figure, "style", None)
    return style is not None and not style.has_texts and figure is not None and len(figure.axes) > 1


def font_size() -> float:
    """Return the style's font size in points, to which sizes of texts and markers are relative."""
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def fitting_size(axes: "Axes", texts: Sequence[str], size: float) -> float:
    """Return the size, at most `size` points, in which evenly spaced texts fit side by side on axes."""
    widest = max((text_width(line, size) for text in texts for line in text.split("\n")), default=0.0)
    place = axes.bbox.width / axes.figure.dpi / max(len(texts), 1)
    return max(min(size, FILLED * size * place / max(widest, 1e-9)), SMALLEST)


def _with_remark(label: str, remark: str) -> str:
    """Return "error [%, log scale]" for "error [%]"."""
    return f"{label[:-1]}, {remark}]" if label.endswith("]") else f"{label} [{remark}]"
