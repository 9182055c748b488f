"""Figures of black-box optimizers: one study per curve, each in a separate folder."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study, with_dataset
from nasbench1shot1.experiments.reproduction.black_box_results import RESULTS, BlackBoxResults, DrawnStudy
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
    BLACK_BOX_FIGURES,
    BlackBoxPlan,
    BlackBoxScale,
    Curve,
    Panel,
    space_panel,
)
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.ground.text import percent
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.table import Table, load_table

SEARCH = "nasbench1shot1.black_box_search.studying:black_box"
OF_TRAININGS = frozenset({"images", "preset", "device", "threads", "precision", "compile"})
"""Options of `reproduce` that do not apply, because these figures do not train networks."""


@dataclass(frozen=True, kw_only=True)
class BlackBoxJob(FigureJob):
    """A black-box study of a figure, with a name such as "s1/random/seed-0".

    Attributes:
        advice: advice in the error message if the table does not cover the space.
    """

    NOUNS, UNIT, VERB = ("study", "studies"), "search", "searched"
    FREE: ClassVar[tuple[str, ...]] = ()  # the results depend on the table

    advice: str

    @property
    def units(self) -> int:
        """Number of searches."""
        return int(self.options["repeats"])

    @property
    def kind(self) -> Kind:
        """Panel and curve, because the cost differs between optimizers and spaces."""
        return "black-box", self.panel, self.curve

    @property
    def repeats(self) -> Repeats:
        """The searches of the study."""
        options = black_box_options(self.options)
        return Repeats(options, table_of_study(options))

    def seconds_per_unit(self) -> float:
        """Return the wall-clock seconds of one search on this machine."""
        repeats = self.repeats
        repeats.line(0)  # opens the table's columns
        started = time.perf_counter()
        repeats.line(1)
        return time.perf_counter() - started

    def check_data(self) -> None:
        """Raise UserError if the table lacks the data set, the budget or architectures of the space."""
        options = black_box_options(self.options)
        with_dataset(options, table := load_table(options.common.table))
        try:
            table_of_study(options)
        except (OutOfDomainError, InvalidInputError) as error:
            space = search_space(options.common.space).name
            raise InvalidInputError(f"the table {table.id} does not cover {space}: {self.advice}") from error

    def record(self) -> BlackBoxStudy:
        """Open the study's folder."""
        return BlackBoxStudy.open(self.folder)

    def outcome(self) -> str:
        """Return the mean test regret of the final incumbents, in words."""
        found = self.record().summary["test_regret"]
        return "no test regret" if found is None else f"mean test regret {percent(found['mean'])}"


def resolve_studies(options: Sequence[Options]) -> list[dict[str, Any]]:
    """Return the options of several studies with all defaults filled in for the current machine.

    Raises:
        InvalidInputError: an option is unknown or a value is out of range.
        OutOfDomainError: the table lacks the data set or budget.
    """
    found = map(black_box_options, options)
    return [with_dataset(each, load_table(each.common.table)).as_dict() for each in found]


def study_job(panel: str, curve: str, out: Path, options: Options, advice: str) -> BlackBoxJob:
    """Return a job with resolved options; its folder is a subfolder of the figure's folder `out`."""
    return BlackBoxJob(command=SEARCH, advice=advice, **job_fields(panel, curve, out, options))


