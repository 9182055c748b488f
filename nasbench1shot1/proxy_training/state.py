"""The state that the trainings of a proxy study share, and the content of a checkpoint between two trainings."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nasbench1shot1 import registry
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import Split, scheme_for, split_images
from nasbench1shot1.proxy_training.record import ProxyConfig
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.presets import PRESETS
from nasbench1shot1.supernets.supernet import Supernet


@dataclass
class ProxyState:
    """The architectures, the images, and the number of trained architectures.

    Every training has its own random generators, which depend only on the seed, the architecture's number and the
    epoch. Between two trainings, a checkpoint therefore only needs the number of recorded trainings.

    Attributes:
        architectures: the sample, in the order of training.
        split: the weight half, for training, and the architecture half, for validation.
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
        return Augmentation.of(self.images)

    def generator(self, number: int, stream: str, epoch: int) -> torch.Generator:
        """Return the generator for one purpose (`stream`) in one epoch of an architecture's training."""
        return epoch_generator(self.config.seed, f"proxy/{number}/{stream}", epoch)

    def network(self, number: int) -> Supernet:
        """Return the untrained network of an architecture: a supernet that is used only along this architecture."""
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
        """Return the content of a checkpoint."""
        return {"recorded": self.recorded, "run": self.identity()}

    def identity(self) -> dict[str, Any]:
        """Return the facts that must equal those in a checkpoint: every option, the space and the images."""
        return {**self.config.as_dict(), "space_id": self.space.id, "images_sha256": self.images.sha256}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore the content of a checkpoint, read from `path`.

        Raises InvalidInputError if the checkpoint belongs to another run, DamagedFileError if it is incomplete.
        """
        with checked_restore(state, path, self.identity(), "training"):
            self.recorded = int(state["recorded"])


def begin(config: ProxyConfig) -> ProxyState:
    """Set up the trainings of a resolved configuration without training.

    Raises UserError if the space is unknown or has too few architectures, if images are missing, or if a batch has more
    images than the weight half.
    """
    space = registry.one_shot(registry.search_space(config.space))
    images = load_images(config.images)
    scheme = scheme_for(images, PRESETS[config.preset].split)
    halves = split_images(images, scheme, np.random.default_rng(config.seed), config.images_per_half)
    if config.batch_size > len(halves.weights):
        raise InvalidInputError(
            f"--batch-size {config.batch_size} is more than the {len(halves.weights):,} training images: lower it, or "
            "use more images"
        )
    return ProxyState(config, space, sample(space, config), images.to(torch.device(config.device)), halves)


def sample(space: OneShotSpace, config: ProxyConfig) -> list[Architecture]:
    """Draw architectures uniformly without replacement from a space, including architectures with loose ends.

    With one seed, a smaller sample is the beginning of a larger sample. Raises InvalidInputError if the space has too
    few architectures.
    """
    if config.architectures > len(space):
        raise InvalidInputError(
            f"{space.name} has {len(space):,} architectures: lower --architectures to at most that number"
        )
    order = np.random.default_rng(config.seed).permutation(len(space))
    return [space[int(index)] for index in order[: config.architectures]]
