"""Reports of recorded runs on any table, which `nb1shot1 report` writes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nasbench1shot1.black_box_search.drawing import regret_figure as black_box_figure
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.summary import summarise as summarise_searches
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.style import AnyStyle, Spread
from nasbench1shot1.evaluator import with_baseline
from nasbench1shot1.experiments.correlation.outcome import FILES, write_outcome
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.rescoring import (
    rescore,
    rescore_black_box,
    rescored_lines,
    rescored_study_lines,
    warn_of_other_values,
)
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import (
    PictureFormat,
    atomic_folder,
    atomic_write,
    check_replaceable,
    picture_files,
    picture_name,
    write_json,
)
from nasbench1shot1.one_shot_search.record import FIGURE, REPORTED, SearchRecord, summarise
from nasbench1shot1.one_shot_search.regret_curve import baseline_of, regret_figure
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.runs.folder import METRICS, SUMMARY, as_json_line
from nasbench1shot1.runs.record import DIGEST, RunRecord, digest
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.drawing import trajectory_figure
from nasbench1shot1.tuning.record import TRAJECTORY, Study
from nasbench1shot1.tuning.record import summarise as summarise_study

OF_A_REPORT = {*REPORTED, *FILES, *picture_files(FIGURE), *picture_files(TRAJECTORY)}


class Look(NamedTuple):
    """How the picture of a report looks.

    Attributes:
        format: its file format.
        style: as in `one_shot_search.regret_curve.regret_figure`.
        mark: networks that it marks (`reference_points.reference_points`); not in the picture of a black-box study.
        spread: what the bands of several runs show. Default: "ci".
    """

    format: PictureFormat = "png"
    style: AnyStyle | None = None
    mark: Iterable[Asked] | None = None
    spread: Spread | None = None


USUAL_LOOK = Look()
"""The default of reports."""


def unfinished_text(run: RunRecord) -> str:
    """Return how far an unfinished run has come, as a sentence; empty if it is finished.

    A run that ended after its lines were read counts as unfinished. Raises UserError if the run has no result yet.
    """
    if not run.lines:
        raise run.unfinished_error()
    if run.is_finished and run.are_summarised(run.lines):
        return ""
    return f"Not finished: {run.progress}."


def write_report(run: SearchRecord, table: Table, out: Path, look: Look = USUAL_LOOK) -> dict[str, Any]:
    """Write metrics.jsonl, summary.json and regret.png of a run scored on `table` into a folder; return the summary.

    The folder is written whole or not at all, and replaces an earlier report. The summary of an unfinished run has the
    field `unfinished`.

    Raises:
        InvalidInputError: the folder holds something else, or `look.mark` is not a network of the table.
        OutOfDomainError: the table lacks an architecture.
        UserError: the folder cannot be written, or the disk is full.
    """
    warn_of_other_values([run], table)
    with _new_report(out) as folder:
        return _write(run, table, folder, look)


def write_group_report(
    runs: Sequence[SearchRecord], table: Table, out: Path, look: Look = USUAL_LOOK, note: str = ""
) -> list[dict[str, Any]]:
    """Write `write_report` of the runs of several seeds, each into `out/<run>`, and one regret.png of all of them.

    The title of the picture contains the note.
    """
    warn_of_other_values(runs, table)
    with _new_report(out) as folder:
        summaries = [_write(run, table, folder / run.folder.name, look) for run in runs]
        frames = [rescore(run, table) for run in runs]
        figure = regret_figure(runs, frames, table, note, look.spread, look.style, look.mark)
        save_figure(figure, folder / picture_name(FIGURE, look.format))
        return summaries


def write_ranking_report(ranking: Ranking, table: Table, out: Path, look: Look = USUAL_LOOK) -> dict[str, Any]:
    """Write the correlations of a ranking with another table into a folder; return the summary.

    The call writes summary.json and the files named in `correlation.outcome.FILES`. It raises the errors that
    `write_report` raises.
    """
    unfinished = unfinished_text(ranking)
    with _new_report(out) as folder:
        found = write_outcome(ranking, table, folder, format=look.format, style=look.style, mark=look.mark)
        summary = _with_progress(found, unfinished)
        write_json(folder / SUMMARY, summary)
        return summary


def write_study_report(study: Study, table: Table, out: Path, look: Look = USUAL_LOOK) -> dict[str, Any]:
    """Write metrics.jsonl, summary.json and trajectory.png of a study scored on `table`; return the summary.

    The best observations are still those with the lowest loss during tuning. The call raises the errors that
    `write_report` raises.
    """
    unfinished = unfinished_text(study)
    warn_of_other_values([study], table)
    lines, _flags = rescored_study_lines(study, table)
    with _new_report(out) as folder:
        summary = _with_progress(summarise_study(study, lines, table), unfinished)
        _write_lines(lines, summary, folder)
        figure = trajectory_figure(study, lines, table, look.style, look.mark)
        save_figure(figure, folder / picture_name(TRAJECTORY, look.format))
        return summary


def write_black_box_report(study: BlackBoxStudy, table: Table, out: Path, look: Look = USUAL_LOOK) -> dict[str, Any]:
    """Write metrics.jsonl, summary.json and regret.png of a black-box study scored on `table`; return the summary.

    The clock and the incumbents stay as they are recorded. There is no picture if the table lacks a test regret. The
    call raises the errors that `write_report` raises.
    """
    unfinished = unfinished_text(study)
    scored = rescore_black_box(study, table)
    summary = _with_progress(summarise_searches(scored.config, scored.lines), unfinished)
    with _new_report(out) as folder:
        _write_lines(scored.lines, summary, folder)
        if summary["test_regret"] is not None:
            figure = black_box_figure([scored], spread=look.spread, style=look.style, note=unfinished)
            save_figure(figure, folder / picture_name(FIGURE, look.format))
        return summary


@contextmanager
def _new_report(out: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces `out` at the end."""
    check_replaceable(out)
    if out.exists() and not _is_report(out):
        raise InvalidInputError(f"'{out}' holds something other than a report: choose another {option('out')}")
    with atomic_folder(out) as folder:
        yield folder


def _is_report(folder: Path) -> bool:
    """Return whether a folder holds only files of a report, and reports."""
    if not folder.is_dir():
        return False
    return all(path.name in OF_A_REPORT or (path.is_dir() and _is_report(path)) for path in folder.iterdir())


def _write(run: SearchRecord, table: Table, folder: Path, look: Look) -> dict[str, Any]:
    lines = rescored_lines(run, table)
    unfinished = unfinished_text(run)
    config = {**run.config, "early_stopping": False} if unfinished else run.config  # not stopped yet
    config = with_baseline(config, baseline_of(run.baseline, run.config, table, run.architectures[0].space))
    summary = _with_progress(summarise(config, lines, table.id), unfinished)
    _write_lines(lines, summary, folder)
    figure = regret_figure([run], [run.as_frame(lines)], table, style=look.style, mark=look.mark)
    save_figure(figure, folder / picture_name(FIGURE, look.format))
    return summary


def _with_progress(summary: dict[str, Any], unfinished: str) -> dict[str, Any]:
    """Return the summary, with the field `unfinished` if the run is not finished."""
    return {**summary, "unfinished": unfinished} if unfinished else summary


def _write_lines(lines: list[dict[str, Any]], summary: dict[str, Any], folder: Path) -> None:
    """Write metrics.jsonl, add the digest of its lines to the summary, and write summary.json."""
    with atomic_write(folder / METRICS) as file:
        file.write("".join(as_json_line(line) for line in lines).encode())
    summary[DIGEST] = digest(lines)
    write_json(folder / SUMMARY, summary)
