"""The kinds of runs of figures, each as a record of functions, and the one class of their jobs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study, with_table
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.reproduction.costs import (
    black_box_seconds,
    black_box_work,
    proxy_seconds,
    proxy_work,
    ranking_seconds,
    ranking_work,
    search_seconds,
    search_work,
    study_seconds,
    study_work,
    tuning_options,
)
from nasbench1shot1.experiments.reproduction.figures.parts import Options
from nasbench1shot1.experiments.reproduction.observed import table_of
from nasbench1shot1.experiments.tuning.best import best_of
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, UserError, option
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.ground.text import counted, number_range
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import open_search
from nasbench1shot1.proxy_training import ProxyTrainings
from nasbench1shot1.proxy_training.record import proxy_config
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import METRICS, count_lines, read_lines
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.work import Work
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tuning.options import study_options
from nasbench1shot1.tuning.record import Study

Pace = tuple[str, ...]
"""Identifies jobs whose units take equally long."""
RATIO = 4
"""Ratio of the maximum and the minimum budget of a study, as in the paper: 100 and 25 epochs."""
WITHOUT_WORK = frozenset(
    {"seed", "table", "reference", "device", "threads", "format", "style", "width", "run", "best", "config_space"}
    | {"learning_rate", "learning_rate_min", "weight_decay", "architecture_learning_rate", "architecture_weight_decay"}
    | {"cutout_probability", "cutout_length", "cutout_schedule"}
)
"""Options on which the work of a run does not depend."""


@dataclass(frozen=True, kw_only=True)
class FigureJob(Job):
    """One run of a figure; its options are resolved.

    Attributes:
        panel, curve: keys of the panel and the curve that show the result; the name of the job begins with them.
        kind: the run's kind, a key of `KINDS`.
        stage: jobs start once all jobs of earlier stages have ended.
        search: resolved options of the search that a ranking evaluates.
        advice: advice in the error message if the table does not cover the space.
    """

    panel: str
    curve: str
    kind: str
    stage: int = 0
    search: Options = field(default_factory=dict)
    advice: str = ""

    @property
    def of(self) -> "JobKind":
        """The kind of the run."""
        return KINDS[self.kind]

    @property
    def units(self) -> int:
        """Number of units, for example epochs, of the whole run."""
        return self.of.units(self)

    @property
    def extent(self) -> str:
        """The work of the whole run in words, such as "50 epochs"."""
        return counted(self.units, self.of.unit)

    @property
    def pace(self) -> Pace:
        """Key of jobs whose units take equally long."""
        options = {**self.search, **self.options}
        return self.kind, *(str(options.get(name)) for name in self.of.pace)

    @property
    def task(self) -> Pace:
        """Key of jobs with equal work: kind and options."""
        options = {**{f"searched {name}": value for name, value in self.search.items()}, **self.options}
        named = {name: value for name, value in options.items() if name.removeprefix("searched ") not in WITHOUT_WORK}
        return self.kind, *(f"{name}={named[name]}" for name in sorted(named))

    def record(self) -> RunRecord:
        """Open the run's folder; the run must have begun."""
        return self.of.open(self.folder)

    def units_done(self) -> int:
        """Return the number of recorded units; a running process may be one unit ahead."""
        return min(self.of.done(self.folder), self.units)


def _lines(folder: Path) -> int:
    return count_lines(folder / METRICS)


def _epochs(job: FigureJob) -> int:
    return int(job.options["epochs"])


def _check_images(job: FigureJob) -> None:
    from nasbench1shot1.images.image_set import load_images

    load_images(job.options["images"])


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """A kind of run in figures: what the pool must know of it besides its `runs.kind.Kind`.

    Attributes:
        command: the function that starts or resumes a run, as in `Job`.
        nouns: the singular and the plural noun for a run on screens.
        verb: the participle for a run in error messages: "was searched with".
        unit: the noun for a unit of progress.
        units: returns the number of units of a run.
        pace: options on which the cost of a unit depends.
        adapt: returns the options of a run from the options of figure and user; defaults are filled in afterwards.
        resolve: fills in the defaults on the machine that runs the jobs; raises UserError for bad options.
        size: returns the work of runs in words, from the adapted options of each.
        seconds: times a few steps on the machine that runs the jobs, and returns the expected seconds of a unit.
            Official images may be missing.
        work: counts the work of a run. Official images may be missing.
        check: raises UserError, on the machine that runs the jobs, if images or table are missing or too small.
        checked_by: options on which the check depends; jobs of a kind that agree in them are checked once.
        open: opens the run's folder.
        done: returns the number of recorded units in a folder.
        recorded: returns the recorded options of a run.
        free: options that may differ from a recorded run. Searches are scored again on the table in use, their device
            only matters if it is given, and saving weights does not change their results.
        expense: returns a number by which the jobs of a seed are sorted, the largest first. Default: they are not.
        inapplicable: options of `reproduce` that do not apply.
        device: the default device.
        has_many_seeds: whether a curve can have several seeds.
    """

    command: str
    nouns: tuple[str, str]
    verb: str
    unit: str
    units: Callable[[FigureJob], int]
    pace: tuple[str, ...]
    adapt: Callable[[Options], dict[str, Any]] = dict
    resolve: Callable[[Options], dict[str, Any]]
    size: Callable[[Sequence[Options]], str]
    seconds: Callable[[FigureJob], float]
    work: Callable[[FigureJob], Work]
    check: Callable[[FigureJob], None] = _check_images
    checked_by: tuple[str, ...] = ()
    open: Callable[[Path], RunRecord]
    done: Callable[[Path], int] = _lines
    recorded: Callable[[FigureJob], Options] = lambda job: job.record().search_config
    free: tuple[str, ...] = ("table", "device", "keep_weights_every")
    expense: Callable[[Options], float] = lambda options: 0.0
    inapplicable: frozenset[str] = frozenset({"space", "seconds", "evaluations", "repeats"})
    device: str = "auto"
    has_many_seeds: bool = True


