"""One search for each of several seeds: a group of runs in one folder, with a picture of their mean."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.curves import checked_spread
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    RunStoppedError,
    option,
    quote,
)
from nasbench1shot1.ground.files import as_path, picture_name, write_json
from nasbench1shot1.ground.text import counted, line_printer
from nasbench1shot1.jobs.job import Job, Workers, is_started
from nasbench1shot1.jobs.pool import (
    Watcher,
    WorkerOptions,
    first_failure,
    run_jobs,
    this_process,
)
from nasbench1shot1.jobs.progress import JobsProgress
from nasbench1shot1.one_shot_search.callbacks import Callback, check_callbacks, check_tensorboard
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.options import (
    SearchConfig,
    SearchOptions,
    search_options,
    table_of_search,
    threads_per_search,
)
from nasbench1shot1.one_shot_search.record import FIGURE, Run, open_search
from nasbench1shot1.one_shot_search.searching import SearchKind, check_data, check_recorded_phases, default_folder
from nasbench1shot1.registry import check_importable, check_recorded_names, with_names
from nasbench1shot1.runs.folder import CONFIG, METRICS, SEEDS, SUMMARY, read_lines, read_object
from nasbench1shot1.runs.lifecycle import is_aborted_start, list_names, locked_folder, occupied_error
from nasbench1shot1.runs.machine import check_recorded_device, check_threads, cpu_threads
from nasbench1shot1.runs.next_command import resume_advice, resume_options
from nasbench1shot1.runs.options import check_unchanged, checked_seeds, required
from nasbench1shot1.runs.overwriting import has_begun, moved_aside, replace_advice, restore_moved_aside
from nasbench1shot1.runs.running import check_equal_options, check_resumed

if TYPE_CHECKING:
    from rich.console import Console

SEARCH = "nasbench1shot1.one_shot_search.searching:search"
"""What a worker process runs, as module:function."""


@options_by_keyword('nb.search_seeds([0, 1], optimizer="darts")')
def search_seeds(
    seeds: Sequence[int] = (),
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    overwrite: bool = False,
    tensorboard: bool = False,
    allow_module: str | None = None,
    console: "Console | None" = None,
    callbacks: Sequence[Callback] = (),
    spread: Spread | None = None,
    **options: Any,
) -> SearchGroup:
    """Run one search for each seed, in `out/seed-<seed>`, and draw `out/regret.png` with their mean and spread.

    With `resume` (the folder of such a group) finished seeds are kept, a stopped one is resumed, and the others are
    run; no seeds are given then, and of the options only `epochs`. Likewise, searches with the same options that
    already lie in `out/seed-<seed>` become part of a new group.

    Args:
        seeds: the seeds of the searches.
        out: as in `search`; default: `runs/<optimizer>-<space>-seeds`.
        resume: the folder of a group to resume.
        overwrite, tensorboard, allow_module, console, callbacks, options: as in `search`. The fields of
            `jobs.pool.WorkerOptions`, such as workers=2, select where the searches run; other processes cannot have
            `callbacks`. By default, they run in this process. Results depend on `threads`, not on the number of
            workers; but at full scale on a CPU, the default of `threads` is the number of cores divided by the number
            of parallel searches.
        spread: what the bands of the picture show: "ci" (default, the 95 % confidence interval of the mean),
            "std", "quartiles" or "range".

    Returns:
        The group, a sequence of the finished runs in the order of the seeds.

    Raises:
        UserError: as in `search`; with several workers, after the searches that did not fail are finished.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    from nasbench1shot1.ground.notebooks import console_or_new

    workers, options = WorkerOptions.split(options)
    checked_spread(spread)
    check_callbacks(callbacks)
    if tensorboard:
        check_tensorboard()
    options, console = with_names(options), console_or_new(console)
    if resume is not None:
        check_resumed("group", out, overwrite)
        folder, wanted = _group_to_resume(as_path(resume, "resume", is_option=True), seeds, options, allow_module)
    else:
        folder, wanted = _new_group(seeds, out, options, workers.workers or 1)
        if not overwrite:
            _check_is_free(folder, wanted)
    if not workers.is_here:
        check_parallel(wanted[0], callbacks)
    if not workers.is_here or overwrite:
        check_data(wanted[0])
    with (
        moved_aside(folder, overwrite, SearchKind.REPLACES) as discards,
        locked_folder(folder),
        _resumable(folder, workers, is_new=resume is None),
    ):
        if resume is None:
            _check_is_free(folder, wanted)  # again, now that no other process writes there
        _check_started(folder, wanted)
        _write_group(folder, wanted)
        jobs = [_job(folder, one, tensorboard) for one in wanted]
        live = {"console": console, "callbacks": [*callbacks, *discards]}
        with _opened(workers, folder, wanted, jobs, live, discards) as (places, watcher):
            failures = run_jobs(jobs, places, watcher)
        if failures:
            has_recorded = has_begun(folder) if overwrite else any(is_started(job.folder) for job in jobs)
            is_kept = resume is not None or has_recorded
            again = f"continue with {resume_advice(folder, **workers.given)}" if is_kept else "start again"
            raise first_failure(jobs, failures, again, keeps_logs=is_kept)
    return _finish_group(SearchGroup.open(folder), wanted[0].common, console, spread)


