"""The record of a black-box study: one line per search, with its incumbents over simulated time.

The searches of a study are numbered. Searches that the study's own process ran are in its metrics.jsonl. Other
processes run ranges of searches as studies of their own, in sub-folders whose names begin with `repeats-`. Readers see
the searches of all of them in the order of their numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.black_box_search.goal import FEEDBACK, Goal
from nasbench1shot1.black_box_search.goal import FIELD as OBJECTIVE
from nasbench1shot1.black_box_search.options import FACTS, BlackBoxConfig
from nasbench1shot1.black_box_search.summary import STATISTICS, source_in_words, summarise
from nasbench1shot1.display.curves import Pooled, Statistic, Trace, pool, span
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.display.style import Spread
from nasbench1shot1.evaluator import OTHER_DATASETS, Baseline
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.ground.values import copied_property
from nasbench1shot1.runs.folder import CONFIG, METRICS, OUTSIDE, TRAJECTORY, count_lines, damaged_file_error
from nasbench1shot1.runs.lock import LOCK
from nasbench1shot1.runs.own_files import OF_EVERY_RUN
from nasbench1shot1.runs.record import DIGEST, ObjectOf, RunRecord, digest, has_type, no_result_error
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
Clock = Literal["simulated_seconds", "evaluations"]
"""The horizontal axis of a study: the limit of its searches, which are columns of its records."""
FIELDS: dict[str, Any] = {
    "repeat": int,
    "architecture": str,
    "validation_error": float,
    "test_error": float | None,
    "test_regret": float | None,
    "validation_regret": float | None,
    "test_measured": bool,
    "evaluations": int,
    "simulated_seconds": float | None,
    "other_datasets": OTHER_DATASETS,
    "incumbents": list,
}
"""Fields of a line of metrics.jsonl, one line per search; errors and regrets are fractions, times in seconds.

Simulated seconds are None if the table has no training times; the clock then only counts trainings.

With the option `objective`, errors are costs of its metrics (`Column.cost`), and regrets are in their units.

If an `nb.objective` has several metrics, the field `front` follows: the trainings that no earlier training dominated.
Each entry has simulated seconds, the number of trainings so far, the architecture, and a list of costs in the order of
the objectives.
"""
INCUMBENT: dict[str, Any] = {
    "simulated_seconds": float | None,
    "evaluations": int,
    "architecture": str,
    "validation_error": float,
    "test_error": float | None,
    "test_regret": float | None,
}
"""Fields of each entry of `incumbents`, in order, with their types."""
SUMMARISED: dict[str, Any] = {
    "test_regret": ObjectOf(float, tuple((name, float) for name in STATISTICS), is_optional=True),
    "measured_test_errors": int,
    "mean_evaluations": float,
    "mean_simulated_seconds": float | None,
}
"""Fields of summary.json that readers use, with their types."""
FIGURE = "regret.png"
POINTS = 300
"""Number of points of a curve."""
RANGE = "repeats-"
"""Beginning of the names of the sub-folders with ranges of a study's searches."""
OTHERS = "other_objectives"
"""Field of config.json, if an objective has several metrics: descriptions of all but the first, by metric."""
NOT_SHARED = ("first_repeat", "repeats", "table", *PICTURES, "spread", FEEDBACK)
"""Fields of config.json that may differ between ranges of one study; `table_id` identifies the table, and an outside
optimizer may use other budgets, with other feedback, in each range."""


