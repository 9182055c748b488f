"""The options of a search in two typed records: options that all searches share, and options of its optimizer.

`nb.search(…)` and the command line accept both in one flat namespace; config.json has a section for each.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.display.options import PICTURES, PictureOptions
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option, switch
from nasbench1shot1.hyperparameters import Methods, RunOptions, changed_options, check_used, options_of
from nasbench1shot1.images.data_sets import DATA_SETS, OTHER, SMALLEST_SIDE
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.jobs.process import usable_cores
from nasbench1shot1.registry import GROUPS, is_trusted, names, one_shot, one_shot_space, optimizer, search_space
from nasbench1shot1.runs.folder import COMMON, OWN
from nasbench1shot1.runs.machine import Device, resolve_device, resolve_threads
from nasbench1shot1.runs.options import (
    IF_GIVEN,
    MOST_EPOCHS,
    RATE,
    Images,
    Names,
    OfLength,
    OnlyWith,
    Range,
    TableName,
    absolute_file,
    check_effects,
    check_learning_rates,
    check_ranges,
    make_options,
    names_of_length,
    option_names,
    recorded_options,
    reset_without_effect,
)
from nasbench1shot1.scales import SCALES, ScaleName, fitted
from nasbench1shot1.supernets.presets import PRESETS, BatchNormMode
from nasbench1shot1.tables.bounds import NAMES, BoundOptions
from nasbench1shot1.tables.names import resolve_table_name
from nasbench1shot1.tables.references import Reference

if TYPE_CHECKING:
    import torch

    from nasbench1shot1.images.image_set import ImageSet
    from nasbench1shot1.images.splits import Split
    from nasbench1shot1.optimizer import Hyperparameters, OneShotOptimizer
    from nasbench1shot1.space import OneShotSpace, SearchSpace
    from nasbench1shot1.tables.table import Table

UnusedWeights = Literal["kept", "decayed", "decayed-after-use"]
Perturbation = Literal["none", "random", "adversarial"]
PerturbationVariant = Literal["corrected", "published"]
FACTS = {
    "space_id": str,
    "table_id": str,
    "images_sha256": str,
    "weight_images": int,
    "architecture_images": int,
    "dataset": str,
}
"""Fields of config.json besides the options, with their types: the data that the run used."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig(PictureOptions, BoundOptions):
    """The options of every search. `resolved` replaces None by the value that preset, data or machine decide."""

    optimizer: Annotated[str, Names("optimizers", "your own as module:Class")] = "darts"
    """One-shot optimizer."""
    space: Annotated[str, Names("one_shot_spaces", "your own as module:object")] = "s1"
    """Search space (docs/spaces.md, docs/own_space.md)."""
    scale: ScaleName = "full"
    """full: the paper's setting on the official CIFAR-10; medium: a small proxy on 20,000 of its images, for a CPU;
    long: the same proxy with four times as many epochs; quick: a small proxy on a few bundled images, in a minute."""
    preset: Literal["corrected", "original"] = "corrected"
    """corrected, or original to reproduce the published code's bugs (docs/presets.md)."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of the run."""
    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 50
    """Number of search epochs."""
    images: Images = "cifar10"
    """Image set: cifar10, cifar100, ImageNet16-120, cifar10-sample, the name of an imported set, or an .npz file."""
    images_per_half: Annotated[int | None, Range(2)] = None
    """Number of images in each half (one half trains the weights, the other Λ). Default: all."""
    image_side: Annotated[int | None, Range(SMALLEST_SIDE)] = None
    """Height and width to which images are shrunk, in pixels. At the quick scale, images that cannot be shrunk to 16
    pixels are shrunk as far as possible. Default: the images' own."""
    channels: Annotated[int, Range(1)] = 16
    """Number of channels in the supernet's first stack."""
    cells: Annotated[int, Range(1)] = 9
    """Number of cells in the supernet."""
    partial_channels: Annotated[int, Range(1)] = 1
    """Apply operations to 1/k of a block's channels (PC-DARTS); 1 means all channels."""
    channel_sampling: Annotated[Literal["first", "random"] | None, IF_GIVEN] = None
    """Channels that operations see with --partial-channels. first: always the first ones, followed by a shuffle.
    random: other channels in every step (the PC-DARTS paper). Default: first."""
    batch_size: Annotated[int, Range(1)] = 96
    """Batch size, for each half of the images."""
    learning_rate: Annotated[float, RATE] = 0.025
    """Initial learning rate of the weights. A cosine schedule, updated every epoch, lowers it to
    --learning-rate-min."""
    learning_rate_min: Annotated[float, RATE] = 0.001
    """Learning rate of the weights one epoch after the last, where the cosine schedule ends."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of the weights' SGD."""
    nesterov: bool | None = None
    """Use Nesterov momentum, unless the momentum is 0."""
    weight_decay: Annotated[float, RATE] = 3e-4
    """Weight decay (L2) of the weights."""
    grad_clip: Annotated[float, Range(0)] = 5.0
    """Maximum norm of the weights' gradient; larger gradients are clipped. 0 disables clipping."""
    warm_start_epochs: Annotated[int, Range(0), OfLength.EPOCHS] = 0
    """Number of warm-up epochs, which train only the weights (NAS-Bench-1Shot1's scripts: 20)."""
    perturbation: Perturbation = "none"
    """Perturbation of the mixing weights during weight steps (SDARTS)."""
    perturbation_size: Annotated[float, Range(0, 1), OnlyWith("perturbation", ("random", "adversarial"))] = 0.3
    """Maximum change of a mixing weight in the last epoch; the maximum grows linearly over the epochs."""
    perturbation_steps: Annotated[int | None, Range(1, 1000), OnlyWith("perturbation", ("adversarial",)), IF_GIVEN] = (
        None
    )
    """Number of steps along the sign of the loss's gradient that find an adversarial perturbation. Default: 7."""
    perturbation_variant: Annotated[
        PerturbationVariant | None, OnlyWith("perturbation", ("random", "adversarial")), IF_GIVEN
    ] = None
    """Details of the perturbation. corrected: works with all mixing weights. published: bound, projection, start,
    steps and batch-norm as in the authors' code, for mixing weights that add up to 1 (docs/optimizers.md). Default:
    corrected."""
    cutout_length: Annotated[int, Range(0), OnlyWith("cutout_probability")] = 16
    """Side length of the cutout square, in pixels."""
    cutout_probability: Annotated[float, Range(0, 1), OnlyWith("cutout_length")] = 0.0
    """Probability of cutout in the last epoch; see --cutout-schedule for earlier epochs."""
    cutout_schedule: Annotated[Literal["linear", "constant"] | None, OnlyWith("cutout_probability")] = None
    """linear: the probability of cutout grows linearly from 0 in the first epoch. constant: it stays the same."""
    batch_norm_affine: Annotated[bool | None, IF_GIVEN] = None
    """Learn a scale and a shift in all batch-norms of the supernet (yes), or in none (no). Default: as in the published
    supernet of the space (docs/presets.md)."""
    evaluation_batch_norm: BatchNormMode | None = None
    """Batch-norm statistics for measuring one-shot errors. batch-in-cells: batch statistics in the cells, and running
    statistics in all other layers."""
    augment_architecture_images: Annotated[bool | None, IF_GIVEN] = None
    """Augment the images that train Λ like those that train the weights. Default: as the preset does."""
    draw_with_replacement: Annotated[bool | None, IF_GIVEN] = None
    """Draw the images that train Λ with replacement, instead of reshuffling them in every epoch. Default: no."""
    augment_scored_images: Annotated[bool | None, IF_GIVEN] = None
    """Augment the images on which shared weights score architectures. Default: as the preset does."""
    scored_batch_size: Annotated[
        int | None, Range(1), OnlyWith("evaluation_batch_norm", ("batch", "batch-in-cells")), IF_GIVEN
    ] = None
    """Number of images in each pass that measures errors with the shared weights. Batch-norm uses the statistics of
    these images. Default: up to 128 for mixtures, up to 384 for architectures."""
    unused_weights: Annotated[UnusedWeights | None, IF_GIVEN] = None
    """Treatment of weights that a step does not use. kept: they stay unchanged; decayed: momentum and weight decay
    change them; decayed-after-use: momentum and weight decay change them from their first use on. Default: kept."""
    hessian_eigenvalue: bool = False
    """After each epoch, measure the dominant eigenvalue of the validation loss's Hessian with respect to Λ."""
    early_stopping: bool = False
    """Stop when the Hessian's eigenvalue grows too fast, and return the architecture of five epochs earlier. Needs
    --hessian-eigenvalue."""
    preferred_error: Annotated[bool | None, IF_GIVEN] = None
    """After each epoch, measure the one-shot error of the preferred architecture alone, under the shared weights.
    Default: no."""
    cell_alignment: Annotated[bool | None, IF_GIVEN] = None
    """After each epoch, measure how well the cells agree on Λ: the mean cosine between the gradients of their mixing
    weights, over all pairs of cells. Default: no."""
    table: TableName | None = None
    """Folder or name of the table that gives the regret. Default: $NB1SHOT1_TABLE, or else embedded."""
    reference: Reference | None = None
    """Reference of the regret. present: the best network in the table, even if the table lacks part of the space.
    Default: the best network of the space, whose networks must all be in the table."""
    device: Device = "auto"
    """Device to compute on; auto selects a GPU if there is one."""
    threads: Annotated[int | None, Range(1)] = None
    """Number of CPU threads; results are reproducible only with an equal number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16 to run the supernet under autocast; batch-norm statistics and Λ stay in float32."""
    compile: bool = False
    """Compile the supernet with torch.compile (needs a C++ compiler on a CPU)."""
    keep_weights_every: Annotated[int, Range(0)] = 0
    """Save the supernet's weights every N epochs in weights/; 0 disables this."""

    def resolved(self) -> "SearchConfig":
        """Fill in every None and check every value.

        Raises:
            InvalidInputError: a number is out of range, the device does not exist, or options contradict each other.
        """
        config = replace(
            self.with_checked_pictures(),
            threads=resolve_threads(self.threads),
            device=resolve_device(self.device),
            table=resolve_table_name(self.table or search_space(self.space).table),
            evaluation_batch_norm=self.evaluation_batch_norm or PRESETS[self.preset].evaluation_batch_norm,
            images=absolute_file(self.images),
        )
        check_ranges(config)
        _check_together(config)
        config.check_bounds()
        return config


