"""Checks whether a search fits into memory, before its network is built."""

from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.one_shot_search.sizes import supernet_size
from nasbench1shot1.runs.machine import check_memory
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.presets import PRESETS

COPIES = 3  # weights, gradients and momentum; the checkpoint needs as much again while it is written
MOST_CHANNELS = 10**6  # larger numbers are not counted exactly, because no memory holds them


def check_fits(config: SearchConfig, space: OneShotSpace, classes: int = 10, side: int = 32) -> None:
    """Check that a supernet for images of some classes and side (in pixels) can be trained in its device's memory.

    The estimate includes only what every method keeps: weights, gradients, momentum and the feature maps for
    backpropagation. So a search that passes may still run out of memory.

    Raises:
        InvalidInputError: the estimate exceeds the memory, or `partial_channels` does not divide the channels.
    """
    k = config.partial_channels
    channels = config.channels if config.channels % k else min(config.channels, max(MOST_CHANNELS // k, 1) * k)
    size = supernet_size(space, channels, config.cells, PRESETS[config.preset], classes, k, side)
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes of an activation; all else is float32
    needed = 4 * COPIES * size.parameters + numbers * config.batch_size * size.activations
    at_least = "" if channels == config.channels else "at least "
    check_memory(
        needed,
        config.device,
        f"--channels {config.channels} and --cells {config.cells} give a supernet of {at_least}{size.parameters:,} "
        f"parameters, which with gradients, momentum and the feature maps of {config.batch_size} images needs",
        "lower --channels, --cells or --batch-size",
    )