def _new_group(
    seeds: Sequence[int], out: str | Path | None, options: dict[str, Any], workers: int
) -> tuple[Path, list[SearchOptions]]:
    """Check the options of every seed; nothing is written."""
    seeds = checked_seeds(seeds)
    if "seed" in options:
        raise InvalidInputError(f"give several seeds as {option('seeds')}, and remove {option('seed')}")
    shared = with_threads(options, min(workers, len(seeds)))
    wanted = [search_options({**shared, "seed": seed}) for seed in seeds]
    check_threads(wanted[0].common.threads)
    folder = as_path(out, "out", is_option=True) if out is not None else default_folder(wanted[0], "seeds")
    return folder, wanted


def _group_to_resume(
    folder: Path,
    seeds: Sequence[int],
    given: dict[str, Any],
    allow_module: str | None,
) -> tuple[Path, list[SearchOptions]]:
    if len(list(seeds)) or set(given) - {"epochs"}:
        raise InvalidInputError(
            f"{option('resume')} of several seeds cannot be combined with other options, except {option('epochs')}"
        )
    restore_moved_aside(folder)
    group = SearchGroup.open(folder)
    recorded_seeds, recorded = group.seeds, group.options
    where = folder / SEEDS
    check_recorded_names("optimizers", recorded, {}, where, allow_module)
    check_recorded_device(folder, recorded.get("device"))
    before = _options_per_seed(recorded_seeds, recorded, where)
    wanted = [search_options(given, kept=options.as_dict()) for options in before]
    check_unchanged(folder, before[0].as_dict(), {"epochs": wanted[0].common.epochs}, SearchKind.MAY_GROW)
    return folder, wanted


def _options_per_seed(seeds: Sequence[int], recorded: dict[str, Any], where: Path) -> list[SearchOptions]:
    try:
        return [search_options({"seed": seed}, kept=recorded) for seed in seeds]
    except InvalidInputError as error:
        raise DamagedFileError(
            f"{where} is damaged ({quote(error)}): restore it, or resume its runs one by one"
        ) from error


def _check_is_free(folder: Path, wanted: Sequence[SearchOptions]) -> None:
    """Refuse a folder that holds anything except searches of these seeds, such as those of a job array of Slurm.

    Raises InvalidInputError that says what the folder holds: a group to resume, a group or a search with other options,
    or something else.
    """
    names = list_names(folder)
    if _hold_seeds(folder, names, wanted):
        return
    advice = partial(replace_advice, folder, SearchKind.REPLACES)
    if SEEDS in names:
        shared = {name: value for name, value in wanted[0].as_dict().items() if name != "seed"}
        with suppress(DamagedFileError):  # a damaged group is not replaced either
            check_equal_options(folder, SearchGroup.open(folder).options, shared, SearchKind.WORD, advice)
    if names or (folder.exists() and not folder.is_dir()):
        is_finished = {CONFIG, SUMMARY} <= names or (SEEDS in names and _is_finished(folder))
        raise occupied_error(folder, SEEDS in names or CONFIG in names, is_finished, advice())


