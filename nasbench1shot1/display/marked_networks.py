"""Marked networks in pictures, such as a residual network: points, or lines where networks have only one coordinate."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from nasbench1shot1.display.charts import Mark, Series
from nasbench1shot1.display.colours import BROWN, GREEN, ORANGE, PINK, PURPLE, SKY, in_legend
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.style import tone

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes

LOOKS: tuple[tuple[str, str, Any], ...] = (
    (ORANGE, "*", (0, (1, 1))),
    (GREEN, "s", (0, (4, 1))),
    (PINK, "D", (0, (4, 1, 1, 1))),
    (SKY, "^", (0, (7, 2))),
    (PURPLE, "v", (0, (7, 2, 1, 2))),
    (BROWN, "P", (0, (2, 2))),
)
"""The colour, the marker and the line of each marked network; further networks reuse them."""
STAR, OTHER = 13.0, 7.0
"""Sizes of the star and of the other markers, in points."""


@dataclass(frozen=True, eq=False)
class Marked(Mark):
    """A marked network.

    Attributes:
        x, y: its coordinates. With both, it is a point; with only `y`, a horizontal line; with only `x`, a vertical
            one.
        place: its number among the marked networks of the picture, which determines its look.
    """

    x: float | None = None
    y: float | None = None
    _: KW_ONLY
    place: int = 0

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw the point or the line above other points, in its own colour unless the caller gave another."""
        marker, look = LOOKS[self.place % len(LOOKS)][1], line_look(self.place)
        if self.x is not None and self.y is not None:
            point: dict[str, Any] = {"marker": marker, "size": STAR if marker == "*" else OTHER, "framed": True}
            return Series([self.x], [self.y], **point).draw(axes, color or look["color"], label)
        note_drawn(axes, "level", label, x=self.x, y=self.y)
        draw, value = (axes.axhline, self.y) if self.x is None else (axes.axvline, self.x)
        text = in_legend(label) or None
        look |= {"color": color} if color else {}
        return draw(value or 0.0, linewidth=1.5, label=text, zorder=1.5, **look)


def line_look(place: int) -> dict[str, Any]:
    """Return the colour and the dashes of the line of the marked network with a number, as arguments of `Axes.plot`."""
    colour, _, dashes = LOOKS[place % len(LOOKS)]
    return {"color": colour, "linestyle": dashes}


def marked(name: str, place: int, x: float | None = None, y: float | None = None, source: str = "") -> Marked:
    """Return a marked network, with its own colour.

    Args:
        name: its name in the legend.
        place, x, y: see `Marked`.
        source: what the legend adds in brackets, such as "measured".
    """
    detail = f" ({source})" if source else ""
    return Marked(label=name, detail=detail, color=LOOKS[place % len(LOOKS)][0], x=x, y=y, place=place)


def draw_marked(axes: "Axes", marks: Iterable[Marked]) -> "Axes":
    """Draw marked networks on axes, with their labels for a legend; return the axes."""
    for mark in marks:
        handle = mark.draw(axes, tone(mark.color), mark.label + mark.detail)
        if mark.x is not None and mark.y is not None:  # only lines are in matplotlib's own legends
            axes.lines[-1].set_label(handle.get_label())
    return axes
