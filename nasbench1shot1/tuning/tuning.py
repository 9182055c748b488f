"""Tuning an optimizer's hyperparameters, from options to a finished study: a new one, or one that is resumed."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.options import figure_style
from nasbench1shot1.evaluator import Judge, recorded_seconds
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import picture_name
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.jobs.job import Ended
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.one_shot_search.memory import check_fits
from nasbench1shot1.one_shot_search.options import (
    SearchConfig,
    SearchOptions,
    data_facts,
    search_options,
    table_of_search,
)
from nasbench1shot1.phases import Phase, check_phases, first_moved_epoch
from nasbench1shot1.proposers.configurations import format_id, parse_id
from nasbench1shot1.registry import (
    check_importable,
    check_recorded_names,
    name_of_optimizer,
    one_shot,
    optimizer,
    search_space,
    with_names,
)
from nasbench1shot1.runs.folder import CONFIG, CONFIG_SPACE
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.machine import check_recorded_device, check_threads
from nasbench1shot1.runs.options import check_ranges, check_unchanged, option_names, recorded_options, typed_options
from nasbench1shot1.runs.running import run
from nasbench1shot1.tables.table import Table, table_for
from nasbench1shot1.tuning.config_spaces import check_searches, config_space, write_config_space
from nasbench1shot1.tuning.evaluation import check_has_objective, trial_job, trial_outcome
from nasbench1shot1.tuning.export import write_hpbandster_files
from nasbench1shot1.tuning.options import (
    SET_BY_THE_STUDY,
    StudyOptions,
    TuningOptions,
    check_not_set,
    recorded_form,
    study_options,
    study_settings,
)
from nasbench1shot1.tuning.record import SEARCH_OPTIONS, TRAJECTORY, Study, StudyWriter, folder_of, summarise
from nasbench1shot1.tuning.screen import StudyScreen, announce, show_result
from nasbench1shot1.tuning.trials import Observation, Outcome, RecordedObservation, Trial, TrialJob

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from rich.console import Console

    from nasbench1shot1.images.image_set import ImageSet
    from nasbench1shot1.images.splits import Split
    from nasbench1shot1.optimizer import OneShotOptimizer
    from nasbench1shot1.tuning.loop import Progress

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
        resume: the folder of a study to resume. Of the other options, only `iterations` may increase.
        allow_module: on resuming, a module that may be imported because the study's config.json names it.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `tuning.options.TuningOptions`: space="s1", config_space="cs2", …; where the searches
            run, by the fields of `jobs.pool.WorkerOptions`: workers=2, or scheduler="tcp://host:8786"; and options of
            every search, such as scale="quick", except those that the study sets.

    Returns:
        The finished study.

    Raises:
        UserError: hpbandster is not installed, a name or option is unknown, a value is out of range, the folder exists,
            the scheduler does not answer, or a search fails for another reason than divergence. Recorded observations
            are kept, and the study can be resumed.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    require_package("hpbandster", "tuning", extra="tune")
    named = {} if optimizer is None else {"optimizer": optimizer_name(optimizer)}
    given = with_names({**named, **options})
    check_importable(str(given.get("space")), "space")
    workers, given = WorkerOptions.split(given)
    return run(StudyKind(workers), given, out=out, resume=resume, allow_module=allow_module, console=console)


def optimizer_name(optimizer: Any) -> Any:
    """Return the name of an optimizer; raises InvalidInputError for a class that worker processes cannot import."""
    name = name_of_optimizer(optimizer) if isinstance(optimizer, type) else optimizer
    if isinstance(name, str) and name.startswith("__main__:"):
        raise InvalidInputError(
            f"the workers of a study cannot import '{name}' from a script or a notebook: move it into a module"
        )
    return name


class StudyKind(Kind[StudyOptions, "ConfigurationSpace", Study, StudyWriter]):
    """A tuning study; the state with which it begins is its configuration space.

    Args:
        workers: where the searches run, which is not recorded.
    """

    RECORD, WRITER, MAY_GROW, WORD = Study, StudyWriter, ("iterations",), "study"

    def __init__(self, workers: WorkerOptions) -> None:
        self.workers, self.unrecorded = workers, workers.given

    def options(self, given: Mapping[str, Any]) -> StudyOptions:
        """Return resolved options."""
        options = study_options(given, self.workers.workers or 1)
        check_threads(options.fixed.get("threads"))
        self.PACKAGES = ("hpbandster", *(["scikit-learn", "smac"] if options.tuning.tuner == "smac" else []))
        return options

    def recorded_options(self, run: Study) -> StudyOptions:
        """Return the recorded options."""
        settings = study_settings(run.options, run.options.brackets.budgets[0])
        return StudyOptions(run.options, {**run.shared_options, **settings}, tuple(run.config_space))

    def check_trusted(self, run: Study, given: Mapping[str, Any], allow_module: str | None) -> None:
        """Check the recorded optimizer and space."""
        check_recorded_names("optimizers", run.config, given, run.folder / CONFIG, allow_module)

    def resumed_options(self, run: Study, given: Mapping[str, Any], allow_module: str | None) -> StudyOptions:
        """Return the recorded options, perhaps with more iterations."""
        self.check_trusted(run, given, allow_module)
        _check_recorded(run)
        check_recorded_device(run.folder, run.shared_options["device"])
        own = {name: value for name, value in given.items() if name in option_names(TuningOptions)}
        _check_shared(run, {name: value for name, value in given.items() if name not in own})
        typed = recorded_form(typed_options(TuningOptions, own))
        check_unchanged(run.folder, run.config, typed, self.MAY_GROW)
        options = self.recorded_options(run)
        options = replace(options, tuning=replace(options.tuning, **typed))
        check_ranges(options.tuning)
        return options

    def default_folder(self, options: StudyOptions) -> Path:
        """Return the folder of a study that names no other."""
        tuning = options.tuning
        space = search_space(tuning.space).name
        return Path("runs") / f"tune-{tuning.optimizer.rpartition(':')[2]}-{space}-{tuning.tuner}-{tuning.seed}"

    def begin(self, options: StudyOptions, resumed: Study | None) -> "Begun[ConfigurationSpace]":
        """Open the configuration space and the table; for a new study, check all its searches."""
        tuning = options.tuning
        if resumed is not None:
            searched, shared = search_space(tuning.space), resumed.shared_options
            table = table_for(searched, shared["table"], shared["reference"])
            facts = {"space_id": searched.id, "table_id": table.id}
            return Begun(resumed.config_space, facts, table=table)
        from nasbench1shot1.one_shot_search.beginning import check_scored, load_halves
        from nasbench1shot1.tuning.loop import make_proposer

        common = options.search.common
        space = config_space(tuning.config_space, options.fixed)
        table = table_of_search(common)
        images, halves = load_halves(common)
        check_scored(images, table)
        check_has_objective(table, tuning.space, images.dataset, tuning.objective)
        budgets, continues = tuning.brackets.budgets, tuning.continuation == "continue"
        check_searches(
            tuning.config_space,
            space,
            options.fixed,
            lambda found: _check_search(found, images, halves, budgets, continues, table),
        )
        make_proposer(tuning.tuner, space, tuning.brackets, tuning.seed)  # refuses what the tuner does not support
        facts = data_facts(search_space(tuning.space), table, images, halves)
        labels = {SEARCH_OPTIONS: options.shared(space)}
        judge = Judge(images.dataset, tuning.objective, common.bounds)
        if (baseline := judge.baseline(search_space(tuning.space).name, table)) is not None:
            labels |= baseline.fields()
        return Begun(space, facts, labels, table)

    def prepare(self, begun: "Begun[ConfigurationSpace]", folder: Path) -> None:
        """Write the configuration space."""
        write_config_space(begun.state, folder / CONFIG_SPACE)

    def loop(self, begun: "Begun[ConfigurationSpace]", writer: StudyWriter, console: "Console") -> None:
        """Observe every planned search that is not recorded yet."""
        from nasbench1shot1.tuning.loop import StudyState, make_proposer, observe_all

        study, table = Study.open(writer.shown_folder), begun.table
        options, brackets, shared = study.options, study.options.brackets, study.shared_options
        lines = Study.read_lines(writer.folder)
        proposer = make_proposer(options.tuner, study.config_space, brackets, options.seed)
        announce(study, table, brackets, len(lines), self.workers, console)
        with StudyScreen(brackets, lines, console, study.guide) as screen:
            evaluation = StudyEvaluation(study, table, writer, screen)
            observed = [
                RecordedObservation(parse_id(line["configuration_id"]), line["budget"], line["loss"], line["finished"])
                for line in lines
            ]
            state = StudyState(study.folder, proposer, observed)
            if not state.is_finished:
                with self.workers.open(shared["device"], shared["threads"], console) as workers:
                    observe_all(state, evaluation, workers)
        write_hpbandster_files(Study.open(writer.folder))  # an earlier session may have been killed before

    def summarise(self, run: Study, begun: "Begun[ConfigurationSpace]") -> Mapping[str, Any]:
        """Return the counts and the best searches."""
        return summarise(run, run.lines, begun.table)

    def present(self, run: Study, begun: "Begun[ConfigurationSpace]", console: "Console") -> None:
        """Draw the trajectory, and print the result."""
        from nasbench1shot1.tuning.drawing import trajectory_figure

        format = run.shared_options["format"]
        figure = trajectory_figure(run, run.lines, begun.table, figure_style(run.shared_options))
        save_figure(figure, run.folder / picture_name(TRAJECTORY, format))
        show_result(run.summary, run.folder, console, format)


def _check_search(
    options: SearchOptions,
    images: "ImageSet",
    halves: "Split",
    budgets: Sequence[int],
    continues: bool,
    table: Table,
) -> None:
    """Raise UserError for a search that cannot run on this machine, or whose phases do not fit a budget.

    Args:
        options: the options of the search at the smallest budget.
        images: the image set.
        halves: its halves.
        budgets: all budgets in epochs, ascending.
        continues: whether searches are continued at the next budget.
        table: the table with the costs that the searches bound, if any.
    """
    import torch

    from nasbench1shot1.images.batches import epoch_generator
    from nasbench1shot1.one_shot_search.beginning import check_batch, check_schedule, check_single_images, supernet_of

    config, space = options.common, one_shot(search_space(options.common.space))
    check_fits(config, space, images.classes, images.side)
    check_batch(config, halves)
    generator = epoch_generator(config.seed, "architecture", 0)
    method = options.method(space, options.own, generator, torch.device("cpu"))
    if config.bounds is not None:
        method.constrain(table.constraint(space, config.bounds, images.dataset))
    before: Sequence[Phase] = ()
    every: list[Phase] = []
    for epochs in budgets:
        phases = method.phases(epochs, config.warm_start_epochs)
        check_phases(phases, epochs)
        check_schedule(config, method, phases, halves)
        trained = sum(phase.epochs for phase in before)
        if continues and (moved := first_moved_epoch(before, phases, trained)):
            raise InvalidInputError(
                f"epoch {moved} of {epochs} is in another phase of the search than in a search of {trained} epochs, so "
                f"it cannot be continued: use {option('continuation', 'restart')}"
            )
        before = phases
        every += phases
    check_single_images(config, every, halves, images.side, partial(supernet_of, config, space, images.classes))


def _check_recorded(study: Study) -> None:
    """Raise DamagedFileError if config.json lacks a shared option of the searches, or has an impossible value of one.

    Hyperparameters and the options that the study sets are not recorded there.
    """
    settings, unrecorded = study_settings(study.options, study.options.brackets.budgets[0]), {*SET_BY_THE_STUDY}
    unrecorded |= {*study.config_space}
    for record in (SearchConfig, optimizer(study.options.optimizer).Hyperparameters):
        usual = {field.name: field.default for field in fields(record) if field.name in unrecorded}
        recorded_options(record, {**usual, **study.shared_options, **settings}, study.folder / CONFIG)


def _check_shared(study: Study, given: Mapping[str, Any]) -> None:
    """Raise InvalidInputError for an option of every search that is not recorded, or differs from the record."""
    check_not_set(given)
    for name in given:
        if name not in study.shared_options:
            raise InvalidInputError(f"{option(name)} is not an option of '{study.folder}': remove it")
    recorded = {**study.shared_options, **study_settings(study.options, study.options.brackets.budgets[0])}
    resolved = search_options({**recorded, **given}, varied=tuple(study.config_space)).as_dict()
    check_unchanged(study.folder, study.shared_options, {name: resolved[name] for name in given}, ())


class StudyEvaluation:
    """Searches for the trials of a study, and writes its observations; a `loop.Evaluation`.

    Test errors come from the table when a line is written. No outcome contains them, and the tuner sees only outcomes.
    """

    def __init__(self, study: Study, table: Table, writer: StudyWriter, screen: StudyScreen) -> None:
        self._study, self._table, self._writer, self._screen = study, table, writer, screen

    def job(self, trial: Trial) -> TrialJob:
        """Return the search of a trial."""
        return trial_job(self._study, trial)

    def outcome(self, job: TrialJob, end: Ended) -> Outcome:
        """Return the objective of a search that has ended."""
        return trial_outcome(self._study, self._table, job, end)

    def record(self, observation: Observation) -> None:
        """Append the line of an observation to metrics.jsonl, and bring hpbandster's files up to date."""
        judge = Judge.from_config(self._study.config, self._study.folder / CONFIG)
        line = observation_line(observation, self._table, judge)
        self._writer.append_line(line)
        write_hpbandster_files(Study.open(self._writer.folder))
        self._screen.show_observation(line)

    def progress(self, state: "Progress") -> None:
        """Show the state of the study."""
        self._screen.progress(state)


