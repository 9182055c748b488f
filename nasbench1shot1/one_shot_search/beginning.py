"""The beginning of a search: its state before the first step, and checks of its options, images, cells and phases."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from nasbench1shot1 import registry
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives, option, switch
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import Split, scheme_for, split_images
from nasbench1shot1.one_shot_search.memory import check_fits
from nasbench1shot1.one_shot_search.options import SearchConfig, SearchOptions, table_of_search
from nasbench1shot1.one_shot_search.state import SearchState, global_generators, half_rows, phases_of
from nasbench1shot1.optimizer import OneShotOptimizer
from nasbench1shot1.phases import Phase
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.layers import BatchNorm2d, check_partial
from nasbench1shot1.supernets.presets import PRESETS, preset_of
from nasbench1shot1.supernets.single_images import check_single_image, has_single_image, whole_pass
from nasbench1shot1.supernets.supernet import Supernet

if TYPE_CHECKING:
    from nasbench1shot1.tables.table import Table


def begin(options: SearchOptions, images: ImageSet | None = None, checks_memory: bool = True) -> SearchState:
    """Set up a search from resolved options: everything is drawn from its seed.

    Args:
        options: the options.
        images: the image set, if it is loaded already or replaced by random images. Default: loaded by name.
        checks_memory: whether a search that does not fit into the memory of its device is refused.

    Raises UserError for an unknown name, missing images, a batch larger than a half, or too little memory.
    """
    config = options.common
    preset, device = preset_of(vars(config)), torch.device(config.device)
    space = registry.one_shot(registry.search_space(config.space))
    options.method.check_space(space)
    if preset.name == "original" and not space.benchmark.has_original_preset:
        raise InvalidInputError(
            f"{option('preset', 'original')} reproduces published code of one-shot searches, which does not have "
            f"{space.name}: use {option('preset', 'corrected')}"
        )
    images, halves = load_halves(config, images)
    if checks_memory:
        check_fits(config, space, images.classes, images.side)
    check_batch(config, halves)
    net = supernet_of(config, space, images.classes).to(device)
    if config.compile:
        net.compile()
    weight_optimizer = torch.optim.SGD(
        net.parameters(),
        config.learning_rate,
        config.momentum,
        weight_decay=config.weight_decay,
        nesterov=bool(config.nesterov) and config.momentum > 0,
    )
    generators = global_generators()
    method = options.create_method(space, epoch_generator(config.seed, "architecture", 0), device)
    draws_globally = global_generators() != generators
    _check_relaxation(config, method)
    state = SearchState(
        options=options,
        preset=preset,
        net=net,
        weight_optimizer=weight_optimizer,
        method=method,
        images=images.to(device),
        split=halves,
        draws_globally=draws_globally,
    )
    _check_cells(state, checks_memory)
    check_single_images(config, phases_of(config, method), halves, images.side, lambda: net)
    return state


def supernet_of(config: SearchConfig, space: OneShotSpace, classes: int) -> Supernet:
    """Return the supernet of a search before its first step, on the CPU."""
    return Supernet(
        space,
        config.channels,
        config.cells,
        preset_of(vars(config)),
        classes=classes,
        generator=epoch_generator(config.seed, "supernet", 0),
        partial_channels=config.partial_channels,
    )


def constrain(state: SearchState, table: "Table | None" = None) -> None:
    """Give the method the bounds of the search, if it has any.

    Args:
        state: the search.
        table: the table with the costs. Default: the search's own.

    Raises UserError if the table cannot be opened, lacks the costs, or has no network within the bounds.
    """
    if state.judge.within is not None:
        space, dataset = state.net.space, state.images.dataset
        costs = table_of_search(state.config) if table is None else table
        state.method.constrain(costs.constraint(space, state.judge.within, dataset))


def check_scored(images: ImageSet, table: "Table") -> None:
    """Raise InvalidInputError if a table does not score searches on the data set of these images."""
    try:
        table.objective(images.dataset)
    except OutOfDomainError:
        known = alternatives(objective.dataset for objective in table.objectives)
        raise InvalidInputError(
            f"the table {table.id} only has values for searches on {known}, and the images '{images.name}' are from "
            f"another data set: give {option('images')} of one of these data sets"
        ) from None


def load_halves(config: SearchConfig, images: ImageSet | None = None) -> tuple[ImageSet, Split]:
    """Load a search's images, unless they are given, and split them into its two halves.

    Raises the errors of `load_images` and `split_images`.
    """
    images = load_images(config.images) if images is None else images
    rng = np.random.default_rng(config.seed)
    images = images.downsample(config.image_side or images.side)
    own = registry.one_shot(registry.search_space(config.space)).split
    scheme = scheme_for(images, own or PRESETS[config.preset].split)
    return images, split_images(images, scheme, rng, config.images_per_half)


def _check_relaxation(config: SearchConfig, method: OneShotOptimizer) -> None:
    """Raise InvalidInputError for options that the method's mixing weights do not support."""
    if config.early_stopping and method.is_annealed:
        raise InvalidInputError(
            f"{switch('early_stopping')} would react to the falling temperature, with which the Hessian's eigenvalue "
            "grows: remove it, or keep the temperature constant"
        )
    if config.early_stopping and method.changes_structure:
        raise InvalidInputError(
            f"{config.optimizer} fixes choices until its last epoch, but {switch('early_stopping')} would return the "
            "architecture of an earlier epoch: remove it"
        )
    if config.early_stopping and method.selects_epoch:
        raise InvalidInputError(
            f"{switch('early_stopping')} and {option('returned_epoch', 'best')} would both select the epoch whose "
            f"architecture the search returns: remove the first, or give {option('returned_epoch', 'last')}"
        )
    if config.perturbation != "none" and not method.is_relaxed:
        raise InvalidInputError(
            f"{config.optimizer} trains single paths, without mixing weights that depend on Λ: remove "
            f"{option('perturbation')}"
        )
    if config.perturbation != "none" and method.is_relaxed and not method.mixes_candidates:
        raise InvalidInputError(
            f"a weight step of {config.optimizer} computes one candidate of each choice of {config.space} here, and "
            f"mixes none that could be perturbed: give {option('perturbation', 'none')}"
        )
    if config.perturbation != "none" and config.perturbation_variant == "published" and not method.mixes_shares:
        raise InvalidInputError(
            f"{option('perturbation_variant', 'published')} needs positive mixing weights that add up to 1, which "
            f"{config.optimizer} does not have here: give {option('perturbation_variant', 'corrected')}"
        )
    if (name := method.option_needing_bounds) and config.bounds is None:
        raise InvalidInputError(
            f"{option(name)} only applies to searches with bounds on costs: remove it, or add "
            f"{option('max_parameters')}, {option('max_flops')} or {option('max')}"
        )
    measured = switch("hessian_eigenvalue") if config.hessian_eigenvalue else option("cell_alignment", True)
    if (config.hessian_eigenvalue or config.cell_alignment) and not method.evaluates_relaxation:
        raise InvalidInputError(
            f"{config.optimizer} measures the loss without mixing weights that depend on Λ: remove {measured}"
        )


