"""The record of a black-box study: one line per search, with its incumbents over simulated time; its summary."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.black_box_search.goal import FIELD as OBJECTIVE
from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.black_box_search.options import FACTS, BlackBoxConfig
from nasbench1shot1.evaluator import ELSEWHERE
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.runs.folder import CONFIG, METRICS, PARTS, count_lines, damaged_file_error
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.record import RunRecord, has_type

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
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
"""Fields of a line of metrics.jsonl, one line per search; errors and regrets are fractions, times in seconds.

With the option `objective`, errors are costs of its metrics (`Column.cost`), and regrets are in their units.
"""
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
FROM_CONFIG = ("optimizer", "space", "seed", "repeats", "seconds", "evaluations", "epochs", "dataset", "table_id")


@dataclass(frozen=True, eq=False, repr=False)
class BlackBoxStudy(RunRecord):
    """Read-only view of the folder of a black-box study: repeated searches of one optimizer on one space.

    Attributes:
        folder: the folder of the study.
        config: all resolved options, the identities of space and table, and the metrics of another objective.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "black-box study", "blackbox", FIELDS, BlackBoxConfig, FACTS

    PICTURE = FIGURE

    @cached_property
    def goal(self) -> Goal:
        """The metrics that guide and judge the searches."""
        return Goal.from_config(self.config)

    def check_config(self) -> None:
        """See `RunRecord`; the descriptions of the metrics must be readable, too."""
        super().check_config()
        try:
            _ = self.goal
        except (TypeError, KeyError, AttributeError):
            raise damaged_file_error(self.folder / CONFIG, f"its {OBJECTIVE} is missing or impossible") from None

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
            return f"{self.goal.regret} not in the table"
        predicted = "" if summary["measured_test_errors"] == self.config["repeats"] else " (predicted)"
        return f"mean {self.goal.regret} {self.goal.text(summary['test_regret']['mean'])}{predicted}"

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

        Columns: as in `statistics_over_time`.
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


def statistics_over_time(trajectory: "pandas.DataFrame", times: Any, column: str = "test_regret") -> "pandas.DataFrame":
    """Return statistics of the incumbents over all searches, from the time at which every search has a value.

    Args:
        trajectory, times, column: as in `values_at`.

    Returns:
        A data frame with the columns seconds, mean, median, low and high (25 % and 75 % quantiles), one row per time.
        The statistics are NaN at times at which the value of an incumbent is unknown.
    """
    import pandas

    moments, values = np.asarray(times, np.float64), values_at(trajectory, times, column)
    has_started = np.logical_or.accumulate(~np.isnan(values).any(axis=0))
    moments, values = moments[has_started], values[:, has_started]
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    return pandas.DataFrame(
        {"seconds": moments, "mean": values.mean(axis=0), "median": median, "low": low, "high": high}
    )


def values_at(trajectory: "pandas.DataFrame", times: Any, column: str = "test_regret") -> Floats:
    """Return a column of the incumbents at T times, shape (searches, T); NaN before a search's first training ends.

    Args:
        trajectory: rows of incumbents with the columns repeat, simulated_seconds and `column`, sorted by time within
            each repeat.
        times: T simulated seconds, ascending.
        column: the column to return, such as "test_regret" or "test_error".
    """
    moments, searches = np.asarray(times, np.float64), trajectory.groupby("repeat", sort=True)
    return np.stack([_steps(rows, moments, column) for _, rows in searches])


def _steps(rows: "pandas.DataFrame", times: Floats, column: str) -> Floats:
    values = np.concatenate([[np.nan], rows[column].to_numpy(np.float64)])
    return values[np.searchsorted(rows["simulated_seconds"].to_numpy(np.float64), times, side="right")]


def time_grid(trajectories: Sequence["pandas.DataFrame"], last: float | None = None, points: int = 300) -> Floats:
    """Return times, evenly spaced on a logarithmic axis, from the first incumbent of any search to the last time.

    A logarithmic grid cannot start at zero, so incumbents without cost are ignored.

    Args:
        trajectories: rows of incumbents.
        last: the last time in simulated seconds. Default: the time of the last incumbent.
        points: number of times.
    """
    seconds = np.concatenate([rows["simulated_seconds"].to_numpy(np.float64) for rows in trajectories])
    first, end = float(seconds[seconds > 0].min(initial=last or seconds.max() or 1.0)), float(last or seconds.max())
    return np.geomspace(first, max(end, first), points)


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return statistics over the searches of a study. Errors and regrets are fractions, times are seconds.

    For an objective other than the default, the metric and the unit of the errors and regrets are added.
    """
    goal = Goal.from_config(config)
    about = {} if goal.is_default else {"objective": goal.guide.metric, "unit": goal.judge.unit}
    return {
        **{name: config[name] for name in FROM_CONFIG},
        **about,
        "test_regret": statistics_of([line["test_regret"] for line in lines]),
        "test_error": statistics_of([line["test_error"] for line in lines]),
        "validation_error": statistics_of([line["validation_error"] for line in lines]),
        "measured_test_errors": sum(line["test_measured"] for line in lines),
        "mean_evaluations": statistics.fmean(line["evaluations"] for line in lines),
        "mean_simulated_seconds": statistics.fmean(line["simulated_seconds"] for line in lines),
    }


def statistics_of(values: Sequence[float | None]) -> dict[str, float] | None:
    """Return mean, standard deviation (n - 1; 0 for one value), median, minimum and maximum; None if one is None."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    return {
        "mean": statistics.fmean(known),
        "std": statistics.stdev(known) if len(known) > 1 else 0.0,
        "median": statistics.median(known),
        "min": min(known),
        "max": max(known),
    }
