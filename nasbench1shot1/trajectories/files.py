"""`nb.study_from`: the files of other optimizers as black-box studies, told apart by their names."""

import json
import re
import shutil
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any, NamedTuple

from nasbench1shot1.black_box_search.options import BlackBoxConfig
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.ground.errors import InvalidInputError, UserError, quote, shorten
from nasbench1shot1.ground.files import as_path, read_text
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.ground.text import counted
from nasbench1shot1.registry import search_space
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.frame_files import is_frame_file, read_frame
from nasbench1shot1.tables.frame_keys import similar_name
from nasbench1shot1.tables.references import Reference
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tables.to_frame import ARCHITECTURE
from nasbench1shot1.trajectories.from_frame import NAME, make_study
from nasbench1shot1.trajectories.trainings import EPOCHS, EVALUATION, LOSS, OTHER_NAMES, RUN, SECONDS

if TYPE_CHECKING:
    import pandas

Record = dict[str, Any]
"""A training as a row of a frame; `_PARAMETERS` has the configuration."""
Runs = dict[str, list[Record]]
_PARAMETERS = "parameters"
CLOCK, IS_TRAINED = "finished", "is_trained"
"""The fields with the clock after a training, and whether a proposal was trained at all, under the names that
`nb.Evaluation` and the adapters use."""
_FIRST_ROW = re.compile(r"rows? (\d+)")
_ROW = re.compile(r"\b(rows?|and) (\d+)\b(?=, column '| and \d+, column '| of run ')")
"""Numbers of rows in messages about frames."""
_OF_TUNING = frozenset({"folder", "search_seconds"})
"""Fields that every observation of a tuning study of this package has, in its own files and in its export to Optuna."""
_SUCCESS = 1
"""SMAC's `StatusType.SUCCESS`."""


class Format(NamedTuple):
    """The files of one program.

    Attributes:
        patterns: names of its files, as patterns of `fnmatch`.
        words: the program and its file in words.
        read: returns the successful trainings of each run, in the order of their ends.
    """

    patterns: tuple[str, ...]
    words: str
    read: Callable[[Path], Runs]


def study_from(
    path: str | Path | Sequence[str | Path],
    space: str | SearchSpace | None = None,
    *,
    table: "str | Path | Table | None" = None,
    name: str = NAME,
    out: str | Path | None = None,
    dataset: str | None = None,
    reference: Reference | None = None,
    epochs: int | None = None,
    losses: bool = True,
) -> BlackBoxStudy:
    """Return a black-box study of the files that another optimizer wrote; see `nb.study_from_frame`.

    Args:
        path: a file, or a folder that has one. Several paths are several runs of one optimizer. Files:
            CSV or Parquet (`*.csv`, `*.csv.gz`, `*.parquet`): the columns of `nb.study_from_frame`. A file without the
            column `run` is one run.
            Optuna: a journal (`*.journal`, `*.log`) or SQLite storage (`*.db`, `*.sqlite`, `*.sqlite3`). Each study in
            it is a run.
            SMAC: `runhistory.json`. Syne Tune: `results.csv.zip`. NePS: `full.csv`. hpbandster: `results.json` with
            `configs.json`.
        space, table, name, out, dataset, reference: as in `nb.study_from_frame`.
        epochs: the budget of all trainings of files that do not record budgets, as in `nb.study_from_frame`.
        losses: whether to compare the recorded objective with the table's validation error. False: ignore it; the
            table's mean decides about incumbents.

    Raises:
        UserError: the file is unknown, damaged or empty, or has the searches of a tuning study of this package; or as
            `nb.study_from_frame`.
    """
    several: list[Any] = list(path) if isinstance(path, Iterable) and not isinstance(path, str | bytes) else [path]
    if not several:
        raise InvalidInputError("no file is given: give at least one file of another optimizer")
    files = [_file(as_path(one, "path")) for one in several]
    if repeated := [file for place, file in enumerate(files) if file in files[:place]]:
        raise InvalidInputError(f"'{repeated[0]}' is given twice: remove one of them")
    options = {"space": space, "table": table, "dataset": dataset, "reference": reference, "epochs": epochs}
    source = str(files[0]) + (f" and {counted(len(files) - 1, 'other file')}" if len(files) > 1 else "")
    opened = space if isinstance(space, SearchSpace) else search_space(space or BlackBoxConfig.space)
    frames = [_frame(file, opened) for file in files]
    frame = _joined(frames, files)
    if not losses:
        frame = frame.drop(columns=LOSS, errors="ignore")
    try:
        return make_study(frame, name, out, source, options)
    except InvalidInputError as error:
        if named := _with_file(quote(error), frames, files):
            raise InvalidInputError(named) from error
        raise


