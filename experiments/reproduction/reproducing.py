"""A figure of the paper from beginning to end: search what is missing, draw, and say what came out."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import InvalidInputError, UserError
from nasbench1shot1.experiments.reproduction.drawing import as_table, draw, results
from nasbench1shot1.experiments.reproduction.expectation import Kind, makespan, measure, seconds_left
from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import FigureJob, check_recorded, figure_named, jobs_of, resolved
from nasbench1shot1.experiments.reproduction.outputs import check_is_of, mark, stem
from nasbench1shot1.experiments.reproduction.screen import FigureProgress, list_jobs, show_results
from nasbench1shot1.files import check_writable, replacing, save_figure
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.jobs.job import Workers
from nasbench1shot1.jobs.running import run_jobs
from nasbench1shot1.jobs.workers import open_workers
from nasbench1shot1.runs.lock import locked
from nasbench1shot1.runs.options import absolute_file
from nasbench1shot1.wording import counted, duration, sayer

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.tables.table import Table


def reproduce(
    name: str,
    *,
    scale: str = "full",
    out: str | Path | None = None,
    only: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    dry_run: bool = False,
    console: "Console | None" = None,
    **options: Any,
) -> Path | None:
    """Search all that a figure shows, several searches at once, and draw it; after a stop, the same call continues.

    Args:
        name: "figure2", …: a key of `figures.FIGURES`.
        scale: "full" (the paper's setting) or "quick".
        out: folder of runs, picture and CSV; `reproduce/<name>-<scale>` if not given.
        only: parts of the figure, as in `jobs.figure_named`.
        seeds: the scale's if not given.
        workers: searches at once; one per GPU or per free core if not given.
        scheduler: address of a dask scheduler, whose workers then run the searches.
        dry_run: only list the searches and how long they would take.
        options: of every search, before the figure's own.

    Returns:
        The picture; None after a dry run.

    Raises:
        UserError: bad input before anything is written; or at the end, that searches failed. All others are done then.
        KeyboardInterrupt: Ctrl-C; its message says how to continue.
    """
    from rich.console import Console

    from nasbench1shot1.tables.table import load_table

    console = console or Console()
    folder = as_path(out, "--out") if out else Path("reproduce") / f"{name}-{scale}"
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file: choose another --out")
    figure = figure_named(name, only)
    check_is_of(folder, name)
    with open_workers(scheduler, workers, options.get("device", "auto"), options.get("threads", 1)) as places:
        given = _with_absolute_paths(options)
        if scheduler is not None:
            sayer(console)(f"Planning on a worker of {scheduler} …")
        jobs = jobs_of(figure, scale, folder, given, seeds, lambda wanted: places.call(resolved, wanted))
        check_recorded(jobs, options)
        _check_images(jobs, places)
        table = load_table(options.get("table"))
        if dry_run:
            _announce(jobs, places, console, list_them=True)
            return None
        check_writable(folder)
        try:
            failures = _search(name, jobs, folder, places, console)
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(
                f"stopped; finished searches stay in {folder}: run the same command to continue"
            ) from stop
    picture = _draw(name, stem(name, only), figure, jobs, table, folder, console)
    if failures:
        told = "; ".join(f"{job}: {sentence}" for job, sentence in failures.items())
        raise UserError(f"{len(failures)} of {_searches(len(jobs))} failed, which the same command tries again: {told}")
    return picture


def _with_absolute_paths(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with paths that a worker can read, whose working folder may be another."""
    from nasbench1shot1.tables.names import as_recorded

    changes = {"images": absolute_file, "table": as_recorded}
    return {name: changes[name](value) if name in changes else value for name, value in options.items()}


def _check_images(jobs: Sequence[FigureJob], workers: Workers) -> None:
    """Raise UserError, before anything is printed, where workers lack the images of what is still to be searched."""
    if todo := [job for job in jobs if not job.is_finished]:
        workers.call(_load_images, todo[0].options["images"])  # all searches of a figure use the same images


def _load_images(name: str) -> None:
    from nasbench1shot1.images.image_set import load_images

    load_images(name)


def _search(name: str, jobs: Sequence[FigureJob], folder: Path, workers: Workers, console: "Console") -> dict[str, str]:
    """Run what is not finished; returns why searches failed, by name."""
    per_epoch = _announce(jobs, workers, console)
    todo = [job for job in jobs if not job.is_finished]
    if not todo:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    mark(folder, name)
    with locked(folder), FigureProgress(todo, per_epoch, workers.count, console) as watcher:
        failures = run_jobs(todo, workers, watcher)
    sayer(console)(f"{_searches(len(todo))} in {(time.monotonic() - started) / 60:.1f} min")
    return failures


def _announce(
    jobs: Sequence[FigureJob], workers: Workers, console: "Console", list_them: bool = False
) -> dict[Kind, float]:
    """Say how much is to be done and how long it will take; returns the seconds per epoch."""
    say, todo = sayer(console), [job for job in jobs if not job.is_finished]
    finished = len(jobs) - len(todo)
    done = f"; {finished} {'is' if finished == 1 else 'are'} finished" if finished else ""
    say(f"{_searches(len(jobs))} of {counted(jobs[0].epochs, 'epoch')}{done}")
    if todo:
        epochs = sum(job.epochs - job.epochs_done() for job in todo)
        at_once = _searches(min(workers.count, len(todo)))
        say(f"{counted(epochs, 'epoch')} to go, {at_once} at once; timing a step of each kind …")
    per_epoch = workers.call(measure, todo)
    if list_them:
        list_jobs(jobs, per_epoch, console)
    if todo:
        seconds = [seconds_left(job, per_epoch, job.epochs_done()) for job in todo]
        say(f"This will take {duration(makespan(seconds, workers.count))}.")
    return per_epoch


def _searches(number: int) -> str:
    return f"{number} search{'' if number == 1 else 'es'}"


def _draw(
    name: str,
    stem: str,
    figure: PaperFigure,
    jobs: Sequence[FigureJob],
    table: "Table",
    folder: Path,
    console: "Console",
) -> Path:
    found, picture, values = results(figure, jobs, table), folder / f"{stem}.png", folder / f"{stem}.csv"
    if not found:
        return picture  # all have failed, and the error says why
    with replacing(values) as file:
        file.write(as_table(found).to_csv(index=False).encode())
    seeds = len({job.options["seed"] for job in jobs})
    save_figure(draw(name, figure, found, seeds, table), picture)
    show_results(found, console)
    say = sayer(console)
    say(f"Table {table.id}")
    say(f"Values per epoch: {values}")
    say(f"Picture: {picture}")
    return picture
