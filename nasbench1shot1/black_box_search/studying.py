"""Black-box studies as a kind of run: `nb.black_box`, and what a study gives to the life cycle of all runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from nasbench1shot1.black_box_search.goal import FEEDBACK, describe_feedback, describe_workers
from nasbench1shot1.black_box_search.options import BlackBoxOptions, black_box_options, recorded_study
from nasbench1shot1.black_box_search.ranges import run_ranges
from nasbench1shot1.black_box_search.record import FIGURE, BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study, with_table
from nasbench1shot1.black_box_search.summary import result_text, summarise
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.options import figure_style
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, value_of
from nasbench1shot1.ground.files import picture_name
from nasbench1shot1.ground.progress import ProgressDisplay, show_step
from nasbench1shot1.ground.text import counted, line_printer
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.jobs.pool import Watcher, WorkerOptions
from nasbench1shot1.registry import check_importable, check_recorded_names, search_space, with_names
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.record import NOTE
from nasbench1shot1.runs.running import run
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.tables.table import load_table

if TYPE_CHECKING:
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer


@options_by_keyword('nb.black_box("random", space="s1")')
def black_box(
    optimizer: "str | type[BlackBoxOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    allow_module: str | None = None,
    console: Console | None = None,
    **options: Any,
) -> BlackBoxStudy:
    """Repeat a black-box search on a table with a simulated clock, or resume a stopped study.

    Args:
        optimizer: name of the optimizer, its class, or "module:Class". Default: "regularized-evolution".
        out: folder of the new study; it must not exist. Default: `runs/blackbox-<optimizer>-<space>-<seed>`.
        resume: folder of a stopped study. Cannot be combined with `out`; only `repeats` may increase.
        allow_module: module that `resume` may import because the study's config.json names it.
        console: rich console for progress output. Default: a new console. `Console(quiet=True)` is silent.
        options: fields of `black_box_search.options.BlackBoxConfig`, such as space="s1", seconds=1e7, repeats=500 or
            objective="trainable_parameters", max_flops=1e8 or bounds="flops=1e8", and of the optimizer's
            `Hyperparameters`. `space` may be an `nb.SearchSpace` that a module has as an attribute, `table` an
            `nb.Table` that has a folder. The fields of `jobs.pool.WorkerOptions`, such as workers=2, select where the
            searches run. By default, they run in this process; results do not depend on it.

    Returns:
        The finished study. `.final` has one row per search, `.trajectory` one row per incumbent.

    Raises:
        UserError: a name or option is unknown, a value is out of range, the folder exists, the table lacks a value, or
            the disk is full. Recorded searches are kept.
        RunStoppedError: Ctrl-C stopped the study; the message names the folder to resume.
    """
    given = with_names(options if optimizer is None else {"optimizer": optimizer, **options})
    workers, given = WorkerOptions.split(given)
    return run(BlackBoxKind(workers), given, out=out, resume=resume, allow_module=allow_module, console=console)


def search_range(
    *, out: Path | None = None, resume: Path | None = None, allow_module: str | None = None, **options: Any
) -> BlackBoxStudy:
    """Run or resume a range of a study's searches, as a job of `ranges.run_ranges`.

    The range is a study of its own, but has no picture, because the whole study draws all searches. Arguments and
    errors are as for `black_box`.
    """
    return run(_RangeKind(WorkerOptions()), options, out=out, resume=resume, allow_module=allow_module)


class BlackBoxKind(Kind[BlackBoxOptions, Repeats, BlackBoxStudy, RunWriter[BlackBoxStudy]]):
    """A black-box study.

    Args:
        workers: where the searches run, which is not recorded.
    """

    RECORD, WRITER, MAY_GROW, WORD = BlackBoxStudy, RunWriter[BlackBoxStudy], ("repeats",), "study"

    def __init__(self, workers: WorkerOptions) -> None:
        self.workers, self.unrecorded = workers, workers.given

    def options(self, given: Mapping[str, Any]) -> BlackBoxOptions:
        """Return resolved options, with the defaults that depend on the table."""
        return _with_table(black_box_options(given), given)

    def recorded_options(self, run: BlackBoxStudy) -> BlackBoxOptions:
        """Return the recorded options."""
        return recorded_study(run.config, run.folder / CONFIG)

    def check_trusted(self, run: BlackBoxStudy, given: Mapping[str, Any], allow_module: str | None) -> None:
        """Check the recorded optimizer and space."""
        if run.is_trajectory:
            raise InvalidInputError(
                f"'{run.folder}' was made from the log of another program, so it cannot be resumed: make it again with "
                "nb.study_from_frame or nb.study_from"
            )
        if run.is_outside:
            raise InvalidInputError(
                f"'{run.folder}' was recorded by nb.objective, whose optimizer '{run.config['optimizer']}' is not part "
                f"of this package: continue it in Python with nb.objective(resume='{run.folder}')"
            )
        check_recorded_names("black_box_optimizers", run.config, given, run.folder / CONFIG, allow_module)

    def extended_options(self, kept: BlackBoxOptions, given: Mapping[str, Any]) -> BlackBoxOptions:
        """Return the recorded options, updated with the given ones."""
        recorded = kept.as_dict()
        return _with_table(black_box_options(given, kept=recorded), {**recorded, **given})

    def default_folder(self, options: BlackBoxOptions) -> Path:
        """Return `runs/blackbox-<optimizer>-<space>-<seed>`, with the number of the first search unless it is 0."""
        common = options.common
        names = [common.optimizer.rpartition(":")[2], search_space(common.space).name, str(common.seed)]
        names += [f"from-{common.first_repeat}"] if common.first_repeat else []
        return Path("runs") / "-".join(["blackbox", *names])

    def begin(self, options: BlackBoxOptions, resumed: BlackBoxStudy | None) -> Begun[Repeats]:
        """Open the table, and check that the optimizer can search."""
        self._check_places(options)
        return begin_study(Repeats(options, table_of_study(options)), resumed)

    def _check_places(self, options: BlackBoxOptions) -> None:
        """Raise InvalidInputError for an object of a script or notebook, which other processes cannot import."""
        if self.workers.is_here:
            return
        if options.common.optimizer.startswith("__main__:"):
            raise InvalidInputError(
                f"{options.method.__name__} is part of this script or notebook, which other processes cannot "
                f"import: remove {value_of('workers')} and {value_of('scheduler')}, or move it into a module"
            )
        check_importable(options.common.space, "space")

    def loop(self, begun: Begun[Repeats], writer: RunWriter[BlackBoxStudy], console: Console) -> None:
        """Run the searches that are not recorded yet, in this process or as jobs."""
        repeats, study = begun.state, self.open(writer.shown_folder)
        announce(repeats, study, console)
        with StudyProgress(study, console) as progress:
            if self.workers.is_here and not study.ranges:
                for repeat in study.numbers[writer.recorded :]:
                    writer.append_line(repeats.line(repeat))
                    progress.recorded(writer.recorded)
                return
            with self.workers.open_or_here("cpu", 1, console) as workers:
                run_ranges(repeats.options, study, writer.recorded, workers, progress)
        writer.read(len(study.numbers))  # the searches of all ranges, for the checksum in the summary

    def summarise(self, run: BlackBoxStudy, begun: Begun[Repeats]) -> dict[str, Any]:
        """Return statistics over all searches."""
        lines = run.read_lines(run.folder)
        note = begun.state.random_search_note(max(line["evaluations"] for line in lines))
        return {**summarise(run.config, lines), **({NOTE: note} if note else {})}

    def present(self, run: BlackBoxStudy, begun: Begun[Repeats], console: Console) -> None:
        """Draw the regret over simulated time, and print the regret over all searches."""
        print_line, goal = line_printer(console), run.goal
        result = result_text(goal, run.summary, len(run.lines))
        if run.summary["test_regret"] is None:
            print_line(result)
            return
        picture = run.folder / picture_name(FIGURE, run.config["format"])
        spread, style = run.config.get("spread"), figure_style(run.config)
        with show_step(console, f"drawing {picture.name}"):
            from nasbench1shot1.black_box_search.drawing import regret_figure  # imports matplotlib, which takes a while

            figure = regret_figure([run], spread=spread, style=style, note=begun.state.describe_budgets())
            save_figure(figure, picture)
        print_line(result)
        if (baseline := run.baseline) is not None and baseline.test_regret is not None:
            source = f" ({named})" if (named := goal.source(baseline.test_measured)) else ""
            print_line(f"{goal.title} of the baseline, {baseline.words}: {goal.text(baseline.test_regret)}{source}")
        if (note := run.summary.get(NOTE)) and begun.state.options.common.evaluations is None:
            print_line(note)  # with a number of evaluations, the first lines of the screen have it
        print_line(f"Picture: {picture}")


class _RangeKind(BlackBoxKind):
    """A range of the searches of a study."""

    def present(self, run: BlackBoxStudy, begun: Begun[Repeats], console: Console) -> None:
        """Print the regret over the searches of the range."""
        line_printer(console)(result_text(run.goal, run.summary, len(run.lines)))


def _with_table(options: BlackBoxOptions, given: Mapping[str, Any]) -> BlackBoxOptions:
    return with_table(options, load_table(options.common.table), given)


def begin_study(repeats: Repeats, resumed: BlackBoxStudy | None = None) -> Begun[Repeats]:
    """Return the searches of a study with everything that config.json records about their data.

    Args:
        repeats: the searches.
        resumed: the study that is resumed; None for a new one.

    Raises:
        UserError: the table lacks the objective or a bounded cost, or describes the objective differently from
            the resumed study; no training of a new study can continue a shorter one, as its options require; no
            network is within the bounds; or the optimizer refuses the space or the budgets.
    """
    if resumed is not None:
        repeats.goal.check_recorded(resumed.goal, resumed.folder)
    repeats.check_objective()
    if resumed is None:
        repeats.check_continuation()
    baseline = repeats.baseline
    feedback = repeats.feedback_repeats()
    facts = {"space_id": repeats.space.id, "table_id": repeats.table.id}
    labels = {**repeats.goal.fields(), **(baseline.fields() if baseline else {}), FEEDBACK: feedback}
    return Begun(repeats, facts, labels, repeats.table)


class StudyProgress(ProgressDisplay, Watcher[Job]):
    """A progress bar of finished searches, as a context manager. Without a terminal, it prints nothing."""

    def __init__(self, study: BlackBoxStudy, console: Console) -> None:
        super().__init__(console)
        self._study, self._task = study, self._bar.add_task("", total=len(study.numbers))
        self.tick([])

    def tick(self, waiting: Sequence[Job]) -> None:
        """Show the number of searches that this process and others have finished."""
        self.recorded(self._study.recorded)

    def recorded(self, searches: int) -> None:
        """Show a number of finished searches."""
        text, is_last = f"searches {searches}/{len(self._study.numbers)}", searches == len(self._study.numbers)
        if is_last:  # workers still have to write the summaries of their ranges
            text += ", writing summaries"
        self._bar.update(self._task, completed=searches, description=text, refresh=is_last)


def announce(repeats: Repeats, study: BlackBoxStudy, console: Console) -> None:
    """Print the settings of the study."""
    print_line, config = line_printer(console), repeats.options.common
    print_line(f"{config.optimizer} on {config.space}, seed {config.seed}; folder: {study.folder}")
    ends = [f"{config.seconds:,.0f} simulated seconds"] if config.seconds is not None else []
    ends += [counted(config.evaluations, "training")] if config.evaluations is not None else []
    first = f", from number {config.first_repeat}," if config.first_repeat else ""
    each = " each" if config.repeats > 1 else ""
    print_line(f"{counted(config.repeats, 'search')}{first} of {' or '.join(ends)}{each}")
    if workers := describe_workers([config.simulated_workers]):
        print_line(workers)
    bounds = repeats.baseline.sentence if repeats.baseline else ""
    for sentence in filter(None, (repeats.goal.sentence(), bounds)):
        print_line(sentence)
    table = [f"Table {repeats.table.id}, data set {config.dataset}", repeats.describe_budgets()]
    print_line(", ".join(filter(None, table)))
    print_line(describe_feedback([repeats.feedback_repeats()], repeats.goal))
    early = "" if config.evaluations is None else repeats.random_search_note(config.evaluations)
    for note in filter(None, [early, repeats.exhaustive_note(), *repeats.table.notes()]):
        print_line(note)
    if study.recorded:
        print_line(f"{counted(study.recorded, 'search')} already recorded")
