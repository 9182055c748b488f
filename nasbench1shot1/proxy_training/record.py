"""The options of a proxy study's trainings, and their record with one line per architecture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError, quote
from nasbench1shot1.ground.text import percent
from nasbench1shot1.ground.values import copied_property
from nasbench1shot1.runs.folder import METRICS, damaged_file_error
from nasbench1shot1.runs.machine import resolve_device, resolve_threads
from nasbench1shot1.runs.options import (
    MOST_EPOCHS,
    RATE,
    OptionRecord,
    Range,
    absolute_file,
    check_learning_rates,
    check_ranges,
    make_options,
)
from nasbench1shot1.runs.record import RunRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {
        "architectures": 24,
        "epochs": 8,
        "images": "cifar10-sample",
        "images_per_half": 320,
        "channels": 8,
        "cells": 3,
        "batch_size": 32,
    },
}
"""Values that a scale sets for options that are not given. "full" uses the defaults of the fields, which follow the
paper where it states a value; "quick" takes a few minutes on two CPU cores.
"""


@dataclass(frozen=True, kw_only=True)
class ProxyConfig(OptionRecord):
    """The options of a proxy study's trainings. `resolved` replaces None by a value that depends on the machine."""

    space: str = "s3"
    """Search space that the architectures are sampled from: s1, s2 or s3."""
    architectures: Annotated[int, Range(3, 10**6)] = 150
    """Number of sampled architectures (quick scale: 24)."""
    scale: Literal["full", "quick"] = "full"
    """full: the paper's setting on the official CIFAR-10; quick: few small trainings on bundled images."""
    preset: Literal["corrected", "original"] = "corrected"
    """corrected, or original for the down-sampling and the image split of the published code."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed for the sample, and for the weights, image order, crops and flips of every training."""
    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 50
    """Number of training epochs (quick scale: 8)."""
    images: str = "cifar10"
    """Image set: cifar10, cifar100, ImageNet16-120, cifar10-sample, the name of an imported set, or an .npz file."""
    images_per_half: Annotated[int | None, Range(2)] = None
    """Number of images in each half, one for training and one for validation (quick scale: 320). Default: all."""
    channels: Annotated[int, Range(1, 4096)] = 16
    """Number of channels of every block in the first stack (quick scale: 8)."""
    cells: Annotated[int, Range(1, 1000)] = 9
    """Number of cells (quick scale: 3)."""
    batch_size: Annotated[int, Range(2)] = 96
    """Batch size (quick scale: 32)."""
    learning_rate: Annotated[float, RATE] = 0.025
    """Initial learning rate; a cosine schedule lowers it after each epoch, towards --learning-rate-min."""
    learning_rate_min: Annotated[float, RATE] = 0.001
    """Minimum learning rate of the cosine schedule."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of SGD."""
    weight_decay: Annotated[float, RATE] = 3e-4
    """Weight decay (L2)."""
    grad_clip: Annotated[float, Range(above=0)] = 5.0
    """Maximum norm of the gradient; larger gradients are clipped."""
    batch_norm_momentum: Annotated[float, Range(0, 1)] = 0.1
    """Weight of a new batch in batch-norm's running statistics, which validation uses. PyTorch's default: 0.1."""
    device: str = "auto"
    """Device: auto, cpu, cuda, cuda:1, …"""
    threads: Annotated[int | None, Range(1)] = None
    """Number of CPU threads; results are reproducible only with an equal number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16 for the network (autocast); batch-norm statistics and SGD stay in float32."""

    def resolved(self) -> "ProxyConfig":
        """Fill in values that depend on the machine, and check every value.

        Raises:
            InvalidInputError: a number is out of range, the device does not exist, or the learning rate would increase.
        """
        config = replace(
            self,
            threads=resolve_threads(self.threads),
            device=resolve_device(self.device),
            images=absolute_file(self.images),
        )
        check_ranges(config)
        check_learning_rates(config.learning_rate, config.learning_rate_min)
        return config


