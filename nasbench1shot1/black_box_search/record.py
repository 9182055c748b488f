"""The record of a black-box study: one line per search, with its incumbents over simulated time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.black_box_search.anytime import statistics_over_time, time_grid
from nasbench1shot1.black_box_search.options import FACTS, BlackBoxConfig
from nasbench1shot1.evaluator import ELSEWHERE
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.runs.folder import METRICS, PARTS, count_lines
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.record import RunRecord, has_type

if TYPE_CHECKING:
    import pandas

FIELDS: dict[str, Any] = {
    "repeat": int,
    "architecture": str,
    "validation_error": float,
    "test_error": float | None,
    "test_regret": float | None,
    "validation_regret": float | None,
    "test_measured": bool,
    "evaluations": int,
    "simulated_seconds": float,
    "other_datasets": dict,
    "incumbents": list,
}
"""Fields of a line of metrics.jsonl, one line per search; errors and regrets are fractions, times in seconds."""
INCUMBENT: dict[str, Any] = {
    "simulated_seconds": float,
    "evaluations": int,
    "architecture": str,
    "validation_error": float,
    "test_error": float | None,
    "test_regret": float | None,
}
"""Fields of each entry of `incumbents`, in order, with their types."""
FINAL = (
    "repeat",
    "architecture",
    "validation_error",
    "test_error",
    "test_regret",
    "validation_regret",
    "test_measured",
)
FINAL_COUNTS = ("evaluations", "simulated_seconds")
FIGURE = "regret.png"
PART_FACTS: dict[str, type] = {**FACTS, "first": int, "count": int}
"""Fields of config.json that identify a part: the fields of its study, its first search and its number of searches."""


@dataclass(frozen=True, eq=False, repr=False)
class BlackBoxStudy(RunRecord):
    """Read-only view of the folder of a black-box study: repeated searches of one optimizer on one space.

    Attributes:
        folder: the folder of the study.
        config: all resolved options, and the identities of space and table.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "black-box study", "blackbox", FIELDS, BlackBoxConfig, FACTS

    PICTURE = FIGURE

    def _subject(self) -> str:
        return f"{self.config['optimizer']} on {self.config['space']}, seed {self.config['seed']}"

    def _progress(self, recorded: int) -> str:
        return f"{recorded:,} of {counted(self.config['repeats'], 'search')}"

    def _recorded(self) -> int:
        """Return the number of finished searches, merged or still in parts."""
        if self.is_finished:
            return super()._recorded()
        merged = count_lines(self.folder / METRICS)
        ends = [
            (first, first + count_lines(part_folder(self.folder, first, count) / METRICS))
            for first, count in started_parts(self.folder)
        ]
        return merged + sum(max(end - max(first, merged), 0) for first, end in ends)

    def check_merged(self) -> None:
        """Raise InvalidInputError if no search is recorded in the study, but some are in its parts."""
        if not self.lines and (found := self._recorded()):
            raise InvalidInputError(
                f"'{self.folder}' has {self._progress(found)} so far, which are still in its parts: "
                f"resume it with {resume_command(self.COMMAND, self.folder)}, or wait if it is running"
            )

    def _result(self, summary: Mapping[str, Any]) -> str:
        if summary["test_regret"] is None:
            return "test regret not in the table"
        predicted = "" if summary["measured_test_errors"] == self.config["repeats"] else " (predicted)"
        return f"mean test regret {percent(summary['test_regret']['mean'])}{predicted}"

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a description of the first fault of the lines, or None if they are well-formed and consecutive."""
        for before, line in zip([None, *lines], lines, strict=False):
            if before is not None and line["repeat"] != before["repeat"] + 1:
                return "the numbers of its searches are not consecutive"
            if not line["incumbents"] or not all(map(_is_incumbent, line["incumbents"])):
                return f"search {line['repeat']} has an impossible incumbent"
            if list(line["other_datasets"]) != list(lines[0]["other_datasets"]) or not _are_scores(line):
                return f"search {line['repeat']} has impossible values of other data sets"
        return None

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether every search has a line."""
        return bool(len(lines) == self.config["repeats"])

    @cached_property
    def final(self) -> "pandas.DataFrame":
        """Return a data frame with one row per search: the final incumbent and the length of the search.

        Columns: repeat, architecture, validation_error (of the training that made it the incumbent), test_error,
        test_regret and validation_regret (after full training, mean over repeats), test_measured, evaluations,
        simulated_seconds. Each other data set NAME of the table adds `test_error/NAME` and `test_regret/NAME`.
        """
        frame = self.metrics[[*FINAL, *FINAL_COUNTS]].copy()
        others = self.lines[0]["other_datasets"] if self.lines else {}
        for name in others:
            for column in ("test_error", "test_regret"):
                recorded = "table_test_error" if column == "test_error" else column
                frame[f"{column}/{name}"] = [line["other_datasets"][name][recorded] for line in self.lines]
        return frame

    @cached_property
    def trajectory(self) -> "pandas.DataFrame":
        """Return a data frame with one row per incumbent of each search; columns repeat and keys of `INCUMBENT`."""
        import pandas

        rows = [(line["repeat"], *entry) for line in self.lines for entry in line["incumbents"]]
        frame = pandas.DataFrame(rows, columns=["repeat", *INCUMBENT])
        numbers = ("simulated_seconds", "validation_error", "test_error", "test_regret")
        return frame.astype(dict.fromkeys(numbers, "float64"))

    @cached_property
    def regret_statistics(self) -> "pandas.DataFrame":
        """Return the test regret of the incumbent over simulated seconds, as fractions, up to the longest search.

        Columns: as in `anytime.statistics_over_time`.
        """
        end = float(self.final["simulated_seconds"].max())
        return statistics_over_time(self.trajectory, time_grid([self.trajectory], end))


@dataclass(frozen=True, eq=False, repr=False)
class StudyPart(BlackBoxStudy):
    """Consecutive searches of a study that a separate process runs; they are then merged into the study."""

    KIND = "part of a black-box study"
    FACTS = PART_FACTS

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether every search of the part has a line."""
        return bool(len(lines) == self.config["count"])


def part_folder(study: Path, first: int, count: int) -> Path:
    """Return the folder of the part that holds `count` searches from number `first`."""
    return study / PARTS / f"{first:05d}-{count}"


def started_parts(study: Path) -> list[tuple[int, int]]:
    """Return the first search and the number of searches of each part in a study's folder, in ascending order."""
    names = [re.fullmatch(r"(\d+)-(\d+)", path.name) for path in (study / PARTS).glob("*-*") if is_started(path)]
    return sorted((int(name[1]), int(name[2])) for name in names if name)


def _is_incumbent(entry: Any) -> bool:
    is_whole = isinstance(entry, list) and len(entry) == len(INCUMBENT)
    return is_whole and all(map(has_type, entry, INCUMBENT.values()))


def _are_scores(line: Mapping[str, Any]) -> bool:
    """Return whether all values of a line's other data sets are numbers or null."""
    return all(
        isinstance(values, dict)
        and tuple(values) == ELSEWHERE
        and all(has_type(value, float | None) for value in values.values())
        for values in line["other_datasets"].values()
    )
