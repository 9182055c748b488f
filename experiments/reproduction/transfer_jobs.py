"""The jobs of table 2: studies on s3, then searches on s1 and s2 with default and with transferred configurations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Options
from nasbench1shot1.experiments.reproduction.figures import (
    GRADIENT_METHODS,
    METHODS,
    SPACES,
    TUNING_SCALES,
    Curve,
    Panel,
    PaperFigure,
)
from nasbench1shot1.experiments.reproduction.jobs import SearchJob, jobs_of, resolve_options
from nasbench1shot1.experiments.reproduction.tuning_jobs import StudyJob, studies_of
from nasbench1shot1.experiments.tuning.best import best_of
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.tuning.record import Study

SEARCH_WITH_BEST = "nasbench1shot1.experiments.tuning.best:search_with_best"
TUNED_ON = "s3"
STUDY_SEED = 0
TRANSFERRED = "-transferred"
"""Suffix of the key of a curve whose configuration is transferred."""


@dataclass(frozen=True, kw_only=True)
class TransferredJob(SearchJob):
    """A search with the best configuration of a study that must be finished first; the option "best" names it."""

    stage: int = 1

    @property
    def planned(self) -> dict[str, Any]:
        """The options of the search with the optimizer's default hyperparameters."""
        return {name: value for name, value in self.options.items() if name != "best"}

    def seconds_per_unit(self) -> float:
        """Return the seconds per epoch on this machine with the default hyperparameters."""
        return seconds_per_epoch(search_options(self.planned))

    def recorded_options(self) -> dict[str, Any] | None:
        """Return the recorded options; transferred hyperparameters that are still the study's best count as planned."""
        recorded = super().recorded_options()
        if recorded is None:
            return None
        best, named = self._best(), self.options["best"]
        kept = {name for name, value in best.items() if recorded.get(name) == value}
        return {**recorded, **{name: self.options[name] for name in kept}, "best": named}

    def _best(self) -> dict[str, Any]:
        try:
            return best_of(Study.open(self.options["best"]["study"]), self.options["best"]["budget"])
        except UserError:  # the study was removed or started again
            return {}


def transfer_jobs(
    figure: PaperFigure, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
) -> list[FigureJob]:
    """Return the studies, then the searches that need no study, then the searches that do.

    Args:
        figure: panels and curves of the searches.
        scale: "full" or "quick".
        out: the table's folder.
        given: options of all studies and searches; `epochs` is for the searches. Studies have this budget,
            half of it and twice it.
        seeds: seeds of every curve. Default: the seeds of the scale. Studies have one seed.
        call: `Workers.call`, which fills in the defaults on the machine of the workers.

    Raises:
        InvalidInputError: a scale or an option is unknown, a value is out of range, or seeds are empty or not distinct.
        UserError: hpbandster is not installed.
    """
    searches = jobs_of(
        figure, scale, out, {**_images_of_studies(scale), **given}, seeds, partial(call, resolve_options)
    )
    transferred = {job.options["optimizer"] for job in searches if job.curve.endswith(TRANSFERRED)}
    budgets = {**given, "epochs": 2 * searches[0].epochs}
    tuned = _study_figure([name for name in GRADIENT_METHODS if name in transferred])
    studies = studies_of(tuned, scale, out, budgets, [STUDY_SEED], call) if transferred else []
    folders = {job.options["optimizer"]: job for job in studies}
    with_best = [
        _transferred_job(job, folders[job.options["optimizer"]]) for job in searches if job.curve.endswith(TRANSFERRED)
    ]
    return [*studies, *(job for job in searches if not job.curve.endswith(TRANSFERRED)), *with_best]


def _images_of_studies(scale: str) -> dict[str, Any]:
    """Return the number of images of the studies: the transferred searches are as large."""
    options = TUNING_SCALES[scale].options if scale in TUNING_SCALES else {}
    return {name: options[name] for name in ("images_per_half",) if name in options}


def _study_figure(methods: Sequence[str]) -> PaperFigure:
    curves = tuple(Curve(name, METHODS[name], {"optimizer": name}) for name in methods)
    panel = Panel(TUNED_ON, SPACES[TUNED_ON], {"space": TUNED_ON, "config_space": "cs2"}, curves)
    return PaperFigure("", (panel,))


def _transferred_job(job: SearchJob, study: StudyJob) -> TransferredJob:
    best = {"study": str(study.folder.absolute()), "budget": job.epochs}
    fields = {name: getattr(job, name) for name in ("name", "folder", "threads", "gpu", "panel", "curve")}
    return TransferredJob(command=SEARCH_WITH_BEST, options={**job.options, "best": best}, **fields)
