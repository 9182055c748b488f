"""Reproduction of a figure from its name to its picture: run the missing jobs, draw the figure, print the results."""

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.colours import Colors
from nasbench1shot1.display.curves import checked_spread
from nasbench1shot1.display.style import AnyStyle, Spread
from nasbench1shot1.experiments.planning.plan import needed_note
from nasbench1shot1.experiments.reproduction.figure_jobs import Reproduction, open_figure
from nasbench1shot1.experiments.reproduction.forecast import Paces, by_stage, describe_time, figure_plan, measure
from nasbench1shot1.experiments.reproduction.joining import check_joined
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.experiments.reproduction.progress import FigureProgress, counted_jobs, describe_work, nouns
from nasbench1shot1.experiments.reproduction.records import MARK, check_name, read_records_of
from nasbench1shot1.experiments.reproduction.records import pack as write_records
from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    UserError,
    either,
    option,
    quote,
    shell_word,
    shorten,
    switch,
)
from nasbench1shot1.ground.files import (
    PictureFormat,
    as_path,
    atomic_write,
    check_writable,
    check_writable_file,
    write_json,
)
from nasbench1shot1.ground.folder_swap import discard_folder
from nasbench1shot1.ground.text import counted, line_printer
from nasbench1shot1.jobs.job import Workers, is_started
from nasbench1shot1.jobs.pool import run_jobs
from nasbench1shot1.runs.devices import USUAL
from nasbench1shot1.runs.folder import CONFIG, damaged_file_error, read_object
from nasbench1shot1.runs.lifecycle import check_is_new, locked_folder

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.experiments.reproduction.results.base import Results
    from nasbench1shot1.tables.table import Table

LONGEST = 80  # maximum number of characters for the parts in a file name
OF_RUNNING = ("device", "workers")
"""Options that have no effect if nothing runs. Others, such as `threads`, are compared with the finished runs."""


