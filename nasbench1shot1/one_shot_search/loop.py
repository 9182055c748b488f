"""The search loop: train the supernet and Λ, and look up the preferred architecture in the table after every epoch."""

import math
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import DivergedError, InvalidInputError, option
from nasbench1shot1.images.batches import batches, draw_rows, endless_batches
from nasbench1shot1.one_shot_search.early_stopping import returned_epoch
from nasbench1shot1.one_shot_search.measurements import (
    cell_alignment,
    dominant_eigenvalue,
    one_shot_error,
    preferred_error,
)
from nasbench1shot1.one_shot_search.perturbation import Perturbation
from nasbench1shot1.one_shot_search.record import SELECTED_EPOCH, Parameters
from nasbench1shot1.one_shot_search.state import SearchState, global_generators
from nasbench1shot1.one_shot_search.weight_step import set_trained, weight_step
from nasbench1shot1.one_shot_search.writer import SearchWriter, Unended
from nasbench1shot1.optimizer import Batch, OneShotOptimizer
from nasbench1shot1.phases import USUAL, phase_at
from nasbench1shot1.probability import preferred_within
from nasbench1shot1.runs.checkpoints import save_checkpoint
from nasbench1shot1.runs.divergence import check_finite, check_network, checked_finite
from nasbench1shot1.runs.folder import weights_path
from nasbench1shot1.supernets.widening import draw_visible_channels, set_partial_channels
from nasbench1shot1.tables.table import Table

CHECK_EVERY = 10  # steps between readings of the loss: on a GPU, each reading waits for the device


class Reporter(Protocol):
    """Receives the progress of a search, for a progress bar."""

    def step(self, epoch: int, loss: float | None) -> None:
        """Report a training step; `loss` is the mean loss of the epoch so far, or None if it was not read."""

    def epoch_done(self, line: dict[str, object]) -> None:
        """Report a recorded epoch."""


class Step(NamedTuple):
    """The result of a training step: mean loss (), number of misclassified images (), and number of images."""

    loss: Tensor
    wrong: Tensor
    images: int


@dataclass(frozen=True)
class Training:
    """Means over the weight half during an epoch; None before training."""

    loss: float | None
    error: float | None


@dataclass(frozen=True)
class Outcome:
    """The preferred architecture after an epoch, Λ, and the supernet's error on the architecture half, a fraction.

    Attributes:
        selected_epoch: after the last epoch, the epoch whose architecture the method selected; None for its own.
        preferred_error: the error of the preferred architecture alone; None unless an option asks for it.
        unended: after the last epoch of a method with a final selection, the outcome without this selection.
    """

    one_shot_error: float
    architecture: Architecture
    parameters: Parameters
    selected_epoch: int | None = None
    preferred_error: float | None = None
    unended: "Outcome | None" = None


def run_search(state: SearchState, table: Table, writer: SearchWriter, reporter: Reporter) -> None:
    """Search from the state's epoch to the last one, and record every epoch (epoch 0: before training).

    Raises:
        UserError: the loss became NaN or infinite, or the disk is full; the record is complete up to the previous
            epoch.
    """
    if state.unended is not None and state.epoch < state.config.epochs:
        writer.replace_last(state.unended)
        state.unended = None
    for epoch in range(state.epoch + 1, state.config.epochs + 1):
        if state.config.early_stopping and returned_epoch(state.eigenvalues) is not None:
            return
        started = time.perf_counter()
        generators = global_generators()
        training = train_epoch(state, epoch, reporter) if epoch > 0 else Training(None, None)
        outcome = evaluate(state, epoch)
        state.eigenvalues.append(_eigenvalue(state, epoch))
        alignment = _alignment(state, epoch)
        state.draws_globally |= global_generators() != generators
        state.search_seconds += time.perf_counter() - started
        state.epoch = epoch
        line = epoch_line(state, table, training, outcome, alignment)
        if outcome.unended is not None:
            other = epoch_line(state, table, training, outcome.unended, alignment)
            state.unended = Unended(other, outcome.unended.parameters)
        state.recorded_parameters = outcome.parameters
        record_epoch(state, writer, line, outcome.parameters)
        reporter.epoch_done(line)


def evaluate(state: SearchState, epoch: int) -> Outcome:
    """Let the method choose an architecture, and measure the one-shot error.

    After the last epoch, the method also ends the search. This is undone once its outcome is known, so that the
    checkpoint holds a search that can be continued for more epochs; the record of this epoch is then replaced by the
    outcome without the end.
    """
    shared = state.shared_weights(epoch)
    state.method.choose(shared)
    method = state.method
    if epoch < state.config.epochs or not method.has_final_selection:
        return _outcome(state, epoch)
    before, drawn = deepcopy(method.state_dict()), method.generator.get_state()
    method.end_search(shared)
    ended = _outcome(state, epoch)
    method.load_state_dict(before)
    method.generator.set_state(drawn)
    return replace(ended, unended=_outcome(state, epoch))


