"""NAS-Bench-201's training protocol (section 2.2; exps/NAS-Bench-201 in AutoDL-Projects).

SGD with Nesterov momentum, a cosine schedule per epoch, a new order of the images in every epoch, and evaluations on
all images. Both spaces of NATS-Bench were trained with it (`NATSRecipe`), for different numbers of epochs.
"""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.cell_training.parts import Part, Parts, canonical_order, held_out, official_tests, parts_of
from nasbench1shot1.cell_training.recipe import EpochStream, Recipe, Stop, check_network_fits, stage_outputs
from nasbench1shot1.cell_training.record import EPOCH, FINAL
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, IMAGENET16_120, OTHER, data_set
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import split_images
from nasbench1shot1.nasbench201.architecture import SPACE_NAME, EdgeArchitecture
from nasbench1shot1.nasbench201.cost import STAGES, edge_parameter_count, multiply_adds
from nasbench1shot1.nasbench201.network import EdgeNetwork, build_edge_network
from nasbench1shot1.nasbench201.training_options import EdgeTrainingConfig, NATSTrainingConfig
from nasbench1shot1.supernets.places import check_halvings

COPIES = 3  # weights, gradients, and SGD's momentum


class NATSRecipe(Recipe):
    """The training of an architecture of one of NATS-Bench's spaces. A subclass defines the network.

    Attributes:
        FORM: the form of the architectures.
        SPACE: the name of the space.
    """

    MEAN = (125.3 / 255, 123.0 / 255, 113.9 / 255)
    STD = (63.0 / 255, 62.1 / 255, 66.7 / 255)
    FORM: ClassVar[Any]
    SPACE: ClassVar[str]

    def __init__(self, x: Any, config: NATSTrainingConfig) -> None:
        if not isinstance(x, self.FORM):
            raise InvalidInputError(
                f"{x!r} is not an architecture of {self.SPACE}, which {type(config).__name__} requires: use another "
                "architecture or another configuration"
            )
        index = self.FORM.benchmark.load("keys").index_of(x)
        self.title, self.name = f"Architecture {index}, {x.official}", f"{self.SPACE}-{index}"
        self.identity = {"architecture": str(x)}
        self.facts = {**self.identity, "index": index}
        self.architecture, self._options = x, config

    def parts(self, images: ImageSet) -> Parts:
        """Divide an image set; a complete data set is divided as in NAS-Bench-201.

        Raises InvalidInputError if the images do not belong to the data set, a class has too few of them, or they
        cannot be halved twice.
        """
        check_halvings(images.side, STAGES - 1)
        return divide(images, self._options.dataset or "cifar10-valid")

    def stops(self, images: int) -> list[Stop]:
        """Return the ends of all epochs."""
        config = self._options
        return stops(config.epochs, images, config.batch_size, config.evaluate_every or 1)

    def stream(self, rows: Tensor) -> EpochStream:
        """Return a stream with a random order of all rows in every epoch; its last batch may be smaller."""
        return EpochStream(rows, self._options.batch_size, self._options.seed)

    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a cosine schedule per epoch; it is constant within an epoch."""
        epochs = self._options.epochs
        return learning_rate(step // (last.step // epochs), epochs, self._options.learning_rate)

    def optimizer(self, net: torch.nn.Module) -> torch.optim.SGD:
        """Return SGD with Nesterov momentum; weight decay applies to all parameters."""
        config = self._options
        return torch.optim.SGD(
            net.parameters(),
            config.learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
            nesterov=config.momentum > 0,
        )


class EdgeRecipe(NATSRecipe):
    """The training of an architecture of nb201."""

    FORM, SPACE = EdgeArchitecture, SPACE_NAME
    _options: EdgeTrainingConfig

    def __init__(self, x: Any, config: EdgeTrainingConfig) -> None:
        super().__init__(x, config)
        cells = counted(STAGES * config.cells_per_stage, "cell")
        self.size = f"{counted(config.channels, 'channel')} × {cells}"

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""
        config = self._options
        parameters = edge_parameter_count(
            self.architecture.operations, config.channels, config.cells_per_stage, images.classes
        )
        outputs = config.cells_per_stage * stage_outputs(config.channels, STAGES, images.side)
        check_network_fits(config, ("channels", "cells_per_stage"), parameters, COPIES, outputs)

    def flops(self, images: ImageSet) -> int:
        """Return the FLOPs as NAS-Bench-201's files count them: multiply-adds, and one for each class."""
        config = self._options
        sizes = config.channels, config.cells_per_stage, images.classes
        return multiply_adds(self.architecture.operations, *sizes, images.side) + images.classes

    def network(self, classes: int, generator: torch.Generator) -> EdgeNetwork:
        """Return the architecture's network."""
        channels, cells = self._options.channels, self._options.cells_per_stage
        return build_edge_network(
            self.architecture, channels=channels, cells_per_stage=cells, classes=classes, generator=generator
        )


