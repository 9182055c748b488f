"""The training loop: the state between two steps with its checkpoints, steps, evaluations, and recorded lines."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.parts import Part, Parts
from nasbench1shot1.cell_training.recipe import Recipe, ShuffledStream, Stop, recipe
from nasbench1shot1.cell_training.record import ACCURACIES, EPOCH, Training
from nasbench1shot1.ground.errors import option
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.runs.divergence import check_network, checked_finite
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.supernets.single_images import check_single_image

CHECK_EVERY = 10  # steps between checks of the loss: on a GPU, each check waits for the device


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


def begin(x: Any, config: TrainingOptions, images: ImageSet | None = None, checks_memory: bool = True) -> TrainingState:
    """Set up a training from a resolved configuration; everything random depends on its seed.

    Args:
        x: an architecture or a cell.
        config: the configuration.
        images: the image set, if it is loaded already or replaced by random images. Default: loaded by name.
        checks_memory: whether a training that does not fit into the memory of its device is refused.

    Raises UserError if the configuration does not support the architecture, images are missing or too small, a part is
    smaller than a batch, there are too few steps, or the training does not fit into memory.
    """
    device, method = torch.device(config.device), recipe(x, config)
    images = load_images(config.images) if images is None else images
    parts = method.parts(images.to(device))
    parts.check_batch(config.batch_size)
    every_stop = method.stops(len(parts.train))
    if checks_memory:
        method.check_fits(images)
    net = method.network(images.classes, epoch_generator(config.seed, "network", 0))
    stream = method.stream(parts.train.rows)
    if stream.smallest_batch == 1:
        check_single_image(net, net.forward, images.side, config.batch_size)
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
        stream=stream,
        stops=every_stop,
    )


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
        is_scheduled = stop.epochs % state.config.checkpoint_every == 0
        if is_scheduled or stop.evaluation not in (None, EPOCH) or state.recorded == 1:  # so that it can be resumed
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
    advice = f"by step {state.step}: train again with a lower {option('learning_rate')} or another {option('seed')}"
    return f"{advice}; the record is kept" if state.recorded else advice
