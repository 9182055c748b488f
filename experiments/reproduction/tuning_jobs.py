"""The studies of a figure: one job per curve and seed, each with its own folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, Options, check_seeds
from nasbench1shot1.experiments.reproduction.figures import TUNING_SCALES, PaperFigure
from nasbench1shot1.experiments.reproduction.progress import START_UP
from nasbench1shot1.ground.errors import UserError, unknown_name
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch
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
    common = {**_budgets(figure, scale, given), "tuner": "bohb", "workers": 1, "threads": 1}
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
    return [_job(panel.key, curve.key, out, options) for (panel, curve, _), options in of]


def _untuned_options(options: Options, panel: Options) -> Options:
    """Return the options of a scale, without the batch size if the configuration space of a panel tunes it."""
    tuned = {"batch_size"} if panel["config_space"] == "cs3" else set()
    return {name: value for name, value in options.items() if name not in tuned}


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


def _budgets(figure: PaperFigure, scale: str, given: Options) -> dict[str, int]:
    largest = given.get("epochs")
    if largest is None:
        largest = figure.epochs_at(scale)
    return {"min_budget": max(1, largest // RATIO), "max_budget": largest}


def _job(panel: str, curve: str, out: Path, options: Options) -> StudyJob:
    name = f"{panel}/{curve}/seed-{options['seed']}"
    return StudyJob(
        name=name,
        command=TUNE,
        folder=out / name,
        options=options,
        threads=options["threads"],
        gpu=options["device"].startswith("cuda"),
        panel=panel,
        curve=curve,
    )
