"""Running black-box studies, new or resumed, from options to a finished record, with their terminal output."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from nasbench1shot1.black_box_search.options import BlackBoxOptions, black_box_options, recorded_study
from nasbench1shot1.black_box_search.record import FIGURE, BlackBoxStudy, statistics_of, summarise
from nasbench1shot1.black_box_search.repeats import Places, Repeats, run_parts, table_of_study, with_dataset
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path, picture_name
from nasbench1shot1.ground.notebooks import console_or_new
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, line_printer
from nasbench1shot1.registry import check_importable, check_trusted, search_space, with_names
from nasbench1shot1.runs.folder import CONFIG, PARTS, check_facts, description
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.options import check_range, check_unchanged
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer


@options_by_keyword('nb.black_box("random", space="s1")')
def black_box(
    optimizer: "str | type[BlackBoxOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    allow_module: str | None = None,
    console: Console | None = None,
    **options: Any,
) -> BlackBoxStudy:
    """Repeat a black-box search on a table with a simulated clock, or resume a stopped study.

    Args:
        optimizer: name of the optimizer, its class, or "module:Class". Default: "regularized-evolution".
        out: folder of the new study; it must not exist. Default: `runs/blackbox-<optimizer>-<space>-<seed>`.
        resume: folder of a stopped study. Cannot be combined with `out`; only `repeats` may increase.
        workers: number of parallel worker processes. Default: 1, which searches in this process. Results do not depend
            on the number of workers.
        scheduler: address of a dask scheduler whose workers run the searches instead (docs/jobs.md).
        allow_module: module that `resume` may import because the study's config.json names it.
        console: rich console for progress output. Default: a new console. `Console(quiet=True)` is silent.
        options: fields of `black_box_search.options.BlackBoxConfig`, such as space="s1", seconds=1e7, repeats=500 or
            objective="trainable_parameters", and of the optimizer's `Hyperparameters`. `space` may be an
            `nb.SearchSpace` that a module has as an attribute, `table` an `nb.Table` that has a folder.

    Returns:
        The finished study. `.final` has one row per search, `.trajectory` one row per incumbent.

    Raises:
        UserError: a name or option is unknown, a value is out of range, the folder exists, the table lacks a value, or
            the disk is full. Recorded searches are kept.
        RunStoppedError: Ctrl-C stopped the study; the message names the folder to resume.
    """
    if isinstance(optimizer, type):  # found again by module and name, also in a notebook
        optimizer = f"{optimizer.__module__}:{optimizer.__qualname__}"
    options = with_names(options)
    given = options if optimizer is None else {"optimizer": optimizer, **options}
    check_range("workers", workers, 1)
    places = Places(workers, scheduler)
    if resume is None:
        wanted = black_box_options(given)
        return _start(wanted, as_path(out, "--out") if out is not None else _default_folder(wanted), places, console)
    if out is not None:
        raise InvalidInputError("--resume continues in the study's own folder: remove --out")
    return _resume(as_path(resume, "--resume"), given, places, console, allow_module)


def _check_places(options: BlackBoxOptions, places: Places) -> None:
    """Raise InvalidInputError for an object of a script or notebook, which other processes cannot import."""
    if options.common.optimizer.startswith("__main__:") and not places.is_local:
        raise InvalidInputError(
            f"{options.method.__name__} is a class of this script or notebook, which other processes cannot import: "
            "remove workers and scheduler, or move the class into a module"
        )
    if not places.is_local:
        check_importable(options.common.space, "space")


def _default_folder(options: BlackBoxOptions) -> Path:
    common = options.common
    space = search_space(common.space).name
    return Path("runs") / f"blackbox-{common.optimizer.rpartition(':')[2]}-{space}-{common.seed}"


def _start(options: BlackBoxOptions, folder: Path, places: Places, console: Console | None) -> BlackBoxStudy:
    from nasbench1shot1.runs.machine import environment

    _check_places(options, places)
    repeats = _repeats(options)
    check_is_new(folder)
    with new_run(folder, RunWriter[BlackBoxStudy], BlackBoxStudy) as writer:
        facts = {**_facts(repeats), **repeats.goal.fields()}
        described = description(BlackBoxStudy.KIND, repeats.options.sections(), facts)
        writer.describe(described, environment("cpu"))
        return _finish(repeats, writer, places, console)


def _resume(
    folder: Path, given: Mapping[str, Any], places: Places, console: Console | None, allow_module: str | None
) -> BlackBoxStudy:
    BlackBoxStudy.open(folder)
    given = {name: value for name, value in given.items() if value is not None}
    with existing_run(folder, RunWriter[BlackBoxStudy], BlackBoxStudy) as writer:
        study = BlackBoxStudy.open(folder)
        recorded, _ = study.config, study.lines  # raises if a finished study was changed afterwards
        options = _resumed_options(folder, recorded, given, allow_module)
        _check_places(options, places)
        repeats = _repeats(options)
        check_facts(folder, recorded, _facts(repeats))
        writer.keep_complete_lines()
        writer.update({"repeats": options.common.repeats})
        return _finish(repeats, writer, places, console)


def _resumed_options(
    folder: Path, recorded: Mapping[str, Any], given: Mapping[str, Any], allow_module: str | None
) -> BlackBoxOptions:
    """Return the recorded options, with `repeats` increased if given; other options must equal the recorded ones."""
    if given.get("optimizer") != recorded["optimizer"]:  # giving the optimizer also permits its import
        check_trusted("black_box_optimizers", "optimizer", recorded["optimizer"], folder / CONFIG, allow_module)
    if given.get("space") != recorded["space"]:
        check_trusted("search_spaces", "space", recorded["space"], folder / CONFIG, allow_module)
    if "optimizer" in given:  # the other options depend on it
        check_unchanged(folder, recorded, {"optimizer": given["optimizer"]}, ())
    kept = recorded_study(recorded, folder / CONFIG)
    wanted = black_box_options({**kept.as_dict(), **given})
    check_unchanged(folder, recorded, {name: wanted.as_dict()[name] for name in given}, ("repeats",))
    return wanted


def _repeats(options: BlackBoxOptions) -> Repeats:
    table = table_of_study(options)
    repeats = Repeats(with_dataset(options, table), table)
    repeats.check_objective()
    repeats.method(np.random.default_rng(0))  # raises before the study begins if the optimizer refuses it
    return repeats


def _facts(repeats: Repeats) -> dict[str, Any]:
    return {"space_id": repeats.space.id, "table_id": repeats.table.id}


def _finish(
    repeats: Repeats, writer: RunWriter[BlackBoxStudy], places: Places, console: Console | None
) -> BlackBoxStudy:
    """Run the remaining searches, then write the summary and the picture."""
    from nasbench1shot1.black_box_search.drawing import regret_figure

    console = announce(repeats, writer, console)
    first, last = writer.recorded, repeats.options.common.repeats
    with StudyProgress(first, last, console) as progress:
        if places.is_local and not (writer.folder / PARTS).exists():
            for repeat in range(first, last):
                writer.append_line(repeats.line(repeat))
                progress.recorded(repeat + 1)
        else:  # also finishes parts that other processes left
            run_parts(repeats.options, writer, last, places, progress)
    study = BlackBoxStudy.open(writer.folder)
    summary = summarise(study.config, BlackBoxStudy.read_lines(writer.folder))
    writer.finish(summary)
    if summary["test_regret"] is not None:
        save_figure(regret_figure([study]), writer.folder / picture_name(FIGURE, study.config["format"]))
    show_result(study, console)
    return study


class StudyProgress(ProgressDisplay):
    """A progress bar of finished searches, as a context manager. Without a terminal, it prints nothing."""

    def __init__(self, done: int, searches: int, console: Console) -> None:
        super().__init__(console)
        self._searches, self._task = searches, self._bar.add_task("", total=searches)
        self.recorded(done)

    def recorded(self, searches: int) -> None:
        """Set the number of finished searches."""
        self._bar.update(self._task, completed=searches, description=f"searches {searches}/{self._searches}")


def announce(repeats: Repeats, writer: RunWriter[BlackBoxStudy], console: Console | None) -> Console:
    """Print the settings of the study and return the console."""
    console = console_or_new(console)
    print_line, config = line_printer(console), repeats.options.common
    print_line(f"{config.optimizer} on {config.space}, seed {config.seed}; folder: {writer.folder}")
    ends = [f"{config.seconds:,.0f} simulated seconds"] if config.seconds is not None else []
    ends += [counted(config.evaluations, "training")] if config.evaluations is not None else []
    print_line(f"{counted(config.repeats, 'search')} of {' or '.join(ends)} each")
    if sentence := repeats.goal.sentence():
        print_line(sentence)
    print_line(f"Table {repeats.table.id}, data set {config.dataset}, {counted(repeats.epochs, 'epoch')} per training")
    for note in repeats.table.notes():
        print_line(note)
    if writer.recorded:
        print_line(f"{counted(writer.recorded, 'search')} already recorded")
    return console


def show_result(study: BlackBoxStudy, console: Console) -> None:
    """Print the regret over all searches and the path of the picture."""
    print_line, regrets = line_printer(console), statistics_of([line["test_regret"] for line in study.lines])
    goal = study.goal
    if regrets is None:
        name = goal.regret.replace("regret", "regrets", 1)
        print_line(f"The table lacks {name} of final incumbents, so no picture was drawn.")
        return
    predicted = "" if all(line["test_measured"] for line in study.lines) else " (predicted)"
    mean, std, median = (goal.text(regrets[name]) for name in ("mean", "std", "median"))
    print_line(f"{goal.title} of the final incumbents: {mean} ± {std}, median {median}{predicted}")
    print_line(f"Picture: {study.folder / picture_name(FIGURE, study.config['format'])}")
