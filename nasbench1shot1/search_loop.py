"""The search loop: train the supernet and Λ, and after every epoch ask the table about the architecture preferred."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from nasbench1shot1.checkpoints import save_checkpoint
from nasbench1shot1.errors import UserError
from nasbench1shot1.evaluator import score
from nasbench1shot1.image_batches import batches, endless_batches
from nasbench1shot1.optimizer import Batch, SearchStep
from nasbench1shot1.run_folder import CHECKPOINT
from nasbench1shot1.run_record import WEIGHTS, RunWriter
from nasbench1shot1.search_state import SearchState
from nasbench1shot1.table import Table

EVALUATION_BATCH = 128  # larger ones leave a CPU's cache
RECALIBRATION_BATCHES = 8  # 1,024 images
CHECK_EVERY = 10  # steps between looks at the loss: on a GPU each look waits for the device


class Reporter(Protocol):
    """Who is told how a search goes, for a progress bar."""

    def step(self, epoch: int, loss: float | None) -> None:
        """A training step is done; the mean loss of the epoch so far, where it was looked at."""

    def epoch_done(self, line: dict[str, object]) -> None:
        """An epoch is recorded."""


@dataclass(frozen=True)
class Training:
    """Means over the weight half during an epoch; None before training."""

    loss: float | None
    error: float | None


def run_search(state: SearchState, table: Table, writer: RunWriter, reporter: Reporter) -> None:
    """Search from the state's epoch to the last, recording every epoch (epoch 0: before training).

    Raises:
        UserError: the loss is no number any more, or the disk is full; the run is whole up to the epoch before.
    """
    assert state.config.epochs is not None
    for epoch in range(state.epoch + 1, state.config.epochs + 1):
        started = time.perf_counter()
        training = train_epoch(state, epoch, reporter) if epoch > 0 else Training(None, None)
        error = one_shot_error(state, epoch)
        check_finite(state, epoch)
        state.search_seconds += time.perf_counter() - started
        state.epoch = epoch
        line = epoch_line(state, table, training, error)
        record_epoch(state, writer, line)
        reporter.epoch_done(line)


def train_epoch(state: SearchState, epoch: int, reporter: Reporter) -> Training:
    """One pass over the weight half; before every weight step, one step of Λ on a batch of the architecture half."""
    for group in state.weight_optimizer.param_groups:
        group["lr"] = state.learning_rate(epoch)
    state.net.train()
    state.method.begin_epoch(epoch, state.config.epochs or 0, state.generator("optimizer", epoch))
    device = state.images.images.device
    loss_sum, wrong, seen = torch.zeros((), device=device), torch.zeros((), device=device), 0
    for step, (weight_batch, architecture_batch) in enumerate(batch_pairs(state, epoch), start=1):
        state.method.architecture_step(SearchStep(state.loss, weight_batch, architecture_batch, state.weight_optimizer))
        loss, logits = weight_step(state, weight_batch)
        loss_sum += loss * len(weight_batch.labels)
        wrong += (logits.argmax(dim=1) != weight_batch.labels).sum()
        seen += len(weight_batch.labels)
        reporter.step(epoch, _checked(loss_sum, epoch) / seen if step % CHECK_EVERY == 0 else None)
    return Training(_checked(loss_sum, epoch) / seen, wrong.item() / seen)


def weight_step(state: SearchState, batch: Batch) -> tuple[Tensor, Tensor]:
    """One SGD step of the supernet's weights; returns the loss () and the logits (N, classes), both detached."""
    with torch.no_grad():  # no gradient flows to Λ from here
        mixing = state.method.mixing()
    logits = state.logits(mixing, batch.images)
    loss = nn.functional.cross_entropy(logits, batch.labels)
    state.weight_optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(state.net.parameters(), state.config.grad_clip)
    state.weight_optimizer.step()
    return loss.detach(), logits.detach()


def batch_pairs(state: SearchState, epoch: int) -> Iterator[tuple[Batch, Batch]]:
    """For every step of an epoch a batch of the weight half and one of the architecture half."""
    size = state.config.batch_size or 0
    augment, drawn = state.augmentation(epoch), state.generator("augmentation", epoch)
    of_weights = batches(state.split.weights, size, state.generator("weights", epoch))
    of_architecture = endless_batches(state.split.architecture, size, state.generator("architecture", epoch))
    for weight_rows, architecture_rows in zip(of_weights, of_architecture, strict=False):
        pixels, labels = state.images.batch(weight_rows)
        weight_batch = Batch(augment(pixels, drawn), labels)
        pixels, labels = state.images.batch(architecture_rows)
        augmented = state.preset.augment_architecture_half
        images = augment(pixels, drawn) if augmented else augment.normalise(pixels)
        yield weight_batch, Batch(images, labels)