def divide(images: ImageSet, dataset: str) -> Parts:
    """Divide an image set deterministically.

    A complete data set is divided as published. For "cifar10-valid", the official halves of the training images are for
    training and validation. For "cifar10", all training images are for training and none for validation. In both cases
    the test images are for testing. For "cifar100" and "ImageNet16-120", all training images are for training, and the
    official halves of the test images are for validation and testing. `parts.held_out` describes the division of any
    other set. The training accuracy is measured on the augmented batches, as published.

    Raises:
        InvalidInputError: the images do not belong to `dataset`, or a class has too few images.
    """
    _check_dataset(images, dataset)
    if (tests := official_tests(images, (CIFAR10.name, CIFAR100.name, IMAGENET16_120.name))) is None:
        parts = held_out(images)
    elif dataset == CIFAR10.name:
        everything = torch.from_numpy(canonical_order(images))
        parts = parts_of(images, everything, None, tests, "NAS-Bench-201's training on all images", is_official=True)
    else:
        halves = split_images(images, "nasbench201", np.random.default_rng(0))  # not random for a complete set
        train, validation = torch.from_numpy(halves.weights), torch.from_numpy(halves.architecture)
        if images.dataset != CIFAR10.name:
            tests = Part(tests.images, tests.rows[~torch.isin(tests.rows + len(images), validation)])
        parts = parts_of(images, train, validation, tests, "the official halves of NAS-Bench-201", is_official=True)
    return replace(parts, train_evaluation=None)


def _check_dataset(images: ImageSet, dataset: str) -> None:
    trainings = ("cifar10-valid", "cifar10") if images.dataset == CIFAR10.name else (images.dataset,)
    if images.dataset != OTHER and dataset not in trainings:
        raise InvalidInputError(
            f"{option('dataset', dataset)} does not match the images of {images.name}, which belong to "
            f"{data_set(images.dataset).title}: give {option('dataset', trainings[0])} or other {option('images')}"
        )


def stops(epochs: int, images: int, batch_size: int, evaluate_every: int) -> list[Stop]:
    """Return the ends of all epochs. Each epoch uses all images; its last batch may be smaller."""
    steps_per_epoch = math.ceil(images / batch_size)
    stops = []
    for epoch in range(1, epochs + 1):
        evaluation = FINAL if epoch == epochs else EPOCH if epoch % evaluate_every == 0 else None
        stops.append(Stop(epoch * steps_per_epoch, float(epoch), evaluation))
    return stops


def learning_rate(epoch: int, epochs: int, first: float) -> float:
    """Return the learning rate of an epoch, 0 … epochs - 1: a cosine schedule that reaches zero after the last epoch.

    The published scheduler also receives the position within an epoch, but uses it only for warm-up, which the protocol
    does not have (`CosineAnnealingLR` in AutoDL-Projects).
    """
    return first * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
