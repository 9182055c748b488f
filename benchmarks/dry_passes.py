"""Passes of a search on tensors without data, and what must hold in each: devices, and copies to the host.

Fake CUDA tensors compute forward passes only (`check_forward`); meta tensors compute whole steps (`check_steps`).
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from kernel_counts import DeviceFault, dry_device

from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.loop import batch_pairs
from nasbench1shot1.one_shot_search.measurements import one_shot_error
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.perturbation import Perturbation
from nasbench1shot1.one_shot_search.weight_step import weight_step

SAMPLED = ("random-ws", "enas")
COPIES = {"gdas": 1}  # of the sampled operations to the host, in every pass; no other method makes any
IMAGES_PER_HALF = 500
FEW = {"candidates": 8, "candidate_batches": 1, "finalists": 2}  # architectures that are scored


@dataclass(frozen=True)
class Size:
    """How large supernets and batches are."""

    channels: int = 16
    cells: int = 9
    batch_size: int = 96


class Failure(Exception):
    """What would be wrong on a GPU, in one sentence."""


@contextmanager
def dry_search(optimizer, space, device, size, preset="corrected"):
    """A search in its first epoch, on a device that holds no data, with the counter that watches it."""
    options = {**vars(size), "optimizer": optimizer, "space": space, "preset": preset, "images": "cifar10-sample"}
    if optimizer in SAMPLED:
        options |= {**FEW, **({"controller_steps": 2} if optimizer == "enas" else {})}
    if preset == "original":  # one draw a pass, as the corrected preset has: the published 9 change what is computed
        options |= {"draws": 1} if optimizer == "gdas" else {}
    options = search_options({**options, "device": "cpu", "images_per_half": IMAGES_PER_HALF})
    config = replace(options.common, device=device)
    with dry_device(device) as counter:
        state = begin(replace(options, common=config))
        state.net.train()
        state.method.begin_epoch(1, config.epochs, state.generator("optimizer", 1))
        counter.reset()
        yield state, counter


def weight_pass(state, batch, perturb=None):
    """The forward pass of a weight step; returns its loss."""
    with torch.no_grad():
        mixing = state.method.mixing()
    return state.loss(perturb(mixing, batch) if perturb else mixing, batch)


def architecture_pass(state, batch):
    """The forward pass of a step of Λ, in which the mixing weights carry a graph."""
    return state.loss(state.method.mixing(), batch)


def moved_weights_pass(state, batch):
    """The forward pass with other weights in place of the supernet's, of which a second-order step has four."""
    weights = {name: 2 * weight.detach() for name, weight in state.net.named_parameters()}
    return state.loss_at(weights, state.method.mixing(), batch)


def perturbed_pass(state, batch):
    """The forward pass of a weight step with random perturbation (SDARTS)."""
    common = replace(state.config, perturbation="random")
    perturbed = replace(state, options=replace(state.options, common=common))
    return weight_pass(state, batch, Perturbation(perturbed, 1))


def augmented(state, rows):
    """Rows of the image set with every augmentation, cutout too."""
    pixels, _ = state.images.batch(rows)
    augmentation = Augmentation.of(state.images, cutout_probability=0.5)
    return augmentation(pixels, state.generator("augmentation", 1))


def select(state):
    """What a sampling method does after an epoch: the controller's steps, and the selection by shared weights."""
    shared = state.shared_weights(1)
    state.method.end_epoch(shared)
    state.method.choose(shared)


def check_forward(optimizer, space, device, size):
    """Run all that needs no backward pass once; raise `Failure` at what would be wrong on a GPU."""
    allowed = COPIES.get(optimizer, 0)
    with dry_search(optimizer, space, device, size) as (state, counter):
        pixels = state.images.images
        if pixels.dtype != torch.uint8 or pixels.device.type != device:
            raise Failure(f"images are {pixels.dtype} on {pixels.device}: they must be uint8 on {device}")
        weight_batch, architecture_batch = watched(counter, "a pair of batches", lambda: next(batch_pairs(state, 1)))
        rows = torch.from_numpy(state.split.weights[: size.batch_size])
        watched(counter, "augmentation", lambda: augmented(state, rows))
        watched(counter, "a weight step", lambda: weight_pass(state, weight_batch), allowed)
        if optimizer not in SAMPLED:
            watched(counter, "a step of Λ", lambda: architecture_pass(state, architecture_batch), allowed)
            watched(counter, "a pass of moved weights", lambda: moved_weights_pass(state, weight_batch), allowed)
            watched(counter, "a perturbed step", lambda: perturbed_pass(state, weight_batch), allowed)
        else:  # each answer of the shared weights is copied once for every 384 images of a question
            watched(counter, "selection", lambda: select(state), allowed=3 + 2 * (optimizer == "enas"))
        watched(counter, "the one-shot error", lambda: one_shot_error(state, 1), allowed=2)


def check_steps(optimizer, space, size):
    """Whole steps on meta tensors: forward, backward, clipping, and the update of the weights and of Λ."""
    allowed = COPIES.get(optimizer, 0)
    with dry_search(optimizer, space, "meta", size) as (state, counter):
        weight_batch, architecture_batch = next(batch_pairs(state, 1))
        counter.reset()
        watched(counter, "a weight step", lambda: weight_step(state, weight_batch), allowed)
        step = state.step(weight_batch, architecture_batch)
        watched(counter, "a step of Λ", lambda: state.method.architecture_step(step), allowed)


def watched(counter, what, action, allowed=0):
    """What an action returns; raises `Failure` where it copies more often to the host than allowed."""
    try:
        result = action()
    except DeviceFault as error:
        raise Failure(f"{what}: {error}") from error
    copies = counter.reset().host_copies
    if copies.total() > allowed:
        listed = ", ".join(f"{count} × aten::{name}" for name, count in copies.items())
        raise Failure(f"{what} copies to the host {copies.total()} times ({listed}), where {allowed} is allowed")
    return result
