"""The searches of a figure, one job per curve and seed, and the figures whose curves are searches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from nasbench1shot1.experiments.reproduction.figure import (
    FigureJob,
    Kind,
    Options,
    ReproducedFigure,
    check_parts,
    check_seeds,
    is_selected,
    job_fields,
)
from nasbench1shot1.experiments.reproduction.figures import (
    FIGURES,
    IMPORTANCE_FIGURES,
    RANKING_FIGURES,
    SCALES,
    TRANSFER_TABLES,
    TUNING_FIGURES,
    Curve,
    Panel,
    PaperFigure,
)
from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import Run, open_search

SEARCH = "nasbench1shot1.one_shot_search.searching:search"


@dataclass(frozen=True, kw_only=True)
class SearchJob(FigureJob):
    """A search of a figure, named, for example, "s1/darts/seed-0"."""

    NOUNS, UNIT, VERB = ("search", "searches"), "epoch", "searched"

    @property
    def epochs(self) -> int:
        """Number of epochs of the search."""
        return int(self.options["epochs"])

    @property
    def units(self) -> int:
        """Number of epochs of the search."""
        return self.epochs

    @property
    def kind(self) -> Kind:
        """Optimizer and space, on which the time per epoch depends."""
        return str(self.options["optimizer"]), str(self.options["space"])

    def units_done(self) -> int:
        """Return the number of recorded epochs; a running process may be one epoch ahead."""
        return min(max(self._lines() - 1, 0), self.epochs)  # the first line is epoch 0

    def seconds_per_unit(self) -> float:
        """Return the seconds per epoch on this machine."""
        from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch

        return seconds_per_epoch(search_options(dict(self.options)))

    def record(self) -> Run:
        """Open the search's folder."""
        return open_search(self.folder)

    def outcome(self) -> str:
        """Return the final test regret and the seconds of the search, in words."""
        summary = self.record().summary
        source = "" if summary["test_measured"] else " (predicted)"
        return f"test regret {percent(summary['test_regret'])}{source}, {summary['search_seconds']:.0f} s"


def resolve_options(options: Sequence[Options]) -> list[dict[str, Any]]:
    """Return the options of several searches with all defaults filled in for the current machine.

    Raises InvalidInputError for an unknown option or a value out of range.
    """
    return [search_options(each).as_dict() for each in options]


def jobs_of(
    figure: PaperFigure,
    scale: str,
    out: Path,
    given: Options,
    seeds: Sequence[int] | None = None,
    resolve: Callable[[Sequence[Options]], list[dict[str, Any]]] = resolve_options,
) -> list[SearchJob]:
    """Return the searches of a figure, ordered by seed, so that all curves have results early.

    Args:
        figure: the figure, from `get_figure`.
        scale: "full" or "quick".
        out: the figure's folder.
        given: options of all searches, which override the figure's own options.
        seeds: seeds of every curve. Default: the seeds of the scale.
        resolve: fills in defaults; on a cluster, it runs on a worker, whose device may differ.

    Raises:
        InvalidInputError: a scale or an option is unknown, a value is out of range, or seeds are empty or not distinct.
    """
    check_seeds(seeds)
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
    jobs = [job_fields(*place, out, options) for place, options in zip(places, resolve(wanted), strict=True)]
    return [SearchJob(command=SEARCH, **job) for job in jobs]


def get_figure(name: str, only: Sequence[str] = ()) -> PaperFigure:
    """Return a figure of `figures`, or the selected part of it.

    Args:
        name: "figure2", …
        only: keys of panels or of curves, or "panel/curve", each with optional `*` wildcards. A curve
            is selected if one of them matches.

    Raises:
        InvalidInputError: one of `only` matches nothing.
    """
    figure = {**FIGURES, **RANKING_FIGURES, **TUNING_FIGURES, **IMPORTANCE_FIGURES, **TRANSFER_TABLES}[name]
    return select_part(name, figure, only)


def select_part(name: str, figure: PaperFigure, only: Sequence[str]) -> PaperFigure:
    """Return the selected part of a figure; arguments and errors as in `get_figure`."""
    if not only:
        return figure
    check_parts(name, [(panel.key, curve.key) for panel, curve in figure.pairs()], only)
    panels = tuple(
        replace(panel, curves=tuple(curve for curve in panel.curves if is_selected(panel.key, curve.key, only)))
        for panel in figure.panels
    )
    return replace(figure, panels=tuple(panel for panel in panels if panel.curves))


@dataclass(frozen=True)
class NamedFigure(ReproducedFigure):
    """Base class of all figures and tables that are panels of curves, for any kind of job.

    Attributes:
        name: "figure2", "table2", …
        figure: the figure, or the selected part of it.
    """

    name: str
    figure: PaperFigure

    @classmethod
    def from_name(cls, name: str, only: Sequence[str]) -> Self:
        """Return a figure or a selected part of it; arguments and errors as in `get_figure`."""
        return cls(name, get_figure(name, only))

    @property
    def title(self) -> str:
        """Return what the figure compares."""
        return self.figure.title

    def finished(self, jobs: Sequence[FigureJob]) -> list[tuple[Panel, Curve, list[FigureJob]]]:
        """Return every curve that has finished jobs, with these jobs."""
        found = []
        for panel, curve in self.figure.pairs():
            own = [job for job in jobs if (job.panel, job.curve) == (panel.key, curve.key) and job.is_finished]
            if own:
                found.append((panel, curve, own))
        return found


@dataclass(frozen=True)
class SearchedFigure(NamedFigure):
    """Base class of all figures whose curves are searches."""

    def size(self, scale: str) -> str:
        """Return the numbers of searches and epochs at a scale."""
        searches = len(self.figure.pairs()) * len(SCALES[scale].seeds)
        return f"{searches} × {self.figure.epochs_at(scale)} epochs"


def title_line(name: str, title: str) -> str:
    """Return the first line of a title."""
    kind = "table" if name.startswith("table") else "figure"
    return f"After {kind} {name.removeprefix(kind)} of NAS-Bench-1Shot1: {title}"
