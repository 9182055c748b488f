"""What the trainings of a proxy study share, and what a checkpoint holds between two of them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nasbench1shot1 import registry
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import Split, split
from nasbench1shot1.proxy_training.config import ProxyConfig
from nasbench1shot1.runs.checkpoints import taking_up
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernet import Supernet
from nasbench1shot1.supernets.presets import PRESETS


@dataclass
class ProxyState:
    """The architectures, the images, and how many architectures are trained.

    Every training draws from generators of its own, which depend only on the seed, the architecture's number and the
    epoch. Between two trainings, the number of recorded ones is thus all that a checkpoint needs.

    Attributes:
        architectures: the sample, in the order of training.
        split: its weight half trains, its architecture half validates.
        recorded: number of architectures that are trained and recorded.
    """

    config: ProxyConfig
    space: OneShotSpace
    architectures: list[Architecture]
    images: ImageSet
    split: Split
    recorded: int = 0

    @property
    def augmentation(self) -> Augmentation:
        """Return the augmentation of training images: crop and flip, as in a search."""
        return Augmentation(mean=self.images.mean, std=self.images.std)

    def generator(self, number: int, stream: str, epoch: int) -> torch.Generator:
        """Return the random numbers of one use in one epoch of one architecture's training."""
        return epoch_generator(self.config.seed, f"proxy/{number}/{stream}", epoch)

    def network(self, number: int) -> Supernet:
        """Return the untrained network of an architecture, of which only the architecture's own parts are used."""
        preset = replace(PRESETS[self.config.preset], batch_norm_momentum=self.config.batch_norm_momentum)
        net = Supernet(
            self.space,
            self.config.channels,
            self.config.cells,
            preset,
            classes=self.images.classes,
            generator=self.generator(number, "network", 0),
        )
        return net.to(self.config.device)

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        return {"recorded": self.recorded, "run": self.identity()}

    def identity(self) -> dict[str, Any]:
        """Return what must be equal for a checkpoint to fit: every option, the space and the images."""
        return {**self.config.as_dict(), "space_id": self.space.id, "images_sha256": self.images.sha256}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Continue from the checkpoint that was read from `path`.

        Raises InvalidInputError if it is another run's, DamagedFileError if something is missing from it.
        """
        with taking_up(state, path, self.identity(), "training"):
            self.recorded = int(state["recorded"])


def begin(config: ProxyConfig) -> ProxyState:
    """Set up the trainings of a resolved configuration; nothing is trained.

    Raises UserError for an unknown space, more architectures than the space has, images that are missing, or a batch
    that does not fit.
    """
    space = registry.one_shot(registry.search_space(config.space))
    images = load_images(config.images)
    scheme = PRESETS[config.preset].split
    halves = split(images, scheme, np.random.default_rng(config.seed), config.images_per_half)
    if config.batch_size > len(halves.weights):
        raise InvalidInputError(
            f"--batch-size {config.batch_size} is more than the {len(halves.weights):,} training images: lower it, or "
            "use more images"
        )
    return ProxyState(config, space, sample(space, config), images.to(torch.device(config.device)), halves)


def sample(space: OneShotSpace, config: ProxyConfig) -> list[Architecture]:
    """Draw architectures uniformly from all of a space, loose ends included, without replacement.

    A larger sample of the same seed begins with the smaller one. Raises InvalidInputError where the space has fewer.
    """
    if config.architectures > len(space):
        raise InvalidInputError(f"{space.name} has {len(space):,} architectures: lower --architectures to that or less")
    order = np.random.default_rng(config.seed).permutation(len(space))
    return [space[int(index)] for index in order[: config.architectures]]
