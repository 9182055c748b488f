"""Axes that a notebook shows as a picture, although pyplot does not know their figure."""

from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOLUTION = 100
"""Dots per inch of pictures in notebooks."""


class InlineAxes(Axes):
    """Matplotlib axes; as the result of a notebook's cell, their figure is shown."""

    def _repr_png_(self) -> bytes:
        """Return the figure as a PNG."""
        file = BytesIO()
        figure = self.get_figure(root=True)
        assert figure is not None  # `inline_axes` adds them to one
        figure.savefig(file, format="png", dpi=RESOLUTION)
        return file.getvalue()


def inline_axes(figure: "Figure") -> InlineAxes:
    """Add the only axes to a figure, and give it a canvas that can be saved without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    axes = figure.add_subplot(axes_class=InlineAxes)
    assert isinstance(axes, InlineAxes)
    return axes
