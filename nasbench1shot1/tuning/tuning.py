"""Tuning an optimizer's hyperparameters, from options to a finished study: a new one, or one that is resumed."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.evaluator import score
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path, picture_name, write_json
from nasbench1shot1.jobs.job import LOOK_EVERY
from nasbench1shot1.jobs.pool import places
from nasbench1shot1.one_shot_search.memory import check_fits
from nasbench1shot1.one_shot_search.options import SearchOptions, data_facts
from nasbench1shot1.one_shot_search.searching import table_of_search
from nasbench1shot1.proposers.configurations import format_id, parse_id, require_extra
from nasbench1shot1.registry import check_importable, one_shot, search_space, with_names
from nasbench1shot1.runs.folder import (
    COMMON,
    CONFIG,
    CONFIG_SPACE,
    METRICS,
    SUMMARY,
    check_facts,
    description,
    read_lines,
    updated_description,
)
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.options import check_ranges, check_unchanged, flag, option_names, typed_options
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.config_spaces import check_searches, config_space, write_config_space
from nasbench1shot1.tuning.engine.interfaces import (
    Observation,
    Progress,
    RecordedObservation,
    Timing,
    Trial,
    WorkerProcesses,
)
from nasbench1shot1.tuning.engine.local_workers import local_workers, no_workers
from nasbench1shot1.tuning.evaluation import check_has_objective
from nasbench1shot1.tuning.export import write_hpbandster_files
from nasbench1shot1.tuning.options import PER_SESSION, StudyOptions, TuningOptions, check_not_set, study_options
from nasbench1shot1.tuning.record import SEARCH_OPTIONS, TRAJECTORY, Study, StudyWriter, folder_of, summarise
from nasbench1shot1.tuning.screen import StudyScreen, announce, show_result

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.images.image_set import ImageSet
    from nasbench1shot1.images.splits import Split
    from nasbench1shot1.optimizer import OneShotOptimizer

MAY_GROW = ("iterations",)
EVALUATION = "nasbench1shot1.tuning.evaluation:evaluation"
SCORED = ("table_validation_error", "table_test_error", "validation_regret", "test_regret")


@options_by_keyword('nb.tune("darts", space="s1")')
def tune(
    optimizer: "str | type[OneShotOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    allow_module: str | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Study:
    """Tune the hyperparameters of a one-shot optimizer, or resume a study that was stopped.

    Args:
        optimizer: its name, its class in an importable module, or "module:Class"; "darts" if not given.
        out: the study's folder, which must not exist; `runs/tune-<optimizer>-<space>-<tuner>-<seed>` if not given.
        resume: the folder of a study to resume. Of the other options, only `iterations` may increase, and `workers`,
            `host`, `port` and `wait_for_workers` may change.
        allow_module: on resuming, a module that may be imported because the study's config.json names it.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `tuning.options.TuningOptions`: space="s1", config_space="cs2", workers=2, …, and
            options of every search, such as scale="quick", except those that the study sets.

    Returns:
        The finished study.

    Raises:
        UserError: hpbandster is not installed, a name or option is unknown, a value is out of range, the folder exists,
            no worker connects, or a search fails for another reason than divergence. Recorded observations are kept,
            and the study can be resumed.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    require_extra("hpbandster")
    options = with_names(options)
    check_importable(str(options.get("space")), "space")
    given = options if optimizer is None else {"optimizer": optimizer_name(optimizer), **options}
    if resume is None:
        return _start(study_options(given), out, console)
    if out is not None:
        raise InvalidInputError("--resume continues in the study's own folder: remove --out")
    folder = as_path(resume, "--resume")
    _update(folder, {name: value for name, value in given.items() if value is not None}, allow_module)
    return run_session(folder, console)


def optimizer_name(optimizer: Any) -> Any:
    """Return the name of an optimizer; raises InvalidInputError for a class that worker processes cannot import."""
    name = f"{optimizer.__module__}:{optimizer.__qualname__}" if isinstance(optimizer, type) else optimizer
    if isinstance(name, str) and name.startswith("__main__:"):
        raise InvalidInputError(
            f"the workers of a study cannot import '{name}' from a script or a notebook: move it into a module"
        )
    return name


