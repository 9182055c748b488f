"""From a regret figure to the searches that it takes: one job for every curve and seed, each with its own folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nasbench1shot1.errors import unknown_name
from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options, check_parts, check_seeds, fits
from nasbench1shot1.experiments.reproduction.figures import FIGURES, RANKING_FIGURES, SCALES, PaperFigure
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import Run, load_run
from nasbench1shot1.wording import percent

SEARCH = "nasbench1shot1.one_shot_search.searching:search"


@dataclass(frozen=True, kw_only=True)
class SearchJob(FigureJob):
    """One search of a figure; the name is "s1/darts/seed-0"."""

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
        """Optimizer and space."""
        return str(self.options["optimizer"]), str(self.options["space"])

    def units_done(self) -> int:
        """Return the number of epochs on record; a process that is writing may be one ahead."""
        return min(max(self._lines() - 1, 0), self.epochs)  # the first line is epoch 0

    def seconds_per_unit(self) -> float:
        """Return the seconds that an epoch takes on this machine."""
        from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch

        return seconds_per_epoch(search_options(dict(self.options)))

    def record(self) -> Run:
        """Open the search's folder."""
        return load_run(self.folder)

    def outcome(self) -> str:
        """Return the final test regret and the seconds of the search, in words."""
        summary = self.record().summary
        source = "" if summary["test_measured"] else " (predicted)"
        return f"test regret {percent(summary['test_regret'])}{source}, {summary['search_seconds']:.0f} s"


def figure_named(name: str, only: Sequence[str] = ()) -> PaperFigure:
    """Return a figure of `FIGURES` or `RANKING_FIGURES`, or the part of it that is asked for.

    Args:
        name: "figure2", …
        only: keys of panels or of curves, or "panel/curve", each perhaps with `*`; a curve stays if one of them fits.

    Raises:
        InvalidInputError: one of `only` fits nothing.
    """
    figure = {**FIGURES, **RANKING_FIGURES}[name]
    if not only:
        return figure
    check_parts(name, [(panel.key, curve.key) for panel, curve in figure.pairs()], only)
    panels = tuple(
        replace(panel, curves=tuple(curve for curve in panel.curves if fits(panel.key, curve.key, only)))
        for panel in figure.panels
    )
    return replace(figure, panels=tuple(panel for panel in panels if panel.curves))


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
) -> list[SearchJob]:
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
    return [_job(*place, out, options) for place, options in zip(places, resolve(wanted), strict=True)]


def _job(panel: str, curve: str, out: Path, options: Options) -> SearchJob:
    name = f"{panel}/{curve}/seed-{options['seed']}"
    return SearchJob(
        name=name,
        command=SEARCH,
        folder=out / name,
        options=options,
        threads=options["threads"],
        gpu=options["device"].startswith("cuda"),
        panel=panel,
        curve=curve,
    )
