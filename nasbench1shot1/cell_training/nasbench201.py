"""NAS-Bench-201's training protocol (section 2.2; exps/NAS-Bench-201 in AutoDL-Projects).

SGD with Nesterov momentum, a cosine schedule per epoch, a new order of the images in every epoch, and evaluations on
all images.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.cell_training.config import EdgeTrainingConfig
from nasbench1shot1.cell_training.memory import check_edges_fit
from nasbench1shot1.cell_training.parts import Parts, edge_parts
from nasbench1shot1.cell_training.record import EdgeTraining
from nasbench1shot1.cell_training.schedule import Stop, epoch_learning_rate, epoch_stops
from nasbench1shot1.cell_training.stream import EpochStream
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.network import STAGES, EdgeNetwork, build_edge_network
from nasbench1shot1.nasbench201.numbering import index_of

MEAN = (125.3 / 255, 123.0 / 255, 113.9 / 255)
STD = (63.0 / 255, 62.1 / 255, 66.7 / 255)
"""Mean and standard deviation with which NAS-Bench-201 normalises CIFAR-10, as fractions of 255."""


class EdgeRecipe:
    """The training of an architecture of nb201 (`recipe.Recipe`)."""

    RECORD, WHOLE_BATCHES = EdgeTraining, False

    def __init__(self, x: Any, config: EdgeTrainingConfig) -> None:
        if not isinstance(x, EdgeArchitecture):
            raise InvalidInputError(
                f"{x!r} is not an architecture of nb201, which {type(config).__name__} requires: use another "
                "architecture or another configuration"
            )
        self.architecture, self._config = x, config
        index, cells = index_of(x.operations), counted(STAGES * config.cells_per_stage, "cell")
        self.title, self.size = (
            f"Architecture {index}, {x.official}",
            f"{counted(config.channels, 'channel')} × {cells}",
        )
        self.name = f"nb201-{index}"
        self.identity = {"architecture": str(x)}
        self.facts = {**self.identity, "index": index}

    def parts(self, images: ImageSet) -> Parts:
        """Divide an image set; a complete data set is divided as in NAS-Bench-201."""
        return edge_parts(images, self._config.dataset or "cifar10-valid")

    def stops(self, images: int) -> list[Stop]:
        """Return the ends of all epochs."""
        config = self._config
        return epoch_stops(config.epochs, images, config.batch_size, config.evaluate_every)

    def stream(self, rows: Tensor) -> EpochStream:
        """Return a stream with a random order of all rows in every epoch; its last batch may be smaller."""
        return EpochStream(rows, self._config.batch_size, self._config.seed)

    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a cosine schedule per epoch; it is constant within an epoch."""
        epochs = self._config.epochs
        return epoch_learning_rate(step // (last.step // epochs), epochs, self._config.learning_rate)

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""
        check_edges_fit(self._config, self.architecture, images.classes, images.side)

    def network(self, classes: int, generator: torch.Generator) -> EdgeNetwork:
        """Return the architecture's network."""
        channels, cells = self._config.channels, self._config.cells_per_stage
        return build_edge_network(
            self.architecture, channels=channels, cells_per_stage=cells, classes=classes, generator=generator
        )

    def optimizer(self, net: torch.nn.Module) -> torch.optim.SGD:
        """Return SGD with Nesterov momentum; weight decay applies to all parameters."""
        config = self._config
        return torch.optim.SGD(
            net.parameters(),
            config.learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
            nesterov=config.momentum > 0,
        )

    def augmentation(self, images: ImageSet) -> Augmentation:
        """Return an augmentation with a black border, random crops and flips, without cutout."""
        own = Augmentation.of(images)
        return replace(own, mean=MEAN, std=STD) if images.mean == CIFAR10.mean else own
