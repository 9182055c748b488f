"""A search between two epochs: the supernet, its optimizers, the images, and what a checkpoint holds of them."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1 import registry
from nasbench1shot1.augment import Augmentation
from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.image_batches import epoch_generator
from nasbench1shot1.images import ImageSet, load_images
from nasbench1shot1.optimizer import ArchitectureSettings, Batch, Mixing, OneShotOptimizer
from nasbench1shot1.options import given
from nasbench1shot1.presets import PRESETS, Preset
from nasbench1shot1.search_config import SearchConfig
from nasbench1shot1.splits import Split, split
from nasbench1shot1.supernet import Supernet


@dataclass
class SearchState:
    """All that moves during a search, and what it moves on.

    Attributes:
        epoch: the last finished epoch; -1 before epoch 0 is recorded.
        search_seconds: wall-clock time of all epochs so far.
    """

    config: SearchConfig
    preset: Preset
    net: Supernet
    weight_optimizer: torch.optim.SGD
    method: OneShotOptimizer
    images: ImageSet
    split: Split
    epoch: int = -1
    search_seconds: float = 0.0

    def loss(self, mixing: Mixing, batch: Batch) -> Tensor:
        """Cross-entropy of the supernet under mixing weights; a scalar."""
        return F.cross_entropy(self.logits(mixing, batch.images), batch.labels)

    def logits(self, mixing: Mixing, images: Tensor, compiled: bool = True) -> Tensor:
        """The supernet's class scores, (N, classes) float32; `compiled` only counts where the search compiles."""
        enabled = self.config.precision == "bfloat16"
        forward = self.net if compiled else self.net.forward
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=enabled):
            logits: Tensor = forward(images, mixing.weights, mixing.operations)
        return logits.float()

    def learning_rate(self, epoch: int) -> float:
        """The weights' learning rate in an epoch, 1 … epochs: a cosine that would end at the one after the last."""
        first, last = self.config.learning_rate, self.config.learning_rate_min
        progress = (epoch - 1) / given(self.config.epochs)
        return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2

    def augmentation(self, epoch: int) -> Augmentation:
        """How training images are augmented in an epoch."""
        probability = self.config.cutout_probability
        if self.preset.cutout_ramp:
            probability *= (epoch - 1) / max(given(self.config.epochs) - 1, 1)
        return Augmentation(
            cutout_length=self.config.cutout_length,
            cutout_probability=probability,
            mean=self.images.mean,
            std=self.images.std,
        )

    def generator(self, stream: str, epoch: int) -> torch.Generator:
        """The random numbers of one use in one epoch: they depend on seed, stream and epoch alone."""
        return epoch_generator(self.config.seed, stream, epoch)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            "epoch": self.epoch,
            "search_seconds": self.search_seconds,
            "run": self.identity(),
            "supernet": self.net.state_dict(),
            "weight_optimizer": self.weight_optimizer.state_dict(),
            "method": self.method.state_dict(),
        }

    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to fit: space, images and every option but the number of epochs."""
        options = {name: value for name, value in self.config.as_dict().items() if name != "epochs"}
        return {**options, "space": self.net.space.id, "images": self.images.sha256}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Go on from the checkpoint that was read from `path`.

        Raises InvalidInputError if it is another run's, DamagedFileError if something is missing from it.
        """
        for name, ours in self.identity().items():
            if (theirs := state.get("run", {}).get(name)) != ours:
                raise InvalidInputError(
                    f"{path} is of another run ({name} {theirs}, here {ours}): put back this run's own"
                )
        try:
            self.net.load_state_dict(state["supernet"])
            self.weight_optimizer.load_state_dict(state["weight_optimizer"])
            self.method.load_state_dict(state["method"])
            self.epoch, self.search_seconds = state["epoch"], state["search_seconds"]
        except (KeyError, RuntimeError, ValueError, TypeError) as error:
            raise DamagedFileError(f"{path} lacks something: restore it, or start a new run") from error


def begin(config: SearchConfig) -> SearchState:
    """Set up a search from a resolved configuration: everything is drawn from its seed.

    Raises UserError for an unknown name, images that are not there, or a batch that does not fit.
    """
    preset, device = PRESETS[config.preset], torch.device(config.device)
    space, method = registry.one_shot(registry.search_space(config.space)), registry.optimizer(config.optimizer)
    images = load_images(given(config.images))
    halves = split(
        images,
        preset.split,
        np.random.default_rng(config.seed),
        config.images_per_half,
    )
    _check_batch(config, halves)
    net = Supernet(
        space,
        given(config.channels),
        given(config.cells),
        preset,
        classes=images.classes,
        generator=epoch_generator(config.seed, "supernet", 0),
    ).to(device)
    if config.compile:
        net.compile()
    weight_optimizer = torch.optim.SGD(
        net.parameters(), config.learning_rate, config.momentum, weight_decay=config.weight_decay
    )
    settings = ArchitectureSettings(config.architecture_learning_rate, config.architecture_weight_decay)
    return SearchState(
        config=config,
        preset=preset,
        net=net,
        weight_optimizer=weight_optimizer,
        method=method(space, settings, epoch_generator(config.seed, "architecture", 0), device),
        images=images.to(device),
        split=halves,
    )


def _check_batch(config: SearchConfig, halves: Split) -> None:
    smallest = min(len(halves.weights), len(halves.architecture))
    if given(config.batch_size) > smallest:
        raise InvalidInputError(
            f"--batch-size {config.batch_size} is more than the {smallest:,} images of a half: lower it, or give more"
        )