def reproduce(
    name: str,
    *,
    scale: str = "full",
    out: str | Path | None = None,
    only: Sequence[str] = (),
    joined: Sequence[str | Path] = (),
    seeds: Sequence[int] | None = None,
    draw_only: bool = False,
    records: str | Path | None = None,
    pack: str | Path | None = None,
    format: PictureFormat = "png",
    style: AnyStyle | None = None,
    spread: Spread | None = None,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Path:
    """Run the jobs of a figure in parallel and draw the figure. To continue after a stop, repeat the call.

    Args:
        name: "figure2", …: a key of `figures.FIGURES`.
        scale: "full" (the paper's setting), "long", "medium" or "quick".
        out: folder of the runs, the picture and the CSV file. Default: `reproduce/<name>-<scale>`, with the name of the
            figure whose runs are shown.
        only: parts of the figure, as in `open_figure`.
        joined: folders of finished runs to show, as in `open_figure`.
        seeds: random seeds. Default: the seeds of the scale.
        draw_only: draw the finished jobs and run none; another process may be running them. `device` and `workers`
            would have no effect, and are refused.
        records: a file that `pack` wrote. Its finished jobs are copied to `out`, unless they have been started there.
        pack: a .tar.xz file to which the records of all finished jobs are written, without checkpoints, pictures, and
            files of rankings that the figure does not need (`records.LEFT_OUT`).
        format: file format of the picture.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).
        spread: what bands show: "ci" (default, the 95 % confidence interval), "std", "quartiles" or
            "range".
        colors: colours by the label or key of a curve, or one per curve. Default: the colours of methods and variants.
        labels: labels of the curves, in the order of the figure.
        console: a rich console for the output. Default: a new console.
        options: options of every job, which override the figure's own options; and the fields of
            `jobs.pool.WorkerOptions`, such as workers=2. Default: one worker per GPU, or as many as fit on the cores.

    Returns:
        The path of the picture.

    Raises:
        UserError: bad input, before anything is written; or jobs failed, after all other jobs are finished.
        KeyboardInterrupt: Ctrl-C; the message explains how to continue.
    """
    from nasbench1shot1.ground.notebooks import console_or_new

    console, band = console_or_new(console), checked_spread(spread)
    if draw_only and (useless := [name for name in OF_RUNNING if options.get(name) is not None]):
        raise InvalidInputError(f"{option(useless[0])} has no effect with {switch('draw_only')}: remove it")
    source, target = (
        as_path(path, which, is_option=True) if path is not None else None
        for which, path in (("records", records), ("pack", pack))
    )
    if target is not None:
        check_name(target)
        check_writable_file(target, "pack")
    parts: dict[str, Any] = {"only": only, "joined": joined, "seeds": seeds, "spread": spread}
    looks, kept = {"style": style, "colors": colors, "labels": labels}, ""
    try:
        with _planned(name, console, source, scale=scale, out=out, **parts, **options) as planned:
            figure, folder, jobs, table, places = planned
            kept = f"finished {nouns(jobs)[1]} stay in {folder}"
            todo = [job for job in jobs if not job.is_finished and not draw_only]
            _check_data(todo, places)
            check_writable(folder / MARK)
            failures = {} if draw_only else _run(figure.owner, jobs, folder, places, console)
        picture = folder / f"{stem(name, only, bool(joined))}.{format}"
        with _packing_afterwards(jobs, target, figure.name, console):
            if (results := figure.results(jobs, table, band)) is not None:
                _draw(picture, results, console, looks)
            elif not failures and any(job.is_finished for job in figure.shown(jobs)):
                raise UserError(f"the finished {nouns(jobs)[1]} in {folder} have no results to draw: read their logs")
            elif draw_only:
                raise InvalidInputError(f"{folder} has no finished runs to draw: remove {option('draw_only')}")
    except KeyboardInterrupt as stop:
        if not kept:
            raise
        raise KeyboardInterrupt(f"stopped; {kept}: run the same command to continue") from stop
    if failures:
        told = "; ".join(_failure_text(job, failures[job.name]) for job in jobs if job.name in failures)
        failed = f"{len(failures)} of {counted_jobs(jobs)}"
        raise UserError(f"{failed} failed; {either('run the same command', 'repeat the call')} to retry: {told}")
    return picture


def _failure_text(job: FigureJob, message: str) -> str:
    """Return why a job failed. If only its pictures are missing, which no later call draws, add how to draw them."""
    command = f"nb1shot1 report {shell_word(job.folder)}"
    drawn = f" (the run is complete: {command} draws its pictures)" if job.is_finished else ""
    return f"{job.name}: {message}{drawn}"


@contextmanager
def _packing_afterwards(
    jobs: Sequence[FigureJob], target: Path | None, figure: str, console: "Console"
) -> Iterator[None]:
    """Write the records of the finished jobs to `target` at the end, even if the results cannot be drawn.

    Raises UserError if the records cannot be written; it states both reasons if the results cannot be drawn, either.
    After Ctrl-C, KeyboardInterrupt is raised in any case.
    """
    drawing: BaseException | None = None
    try:
        yield
    except BaseException as error:
        drawing = error
        raise
    finally:
        if target is not None and any(job.is_finished for job in jobs):
            try:
                packed = counted_jobs(jobs, write_records(jobs, target, figure))
            except UserError as error:
                if isinstance(drawing, UserError):
                    raise UserError(f"{quote(drawing)}; and {quote(error)}") from error
                if isinstance(drawing, KeyboardInterrupt):
                    raise drawing  # noqa: B904  # the records can be written when the stopped command is repeated
                raise
            line_printer(console)(f"Records of {packed}: {target}")


@contextmanager
def _planned(
    name: str,
    console: "Console",
    source: Path | None = None,
    *,
    scale: str = "full",
    out: str | Path | None = None,
    only: Sequence[str] = (),
    joined: Sequence[str | Path] = (),
    seeds: Sequence[int] | None = None,
    spread: Spread | None = None,
    **options: Any,
) -> Iterator[tuple[Reproduction, Path, list[FigureJob], "Table", Workers]]:
    """Yield a figure as its table allows it, the folder of its runs, all its jobs, the table that scores them, and
    the workers, after a check of all arguments and of the runs in the folder; nothing runs.

    Arguments and errors are as for `reproduce`. `source` is its argument `records`; without it, nothing is written.
    """
    figure = open_figure(name, only, joined)
    folder = as_path(out, "out", is_option=True) if out is not None else Path("reproduce") / f"{figure.owner}-{scale}"
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file: choose another {option('out')}")
    if spread is not None and figure.figure.pooling is None:
        raise InvalidInputError(f"{option('spread')} does not apply to {figure.name}: remove it")
    where, given = figure.split_options(options)
    check_belongs_to(folder, figure.owner)
    with where.open(given.get("device", figure.kind.device), given.get("threads", 1), console, default=None) as workers:
        if where.scheduler is not None:
            line_printer(console)(f"Planning on a worker of {where.scheduler} …")
        figure = figure.on_table(scale, given, workers.call)
        jobs = figure.jobs(scale, folder, given, seeds, workers.call)
        check_recorded(jobs, given)
        check_joined(figure.figure, jobs, figure.joined)
        table = figure.table(jobs, given)
        if source is not None:  # last, so that nothing is written if the other arguments are bad
            _copy_records(source, jobs, given, folder, figure.owner)
        if figure.figure.note:
            line_printer(console)(figure.figure.note)
        yield figure, folder, jobs, table, workers


def _check_data(jobs: Sequence[FigureJob], workers: Workers) -> None:
    """Raise UserError, before anything is printed, if workers lack the data or the packages of unfinished jobs."""
    for job in jobs_to_check(jobs):
        workers.call(check_job, job)


def jobs_to_check(jobs: Sequence[FigureJob]) -> list[FigureJob]:
    """Return the jobs whose checks suffice for all, because all jobs of a kind use equal images or tables."""
    return list({(job.kind, *map(job.options.get, job.of.checked_by)): job for job in reversed(jobs)}.values())


def check_job(job: FigureJob) -> None:
    """Raise UserError if the data or the packages of a job are missing."""
    job.of.check(job)


def show_figure_plan(
    name: str,
    *,
    scale: str = "full",
    gpus: Sequence[str] = USUAL,
    console: "Console | None" = None,
    **options: Any,
) -> None:
    """Print what the unfinished runs of a figure need, and what is missing before they can run; nothing is written.

    Unlike `nb.plan`, this knows the finished runs in `out`. Arguments and errors are as for `reproduce`.
    """
    from nasbench1shot1.experiments.planning.screen import show
    from nasbench1shot1.ground.notebooks import console_or_new

    console = console_or_new(console)
    with _planned(name, console, scale=scale, **options) as (_, _, jobs, _, workers):
        title = f"{name}, {scale} scale: {_describe_jobs(jobs)}"
        if not (todo := [job for job in jobs if not job.is_finished]):
            line_printer(console)(title)
            return
        problems = _missing_data(todo, workers)
        made = figure_plan(title, todo, {}, gpus, workers, line_printer(console))
        show(replace(made, notes=tuple(dict.fromkeys([*made.notes, *problems]))), console)


def _missing_data(jobs: Sequence[FigureJob], workers: Workers) -> list[str]:
    """Return a sentence for each thing that workers lack before jobs can run; raises InvalidInputError."""
    found = dict[str, None]()
    for job in jobs_to_check(jobs):
        try:
            workers.call(check_job, job)
        except InvalidInputError:
            raise
        except UserError as error:  # missing data
            found[needed_note(error)] = None
    return list(found)


def _run(owner: str, jobs: Sequence[FigureJob], folder: Path, workers: Workers, console: "Console") -> dict[str, str]:
    """Run the unfinished jobs in the folder of the figure `owner`; return the error messages of failed jobs by name."""
    paces = _announce(jobs, workers, console)
    todo = [job for job in jobs if not job.is_finished]
    if not todo:
        return {}
    started, failures = time.monotonic(), dict[str, str]()
    with locked_folder(folder):
        check_belongs_to(folder, owner)  # again: another command may have taken the folder during the timing
        mark_folder(folder, owner)
        with FigureProgress(todo, paces, workers.count, console) as watcher:
            for stage in by_stage(todo):
                failures |= run_jobs(stage, workers, watcher)
    line_printer(console)(f"{counted_jobs(todo)} in {(time.monotonic() - started) / 60:.1f} min")
    return failures


def _announce(jobs: Sequence[FigureJob], workers: Workers, console: "Console") -> Paces:
    """Print the amount of work and the expected time; return the seconds of a unit by pace."""
    print_line, todo = line_printer(console), [job for job in jobs if not job.is_finished]
    print_line(_describe_jobs(jobs))
    if not todo:
        return {}
    units = sum(job.units - job.units_done() for job in todo)
    at_once = counted_jobs(todo, min(workers.count, len(todo)))
    print_line(f"{counted(units, jobs[0].of.unit)} to go, {at_once} at once; timing a step of each kind …")
    paces = workers.call(measure, todo)
    print_line(describe_time(todo, paces, workers.count))
    return paces


def _describe_jobs(jobs: Sequence[FigureJob]) -> str:
    """Return the amount of work in words, and how much of it is finished."""
    finished = sum(job.is_finished for job in jobs)
    done = f"; {finished} {'is' if finished == 1 else 'are'} finished" if finished else ""
    return f"{describe_work(jobs)}{done}"


def _draw(picture: Path, results: "Results", console: "Console", looks: Mapping[str, Any]) -> None:
    """Write the picture, the values and the printed table beside it, and print the results.

    `looks` are arguments of `Results.draw`.
    """
    values, stem, drawn = picture.with_suffix(".csv"), picture.stem, results.draw(**looks)
    further = {picture.with_name(f"{stem}-{suffix}.csv"): frame for suffix, frame in results.further_tables().items()}
    for path, frame in further.items():
        with atomic_write(path) as file:
            file.write(frame.to_csv(index=False).encode())
    with atomic_write(summary := picture.with_suffix(".md")) as file:
        file.write(results.markdown().encode())
    save_figure(drawn, picture, data=results.frame)
    results.show(console)
    print_line = line_printer(console)
    print_line(f"Table {results.table.id}")
    print_line(f"Values: {', '.join(map(str, [values, *further]))}")
    print_line(f"Table in Markdown: {summary}")
    print_line(f"Picture: {picture}")


# Folders --------------------------------------------------------------------------------------------------------------


def stem(name: str, only: Sequence[str], has_joined: bool = False) -> str:
    """Return the name of picture and CSV file without suffix; parts of a figure have different names than the whole
    figure, and so has a figure with joined runs.

    Args:
        name: "figure2", …
        only: the parts, as in `open_figure`; empty for the whole figure.
        has_joined: whether the figure shows joined runs.
    """
    end = "-joined" if has_joined else ""
    if not only:
        return f"{name}{end}"
    parts = re.sub(r"[^\w.+-]", "_", "+".join(only).replace("/", "-"))
    if len(parts) > LONGEST:
        parts = f"{parts[:LONGEST]}-{hashlib.sha256(parts.encode()).hexdigest()[:8]}"
    return f"{name}-{parts}{end}"


def mark_folder(folder: Path, name: str) -> None:
    """Record that a folder belongs to a figure."""
    if not (folder / MARK).is_file():
        write_json(folder / MARK, {"figure": name})


def check_belongs_to(folder: Path, name: str) -> None:
    """Raise InvalidInputError if a folder holds a run or another figure, DamagedFileError if its mark is damaged."""
    if (folder / CONFIG).exists():
        raise InvalidInputError(f"'{folder}' is the folder of a run, not of a figure: choose another {option('out')}")
    if not (folder / MARK).is_file():
        return
    other = read_object(folder / MARK).get("figure")
    if not isinstance(other, str):
        raise damaged_file_error(folder / MARK, "it does not name a figure")
    if other != name:
        raise InvalidInputError(f"{folder} holds {shorten(other)}, not {name}: choose another {option('out')}")


def _copy_records(source: Path, jobs: Sequence[FigureJob], given: Mapping[str, Any], folder: Path, figure: str) -> None:
    """Copy the runs of a file of records that have not been started into their folders in `folder`, or none of them.

    Args:
        source: the file; it may contain other runs, too, which are ignored.
        jobs: the runs of the figure.
        given: the options that the user gave.
        folder: the folder of the figure.
        figure: the name of the figure, as in `read_records_of`.

    Raises:
        InvalidInputError: the folder of a run has other content, or another process is writing to `folder`; and the
            errors of `read_records_of` and `check_recorded`.
        UserError: a folder cannot be written.
    """
    packed = read_records_of(source, jobs, figure)
    with locked_folder(folder):
        check_belongs_to(folder, figure)
        missing = [job for job in jobs if job.name in packed.runs and not is_started(job.folder)]
        for job in missing:
            packed.check(job.name)
            check_is_new(job.folder)
        try:
            for job in missing:
                packed.unpack(job.name, job.folder)
            _check_copied(missing, given, source)
            mark_folder(folder, figure)
        except BaseException:  # also Ctrl-C
            for job in missing:
                discard_folder(job.folder)
                _remove_empty_parents(job.folder, folder)
            raise


def _check_copied(jobs: Sequence[FigureJob], given: Mapping[str, Any], source: Path) -> None:
    """Raise the errors of `check_recorded`, which name the file of records instead of folders that are removed."""
    try:
        check_recorded(jobs, given, source)
    except DamagedFileError as error:
        raise DamagedFileError(f"{source} has a damaged record ({quote(error)}): get the file again") from error


def _remove_empty_parents(path: Path, folder: Path) -> None:
    """Remove the parents of a path in `folder` that are empty."""
    while (path := path.parent) != folder:
        with suppress(OSError):  # it is not empty, or does not exist
            path.rmdir()


def check_recorded(jobs: Sequence[FigureJob], given: Mapping[str, Any], source: Path | None = None) -> None:
    """Check that existing run folders have the figure's options and are not damaged.

    Args:
        jobs: the runs.
        given: the options that the user gave.
        source: the file of records from which the folders were just copied.

    Raises:
        InvalidInputError: an option of a recorded run differs from the figure's.
        DamagedFileError: the record of a finished run is damaged or incomplete.
    """
    for job in jobs:
        if job.is_finished:
            _ = job.record().lines  # raises for damaged or missing lines
        for name, wanted, recorded in _differences(job):
            if name not in job.of.free or (name == "device" and name in given):
                where = job.folder if source is None else f"{job.name} in {source}"
                advice = (
                    f"choose another {option('out')}, or remove that folder"
                    if source is None
                    else "give records of runs with the options of this figure"
                )
                raise InvalidInputError(
                    f"{where} was {job.of.verb} with {option(name, recorded)}, but the figure needs {wanted}: {advice}"
                )


def _differences(job: FigureJob) -> Iterator[tuple[str, Any, Any]]:
    if not is_started(job.folder):
        return
    recorded = job.of.recorded(job)
    for name, wanted in job.options.items():
        if recorded.get(name) != wanted:
            yield name, wanted, recorded.get(name)