def _check_together(config: SearchConfig) -> None:
    """Raise InvalidInputError for options that are valid alone but contradict each other."""
    check_learning_rates(config.learning_rate, config.learning_rate_min)
    if config.warm_start_epochs and config.warm_start_epochs >= config.epochs:
        raise InvalidInputError(
            f"{option('warm_start_epochs', config.warm_start_epochs)} leaves no epoch of "
            f"{option('epochs', config.epochs)} for Λ: lower the first or raise the second"
        )
    if config.unused_weights == "decayed-after-use" and not config.momentum:
        raise InvalidInputError(
            f"{option('unused_weights', config.unused_weights)} recognises used weights by their momentum, and "
            f"{option('momentum')} is 0: use decayed, or a momentum above 0"
        )
    if config.channel_sampling == "random" and config.partial_channels == 1:
        raise InvalidInputError(
            f"{option('channel_sampling', 'random')} draws the channels of {option('partial_channels')}, but "
            "operations see all channels: remove it, or raise the second"
        )
    if config.early_stopping and not config.hessian_eigenvalue:
        raise InvalidInputError(
            f"{option('early_stopping')} needs the Hessian's eigenvalue: add {switch('hessian_eigenvalue')}"
        )


ONE_SHOT_IMAGES, TRAINING = "one_shot_images", "training"
"""Field of config.json, and its value, for searches whose one-shot error is measured on images that train the weights.
"""
RESERVED = frozenset(
    {"out", "resume", "overwrite", "seeds", "tensorboard", "callbacks", "allow_module", "console", "help"}
    | {"named", "kind", "grown", ONE_SHOT_IMAGES, COMMON, OWN, *FACTS, *option_names(WorkerOptions)}
)
"""Names that no option of an optimizer can have: `nb.search`, the command line or config.json use them otherwise."""
METHODS = Methods(lambda: names("optimizers"), optimizer, SearchConfig, RESERVED)
"""All one-shot optimizers."""