@dataclass(frozen=True, eq=False, repr=False)
class BlackBoxStudy(RunRecord):
    """Read-only view of the folder of a black-box study: repeated searches of one optimizer on one space.

    Attributes:
        folder: the folder of the study.
        config: all resolved options, the identities of space and table, and the metrics of another objective.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "black-box study", "blackbox", FIELDS, BlackBoxConfig, FACTS
    SUMMARISED = SUMMARISED
    IF_RECORDED: ClassVar[Mapping[str, Any]] = {"front": list}

    PICTURE: ClassVar[str | None] = FIGURE
    FILES = (
        *(FIGURE, f"{RANGE}*.log", f".{RANGE}*.token"),
        *(f"{RANGE}*/{name}" for name in (*OF_EVERY_RUN, FIGURE, f"{LOCK}*", ".*.part")),
    )
    DRAWING = "nasbench1shot1.experiments.run_drawing:draw_regret"
    SHOWN = ("repeats", "seconds", "evaluations", "epochs", "dataset")
    HAS_CHECKPOINTS = False

    @cached_property
    def goal(self) -> Goal:
        """The metrics that guide and judge the searches."""
        return Goal.from_config(self.config)

    @cached_property
    def baseline(self) -> Baseline | None:
        """The bounds of the searches and their baseline; None without bounds."""
        return Baseline.from_config(self.config, self.folder / CONFIG)

    @property
    def is_outside(self) -> bool:
        """Whether an optimizer of another library created the study by calling an `nb.objective`."""
        return self.config.get(OUTSIDE) is True

    @property
    def is_trajectory(self) -> bool:
        """Whether another program recorded the trainings (`nb.study_from_frame`)."""
        return TRAJECTORY in self.config

    @property
    def source(self) -> str | Path:
        """The folder of the study; for a trajectory in a temporary folder, the file or the label of its trainings."""
        source: str | None = self.config.get(TRAJECTORY, {}).get("source")
        return self.folder if source is None else source

    @property
    def origin(self) -> str:
        """A sentence about searches that another program recorded, for captions; empty for other studies."""
        if not self.is_trajectory:
            return ""
        has_losses = bool(self.config[TRAJECTORY].get("losses"))
        errors = "the recorded validation errors" if has_losses else "the table's mean validation errors"
        return f"Another program ran {self.config['optimizer']}; its incumbents follow from {errors}."

    def unfinished_error(self) -> UserError:
        """Return the error for reading results of a study that is not finished."""
        if self.is_trajectory:
            return UserError(f"'{self.folder}' is not finished: read the other program's log again into a new folder")
        if not self.is_outside:
            return super().unfinished_error()
        return UserError(
            f"'{self.folder}' is not finished: continue in Python with nb.objective(resume='{self.folder}'), and call "
            "finish()"
        )

    @property
    def feedback_repeats(self) -> dict[str, list[int]]:
        """For each budget, the smallest and the largest number of repeats of an architecture, of which one is drawn.

        Empty for studies that were recorded before this field existed.
        """
        recorded: dict[str, list[int]] = self.config.get(FEEDBACK, {})
        return recorded

    def check_config(self) -> None:
        """See `RunRecord`; the descriptions of the metrics and the bounds must be readable, too."""
        for name, value in {"first_repeat": 0, "continuation": False}.items():
            self._config.setdefault(name, value)  # studies recorded before these options existed lack them
        super().check_config()
        try:
            _ = self.goal
        except (TypeError, KeyError, AttributeError):
            raise damaged_file_error(self.folder / CONFIG, f"its {OBJECTIVE} is missing or impossible") from None
        if not _are_feedback_repeats(self.config.get(FEEDBACK, {})):
            raise damaged_file_error(self.folder / CONFIG, f"its {FEEDBACK} is impossible")
        _ = self.baseline
        trajectory = self.config.get(TRAJECTORY, {})
        if not (isinstance(trajectory, dict) and isinstance(trajectory.get("source", ""), str)):
            raise damaged_file_error(self.folder / CONFIG, f"its {TRAJECTORY} is impossible")

    def _subject(self) -> str:
        return f"{self.config['optimizer']} on {self.config['space']}, seed {self.config['seed']}"

    def _progress(self, recorded: int) -> str:
        return f"{recorded:,} of {counted(self.config['repeats'], 'search')}"

    @property
    def recorded(self) -> int:
        """The number of recorded searches, which grows while the study runs; without those outside `numbers`."""
        recorded = [(self.config["first_repeat"], count_lines(self.folder / METRICS))]
        recorded += [(part.config["first_repeat"], part.recorded) for part in self.ranges]
        own = self.numbers
        return sum(len(range(max(first, own.start), min(first + count, own.stop))) for first, count in recorded)

    def _recorded(self) -> int:
        if self.is_finished and not self.recorded:
            raise FileNotFoundError(self.folder / METRICS)
        return self.recorded

    @property
    def numbers(self) -> range:
        """The numbers of the searches."""
        first = self.config["first_repeat"]
        return range(first, first + self.config["repeats"])

    @property
    def ranges(self) -> "list[BlackBoxStudy]":
        """The studies in sub-folders that ran ranges of these searches, in the order of their numbers.

        Raises InvalidInputError if one of them has other options or data than this study.
        """
        found = [type(self).open(path.parent) for path in self.folder.glob(f"{RANGE}*/{CONFIG}")]
        return _in_order(found, self)

    def _result(self, summary: Mapping[str, Any]) -> str:
        if summary["test_regret"] is None:
            return f"{self.goal.regret} not in the table"
        source = source_in_words(summary, self.config["repeats"])
        predicted = "" if source == "measured" else f" ({source})"
        return self.goal.mark(f"mean {self.goal.regret} {self.goal.text(summary['test_regret']['mean'])}{predicted}")

    def _numbers(self, summary: Mapping[str, Any]) -> dict[str, str]:
        regret, text = self.goal.mark(self.goal.regret), self.goal.text
        found = {"mean evaluations": f"{summary['mean_evaluations']:,.4g}"}
        if summary["mean_simulated_seconds"] is not None:
            found["mean simulated time"] = f"{summary['mean_simulated_seconds']:,.0f} s"
        if (values := summary["test_regret"]) is None:
            return {f"mean {regret}": "not in the table", **found}
        repeats = self.config["repeats"]
        is_exact = self.goal.judge.fidelity == "exact"
        source = "exact" if is_exact else source_text(summary["measured_test_errors"] / repeats)
        spread = {f"standard deviation of {regret}": "std", f"median {regret}": "median"} if repeats > 1 else {}
        return {
            f"mean {regret}": f"{text(values['mean'])} ({source}; n = {repeats:,})",
            **{name: text(values[key]) for name, key in spread.items()},
            **found,
        }

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a description of the first fault of the lines, or None if they are well-formed and consecutive."""
        for before, line in zip([None, *lines], lines, strict=False):
            if before is not None and line["repeat"] != before["repeat"] + 1:
                return "the numbers of its searches are not consecutive"
            if not line["incumbents"] or not all(map(_is_incumbent, line["incumbents"])):
                return f"search {line['repeat']} has an impossible incumbent"
            if not all(map(_is_of_front, line.get("front", []))):
                return f"search {line['repeat']} has an impossible front"
            if list(line["other_datasets"]) != list(lines[0]["other_datasets"]):
                return f"search {line['repeat']} has other data sets than search {lines[0]['repeat']}"
        return None

    @classmethod
    def join(cls, studies: "Sequence[str | Path | BlackBoxStudy]") -> "BlackBoxStudy":
        """Return several studies of different ranges of searches as one study.

        Args:
            studies: folders or records of studies that differ only in `first_repeat` and `repeats`.

        Raises:
            InvalidInputError: no study is given, studies have a search in common, or they differ in other options,
                space or table.
        """
        opened = [study if isinstance(study, BlackBoxStudy) else cls.open(study) for study in studies]
        if not opened:
            raise InvalidInputError("no study is given: give the folders of at least one study")
        ordered = _in_order(opened, opened[0])
        for before, study in pairwise(ordered):
            if (first := study.numbers.start) < before.numbers.stop:
                raise InvalidInputError(
                    f"'{before.folder}' and '{study.folder}' both have search {first}: give studies with different "
                    f"ranges of searches ({option('first_repeat')})"
                )
        searches = sum(study.config["repeats"] for study in ordered)
        return JoinedStudy(ordered[0].folder, {**ordered[0].config, "repeats": searches}, tuple(ordered))

    @classmethod
    def read_lines(cls, folder: Path) -> list[dict[str, Any]]:
        """See `RunRecord`; the lines of all ranges are included, in the order of the searches."""
        own, study = super().read_lines(folder), cls.open(folder)
        lines = merged([own, *(part.lines for part in study.ranges)], folder)
        return [line for line in lines if line["repeat"] in study.numbers]

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether every search has a line."""
        return [line["repeat"] for line in lines] == list(self.numbers)

    @property
    def final(self) -> "pandas.DataFrame":
        """A new data frame with one row per search: the final incumbent and the length of the search.

        Columns: repeat, architecture, validation_error (of the training that made it the incumbent), test_error,
        test_regret and validation_regret (after full training, mean over repeats), test_measured, evaluations,
        simulated_seconds. Each other data set NAME of the table adds `test_error/NAME` and `test_regret/NAME`.
        """
        frame = self.metrics.drop(columns=["other_datasets", "incumbents", *self.IF_RECORDED], errors="ignore")
        lines = self.shared_lines
        others = lines[0]["other_datasets"] if lines else {}
        for name in others:
            for column in ("test_error", "test_regret"):
                recorded = "table_test_error" if column == "test_error" else column
                frame[f"{column}/{name}"] = [line["other_datasets"][name][recorded] for line in lines]
        return frame

    @property
    def trajectory(self) -> "pandas.DataFrame":
        """A new data frame with one row per incumbent of each search; columns repeat and keys of `INCUMBENT`."""
        import pandas

        rows = [(line["repeat"], *entry) for line in self.shared_lines for entry in line["incumbents"]]
        frame = pandas.DataFrame(rows, columns=["repeat", *INCUMBENT])
        numbers = ("simulated_seconds", "validation_error", "test_error", "test_regret")
        return frame.astype(dict.fromkeys(numbers, "float64"))

    def to_frame(self) -> "pandas.DataFrame":
        """Return a new data frame with a row for each incumbent of each search; `attrs["config"]` has the options.

        The columns of `trajectory` are followed by the columns of `final` with the prefix "final_", whose values are
        equal in all rows of a search.
        """
        final = self.final.add_prefix("final_").rename(columns={"final_repeat": "repeat"})
        return self._with_options(self.trajectory.merge(final, on="repeat", how="left"))

    @property
    def clock(self) -> Clock:
        """What limits the searches, and the axis of pictures: simulated seconds, or a number of trainings."""
        return "evaluations" if self.config["seconds"] is None else "simulated_seconds"

    @property
    def is_timed(self) -> bool:
        """Whether the simulated seconds of all recorded searches are known."""
        return all(line["simulated_seconds"] is not None for line in self.shared_lines)

    def traces(self, column: str = "test_regret", clock: Clock | None = None) -> list[Trace]:
        """Return a key of `INCUMBENT` over time for each search; NaN where it is unknown.

        Args:
            column: the key.
            clock: what time is: "simulated_seconds" or "evaluations". Default: the study's clock.
        """
        clock = clock or self.clock
        time, place = (list(INCUMBENT).index(name) for name in (clock, column))
        found = []
        for line in self.shared_lines:
            at, values = (np.array([entry[of] for entry in line["incumbents"]], np.float64) for of in (time, place))
            found.append(Trace(at=at, values=values, end=line[clock], final=float(values[-1])))
        return found

    def regret_curve(self, spread: Spread | None = None, statistic: Statistic = "mean") -> Pooled:
        """Return the test regret of the incumbents, pooled over all searches, over the study's clock.

        The curve starts when every search has an incumbent, and ends with the longest search. Its points are evenly
        spaced on a logarithmic axis.

        Args:
            spread: what the band shows. Default: "ci".
            statistic: "mean" or "median".

        Raises InvalidInputError if no search is recorded yet.
        """
        if not (traces := self.traces()):
            raise no_result_error(self.folder)
        return pool(traces, _times(traces), spread=spread, statistic=statistic)


@dataclass(frozen=True, eq=False, repr=False)
class JoinedStudy(BlackBoxStudy):
    """Several studies of one optimizer, read together as one study of all their searches.

    Attributes:
        folder: the folder of the first study.
        config: the fields of the first study, with the number of all searches.
        studies: the studies, in the order of the numbers of their searches.
    """

    PICTURE = None

    studies: tuple[BlackBoxStudy, ...] = ()

    @property
    def ranges(self) -> list[BlackBoxStudy]:
        """The studies."""
        return list(self.studies)

    @copied_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of all studies; raises DamagedFileError if two studies have a search in common."""
        return merged([study.lines for study in self.studies], self.folder)

    @property
    def recorded(self) -> int:
        """The number of recorded searches of all studies."""
        return sum(study.recorded for study in self.studies)

    @property
    def is_finished(self) -> bool:
        """Whether all studies are finished."""
        return all(study.is_finished for study in self.studies)

    @copied_property
    def summary(self) -> dict[str, Any]:
        """The summary of all searches as a new dictionary; raises UserError if a study is not finished."""
        for study in self.studies:
            _ = study.summary
        lines = self.shared_lines
        return {**summarise(self.config, lines), DIGEST: digest(lines)}


