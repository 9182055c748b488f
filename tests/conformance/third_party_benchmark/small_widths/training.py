"""The training protocol of the benchmark: its options, its recipe, and the record of a training."""

from dataclasses import dataclass
from math import ceil, cos, pi
from typing import Annotated, Any, ClassVar

import torch

from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.parts import Parts, held_out
from nasbench1shot1.cell_training.recipe import EpochStream, Recipe, Stop, check_network_fits
from nasbench1shot1.cell_training.record import EPOCH, FINAL, Training
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.runs.options import MOST_EPOCHS, RATE, Range
from small_widths.benchmark import BENCHMARK
from small_widths.network import build_network
from small_widths.space import WidthArchitecture


@dataclass(frozen=True, kw_only=True)
class WidthTrainingOptions(TrainingOptions):
    """The options of a training; the defaults are the protocol."""

    BENCHMARK: ClassVar[Benchmark] = BENCHMARK
    SCALES: ClassVar[dict[str, dict[str, Any]]] = {
        "full": {},
        "quick": {"epochs": 3, "images": "cifar10-sample", "batch_size": 50},
    }
    PUBLISHED: ClassVar[tuple[str, ...]] = ("channels", "batch_size", "learning_rate", "momentum", "weight_decay")
    RECIPE: ClassVar[str] = "small_widths.training:WidthRecipe"
    RECORD: ClassVar[str] = "small_widths.training:WidthTraining"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 9
    """Budget: number of training epochs."""
    channels: Annotated[int, Range(1)] = 4
    """Number of channels of a quarter of a stage's width."""
    learning_rate: Annotated[float, RATE] = 0.1
    """Initial learning rate; a cosine schedule lowers it after every step."""
    weight_decay: Annotated[float, RATE] = 5e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""


class WidthRecipe(Recipe):
    """SGD with a cosine schedule, and a new order of the images in every epoch."""

    def __init__(self, x: WidthArchitecture, config: WidthTrainingOptions) -> None:
        self._architecture, self._options = x, config
        self.title, self.size = f"Architecture {x.network_id}", f"{config.channels} channels for each quarter"
        self.name = f"widths-{x.network_id}"
        self.identity = self.facts = {"architecture": str(x)}

    def parts(self, images: ImageSet) -> Parts:
        """Return images for training, validation and testing; this benchmark has no official division."""
        return held_out(images)

    def stops(self, images: int) -> list[Stop]:
        """Return the ends of all epochs; without --evaluate-every, only the last one has an evaluation."""
        epochs, steps = self._options.epochs, ceil(images / self._options.batch_size)
        every = self._options.evaluate_every or epochs
        names = [EPOCH if epoch % every == 0 else None for epoch in range(1, epochs)]
        return [Stop(number * steps, float(number), name) for number, name in enumerate([*names, FINAL], start=1)]

    def stream(self, rows: torch.Tensor) -> EpochStream:
        """Return the batches of the training images."""
        return EpochStream(rows, self._options.batch_size, self._options.seed)

    def learning_rate(self, step: int, last: Stop) -> float:
        """Return the learning rate of a step."""
        return self._options.learning_rate * (1 + cos(pi * step / last.step)) / 2

    def check_fits(self, images: ImageSet) -> None:
        """Raise InvalidInputError if the training cannot fit into memory."""
        parameters = sum(value.numel() for value in self._network(images.classes).parameters())
        outputs = sum(self._options.channels * (width + 1) * images.side**2 for width in self._architecture.widths)
        check_network_fits(self._options, ("channels",), parameters, copies=3, outputs=outputs)

    def network(self, classes: int, generator: torch.Generator) -> torch.nn.Module:
        """Return the network with new weights."""
        return self._network(classes, generator)

    def optimizer(self, net: torch.nn.Module) -> torch.optim.Optimizer:
        """Return SGD with momentum."""
        config = self._options
        return torch.optim.SGD(
            net.parameters(), config.learning_rate, momentum=config.momentum, weight_decay=config.weight_decay
        )

    def _network(self, classes: int, generator: torch.Generator | None = None) -> torch.nn.Module:
        channels = self._options.channels
        return build_network(self._architecture, channels=channels, classes=classes, generator=generator)


class WidthTraining(Training):
    """The record of a training; `nb.open_run` finds it by its KIND."""

    KIND, OPTIONS = "Small-Widths training", WidthTrainingOptions