def _hold_seeds(folder: Path, names: set[str], wanted: Sequence[SearchOptions]) -> bool:
    """Return whether a folder holds one or more searches of these seeds, and nothing else.

    The remains of a start that was killed count as nothing. Raises InvalidInputError if a search has other options.
    """
    options = {f"seed-{one.common.seed}": one for one in wanted}
    found = names - {f"{name}.log" for name in options}
    runs = {name for name in found if is_started(folder / name)}
    if not runs or not found <= set(options) or not all(_has_not_begun(folder / name) for name in found - runs):
        return False
    for name in sorted(runs):
        recorded = open_search(folder / name).config
        check_unchanged(folder / name, recorded, options[name].as_dict(), SearchKind.MAY_GROW)
    return True


def _has_not_begun(run: Path) -> bool:
    return run.is_dir() and is_aborted_start(run)


def _check_started(folder: Path, wanted: Sequence[SearchOptions]) -> None:
    """Raise UserError if a search that was started cannot continue with its options, perhaps with more epochs.

    Nothing is written. Images and table are checked once, for the first search that becomes longer.
    """
    longer = list[tuple[SearchOptions, Run]]()
    for options in wanted:
        if not is_started(place := folder / f"seed-{options.common.seed}"):
            if place.exists() and not _has_not_begun(place):
                raise DamagedFileError(f"{place / CONFIG} is missing: restore it, or move {place} away")
            continue
        run = open_search(place)
        check_unchanged(place, run.config, options.as_dict(), SearchKind.MAY_GROW)
        check_recorded_phases(run, options)
        if run.config["epochs"] < options.common.epochs:
            longer.append((options, run))
    for options, run in longer[:1]:
        check_data(options, run)


def _is_finished(folder: Path) -> bool:
    """Return whether all searches of a group are finished; False if its record is damaged."""
    with suppress(DamagedFileError):
        return SearchGroup.open(folder).is_finished
    return False


def _write_group(folder: Path, wanted: Sequence[SearchOptions]) -> None:
    shared = {name: value for name, value in wanted[0].as_dict().items() if name != "seed"}
    content = {"seeds": [options.common.seed for options in wanted], "options": shared}
    if not (folder / SEEDS).is_file() or read_object(folder / SEEDS) != content:
        write_json(folder / SEEDS, content)


