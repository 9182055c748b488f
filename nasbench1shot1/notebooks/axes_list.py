"""The result of a function that draws on several axes: a list that a notebook shows as a picture."""

from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