def _with_file(text: str, frames: "Sequence[pandas.DataFrame]", files: Sequence[Path]) -> str | None:
    """Return a message about joined frames with the file that it is about, and with the numbers of this file's rows.

    None for a message about anything but rows and columns.
    """
    if (row := _FIRST_ROW.match(text)) is None:
        is_about_columns = text.startswith(("the column", "there are two"))
        return f"'{files[0]}': {text}" if is_about_columns and len(files) == 1 else None
    ends = list(accumulate(map(len, frames)))
    place = bisect_left(ends, int(row[1]))
    before = ends[place] - len(frames[place])
    return f"'{files[place]}': " + _ROW.sub(lambda found: f"{found[1]} {int(found[2]) - before}", text)


def _file(path: Path) -> Path:
    """Return the known file that a path means; raises InvalidInputError if there is none, or more than one."""
    if not path.exists():
        raise InvalidInputError(f"'{path}' does not exist: give a file of another optimizer, or its folder")
    if not path.is_dir():
        return path
    names = [pattern for of in FORMATS for pattern in of.patterns if "*" not in pattern]
    found = [folder / name for folder in (path, path / "summary") for name in names if (folder / name).is_file()]
    if len(found) != 1:
        what = f"several known files ({', '.join(file.name for file in found)})" if found else "no known file"
        raise InvalidInputError(f"'{path}' has {what}: give the file itself, {_known()}")
    return found[0]


def _frame(file: Path, space: SearchSpace) -> "pandas.DataFrame":
    """Return the trainings of a file; raises InvalidInputError if it is not known, damaged or empty."""
    import pandas

    of = next((of for of in FORMATS if any(fnmatch(file.name, pattern) for pattern in of.patterns)), None)
    if of is None and is_frame_file(file):
        return read_frame(file, space)
    if of is None:
        raise InvalidInputError(f"'{file}' has an unknown name: give a CSV or Parquet file, or {_known()}")
    try:
        runs = of.read(file)
    except UserError:
        raise
    except Exception as error:  # anything may be wrong in a file that another program wrote
        why = shorten(" ".join(format_exception_only(error)[-1].split()))
        raise InvalidInputError(f"'{file}' cannot be read as {of.words} ({why}): give another file") from error
    if not any(runs.values()):
        raise InvalidInputError(f"'{file}' has no successful training as {of.words}: give another file")
    return pandas.DataFrame(_rows({run: found for run, found in runs.items() if found}))


def _rows(runs: Runs) -> list[Record]:
    """Return the rows of a frame; a field counts if all trainings have it, and trainings are numbered without clock."""
    records = [record for found in runs.values() for record in found]
    has = {key: all(record.get(key) is not None for record in records) for key in (ARCHITECTURE, SECONDS, LOSS)}
    has_epochs = any(record.get(EPOCHS) is not None for record in records)
    rows = []
    for run, found in runs.items():
        ordered = sorted(found, key=lambda record: record[SECONDS]) if has[SECONDS] else found
        for number, record in enumerate(ordered, start=1):
            row = {RUN: run, EVALUATION: number} | {key: record[key] for key, is_known in has.items() if is_known}
            row |= {EPOCHS: record.get(EPOCHS)} if has_epochs else {}
            rows.append(row if has[ARCHITECTURE] else {**record[_PARAMETERS], **row})
    return rows


