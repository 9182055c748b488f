"""The jobs of the proxy study: one per size of the proxy and seed, each with its own folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options, job_fields
from nasbench1shot1.ground.text import percent
from nasbench1shot1.proxy_training import ProxyTrainings
from nasbench1shot1.proxy_training.record import proxy_config

TRAIN = "nasbench1shot1.proxy_training.running:train_proxies"


@dataclass(frozen=True)
class ProxyScale:
    """The extent of the study at a scale.

    Attributes:
        options: options of all trainings.
        cells, channels: every combination is one size of the proxy.
        seeds: random seeds; each draws its own sample of architectures.
    """

    options: Mapping[str, Any]
    cells: tuple[int, ...]
    channels: tuple[int, ...]
    seeds: tuple[int, ...] = (0,)

    def sizes(self) -> list[tuple[int, int]]:
        """Return all combinations (cells, channels)."""
        return list(product(self.cells, self.channels))


SCALES = {
    "full": ProxyScale({"scale": "full"}, cells=(3, 6, 9), channels=(2, 4, 8, 16, 36)),
    "quick": ProxyScale({"scale": "quick"}, cells=(3,), channels=(2, 4, 8)),
}
"""full: the paper's sizes and number of architectures; quick: minutes on two CPU cores, too small for conclusions."""


@dataclass(frozen=True, kw_only=True)
class ProxyJob(FigureJob):
    """The trainings of all sampled architectures in one size of the proxy; named "cells-3/channels-8/seed-0"."""

    NOUNS, UNIT, VERB = ("proxy", "proxies"), "architecture", "trained"

    @property
    def units(self) -> int:
        """Number of architectures."""
        return int(self.options["architectures"])

    @property
    def kind(self) -> Kind:
        """Panel and curve, because the cost differs between sizes."""
        return self.panel, self.curve

    def seconds_per_unit(self) -> float:
        """Return the seconds per training of an architecture on this machine."""
        from nasbench1shot1.proxy_training.loop import seconds_per_architecture

        return seconds_per_architecture(proxy_config(self.options))

    def record(self) -> ProxyTrainings:
        """Open the folder of the trainings."""
        return ProxyTrainings.open(self.folder)

    def outcome(self) -> str:
        """Return in words the mean validation error and the total seconds of all trainings."""
        summary = self.record().summary
        return f"mean validation error {percent(summary['mean_validation_error'], 1)}, {summary['seconds']:.0f} s"


def keys(cells: int, channels: int) -> tuple[str, str]:
    """Return the keys of the panel and the curve of a size."""
    return f"cells-{cells}", f"channels-{channels}"


def resolve_options(options: Sequence[Options]) -> list[dict[str, Any]]:
    """Return the options of several jobs with all defaults filled in for the current machine.

    Raises InvalidInputError for an unknown option or a value out of range.
    """
    return [proxy_config(each).as_dict() for each in options]


def proxy_job(out: Path, options: Options) -> ProxyJob:
    """Return a job with resolved options; its folder is a subfolder of the figure's."""
    return ProxyJob(command=TRAIN, **job_fields(*keys(options["cells"], options["channels"]), out, options))
