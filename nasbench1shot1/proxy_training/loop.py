"""The training loop of a proxy study: it trains one architecture after another and records a line for each."""

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.images.batches import batches
from nasbench1shot1.proxy_training.record import ProxyTrainings
from nasbench1shot1.proxy_training.state import ProxyState
from nasbench1shot1.runs.divergence import check_network, checked_finite
from nasbench1shot1.runs.schedules import cosine
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.supernets.passes import Mixing, class_scores
from nasbench1shot1.supernets.supernet import Supernet

VALIDATION_BATCH = 500  # images; with fixed batch-norm statistics, the batch size only affects rounding


class Reporter(Protocol):
    """Receives the progress of the trainings."""

    def recorded(self, line: dict[str, object]) -> None:
        """Report a trained and recorded architecture."""


class Epoch(NamedTuple):
    """The results of an epoch: the mean loss on augmented training images, and the validation error afterwards."""

    train_loss: float
    validation_error: float


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
    return f"in epoch {epoch} of architecture {number}: train with a lower --learning-rate or --grad-clip"
