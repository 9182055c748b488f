"""Axes that a notebook shows as a picture, although pyplot does not know their figure."""

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from nasbench1shot1.notebooks.axes_list import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
