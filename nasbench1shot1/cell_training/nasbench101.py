"""NAS-Bench-101's training protocol: RMSProp, a cosine schedule per step, batches that cross the ends of epochs."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.cell_training.config import TrainingConfig
from nasbench1shot1.cell_training.memory import check_fits
from nasbench1shot1.cell_training.parts import Parts, parts_of
from nasbench1shot1.cell_training.record import CellTraining
from nasbench1shot1.cell_training.rmsprop import TensorFlowRMSProp
from nasbench1shot1.cell_training.schedule import Stop, learning_rate, stops
from nasbench1shot1.cell_training.stream import ShuffledStream
from nasbench1shot1.ground.text import counted
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.nasbench101.network import CellNetwork, build_network
from nasbench1shot1.nasbench101.skeleton import as_cell

MEAN = (125.31 / 255, 122.95 / 255, 113.87 / 255)
STD = (62.99 / 255, 62.09 / 255, 66.70 / 255)
"""Mean and standard deviation with which NAS-Bench-101 normalises CIFAR-10, as fractions of 255."""


class CellRecipe:
    """The training of a cell (`recipe.Recipe`)."""

    RECORD, WHOLE_BATCHES = CellTraining, True

    def __init__(self, x: Any, config: TrainingConfig) -> None:
        self.cell, self._config = as_cell(x), config
        cells = counted(config.stacks * config.cells_per_stack, "cell")
        self.title, self.size = f"Cell {self.cell.hash}", f"{counted(config.stem_channels, 'channel')} × {cells}"
        self.name = f"cell-{self.cell.hash[:8]}"
        self.identity = {"matrix": self.cell.matrix.tolist(), "ops": list(self.cell.ops)}
        self.facts = {"cell_hash": self.cell.hash, **self.identity}

    def parts(self, images: ImageSet) -> Parts:
        """Divide an image set; the complete CIFAR-10 is divided as in NAS-Bench-101."""
        return parts_of(images)

    def stops(self, images: int) -> list[Stop]:
        """Return the ends of all epochs, and the steps of the three evaluations."""
        return stops(self._config.epochs, images, self._config.batch_size)

    def stream(self, rows: Tensor) -> ShuffledStream:
        """Return a stream of complete batches from consecutive random orders of all rows."""
        return ShuffledStream(rows, self._config.batch_size, self._config.seed)

    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a cosine schedule per step; it is zero in the first step."""
        return learning_rate(step, last.step, self._config.learning_rate)

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""
        check_fits(self._config, self.cell, images.classes, images.side)

    def network(self, classes: int, generator: torch.Generator) -> CellNetwork:
        """Return the cell's network."""
        config = self._config
        return build_network(
            self.cell,
            stem_channels=config.stem_channels,
            stacks=config.stacks,
            cells_per_stack=config.cells_per_stack,
            classes=classes,
            numbering=config.numbering,
            batch_norm_momentum=config.batch_norm_momentum,
            generator=generator,
        )

    def optimizer(self, net: torch.nn.Module) -> TensorFlowRMSProp:
        """Return RMSProp as TensorFlow 1 defines it."""
        config = self._config
        return TensorFlowRMSProp(
            net.parameters(),
            config.learning_rate,
            decay=config.rms_decay,
            momentum=config.momentum,
            epsilon=config.rms_epsilon,
            weight_decay=config.weight_decay,
        )

    def augmentation(self, images: ImageSet) -> Augmentation:
        """Return an augmentation with a black border, random crops and flips, without cutout."""
        own = Augmentation.of(images)
        return replace(own, mean=MEAN, std=STD) if images.mean == CIFAR10.mean else own
