"""Estimates of what a search costs, from a few measured steps: their seconds on this machine, or their FLOPs.

A search has phases with other steps, and methods exclude candidates, which are then no longer computed. So steps are
measured once for each kind of phase, with the most and with the fewest candidates that the phase has. In between, costs
are interpolated by the share of candidates that is left (`OneShotOptimizer.remaining_share`).
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.stand_ins import images_for_planning
from nasbench1shot1.one_shot_search.beginning import begin, constrain
from nasbench1shot1.one_shot_search.measurements import MOST_ITERATIONS, cell_alignment, dominant_eigenvalue
from nasbench1shot1.one_shot_search.meters import Amount, Clock, Meter
from nasbench1shot1.one_shot_search.options import SearchOptions
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.runs.machine import computing
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.weight_sharing import MIXED_BATCH
from nasbench1shot1.supernets.widening import set_partial_channels


def seconds_per_epoch(options: SearchOptions) -> float:
    """Estimate how long a search with these resolved options takes, divided by its epochs; nothing is recorded.

    Random images stand in for an official data set that is not installed. Raises UserError if the search could not
    begin for another reason, for example because its table is missing.
    """
    config = options.common
    with computing(config.threads):
        state = begin(options, images_for_planning(config.images))
        constrain(state)
        return float(cost_of_epochs(state, range(1, config.epochs + 1), Clock())) / config.epochs


def seconds_to_score(options: SearchOptions, architectures: int, images: int) -> float:
    """Estimate the seconds to score architectures with a search's supernet; raises the errors of `seconds_per_epoch`.

    Args:
        options: resolved options of the search.
        architectures: number of architectures.
        images: number of images on which each architecture is scored.
    """
    with computing(options.common.threads):
        state = begin(options, images_for_planning(options.common.images))
        return float(cost_to_score(state, [(architectures, images)], Clock()))


def expected_seconds(state: SearchState, epochs: int) -> float:
    """Estimate how long the last epochs of a search take. The search does not change."""
    last = state.config.epochs
    with _rehearsal(state) as rehearsed:
        return float(cost_of_epochs(rehearsed, range(last - epochs + 1, last + 1), Clock()))


@contextmanager
def _rehearsal(state: SearchState) -> Iterator[SearchState]:
    """Yield a search for trials: its method and SGD are copies, and the network is restored afterwards.

    A copy of the network would need additional memory, and a compiled network would be compiled again.
    """
    config, method, net = state.config, state.method, state.net
    generator = epoch_generator(config.seed, "expectation", 0)
    copied_method = type(method)(net.space, method.hyperparameters, generator, method.device)
    if method.constraint is not None:
        copied_method.constrain(method.constraint)
    copied_method.load_state_dict(deepcopy(method.state_dict()))
    copied_sgd = torch.optim.SGD(net.parameters(), config.learning_rate, config.momentum)
    copied_sgd.load_state_dict(deepcopy(state.weight_optimizer.state_dict()))
    was_training, before = net.training, {name: tensor.clone() for name, tensor in _tensors(net)}
    trained = [parameter.requires_grad for parameter in net.parameters()]
    partial_channels = net.partial_channels
    gradients = [parameter.grad for parameter in net.parameters()]
    for parameter in net.parameters():
        parameter.grad = None
    try:
        yield replace(state, method=copied_method, weight_optimizer=copied_sgd, eigenvalues=list(state.eigenvalues))
    finally:
        set_partial_channels(net, partial_channels)
        for name, tensor in _tensors(net):
            tensor.copy_(before[name])
        for parameter, gradient, trains in zip(net.parameters(), gradients, trained, strict=True):
            parameter.requires_grad_(trains)
            parameter.grad = gradient
        net.train(was_training)


def _tensors(net: Supernet) -> Iterator[tuple[str, Tensor]]:
    """Return all weights and buffers of a network, by name, detached from autograd."""
    yield from ((name, parameter.data) for name, parameter in net.named_parameters())
    yield from net.named_buffers()


class _Costs(NamedTuple):
    """Costs in an epoch: the share of candidates that is left, and what tasks cost.

    Attributes:
        share: the share that `remaining_share` returns.
        image: of the training steps, per image of the weight half.
        error: of measuring the one-shot error.
        mixing: of scoring a mixing, per image, as `score_mixing` does.
    """

    share: float
    image: Amount
    error: Amount
    mixing: Amount

    def between(self, other: "_Costs", share: float) -> "_Costs":
        """Return costs for a share of candidates, interpolated between the costs of two epochs."""
        part = (share - self.share) / (other.share - self.share) if other.share != self.share else 0.0
        return _Costs(*(mine + part * (theirs - mine) for mine, theirs in zip(self, other, strict=True)))


def cost_of_epochs(state: SearchState, epochs: range, meter: Meter) -> Amount:
    """Return the estimated cost of some epochs, the last one included, of a search whose state may change."""
    method, half, size = state.method, len(state.split.architecture), state.config.batch_size
    mixtures, evaluations = method.scored_mixtures, len(epochs) + (state.epoch < 0)  # before training, too
    total = evaluations * cost_to_score(state, method.scorings(size, half), meter)
    total += cost_to_score(state, method.scorings_at_end(size, half), meter)
    if state.config.hessian_eigenvalue:
        total += sum(state.phase(e).moves_parameters for e in epochs) * _cost_of_the_eigenvalue(state, meter)
    if state.config.preferred_error:
        total += evaluations * cost_to_score(state, [(1, half)], meter)
    if state.config.cell_alignment:
        total += evaluations * meter.of_batch(state, lambda state: cell_alignment(state, 1))
    shared = state.shared_weights(0)
    images = sum(shared.images_passed(*scoring) for scoring in method.mixture_scorings(size, half))
    costs = _costs_by_epoch(state, epochs, bool(mixtures or images), meter)
    total += sum(len(state.rows(e)[0]) * of.image + of.error + images * of.mixing for e, of in costs.items())
    if state.epoch < 0:
        total += (first := costs[epochs[0]]).error + images * first.mixing
    excluding = [of for of in costs.values() if of.share < 1] or list(costs.values())
    mean = sum(of.mixing for of in excluding) / max(len(excluding), 1)
    return total + mixtures * shared.images_passed(1, half) * mean


def _costs_by_epoch(state: SearchState, epochs: range, scores_mixings: bool, meter: Meter) -> dict[int, _Costs]:
    """Return the costs of every epoch; a few epochs are rehearsed.

    Args:
        state: a search whose state may change.
        epochs: the epochs.
        scores_mixings: whether the method scores mixings in any of them, so that this is measured, too. In a rehearsal
            of a late epoch, the method itself would no longer know: all its choices may be decided there.
        meter: what is measured.
    """
    alike: dict[Hashable, list[int]] = {}
    for epoch in epochs:
        alike.setdefault(_kind(state, epoch), []).append(epoch)
    shares = {epoch: state.method.remaining_share(epoch, state.phases) for epoch in epochs}
    found: dict[int, _Costs] = {}
    for members in sorted(alike.values(), key=min):
        last_first = members[::-1]  # the last of equal epochs, because a first one may have a warm-up of its own
        ends = sorted({max(last_first, key=shares.__getitem__), min(last_first, key=shares.__getitem__)})
        costs = [_costs_of(state, epoch, shares[epoch], scores_mixings, meter) for epoch in ends]
        found |= {epoch: costs[0].between(costs[-1], shares[epoch]) for epoch in members}
    return found


def _kind(state: SearchState, epoch: int) -> Hashable:
    """Return what the cost of an epoch's steps depends on, besides the size of batches and excluded candidates."""
    phase = state.phase(epoch)
    return phase.name, phase.moves_parameters, phase.trains, phase.weight_steps, state.partial_channels(epoch)


