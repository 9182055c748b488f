"""The interface between a training and the protocol of a benchmark."""

from importlib import import_module
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from nasbench1shot1.cell_training.config import TrainingOptions
from nasbench1shot1.cell_training.parts import Parts
from nasbench1shot1.cell_training.record import Training
from nasbench1shot1.cell_training.schedule import Stop
from nasbench1shot1.cell_training.stream import ShuffledStream
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.image_set import ImageSet


class Recipe(Protocol):
    """How a benchmark trains the network of one architecture.

    Attributes:
        RECORD: the class of the record.
        WHOLE_BATCHES: whether an evaluation omits the images that do not fill a batch.
        title: the architecture, for the screen.
        size: the size of the network, for the screen.
        name: the part of the default folder's name that identifies the architecture.
        identity: the architecture, for checkpoints.
        facts: the architecture, for config.json.
    """

    RECORD: ClassVar[type[Training]]
    WHOLE_BATCHES: ClassVar[bool]

    title: str
    size: str
    name: str
    identity: dict[str, Any]
    facts: dict[str, Any]

    def __init__(self, x: Any, config: Any) -> None:
        """Take an architecture and a resolved configuration; raises InvalidInputError if it cannot be trained."""

    def parts(self, images: ImageSet) -> Parts:
        """Divide an image set; raises InvalidInputError if it has too few images."""

    def stops(self, images: int) -> list[Stop]:
        """Return all steps after which something is recorded, for a number of training images."""

    def stream(self, rows: Tensor) -> ShuffledStream:
        """Return the batches of the training images with these rows, (N,)."""

    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a step, 0 … last.step - 1."""

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""

    def network(self, classes: int, generator: torch.Generator) -> nn.Module:
        """Return the network, with a linear layer `classifier`, on the CPU."""

    def optimizer(self, net: nn.Module) -> torch.optim.Optimizer:
        """Return the optimizer; the loop sets the learning rate of its groups before every step."""

    def augmentation(self, images: ImageSet) -> Augmentation:
        """Return the augmentation of training images; its mean and standard deviation normalise all images."""


def recipe(x: Any, config: TrainingOptions) -> Recipe:
    """Return the recipe that a configuration names; raises the errors of `Recipe`."""
    module, _, name = config.RECIPE.partition(":")
    found: Recipe = getattr(import_module(module), name)(x, config)
    return found