def _check_cells(state: SearchState, checks_memory: bool) -> None:
    """Raise InvalidInputError for phases that the epochs do not allow, and for cells that the method cannot train."""
    name, net = state.config.optimizer, state.net
    phases = phases_of(state.config, state.method)
    check_schedule(state.config, state.method, phases, state.split)
    if checks_memory:
        largest = largest_settings(state.config, phases)
        check_fits(largest, net.space, state.images.classes, state.images.side, " in its largest phase")
    has_affine_norm = any(isinstance(layer, BatchNorm2d) and layer.affine for layer in net.cells.modules())
    if any(phase.trains == "batch-norm" for phase in phases) and not has_affine_norm:
        raise InvalidInputError(
            f"{name} trains only the scales and shifts of batch-norm, which the cells of {net.space.name} do not have: "
            f"give {option('batch_norm_affine', True)}, or choose a space with other cells"
        )
    measures = option("cell_alignment", True) if state.config.cell_alignment else ""
    if measures and not net.space.has_equal_cells:
        raise InvalidInputError(
            f"{measures} compares the gradients of cells that share Λ, but each layer of {net.space.name} has its own "
            "part of Λ: remove it, or choose another space"
        )
    compares = name if state.method.mixing_gradients == "per-cell" else measures
    if compares and net.mixed_places < 2:
        raise InvalidInputError(
            f"{compares} compares the gradients of several cells, and the supernet has one: give at least "
            f"{option('cells', 2)}"
        )


