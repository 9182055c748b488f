"""The size of a supernet, and whether its search fits into memory; the network is not built."""

from collections import Counter
from typing import NamedTuple

import torch

from nasbench1shot1.ground.errors import option
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.runs.machine import check_memory
from nasbench1shot1.space import OneShotSpace, Place
from nasbench1shot1.supernets.presets import Preset, preset_of
from nasbench1shot1.supernets.supernet import cell_class, make_skeleton, places_of

COPIES = 3  # weights, gradients and momentum; the checkpoint needs as much again while it is written
MOST_CHANNELS = MOST_CELLS = 10**6  # larger numbers are not counted exactly, because no memory holds them


def check_fits(config: SearchConfig, space: OneShotSpace, classes: int = 10, side: int = 32, when: str = "") -> None:
    """Check that a supernet for images of some classes and side (in pixels) can be trained in its device's memory.

    The estimate includes only what every method keeps: weights, gradients, momentum and the feature maps for
    backpropagation. So a search that passes may still run out of memory.

    Args:
        config: options of the search.
        space: its space.
        classes, side: number of classes, and height and width of the images in pixels.
        when: words for the message that name the part of the search with these options, such as " in its last phase".

    Raises:
        InvalidInputError: the estimate exceeds the memory, `partial_channels` does not divide the channels, or the
            layers do not support images of this size.
    """
    k = config.partial_channels
    channels = config.channels if config.channels % k else min(config.channels, max(MOST_CHANNELS // k, 1) * k)
    cells = min(config.cells, MOST_CELLS)
    size = supernet_size(space, channels, cells, preset_of(vars(config)), classes, k, side)
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes of an activation; all else is float32
    needed = 4 * COPIES * size.parameters + numbers * config.batch_size * size.activations
    at_least = "" if (channels, cells) == (config.channels, config.cells) else "at least "
    check_memory(
        needed,
        config.device,
        f"{option('channels', config.channels)} and {option('cells', config.cells)} give a supernet of "
        f"{at_least}{size.parameters:,} parameters{when}, which with gradients, momentum and the feature maps of "
        f"{config.batch_size} images needs",
        f"lower {option('channels')}, {option('cells')} or {option('batch_size')}",
    )


class SupernetSize(NamedTuple):
    """The size of a supernet.

    Attributes:
        parameters: trainable numbers.
        activations: lower bound on the numbers that a training step keeps for each image: the inputs of all cells. A
            step on a mixture of operations keeps several times as many.
    """

    parameters: int
    activations: int


def supernet_size(
    space: OneShotSpace,
    channels: int,
    cells: int,
    preset: Preset,
    classes: int = 10,
    partial_channels: int = 1,
    side: int = 32,
) -> SupernetSize:
    """Return the size of `Supernet` with these arguments; layers of equal places are built once.

    `side` is the height and width of an image in pixels.

    Raises InvalidInputError if `partial_channels` does not divide the channels, or the layers do not support images of
    this size.
    """
    skeleton, cell = make_skeleton(space, channels, cells, preset), cell_class(space)
    alike = Counter(place[:1] + place[2:] for place in places_of(space, skeleton, side))  # without their numbers
    parameters = activations = 0
    with torch.device("meta"):  # nothing is allocated
        for (kind, *sizes), times in alike.items():
            place = Place(kind, 0, *sizes)
            if place.kind == "cell":
                layers = [cell(space, place, preset, partial_channels)]
                activations += times * place.in_channels * place.side**2
            elif place.kind == "head":
                layers = list(skeleton.head(place, classes).values())
            else:
                layers = [skeleton.layer(place)]
            parameters += times * sum(p.numel() for layer in layers for p in layer.parameters())
    return SupernetSize(parameters, activations)
