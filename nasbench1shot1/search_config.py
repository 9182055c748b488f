"""Every option of a search, once: its type, default and help; a run's config.json is one of these, resolved."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from nasbench1shot1.compute import MOST_THREADS, PRECISIONS, default_threads, resolve_device
from nasbench1shot1.errors import InvalidInputError, unknown_name
from nasbench1shot1.options import absolute_file, check_range, option_names, typed_options
from nasbench1shot1.presets import PRESETS
from nasbench1shot1.table_names import as_recorded

SCALES: dict[str, dict[str, Any]] = {
    "full": {"images": "cifar10", "epochs": 50, "channels": 16, "cells": 9, "batch_size": 96},
    "quick": {"images": "cifar10-sample", "epochs": 15, "channels": 8, "cells": 3, "batch_size": 32},
}
"""What a scale fills in where no option says otherwise: the paper's setting, and one for two CPU cores and minutes."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """The options of a search. None means that the scale, or the machine, decides (`resolved`)."""

    optimizer: str = "darts"
    """One-shot optimizer."""
    space: str = "s1"
    """Search space: s1, s2 or s3."""
    scale: str = "full"
    """full: the paper's setting on the official CIFAR-10; quick: a small proxy on the carried sample, for minutes."""
    preset: str = "corrected"
    """corrected, or original for the published code's faults (docs/presets.md)."""
    seed: int = 0
    """Seed of everything random in the run."""
    epochs: int | None = None
    """Search epochs (full 50, quick 15)."""
    images: str | None = None
    """Image set: cifar10, cifar10-sample, an imported name or an .npz file."""
    images_per_half: int | None = None
    """Images that train the weights, and as many Λ; all there are if not given."""
    channels: int | None = None
    """Channels of the supernet's first stack (full 16, quick 8)."""
    cells: int | None = None
    """Cells of the supernet (full 9, quick 3)."""
    batch_size: int | None = None
    """Images per step, of each half (full 96, quick 32)."""
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
    architecture_learning_rate: float = 3e-4
    """Learning rate of Λ (Adam)."""
    architecture_weight_decay: float = 1e-3
    """Weight decay of Λ (Adam)."""
    cutout_length: int = 16
    """Side of the cutout square, pixels."""
    cutout_probability: float = 0.0
    """Probability of cutout in the last epoch; it grows to that linearly (preset original: constant)."""
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
            InvalidInputError: an unknown scale, preset or precision, or a number out of its range.
        """
        if self.scale not in SCALES:
            raise unknown_name("scale", self.scale, SCALES)
        if self.preset not in PRESETS:
            raise unknown_name("preset", self.preset, PRESETS)
        filled = {name: value for name, value in SCALES[self.scale].items() if getattr(self, name) is None}
        threads = default_threads() if self.threads is None else self.threads
        config = replace(
            self, **filled, threads=threads, device=resolve_device(self.device), table=as_recorded(self.table)
        )
        _check_numbers(config)
        return replace(config, images=absolute_file(config.images))

    def as_dict(self) -> dict[str, Any]:
        """All options by name, for JSON."""
        return asdict(self)


def make_config(options: dict[str, Any]) -> SearchConfig:
    """A configuration from named options.

    Raises:
        InvalidInputError: an unknown option (the closest known one is suggested) or a value of a wrong type.
    """
    return SearchConfig(**typed_options(SearchConfig, options))


OPTIONS = option_names(SearchConfig)


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
    "architecture_learning_rate": 0,
    "architecture_weight_decay": 0,
    "cutout_length": 0,
    "cutout_probability": 0,
    "keep_weights_every": 0,
    "seed": 0,
}
_AT_MOST = {"cutout_probability": 1, "momentum": 1, "threads": MOST_THREADS}


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
    if config.precision not in PRECISIONS:
        raise unknown_name("precision", config.precision, PRECISIONS)
