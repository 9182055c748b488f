"""The searches of several seeds in parallel worker processes on this machine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, line_printer
from nasbench1shot1.jobs.job import Job, is_started
from nasbench1shot1.jobs.pool import Watcher, open_workers, run_jobs
from nasbench1shot1.named_data import check_importable
from nasbench1shot1.one_shot_search.options import SearchOptions, search_options, threads_per_search
from nasbench1shot1.one_shot_search.overwriting import has_recorded_epoch
from nasbench1shot1.one_shot_search.record import open_search
from nasbench1shot1.runs.folder import METRICS, SUMMARY, read_lines
from nasbench1shot1.runs.lock import locked
from nasbench1shot1.runs.next_command import resume_options
from nasbench1shot1.runs.options import check_unchanged, required

if TYPE_CHECKING:
    from rich.console import Console

SEARCH = "nasbench1shot1.one_shot_search.searching:search"


def with_threads(options: dict[str, Any], workers: int) -> dict[str, Any]:
    """Return options in which `threads`, unless given, is `threads_per_search` search.

    The result has a value for `threads` only if several workers run on a CPU. Raises as `search_options` does.
    """
    if workers == 1 or options.get("threads") is not None:
        return options
    common = search_options(options).common
    return {**options, "threads": threads_per_search(common, workers)} if common.device == "cpu" else options


def check_parallel(options: SearchOptions, callbacks: Sequence[object]) -> None:
    """Raise InvalidInputError for what other processes cannot have: callbacks, and objects of a script."""
    if callbacks:
        raise InvalidInputError("callbacks cannot be called from other processes: remove workers or callbacks")
    check_importable(options.common.optimizer, "optimizer")
    check_importable(options.common.space, "space")


def search_in_workers(
    folder: Path,
    wanted: Sequence[SearchOptions],
    workers: int,
    console: "Console | None",
    discards: Sequence[Callable[[], None]],
    tensorboard: bool,
    overwrite: bool,
) -> None:
    """Run the searches of a group that are not finished, several at the same time, each in a process of its own.

    Args:
        folder: the folder of the group.
        wanted: the options of every search.
        workers: number of processes.
        console: for the progress; a new one if None.
        discards: functions that are called at least once after the first epoch of any search is recorded.
        tensorboard, overwrite: as in `searching.search`.

    Raises:
        InvalidInputError: a search in the folder has other options.
        UserError: a search failed; the others were run to their ends.
    """
    from rich.console import Console

    console = console or Console()
    announce(folder, wanted, workers, console)
    jobs = [_job(folder, options, tensorboard) for options in wanted]
    for job, options in zip(jobs, wanted, strict=True):
        _prepare(job.folder, options)
    common = wanted[0].common
    with (
        open_workers(None, workers, common.device, required(common.threads)) as places,
        SeedsProgress(jobs, common.epochs, console, discards) as progress,
    ):
        failures = run_jobs(jobs, places, progress)
    if failures:
        name, message = next(iter(failures.items()))
        is_kept = has_recorded_epoch(folder) if overwrite else any(is_started(job.folder) for job in jobs)
        advice = f"continue with {resume_options(folder, workers_option(workers))}" if is_kept else "start again"
        raise UserError(f"{name} failed ({message}): fix the cause, then {advice}")


def workers_option(workers: int) -> str:
    """Return the option that resumes a group with as many workers; empty for one, the default."""
    return f"--workers {workers}" if workers > 1 else ""


def _job(group: Path, options: SearchOptions, tensorboard: bool) -> Job:
    every, seed = {**options.as_dict(), "tensorboard": tensorboard}, options.common.seed
    return Job(
        name=f"seed {seed}",
        command=SEARCH,
        folder=group / f"seed-{seed}",
        options=every,
        resume_options=every,
        threads=options.common.threads,
    )


def _prepare(folder: Path, options: SearchOptions) -> None:
    """Check that a search was started with these options; a finished search of fewer epochs becomes a stopped one."""
    if not is_started(folder):
        return
    recorded = open_search(folder).config
    check_unchanged(folder, recorded, options.as_dict(), ("epochs",))
    if recorded["epochs"] < options.common.epochs:
        with locked(folder):
            (folder / SUMMARY).unlink(missing_ok=True)


def announce(folder: Path, wanted: Sequence[SearchOptions], workers: int, console: "Console") -> None:
    """Print what is about to run, and where."""
    from nasbench1shot1.one_shot_search.screen import announce_table
    from nasbench1shot1.tables.table import load_table

    print_line, common = line_printer(console), wanted[0].common
    epochs, searches = counted(common.epochs, "epoch"), counted(len(wanted), "search")
    print_line(f"{common.optimizer} on {common.space}: {searches} of {epochs}, into {folder}")
    threads = counted(required(common.threads), "thread")
    where = f", each with {threads}" if common.device == "cpu" else f" on {common.device}"
    print_line(f"{min(workers, len(wanted))} at the same time{where}; their output: {folder}/seed-*.log")
    announce_table(load_table(common.table), print_line)


class SeedsProgress(ProgressDisplay, Watcher[Job]):
    """Shows a bar over the epochs of all searches, and a line for each search that ends; a context manager."""

    def __init__(
        self, jobs: Sequence[Job], epochs: int, console: "Console", discards: Sequence[Callable[[], None]]
    ) -> None:
        self._jobs, self._epochs, self._print_line, self._discards = jobs, epochs, line_printer(console), discards
        self._ended = sum(job.is_finished for job in jobs)
        self._before = self._done()
        super().__init__(console)
        self._task = self._bar.add_task("", total=len(jobs) * epochs, completed=self._before)

    def __enter__(self) -> Self:
        super().__enter__()
        self.tick([])
        return self

    def tick(self, waiting: Sequence[Job]) -> None:
        """Move the bar to the number of recorded epochs."""
        done, total = self._done(), len(self._jobs) * self._epochs
        for discard in self._discards if done > self._before else ():
            discard()
        text = f"epochs {done}/{total}, searches {self._ended}/{len(self._jobs)}"
        self._bar.update(self._task, completed=done, description=text)

    def finished(self, job: Job) -> None:
        """Print the regret of a search."""
        from nasbench1shot1.one_shot_search.screen import format_regret

        self._end(job, f"test regret {format_regret(open_search(job.folder).summary, 'test')}")

    def failed(self, job: Job, message: str) -> None:
        """Print why a search failed."""
        self._end(job, f"FAILED: {message}")

    def _end(self, job: Job, text: str) -> None:
        self._ended += 1
        self._print_line(f"{self._ended:>3}/{len(self._jobs)}  {job.name}: {text}")
        self.tick([])

    def _done(self) -> int:
        """Return the number of recorded epochs of all searches, without epoch 0."""
        return sum(max(len(read_lines(job.folder / METRICS)) - 1, 0) for job in self._jobs)
