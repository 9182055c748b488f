"""`nb.plan`: what a figure, or a run of any kind, needs before it starts, without images and without a GPU."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from nasbench1shot1.experiments.planning.plan import Plan, Row, duration_note, image_notes, scoring_note
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure, unknown_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.forecast import Counts, Report, figure_plan, no_report
from nasbench1shot1.experiments.reproduction.kinds import KINDS, FigureJob
from nasbench1shot1.experiments.reproduction.progress import describe_work
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import counted, literal_console
from nasbench1shot1.jobs.job import Workers
from nasbench1shot1.jobs.pool import WorkerOptions, makespan, this_process
from nasbench1shot1.registry import with_names
from nasbench1shot1.runs.devices import USUAL, gpus
from nasbench1shot1.runs.options import checked_seeds
from nasbench1shot1.runs.work import Work

if TYPE_CHECKING:
    import pandas

    from nasbench1shot1.images.image_set import ImageSet
    from nasbench1shot1.one_shot_search.options import SearchConfig
    from nasbench1shot1.tables.table import Table


@options_by_keyword('nb.plan("figure2", scale="full")')
def plan(
    what: str,
    *,
    gpus: Sequence[str] = USUAL,
    measure: bool = True,
    **options: Any,
) -> "pandas.DataFrame":
    """Return what a figure, or runs of a command, need: steps, FLOPs, memory, disk and expected hours.

    FLOPs and memory are counted in a few small steps on the CPU. Neither images nor a GPU are needed: random images
    stand in for official data sets that are not installed. docs/full_scale.md explains the formula and its errors.

    Args:
        what: a figure, such as "figure2"; or a command: "search", "tune", "correlate", "blackbox" or "train".
        gpus: names of GPUs (`runs.devices.GPUS`).
        measure: whether to time a few steps of each kind of run on this machine, which can take minutes. Otherwise,
            the hours on this machine are NaN.
        options: for a figure, the arguments of `nb1shot1 reproduce`: scale="quick", only=["s1"], seeds=[0], …. For a
            command, its options: optimizer="gdas", seeds=[0, 1], …; run="runs/a" for "correlate", and
            architectures=[…] for "train".

    Returns:
        A row for each curve and kind of run. `runs` is the number of runs. `steps`, `forward_flops`, `backward_flops`,
        `disk` (bytes) and all hours are for all of them, one after another; a multiply-add is two FLOPs. `gpu_memory`
        and `memory` are bytes that one run needs. `hours_here` is NaN if not measured, and the hours of a GPU are NaN
        if its memory does not suffice. The attribute `attrs` has the formula and notes.

    Raises:
        InvalidInputError: an unknown name or option, a value out of range, a missing table of a search, or images of a
            data set for which the table has no values.
    """
    return make_plan(what, gpus, measure, **options).as_frame()


def make_plan(
    what: str,
    on: Sequence[str] = USUAL,
    measure: bool = True,
    counts: Counts | None = None,
    report: Report = no_report,
    **options: Any,
) -> Plan:
    """Return the plan of a figure or a command.

    Args:
        what: as in `plan`.
        on: names of GPUs.
        measure: as in `plan`.
        counts: work that is known from other plans; what is counted is added.
        report: receives what is being done, in words.
        options: as in `plan`.
    """
    gpus(on)  # raises for an unknown name
    how = How(tuple(on), measure, {} if counts is None else counts, report)
    if what in FIGURES:
        return replace(_of_figure(what, how, **options), name=what)
    if what in COMMANDS:
        return replace(COMMANDS[what](how, with_names(options)), name=what)
    raise unknown_figure(what, list(COMMANDS))


class How(NamedTuple):
    """How a plan is made: arguments of `make_plan`."""

    gpus: tuple[str, ...]
    measure: bool
    counts: Counts
    report: Report

    def plan(self, title: str, jobs: Sequence[FigureJob], workers: Workers, parts: Sequence[float] = ()) -> Plan:
        """Return the plan of jobs with these workers; `parts` are as in `figure_plan`."""
        return figure_plan(title, jobs, self.counts, self.gpus, workers if self.measure else None, self.report, parts)


# Figures --------------------------------------------------------------------------------------------------------------


def _of_figure(
    name: str,
    how: "How",
    scale: str = "full",
    only: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    **options: Any,
) -> Plan:
    figure = open_figure(name, only)
    where, given = figure.split_options(options)
    device, threads = given.get("device") or figure.kind.device, int(given.get("threads") or 1)
    with _folder() as folder, where.open(device, threads, literal_console(), default=None) as places:
        figure = figure.on_table(scale, given, places.call)
        jobs = figure.jobs(scale, folder, given, seeds, places.call)
        made = how.plan(f"{name}, {scale} scale: {describe_work(jobs)}", jobs, places)
    return replace(made, notes=(*filter(None, [figure.figure.note]), *made.notes))


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder in which no run has begun."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / "plan"


# Commands -------------------------------------------------------------------------------------------------------------


def _of_jobs(
    kind: str, how: "How", options: Sequence[dict[str, Any]], where: WorkerOptions, parts: Sequence[float] = ()
) -> Plan:
    """Return the plan of runs of a kind, one for each of the options; `parts` are as in `figure_plan`."""
    with _folder() as folder:
        jobs = [
            _job(kind, folder / str(number), own, resolved)
            for number, (own, resolved) in enumerate(zip(options, map(KINDS[kind].resolve, options), strict=True))
        ]
        device, threads = jobs[0].options.get("device") or KINDS[kind].device, int(jobs[0].options.get("threads") or 1)
        with where.open_or_here(device, threads, literal_console()) as places:
            return how.plan(describe_work(jobs), jobs, places, parts)


def _job(kind: str, folder: Path, given: Mapping[str, Any], options: dict[str, Any], **more: Any) -> FigureJob:
    named = {**given, **options}
    return FigureJob(
        name=folder.name,
        command=KINDS[kind].command,
        folder=folder,
        options=options,
        panel=str(named["space"]),
        curve=str(named["optimizer"]),
        kind=kind,
        **more,
    )


def _of_search(how: "How", options: dict[str, Any]) -> Plan:
    from nasbench1shot1.one_shot_search.options import SearchConfig, search_options
    from nasbench1shot1.one_shot_search.seeds import with_threads

    where, given = WorkerOptions.split(options)
    seeds = given.pop("seeds", None)
    each = [given] if seeds is None else [{**given, "seed": seed} for seed in checked_seeds(seeds)]
    usual = {"optimizer": SearchConfig.optimizer, "space": SearchConfig.space}
    at_once = min(where.workers or 1, len(each))
    planned = [with_threads({**usual, **_known(own)}, at_once) for own in each]
    _check_table(search_options(planned[0]).common)
    return _of_jobs("search", how, planned, where)


def _check_table(search: "SearchConfig") -> "tuple[ImageSet, Table]":
    """Return the images and the table of a search; raises UserError if the table cannot score the search on them."""
    from nasbench1shot1.images.stand_ins import images_for_planning
    from nasbench1shot1.one_shot_search.beginning import check_scored
    from nasbench1shot1.one_shot_search.options import table_of_search

    images, table = images_for_planning(search.images), table_of_search(search)
    check_scored(images, table)
    return images, table


def _of_study(how: "How", options: dict[str, Any]) -> Plan:
    from nasbench1shot1.tuning.config_spaces import config_space
    from nasbench1shot1.tuning.evaluation import check_has_objective
    from nasbench1shot1.tuning.loop import make_proposer
    from nasbench1shot1.tuning.options import TuningOptions, study_options

    where, given = WorkerOptions.split(options)
    found = study_options(given, where.workers or 1)  # raises for an unknown option
    tuning = found.tuning
    space = config_space(tuning.config_space, found.fixed)  # raises for a hyperparameter that the optimizer lacks
    if find_spec("hpbandster") is not None:  # without it, a study can be planned, but not started
        make_proposer(tuning.tuner, space, tuning.brackets, tuning.seed)  # raises for what the tuner does not support
    usual = {"optimizer": TuningOptions.optimizer, "space": TuningOptions.space, "seed": TuningOptions.seed}
    images, table = _check_table(found.search.common)
    check_has_objective(table, tuning.space, images.dataset, tuning.objective)
    parts = list(tuning.brackets.searches.elements())
    return _of_jobs("study", how, [{**usual, **_known(given), "threads": found.fixed.get("threads")}], where, parts)


def _of_black_box(how: "How", options: dict[str, Any]) -> Plan:
    from nasbench1shot1.black_box_search.options import BlackBoxConfig
    from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study
    from nasbench1shot1.black_box_search.studying import BlackBoxKind

    where, given = WorkerOptions.split(options)
    found = BlackBoxKind(where).options(given)
    _ = Repeats(found, table_of_study(found)).constraint  # raises for bounds that no network satisfies
    usual = {"optimizer": BlackBoxConfig.optimizer, "space": BlackBoxConfig.space}
    return _of_jobs("black-box", how, [{**usual, **_known(given)}], where, [1] * found.common.repeats)


def _of_ranking(how: "How", options: dict[str, Any]) -> Plan:
    from nasbench1shot1.experiments.correlation.correlating import RankingKind
    from nasbench1shot1.experiments.correlation.expectation import sizes_of
    from nasbench1shot1.one_shot_search.options import recorded_search
    from nasbench1shot1.one_shot_search.record import Run, open_search
    from nasbench1shot1.runs.folder import CONFIG

    if (named := options.pop("run", None)) is None:
        raise InvalidInputError(f"no run is given: give {option('run')} the folder of a search")
    run: Run = named if isinstance(named, Run) else open_search(getattr(named, "folder", named))
    wanted = RankingKind(run).options(options)
    search = recorded_search(run.config, run.folder / CONFIG).as_dict()
    with _folder() as folder, this_process() as here:
        job = _job("ranking", folder, search, sizes_of(run, wanted), search=search)
        made = how.plan(describe_work([job]), [job], here)
    return replace(made, notes=(scoring_note(), *made.notes))


def _of_training(how: "How", options: dict[str, Any]) -> Plan:
    from nasbench1shot1.cell_training.work import measured_networks, seconds_of_training, work_of_training

    where, given = WorkerOptions.split(options)
    networks, config, runs = _trainings(where, given)
    some, work = measured_networks(networks), Work()
    each = "the training" if len(some) == 1 else f"{len(some)} networks"
    how.report(f"Counting the work of {each} …")
    for network in some:
        work = work.followed_by(work_of_training(network, config))
    known, notes = None, list[str]()
    if how.measure:
        how.report(f"Timing steps of {each} …")
        of_one = sum(seconds_of_training(network, config) for network in some) / len(some)
        known, at_once = runs * of_one, min(where.workers or 1, runs)
        notes += [duration_note(makespan([of_one] * runs, at_once), at_once)] if runs else []
    notes += image_notes([config.images], how.measure)
    row = Row(config.BENCHMARK.title, "training", runs, work.repeated(runs / len(some)), known)
    return Plan(f"{counted(runs, 'training')} of {counted(config.epochs, 'epoch')}", (row,), how.gpus, tuple(notes))


def _trainings(where: WorkerOptions, options: dict[str, Any]) -> tuple[list[Any], Any, int]:
    """Return the networks to train, their resolved options, and the number of trainings that are not finished."""
    from nasbench1shot1.cell_training.lists import Listed, listed, networks_of
    from nasbench1shot1.cell_training.several import check_table_folder, plan_trainings
    from nasbench1shot1.tables.table import load_table

    named, seeds, out, into = (options.pop(name, None) for name in ("table", "seeds", "out", "into"))
    table = None if named is None else load_table(named)
    one, several = (options.pop(name, None) for name in ("architecture", "architectures"))
    if (one is None) == (several is None):
        raise InvalidInputError(f"give {option('architecture')}, or several {option('architectures')}")
    if one is not None:
        found, networks = networks_of([Listed("the architecture", one)], table)
        return networks, found.load("training").from_options(_known(options)), 1
    entries = several if isinstance(several, list) and isinstance(several[0], Listed) else listed(several)
    with _folder() as unused:
        made = plan_trainings(entries, (0,) if seeds is None else seeds, out or unused, table, where, options)
    if into is not None:
        check_table_folder(as_path(into, "into", is_option=True), made.group)
    return made.networks, made.config, len(made.todo)


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


COMMANDS: Mapping[str, Callable[[How, dict[str, Any]], Plan]] = {
    "search": _of_search,
    "tune": _of_study,
    "correlate": _of_ranking,
    "blackbox": _of_black_box,
    "train": _of_training,
}
"""The commands whose runs can be planned."""
