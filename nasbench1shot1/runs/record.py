"""Reading a run's folder: lines, metrics frame, summary, and whether the run is finished."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from nasbench1shot1.ground.errors import InvalidInputError, UserError, either
from nasbench1shot1.ground.files import as_path, picture_name, read_bytes
from nasbench1shot1.ground.notebooks import Displayed
from nasbench1shot1.ground.values import copied_property, independent
from nasbench1shot1.runs.folder import (
    CONFIG,
    ENVIRONMENT,
    METRICS,
    SUMMARY,
    FolderView,
    as_json_line,
    count_lines,
    damaged_file_error,
    read_description,
    read_lines,
    read_object,
)
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.options import LARGEST, recorded_options

if TYPE_CHECKING:
    import pandas

DIGEST = "metrics_sha256"
"""Field of summary.json and checkpoints: `digest` of the lines that they follow."""
NOTE = "note"
"""Field of summary.json, if the method could not do what its name says: a sentence about this."""


def kind_in_words(kind: str) -> str:
    """Return the value of `kind` in config.json as a noun with its article, such as "a tuning study"."""
    noun = "tuning study" if kind == "tuning" else kind
    return f"{'an' if noun.startswith('NAS') else 'a'} {noun}"


@dataclass(frozen=True, eq=False, repr=False)
class RunRecord(FolderView, Displayed):
    """Base class of all kinds of runs.

    Attributes:
        folder: the folder of the run, as it was given, or absolute if the current folder has changed.
        config: the fields of config.json, flat: all resolved options, and facts about the data; a new dictionary.
        KIND: value of `kind` in config.json.
        COMMAND: the command that starts and resumes this kind of run; empty if no command does.
        FIELDS: the fields of a line of metrics.jsonl, in order, with their types.
        OPTIONS: the dataclass of the options that all runs of the kind share.
        FACTS: names and types of the other fields of config.json.
        SUMMARISED: names and types of the fields of summary.json that every summary of the kind has.
        PICTURE: name, as a PNG, of the picture that a notebook shows with a finished run; None if there is none.
        SHOWN: names of the options that a notebook shows with a finished run.
        FILES: names of other files that the run writes, as patterns of `fnmatch`, such as "weights/epoch-*.pt". Kinds
            that `overwrite` replaces also list the files of their reports. A picture (.png) stands for its other
            formats, too, and for the files beside it. Apart from the files of every run, nothing else is ever removed
            (`runs.own_files`).
        HAS_CHECKPOINTS: whether checkpoints store the state of the run; otherwise, its lines are its only state.
    """

    KIND: ClassVar[str]
    COMMAND: ClassVar[str]
    FIELDS: ClassVar[Mapping[str, Any]]
    OPTIONS: ClassVar[type]
    FACTS: ClassVar[Mapping[str, type]]
    SUMMARISED: ClassVar[Mapping[str, Any]] = {}
    PICTURE: ClassVar[str | None] = None
    SHOWN: ClassVar[Sequence[str]] = ()
    FILES: ClassVar[Sequence[str]] = ()
    HAS_CHECKPOINTS: ClassVar[bool] = True
    IF_RECORDED: ClassVar[Mapping[str, Any]] = {}

    _config: dict[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        """The fields of config.json, flat, as a new dictionary: all resolved options, and facts about the data."""
        return independent(self._config)

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.folder}': {', '.join(filter(None, (self._subject(), self._state())))})"

    def _heading(self) -> str:
        return f"{self.KIND[0].upper()}{self.KIND[1:]}: {self._subject()}"

    def _facts(self) -> dict[str, str]:
        if not self.is_finished:
            return {}
        facts = {
            "folder": str(self.folder),
            "options": listed_options(self.config, self.SHOWN),
            "progress": self._progress(self._recorded()),
            **self._numbers(self.summary),
            "table": str(self.config.get("table_id", "")),
        }
        return {name: text for name, text in facts.items() if text}

    def _picture(self) -> Path | None:
        with suppress(OSError):  # a repr must not fail
            if self.PICTURE and self.is_finished:  # a resumed run has an old picture until it is finished
                return self.folder / picture_name(self.PICTURE, self._picture_format())
        return None

    def _picture_format(self) -> Any:
        """Return the recorded file format of the pictures; None means png."""
        return self.config.get("format")

    def _subject(self) -> str:
        """Return in words what was run."""
        return self.KIND

    def _progress(self, recorded: int) -> str:
        """Return in words how far the run is, from its number of recorded lines."""
        return ""

    def _result(self, summary: Mapping[str, Any]) -> str:
        """Return the result of a finished run in words."""
        return "finished"

    def _numbers(self, summary: Mapping[str, Any]) -> dict[str, str]:
        """Return the results of a finished run as texts, by name, and whether they are measured or predicted."""
        return {"result": self._result(summary)}

    def _state(self) -> str:
        try:
            recorded = self._recorded()  # `lines` would be kept while the run grows
            result = self.result if self.is_finished else "unfinished"
        except Exception:  # a repr must not fail, whatever damaged files contain
            return "files missing or damaged"
        return ", ".join(filter(None, (self._progress(recorded), result)))

    def _recorded(self) -> int:
        """Return the number of recorded lines.

        Raises OSError if a finished run lacks the file, and DamagedFileError if its lines do not match the summary.
        """
        if not self.is_finished:
            return count_lines(self.folder / METRICS)
        content = read_bytes(self.folder / METRICS)
        is_as_written = self.summary.get(DIGEST) == hashlib.sha256(content).hexdigest()  # without parsing the lines
        if not is_as_written and not self.are_summarised(self.read_lines(self.folder)):
            raise self._other_lines_error()
        return content.count(b"\n")

    def _other_lines_error(self) -> UserError:
        return damaged_file_error(self.folder / METRICS, f"its lines are not those that {SUMMARY} summarises")

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a run's folder for reading.

        Raises:
            InvalidInputError: the folder is not a run folder, or holds another kind of run.
            DamagedFileError: config.json is damaged.
        """
        path = as_path(folder, "folder")
        kind, config = read_description(path)
        if kind != cls.KIND:
            found, wanted = kind_in_words(kind), kind_in_words(cls.KIND)
            for_command_line = f"is {found}, not {wanted}: give the folder of {wanted}"
            for_python = f"holds a run of the kind '{kind}', not '{cls.KIND}': open it with nb.open_run"
            raise InvalidInputError(f"'{path}' {either(for_command_line, for_python)}")
        run = cls(path, config)
        run.check_config()
        return run

    def check_config(self) -> None:
        """Raise DamagedFileError if a shared option or a fact is missing from `config`, or has a wrong type."""
        recorded_options(self.OPTIONS, self.config, self.folder / CONFIG)
        for name, kind in self.FACTS.items():
            if type(self.config.get(name)) is not kind:
                raise damaged_file_error(self.folder / CONFIG, f"its {name} is missing or impossible")

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return what is wrong with lines whose fields have the right types; None if they are valid."""
        return None

    @classmethod
    def read_lines(cls, folder: Path) -> list[dict[str, Any]]:
        """Read the lines of a folder's metrics.jsonl; raises DamagedFileError if they are not valid."""
        lines = read_lines(folder / METRICS)
        field_types = {**cls.FIELDS, **cls.IF_RECORDED}
        for number, line in enumerate(lines, start=1):
            if not cls.has_fields(line):
                raise damaged_file_error(
                    folder / METRICS, f"line {number} does not have the fields {', '.join(cls.FIELDS)}"
                )
            for name, value in line.items():
                if not has_type(value, field_types[name]):
                    raise damaged_file_error(folder / METRICS, f"line {number} has an impossible {name}")
        if why := cls.find_problem(lines):
            raise damaged_file_error(folder / METRICS, why)
        return lines

    @classmethod
    def has_fields(cls, line: Mapping[str, Any]) -> bool:
        """Return whether a line has all of `FIELDS`, and after them perhaps some of `IF_RECORDED`, in their order."""
        return tuple(line) == (*cls.FIELDS, *(name for name in cls.IF_RECORDED if name in line))

    @copied_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl as new dictionaries; keys are `FIELDS`.

        Empty before the first line is recorded. Raises DamagedFileError if a line is damaged, or if the lines of a
        finished run do not match its summary.
        """
        is_finished = self.is_finished  # checked first: the run may end while its lines are read
        lines = self.read_lines(self.folder)
        if is_finished and not self.are_summarised(lines):
            raise self._other_lines_error()
        return lines

    @property
    def shared_lines(self) -> Sequence[Mapping[str, Any]]:
        """`lines` without a copy, for reading only: copies of long studies take 50 ms."""
        shared: Any = getattr(type(self).lines, "shared", None)  # a subclass may have an ordinary property
        found: list[dict[str, Any]] = self.lines if shared is None else shared(self)
        return found

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether lines can be all lines of this run, which is finished."""
        return bool(lines)

    def are_summarised(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the summary of this finished run was computed from these lines."""
        return self.are_complete(lines) and self.summary.get(DIGEST) == digest(lines)

    @property
    def metrics(self) -> "pandas.DataFrame":
        """A new data frame with a row for every line; columns are `FIELDS`, null becomes NaN."""
        return self.as_frame(self.lines)

    def to_frame(self) -> "pandas.DataFrame":
        """Return everything that was recorded over time as a new data frame; `attrs["config"]` has the options.

        For most kinds of runs, these are the rows of `metrics`.
        """
        return self._with_options(self.metrics)

    def _with_options(self, frame: "pandas.DataFrame") -> "pandas.DataFrame":
        frame.attrs["config"] = self.config
        return frame

    @classmethod
    def as_frame(cls, lines: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
        """Return lines as a frame with a column for each of `FIELDS`, and for each of `IF_RECORDED` that a line has."""
        import pandas

        extra = [name for name in cls.IF_RECORDED if any(name in line for line in lines)]
        types = {name: "int64" if kind is int else "float64" for name, kind in cls.FIELDS.items() if _is_number(kind)}
        return pandas.DataFrame(lines, columns=[*cls.FIELDS, *extra]).astype(types)

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return (self.folder / SUMMARY).exists()

    @copied_property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json as a new dictionary.

        Raises UserError for a run that is not finished, and DamagedFileError if a field of `SUMMARISED` is missing or
        has a wrong type.
        """
        if not self.is_finished:
            raise self.unfinished_error()
        content = read_object(self.folder / SUMMARY)
        for name, kind in self.SUMMARISED.items():
            if name not in content or not has_type(content[name], kind):
                raise damaged_file_error(self.folder / SUMMARY, f"its {name} is missing or impossible")
        return content

    @copied_property
    def environment(self) -> dict[str, Any]:
        """The versions, device and commit that the run was started with, as a new dictionary."""
        return read_object(self.folder / ENVIRONMENT)

    @property
    def search_config(self) -> dict[str, Any]:
        """The options of the run; for a run of several searches, such as a tuning study, also those of its searches."""
        return self.config

    @property
    def progress(self) -> str:
        """How far the run is, in words, such as "epoch 12 of 50"; empty if this is unknown."""
        return self._progress(len(self.shared_lines))

    @property
    def result(self) -> str:
        """The result in words; raises UserError for a run that is not finished."""
        return self._result(self.summary)

    def unfinished_error(self) -> UserError:
        """Return the error for reading results of a run that is not finished."""
        return UserError(f"'{self.folder}' is not finished: continue with {resume_command(self.COMMAND, self.folder)}")


def listed_options(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return options and their values in one line, without options that are missing or None."""
    return ", ".join(f"{name} {config[name]}" for name in names if config.get(name) is not None)


def no_result_error(folder: Path) -> InvalidInputError:
    """Return the error for drawing a run, or a group of runs, that has not recorded a result yet."""
    return InvalidInputError(f"'{folder}' does not have a result yet: resume it, or wait for one")


def digest(lines: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of lines in the form of metrics.jsonl."""
    return hashlib.sha256("".join(map(as_json_line, lines)).encode()).hexdigest()


@cache
def _kinds(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) or (kind,)


def _is_number(kind: Any) -> bool:
    return float in _kinds(kind) or kind is int


@dataclass(frozen=True)
class ObjectOf:
    """The type of a field that is a JSON object with fields of its own.

    Attributes:
        values: the type of all its values. Default: any.
        fields: the names and types of fields that it must have.
        is_optional: whether null is valid, too.
    """

    values: Any = None
    fields: tuple[tuple[str, Any], ...] = ()
    is_optional: bool = False

    def holds(self, value: Any) -> bool:
        """Return whether a JSON value has this type."""
        if not isinstance(value, dict):
            return value is None and self.is_optional
        has_fields = all(name in value and has_type(value[name], kind) for name, kind in self.fields)
        return has_fields and (self.values is None or all(has_type(of, self.values) for of in value.values()))


def has_type(value: Any, kind: Any) -> bool:
    """Return whether a JSON value has a field's type; every number is finite, and an integer may be a float."""
    if isinstance(kind, ObjectOf):
        return kind.holds(value)
    kinds = _kinds(kind)
    if isinstance(value, int) and not isinstance(value, bool):
        return (int in kinds or float in kinds) and abs(value) <= LARGEST
    if isinstance(value, float):
        return float in kinds and math.isfinite(value)
    return type(value) in kinds