@dataclass(frozen=True)
class SearchOptions(RunOptions):
    """The options of one search.

    Attributes:
        common: the options that all searches share.
        own: the options of the optimizer.
        method: the class of the optimizer.
    """

    common: SearchConfig
    method: "type[OneShotOptimizer]"

    def resolved(self) -> "SearchOptions":
        """Fill in the values that preset, data and machine decide, and check every value; raises InvalidInputError."""
        check_ranges(self.own)
        self.own.check()
        return replace(self, common=self.common.resolved())

    def create_method(
        self, space: "OneShotSpace", generator: "torch.Generator", device: "torch.device"
    ) -> "OneShotOptimizer":
        """Return the optimizer in its initial state; raises InvalidInputError if its initialiser is incomplete."""
        from nasbench1shot1.optimizer import check_initialised

        try:
            method = self.method(space, self.own, generator, device)
        except (TypeError, AttributeError) as error:
            error.add_note(
                f"nb1shot1: {self.method.__name__}.__init__() receives space, hyperparameters, generator and device: "
                "call super().__init__(space, hyperparameters, generator, device) first"
            )
            raise
        check_initialised(method)
        return method


def search_options(
    given: Mapping[str, Any], varied: Collection[str] = (), kept: Mapping[str, Any] = MappingProxyType({})
) -> SearchOptions:
    """Return the two records for named options; options that are missing or None take the values of `defaults`.

    Args:
        given: options by name.
        varied: as in `check_effects`.
        kept: the recorded options of a search that is resumed, which `given` overrides. They were accepted when the
            search was started, so they are not refused for having no effect.

    Raises:
        InvalidInputError: an option is unknown (the closest known one is suggested) or belongs to another optimizer, or
            a value has a wrong type or is out of range.
    """
    changed, varied, given = changed_options(given, kept), {*varied, *kept}, {**kept, **given}
    if "optimizer" in given:
        given = {**given, "optimizer": GROUPS["optimizers"].listed_name(given["optimizer"])}
    method = optimizer(given.get("optimizer") or SearchConfig.optimizer)
    check_method(method)
    METHODS.check_known(method, given)
    options, usual = _with_defaults(method, given)
    if given.get("image_side") is None:
        options = replace(options, common=_with_fitting_side(options.common))
    options = options.resolved()
    check_used(options, changed, usual)
    records = (options.common, options.own)
    check_effects(records, changed, usual, varied)
    return replace(options, own=reset_without_effect(options.own, records, varied))