def proxy_config(given: Mapping[str, Any]) -> ProxyConfig:
    """Return a resolved configuration from named options; the scale sets options that are None or not given.

    Raises:
        InvalidInputError: an option is unknown (the message suggests the closest known option), or a value has a wrong
            type or is out of range.
    """
    scale = make_options(ProxyConfig, given, {}).scale
    return make_options(ProxyConfig, given, SCALES[scale]).resolved()


FIELDS: dict[str, Any] = {
    "number": int,
    "architecture": str,
    "cell_hash": str,
    "train_losses": list,
    "validation_errors": list,
    "seconds": float,
}
"""Fields of a line of metrics.jsonl and their types; lists have one value per epoch (docs/reproduce.md)."""
FACTS = {"space_id": str, "images_sha256": str, "weight_images": int, "architecture_images": int}
"""Fields of config.json besides the options, with their types: the data that the trainings used."""


@dataclass(frozen=True, eq=False, repr=False)
class ProxyTrainings(RunRecord):
    """Trainings of sampled architectures without weight sharing, in networks with equal numbers of cells and channels.

    Attributes:
        folder: the folder of the record.
        config: all resolved options, and facts about the data.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "proxy training", "reproduce figure17", FIELDS, ProxyConfig, FACTS
    SUMMARISED = {"mean_validation_error": float}  # noqa: RUF012

    def _subject(self) -> str:
        return f"{self.config['cells']} cells × {self.config['channels']} channels"

    def _progress(self, recorded: int) -> str:
        return f"{recorded} of {self.config['architectures']} architectures"

    def _result(self, summary: Mapping[str, Any]) -> str:
        return f"mean validation error {percent(summary['mean_validation_error'])}"

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a message if the lines are not valid, else None.

        Valid lines are numbered 0, 1, … in order, and each list has one finite number per epoch.
        """
        for number, line in enumerate(lines):
            if line["number"] != number:
                return "the numbers of its lines are not 0, 1, … in order"
            lists = line["train_losses"], line["validation_errors"]
            if len({len(each) for each in (*lists, lines[0]["validation_errors"])}) != 1:
                return f"line {number + 1} has a different number of epochs"
            if not all(type(value) in (int, float) for each in lists for value in each):
                return f"line {number + 1} has an impossible loss or error"
            if not all(0 <= error <= 1 for error in line["validation_errors"]):
                return f"line {number + 1} has an impossible error"
        return None

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there is a line for every architecture."""
        return bool(len(lines) == self.config["architectures"])

    @copied_property
    def architectures(self) -> list[Architecture]:
        """The architectures trained so far, in a new list; raises DamagedFileError if a text is not an architecture."""
        try:
            return [Architecture.parse(line["architecture"]) for line in self.lines]
        except InvalidInputError as error:
            raise damaged_file_error(self.folder / METRICS, quote(error)) from error

    @property
    def validation_errors(self) -> "NDArray[np.float64]":
        """The validation error after every epoch, a fraction, as a new array (architectures, epochs)."""
        import numpy as np

        errors = np.array([line["validation_errors"] for line in self.lines], np.float64)
        if errors.shape[1:] != (self.config["epochs"],):
            raise DamagedFileError(
                f"{self.folder / METRICS} has a different number of epochs than its config.json: restore it"
            )
        return errors

    def unfinished_error(self) -> UserError:
        """Return the error for reading results of a run that is not finished."""
        return UserError(f"'{self.folder}' is not finished: repeat the reproduce command that started it")


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary of finished trainings; its errors are measured after the last epoch."""
    final = sorted(line["validation_errors"][-1] for line in lines)
    described = ("space", "architectures", "cells", "channels", "epochs", "seed", "scale", "images")
    return {
        **{name: config[name] for name in described},
        "best_validation_error": final[0],
        "mean_validation_error": sum(final) / len(final),
        "seconds": sum(line["seconds"] for line in lines),
    }
