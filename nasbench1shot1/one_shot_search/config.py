"""Every option of a search, once: its type, default and help; a run's config.json is one of these, resolved.

Options that all searches share are here; an optimizer adds its own (`OneShotOptimizer.Hyperparameters`), and both lie
flat beside each other in `nb.search(…)`, on the command line and in config.json.
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from nasbench1shot1.errors import InvalidInputError, UserError, unknown_name
from nasbench1shot1.runs.compute import MOST_THREADS, PRECISIONS, default_threads, resolve_device
from nasbench1shot1.runs.options import absolute_file, check_range, flag, has_simple_type, option_names, typed_options
from nasbench1shot1.supernets.presets import PRESETS
from nasbench1shot1.tables.names import as_recorded

if TYPE_CHECKING:
    from nasbench1shot1.optimizer import OneShotOptimizer

SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"images": "cifar10-sample", "epochs": 15, "channels": 8, "cells": 3, "batch_size": 32},
}
"""What a scale fills in where no option says otherwise. The fields' own defaults are the paper's setting; "quick" is
one for two CPU cores and minutes.
"""

FACTS = ("space_id", "table_id", "images_sha256", "weight_images", "architecture_images")
"""What config.json holds beside the options: with what, under these names, the run was made."""

RESERVED = {"out", "resume", "seeds", "console", "help", "named", "kind", "grown", *FACTS}
"""Names that no option of an optimizer can have: `nb.search`, the command line or config.json use them otherwise."""

BATCH_NORMS = ("batch", "running", "recalibrated")
PERTURBATIONS = ("none", "random", "adversarial")
CUTOUT_SCHEDULES = ("linear", "constant")


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """The options of every search. None means that preset, data or machine decide (`resolved`)."""

    optimizer: str = "darts"
    """One-shot optimizer: darts, darts-second-order, gdas, pc-darts, snas, random-ws, enas, or module:Class."""
    space: str = "s1"
    """Search space: s1, s2 or s3."""
    scale: str = "full"
    """full: the paper's setting on the official CIFAR-10; quick: a small proxy on the carried sample, for minutes."""
    preset: str = "corrected"
    """corrected, or original for the published code's faults (docs/presets.md)."""
    seed: int = 0
    """Seed of everything random in the run."""
    epochs: int = 50
    """Search epochs (quick scale: 15)."""
    images: str = "cifar10"
    """Image set: cifar10, cifar10-sample, an imported name or an .npz file."""
    images_per_half: int | None = None
    """Images that train the weights, and as many Λ; all there are if not given."""
    channels: int = 16
    """Channels of the supernet's first stack (quick scale: 8)."""
    cells: int = 9
    """Cells of the supernet (quick scale: 3)."""
    partial_channels: int = 1
    """k: operations see 1/k of a block's channels; 1 is all of them."""
    batch_size: int = 96
    """Images per step, of each half (quick scale: 32)."""
    learning_rate: float = 0.025
    """First learning rate of the weights; falls to the last along a cosine, per epoch."""
    learning_rate_min: float = 0.001
    """Last learning rate of the weights."""
    momentum: float = 0.9
    """Momentum of the weights' SGD."""
    weight_decay: float = 3e-4
    """Weight decay (L2) of the weights."""
    grad_clip: float = 5.0
    """Largest norm of the weights' gradient."""
    warm_start_epochs: int = 0
    """Epochs at the beginning in which only the weights move (NAS-Bench-1Shot1's scripts: 20)."""
    perturbation: str = "none"
    """Of the mixing weights while the weights train: none, random or adversarial (SDARTS)."""
    perturbation_size: float = 0.3
    """Largest change of a mixing weight in the last epoch; it grows to that linearly."""
    cutout_length: int = 16
    """Side of the cutout square, pixels."""
    cutout_probability: float = 0.0
    """Probability of cutout in the last epoch; --cutout-schedule sets that of the epochs before."""
    cutout_schedule: str | None = None
    """linear: cutout's probability grows from 0 in the first epoch; constant. Default: linear (preset original:
    constant)."""
    evaluation_batch_norm: str | None = None
    """Statistics that one-shot errors are measured with: batch, running or recalibrated; the preset's if not given."""
    hessian_eigenvalue: bool = False
    """Measure after every epoch, but while weights warm up, the dominant eigenvalue of Λ's Hessian of the loss."""
    early_stopping: bool = False
    """Stop when that eigenvalue grows too fast, and go back to the architecture before (needs --hessian-eigenvalue)."""
    table: str | None = None
    """Table to look architectures up in, by folder or name; $NB1SHOT1_TABLE, else embedded if not given."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, …"""
    threads: int | None = None
    """CPU threads; part of what makes a run repeatable. As many as PyTorch chooses if not given."""
    precision: str = "float32"
    """float32, or bfloat16: the supernet under autocast; batch-norm statistics and Λ stay float32."""
    compile: bool = False
    """Compile the supernet with torch.compile (needs a C++ compiler on a CPU)."""
    keep_weights_every: int = 0
    """Keep the supernet's weights of every so many epochs in weights/; 0 keeps none."""

    def resolved(self) -> "SearchConfig":
        """The same with every None filled in and every value checked.

        Raises:
            InvalidInputError: an unknown name among the values, or a number out of its range.
        """
        for name, value, known in (
            ("scale", self.scale, SCALES),
            ("preset", self.preset, PRESETS),
            ("precision", self.precision, PRECISIONS),
            ("perturbation", self.perturbation, PERTURBATIONS),
            ("cutout schedule", self.cutout_schedule or CUTOUT_SCHEDULES[0], CUTOUT_SCHEDULES),
            ("evaluation batch-norm", self.evaluation_batch_norm or BATCH_NORMS[0], BATCH_NORMS),
        ):
            if value not in known:
                raise unknown_name(name, value, known)
        config = replace(
            self,
            threads=default_threads() if self.threads is None else self.threads,
            device=resolve_device(self.device),
            table=as_recorded(self.table),
            evaluation_batch_norm=self.evaluation_batch_norm or PRESETS[self.preset].evaluation_batch_norm,
        )
        _check_numbers(config)
        config.hyperparameters().check()
        return replace(config, images=absolute_file(config.images) or config.images)

    def method(self) -> "type[OneShotOptimizer]":
        """The optimizer's class."""
        from nasbench1shot1.registry import optimizer

        return optimizer(self.optimizer)

    def hyperparameters(self) -> Any:
        """The optimizer's own options, as its dataclass."""
        kind = self.method().Hyperparameters
        return kind(**{field.name: getattr(self, field.name) for field in fields(kind)})

    def as_dict(self) -> dict[str, Any]:
        """All options by name, for JSON."""
        return asdict(self)


