"""The skeletons of supernets: the layers around the cells.

A skeleton builds the layers, which a `Supernet` registers under its own names, and defines the forward pass through
them. The skeleton itself has no parameters.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.supernets.layers import BATCH_NORM_EPSILON, BatchNorm2d, ConvBNReLU
from nasbench1shot1.supernets.presets import Preset

SKELETONS = {
    "nasbench101": "nasbench1shot1.supernets.skeletons:CellStacks",
    "nasbench201": "nasbench1shot1.nasbench201.supernet:ResidualStages",
}
"""Short names of skeletons as module:class; a space's `skeleton` is one of them, or itself a module:class."""


class Skeleton(Protocol):
    """The interface of skeletons.

    Attributes:
        starts: positions of the cells before which the image is halved and the number of channels doubles, ascending.
    """

    starts: Sequence[int]

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        """Take the channels of the first stack, the number of cells, and the switches of the preset."""

    def stem(self) -> nn.Module:
        """Return the layers before the first cell: images (N, 3, H, W) → (N, channels, H, W)."""

    def reduction(self, in_channels: int, channels: int) -> nn.Module:
        """Return the layers between two stacks: (N, in_channels, H, W) → the next cell's input, at half the size."""

    def reduced(self, in_channels: int, channels: int) -> int:
        """Return the number of channels that a reduction returns."""

    def head(self, in_channels: int, channels: int, classes: int) -> dict[str, nn.Module]:
        """Return the layers after the last cell by name; `classifier` is the last one."""

    def classify(self, net: Any, x: Tensor) -> Tensor:
        """Return class scores (N, classes) of the last cell's output, with the layers of `head` in `net`."""


class CellStacks:
    """The skeleton of NAS-Bench-1Shot1's supernets, like NAS-Bench-101's: three stacks, max-pooling between them.

    The head (ReLU, 1×1 convolution, batch-norm without parameters) reduces the width of the last cell before the
    average. The published supernet has this head; NAS-Bench-101's networks do not.
    """

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        self.channels, self.starts, self._preset = channels, stack_starts(cells), preset

    def stem(self) -> nn.Module:
        """Return a 3×3 convolution with batch-norm and ReLU."""
        return ConvBNReLU(3, self.channels, 3, self._preset.batch_norm_momentum)

    def reduction(self, in_channels: int, channels: int) -> nn.Module:
        """Return 2×2 max-pooling, which has no parameters."""
        return nn.MaxPool2d(2, stride=2, padding=int(self._preset.downsampling == "padded"))

    def reduced(self, in_channels: int, channels: int) -> int:
        """Return `in_channels`, because pooling does not change the number of channels."""
        return in_channels

    def head(self, in_channels: int, channels: int, classes: int) -> dict[str, nn.Module]:
        """Return a 1×1 convolution, its batch-norm and a linear classifier."""
        return {
            "head": nn.Conv2d(in_channels, channels, kernel_size=1, bias=False),
            "head_bn": BatchNorm2d(channels, eps=BATCH_NORM_EPSILON, affine=False),
            "classifier": nn.Linear(channels, classes),
        }

    def classify(self, net: Any, x: Tensor) -> Tensor:
        """(N, C, H, W) → (N, classes)."""
        x = net.head_bn(net.head(F.relu(x)))
        logits: Tensor = net.classifier(x.mean(dim=(2, 3)))
        return logits


def stack_starts(cells: int) -> tuple[int, ...]:
    """Return the first cells of the second and the third of three stacks; fewer if there are fewer than three cells."""
    return tuple(sorted({cells // 3, 2 * cells // 3} - {0}))


def skeleton_class(space: Any) -> Any:
    """Return the class that a space's `skeleton` names; raises InvalidInputError if it cannot be imported."""
    return resolve_class(space.skeleton, SKELETONS, "skeleton", space.name)


def resolve_class(given: str, known: dict[str, str], kind: str, space: str) -> Any:
    """Return a class of the network's parts.

    Args:
        given: a key of `known`, or "module:Class".
        known: built-in classes as "module:Class", by short name.
        kind: the kind of part, for messages.
        space: the name of the space, for messages.

    Raises:
        InvalidInputError: the name is unknown, or the class cannot be imported.
    """
    module, colon, name = known.get(given, given).partition(":")
    if not colon:
        raise unknown_name(f"kind of {kind}", given, [*known, "module:Class"])
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"{space} names '{module}:{name}' as its {kind}, but importing it fails: {error}"
        ) from error
