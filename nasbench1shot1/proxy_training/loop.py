"""The trainings of a proxy study: their shared state, the training loop, and an estimate of its duration.

The loop trains one architecture after another, and records a line for each.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1 import registry
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import batches, epoch_generator
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import Split, scheme_for, split_images
from nasbench1shot1.images.stand_ins import images_for_planning
from nasbench1shot1.proxy_training.record import ProxyConfig, ProxyTrainings
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.runs.divergence import check_network, checked_finite
from nasbench1shot1.runs.machine import computing, wait_for
from nasbench1shot1.runs.schedules import cosine
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.passes import Mixing, class_scores
from nasbench1shot1.supernets.presets import PRESETS
from nasbench1shot1.supernets.single_images import check_single_image, has_single_image, whole_pass
from nasbench1shot1.supernets.supernet import Supernet, check_side, make_skeleton

VALIDATION_BATCH = 500  # images; with fixed batch-norm statistics, the batch size only affects rounding
TIMED = 4  # architectures, because their depths and operations differ
TIMED_STEPS = 2  # steps per architecture, after one step that is not timed
TIMED_IMAGES = 128  # images on which validation is timed


class Reporter(Protocol):
    """Receives the progress of the trainings."""

    def recorded(self, line: dict[str, object]) -> None:
        """Report a trained and recorded architecture."""


class Epoch(NamedTuple):
    """The results of an epoch: the mean loss on augmented training images, and the validation error afterwards."""

    train_loss: float
    validation_error: float


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
        """The augmentation of training images: crop and flip, as in a search."""
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


def begin(config: ProxyConfig, images: ImageSet | None = None) -> ProxyState:
    """Set up the trainings of a resolved configuration without training.

    Args:
        config: the configuration.
        images: the image set, if it is loaded already or replaced by random images. Default: loaded by name.

    Raises UserError if the space is unknown or has too few architectures, if images are missing or of a size that the
    network does not support, or if a batch has more images than the weight half, or a single image of too few pixels.
    """
    space = registry.one_shot(registry.search_space(config.space))
    images = load_images(config.images) if images is None else images
    scheme = scheme_for(images, PRESETS[config.preset].split)
    halves = split_images(images, scheme, np.random.default_rng(config.seed), config.images_per_half)
    if config.batch_size > len(halves.weights):
        raise InvalidInputError(
            f"{option('batch_size', config.batch_size)} is more than the {len(halves.weights):,} training images: "
            "lower it, or use more images"
        )
    state = ProxyState(config, space, sample(space, config), images.to(torch.device(config.device)), halves)
    check_side(space, make_skeleton(space, config.channels, config.cells, PRESETS[config.preset]), images.side)
    if has_single_image(len(halves.weights), config.batch_size):
        net = state.network(0)
        check_single_image(net, whole_pass(net), images.side, config.batch_size, "images_per_half")
    return state


def sample(space: OneShotSpace, config: ProxyConfig) -> list[Architecture]:
    """Draw architectures uniformly without replacement from a space, including architectures with loose ends.

    With one seed, a smaller sample is the beginning of a larger sample. Raises InvalidInputError if the space has too
    few architectures.
    """
    if config.architectures > len(space):
        raise InvalidInputError(
            f"{space.name} has {len(space):,} architectures: lower {option('architectures')} to at most that number"
        )
    order = np.random.default_rng(config.seed).permutation(len(space))
    return [space[int(index)] for index in order[: config.architectures]]


def train_all(state: ProxyState, writer: RunWriter[ProxyTrainings], reporter: Reporter) -> None:
    """Train all architectures that are not recorded yet, and record each one after its training.

    Raises:
        UserError: a loss became NaN or infinite, or the disk is full; the record is complete up to the last checkpoint.
    """
    for number in range(state.recorded, len(state.architectures)):
        started = time.perf_counter()
        epochs = list(train_one(state, number))
        line = {
            "number": number,
            "architecture": str(state.architectures[number]),
            "cell_hash": state.architectures[number].network_id,
            "train_losses": [epoch.train_loss for epoch in epochs],
            "validation_errors": [epoch.validation_error for epoch in epochs],
            "seconds": time.perf_counter() - started,
        }
        writer.append_line(line)
        state.recorded += 1
        writer.save(state)
        reporter.recorded(line)


def train_one(state: ProxyState, number: int) -> Iterator[Epoch]:
    """Train the network of a single architecture; yield the results of every epoch.

    Weights, image order, crops and flips depend only on the seed and the number. SGD, learning-rate schedule, gradient
    clipping and augmentation are as in the weight training of a search.
    """
    config, net = state.config, state.network(number)
    optimizer = weight_optimizer(state, net)
    for epoch in range(1, config.epochs + 1):
        for group in optimizer.param_groups:
            group["lr"] = cosine(epoch, config.epochs, config.learning_rate, config.learning_rate_min)
        net.train()
        loss_sum, seen = torch.zeros((), device=config.device), 0
        for loss, images in training_steps(state, number, epoch, net, optimizer):
            loss_sum += loss * images
            seen += images
        train_loss = checked_finite(loss_sum, "the training loss", _advice(number, epoch)) / seen
        check_network(net, _advice(number, epoch))
        yield Epoch(train_loss, validation_error(state, number, net))


def weight_optimizer(state: ProxyState, net: Supernet) -> torch.optim.SGD:
    """Return SGD for a network; parameters that the architecture does not use have no gradient and do not change."""
    config = state.config
    return torch.optim.SGD(net.parameters(), config.learning_rate, config.momentum, weight_decay=config.weight_decay)


def training_steps(
    state: ProxyState, number: int, epoch: int, net: Supernet, optimizer: torch.optim.SGD
) -> Iterator[tuple[Tensor, int]]:
    """Train one epoch on the weight half; yield the detached loss, (), and the number of images of every step."""
    drawn, config = state.generator(number, "augmentation", epoch), state.config
    for rows in batches(state.split.weights, config.batch_size, state.generator(number, "order", epoch)):
        pixels, labels = state.images.batch(rows)
        logits = _logits(state, number, net, state.augmentation(pixels, drawn))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), config.grad_clip)
        optimizer.step()
        yield loss.detach(), len(labels)


@torch.no_grad()
def validation_error(state: ProxyState, number: int, net: Supernet) -> float:
    """Return the error on the entire architecture half, without augmentation, with running batch-norm statistics."""
    net.eval()
    rows, wrong = torch.from_numpy(state.split.architecture), torch.zeros((), dtype=torch.int64)
    wrong = wrong.to(state.config.device)
    for part in rows.split(VALIDATION_BATCH):
        pixels, labels = state.images.batch(part)
        logits = _logits(state, number, net, state.augmentation.normalise(pixels))
        wrong += (logits.argmax(dim=1) != labels).sum()
    return int(wrong) / len(rows)


def _logits(state: ProxyState, number: int, net: Supernet, images: Tensor) -> Tensor:
    return class_scores(net, Mixing(path=state.architectures[number]), images, state.config.precision)


def _advice(number: int, epoch: int) -> str:
    lower = f"{option('learning_rate')} or {option('grad_clip')}"
    return f"in epoch {epoch} of architecture {number}: train with a lower {lower}"


def seconds_per_architecture(config: ProxyConfig) -> float:
    """Estimate the seconds per training with a resolved configuration, as a mean over a few architectures.

    Random images stand in for an official data set that is not installed. Raises UserError if the trainings cannot
    begin for another reason.
    """
    with computing(config.threads):
        state = begin(config, images_for_planning(config.images))
        numbers = range(min(TIMED, config.architectures))
        return sum(_seconds(state, number) for number in numbers) / len(numbers)


def _seconds(state: ProxyState, number: int) -> float:
    """Return the estimated seconds of one training."""
    net, times = state.network(number), list[float]()
    for _ in islice(training_steps(state, number, 1, net.train(), weight_optimizer(state, net)), 1 + TIMED_STEPS):
        times.append(_now(state))
    steps = -(-len(state.split.weights) // state.config.batch_size)
    per_step = (times[-1] - times[0]) / max(len(times) - 1, 1)
    some = replace(state, split=replace(state.split, architecture=state.split.architecture[:TIMED_IMAGES]))
    started = _now(state)
    validation_error(some, number, net)
    per_image = (_now(state) - started) / len(some.split.architecture)
    return state.config.epochs * (steps * per_step + len(state.split.architecture) * per_image)


def _now(state: ProxyState) -> float:
    wait_for(state.config.device)
    return time.perf_counter()