def _outcome(state: SearchState, epoch: int) -> Outcome:
    error, method = one_shot_error(state, epoch), state.method
    check_network(state.net, _advice(epoch))  # the last step of an epoch may have caused the divergence
    _finite_loss(state, error, "the one-shot loss", epoch)
    check_finite(method.parameters.values(), "an architecture parameter", _advice(epoch, "architecture_"))
    parameters = {key: value.detach().cpu().numpy().astype(np.float32) for key, value in method.parameters.items()}
    chosen = preferred_within(method.constraint, _preferred(method), method.space, method.preferences())
    alone = preferred_error(state, epoch, chosen) if state.config.preferred_error else None
    return Outcome(error, chosen, parameters, method.selected_epoch, alone)


def _preferred(method: OneShotOptimizer) -> Architecture:
    """Return the preferred architecture of a method; raises InvalidInputError if it is not in the space."""
    preferred, space = method.architecture(), method.space
    if preferred not in space:
        raise InvalidInputError(
            f"{type(method).__name__}.architecture() returned '{preferred}', which is not in {space.name}"
        )
    return preferred


def train_epoch(state: SearchState, epoch: int, reporter: Reporter) -> Training:
    """Make one pass over the weight half, then let the method make its updates at the end of an epoch."""
    device = state.images.images.device
    loss_sum, wrong, seen = torch.zeros((), device=device), torch.zeros((), device=device), 0
    for number, step in enumerate(training_steps(state, epoch), start=1):
        loss_sum += step.loss * step.images
        wrong += step.wrong
        seen += step.images
        reporter.step(epoch, _mean(state, loss_sum, seen, epoch) if number % CHECK_EVERY == 0 else None)
    if state.phase(epoch).moves_parameters:
        state.method.end_epoch(state.shared_weights(epoch))
    return Training(_mean(state, loss_sum, seen, epoch), wrong.item() / seen)


def training_steps(state: SearchState, epoch: int) -> Iterator[Step]:
    """Begin an epoch and train step by step; in a phase that moves Λ, an update of Λ precedes weight steps.

    A method can ask for the weight steps first (`OneShotOptimizer.trains_weights_first`).
    """
    begin_epoch(state, epoch)
    method, net, phase = state.method, state.net, state.phase(epoch)
    perturb, channels = Perturbation(state, epoch), state.generator("channels", epoch)
    weights_first = method.trains_weights_first
    with net.auxiliary_skip(method.auxiliary_skip):
        for done, (weight_batch, architecture_batch) in enumerate(batch_pairs(state, epoch)):
            if state.config.channel_sampling == "random":
                draw_visible_channels(net, channels)
            moves = phase.moves_parameters and (done + weights_first) % phase.weight_steps == 0
            if moves and not weights_first:
                method.architecture_step(state.step(weight_batch, architecture_batch))
            loss, logits = weight_step(state, weight_batch, perturb)
            if moves and weights_first:
                method.architecture_step(state.step(weight_batch, architecture_batch))
            yield Step(loss, (logits.argmax(dim=1) != weight_batch.labels).sum(), len(weight_batch.labels))


def begin_epoch(state: SearchState, epoch: int) -> None:
    """Set the learning rate, momentum, channels and trained weights of an epoch, and let the method begin it.

    Raises InvalidInputError if the method keeps the random generator of the epoch before.
    """
    phase, number = phase_at(state.phases, epoch)
    for group in state.weight_optimizer.param_groups:
        group["lr"] = state.learning_rate(epoch)
    if phase.clears_momentum and number == 1:
        state.weight_optimizer.state.clear()
    drawn = state.generator("widening", epoch)
    set_partial_channels(state.net, state.partial_channels(epoch), drawn, state.weight_optimizer)
    set_trained(state.net, phase.trains)
    state.net.train()
    method, before = state.method, state.method.generator
    method.begin_epoch(epoch, state.config.epochs, state.generator("optimizer", epoch))
    if method.generator is before:
        raise InvalidInputError(
            f"{type(method).__name__}.begin_epoch() must call super().begin_epoch(epoch, epochs, generator), so that "
            "all random numbers of an epoch depend only on the seed and the epoch"
        )


def batch_pairs(state: SearchState, epoch: int) -> Iterator[tuple[Batch, Batch]]:
    """Yield a batch of the weight half and a batch of the architecture half for every step of an epoch."""
    size = state.batch_size(epoch)
    augment, drawn = state.augmentation(epoch), state.generator("augmentation", epoch)
    for_weights, for_architecture = state.rows(epoch)
    of_weights = batches(for_weights, size, state.generator("weights", epoch))
    chosen, replaced = state.generator("architecture", epoch), state.config.draw_with_replacement
    of_architecture = endless_batches(for_architecture, size, chosen)
    for weight_rows in of_weights:
        weight_batch = state.images_of(weight_rows, augment, drawn)
        rows = draw_rows(for_architecture, len(weight_rows), chosen) if replaced else next(of_architecture)
        yield weight_batch, state.images_of(rows, augment, drawn if state.augments_architecture_images else None)