def make_config(options: dict[str, Any]) -> SearchConfig:
    """A configuration from named options; what is not given, or None, is filled in by `defaults`.

    Raises:
        InvalidInputError: an unknown option (the closest known one is suggested) or a value of a wrong type.
    """
    from nasbench1shot1.registry import optimizer

    method = optimizer(options.get("optimizer") or SearchConfig.optimizer)
    kind: type[SearchConfig] = config_class(method)
    check_options(method, options)
    given = {name: value for name, value in typed_options(kind, options).items() if value is not None}
    scale, preset = given.get("scale", SearchConfig.scale), given.get("preset", SearchConfig.preset)
    return kind(**{**defaults(method, scale, preset), **given})


def check_options(method: "type[OneShotOptimizer]", names: Iterable[str]) -> None:
    """Raise InvalidInputError for an option that other methods have and this one has not, naming those that have it."""
    mine = {field.name for field in fields(config_class(method))}
    for name in names:
        if name in mine:
            continue
        if holders := _holders(name):
            raise InvalidInputError(
                f"{method.__name__} has no option {flag(name)}, which is one of {', '.join(holders)}: leave it out"
            )


def _holders(option: str) -> list[str]:
    """The optimizers, installed ones too, that have an option of that name."""
    from nasbench1shot1.registry import names, optimizer

    found = []
    for name in names("optimizers"):
        with suppress(InvalidInputError):  # another package's that cannot be imported
            if option in option_names(optimizer(name).Hyperparameters):
                found.append(name)
    return found


_OF_A_RUN = {
    "seed", "space", "epochs", "images", "images_per_half", "channels", "cells", "batch_size", "table", "device",
    "threads", "precision", "compile", "keep_weights_every", "hessian_eigenvalue",
}  # fmt: skip