def _in_order(studies: Sequence[BlackBoxStudy], of: BlackBoxStudy) -> list[BlackBoxStudy]:
    """Return studies in the order of their searches; raises InvalidInputError if they do not belong together."""
    for study in studies:
        for name in sorted((study.config.keys() | of.config.keys()) - set(NOT_SHARED)):
            if (own := study.config.get(name)) != (other := of.config.get(name)):
                raise InvalidInputError(
                    f"'{study.folder}' has {name} {own}, but '{of.folder}' has {name} {other}: only studies that "
                    "differ in nothing but their repeats can be read together"
                )
    return sorted(studies, key=lambda study: study.numbers.start)


def merged(records: Sequence[Sequence[dict[str, Any]]], folder: Path) -> list[dict[str, Any]]:
    """Return the lines of several records in the order of the searches; raises DamagedFileError for a repeated one."""
    lines = sorted(chain.from_iterable(records), key=itemgetter("repeat"))
    for before, line in pairwise(lines):
        if line["repeat"] == before["repeat"]:
            raise damaged_file_error(folder, f"search {line['repeat']} is recorded twice")
    return lines


def _are_feedback_repeats(recorded: Any) -> bool:
    """Return whether a value maps budgets to pairs of numbers."""
    return isinstance(recorded, dict) and all(
        epochs.isdecimal() and isinstance(pair, list) and [type(number) for number in pair] == [int, int]
        for epochs, pair in recorded.items()
    )


def _is_incumbent(entry: Any) -> bool:
    is_whole = isinstance(entry, list) and len(entry) == len(INCUMBENT)
    return is_whole and all(map(has_type, entry, INCUMBENT.values()))


def _is_of_front(entry: Any) -> bool:
    """Return whether a value is an entry of `front`: seconds, trainings so far, architecture, list of costs."""
    is_whole = isinstance(entry, list) and len(entry) == 4 and isinstance(entry[3], list)
    types = (float | None, int, str)
    return is_whole and all(map(has_type, entry, types)) and all(has_type(cost, float) for cost in entry[3])


def _times(traces: Sequence[Trace]) -> Floats:
    """Return `POINTS` times from the first incumbent of any search to the end, without those before `span`.

    A logarithmic axis cannot start at zero, so incumbents without cost are ignored.
    """
    start, end = span(traces)
    every = np.concatenate([trace.at for trace in traces])
    first = float(every[every > 0].min(initial=end or 1.0))
    times = np.geomspace(first, max(end, first), POINTS)
    return times[times >= start]