def _start(options: StudyOptions, out: str | Path | None, console: "Console | None") -> Study:
    """Check everything and write the description of a new study, then run it."""
    from importlib.metadata import version

    from nasbench1shot1.one_shot_search.state import load_halves
    from nasbench1shot1.runs.machine import environment
    from nasbench1shot1.tuning.engine.master import make_proposer

    tuning, common = options.tuning, options.search.common
    space = config_space(tuning.config_space, options.fixed)
    table = table_of_search(common)
    images, halves = load_halves(common)
    check_has_objective(table, tuning.space, images.dataset)
    check_searches(tuning.config_space, space, options.fixed, lambda found: _check_search(found, images, halves))
    make_proposer(tuning.tuner, space, tuning.brackets, tuning.seed)  # refuses what the tuner does not support
    folder = as_path(out, "--out") if out is not None else _default_folder(tuning)
    check_is_new(folder)
    with new_run(folder, StudyWriter, Study) as writer:
        sections = {COMMON: vars(tuning), SEARCH_OPTIONS: options.shared(space)}
        facts = data_facts(search_space(tuning.space), table, images, halves)
        write_config_space(space, folder / CONFIG_SPACE)
        packages = ("hpbandster", "Pyro4", *(["scikit-learn", "smac"] if tuning.tuner == "smac" else []))
        versions = {package: version(package) for package in packages}
        writer.describe(description(Study.KIND, sections, facts), {**environment(common.device), **versions})
    return run_session(folder, console)


def _check_search(options: SearchOptions, images: "ImageSet", halves: "Split") -> None:
    """Raise UserError for a search that needs more memory than this machine has, or more images than a half has."""
    from nasbench1shot1.one_shot_search.state import check_batch

    check_fits(options.common, one_shot(search_space(options.common.space)), images.classes, images.side)
    check_batch(options.common, halves)


def _default_folder(tuning: TuningOptions) -> Path:
    space = search_space(tuning.space).name
    return Path("runs") / f"tune-{tuning.optimizer.rpartition(':')[2]}-{space}-{tuning.tuner}-{tuning.seed}"


def _update(folder: Path, given: Mapping[str, Any], allow_module: str | None) -> None:
    """Check the options that are given on resuming, and record those that may change.

    Raises InvalidInputError if an option differs from the recorded one and may not change.
    """
    study = Study.open(folder)
    study.check_trusted(allow_module, given)
    own = {name: value for name, value in given.items() if name in option_names(TuningOptions)}
    _check_shared(study, {name: value for name, value in given.items() if name not in own})
    typed = typed_options(TuningOptions, own)
    check_unchanged(folder, study.config, {n: v for n, v in typed.items() if n not in PER_SESSION}, MAY_GROW)
    changed = {name: value for name, value in typed.items() if study.config[name] != value}
    check_ranges(replace(study.options, **changed))
    if not changed:
        return
    with existing_run(folder, StudyWriter, Study):
        if "iterations" in changed:
            (folder / SUMMARY).unlink(missing_ok=True)  # of the shorter study
        write_json(folder / CONFIG, updated_description(folder, changed))


def _check_shared(study: Study, given: Mapping[str, Any]) -> None:
    """Raise InvalidInputError for an option of every search that is not recorded, or differs from the record."""
    check_not_set(given)
    for name in given:
        if name not in study.shared_options:
            raise InvalidInputError(f"{flag(name)} is not an option of '{study.folder}': remove it")
    check_unchanged(study.folder, study.shared_options, given, ())


def run_session(folder: Path, console: "Console | None") -> Study:
    """Run a recorded study to its end; raises the errors of `tuning.tune`."""
    from nasbench1shot1.ground.notebooks import console_or_new
    from nasbench1shot1.tables.table import table_for
    from nasbench1shot1.tuning.drawing import trajectory_figure

    console = console_or_new(console)
    with existing_run(folder, StudyWriter, Study) as writer:
        study = Study.open(folder)
        space, shared = search_space(study.options.space), study.shared_options
        table = table_for(space, shared["table"], shared["reference"])
        facts = {"space_id": space.id, "table_id": table.id}
        check_facts(folder, study.config, facts)
        _observe_all(study, table, writer, console)
        study = Study.open(folder)
        write_hpbandster_files(study)  # the process may have been killed between the last observation and its files
        writer.finish(summarise(study, study.lines, table.id))
        save_figure(trajectory_figure(study, study.lines, table), folder / picture_name(TRAJECTORY, shared["format"]))
    study = Study.open(folder)
    show_result(study.summary, study.folder, console, shared["format"])
    return study


