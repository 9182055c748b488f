"""`nb.write_report_page`: writing the page of a report, once or again and again while its runs are in progress."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from nasbench1shot1.display.curves import checked_spread
from nasbench1shot1.display.style import Spread
from nasbench1shot1.experiments.report_page.page import page_of
from nasbench1shot1.experiments.report_page.panels import Scoring
from nasbench1shot1.experiments.report_page.repeating import repeated, report_command
from nasbench1shot1.experiments.report_page.subjects import Subject, open_subjects
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option, quoted_option, switch
from nasbench1shot1.ground.files import as_path, atomic_write, check_writable_file
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.registry import import_trusted
from nasbench1shot1.runs.options import check_range
from nasbench1shot1.tables.references import Reference

SUFFIXES = (".html", ".htm")
SHORTEST, LONGEST = 1, 86_400
"""Limits of the time between two renewals of a page, in seconds."""


def write_report_page(
    runs: Any,
    file: str | Path = "report.html",
    *,
    labels: Sequence[str] | None = None,
    table: str | Path | None = None,
    reference: Reference | None = None,
    spread: Spread | None = None,
    mark: Iterable[Asked] | None = None,
    allow_module: str | None = None,
    watch: float | None = None,
    overwrite: bool = False,
    report: Callable[[str], None] = print_to_stderr,
) -> Path:
    """Write a report of runs as one HTML file, which opens in a browser without a network.

    The page shows the test regret over every axis that the runs support, with bands; a sortable table of the final
    regrets; the preferred cell of every epoch and the mixing weights of Λ; the true errors against the one-shot errors
    of rankings; the learning curves of trainings beside the values of their table; the options and versions of the
    runs; and the commands that repeat them. Runs whose regrets are not comparable are in separate panels. Unfinished
    runs are shown as far as they are recorded. Equal runs give equal files.

    Args:
        runs: folders or records of searches, groups of seeds, black-box studies, tuning studies, rankings, trainings or
            groups of trainings; any number.
        file: the file, whose name ends in .html. It is replaced at once, so that a browser never reads half of it.
        labels: one label per run. Default: the names of the optimizers.
        table: table on which all architectures are scored, by name or folder. Default: the recorded regrets.
        reference: reference of the regrets on this table. Default: each run's option.
        spread: what the bands show: "ci" (default, the 95 % confidence interval of the mean), "std", "quartiles"
            or "range".
        mark: networks whose test regret is a horizontal line, as in `nb.compare`.
        allow_module: a module that may be imported because the config.json of a run names it.
        watch: if runs are in progress, write the page again after this number of seconds until all of them are
            finished. Ctrl-C also ends this. Default: write the page once.
        overwrite: replace an existing file.
        report: called with a sentence about each run that no command of the page repeats, and about each change in the
            progress of runs that are watched.

    Returns:
        The path of the file.

    Raises:
        InvalidInputError: no run is given, a folder is not a run of these kinds, labels repeat, the file exists, or its
            name does not end in .html.
        OutOfDomainError: the table lacks an architecture.
        UserError: the file cannot be written.
    """
    path = as_path(file, "html", is_option=True)
    _check_file(path, overwrite)
    check_range("watch", watch, SHORTEST, LONGEST)
    import_trusted(allow_module)
    listed = runs if isinstance(runs, list | tuple) else [runs]
    named, marked = (None if table is None else str(table)), tuple([mark] if isinstance(mark, str) else mark or ())
    scoring = Scoring(named, reference, checked_spread(spread), marked)
    options = {
        **({"labels": tuple(labels)} if labels else {}),
        **{name: value for name, value in (("table", named), ("reference", reference)) if value is not None},
        **({"spread": spread} if spread not in (None, "ci") else {}),
        **({"mark": marked} if marked else {}),
        **({"allow_module": allow_module} if allow_module else {}),
    }

    def write(seconds: float | None) -> list[Subject]:
        subjects = open_subjects([_reopened(run) for run in listed], labels)
        command = report_command([subject.folder for subject in subjects], path, options)
        is_open = any(subject.progress for subject in subjects)
        page = page_of(subjects, scoring, command, seconds if is_open else None)
        with atomic_write(path) as opened:
            opened.write(page.encode())
        return subjects

    subjects = write(watch)
    for subject in subjects:
        if not (found := repeated(subject.record)).commands:
            report(f"Warning: the page has no command that repeats {subject.label}. {found.note}")
    if watch is not None:
        _watch(write, subjects, watch, report)
    return path


def _check_file(path: Path, overwrite: bool) -> None:
    """Raise UserError if a page cannot or must not be written to a path."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInputError(f"{quoted_option('html', path)} is not the name of a page: it must end in .html")
    check_writable_file(path, "html")
    if path.exists() and not overwrite:
        raise InvalidInputError(f"'{path}' exists: add {switch('overwrite')}, or choose another {option('html')}")


def _reopened(run: Any) -> Any:
    """Return the folder of a record, whose lines are cached, so that it is read again; other runs as they are."""
    folder = getattr(run, "folder", None)
    is_joined = bool(getattr(run, "studies", ()))  # in several folders
    return folder if folder is not None and folder.exists() and not is_joined else run


def _watch(
    write: Callable[[float | None], list[Subject]],
    subjects: list[Subject],
    seconds: float,
    report: Callable[[str], None],
) -> None:
    """Write a page again and again until its runs are finished; after Ctrl-C, write it once more, as it will stay."""
    told = ""
    try:
        while (said := _progress(subjects)) != "all runs are finished":
            if said != told:
                report(said)
                told = said
            time.sleep(seconds)
            try:
                subjects = write(seconds)
            except UserError as error:  # a run that is just being replaced; the page keeps what it has
                report(f"not updated: {error.for_command_line}")
    except KeyboardInterrupt:
        report("stopped: the page shows what has been recorded so far")
        write(None)


def _progress(subjects: Sequence[Subject]) -> str:
    open_ = [f"{subject.label} ({subject.progress})" for subject in subjects if subject.progress]
    return f"in progress: {'; '.join(open_)}" if open_ else "all runs are finished"
