"""A training between two steps: the network, its optimizer, the images, and what a checkpoint holds of them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.cell_training.config import TrainingConfig
from nasbench1shot1.cell_training.memory import check_fits
from nasbench1shot1.cell_training.parts import Parts, parts_of
from nasbench1shot1.cell_training.rmsprop import TensorFlowRMSProp
from nasbench1shot1.cell_training.schedule import Stop, learning_rate, stops
from nasbench1shot1.cell_training.stream import ShuffledStream
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.network import CellNetwork, build_network
from nasbench1shot1.runs.checkpoints import taking_up

MEAN = (125.31 / 255, 122.95 / 255, 113.87 / 255)
STD = (62.99 / 255, 62.09 / 255, 66.70 / 255)
"""What NAS-Bench-101 normalises CIFAR-10 with, as parts of 255."""


@dataclass
class TrainingState:
    """All that moves during a training, and what it moves on.

    Attributes:
        cell: as it was given; `net.cell` is numbered as it is trained.
        stops: all steps after which something is recorded.
        recorded: how many of them are.
        step: steps done.
        training_seconds: wall-clock time of the steps so far, without evaluations and checkpoints.
    """

    config: TrainingConfig
    cell: Cell
    net: CellNetwork
    optimizer: TensorFlowRMSProp
    parts: Parts
    augmentation: Augmentation
    stream: ShuffledStream
    stops: list[Stop]
    recorded: int = 0
    step: int = 0
    training_seconds: float = 0.0

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.net.classifier.weight.device

    @property
    def learning_rate(self) -> float:
        """Of the step that comes next."""
        return learning_rate(self.step, self.stops[-1].step, self.config.learning_rate)

    def logits(self, images: Tensor, compiled: bool = True) -> Tensor:
        """The class scores, (N, classes) float32; `compiled` only counts where the training compiles."""
        enabled = self.config.precision == "bfloat16"
        forward = self.net if compiled else self.net.forward
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=enabled):
            logits: Tensor = forward(images)
        return logits.float()

    def batch(self) -> tuple[Tensor, Tensor]:
        """The images (B, 3, H, W) and labels (B,) of the step that comes next, augmented."""
        pixels, labels = self.parts.train.images.batch(self.stream.batch(self.step))
        return self.augmentation(pixels, epoch_generator(self.config.seed, "augmentation", self.step)), labels

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            "step": self.step,
            "recorded": self.recorded,
            "training_seconds": self.training_seconds,
            "run": self.identity(),
            "network": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to fit: every option, the cell and the images."""
        images = self.parts.train.images.sha256
        graph = {"matrix": self.cell.matrix.tolist(), "ops": list(self.cell.ops)}
        return {**self.config.as_dict(), **graph, "images": images}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Go on from the checkpoint that was read from `path`.

        Raises InvalidInputError if it is another training's, DamagedFileError if something is missing from it.
        """
        with taking_up(state, path, self.identity(), "training"):
            self.net.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.recorded = state["step"], state["recorded"]
            self.training_seconds = state["training_seconds"]


def begin(cell: Cell, config: TrainingConfig) -> TrainingState:
    """Set up a training from a resolved configuration: everything is drawn from its seed.

    Raises UserError for images that are not there, a batch that does not fit, or too few steps.
    """
    device = torch.device(config.device)
    images = load_images(config.images)
    parts, size = parts_of(images.to(device)), config.batch_size
    parts.check_batch(size)
    every_stop = stops(config.epochs, len(parts.train), size)
    check_fits(config, cell, images.classes, images.side)
    net = _network(cell, config, images.classes).to(device)
    return TrainingState(
        config=config,
        cell=cell,
        net=net,
        optimizer=_optimizer(net, config),
        parts=parts,
        augmentation=_augmentation(images),
        stream=ShuffledStream(parts.train.rows, size, config.seed),
        stops=every_stop,
    )


def _network(cell: Cell, config: TrainingConfig, classes: int) -> CellNetwork:
    net = build_network(
        cell,
        stem_channels=config.stem_channels,
        stacks=config.stacks,
        cells_per_stack=config.cells_per_stack,
        classes=classes,
        numbering=config.numbering,
        batch_norm_momentum=config.batch_norm_momentum,
        generator=epoch_generator(config.seed, "network", 0),
    )
    if config.compile:
        net.compile()
    return net


def _optimizer(net: CellNetwork, config: TrainingConfig) -> TensorFlowRMSProp:
    return TensorFlowRMSProp(
        net.parameters(),
        config.learning_rate,
        decay=config.rms_decay,
        momentum=config.momentum,
        epsilon=config.rms_epsilon,
        weight_decay=config.weight_decay,
    )


def _augmentation(images: ImageSet) -> Augmentation:
    """A black border, a random crop, a flip; no cutout."""
    own = Augmentation.of(images)
    return replace(own, mean=MEAN, std=STD) if images.mean == CIFAR10.mean else own
