"""The training loop: training steps, evaluations, and a recorded line at every evaluation and end of an epoch."""

import time
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.cell_training.parts import Part
from nasbench1shot1.cell_training.record import ACCURACIES, Training
from nasbench1shot1.cell_training.schedule import EPOCH, Stop
from nasbench1shot1.cell_training.state import TrainingState
from nasbench1shot1.runs.training import check_network, checked_finite
from nasbench1shot1.runs.writer import RunWriter

CHECK_EVERY = 10  # steps between checks of the loss: on a GPU, each check waits for the device


class Reporter(Protocol):
    """Receives the progress of a training, for a progress bar."""

    def step(self, step: int, loss: float | None) -> None:
        """Report a completed training step; `loss` is the mean since the last line, None if it was not checked."""

    def evaluated(self) -> None:
        """Report an evaluated batch."""

    def recorded(self, line: dict[str, Any]) -> None:
        """Report a recorded line."""


class Means(NamedTuple):
    """Means over the augmented batches since the last line, each computed before its step."""

    loss: float
    accuracy: float


def run_training(state: TrainingState, writer: RunWriter[Training], reporter: Reporter) -> None:
    """Train from the state's current step to the last, and record every stop.

    Raises:
        UserError: the loss became NaN or infinite, or the disk is full; the record is complete up to the last
            checkpoint.
    """
    for stop in state.stops[state.recorded :]:
        started = time.perf_counter()
        means = train_to(state, stop.step, reporter)
        check_network(state.net, _advice(state))  # waits for the device, too
        state.training_seconds += time.perf_counter() - started
        accuracies = evaluate(state, reporter) if stop.evaluation else {}
        state.recorded += 1
        line = stop_line(state, stop, means, accuracies)
        writer.append_line(line)
        if stop.evaluation not in (None, EPOCH) or stop.epochs % state.config.checkpoint_every == 0:
            writer.save(state)
        reporter.recorded(line)


def train_to(state: TrainingState, step: int, reporter: Reporter) -> Means:
    """Train until `step` steps are done, and return the means over these batches."""
    state.net.train()
    loss_sum, correct = torch.zeros((), device=state.device), torch.zeros((), device=state.device)
    size, images = state.config.batch_size, 0
    for done in range(1, step - state.step + 1):
        loss, logits, labels = train_step(state)
        loss_sum += loss * (len(labels) / size)  # the last batch of an epoch may be smaller
        correct += (logits.argmax(dim=1) == labels).sum()
        images += len(labels)
        reporter.step(state.step, _mean(loss_sum, images / size, state) if done % CHECK_EVERY == 0 else None)
    return Means(_mean(loss_sum, images / size, state), correct.item() / images)


def train_step(state: TrainingState) -> tuple[Tensor, Tensor, Tensor]:
    """Take one step; return the cross-entropy () and the logits (B, classes), both detached, and the labels (B,)."""
    images, labels = state.batch()
    for group in state.optimizer.param_groups:
        group["lr"] = state.learning_rate
    logits = state.logits(images)
    loss = F.cross_entropy(logits, labels)
    state.optimizer.zero_grad()
    loss.backward()
    state.optimizer.step()
    state.step += 1
    return loss.detach(), logits.detach(), labels


def evaluate(state: TrainingState, reporter: Reporter) -> dict[str, float]:
    """Return the accuracies on all evaluated parts, without augmentation."""
    return {name: accuracy(state, part, reporter) for name, part in state.parts.evaluated().items()}


@torch.inference_mode()
def accuracy(state: TrainingState, part: Part, reporter: Reporter) -> float:
    """Return the network's accuracy on a part, with batch norm's running statistics; a fraction."""
    state.net.eval()
    correct, counted = torch.zeros((), dtype=torch.int64, device=state.device), 0
    for rows in state.evaluated_batches(part):
        pixels, labels = part.images.batch(rows)
        logits = state.logits(state.augmentation.normalise(pixels), compiled=False)
        correct += (logits.argmax(dim=1) == labels).sum()
        counted += len(rows)
        reporter.evaluated()
    return int(correct) / counted


def stop_line(state: TrainingState, stop: Stop, means: Means, accuracies: dict[str, float]) -> dict[str, Any]:
    """Return the line of metrics.jsonl for a stop, with the fields in `record.FIELDS`."""
    if stop.evaluation and state.parts.train_evaluation is None:
        accuracies = {**accuracies, "train_accuracy": means.accuracy}
    return {
        "step": stop.step,
        "epochs": stop.epochs,
        "evaluation": stop.evaluation,
        "learning_rate": state.optimizer.param_groups[0]["lr"],
        "batch_loss": means.loss,
        "batch_accuracy": means.accuracy,
        **{name: accuracies.get(name) for name in ACCURACIES},
        "training_time": state.training_seconds,
    }


def _mean(loss_sum: Tensor, steps: float, state: TrainingState) -> float:
    return checked_finite(loss_sum, "the training loss", _advice(state)) / steps


def _advice(state: TrainingState) -> str:
    """Return the step at which a training diverged, and advice, for error messages."""
    advice = f"by step {state.step}: train again with a lower --learning-rate or another --seed"
    return f"{advice}; the record is kept" if state.recorded else advice
