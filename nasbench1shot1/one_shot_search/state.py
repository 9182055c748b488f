"""The state of a search between two epochs: supernet, optimizers and images, and the content of a checkpoint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1 import registry
from nasbench1shot1.evaluator import Judge
from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import Split, scheme_for, split_images
from nasbench1shot1.one_shot_search.memory import check_fits
from nasbench1shot1.one_shot_search.options import SearchConfig, SearchOptions, table_of_search
from nasbench1shot1.one_shot_search.record import Parameters, Unended
from nasbench1shot1.optimizer import Batch, Mixing, OneShotOptimizer, SearchStep
from nasbench1shot1.phases import Data, Phase, check_phases, phase_at
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.runs.options import required
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.layers import (
    BatchNorm2d,
    check_partial,
    normalised_by,
    other_buffers,
    unchanged_statistics,
)
from nasbench1shot1.supernets.passes import class_scores
from nasbench1shot1.supernets.presets import PRESETS, Preset, preset_of
from nasbench1shot1.supernets.supernet import Supernet, to_tensors
from nasbench1shot1.supernets.weight_sharing import SharedWeights
from nasbench1shot1.supernets.widening import draw_visible_channels, set_partial_channels

if TYPE_CHECKING:
    from nasbench1shot1.tables.table import Table


@dataclass
class SearchState:
    """Everything that changes during a search, and the data that it uses.

    Attributes:
        epoch: the last finished epoch; -1 before epoch 0 is recorded.
        search_seconds: wall-clock time of all epochs so far.
        eigenvalues: dominant eigenvalue of the Hessian with respect to Λ after every epoch; None where not measured.
        unended: the record that replaces the last epoch's if the search is continued; None before the last epoch, and
            if the method has no final selection.
        recorded_parameters: Λ after the last epoch of this process, as recorded: after a final selection.
    """

    options: SearchOptions
    preset: Preset
    net: Supernet
    weight_optimizer: torch.optim.SGD
    method: OneShotOptimizer
    images: ImageSet
    split: Split
    epoch: int = -1
    search_seconds: float = 0.0
    eigenvalues: list[float | None] = field(default_factory=list)
    unended: Unended | None = None
    recorded_parameters: Parameters = field(default_factory=dict)

    @property
    def config(self) -> SearchConfig:
        """The options that all searches share."""
        return self.options.common

    @cached_property
    def judge(self) -> Judge:
        """How architectures are scored."""
        return Judge(self.images.dataset, within=self.config.bounds)

    @property
    def recorded(self) -> int:
        """Number of recorded epochs, including epoch 0."""
        return self.epoch + 1

    def loss(self, mixing: Mixing, batch: Batch) -> Tensor:
        """Return the cross-entropy of the supernet under mixing weights, a scalar."""
        return F.cross_entropy(self.logits(mixing, batch.images), batch.labels)

    def loss_at(self, weights: Mapping[str, Tensor], mixing: Mixing, batch: Batch) -> Tensor:
        """Return the loss with other tensors in place of the supernet's weights; its buffers stay unchanged.

        Always computed in float32, because such passes often differ by less than bfloat16 resolves.
        """
        copies = {name: buffer.clone() for name, buffer in other_buffers(self.net).items()}
        with unchanged_statistics(self.net):
            logits: Tensor = torch.func.functional_call(
                _Uncompiled(self.net), _below_net({**weights, **copies}), (batch.images, *mixing.arguments())
            )
        return F.cross_entropy(logits, batch.labels)

    def logits(self, mixing: Mixing, images: Tensor, compiled: bool = True) -> Tensor:
        """Return class scores, (N, classes) float32; `compiled` has an effect only if the search compiles."""
        if not isinstance(mixing, Mixing):
            raise InvalidInputError(
                f"{self.config.optimizer} computes a pass with an object of type {type(mixing).__name__}: give a "
                "Mixing, such as Mixing(weights)"
            )
        return class_scores(self.net, mixing, images, self.config.precision, compiled)

    def step(self, weight_batch: Batch, architecture_batch: Batch) -> SearchStep:
        """Return what an optimizer may use to update Λ."""
        return SearchStep(
            loss=self.loss,
            logits=self.logits,
            loss_at=self.loss_at,
            weights=dict(self.net.named_parameters()),
            operations=self.net.operation_weights,
            weight_batch=weight_batch,
            architecture_batch=architecture_batch,
            weight_optimizer=self.weight_optimizer,
            frozen=self.method.frozen_weights(),
        )

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the search."""
        return _phases(self.config, self.method)

    def phase(self, epoch: int) -> Phase:
        """Return the phase of an epoch, 1 … epochs."""
        return phase_at(self.phases, epoch)[0]

    @property
    def holds_out_images(self) -> bool:
        """Whether the images that measure the one-shot error are not used to train the weights."""
        return all(phase.data != "all" for phase in self.phases)

    def learning_rate(self, epoch: int) -> float:
        """Return the weights' learning rate in an epoch, 1 … epochs."""
        phase, number = phase_at(self.phases, epoch)
        return phase.schedule.rate(number, self.config.learning_rate, self.config.learning_rate_min)

    def rows(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the images that train the weights in an epoch, and those that train Λ, as rows of the image set."""
        return _rows(self.split, self.phase(epoch).data)

    def batch_size(self, epoch: int) -> int:
        """Return the number of images of a training batch in an epoch, 1 … epochs."""
        return self.config.batch_size + self.phase(epoch).batch_increase

    def partial_channels(self, epoch: int) -> int:
        """Return k in an epoch, 0 … epochs: operations see 1/k of the channels of a block."""
        own = self.phase(epoch).partial_channels if epoch > 0 else None
        return own or self.config.partial_channels

    def steps(self, epoch: int) -> int:
        """Return the number of steps of an epoch, 1 … epochs."""
        return -(-len(self.rows(epoch)[0]) // self.batch_size(epoch))

    def augmentation(self, epoch: int) -> Augmentation:
        """Return how training images are augmented in an epoch."""
        probability, schedule = self.config.cutout_probability, self.config.cutout_schedule
        if self.preset.cutout_ramp if schedule is None else schedule == "linear":
            probability *= (epoch - 1) / (self.config.epochs - 1) if self.config.epochs > 1 else 1
        return Augmentation.of(self.images, self.config.cutout_length, probability)

    @property
    def augments_architecture_images(self) -> bool:
        """Whether the images that train Λ are augmented."""
        given = self.config.augment_architecture_images
        return self.preset.augment_architecture_half if given is None else given

    @property
    def augments_scored_images(self) -> bool:
        """Whether the images on which shared weights score architectures are augmented."""
        given = self.config.augment_scored_images
        return self.preset.augment_architecture_half if given is None else given

    def images_of(self, rows: Tensor, augment: Augmentation, drawn: torch.Generator | None) -> Batch:
        """Return images and labels of rows (n,); augmented if a generator is given, otherwise only normalised."""
        pixels, labels = self.images.batch(rows)
        return Batch(augment.normalise(pixels) if drawn is None else augment(pixels, drawn), labels)

    def generator(self, stream: str, epoch: int) -> torch.Generator:
        """Return a random generator for one use in one epoch; it depends only on seed, stream and epoch."""
        return epoch_generator(self.config.seed, stream, epoch)

    def shared_weights(self, epoch: int) -> SharedWeights:
        """Return the shared weights with which methods score architectures after an epoch (0: before training).

        With random partial channels, all scores of an epoch use the same channels, which are drawn here.
        """
        if self.config.channel_sampling == "random":
            draw_visible_channels(self.net, self.generator("visible", epoch))
        return SharedWeights(
            self.net,
            self.images,
            self.split,
            batch_norm=required(self.config.evaluation_batch_norm),
            augmentation=self.augmentation(max(epoch, 1)),
            augments=self.augments_scored_images,
            seed=self.config.seed,
            epoch=epoch,
            batch_size=self.config.batch_size,
            precision=self.config.precision,
            scored_batch_size=self.config.scored_batch_size,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        return {
            "epoch": self.epoch,
            "search_seconds": self.search_seconds,
            "eigenvalues": list(self.eigenvalues),
            "run": self.identity(),
            "supernet": self.net.state_dict(),
            "weight_optimizer": self.weight_optimizer.state_dict(),
            "method": self.method.state_dict(),
            **({} if self.unended is None else {"unended": _as_tensors(self.unended)}),
        }

    def identity(self) -> dict[str, Any]:
        """Return what must equal the checkpoint's: space, images and every option except the number of epochs."""
        options = {name: value for name, value in self.options.as_dict().items() if name != "epochs"}
        return {**options, "space": self.net.space.id, "images": self.images.sha256}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore the state from a checkpoint that was read from `path`.

        Raises InvalidInputError if it belongs to another run, DamagedFileError if something is missing from it.
        """
        with checked_restore(state, path, self.identity(), "run"):
            set_partial_channels(self.net, self.partial_channels(state["epoch"]))
            self.net.load_state_dict(state["supernet"])
            self.weight_optimizer.load_state_dict(state["weight_optimizer"])
            self.method.load_state_dict(state["method"])
            self.epoch, self.search_seconds = state["epoch"], state["search_seconds"]
            self.eigenvalues = list(state["eigenvalues"])
            self.unended = _from_tensors(state["unended"]) if "unended" in state else None
            if len(self.eigenvalues) != self.epoch + 1:
                raise ValueError("every epoch must have an eigenvalue or None")


def _rows(split: Split, data: Data) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the images that train the weights, and those that train Λ, as rows of the image set."""
    match data:
        case "halves":
            return split.weights, split.architecture
        case "weight-half":
            return split.weights, split.weights
        case "all":
            together = np.concatenate([split.weights, split.architecture])
            return together, together


def _as_tensors(unended: Unended) -> dict[str, Any]:
    """Return a record as a checkpoint holds it."""
    parameters = {key: torch.from_numpy(value) for key, value in unended.parameters.items()}
    return {"line": dict(unended.line), "parameters": parameters}


def _from_tensors(saved: Mapping[str, Any]) -> Unended:
    """Return the record that `_as_tensors` returned."""
    parameters = {key: value.numpy() for key, value in saved["parameters"].items()}
    return Unended(saved["line"], parameters)


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
    method = options.method(space, options.own, epoch_generator(config.seed, "architecture", 0), device)
    _check_relaxation(config, method)
    state = SearchState(
        options=options,
        preset=preset,
        net=net,
        weight_optimizer=weight_optimizer,
        method=method,
        images=images.to(device),
        split=halves,
    )
    _check_cells(state, checks_memory)
    check_single_images(config, _phases(config, method), halves, images.side, lambda: net)
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
    asked = {
        "hessian_eigenvalue": config.hessian_eigenvalue and switch("hessian_eigenvalue"),
        "cell_alignment": config.cell_alignment and option("cell_alignment", True),
    }
    for text in filter(None, asked.values()):
        if not method.evaluates_relaxation:
            raise InvalidInputError(
                f"{config.optimizer} measures the loss without mixing weights that depend on Λ: remove {text}"
            )


def _phases(config: SearchConfig, method: OneShotOptimizer) -> tuple[Phase, ...]:
    """Return the phases of a search; raises InvalidInputError if they do not fit its epochs."""
    phases = method.phases(config.epochs, config.warm_start_epochs)
    check_phases(phases, config.epochs)
    return tuple(phases)


def _check_cells(state: SearchState, checks_memory: bool) -> None:
    """Raise InvalidInputError for phases that the epochs do not allow, and for cells that the method cannot train."""
    name, net = state.config.optimizer, state.net
    phases = _phases(state.config, state.method)
    check_schedule(state.config, state.method, phases, state.split)
    if checks_memory:
        largest = largest_settings(state.config, phases)
        check_fits(largest, net.space, state.images.classes, state.images.side, " in its largest phase")
    if any(phase.trains == "batch-norm" for phase in phases) and not _has_affine_norm(net.cells):
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
    steps = [-(-len(_rows(halves, of.data)[0]) // (config.batch_size + of.batch_increase)) for of in phases]
    method.check_length(phases, steps[0])
    method.check_images(len(halves.weights), len(halves.architecture))
    for phase, number in zip(phases, steps, strict=True):
        if method.trains_weights_first and phase.moves_parameters and phase.weight_steps > number:
            raise InvalidInputError(
                f"{phase.weight_steps} weight steps precede each step of Λ, but an epoch has only {number}: lower "
                f"{option('weight_steps')}, or remove {option('weights_first')}"
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
    if not any(_has_batch_of_one(config, phase, halves) for phase in phases) or _fewest_pixels(make_net(), side) > 1:
        return
    raise InvalidInputError(
        f"with {option('batch_size', config.batch_size)}, a training batch has a single image, whose {side} × {side} "
        f"pixels the supernet reduces to one, too few for batch-norm: choose another {option('batch_size')} or "
        f"{option('images_per_half')}, or larger images"
    )


def _has_batch_of_one(config: SearchConfig, phase: Phase, halves: Split) -> bool:
    """Return whether a step of a phase trains the weights or Λ on one image."""
    for_weights, for_architecture = _rows(halves, phase.data)
    own_batches = phase.moves_parameters and not config.draw_with_replacement
    size = config.batch_size + phase.batch_increase
    of_halves = (for_weights, for_architecture) if own_batches else (for_weights,)
    return size == 1 or any(len(rows) % size == 1 for rows in of_halves)


@torch.no_grad()
def _fewest_pixels(net: Supernet, side: int) -> int:
    """Return the smallest number of values per channel that a batch-norm layer of a supernet gets from one image."""
    pixels, device = [2], net.classifier.weight.device

    def note(layer: BatchNorm2d, x: Tensor) -> Tensor:
        pixels.append(x[0, 0].numel())
        return x

    weights = to_tensors(net.space.one_hot(net.space.sample(np.random.default_rng(0))), device)
    net.eval()  # layers of a user's own cell must not change their buffers
    with normalised_by(net, note):
        net.forward(torch.zeros(1, 3, side, side, device=device), weights)
    net.train()
    return min(pixels)


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
            f"images, more than the {smallest:,} images of a half: lower {option('batch_size')}, or use more images"
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


def _has_affine_norm(module: nn.Module) -> bool:
    return any(isinstance(layer, BatchNorm2d) and layer.affine for layer in module.modules())


class _Uncompiled(nn.Module):
    """The supernet's uncompiled forward pass, because a compiled one would be recompiled for other weights."""

    def __init__(self, net: Supernet) -> None:
        super().__init__()
        self.net = net

    def forward(self, *arguments: Any) -> Tensor:
        """Return the supernet's output."""
        return self.net.forward(*arguments)


def _below_net(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"net.{name}": tensor for name, tensor in tensors.items()}


def check_batch(config: SearchConfig, halves: Split) -> None:
    """Raise InvalidInputError if a batch needs more images than a half has."""
    if config.batch_size > (smallest := _smaller_half(halves)):
        raise InvalidInputError(
            f"{option('batch_size', config.batch_size)} is more than the {smallest:,} images of a half: lower it, or "
            "use more images"
        )


def _smaller_half(halves: Split) -> int:
    return min(len(halves.weights), len(halves.architecture))