# Searches -------------------------------------------------------------------------------------------------------------


def _check_search(job: FigureJob) -> None:
    """Raise UserError if images are missing, or if the table does not score searches on this space and these images."""
    from nasbench1shot1.images.image_set import load_images
    from nasbench1shot1.one_shot_search.beginning import check_scored

    table = table_of(search_space(job.options["space"]), job.options["table"])
    check_scored(load_images(job.options["images"]), table)


SEARCH = JobKind(
    command="nasbench1shot1.one_shot_search.searching:search",
    nouns=("search", "searches"),
    verb="searched",
    unit="epoch",
    units=_epochs,
    pace=("optimizer", "space", "images"),
    resolve=lambda options: search_options(options).as_dict(),
    size=lambda runs: f"{len(runs)} × {number_range([run['epochs'] for run in runs])} epochs",
    seconds=search_seconds,
    work=search_work,
    check=_check_search,
    checked_by=("space", "table", "images"),
    open=open_search,
    done=lambda folder: max(_lines(folder) - 1, 0),  # the first line is epoch 0
)

RANKED_SEARCH = replace(SEARCH, free=("table", "device"))  # a ranking needs the saved weights


# Searches with the best configuration of a study, which must be finished first; the option "best" names it ------------


def _transferred_options(job: FigureJob) -> Options:
    """Return the recorded options; transferred hyperparameters that are still the study's best count as planned."""
    recorded, named = job.record().config, job.options["best"]
    try:
        best = best_of(Study.open(named["study"]), named["budget"])
    except UserError:  # the study was removed or started again
        best = {}
    kept = {name for name, value in best.items() if recorded.get(name) == value}
    return {**recorded, **{name: job.options[name] for name in kept}, "best": named}


TRANSFER = replace(
    SEARCH,
    command="nasbench1shot1.experiments.tuning.best:search_with_best",
    recorded=_transferred_options,
)


# Rankings of searches -------------------------------------------------------------------------------------------------


def _ranked_epochs(job: FigureJob) -> int:
    if "ranked_epochs" in job.options:  # of a single ranking
        return int(job.options["ranked_epochs"])
    return int(job.search["epochs"]) // int(job.search["keep_weights_every"])


def _check_ranking(job: FigureJob) -> None:
    """Raise UserError if the images are missing, or if the ranking needs more than the architecture half has."""
    from nasbench1shot1.one_shot_search.beginning import load_halves

    _, halves = load_halves(search_options(dict(job.search)).common)
    needed, half = int(job.options["images"]), len(halves.architecture)
    if needed > half:
        given = option("images", job.search["images"])
        raise InvalidInputError(
            f"the rankings need {needed:,} images, but the architecture half of {given} "
            f"has {half:,}: give a larger image set, or use {option('scale', 'quick')}"
        )


RANKING = JobKind(
    command="nasbench1shot1.experiments.correlation.correlating:rank",
    nouns=("ranking", "rankings"),
    verb="made",
    unit="epoch",
    units=_ranked_epochs,
    pace=("optimizer", "space"),
    resolve=dict,
    size=lambda runs: counted(len(runs), "ranking"),
    seconds=ranking_seconds,
    work=ranking_work,
    check=_check_ranking,
    open=Ranking.open,
    free=("table", "device", "run"),  # the figure may have moved
)


# Studies of tuned optimizers ------------------------------------------------------------------------------------------


