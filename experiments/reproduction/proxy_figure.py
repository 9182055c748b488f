"""Figure 17 of NAS-Bench-1Shot1: the proxy study, with one job per size of the proxy and seed.

The paper samples 150 architectures of space 3 and trains each alone in the fixed-width network of the supernet, with
3, 6 or 9 cells and 2, 4, 8, 16 or 36 initial channels. It states neither the number of epochs nor the optimizer; this
package uses the settings of a search.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nasbench1shot1.experiments.reproduction.figure import (
    FigureJob,
    FigureResults,
    Kind,
    Options,
    ReproducedFigure,
    check_parts,
    check_seeds,
    is_selected,
    job_fields,
)
from nasbench1shot1.experiments.reproduction.proxy_correlation import (
    SPLITS,
    ProxyResult,
    as_table,
    draw,
    score_trainings,
)
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.text import line_printer, percent
from nasbench1shot1.one_shot_search.captions import provenance
from nasbench1shot1.proxy_training import ProxyConfig, ProxyTrainings
from nasbench1shot1.proxy_training.record import SCALES as TRAINING_SCALES
from nasbench1shot1.proxy_training.record import proxy_config
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from rich.console import Console

TRAIN = "nasbench1shot1.proxy_training.running:train_proxies"
FOREIGN = ("table", "compile")
"""Options of `reproduce` that do not apply to the trainings: a table is only for scoring, and all networks differ."""


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


@dataclass(frozen=True)
class ProxyStudy(FigureResults):
    """The correlations of all finished sizes of the proxy; a `figure.FigureResults`."""

    name: str
    title: str
    found: Sequence[ProxyResult]
    seeds: int
    table: Table

    def as_table(self) -> "pandas.DataFrame":
        """Return one row per size, split and epoch, as `proxy_correlation.as_table` does."""
        return as_table(self.found)

    def draw(self) -> "Figure":
        """Return the picture, as `proxy_correlation.draw` does."""
        return draw(self.name, self.title, self.found, self.seeds, self.table)

    def show(self, console: "Console") -> None:
        """Print the correlations after the last epoch."""
        from rich.table import Table as Screen

        screen = Screen("proxy", "n", "mean error", *(f"ρ, {split}" for split in SPLITS))
        for result in self.found:
            error = f"{100 * result.errors[:, -1].mean():.1f} %"
            values = [_format_row(result.last(split)) for split in SPLITS]
            screen.add_row(f"{result.cells} × {result.channels}", str(len(result.errors)), error, *values)
        console.print(screen)
        frame = self.as_table()
        sources = [f"{split} {provenance(frame.loc[frame['split'] == split, 'measured'])}" for split in SPLITS]
        print_line = line_printer(console)
        print_line("proxy: cells × channels; mean error: mean validation error of n architectures")
        print_line("ρ: Spearman's ρ with the table's errors [95 % bootstrap interval]")
        print_line(f"table errors: {', '.join(sources)}")


@dataclass(frozen=True)
class ProxyFigure(ReproducedFigure):
    """The proxy study; a `figure.ReproducedFigure`."""

    name: str
    only: tuple[str, ...] = ()

    @classmethod
    def from_name(cls, name: str, only: Sequence[str]) -> Self:
        """Return the figure, or the selected part of it; raises InvalidInputError for an unknown part."""
        check_parts(name, [keys(*size) for size in SCALES["full"].sizes()], only)
        return cls(name, tuple(only))

    @property
    def title(self) -> str:
        """Return what the figure compares."""
        return "proxy and table errors, by proxy size"

    def size(self, scale: str) -> str:
        """Return the numbers of proxies and of trainings per proxy at a scale."""
        study = SCALES[scale]
        architectures = {**TRAINING_SCALES[scale], **study.options}.get("architectures", ProxyConfig.architectures)
        return f"{len(study.sizes()) * len(study.seeds)} × {architectures} trainings"

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[ProxyJob]:
        """Return one job per seed and size; expensive sizes come first, so that all workers finish at similar times."""
        check_seeds(seeds)
        if scale not in SCALES:
            raise unknown_name("scale", scale, SCALES)
        if given.get("compile"):
            raise InvalidInputError(
                f"--compile does not apply to {self.name}, because all its networks differ: remove it"
            )
        study, own = SCALES[scale], {name: value for name, value in given.items() if name not in FOREIGN}
        sizes = sorted(self._chosen(scale), key=_cost, reverse=True)
        places = [(seed, *size) for seed in (study.seeds if seeds is None else seeds) for size in sizes]
        common = {**study.options, "threads": 1, **own}
        wanted = [{**common, "cells": cells, "channels": width, "seed": seed} for seed, cells, width in places]
        return [proxy_job(out, options) for options in call(resolve_options, wanted)]

    def results(self, jobs: Sequence[FigureJob], table: Table) -> ProxyStudy | None:
        """Return the correlations of the finished proxies, sorted by cells and channels."""
        found = []
        for panel, curve in sorted({(job.panel, job.curve) for job in jobs}, key=_parse_numbers):
            own = [job for job in jobs if (job.panel, job.curve) == (panel, curve) and job.is_finished]
            if own:
                found.append(score_trainings([ProxyTrainings.open(job.folder) for job in own], table))
        seeds = len({job.options["seed"] for job in jobs})
        return ProxyStudy(self.name, self.title, found, seeds, table) if found else None

    def _chosen(self, scale: str) -> list[tuple[int, int]]:
        sizes = SCALES[scale].sizes()
        chosen = [size for size in sizes if not self.only or is_selected(*keys(*size), self.only)]
        if not chosen:
            has = ", ".join("/".join(keys(*size)) for size in sizes)
            raise InvalidInputError(
                f"--only {','.join(self.only)} selects nothing at the {scale} scale: choose among {has}"
            )
        return chosen


def _cost(size: tuple[int, int]) -> int:
    """Return a number that increases with the training time of a size."""
    cells, channels = size
    return cells * channels**2


def _parse_numbers(pair: tuple[str, str]) -> tuple[int, ...]:
    return tuple(int(key.rpartition("-")[2]) for key in pair)


def _format_row(row: "pandas.Series[float]") -> str:
    if isnan(row["spearman"]):
        return "undefined"
    return f"{row['spearman']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
