"""Figures of black-box optimizers for `reproduce`: their studies and results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.reproduction.black_box_drawing import DrawnStudy
from nasbench1shot1.experiments.reproduction.black_box_jobs import BlackBoxJob, resolve_studies, study_job
from nasbench1shot1.experiments.reproduction.black_box_results import RESULTS, BlackBoxResults
from nasbench1shot1.experiments.reproduction.figure import (
    FigureJob,
    Options,
    ReproducedFigure,
    check_parts,
    check_seeds,
    is_selected,
)
from nasbench1shot1.experiments.reproduction.figures import (
    BLACK_BOX_FIGURES,
    BlackBoxPlan,
    BlackBoxScale,
    Curve,
    Panel,
    space_panel,
)
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.table import Table, load_table

OF_TRAININGS = frozenset({"images", "preset", "device", "threads", "precision", "compile"})
"""Options of `reproduce` that do not apply, because these figures do not train networks."""


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
