"""Text that shrinks with its axes, so that it stays inside a box that is drawn in data units."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text
from matplotlib.transforms import Bbox


class ScaledText(Text):
    """A centred text in a size of `fontsize` points, or smaller, so that it is at most `height` data units high.

    The size is set whenever the text is drawn, because layouts and savefig change the size of the axes. The width is
    only limited on axes with an equal aspect.
    """

    def __init__(self, x: float, y: float, text: str, *, fontsize: float, height: float, **properties: Any) -> None:
        super().__init__(x, y, text, fontsize=fontsize, ha="center", va="center", clip_on=False, **properties)
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
