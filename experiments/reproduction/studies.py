"""The studies of a figure, one job per curve and seed, and the text of figures that show them."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options, check_seeds, job_fields
from nasbench1shot1.experiments.reproduction.figures import TUNING_SCALES, Curve, Panel, PaperFigure
from nasbench1shot1.experiments.reproduction.progress import START_UP
from nasbench1shot1.experiments.reproduction.searches import NamedFigure
from nasbench1shot1.ground.errors import UserError, unknown_name
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.captions import LINE, scale_text
from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.configurations import require_extra
from nasbench1shot1.runs.folder import METRICS, read_lines
from nasbench1shot1.runs.options import option_names
from nasbench1shot1.tuning.options import TuningOptions, study_options
from nasbench1shot1.tuning.record import SEARCH_OPTIONS, Study

TUNE = "nasbench1shot1.tuning.tuning:tune"
RATIO = 4
"""Ratio of the maximum and the minimum budget, as in the paper: 100 and 25 epochs."""
PROCESSES = 2
"""Processes of a study besides its searches: the tuner and its worker."""
_RESOLVED = ("images", "device")
"""Options of every search that depend on the scale or on the machine, and that `reproduce` needs to know."""


@dataclass(frozen=True, kw_only=True)
class StudyJob(FigureJob):
    """A study of a figure, named, for example, "s1/darts/seed-0"; it has one worker."""

    NOUNS, UNIT, VERB = ("study", "studies"), "epoch", "tuned"

    @property
    def tuning(self) -> TuningOptions:
        """The options of the study."""
        names = option_names(TuningOptions)
        return TuningOptions(**{name: value for name, value in self.options.items() if name in names})

    @property
    def searches(self) -> int:
        """Number of searches of the study."""
        return self.tuning.brackets.planned

    @property
    def units(self) -> int:
        """Number of epochs of all searches."""
        return epochs_of(self.tuning)

    @property
    def kind(self) -> Kind:
        """Optimizer and space, on which the time per epoch depends."""
        return "study", str(self.options["optimizer"]), str(self.options["space"])

    def units_done(self) -> int:
        """Return the number of epochs of the recorded searches; the running search does not count."""
        try:
            lines = read_lines(self.folder / METRICS)
        except UserError:
            return 0
        return min(sum(int(line.get("budget", 0)) for line in lines), self.units)

    def seconds_per_unit(self) -> float:
        """Return the seconds per epoch with the default hyperparameters, including the start of all processes."""
        own = seconds_per_epoch(study_options(self.options).search)
        return own + START_UP * (self.searches + PROCESSES) / self.units

    def record(self) -> Study:
        """Open the study's folder."""
        return Study.open(self.folder)

    def recorded_options(self) -> dict[str, Any] | None:
        """Return the recorded options of the study and of its searches; None before the study has begun."""
        recorded = super().recorded_options()
        return None if recorded is None else {**recorded, **recorded[SEARCH_OPTIONS]}

    def outcome(self) -> str:
        """Return the test regret of the best search, in words."""
        found = self.record().summary["best"]
        return "all searches diverged" if found is None else f"test regret {percent(found['test_regret'])}"


def epochs_of(tuning: TuningOptions) -> int:
    """Return the number of epochs of all searches of a study."""
    plan = tuning.brackets
    return sum(epochs * count for bracket in range(plan.iterations) for epochs, count in plan.plan(bracket))


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
        """Return the studies, as `studies_of` does."""
        return studies_of(self.figure, scale, out, given, seeds, call)

    def studies(self, jobs: Sequence[FigureJob]) -> list[tuple[Panel, Curve, list[Study]]]:
        """Return every curve that has finished studies, with the studies."""
        return [(panel, curve, [Study.open(job.folder) for job in own]) for panel, curve, own in self.finished(jobs)]


