"""The cost of NAS-Bench-201's networks in closed form: trainable parameters and multiply-adds (section 2.1)."""

from collections.abc import Iterator, Sequence
from typing import Any

from nasbench1shot1.ground.arguments import is_integer
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import OPERATIONS, checked_operations
from nasbench1shot1.networks import network_size

STAGES = 3
CHANNELS, CELLS_PER_STAGE = 16, 5  # the published network
_AREAS = {"nor_conv_1x1": 1, "nor_conv_3x3": 9}


def edge_parameter_count(
    operations: Sequence[int], channels: int = CHANNELS, cells_per_stage: int = CELLS_PER_STAGE, classes: int = 10
) -> int:
    """Return the trainable parameters of a network without building it; 73,306 + 28,000 n₁ + 243,040 n₃ by default.

    n₁ and n₃ are the numbers of edges with a 1×1 and a 3×3 convolution.

    Raises InvalidInputError if the operations are not valid, a size is not a whole number of at least 1, or
    `classes` exceeds a million.
    """
    channels, cells_per_stage, classes = checked_sizes(
        channels=channels, cells_per_stage=cells_per_stage, classes=classes
    )
    areas, total = _areas(operations), _conv(3, channels, 9) + 2 * channels
    for stage, width in _widths(channels):
        if stage:
            total += _conv(width // 2, width, 9) + _conv(width, width, 9) + 4 * width + _conv(width // 2, width, 1)
        total += cells_per_stage * sum(_conv(width, width, area) + 2 * width for area in areas)
    return total + 2 * width + (width + 1) * classes


def multiply_adds(
    operations: Sequence[int],
    channels: int = CHANNELS,
    cells_per_stage: int = CELLS_PER_STAGE,
    classes: int = 10,
    side: int = 32,
) -> int:
    """Return the multiply-adds of convolutions and the classifier for one image of `side` × `side` pixels.

    `side` is a multiple of 4, because the image is halved twice. By default 7,783,040 + 3,932,160 n₁ + 35,389,440 n₃.
    The FLOPs in NAS-Bench-201's files are this number plus one for each class, for the bias.

    Raises InvalidInputError like `edge_parameter_count`, and if `side` is not a multiple of 4, up to 65,536.
    """
    channels, cells_per_stage, classes = checked_sizes(
        channels=channels, cells_per_stage=cells_per_stage, classes=classes
    )
    side = checked_side(side)
    areas, total = _areas(operations), _conv(3, channels, 9) * side**2
    for stage, width in _widths(channels):
        if stage:
            side //= 2
            total += (_conv(width // 2, width, 9) + _conv(width, width, 9) + _conv(width // 2, width, 1)) * side**2
        total += cells_per_stage * sum(_conv(width, width, area) for area in areas) * side**2
    return total + width * classes


def _widths(channels: int) -> Iterator[tuple[int, int]]:
    return ((stage, channels * 2**stage) for stage in range(STAGES))


def _areas(operations: Sequence[int]) -> list[int]:
    return [_AREAS[OPERATIONS[op]] for op in checked_operations(operations) if OPERATIONS[op] in _AREAS]


def _conv(in_channels: int, out_channels: int, area: int) -> int:
    return in_channels * out_channels * area


def checked_sizes(**sizes: Any) -> list[int]:
    """Return the sizes of a network as ints, in their order; raises the error of `network_size` for a wrong one."""
    return [network_size(name, value) for name, value in sizes.items()]


def checked_side(side: Any) -> int:
    """Return the side of an image in pixels as an int.

    Raises InvalidInputError if it cannot be halved twice, and the error of `network_size` if it is too large.
    """
    if not is_integer(side) or side < 4 or side % 4:
        raise InvalidInputError(f"side must be a multiple of 4, because the image is halved twice, not {side!r}")
    return network_size("side", side)
