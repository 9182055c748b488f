"""The output of a training before, during and after it runs."""

import math
import time
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table as Screen
from torch.nn import functional as F

from nasbench1shot1.cell_training.loop import TrainingState
from nasbench1shot1.cell_training.record import Training
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.ground.notebooks import console_or_new
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, duration, line_printer, percent, print_table, row_printer
from nasbench1shot1.runs.machine import wait_for
from nasbench1shot1.runs.options import required
from nasbench1shot1.tables.table import Table

HEADING = "epochs    step   batch loss   train   validation     test      time"
ROW = "{epochs:>6}{step:>8}{loss:>13}{train:>8}{validation:>13}{test:>9}{seconds:>8} s"
TIMED_BATCHES = 3
LONG_BATCH = 3.0  # seconds; the time of longer batches is proportional to their size
STEP_WORK = 3  # work of a step in evaluated batches: 1 for the forward pass, 2 for the backward pass
COMPARED = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time", "trainable_parameters")
"""Metrics in which a training is compared with a table."""


def announce(state: TrainingState, folder: Path, console: Console | None) -> Console:
    """Print what is trained, on which device and images, and an estimate of the time; return the console."""
    console, config = console_or_new(console), state.config
    print_line = line_printer(console)
    if state.recorded == len(state.stops):
        print_line(f"{folder} is already finished; its summary is written again.")
        return console
    if state.recorded:
        print_line(f"Resuming {folder} after epoch {state.stops[state.recorded - 1].epochs:g} of {config.epochs}.")
    print_line(f"{state.recipe.title}, {counted(config.epochs, 'epoch')}, seed {config.seed}, into {folder}")
    where = config.device
    if where == "cpu":
        where += f" with {counted(required(config.threads), 'thread')}"
    parameters = sum(parameter.numel() for parameter in state.net.parameters())
    print_line(f"{config.scale} scale: {state.recipe.size}, {parameters:,} parameters, on {where}")
    print_line(f"Images: {state.parts.description}")
    if config.device == "cpu" and not console.quiet:  # batches are timed for this line
        print_line(f"On this CPU it takes {duration(remaining_seconds(state))}.")
    return console


class TrainingProgress(ProgressDisplay):
    """A context manager that shows the progress of a training; without a terminal, it prints only the rows."""

    def __init__(self, total: int, done: int, steps: int, console: Console) -> None:
        self._print_line, self._steps = row_printer(console, HEADING), steps
        super().__init__(console)
        self._task = self._bar.add_task(f"step {done // STEP_WORK:,} of {steps:,}", total=total, completed=done)

    def step(self, step: int, loss: float | None) -> None:
        """Advance the bar by a step."""
        if loss is not None:
            self._bar.update(self._task, description=f"step {step:,} of {self._steps:,}  loss {loss:.3f}")
        self._bar.advance(self._task, STEP_WORK)

    def evaluated(self) -> None:
        """Advance the bar by an evaluated batch."""
        self._bar.advance(self._task)

    def recorded(self, line: dict[str, Any]) -> None:
        """Print a row."""
        row = ROW.format(
            epochs=f"{line['epochs']:g}",
            step=line["step"],
            loss=f"{line['batch_loss']:.3f}",
            train=percent(line["train_accuracy"], 1),
            validation=percent(line["validation_accuracy"], 1),
            test=percent(line["test_accuracy"], 1),
            seconds=f"{line['training_time']:.0f}",
        )
        self._print_line(row)


def progress(state: TrainingState, console: Console) -> TrainingProgress:
    """Return the progress bar of a training, at its current step."""
    steps = state.stops[-1].step
    left = _remaining_work(state)
    total = STEP_WORK * steps + _evaluation_work(state) * sum(stop.evaluation is not None for stop in state.stops)
    return TrainingProgress(total, total - left, steps, console)


def show_result(training: Training, console: Console) -> None:
    """Print the final accuracies and the folder of the record."""
    final, print_line = training.final, line_printer(console)
    accuracies = f"validation {percent(final.validation_accuracy)}, test {percent(final.test_accuracy)}"
    after = counted(training.config["epochs"], "epoch")
    print_line(f"Accuracy after {after}: train {percent(final.train_accuracy)}, {accuracies}")
    print_line(f"Record: {training.folder}")


