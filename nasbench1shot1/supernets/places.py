"""The interface of skeletons, which list the places of a supernet and build the layers around its cells."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from torch import Tensor, nn

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import Place
from nasbench1shot1.supernets.presets import Preset

CellWidth = Callable[[int, int], int]
"""Returns the number of output channels of a cell, given its input channels and the width of its stage."""


class Skeleton(Protocol):
    """The layers around the cells. A skeleton has no parameters: a `Supernet` registers the layers that it builds."""

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        """Take the width of the first stage, the number of cells, and the switches of the preset."""

    def places(self, cell_width: CellWidth, side: int = 32) -> Iterator[Place]:
        """Yield all places in the order of the forward pass, from the stem to the head.

        Args:
            cell_width: a function that returns the number of output channels of a cell.
            side: height and width of the images in pixels.

        Raises InvalidInputError if the layers do not support images of this size.
        """

    def layer(self, place: Place) -> nn.Module:
        """Return the layers of the stem or of a reduction: (N, in_channels, H, W) → (N, out_channels, H', W').

        If mixing weights reach the place, its layer takes the same arguments as a cell (`supernet.SupernetCell`).
        """

    def head(self, place: Place, classes: int) -> dict[str, nn.Module]:
        """Return the layers after the last cell by name; `classifier` is the last one."""

    def classify(self, net: Any, x: Tensor, *arguments: Any) -> Tensor:
        """Return class scores (N, classes) of the last cell's output, with the layers of `head` in `net`.

        `arguments` are those of a cell if mixing weights reach the head; otherwise, there are none.
        """


def doubling_stages(
    channels: int,
    cells: int,
    cell_width: CellWidth,
    side: int,
    *,
    reduction_widens: bool,
    padding: int = 0,
    halves_exactly: bool = False,
) -> Iterator[Place]:
    """Yield the places of NAS-Bench-101 and NAS-Bench-201: three stages, each with twice the width at half the size.

    Args:
        channels: width of the stem and the first stage.
        cells: number of cells; stages end before cells `cells // 3` and `2 * cells // 3`.
        cell_width, side: as in `Skeleton.places`.
        reduction_widens: whether a reduction doubles the channels; if not, the first cell of the next stage does.
        padding: pixels around the image before it is halved.
        halves_exactly: whether reductions support only even sides.

    Raises InvalidInputError if a reduction does not support the side of its images.
    """
    stage, width, reduced = 0, channels, {cells // 3, 2 * cells // 3} - {0}
    if halves_exactly:
        check_halvings(side, len(reduced))
    yield Place("stem", 0, stage, 3, width, channels, 1, side)
    for number in range(cells):
        if number in reduced:
            stage, channels = stage + 1, 2 * channels
            widened = channels if reduction_widens else width
            yield Place("reduction", number, stage, width, widened, channels, 2, side)
            width, side = widened, (side + 2 * padding) // 2
        made = cell_width(width, channels)
        yield Place("cell", number, stage, width, made, channels, 1, side)
        width = made
    yield Place("head", 0, stage, width, channels, channels, 1, side)


def check_halvings(side: int, times: int) -> None:
    """Raise InvalidInputError if images of a side in pixels cannot be halved a number of times without a remainder."""
    if side % 2**times:
        raise InvalidInputError(
            f"images of {side} × {side} pixels cannot be halved {'once' if times == 1 else 'twice'}, as the network "
            f"requires: use images whose side is a multiple of {2**times}"
        )