def departures(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """By which options of its method a recorded search departs from that method's defaults.

    Size, images and place of running are left out. Nothing where the optimizer is not installed any more.
    """
    with suppress(UserError):
        usual = make_config({name: recorded[name] for name in ("optimizer", "scale", "preset")}).as_dict()
        usual["evaluation_batch_norm"] = PRESETS[recorded["preset"]].evaluation_batch_norm
        return {name: recorded[name] for name in usual if name not in _OF_A_RUN and recorded.get(name) != usual[name]}
    return {}


def defaults(method: "type[OneShotOptimizer]", scale: str, preset: str) -> dict[str, Any]:
    """What takes the place of the fields' own defaults, from the weakest to the strongest: the optimizer's settings,
    its published ones under the preset "original", the scale's, and the optimizer's at the quick scale.
    """
    return {
        **method.defaults,
        **(method.original_defaults if preset == "original" else {}),
        **SCALES.get(scale, {}),
        **(method.quick_defaults if scale == "quick" else {}),
    }


@cache
def config_class(method: "type[OneShotOptimizer]", base: Any = SearchConfig) -> Any:
    """The dataclass `base` with the optimizer's own options as further fields, and its defaults at full scale.

    Raises InvalidInputError where an own option has a common or reserved name or no default, or a default names none.
    """
    from nasbench1shot1.optimizer import Hyperparameters

    own = method.Hyperparameters
    if not (isinstance(own, type) and issubclass(own, Hyperparameters)):
        raise InvalidInputError(
            f"{method.__name__}.Hyperparameters must subclass optimizer.Hyperparameters: let it do so"
        )
    common = {field.name for field in fields(base)}
    for name in (field.name for field in fields(own)):
        if name in common | RESERVED | set(dir(SearchConfig)):
            why = "which every search has" if name in common else "a name that the command or the record uses otherwise"
            raise InvalidInputError(f"{method.__name__} has an option '{name}', {why}: rename it")
    hints = get_type_hints(own)
    if odd := [field.name for field in fields(own) if not has_simple_type(hints[field.name])]:
        raise InvalidInputError(
            f"the option '{odd[0]}' of {method.__name__} has a type that no option can have: use int, float, bool or "
            "str, perhaps | None"
        )
    if bare := [field.name for field in fields(own) if MISSING is field.default is field.default_factory]:
        raise InvalidInputError(f"the option '{bare[0]}' of {method.__name__} has no default: give it one")
    known = common | {field.name for field in fields(own)}
    for name in (*method.defaults, *method.original_defaults, *method.quick_defaults):
        if name not in known:
            raise unknown_name(f"option among the defaults of {method.__name__}:", name, known)
    types = {**get_type_hints(base), **get_type_hints(own)}
    changed = {"__annotations__": {name: types[name] for name in method.defaults}, **method.defaults}
    made = type(base.__name__, (own, base), {**changed, "__doc__": base.__doc__, "__module__": base.__module__})
    return dataclass(frozen=True, kw_only=True)(made)


_AT_LEAST = {
    "epochs": 1,
    "channels": 1,
    "cells": 1,
    "batch_size": 1,
    "threads": 1,
    "images_per_half": 2,
    "learning_rate": 0,
    "learning_rate_min": 0,
    "momentum": 0,
    "weight_decay": 0,
    "partial_channels": 1,
    "warm_start_epochs": 0,
    "perturbation_size": 0,
    "cutout_length": 0,
    "cutout_probability": 0,
    "keep_weights_every": 0,
    "seed": 0,
}
_AT_MOST = {"cutout_probability": 1, "perturbation_size": 1, "momentum": 1, "threads": MOST_THREADS}


def _check_numbers(config: SearchConfig) -> None:
    for name, least in _AT_LEAST.items():
        check_range(name, getattr(config, name), least, _AT_MOST.get(name, math.inf))
    if config.learning_rate_min > config.learning_rate:
        raise InvalidInputError(
            f"--learning-rate falls to --learning-rate-min, so {config.learning_rate} cannot be less than "
            f"{config.learning_rate_min}: raise the one or lower the other"
        )
    if not 0 < config.grad_clip < math.inf:
        raise InvalidInputError(f"--grad-clip must be more than 0, not {config.grad_clip}")
    if config.warm_start_epochs and config.warm_start_epochs >= config.epochs:
        raise InvalidInputError(
            f"--warm-start-epochs {config.warm_start_epochs} leaves none of the {config.epochs} epochs to Λ: give fewer"
        )
    if config.early_stopping and not config.hessian_eigenvalue:
        raise InvalidInputError("--early-stopping watches the Hessian's eigenvalue: give --hessian-eigenvalue too")