def _joined(frames: "list[pandas.DataFrame]", files: Sequence[Path]) -> "pandas.DataFrame":
    """Return the runs of several files in one frame; a file without names of runs is one run.

    Raises InvalidInputError if the columns of the files differ.
    """
    import pandas

    if len(frames) == 1:
        return frames[0]
    for frame, file in zip(frames, files, strict=True):
        if RUN in frame:
            frame[RUN] = [run if pandas.isna(run) else f"{file}: {run}" for run in frame[RUN]]
        elif similar_name(RUN, frame.columns, OTHER_NAMES[RUN]) is None:
            frame[RUN] = str(file)
        if differing := sorted(set(map(str, frame.columns)) ^ set(map(str, frames[0].columns))):
            raise InvalidInputError(
                f"'{files[0]}' and '{file}' do not have the same fields ({', '.join(differing)}): read them separately"
            )
    return pandas.concat(frames, ignore_index=True)


def _csv(file: Path) -> "pandas.DataFrame":
    """Return the texts of a CSV file; empty cells are missing."""
    import pandas

    try:
        return pandas.read_csv(file, dtype=str, keep_default_na=False, na_values=[""], skip_blank_lines=False)
    except (OSError, ValueError, EOFError) as error:
        why = shorten(" ".join(str(error).split()))
        raise InvalidInputError(f"'{file}' cannot be read ({why}): give a CSV file with one header line") from error


def _known() -> str:
    return ", ".join(f"{'/'.join(of.patterns)} ({of.words})" for of in FORMATS)


# Programs -------------------------------------------------------------------------------------------------------------


def _optuna(file: Path) -> Runs:
    """Read an Optuna storage from a copy, because opening the storage may write to it."""
    require_package("optuna", "nb.study_from", extra="tune")
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "storage"
        shutil.copyfile(file, copy)
        is_database = copy.read_bytes()[:15] == b"SQLite format 3"
        if is_database:
            database = RDBStorage(f"sqlite:///{copy}")
            try:
                return _optuna_runs(database, file)
            finally:
                database.engine.dispose()
        return _optuna_runs(JournalStorage(JournalFileBackend(str(copy))), file)


def _optuna_runs(storage: Any, file: Path) -> Runs:
    from optuna.study import StudyDirection
    from optuna.trial import TrialState

    runs: Runs = {}
    for study in storage.get_all_studies():
        trials = storage.get_all_trials(study._study_id, states=(TrialState.COMPLETE, TrialState.PRUNED))
        trained = [trial for trial in trials if trial.values and trial.user_attrs.get(IS_TRAINED, True)]
        for trial in trained:
            _check_is_training(trial.user_attrs, file)
        is_maximized = study.directions[0] == StudyDirection.MAXIMIZE
        runs[study.study_name] = [
            {
                _PARAMETERS: trial.params,
                ARCHITECTURE: trial.user_attrs.get(ARCHITECTURE),
                EPOCHS: trial.user_attrs.get(EPOCHS, trial.last_step),
                SECONDS: trial.user_attrs.get(CLOCK),
                LOSS: _loss(trial.values[0], is_maximized),
            }
            for trial in sorted(trained, key=lambda trial: (trial.datetime_complete, trial.number))
        ]
    return runs


def _check_is_training(about: Mapping[str, Any], file: Path) -> None:
    """Raise InvalidInputError if a trial, given by its fields, is a search of one of this package's tuning studies."""
    if about.keys() >= _OF_TUNING:
        raise InvalidInputError(
            f"'{file}' has the searches of a tuning study of this package, not trainings of architectures: give the "
            "folder of the study to nb.compare, nb1shot1 compare or nb.open_run"
        )


def _loss(value: float, is_maximized: bool) -> float:
    """Return the error of an objective: 1 - value if it is maximized."""
    return 1.0 - value if is_maximized else value


def _smac(file: Path) -> Runs:
    """Read SMAC's run history. The clock is `additional_info["finished"]`, or the sum of times that were told to it."""
    content = json.loads(read_text(file))
    data = [entry for entry in content["data"] if entry["status"] == _SUCCESS]
    data.sort(key=lambda entry: entry["endtime"])  # stable: times are 0 if an ask-and-tell loop did not give them
    is_told = all(entry["time"] > 0 and entry["starttime"] == entry["endtime"] == 0 for entry in data)
    clock, found = 0.0, []
    for entry in data:
        clock += entry["time"]
        about, cost = entry.get("additional_info") or {}, entry["cost"]
        found.append(
            {
                _PARAMETERS: content["configs"][str(entry["config_id"])],
                ARCHITECTURE: about.get(ARCHITECTURE),
                EPOCHS: entry["budget"],
                SECONDS: about.get(CLOCK, clock if is_told else None),
                LOSS: cost[0] if isinstance(cost, list) else cost,
            }
        )
    return {"0": found}


