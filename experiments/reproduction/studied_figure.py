"""The common part of all figures of studies: their jobs, their size and their finished studies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Options
from nasbench1shot1.experiments.reproduction.figures import TUNING_SCALES, Curve, Panel
from nasbench1shot1.experiments.reproduction.jobs import NamedFigure
from nasbench1shot1.experiments.reproduction.tuning_jobs import RATIO, StudyJob, studies_of
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.tuning.record import Study


@dataclass(frozen=True)
class StudiedFigure(NamedFigure):
    """Base class of all figures whose curves are studies."""

    def size(self, scale: str) -> str:
        """Return the numbers of studies and of searches per study at a scale, such as "27 × 280 runs"."""
        options, largest = TUNING_SCALES[scale].options, self.figure.epochs_at(scale)
        brackets = Brackets(max(1, largest // RATIO), largest, options["eta"], options["iterations"])
        return f"{len(self.figure.pairs()) * len(TUNING_SCALES[scale].seeds)} × {brackets.planned} runs"

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[StudyJob]:
        """Return the studies, as `tuning_jobs.studies_of` does."""
        return studies_of(self.figure, scale, out, given, seeds, call)

    def studies(self, jobs: Sequence[FigureJob]) -> list[tuple[Panel, Curve, list[Study]]]:
        """Return every curve that has finished studies, with the studies."""
        return [(panel, curve, [Study.open(job.folder) for job in own]) for panel, curve, own in self.finished(jobs)]