def wait_for_study(folder: Path, seconds: float) -> Study:
    """Open a study, once its folder holds one; raises InvalidInputError if it does not appear in time."""
    deadline = time.monotonic() + seconds
    while not (folder / CONFIG).is_file() and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return Study.open(folder)


def _observe_all(study: Study, table: Table, writer: StudyWriter, console: "Console") -> None:
    """Observe every planned search that is not recorded yet."""
    from nasbench1shot1.tuning.engine.master import run_study

    options, brackets = study.options, study.options.brackets
    writer.keep_complete_lines()  # without the unfinished last line of a killed process
    lines = Study.read_lines(writer.folder)
    announce(study, table, brackets, len(lines), console)
    with StudyScreen(brackets, lines, console) as screen:
        run_study(
            study.folder,
            study.config_space,
            brackets,
            StudyRecorder(writer, lines, table, screen),
            _workers(study),
            seed=options.seed,
            tuner=options.tuner,
            host=options.host,
            port=options.port,
            timing=Timing(wait_for_workers=options.wait_for_workers),
        )


def _workers(study: Study) -> Callable[[], AbstractContextManager[WorkerProcesses]]:
    """Return what starts the study's workers on this machine."""
    import torch

    wanted, shared = study.options.workers, study.shared_options
    if not wanted:
        return no_workers
    where = places(wanted, shared["device"], shared["threads"], torch.cuda.device_count())
    arguments: tuple[Any, ...] = (study.folder, EVALUATION, where, shared["threads"])
    return partial(local_workers, *arguments)


class StudyRecorder:
    """Writes the observations of a study and reports them on the screen; an `engine.interfaces.Recorder`.

    Test errors come from the table when a line is written. No outcome contains them, and the tuner sees only outcomes.
    """

    def __init__(
        self, writer: StudyWriter, lines: Sequence[Mapping[str, Any]], table: Table, screen: StudyScreen
    ) -> None:
        self._writer, self._before, self._table, self._screen = writer, list(lines), table, screen

    def observations(self) -> Sequence[RecordedObservation]:
        """Return what was observed in earlier sessions, in order of registration."""
        return [
            RecordedObservation(parse_id(line["configuration_id"]), line["budget"], line["loss"], line["finished"])
            for line in self._before
        ]

    def steps_done(self, trial: Trial) -> int:
        """Return the number of recorded epochs of a trial's search."""
        return len(read_lines(self._writer.folder / folder_of(trial.configuration_id, trial.epochs) / METRICS))

    def record_observation(self, observation: Observation) -> None:
        """Append the line of an observation to metrics.jsonl, and bring hpbandster's files up to date."""
        study = Study.open(self._writer.folder)
        line = observation_line(observation, self._table, study.config["dataset"])
        self._writer.append_line(line)
        write_hpbandster_files(study)
        self._screen.show_observation(line)

    def progress(self, state: Progress) -> None:
        """Show the state of the study."""
        self._screen.progress(state)


def observation_line(observation: Observation, table: Table, dataset: str | None = None) -> dict[str, Any]:
    """Return the line of metrics.jsonl for an observation; fields as in `record.FIELDS`.

    `dataset` is the data set of the study's images. Default: the data set of the table's first objective.
    """
    trial, outcome = observation.trial, observation.outcome
    return {
        "number": observation.number,
        "configuration_id": format_id(trial.configuration_id),
        "budget": trial.epochs,
        "model_based": observation.model_based,
        "loss": outcome.loss,
        "failure": outcome.failure,
        **_score_fields(outcome.values, table, dataset, observation.finished - observation.started),
        "submitted": observation.submitted,
        "started": observation.started,
        "finished": observation.finished,
        "attempts": trial.attempt,
        "worker": observation.worker,
        "folder": folder_of(trial.configuration_id, trial.epochs).as_posix(),
    }


def _score_fields(values: Mapping[str, Any], table: Table, dataset: str | None, elapsed: float) -> dict[str, Any]:
    """Return the architecture, its values in the table, and the times; a diverged search has only times.

    On the simulated clock, a diverged search takes its elapsed wall-clock time, because its last epoch is not recorded.
    """
    architecture, seconds = values.get("architecture"), values["search_seconds"]
    if architecture is None:
        return {"architecture": None, **dict.fromkeys(SCORED), "search_seconds": seconds, "simulated_seconds": elapsed}
    found = score(Architecture.parse(architecture), table, dataset).fields(seconds)
    names = (*SCORED, "search_seconds", "simulated_seconds")
    return {"architecture": architecture, **{name: found[name] for name in names}}