def _syne_tune(file: Path) -> Runs:
    """Read Syne Tune's results. Its metadata names the metric, unless a column is named `validation_error`."""
    frame, metadata = _csv(file), file.parent / "metadata.json"
    metric, is_maximized = LOSS, False
    if LOSS not in frame and metadata.is_file():
        about = json.loads(read_text(metadata))
        modes = about["metric_mode"]
        metric = about["metric_names"][0]
        is_maximized = (modes if isinstance(modes, str) else modes[0]) == "max"
    budget = next((name for name in (EPOCHS, "epoch") if name in frame), None)
    found = [
        {
            _PARAMETERS: _after_prefix(row, "config_"),
            ARCHITECTURE: row.get(f"config_{ARCHITECTURE}"),
            EPOCHS: row[budget] if budget else None,
            SECONDS: float(row["st_tuner_time"]),
            LOSS: _loss(float(row[metric]), is_maximized) if metric in frame else None,
        }
        for row in frame.to_dict("records")
    ]
    return {"0": found}


def _neps(file: Path) -> Runs:
    """Read NePS's summary. The clock is the sum of `cost` if one worker ran; failed trainings have no objective."""
    frame = _csv(file).dropna(subset="objective_to_minimize")
    if "time_end" in frame:
        frame = frame.sort_values("time_end", key=lambda column: column.astype(float), kind="stable")
    workers = {str(worker) for name in frame if "worker" in str(name) for worker in frame[name]}
    has_clock = "cost" in frame and frame["cost"].notna().all() and len(workers) <= 1
    clock, found = 0.0, []
    for row in frame.to_dict("records"):
        clock += float(row["cost"]) if has_clock else 0.0
        parameters = _after_prefix(row, "config.")
        found.append(
            {
                _PARAMETERS: parameters,
                ARCHITECTURE: parameters.get(ARCHITECTURE),
                EPOCHS: parameters.get(EPOCHS),
                SECONDS: clock if has_clock else None,
                LOSS: _first_number(row["objective_to_minimize"]),
            }
        )
    return {"0": found}


def _first_number(text: str) -> float:
    """Return a number, or the first one of a list, which NePS writes if there are several objectives."""
    numbers = json.loads(text) if text.startswith("[") else [text]
    return float(numbers[0])


def _hpbandster(file: Path) -> Runs:
    """Read hpbandster's logged results. The clock is `info["finished"]`; failed trainings have no result."""
    configurations = {tuple(line[0]): line[1] for line in _json_lines(file.parent / "configs.json")}
    lines = [line for line in _json_lines(file) if line[3] is not None]
    found = []
    for identity, budget, _, result, *_ in sorted(lines, key=lambda line: line[2]["finished"]):
        about = result.get("info") if isinstance(result.get("info"), dict) else {}
        _check_is_training(about, file)
        found.append(
            {
                _PARAMETERS: configurations[tuple(identity)],
                ARCHITECTURE: about.get(ARCHITECTURE),
                EPOCHS: budget,
                SECONDS: about.get(CLOCK),
                LOSS: result["loss"],
            }
        )
    return {"0": found}


def _json_lines(file: Path) -> Iterable[Any]:
    return [json.loads(line) for line in read_text(file).splitlines() if line.strip()]


def _after_prefix(row: Mapping[Any, Any], prefix: str) -> Record:
    return {str(key).removeprefix(prefix): value for key, value in row.items() if str(key).startswith(prefix)}


FORMATS = (
    Format(("*.journal", "*.log"), "an Optuna journal", _optuna),
    Format(("*.db", "*.sqlite", "*.sqlite3"), "an Optuna storage", _optuna),
    Format(("runhistory.json",), "SMAC's run history", _smac),
    Format(("results.csv.zip",), "Syne Tune's results", _syne_tune),
    Format(("full.csv",), "NePS's summary", _neps),
    Format(("results.json",), "hpbandster's results", _hpbandster),
)