@dataclass(frozen=True)
class BlackBoxFigure(ReproducedFigure):
    """A figure of black-box studies, as a `figure.ReproducedFigure`.

    Attributes:
        name: name of the figure, such as "nas101-figure7".
        plan: the figure.
        only: patterns of the selected panels and curves.
    """

    INAPPLICABLE: ClassVar[frozenset[str]] = OF_TRAININGS
    DEVICE: ClassVar[str] = "cpu"

    name: str
    plan: BlackBoxPlan
    only: tuple[str, ...] = ()

    @classmethod
    def from_name(cls, name: str, only: Sequence[str]) -> Self:
        """Return the figure, or the selected part of it; raises InvalidInputError for an unknown part."""
        plan = BLACK_BOX_FIGURES[name]
        pairs = [(panel.key, curve.key) for scale in plan.scales.values() for panel, curve in _pairs(scale.panels)]
        check_parts(name, pairs, only)
        return cls(name, plan, tuple(only))

    @property
    def title(self) -> str:
        """Return the subject of the figure."""
        return self.plan.title

    def size(self, scale: str) -> str:
        """Return the numbers of studies and of searches per study at a scale, such as "3 × 500 black-box searches"."""
        own = self.plan.scales[scale]
        return f"{len(self._chosen(own.panels))} × {own.options['repeats']} searches"

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[BlackBoxJob]:
        """Return one job per panel and curve."""
        check_seeds(seeds)
        if seeds is not None and len(seeds) > 1:
            raise InvalidInputError(
                f"{self.name} takes a single seed, because each study has many searches: give one seed"
            )
        if scale not in self.plan.scales:
            raise unknown_name("scale", scale, self.plan.scales)
        own = self.plan.scales[scale]
        pairs = self._chosen(self._panels(own, given.get("space")))
        if not pairs:
            has = ", ".join(panel.key for panel in own.panels)
            raise InvalidInputError(
                f"--only {','.join(self.only)} selects nothing at the {scale} scale: choose among {has}"
            )
        seed = {"seed": seeds[0] if seeds else 0}
        wanted = [{**own.options, **panel.options, **curve.options, **given, **seed} for panel, curve in pairs]
        resolved = zip(pairs, call(resolve_studies, wanted), strict=True)
        return [study_job(panel.key, curve.key, out, found, self._advice(found)) for (panel, curve), found in resolved]

    def table(self, jobs: Sequence[FigureJob], given: Options) -> Table:
        """Return the table on which the studies searched."""
        return load_table(jobs[0].options["table"])

    def results(self, jobs: Sequence[FigureJob], table: Table) -> BlackBoxResults | None:
        """Return the results of the finished studies, or None if no study is finished."""
        found = [self._drawn_study(job) for job in jobs if job.is_finished]
        unfinished = [f"{job.panel}/{job.curve}" for job in jobs if not job.is_finished]
        return RESULTS[self.name](self.plan, found, unfinished, table) if found else None

    def _panels(self, scale: BlackBoxScale, space: str | None) -> tuple[Panel, ...]:
        """Return the panels of a scale, or a single panel of the given space."""
        if space is None:
            return scale.panels
        if not self.plan.takes_space:
            raise InvalidInputError(f"--space does not apply to {self.name}, whose spaces are fixed: remove it")
        return (space_panel(search_space(space).name, scale.panels[0].curves),)

    def _chosen(self, panels: Sequence[Panel]) -> list[tuple[Panel, Curve]]:
        """Return the selected panels and curves. Default: the figure's default curves."""
        only = self.only or self.plan.default_curves
        return [
            (panel, curve) for panel, curve in _pairs(panels) if not only or is_selected(panel.key, curve.key, only)
        ]

    def _advice(self, options: Options) -> str:
        return self.plan.needs_official.get(options["space"], "give a table that covers it with --table")

    def _drawn_study(self, job: FigureJob) -> DrawnStudy:
        """Return the curve of a finished job. A space given by the user has a separate panel."""
        panels = [panel for scale in self.plan.scales.values() for panel in scale.panels]
        curves = {curve.key: curve for panel in panels for curve in panel.curves}
        known = {panel.key: panel for panel in panels}
        panel = known.get(job.panel) or space_panel(job.panel, tuple(curves.values()))
        return DrawnStudy(panel, curves[job.curve], BlackBoxStudy.open(job.folder))


def _pairs(panels: Sequence[Panel]) -> list[tuple[Panel, Curve]]:
    return [(panel, curve) for panel in panels for curve in panel.curves]
