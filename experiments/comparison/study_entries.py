"""The studies of a comparison: black-box studies, trajectories of other programs, and tuning studies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.black_box_search.goal import Goal, describe_feedback
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.curves import Trace
from nasbench1shot1.experiments.comparison.entries import EVALUATIONS, SIMULATED_TIME, Entry, Over
from nasbench1shot1.experiments.rescoring import recorded_table, rescore_black_box, rescore_study
from nasbench1shot1.experiments.tuning.trajectory import trajectory
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.registry import check_trusted
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.record import NOTE, RunRecord
from nasbench1shot1.tables.columns import STANDARD
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.options import TUNERS
from nasbench1shot1.tuning.record import Study


@dataclass(frozen=True, eq=False)
class StudyEntry(Entry):
    """A study of any kind.

    Attributes:
        study: its record.
    """

    study: BlackBoxStudy | Study

    @property
    def run(self) -> RunRecord:
        """See `Entry`."""
        return self.study

    @property
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """See `Entry`."""
        return [self.study.config]

    @property
    def progress(self) -> str | None:
        """See `Entry`."""
        return None if self.study.is_finished else self.study.progress


@dataclass(frozen=True, eq=False)
class BlackBoxEntry(StudyEntry):
    """A black-box study. Each search is a repetition. Scoring on another table does not change its clock.

    A study on a table without training times only has the axis of evaluations.
    """

    AXES, FAMILY, REPETITION = (SIMULATED_TIME, EVALUATIONS), "black-box", "repeat"
    CLOCK = "The simulated time of a black-box search is the sum of its training times."

    study: BlackBoxStudy

    @property
    def folders(self) -> list[Path]:
        """See `Entry`."""
        own = self.study.folder
        return [own, *(part.folder for part in self.study.ranges if part.folder != own)]

    @property
    def axes(self) -> tuple[Over, ...]:
        """See `Entry`."""
        return self.AXES if self.study.is_timed else (EVALUATIONS,)

    @property
    def goal(self) -> Goal:
        """See `Entry`."""
        return self.study.goal

    def repetitions(self, over: Over, table: Table | None) -> list[Trace]:
        """See `Entry`."""
        study = self.study if table is None else rescore_black_box(self.study, table)
        return [self._repetition(line, over, table) for line in study.shared_lines]

    def _repetition(self, line: Mapping[str, Any], over: Over, table: Table | None) -> Trace:
        time, end = (0, "simulated_seconds") if over == SIMULATED_TIME else (1, "evaluations")
        incumbents, limit = line["incumbents"], self.study.config["seconds"] if over == SIMULATED_TIME else None
        regrets = [entry[-1] for entry in incumbents]
        values = self.check_known("test regrets", np.array(regrets, dtype=np.float64), table)
        return Trace(
            at=np.array([entry[time] for entry in incumbents], dtype=np.float64),
            values=values,
            end=float(limit or line[end]),
            final=float(values[-1]),
            final_measured=float(line["test_measured"]),  # earlier incumbents are recorded without this
            key=self._key(line),
        )

    @property
    def note(self) -> str:
        """See `Entry`."""
        return str(self.study.summary.get(NOTE, "")) if self.study.is_finished else ""

    @property
    def setting(self) -> str:
        """See `Entry`."""
        config = self.study.config
        budgets = [
            f"at most {config['seconds']:,.0f} simulated seconds" if config["seconds"] is not None else "",
            counted(config["evaluations"], "training") if config["evaluations"] is not None else "",
        ]
        feedback = describe_feedback([self.study.feedback_repeats], self.study.goal).removesuffix(".")
        budget = " and ".join(filter(None, budgets))
        seed = f"seed {config['seed']}"
        return "; ".join(filter(None, [seed, budget and f"{budget} per search", feedback[:1].lower() + feedback[1:]]))

    def _key(self, line: Mapping[str, Any]) -> str:
        """Return what seeds a search, as `Trace.key`."""
        return f"seed {self.study.config['seed']}, repeat {line['repeat']}"


@dataclass(frozen=True, eq=False)
class TrajectoryEntry(BlackBoxEntry):
    """A black-box study that another program recorded, with its own clock."""

    CLOCK = "The simulated time of another program's trajectory is the clock of its file."

    @property
    def setting(self) -> str:
        """See `Entry`."""
        return "recorded by another program"

    def _key(self, line: Mapping[str, Any]) -> str:
        """Return an empty key: the other program's seeds are unknown."""
        return ""

    @property
    def origin(self) -> str:
        """See `Entry`."""
        return self.study.origin


@dataclass(frozen=True, eq=False)
class TuningEntry(StudyEntry):
    """A tuning study: a single repetition whose clock sums the costs of all searches."""

    AXES, REPETITION = (SIMULATED_TIME,), ""
    CLOCK = (
        "The simulated time of a tuning study is the time of its searches plus one training of each architecture found."
    )

    study: Study

    @property
    def records(self) -> Sequence[SearchRecord | Study]:
        """The study."""
        return [self.study]

    @property
    def scale(self) -> str | None:
        """See `Entry`."""
        found: str | None = self.study.shared_options.get("scale")
        return found

    @property
    def name(self) -> str:
        """See `Entry`."""
        return f"{self.optimizer} tuned by {TUNERS[self.study.config['tuner']]}"

    @property
    def goal(self) -> Goal:
        """See `Entry`."""
        return Goal() if self.study.guide == "validation" else Goal(STANDARD["test_accuracy"])

    def no_result_error(self) -> InvalidInputError:
        """See `Entry`; all searches of a finished study may have failed."""
        if not self.study.is_finished:
            return super().no_result_error()
        return InvalidInputError(
            f"'{self.folder}' does not have a result, because all its searches diverged: remove it from the comparison"
        )

    @property
    def setting(self) -> str:
        """See `Entry`."""
        config = self.study.config
        budgets = f"{config['min_budget']:g} to {config['max_budget']:g} epochs per search"
        return f"seed {config['seed']}; {counted(len(self.study.shared_lines), 'observation')}; {budgets}"

    def repetitions(self, over: Over, table: Table | None) -> list[Trace]:
        """See `Entry`."""
        frame = rescore_study(self.study, table or self._own_table())
        if frame.loc[frame["architecture"].notna(), "simulated_seconds"].isna().any():
            raise self.lacking_error("training times")  # also of a partial table, as costs are added up
        found = trajectory(frame)
        if not len(found):
            return []
        regrets = self.check_known("test regrets", found["test_regret"].to_numpy(np.float64), table)
        at = found["seconds"].to_numpy(np.float64)
        flags = frame.set_index("number").loc[found["number"], "test_measured"].astype(float)
        known: dict[str, Any] = {"measured": float(flags.mean()), "final_measured": float(flags.iloc[-1])}
        return [Trace(at=at, values=regrets, holds=self.study.is_finished, **known)]

    def _own_table(self) -> Table:
        """Return the table of the study, needed to tell measured from predicted regrets.

        Raises InvalidInputError if the table is not installed.
        """
        check_trusted("search_spaces", "space", self.study.config["space"], self.folder / CONFIG)
        if (table := recorded_table(self.study)) is not None:
            return table
        raise InvalidInputError(
            f"the table {self.study.config['table_id']} of '{self.folder}' is not installed, so it is unknown which "
            f"regrets are measured: score all runs on an installed table with {option('table')}"
        )
