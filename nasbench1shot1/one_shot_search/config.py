"""Every option that all searches share, once: its type, range, default and help.

An optimizer adds options of its own (`OneShotOptimizer.Hyperparameters`); `options` brings the two together.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.runs.compute import MOST_THREADS, default_threads, resolve_device
from nasbench1shot1.runs.options import MOST_EPOCHS, Range, absolute_file, check_ranges
from nasbench1shot1.supernets.presets import PRESETS, BatchNormMode
from nasbench1shot1.tables.names import as_recorded

SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"images": "cifar10-sample", "epochs": 15, "channels": 8, "cells": 3, "batch_size": 32},
}
"""What a scale fills in where no option says otherwise. The fields' own defaults are the paper's setting; "quick" is
one for two CPU cores and minutes.
"""

FACTS = {"space_id": str, "table_id": str, "images_sha256": str, "weight_images": int, "architecture_images": int}
"""What config.json holds beside the options, with types: what the run was made with."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """The options of every search. None means that preset, data or machine decide (`resolved`)."""

    optimizer: str = "darts"
    """One-shot optimizer: darts, darts-second-order, gdas, pc-darts, snas, random-ws, enas, or module:Class."""
    space: str = "s1"
    """Search space: s1, s2 or s3."""
    scale: Literal["full", "quick"] = "full"
    """full: the paper's setting on the official CIFAR-10; quick: a small proxy on the carried sample, for minutes."""
    preset: Literal["corrected", "original"] = "corrected"
    """corrected, or original for the published code's faults (docs/presets.md)."""
    seed: Annotated[int, Range(0)] = 0
    """Seed of everything random in the run."""
    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 50
    """Search epochs (quick scale: 15)."""
    images: str = "cifar10"
    """Image set: cifar10, cifar10-sample, an imported name or an .npz file."""
    images_per_half: Annotated[int | None, Range(2)] = None
    """Number of images in each half (one half trains the weights, the other Λ). Default: all."""
    channels: Annotated[int, Range(1)] = 16
    """Channels of the supernet's first stack (quick scale: 8)."""
    cells: Annotated[int, Range(1)] = 9
    """Cells of the supernet (quick scale: 3)."""
    partial_channels: Annotated[int, Range(1)] = 1
    """k: operations see 1/k of a block's channels; 1 is all of them."""
    batch_size: Annotated[int, Range(1)] = 96
    """Images per step, of each half (quick scale: 32)."""
    learning_rate: Annotated[float, Range(0)] = 0.025
    """First learning rate of the weights; falls to the last along a cosine, per epoch."""
    learning_rate_min: Annotated[float, Range(0)] = 0.001
    """Last learning rate of the weights."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of the weights' SGD."""
    weight_decay: Annotated[float, Range(0)] = 3e-4
    """Weight decay (L2) of the weights."""
    grad_clip: Annotated[float, Range(above=0)] = 5.0
    """Largest norm of the weights' gradient."""
    warm_start_epochs: Annotated[int, Range(0)] = 0
    """Epochs at the beginning in which only the weights move (NAS-Bench-1Shot1's scripts: 20)."""
    perturbation: Literal["none", "random", "adversarial"] = "none"
    """Perturbation of the mixing weights during weight steps (SDARTS)."""
    perturbation_size: Annotated[float, Range(0, 1)] = 0.3
    """Largest change of a mixing weight in the last epoch; it grows to that linearly."""
    cutout_length: Annotated[int, Range(0)] = 16
    """Side of the cutout square, pixels."""
    cutout_probability: Annotated[float, Range(0, 1)] = 0.0
    """Probability of cutout in the last epoch; --cutout-schedule sets that of the epochs before."""
    cutout_schedule: Literal["linear", "constant"] | None = None
    """linear: cutout's probability grows from 0 in the first epoch. Default: linear (preset original: constant)."""
    evaluation_batch_norm: BatchNormMode | None = None
    """Batch-norm statistics that one-shot errors are measured with. Default: the preset's."""
    hessian_eigenvalue: bool = False
    """Measure the dominant eigenvalue of the validation loss's Hessian with respect to Λ after each epoch."""
    early_stopping: bool = False
    """Stop when that eigenvalue grows too fast, and return an earlier architecture (needs --hessian-eigenvalue)."""
    table: str | None = None
    """Folder or name of the table to look architectures up in. Default: $NB1SHOT1_TABLE, else embedded."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, …"""
    threads: Annotated[int | None, Range(1, MOST_THREADS)] = None
    """Number of CPU threads; results are repeatable only with the same number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16: the supernet under autocast; batch-norm statistics and Λ stay float32."""
    compile: bool = False
    """Compile the supernet with torch.compile (needs a C++ compiler on a CPU)."""
    keep_weights_every: Annotated[int, Range(0)] = 0
    """Save the supernet's weights every N epochs in weights/; 0 disables this."""

    def resolved(self) -> "SearchConfig":
        """Fill in every None and check every value.

        Raises:
            InvalidInputError: a number is out of its range, there is no such device, or options contradict each other.
        """
        config = replace(
            self,
            threads=default_threads() if self.threads is None else self.threads,
            device=resolve_device(self.device),
            table=as_recorded(self.table),
            evaluation_batch_norm=self.evaluation_batch_norm or PRESETS[self.preset].evaluation_batch_norm,
            images=absolute_file(self.images) or self.images,
        )
        check_ranges(config)
        _check_together(config)
        return config


def _check_together(config: SearchConfig) -> None:
    """Raise InvalidInputError for options that are right alone and wrong beside each other."""
    if config.learning_rate_min > config.learning_rate:
        raise InvalidInputError(
            f"--learning-rate falls to --learning-rate-min, so {config.learning_rate} cannot be less than "
            f"{config.learning_rate_min}: raise the one or lower the other"
        )
    if config.warm_start_epochs and config.warm_start_epochs >= config.epochs:
        raise InvalidInputError(
            f"--warm-start-epochs {config.warm_start_epochs} leaves none of the {config.epochs} epochs to Λ: give fewer"
        )
    if config.early_stopping and not config.hessian_eigenvalue:
        raise InvalidInputError("--early-stopping watches the Hessian's eigenvalue: give --hessian-eigenvalue too")