def _with_fitting_side(common: SearchConfig) -> SearchConfig:
    """Return options in which the images can be shrunk to the scale's side."""
    from nasbench1shot1.images.image_set import quick_side

    return replace(common, image_side=common.image_side and quick_side(common.images, common.image_side))


def _with_defaults(method: "type[OneShotOptimizer]", given: Mapping[str, Any]) -> tuple[SearchOptions, dict[str, Any]]:
    """Return the options, and the values of options that are not given, where they replace the fields' own."""
    common, own = (options_of(record, given) for record in (SearchConfig, method.Hyperparameters))
    asked = make_options(SearchConfig, common, {})  # for its scale and preset, which decide about the rest
    usual = defaults(method, one_shot_space(asked.space), asked.scale, asked.preset)
    records = (make_options(SearchConfig, common, usual), make_options(method.Hyperparameters, own, usual))
    return SearchOptions(*records, method), usual


def defaults(method: "type[OneShotOptimizer]", space: "OneShotSpace", scale: str, preset: str) -> dict[str, Any]:
    """Return the values that replace the fields' own defaults.

    Later sources override earlier ones: the optimizer's settings, the space's settings, the optimizer's settings for
    the space's benchmark, under the preset "original" the published settings of the optimizer, of the benchmark, and of
    the optimizer on the benchmark; below the full scale, defaults that fit the length (`scales.fitted`), the
    scale's settings, and the settings of space and optimizer for this scale.
    """
    family, is_original = space.benchmark.name, preset == "original"
    full = {
        **method.defaults,
        **space.search_defaults,
        **method.family_defaults.get(family, {}),
        **(method.original_defaults if is_original else {}),
        **(space.benchmark.original_defaults if is_original else {}),
        **(method.original_family_defaults.get(family, {}) if is_original else {}),
    }
    if not SCALES.get(scale):
        return full
    small = {
        **SCALES[scale],
        **space.scale_defaults.get(scale, {}),
        **method.scale_defaults.get(scale, {}),
    }
    records = (SearchConfig, method.Hyperparameters)
    own = {field.name: field.default for record in records for field in fields(record)}
    marks = {name: mark for record in records for name, mark in names_of_length(record).items()}
    scheme = space.split or PRESETS[preset].split
    return {**full, **fitted({**own, **full}, {**own, **full, **small}, scale, scheme, marks), **small}


def recorded_search(recorded: Mapping[str, Any], where: Path) -> SearchOptions:
    """Read the options of a recorded search.

    Args:
        recorded: all options by name, flat.
        where: the file, for messages.

    Raises:
        DamagedFileError: an option is missing or damaged.
        InvalidInputError: the optimizer is not installed.
    """
    common = recorded_options(SearchConfig, recorded, where)
    method = optimizer(common.optimizer)
    check_method(method)
    own = recorded_options(method.Hyperparameters, recorded, where)
    return SearchOptions(common.resolved(), own, method)  # without `own.check`, which a later version may tighten