def observation_line(observation: Observation, table: Table, judge: Judge) -> dict[str, Any]:
    """Return the line of metrics.jsonl for an observation; fields as in `record.FIELDS`."""
    trial, outcome = observation.trial, observation.outcome
    return {
        "number": observation.number,
        "configuration_id": format_id(trial.configuration_id),
        "budget": trial.epochs,
        "model_based": observation.model_based,
        "loss": outcome.loss,
        "failure": outcome.failure,
        **_score_fields(outcome.values, table, judge, observation.finished - observation.started),
        "submitted": observation.submitted,
        "started": observation.started,
        "finished": observation.finished,
        "attempts": observation.attempts,
        "worker": observation.worker,
        "folder": folder_of(trial.configuration_id, trial.epochs).as_posix(),
    }


def _score_fields(values: Mapping[str, Any], table: Table, judge: Judge, elapsed: float) -> dict[str, Any]:
    """Return the architecture, its values in the table, and the times; a diverged search has only times.

    On the simulated clock, a diverged search takes its elapsed wall-clock time, because its last epoch is not recorded.
    """
    architecture, seconds = values.get("architecture"), values["search_seconds"]
    if architecture is None:
        times = {"search_seconds": recorded_seconds(seconds), "simulated_seconds": recorded_seconds(elapsed)}
        return {"architecture": None, **dict.fromkeys(SCORED), **times}
    found = judge.score(Architecture.parse(architecture), table).fields(seconds)
    names = (*SCORED, "search_seconds", "simulated_seconds")
    return {"architecture": architecture, **{name: found[name] for name in names}}