def _costs_of(state: SearchState, epoch: int, share: float, scores_mixings: bool, meter: Meter) -> _Costs:
    """Return the costs of an epoch, whose steps are rehearsed."""
    state.method.rehearse(epoch, state.phases)
    image = meter.per_image(state, epoch)
    error = _cost_to_evaluate(state, epoch, meter)
    return _Costs(share, image, error, _cost_per_scored_image(state, epoch, meter) if scores_mixings else 0.0)


def _cost_to_evaluate(state: SearchState, epoch: int, meter: Meter) -> Amount:
    """Return the cost of the one-shot error: passes of the architecture half and of the reference images."""
    half, measured = state.split.architecture, meter.measured(state)
    shared, rows = measured.shared_weights(epoch), torch.from_numpy(half[: meter.images])
    with torch.no_grad():
        mixings = meter.evaluations(state)
    if meter.warms_up:
        shared.scores(mixings[:1], rows[:1])  # the first is slower
    each = [meter.of(partial(shared.scores, [mixing], rows)) for mixing in mixings]
    cost = sum(each) / len(each) / shared.images_passed(1, len(rows))
    size = MIXED_BATCH if state.method.evaluates_with_noise else len(half)  # a new sample for every batch
    everything = state.shared_weights(epoch)
    return cost * sum(everything.images_passed(1, len(part)) for part in torch.from_numpy(half).split(size))


def _cost_per_scored_image(state: SearchState, epoch: int, meter: Meter) -> Amount:
    """Return the cost per image in which the method scores a mixing."""
    shared = meter.measured(state).shared_weights(epoch)
    rows = torch.from_numpy(state.split.architecture[: meter.images])
    return meter.of(lambda: state.method.score_mixing(shared, rows)) / shared.images_passed(1, len(rows))


def cost_to_score(state: SearchState, scorings: Sequence[tuple[int, int]], meter: Meter) -> Amount:
    """Return the cost of scoring architectures with shared weights, each (architectures, images) of `scorings`.

    On a GPU, several architectures share a pass, so a pass of one architecture is measured separately. On a CPU,
    architectures share computations: the more are scored, the less time each takes. Only a few are measured, so the
    estimate for many is an upper bound.
    """
    real, measured, rng = state.shared_weights(0), meter.measured(state), np.random.default_rng(0)
    some = [state.net.space.sample(rng) for _ in range(meter.architectures(state))]

    def cost_per_image(architectures: int, images: int) -> Amount:
        shared = measured.shared_weights(0)
        rows = shared.rows(images, state.generator("expectation", 0))
        if meter.warms_up:
            shared.errors(some[:architectures], rows[:1])  # the first is slower because it prepares what all share
        cost = meter.of(lambda: shared.errors(some[:architectures], rows))
        return cost / shared.images_passed(architectures, len(rows))

    tried = {
        (number, images): (min(number, len(some)), min(images, meter.scored_images)) for number, images in scorings
    }
    each = {together: cost_per_image(*together) for together in set(tried.values())}
    return sum(real.images_passed(*scoring) * each[tried[scoring]] for scoring in scorings)


def _cost_of_the_eigenvalue(state: SearchState, meter: Meter) -> Amount:
    """Return an upper bound of the cost; the number of iterations is only known at the end."""
    once, twice = (
        meter.of_batch(state, partial(dominant_eigenvalue, epoch=1, most_iterations=number)) for number in (1, 2)
    )
    return once + (MOST_ITERATIONS - 1) * np.maximum(twice - once, 0)
