"""A figure of the paper from beginning to end: search what is missing, draw, and say what came out."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import InvalidInputError, UserError
from nasbench1shot1.experiments.anytime_regret import save_figure
from nasbench1shot1.experiments.reproduction.drawing import as_table, draw, results
from nasbench1shot1.experiments.reproduction.expectation import Kind, makespan, measure, seconds_left
from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import Job, check_recorded, figure_named, jobs_of
from nasbench1shot1.experiments.reproduction.pool import Place, places, run_jobs
from nasbench1shot1.experiments.reproduction.screen import FigureProgress, list_jobs, show_results
from nasbench1shot1.files import check_writable, replacing
from nasbench1shot1.progress import duration, sayer
from nasbench1shot1.run_folder import FolderWriter

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.table import Table


def reproduce(
    name: str,
    *,
    scale: str = "full",
    out: str | Path | None = None,
    only: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    dry_run: bool = False,
    console: "Console | None" = None,
    **options: Any,
) -> Path | None:
    """Search all that a figure shows, several searches at once, and draw it; the same call goes on after a stop.

    Args:
        name: "figure2", …: a key of `figures.FIGURES`.
        scale: "full" (the paper's setting) or "quick".
        out: folder of runs, picture and CSV; `reproduce/<name>-<scale>` if not given.
        only: parts of the figure, as in `jobs.figure_named`.
        seeds: the scale's if not given.
        workers: searches at once; one per GPU or per free core if not given.
        dry_run: only list the searches and how long they would take.
        options: of every search, before the figure's own.

    Returns:
        The picture; None after a dry run.

    Raises:
        UserError: bad input before anything is written; or at the end, that searches failed. All others are done then.
        KeyboardInterrupt: Ctrl-C; it says how to go on.
    """
    from rich.console import Console

    from nasbench1shot1.table import load_table

    console = console or Console()
    folder = Path(out).expanduser() if out else Path("reproduce") / f"{name}-{scale}"
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file: choose another --out")
    figure = figure_named(name, only)
    jobs = jobs_of(figure, scale, folder, options, seeds)
    check_recorded(jobs, options)
    table = load_table(options.get("table"))
    if dry_run:
        _announce(jobs, _places(jobs, workers), console, list_them=True)
        return None
    check_writable(folder)
    try:
        failures = _search(jobs, folder, workers, console)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"stopped; what is done stays in {folder}, and the same command goes on") from stop
    picture = _draw(name, figure, jobs, table, folder, console)
    if failures:
        told = "; ".join(f"{job}: {sentence}" for job, sentence in failures.items())
        raise UserError(f"{len(failures)} of {len(jobs)} searches failed, which the same command tries again: {told}")
    return picture


def _places(jobs: Sequence[Job], workers: int | None) -> list[Place]:
    import torch

    options = jobs[0].options
    return places(workers, options["device"], options["threads"], torch.cuda.device_count())


def _search(jobs: Sequence[Job], folder: Path, workers: int | None, console: "Console") -> dict[str, str]:
    """Run what is not finished; returns why searches failed, by name."""
    where = _places(jobs, workers)
    per_epoch = _announce(jobs, where, console)
    todo = [job for job in jobs if not job.is_finished]
    if not todo:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with FolderWriter(folder).locked(), FigureProgress(todo, per_epoch, len(where), console) as watcher:
        run_jobs(todo, where, watcher)
    sayer(console)(f"{len(todo)} searches in {(time.monotonic() - started) / 60:.1f} min")
    return watcher.failures


def _announce(
    jobs: Sequence[Job], where: Sequence[Place], console: "Console", list_them: bool = False
) -> dict[Kind, float]:
    """Say how much is to be done and how long it will take; returns the seconds per epoch."""
    say, todo = sayer(console), [job for job in jobs if not job.is_finished]
    done = f"; {len(jobs) - len(todo)} are finished" if len(todo) < len(jobs) else ""
    say(f"{len(jobs)} searches of {jobs[0].epochs} epochs{done}")
    if todo:
        epochs = sum(job.epochs - job.epochs_done() for job in todo)
        say(f"{epochs:,} epochs to go, {len(where)} searches at once; timing a step of each kind …")
    per_epoch = measure(todo)
    if list_them:
        list_jobs(jobs, per_epoch, console)
    if todo:
        seconds = [seconds_left(job, per_epoch, job.epochs_done()) for job in todo]
        say(f"This will take {duration(makespan(seconds, len(where)))}.")
    return per_epoch


def _draw(
    name: str, figure: PaperFigure, jobs: Sequence[Job], table: "Table", folder: Path, console: "Console"
) -> Path:
    found = results(figure, jobs, table)
    if not found:
        return folder / f"{name}.png"  # all have failed, and the error says why
    with replacing(folder / f"{name}.csv") as file:
        file.write(as_table(found).to_csv(index=False).encode())
    seeds = len({job.options["seed"] for job in jobs})
    save_figure(draw(name, figure, found, seeds, table), folder / f"{name}.png")
    show_results(found, console)
    say = sayer(console)
    say(f"Table {table.id}")
    say(f"Values per epoch: {folder / f'{name}.csv'}")
    say(f"Picture: {folder / f'{name}.png'}")
    return folder / f"{name}.png"