@torch.no_grad()
def one_shot_error(state: SearchState, epoch: int) -> float:
    """The error of the supernet as searched on the whole architecture half, a fraction."""
    mixing = state.method.evaluation_mixing()
    if state.preset.evaluation_batch_norm == "recalibrated":
        recalibrate(state, epoch)
    state.net.eval()
    augment, drawn = state.augmentation(max(epoch, 1)), state.generator("evaluation", epoch)
    wrong = torch.zeros((), dtype=torch.int64, device=state.images.images.device)
    for rows in torch.from_numpy(state.split.architecture).split(EVALUATION_BATCH):
        pixels, labels = state.images.batch(rows)
        images = augment(pixels, drawn) if state.preset.augment_architecture_half else augment.normalise(pixels)
        wrong += (state.logits(mixing, images).argmax(dim=1) != labels).sum()
    return wrong.item() / len(state.split.architecture)


@torch.no_grad()
def recalibrate(state: SearchState, epoch: int) -> None:
    """Replace batch-norm's running statistics by plain means over some batches of the weight half, un-augmented.

    Running statistics with NAS-Bench-101's momentum of 0.003 need hundreds of steps to forget where they began.
    """
    mixing, augment = state.method.evaluation_mixing(), state.augmentation(max(epoch, 1))
    norms = [layer for layer in state.net.modules() if isinstance(layer, nn.BatchNorm2d)]
    momenta = [layer.momentum for layer in norms]
    for layer in norms:
        layer.reset_running_stats()
        layer.momentum = None  # PyTorch's way of asking for a plain mean
    state.net.train()
    size = min(EVALUATION_BATCH, len(state.split.weights))
    shuffled = batches(state.split.weights, size, state.generator("recalibration", epoch), drop_last=True)
    for _, rows in zip(range(RECALIBRATION_BATCHES), shuffled, strict=False):
        pixels, _ = state.images.batch(rows)
        state.logits(mixing, augment.normalise(pixels), compiled=False)  # a plain mean breaks a compiled graph
    for layer, momentum in zip(norms, momenta, strict=True):
        layer.momentum = momentum


def epoch_line(state: SearchState, table: Table, training: Training, one_shot_valid_error: float) -> dict[str, object]:
    """The line of metrics.jsonl for the state's epoch; fields as in `run_record.FIELDS`."""
    arch = state.method.architecture()
    return {
        "epoch": state.epoch,
        "train_loss": training.loss,
        "train_error": training.error,
        "one_shot_valid_error": one_shot_valid_error,
        "architecture": str(arch),
        **score(arch, table).fields(state.search_seconds),
    }


def record_epoch(state: SearchState, writer: RunWriter, line: dict[str, object]) -> None:
    """Write the epoch down; the checkpoint comes last and makes it count."""
    parameters = {
        key: value.detach().cpu().numpy().astype(np.float32) for key, value in state.method.parameters.items()
    }
    writer.append(line, parameters)
    every = state.config.keep_weights_every
    if every and state.epoch and state.epoch % every == 0:
        weights = {"epoch": state.epoch, "supernet": state.net.state_dict()}
        save_checkpoint(writer.folder / WEIGHTS / f"epoch-{state.epoch:03d}.pt", weights)
    save_checkpoint(writer.folder / CHECKPOINT, state.state_dict())


def check_finite(state: SearchState, epoch: int) -> None:
    """Raise UserError if a weight, a batch-norm statistic or Λ is no number: the last step of an epoch may do that."""
    for tensor in [*state.net.parameters(), *state.net.buffers(), *state.method.parameters.values()]:
        if not torch.isfinite(tensor).all():
            raise _diverged("a weight or a batch-norm statistic", epoch)


def _checked(loss_sum: Tensor, epoch: int) -> float:
    value = float(loss_sum)
    if not np.isfinite(value):
        raise _diverged("the training loss", epoch)
    return value


def _diverged(what: str, epoch: int) -> UserError:
    return UserError(
        f"{what} is no longer a number in epoch {epoch}: search again with a lower --learning-rate or --grad-clip; "
        f"the record is whole up to epoch {epoch - 1}"
    )