def check_schedule(config: SearchConfig, method: OneShotOptimizer, phases: Sequence[Phase], halves: Split) -> None:
    """Raise InvalidInputError for phases that the images, the channels or the options of the method do not allow."""
    _check_increase(config, phases, halves)
    _check_widening(config, phases)
    steps = [-(-len(half_rows(halves, of.data)[0]) // (config.batch_size + of.batch_increase)) for of in phases]
    method.check_length(phases, steps[0])
    method.check_images(len(halves.weights), len(halves.architecture))
    for phase, number in zip(phases, steps, strict=True):
        if method.trains_weights_first and phase.moves_parameters and phase.weight_steps > number:
            raise InvalidInputError(
                f"{phase.weight_steps} weight steps precede each step of Λ, but an epoch has only {number}: lower "
                f"{option('weight_steps')}, or give {option('weights_first', False)}"
            )


def check_single_images(
    config: SearchConfig, phases: Sequence[Phase], halves: Split, side: int, make_net: Callable[[], Supernet]
) -> None:
    """Raise InvalidInputError if a batch has a single image, and batch-norm would get one value per channel from it.

    Args:
        config: options of the search.
        phases: its phases.
        halves: the images of its halves.
        side: height and width of the images in pixels.
        make_net: returns the search's supernet; called only if a batch has a single image.
    """
    if any(_has_batch_of_one(config, phase, halves) for phase in phases):
        net = make_net()
        check_single_image(net, whole_pass(net), side, config.batch_size, "images_per_half")


def _has_batch_of_one(config: SearchConfig, phase: Phase, halves: Split) -> bool:
    """Return whether a step of a phase trains the weights or Λ on one image."""
    for_weights, for_architecture = half_rows(halves, phase.data)
    own_batches = phase.moves_parameters and not config.draw_with_replacement
    size = config.batch_size + phase.batch_increase
    of_halves = (for_weights, for_architecture) if own_batches else (for_weights,)
    return any(has_single_image(len(rows), size) for rows in of_halves)


def largest_settings(config: SearchConfig, phases: Sequence[Phase]) -> SearchConfig:
    """Return a search's options with the largest batches and the largest share of channels of its phases."""
    return replace(
        config,
        batch_size=config.batch_size + max(phase.batch_increase for phase in phases),
        partial_channels=min(phase.partial_channels or config.partial_channels for phase in phases),
    )


def _check_increase(config: SearchConfig, phases: Sequence[Phase], halves: Split) -> None:
    """Raise InvalidInputError if a phase increases batches to more images than a half has."""
    largest = config.batch_size + max(phase.batch_increase for phase in phases)
    if largest > (smallest := _smaller_half(halves)):
        raise InvalidInputError(
            f"the batches of {config.optimizer} grow from {option('batch_size', config.batch_size)} to {largest} "
            f"images, more than the {smallest:,} images of a half: lower {option('batch_size')} or {option('epochs')}, "
            "or use more images"
        )


def _check_widening(config: SearchConfig, phases: Sequence[Phase]) -> None:
    """Raise InvalidInputError if a phase has a share of channels that is smaller than the one before, or impossible."""
    before = config.partial_channels
    for phase in phases:
        now = phase.partial_channels or config.partial_channels
        if now > before:
            raise InvalidInputError(
                f"{config.optimizer} uses {_share(before)} before its phase '{phase.name}' and {_share(now)} in it, "
                f"but channels can only be added: raise {option('partial_channels')}"
            )
        check_partial(config.channels, now)
        before = now


def _share(k: int) -> str:
    return "all channels" if k == 1 else f"1/{k} of the channels"


def check_batch(config: SearchConfig, halves: Split) -> None:
    """Raise InvalidInputError if a batch needs more images than a half has."""
    if config.batch_size > (smallest := _smaller_half(halves)):
        raise InvalidInputError(
            f"{option('batch_size', config.batch_size)} is more than the {smallest:,} images of a half: lower it, or "
            "use more images"
        )


def _smaller_half(halves: Split) -> int:
    return min(len(halves.weights), len(halves.architecture))