def help_defaults(
    method: "type[OneShotOptimizer]", name: str, setting: Mapping[str, str]
) -> tuple[SearchConfig, "Hyperparameters"]:
    """Return the defaults of an optimizer, for help; what only the machine or the images decide stays None.

    Args:
        method: the class of the optimizer.
        name: its name.
        setting: scale, preset and space, where they are not the usual ones.
    """
    check_method(method)
    options, _ = _with_defaults(method, {"optimizer": name, **setting})
    common, preset = options.common, PRESETS[options.common.preset]
    decided: dict[str, Any] = {
        "table": search_space(common.space).table,
        "nesterov": bool(common.nesterov),
        "cutout_schedule": "linear" if preset.cutout_ramp else "constant",
        "evaluation_batch_norm": common.evaluation_batch_norm or preset.evaluation_batch_norm,
    }
    return replace(common, **decided), options.own


def check_method(method: "type[OneShotOptimizer]") -> None:
    """Check an optimizer's declaration of its own options; raises the errors of `Methods.check_method`."""
    families = (*method.family_defaults.values(), *method.original_family_defaults.values())
    of_families = chain.from_iterable(families)
    of_scales = chain.from_iterable(method.scale_defaults.values())
    defaults = (*method.defaults, *method.original_defaults, *of_scales, *of_families)
    METHODS.check_method(method, defaults)


def threads_per_search(common: SearchConfig, workers: int) -> int:
    """Return the CPU threads of each search if several run at once: what the scale sets, or the cores over workers.

    Args:
        common: resolved options of one of the searches.
        workers: number of processes.
    """
    return SCALES[common.scale].get("threads") or max(usable_cores() // max(workers, 1), 1)


def table_of_search(config: SearchConfig) -> "Table":
    """Open the table of a search, with the networks of its space as a reference.

    Raises InvalidInputError for a space without relaxation, and as `tables.table.table_for` does.
    """
    from nasbench1shot1.tables.table import table_for

    return table_for(one_shot(search_space(config.space)), config.table, config.reference)


def data_facts(space: "SearchSpace", table: "Table", images: "ImageSet", halves: "Split") -> dict[str, Any]:
    """Return the values of `FACTS`."""
    from nasbench1shot1.evaluator import dataset_of_regrets  # help does not need it

    sizes = (len(halves.weights), len(halves.architecture))
    dataset = dataset_of_regrets(table, images.dataset)
    return dict(zip(FACTS, (space.id, table.id, images.sha256, *sizes, dataset), strict=True))


def dataset_note(images: str, regrets: str) -> str:
    """Return a sentence for screens if images and regrets are of different data sets; else an empty string.

    Args:
        images: the data set of the images of a search.
        regrets: the data set of the values that score it (`dataset_of_regrets`). Images of a user's own data set may
            belong to any data set whose name is unknown.
    """
    if images == regrets or (images == OTHER and regrets not in DATA_SETS):
        return ""
    title = DATA_SETS[images].title if images in DATA_SETS else "another data set"
    return f"The images are of {title}, but the regrets are of {regrets}, the data set of the table."


_OF_A_RUN = {
    "seed", "space", "epochs", "images", "images_per_half", "image_side", "channels", "cells", "batch_size", "table",
    "device", "threads", "precision", "compile", "keep_weights_every", "hessian_eigenvalue", "preferred_error",
    "cell_alignment", *PICTURES, *NAMES,
}  # fmt: skip


def non_default_options(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in which a recorded search differs from its optimizer's defaults.

    Size, images and device are left out. The result is empty if the optimizer is not registered: no module is imported
    only because a record names it.
    """
    with suppress(UserError):
        if is_trusted("optimizers", recorded["optimizer"]) and is_trusted("search_spaces", recorded["space"]):
            asked = {name: recorded[name] for name in ("optimizer", "space", "scale", "preset") if name in recorded}
            options = search_options(asked)
            usual, own = options.as_dict(), option_names(options.method.Hyperparameters)
            named = [name for name in (*option_names(SearchConfig), *own) if name not in _OF_A_RUN and name in recorded]
            return {name: recorded[name] for name in named if recorded[name] != usual.get(name)}
    return {}
