"""From a figure to the searches that it takes: one job for every curve and seed, each with a folder of its own."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nasbench1shot1.errors import InvalidInputError, unknown_name
from nasbench1shot1.experiments.reproduction.figures import FIGURES, OTHER_FIGURES, SCALES, PaperFigure
from nasbench1shot1.jobs.folders import is_started
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import load_run
from nasbench1shot1.runs.folder import METRICS
from nasbench1shot1.runs.options import flag

# A finished search is scored anew on the table in use. Where it was computed only matters if somebody asks for it.
_FREE = ("table", "device")


SEARCH = "nasbench1shot1.one_shot_search.searching:search"


@dataclass(frozen=True, kw_only=True)
class FigureJob(Job):
    """One search of a figure; its options are resolved.

    Attributes:
        panel, curve: keys of where it belongs; the name is "s1/darts/seed-0".
    """

    panel: str
    curve: str

    @property
    def epochs(self) -> int:
        """Number of epochs of the search."""
        return int(self.options["epochs"])

    def epochs_done(self) -> int:
        """Return the number of epochs on record; a process that is writing may be one ahead."""
        try:
            lines = (self.folder / METRICS).read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0
        return min(max(lines - 1, 0), self.epochs)  # the first line is epoch 0


def figure_named(name: str, only: Sequence[str] = ()) -> PaperFigure:
    """A figure, or the part of it that is asked for.

    Args:
        name: "figure2", …
        only: keys of panels or of curves, or "panel/curve", each perhaps with `*`; a curve stays if one of them fits.

    Raises:
        InvalidInputError: an unknown name, or one of `only` fits nothing.
    """
    if name not in FIGURES:
        raise _unknown_figure(name)
    figure = FIGURES[name]
    if not only:
        return figure
    for pattern in only:
        if not any(_fits(panel.key, curve.key, [pattern]) for panel, curve in figure.pairs()):
            keys = [*(panel.key for panel in figure.panels), *(curve.key for curve in figure.panels[0].curves)]
            raise unknown_name(f"part of {name}", pattern, keys)
    panels = tuple(
        replace(panel, curves=tuple(curve for curve in panel.curves if _fits(panel.key, curve.key, only)))
        for panel in figure.panels
    )
    return replace(figure, panels=tuple(panel for panel in panels if panel.curves))


def _unknown_figure(name: str) -> InvalidInputError:
    known = f"known: {', '.join(FIGURES)}"
    number = int(match[0]) if (match := re.search(r"\d+", name)) else 0
    if number in OTHER_FIGURES:
        return InvalidInputError(
            f"figure {number} of the paper shows no regret per search epoch but {OTHER_FIGURES[number]}, "
            f"so reproduce does not draw it ({known})"
        )
    hint = f"; did you mean 'figure{number}'?" if f"figure{number}" in FIGURES else ""
    return InvalidInputError(f"unknown figure '{name}'{hint} ({known})")


def _fits(panel: str, curve: str, only: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in only for name in (panel, curve, f"{panel}/{curve}"))


Options = Mapping[str, Any]


def resolved(options: Sequence[Options]) -> list[dict[str, Any]]:
    """Return the options of several searches with every default filled in for the machine that this runs on.

    Raises InvalidInputError for an unknown option or a value out of range.
    """
    return [search_options(each).as_dict() for each in options]


def jobs_of(
    figure: PaperFigure,
    scale: str,
    out: Path,
    given: Options,
    seeds: Sequence[int] | None = None,
    resolve: Callable[[Sequence[Options]], list[dict[str, Any]]] = resolved,
) -> list[FigureJob]:
    """The searches of a figure, all curves of the first seed first, so that a stopped figure has something of each.

    Args:
        figure: what `figure_named` gave.
        scale: "full" or "quick".
        out: the figure's folder.
        given: options for all searches, which win over the figure's own.
        seeds: the scale's if not given.
        resolve: fills in defaults; on a cluster, a worker's, whose device is not this machine's.

    Raises:
        InvalidInputError: an unknown scale or option, a value out of range, or seeds that are none or not distinct.
    """
    if seeds is not None and (not seeds or len(set(seeds)) < len(seeds)):
        raise InvalidInputError(f"seeds {list(seeds)} are none or one twice: give distinct ones, as 0-5")
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    size = SCALES[scale]
    common = {**size.options, "epochs": figure.epochs_at(scale), "threads": 1}
    places, wanted = [], []
    for seed in size.seeds if seeds is None else seeds:
        for panel, curve in figure.pairs():
            own = {**panel.options, **curve.options}
            by_optimizer = size.by_optimizer.get(own["optimizer"], {})
            places.append((panel.key, curve.key))
            wanted.append({**common, **by_optimizer, **own, **given, "seed": seed})
    return [_job(*place, out, options) for place, options in zip(places, resolve(wanted), strict=True)]


def _job(panel: str, curve: str, out: Path, options: Options) -> FigureJob:
    name = f"{panel}/{curve}/seed-{options['seed']}"
    return FigureJob(
        name=name,
        command=SEARCH,
        folder=out / name,
        options=options,
        threads=options["threads"],
        gpu=options["device"].startswith("cuda"),
        panel=panel,
        curve=curve,
    )


def check_recorded(jobs: Sequence[FigureJob], given: Options) -> None:
    """Refuse a folder whose run was searched with other options than the figure's, or has lost some of its epochs.

    Raises:
        InvalidInputError: the first difference, and what to do; DamagedFileError for a damaged run.
    """
    for job in jobs:
        if job.is_finished:
            _ = load_run(job.folder).lines  # damaged or missing ones raise here
        for name, wanted, recorded in _differences(job):
            if name not in _FREE or (name == "device" and name in given):
                raise InvalidInputError(
                    f"{job.folder} was searched with {flag(name)} {recorded}, and the figure asks for {wanted}: "
                    "choose another --out, or remove that folder"
                )


def _differences(job: FigureJob) -> Iterator[tuple[str, Any, Any]]:
    if not is_started(job.folder):
        return
    recorded = load_run(job.folder).config
    for name, wanted in job.options.items():
        if recorded.get(name) != wanted:  # an option that is newer than the folder is None there
            yield name, wanted, recorded.get(name)