def studies_of(
    figure: PaperFigure,
    scale: str,
    out: Path,
    given: Options,
    seeds: Sequence[int] | None,
    call: Callable[..., Any],
) -> list[StudyJob]:
    """Return the studies of a figure, ordered by seed.

    Args:
        figure: panels and curves; its epochs are the maximum budget.
        scale: "full" or "quick".
        out: the figure's folder.
        given: options of all studies; `epochs` is the maximum budget, and the minimum is a quarter of it.
        seeds: seeds of every curve. Default: the seeds of the scale.
        call: `Workers.call`, which fills in the defaults on the machine of the workers.

    Raises:
        InvalidInputError: a scale or an option is unknown, a value is out of range, or seeds are empty or not distinct.
        UserError: hpbandster is not installed.
    """
    check_seeds(seeds)
    if scale not in TUNING_SCALES:
        raise unknown_name("scale", scale, TUNING_SCALES)
    size = TUNING_SCALES[scale]
    common = {**_budgets(figure, scale, given), "tuner": "bohb", "threads": 1}
    own = {name: value for name, value in given.items() if name != "epochs" and value is not None}
    seeds = size.seeds if seeds is None else seeds
    places = [(*pair, seed) for seed in seeds for pair in figure.pairs()]
    wanted = [
        {
            **_untuned_options(size.options, panel.options),
            **common,
            **panel.options,
            **curve.options,
            **own,
            "seed": seed,
        }
        for panel, curve, seed in places
    ]
    of = zip(places, call(resolve_studies, wanted), strict=True)
    return [
        StudyJob(command=TUNE, **job_fields(panel.key, curve.key, out, options)) for (panel, curve, _), options in of
    ]


def _untuned_options(options: Options, panel: Options) -> Options:
    """Return the options of a scale, without the batch size if the configuration space of a panel tunes it."""
    tuned = {"batch_size"} if panel["config_space"] == "cs3" else set()
    return {name: value for name, value in options.items() if name not in tuned}


def _budgets(figure: PaperFigure, scale: str, given: Options) -> dict[str, int]:
    largest = given.get("epochs")
    if largest is None:
        largest = figure.epochs_at(scale)
    return {"min_budget": max(1, largest // RATIO), "max_budget": largest}


def resolve_studies(options: Sequence[Options]) -> list[dict[str, Any]]:
    """Return the options of several studies with the images and the device of the current machine filled in.

    Raises:
        InvalidInputError: an option is unknown, or a value is out of range.
        UserError: hpbandster is not installed.
    """
    require_extra("hpbandster")
    return [{**dict(each), **_resolve(each)} for each in options]


def _resolve(options: Options) -> dict[str, Any]:
    found = study_options(options).search.as_dict()
    return {name: found[name] for name in _RESOLVED}


# Titles and captions --------------------------------------------------------------------------------------------------


def plan_text(studies: Sequence[Study], seeds: int) -> list[str]:
    """Return lines that describe the searches and the plan of the studies."""
    study, plan = studies[0], studies[0].options.brackets
    budgets = ", ".join(map(str, plan.budgets))
    number = "one study" if seeds == 1 else f"{seeds} studies"
    lines = [scale_text([{**each.shared_options, **each.config} for each in studies])]
    lines.append(f"{plan.planned} searches of {budgets} epochs per study, {number}")
    if study.shared_options["scale"] == "full":
        return lines
    return [*lines, "the paper's setting: 16 channels × 9 cells, 280 searches of 25, 50, 100 epochs, 3 studies"]


def unfinished_text(
    figure: PaperFigure, counts: Mapping[tuple[str, str], int], seeds: int, noun: str = "studies"
) -> list[str]:
    """Return lines that list the curves with unfinished runs, if any.

    Args:
        figure: the figure that is drawn.
        counts: the number of finished runs by panel and curve; a curve without finished runs may be missing.
        seeds: the number of runs of a complete curve.
        noun: the plural noun for the runs.
    """
    found = {(panel.key, curve.key): 0 for panel, curve in figure.pairs()} | dict(counts)
    short = [f"{'/'.join(key)} {count}" for key, count in found.items() if count < seeds]
    return textwrap.wrap(f"{noun} finished so far: {', '.join(short)}", LINE + 40) if short else []


def diverged_text(studies: Sequence[Study]) -> list[str]:
    """Return a line that counts model-based proposals and diverged searches."""
    lines = [line for study in studies for line in study.lines]
    model = sum(line["model_based"] for line in lines)
    diverged = sum(line["loss"] is None for line in lines)
    return [f"of {len(lines)} searches, {model} have a configuration that the model proposed, and {diverged} diverged"]


def quick_text(studies: Sequence[Study]) -> list[str]:
    """Return a line about what the quick scale cannot show; empty at the full scale."""
    if studies[0].shared_options["scale"] == "full":
        return []
    return ["studies this small show that tuning runs; they do not rank methods or hyperparameters"]