def _with_budgets(options: Options) -> dict[str, Any]:
    """Return the options of a study whose maximum budget are the epochs."""
    largest = options["epochs"]
    given = {name: value for name, value in options.items() if name != "epochs" and value is not None}
    return {"min_budget": max(1, largest // RATIO), "max_budget": largest, **given}


def _study_epochs(job: FigureJob) -> int:
    """Return the number of epochs of all searches of a study."""
    return sum(epochs * count for epochs, count in tuning_options(job.options).brackets.searches.items())


def _recorded_epochs(folder: Path) -> int:
    """Return the number of epochs of the recorded searches; the running search does not count."""
    try:
        return sum(int(line.get("budget", 0)) for line in read_lines(folder / METRICS))
    except UserError:
        return 0


def _resolve_study(options: Options) -> dict[str, Any]:
    """Return the options of a study with images and device of the current machine."""
    found = study_options(options).search.as_dict()
    return {**options, **{name: found[name] for name in ("images", "device")}}


def _study_size(runs: Sequence[Options]) -> str:
    planned = [tuning_options(run).brackets.planned for run in runs]
    return f"{len(runs)} × {number_range(planned)} runs"


def _check_study(job: FigureJob) -> None:
    """Raise UserError if a package or the images are missing."""
    for package in ("hpbandster", *(["smac"] if job.options["tuner"] == "smac" else [])):
        require_package(package, "tuning", extra="tune")
    _check_images(job)


STUDY = JobKind(
    command="nasbench1shot1.tuning.tuning:tune",
    nouns=("study", "studies"),
    verb="tuned",
    unit="epoch",
    units=_study_epochs,
    pace=("optimizer", "space"),
    adapt=_with_budgets,
    resolve=_resolve_study,
    size=_study_size,
    seconds=study_seconds,
    work=study_work,
    check=_check_study,
    checked_by=("tuner",),
    open=Study.open,
    done=_recorded_epochs,
)


# Trainings of all sampled architectures in one size of a proxy --------------------------------------------------------


PROXY = JobKind(
    command="nasbench1shot1.proxy_training.running:train_proxies",
    nouns=("proxy", "proxies"),
    verb="trained",
    unit="architecture",
    units=lambda job: int(job.options["architectures"]),
    pace=("cells", "channels"),
    adapt=lambda options: {name: value for name, value in options.items() if name not in ("table", "compile")},
    resolve=lambda options: proxy_config(options).as_dict(),
    size=lambda runs: f"{len(runs)} × {number_range([run['architectures'] for run in runs])} trainings",
    seconds=proxy_seconds,
    work=proxy_work,
    open=ProxyTrainings.open,
    expense=lambda options: float(options["cells"] * options["channels"] ** 2),  # all workers finish at similar times
    inapplicable=frozenset({*SEARCH.inapplicable, "compile"}),  # all networks differ
)


# Black-box studies ----------------------------------------------------------------------------------------------------


def _used_options(options: Options) -> dict[str, Any]:
    """Return options without `epochs` if the optimizer does not use it; other curves of the figure may."""
    found = black_box_options({name: value for name, value in options.items() if name != "epochs"})
    unused = found.method.unused_options(found.own)
    return {name: value for name, value in options.items() if name not in unused}


def _resolve_black_box(options: Options) -> dict[str, Any]:
    found = black_box_options(options)
    table = table_of(search_space(found.common.space), found.common.table)
    return with_table(found, table, options).used()


def _check_table(job: FigureJob) -> None:
    """Raise UserError if a package is missing, or the table lacks the data set, the budget or architectures."""
    options = black_box_options(job.options)
    with_table(options, table := load_table(options.common.table), job.options)
    try:
        repeats = Repeats(options, table_of_study(options))
    except (OutOfDomainError, InvalidInputError) as error:
        space = search_space(options.common.space).name
        raise InvalidInputError(f"the table {table.id} does not cover {space}: {job.advice}") from error
    _ = repeats.used_budgets  # creates the optimizer, which raises if it needs a package that is not installed


BLACK_BOX = JobKind(
    command="nasbench1shot1.black_box_search.studying:black_box",
    nouns=("study", "studies"),
    verb="searched",
    unit="search",
    units=lambda job: int(job.options["repeats"]),
    pace=("space", "dataset", "optimizer", "mutation", "mutation_rate", "tournament"),
    adapt=_used_options,
    resolve=_resolve_black_box,
    size=lambda runs: f"{len(runs)} × {number_range([run['repeats'] for run in runs])} searches",
    seconds=black_box_seconds,
    work=black_box_work,
    check=_check_table,
    checked_by=("optimizer", "dataset"),
    open=BlackBoxStudy.open,
    free=(),  # the results depend on the table
    inapplicable=frozenset(
        {"images", "preset", "device", "threads", "precision", "compile"}
    ),  # no networks are trained
    device="cpu",
    has_many_seeds=False,
)

KINDS: Mapping[str, JobKind] = {
    "search": SEARCH,
    "ranked search": RANKED_SEARCH,
    "transfer": TRANSFER,
    "ranking": RANKING,
    "study": STUDY,
    "proxy": PROXY,
    "black-box": BLACK_BOX,
}
"""All kinds of runs, by name."""