def epoch_line(
    state: SearchState, table: Table, training: Training, outcome: Outcome, alignment: Mapping[str, object]
) -> dict[str, object]:
    """Return the line of metrics.jsonl for the state's epoch; fields as in `record.FIELDS` and `record.IF_RECORDED`."""
    alone = {} if outcome.preferred_error is None else {"preferred_one_shot_error": outcome.preferred_error}
    return {
        "epoch": state.epoch,
        "train_loss": training.loss,
        "train_error": training.error,
        "one_shot_validation_error": outcome.one_shot_error,
        "architecture": str(outcome.architecture),
        **state.judge.score(outcome.architecture, table).fields(state.search_seconds),
        "hessian_eigenvalue": state.eigenvalues[-1],
        "other_datasets": state.judge.elsewhere(outcome.architecture, table),
        **alone,
        **alignment,
        **phase_and_structure(state),
        **({} if outcome.selected_epoch is None else {SELECTED_EPOCH: outcome.selected_epoch}),
    }


def phase_and_structure(state: SearchState) -> dict[str, object]:
    """Return two fields of `record.IF_RECORDED`: the phase, unless it is a usual one, and structural changes."""
    own = state.epoch > 0 and (phase := state.phase(state.epoch)).name not in USUAL
    structure = state.method.structure()
    return {**({"phase": phase.name} if own else {}), **({"structure": structure} if structure else {})}


def record_epoch(state: SearchState, writer: SearchWriter, line: dict[str, object], parameters: Parameters) -> None:
    """Record an epoch; the checkpoint is written last, and only then does the epoch count."""
    writer.append(line, parameters)
    every = state.config.keep_weights_every
    if every and state.epoch and state.epoch % every == 0:
        kept = {
            "epoch": state.epoch,
            "partial_channels": state.net.partial_channels,
            "supernet": state.net.state_dict(),
            "method": state.method.state_dict(),
        }
        save_checkpoint(weights_path(writer.folder, state.epoch), kept)
    writer.save(state)


def _eigenvalue(state: SearchState, epoch: int) -> float | None:
    if not state.config.hessian_eigenvalue or epoch == 0 or not state.phase(epoch).moves_parameters:
        return None
    return checked_finite(dominant_eigenvalue(state, epoch), "the Hessian's eigenvalue", _advice(epoch))


def _alignment(state: SearchState, epoch: int) -> dict[str, object]:
    """Return the field `cell_alignment` if an option asks for it."""
    if not state.config.cell_alignment:
        return {}
    return {"cell_alignment": checked_finite(cell_alignment(state, epoch), "the cells' gradient", _advice(epoch))}


def _mean(state: SearchState, loss_sum: Tensor, seen: int, epoch: int) -> float:
    return _finite_loss(state, loss_sum, "the training loss", epoch) / seen


def _finite_loss(state: SearchState, loss: float | Tensor, what: str, epoch: int) -> float:
    """Return a loss as a float; raises DivergedError if it is infinite or NaN.

    The message names the method instead if its mixing weights are infinite or NaN for a finite Λ, or if its
    `weight_loss` is for a finite cross-entropy.
    """
    try:
        return checked_finite(loss, what, _advice(epoch))
    except DivergedError:
        _check_mixing_weights(state.method, epoch)  # the search ends here, so the method may change
        _check_weight_loss(state, epoch)
        raise


@torch.no_grad()
def _check_mixing_weights(method: OneShotOptimizer, epoch: int) -> None:
    """Raise DivergedError if a method returns infinite or NaN mixing weights.

    Λ is made finite first, so the method must not be used afterwards.
    """
    for value in method.parameters.values():
        value.nan_to_num_(0, 0, 0)
    for name in ("mixing", "weight_mixing", "evaluation_mixing"):
        if not all(weights.isfinite().all() for weights in getattr(method, name)().tensors()):
            raise DivergedError(
                f"{type(method).__name__}.{name}() returned infinite or NaN mixing weights in epoch {epoch}: correct "
                "the method"
            )


def _check_weight_loss(state: SearchState, epoch: int) -> None:
    """Raise DivergedError if `weight_loss` is infinite or NaN for log(classes), the cross-entropy of a random guess."""
    guess = torch.tensor(math.log(state.images.classes), device=state.method.device, requires_grad=True).clone()
    if not state.method.weight_loss(guess).isfinite():
        raise DivergedError(
            f"{type(state.method).__name__}.weight_loss() returned an infinite or NaN loss for a finite cross-entropy "
            f"in epoch {epoch}: correct the method, or, if its loss depends on earlier losses, search again with a "
            f"lower {option('learning_rate')}"
        )


def _advice(epoch: int, of: str = "") -> str:
    """Return where a search diverged and what to do; `of` is the prefix of the options that help."""
    lower = f"{option(f'{of}learning_rate')} or {option(f'{of}grad_clip')}"
    return f"in epoch {epoch}: search again with a lower {lower}" + (
        f"; the record is complete up to epoch {epoch - 1}" if epoch else "; nothing has been trained yet"
    )