def compare(training: Training, table: Table, console: Console) -> None:
    """Print a training's metrics and the table's metrics for the cell and budget, and explain each of them."""
    print_line, epochs = line_printer(console), training.config["epochs"]
    rows = [[name, _metric_text(name, training.summary[name])] for name in COMPARED]
    title = f"{training.network_id} after {counted(epochs, 'epoch')}\ntable {table.id}"
    screen = Screen(title=title, title_justify="left")
    headings, notes = ["", "trained here"], []
    try:
        metrics = table.query(training.trained, epochs=epochs, dataset=training.dataset)
        headings, notes = [*headings, "in the table", "source"], [metrics.fidelity, metrics.missing]
        for name, row in zip(COMPARED, rows, strict=True):
            row += [_metric_text(name, metrics[name]), metrics.source(name)]
    except (OutOfDomainError, InvalidInputError) as error:  # a table without this network or budget
        notes = [f"Nothing to compare with: {error.for_command_line}"]
    for heading in headings:
        screen.add_column(heading)
    for row in rows:
        screen.add_row(*row)
    print_table(screen, console)
    print_line(_protocol_text(training))
    for note in filter(None, notes):
        print_line(note)


def _protocol_text(training: Training) -> str:
    benchmark = training.OPTIONS.BENCHMARK.title
    if training.config["is_protocol"]:
        return f"Trained here: {benchmark}'s network, images and protocol, in PyTorch (docs/training.md)."
    return (
        f"Trained here: the network, the images or the protocol differ from {benchmark}'s, so accuracies and "
        f"times are not comparable. {training.config['parts']}."
    )


def _metric_text(name: str, value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    if name == "training_time":
        return f"{value:,.1f} s"
    return f"{value:,}" if name == "trainable_parameters" else f"{value:.4f}"


def _evaluation_work(state: TrainingState) -> int:
    """Return the number of batches in one evaluation."""
    return sum(len(state.evaluated_batches(part)) for part in state.parts.evaluated().values())


def _remaining_work(state: TrainingState) -> int:
    """Return the remaining work in evaluated batches."""
    left = state.stops[state.recorded :]
    steps = left[-1].step - state.step if left else 0
    return STEP_WORK * steps + _evaluation_work(state) * sum(stop.evaluation is not None for stop in left)


def remaining_seconds(state: TrainingState) -> float:
    """Return the estimated seconds that are left, from a few timed batches; changes no state."""
    left = state.stops[state.recorded :]
    batches = _evaluation_work(state) * sum(stop.evaluation is not None for stop in left)
    seconds = (left[-1].step - state.step) * _seconds_per_batch(state)
    return seconds + (batches * _seconds_per_batch(state, trains=False) if batches else 0)


def _seconds_per_batch(state: TrainingState, trains: bool = True) -> float:
    """Return the seconds of a training step's passes, or of an evaluated batch.

    Small networks take almost as long for a part of a batch as for all of it, so whole batches are timed, unless an
    eighth of a batch already takes long.
    """
    images, labels = state.batch()
    part = max(len(labels) // 8, 2)
    state.net.eval()  # does not update the running statistics

    def seconds(size: int) -> float:
        started = time.perf_counter()
        if trains:
            pixels = state.batch()[0][:size]  # with the augmentation
            loss = F.cross_entropy(state.logits(pixels, compiled=False), labels[:size])
            torch.autograd.grad(loss, list(state.net.parameters()), allow_unused=True)  # some edges may be unused
        else:
            with torch.inference_mode():
                state.logits(images[:size], compiled=False)
        wait_for(state.device)
        return time.perf_counter() - started

    seconds(part)  # the first pass warms up
    if (scaled := seconds(part) / part * len(labels)) > LONG_BATCH:
        return scaled
    return min(seconds(len(labels)) for _ in range(TIMED_BATCHES))  # other programs can slow down some of them