@contextmanager
def _resumable(folder: Path, workers: WorkerOptions, is_new: bool) -> Iterator[None]:
    """Let Ctrl-C name the command to resume a group, and an error remove a new group without runs."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise RunStoppedError(folder, Run.COMMAND, resume_options(folder, **workers.given)) from stop
    except Exception:
        if is_new:
            _remove_if_not_started(folder)
        raise


def _remove_if_not_started(folder: Path) -> None:
    """Remove the files of a group without runs, which would block the next attempt."""
    with suppress(OSError):
        if not any(folder.glob(f"seed-*/{CONFIG}")):
            for path in (folder / SEEDS, *folder.glob("seed-*.log")):
                path.unlink()


def _finish_group(group: SearchGroup, options: SearchConfig, console: "Console", spread: Spread | None) -> SearchGroup:
    from nasbench1shot1.one_shot_search.pictures import lacks_pictures, save_pictures
    from nasbench1shot1.one_shot_search.regret_curve import regret_figure
    from nasbench1shot1.one_shot_search.screen import show_group_result

    table = table_of_search(options)
    for run in filter(lacks_pictures, group):
        save_pictures(run, table)
    figure = regret_figure(group.runs, [run.metrics for run in group], table, spread=spread, style=options.figure_style)
    save_figure(figure, group.folder / picture_name(FIGURE, options.format))
    show_group_result(group, table, console)
    return group


# Several searches at the same time, each in a process of its own ------------------------------------------------------


def with_threads(options: dict[str, Any], workers: int) -> dict[str, Any]:
    """Return options in which `threads`, unless given, is `threads_per_search` search.

    The result has a value for `threads` only if several workers run on a CPU. Raises the errors of `search_options`.
    """
    if workers == 1 or options.get("threads") is not None:
        return options
    common = search_options(options).common
    return {**options, "threads": threads_per_search(common, workers)} if common.device == "cpu" else options


def check_parallel(options: SearchOptions, callbacks: Sequence[object]) -> None:
    """Raise InvalidInputError for what other processes cannot have: callbacks, and objects of a script."""
    if callbacks:
        raise InvalidInputError(
            f"callbacks cannot be called from other processes: remove {option('workers')} or callbacks"
        )
    check_importable(options.common.optimizer, "optimizer")
    check_importable(options.common.space, "space")


@contextmanager
def _opened(
    where: WorkerOptions,
    folder: Path,
    wanted: Sequence[SearchOptions],
    jobs: Sequence[Job],
    live: dict[str, Any],
    discards: Sequence[Callable[[], None]],
) -> Iterator[tuple[Workers, Watcher[Job]]]:
    """Open the workers of a group, and the screen of all its searches.

    In this process, each search has a screen of its own, and the first error ends the group. If all searches are
    finished, no other process is started.

    Args:
        where: where the searches run.
        folder: the folder of the group.
        wanted: the options of every search.
        jobs: a job for every search.
        live: what searches in this process receive besides their options.
        discards: functions that are called at least once after the first epoch of any search is recorded.
    """
    common, console = wanted[0].common, live["console"]
    todo = [options for options, job in zip(wanted, jobs, strict=True) if not job.is_finished]
    if where.is_here or not todo:
        with this_process(live) as workers, cpu_threads(common.threads):
            yield workers, _OwnScreens(console)
        return
    with where.open(common.device, required(common.threads), console) as workers:
        _announce(folder, todo, workers.count, console)
        with SeedsProgress(jobs, common.epochs, console, discards) as progress:
            yield workers, progress


def _announce(folder: Path, todo: Sequence[SearchOptions], workers: int, console: "Console") -> None:
    """Print which searches are about to run, and where."""
    from nasbench1shot1.one_shot_search.screen import announce_table

    print_line, common = line_printer(console), todo[0].common
    epochs, searches = counted(common.epochs, "epoch"), counted(len(todo), "search")
    print_line(f"{common.optimizer} on {common.space}: {searches} of {epochs}, into {folder}")
    threads = counted(required(common.threads), "thread")
    where = f", each with {threads}" if common.device == "cpu" else f" on {common.device}"
    print_line(f"{min(workers, len(todo))} at the same time{where}; their output: {folder}/seed-*.log")
    announce_table(table_of_search(common), print_line)


def _job(group: Path, options: SearchOptions, tensorboard: bool) -> Job:
    every, seed = {**options.as_dict(), "tensorboard": tensorboard}, options.common.seed
    return Job(
        name=f"seed {seed}",
        command=SEARCH,
        folder=group / f"seed-{seed}",
        options=every,
        resume_options=every,
        extends={"epochs": options.common.epochs},
        threads=options.common.threads,
        gpu=options.common.device != "cpu",
    )


class _OwnScreens(Watcher[Job]):
    """Prints a line for each search that is already finished; the others have screens of their own."""

    def __init__(self, console: "Console") -> None:
        self._print_line = line_printer(console)

    def skipped(self, job: Job) -> None:
        self._print_line(f"{job.folder} is already finished.")


class SeedsProgress(JobsProgress[Job]):
    """Shows a bar over the epochs of all searches, and a line for each search that ends; a context manager."""

    def __init__(
        self, jobs: Sequence[Job], epochs: int, console: "Console", discards: Sequence[Callable[[], None]]
    ) -> None:
        super().__init__(jobs, console)
        self._discards, self._total, self._before = discards, len(jobs) * epochs, self._done()
        self._task = self._bar.add_task("", total=self._total, completed=self._before)

    def tick(self, waiting: Sequence[Job]) -> None:
        """Move the bar to the number of recorded epochs."""
        done = self._done()
        for discard in self._discards if done > self._before else ():
            discard()
        text = f"epochs {done}/{self._total}, searches {self.count}"
        self._bar.update(self._task, completed=done, description=text)

    def _done(self) -> int:
        """Return the number of recorded epochs of all searches, without epoch 0."""
        return sum(max(len(read_lines(job.folder / METRICS)) - 1, 0) for job in self._jobs)
