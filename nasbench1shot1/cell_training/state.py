"""The state of a training between two steps, and its checkpoints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nasbench1shot1.cell_training.config import TrainingOptions
from nasbench1shot1.cell_training.parts import Part, Parts
from nasbench1shot1.cell_training.recipe import Recipe, recipe
from nasbench1shot1.cell_training.schedule import Stop
from nasbench1shot1.cell_training.stream import ShuffledStream
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.runs.checkpoints import checked_restore


@dataclass
class TrainingState:
    """The state of a training: network, optimizer, images and progress.

    Attributes:
        recipe: the architecture and its benchmark's protocol.
        stops: all steps after which something is recorded.
        recorded: number of these steps that are recorded.
        step: number of steps done.
        training_seconds: wall-clock time of the steps so far, without evaluations and checkpoints.
    """

    config: TrainingOptions
    recipe: Recipe
    net: nn.Module
    optimizer: torch.optim.Optimizer
    parts: Parts
    augmentation: Augmentation
    stream: ShuffledStream
    stops: list[Stop]
    recorded: int = 0
    step: int = 0
    training_seconds: float = 0.0

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return next(self.net.parameters()).device

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step."""
        return self.recipe.learning_rate(self.step, self.stops[-1])

    def logits(self, images: Tensor, compiled: bool = True) -> Tensor:
        """Return the class scores, (N, classes) float32; `compiled` has an effect only with `--compile`."""
        enabled = self.config.precision == "bfloat16"
        forward = self.net if compiled else self.net.forward
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=enabled):
            logits: Tensor = forward(images)
        return logits.float()

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return the augmented images (B, 3, H, W) and the labels (B,) of the next step."""
        pixels, labels = self.parts.train.images.batch(self.stream.batch(self.step))
        return self.augmentation(pixels, epoch_generator(self.config.seed, "augmentation", self.step)), labels

    def evaluated_batches(self, part: Part) -> tuple[Tensor, ...]:
        """Return the rows of a part's images that an evaluation uses, in batches."""
        size = self.config.batch_size
        counted = len(part) // size * size if self.recipe.WHOLE_BATCHES else len(part)
        batches: tuple[Tensor, ...] = part.rows[:counted].split(size)
        return batches

    def state_dict(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        return {
            "step": self.step,
            "recorded": self.recorded,
            "training_seconds": self.training_seconds,
            "run": self.identity(),
            "network": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def identity(self) -> dict[str, Any]:
        """Return the values that a checkpoint must match: all options, the architecture, and the images."""
        return {**self.config.as_dict(), **self.recipe.identity, "images": self.parts.train.images.sha256}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore the state from a checkpoint that was read from `path`.

        Raises InvalidInputError if the checkpoint belongs to another training, DamagedFileError if it is incomplete.
        """
        with checked_restore(state, path, self.identity(), "training"):
            self.net.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.recorded = state["step"], state["recorded"]
            self.training_seconds = state["training_seconds"]


def begin(x: Any, config: TrainingOptions) -> TrainingState:
    """Set up a training from a resolved configuration; everything random depends on its seed.

    Raises UserError if the configuration does not support the architecture, images are missing, a part is smaller than
    a batch, there are too few steps, or the training does not fit into memory.
    """
    device, method = torch.device(config.device), recipe(x, config)
    images = load_images(config.images)
    parts = method.parts(images.to(device))
    parts.check_batch(config.batch_size)
    every_stop = method.stops(len(parts.train))
    method.check_fits(images)
    net = method.network(images.classes, epoch_generator(config.seed, "network", 0))
    if config.compile:
        net.compile()
    net = net.to(device)
    return TrainingState(
        config=config,
        recipe=method,
        net=net,
        optimizer=method.optimizer(net),
        parts=parts,
        augmentation=method.augmentation(images),
        stream=method.stream(parts.train.rows),
        stops=every_stop,
    )
