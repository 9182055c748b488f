"""Black-box studies and tuning studies in a comparison; each kind has its own simulated clock."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.evaluator import Score, score
from nasbench1shot1.experiments.comparison.entry import SIMULATED_TIME, Entry, Over, Repetition
from nasbench1shot1.experiments.rescoring import rescore_study
from nasbench1shot1.experiments.tuning.trajectory import trajectory
from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.named_data import table_of_run
from nasbench1shot1.registry import check_trusted
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.engine.interfaces import TUNERS
from nasbench1shot1.tuning.record import Study


@dataclass(frozen=True, eq=False)
class BlackBoxEntry(Entry):
    """A black-box study. Each search is a repetition. Scoring on another table does not change its clock."""

    AXES = (SIMULATED_TIME,)

    study: BlackBoxStudy

    @classmethod
    def from_study(cls, study: BlackBoxStudy) -> Self:
        """Return the entry of a study."""
        return cls(study.folder, BlackBoxStudy.KIND, study)

    @property
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """See `Entry`."""
        return [self.study.config]

    @property
    def progress(self) -> str | None:
        """See `Entry`."""
        done, all_ = len(self.study.lines), self.study.config["repeats"]
        return None if self.study.is_finished else f"{done:,} of {all_:,} searches"

    def repetitions(self, over: Over, table: Table | None) -> list[Repetition]:
        """See `Entry`."""
        self.study.check_merged()
        known: dict[str, Score] = {}
        return [self._repetition(line, table, known) for line in self.study.lines]

    def _repetition(self, line: Mapping[str, Any], table: Table | None, known: dict[str, Score]) -> Repetition:
        incumbents, limit = line["incumbents"], self.study.config["seconds"]
        regrets, is_measured = [entry[-1] for entry in incumbents], line["test_measured"]
        if table is not None:
            scores = [self._score(entry[2], table, known) for entry in incumbents]
            regrets, is_measured = [found.test_regret for found in scores], scores[-1].test_measured
        values = self.check_known("test regrets", np.array(regrets, dtype=np.float64), self.study.config)
        return Repetition(
            at=np.array([entry[0] for entry in incumbents], dtype=np.float64),
            regrets=values,
            end=float(limit or line["simulated_seconds"]),
            final=float(values[-1]),
            measured=float(is_measured),
        )

    def _score(self, text: str, table: Table, known: dict[str, Score]) -> Score:
        """Return the score of an architecture, looking up each architecture only once."""
        if text not in known:
            known[text] = score(Architecture.parse(text), table, self.study.config["dataset"])
        return known[text]


@dataclass(frozen=True, eq=False)
class TuningEntry(Entry):
    """A tuning study: a single repetition whose clock sums the costs of all searches."""

    AXES = (SIMULATED_TIME,)

    study: Study

    @classmethod
    def from_study(cls, study: Study) -> Self:
        """Return the entry of a study."""
        return cls(study.folder, "tuning study", study)

    @property
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """See `Entry`."""
        return [self.study.config]

    @property
    def name(self) -> str:
        """See `Entry`."""
        return f"{self.optimizer}, tuned by {TUNERS[self.study.config['tuner']]}"

    @property
    def progress(self) -> str | None:
        """See `Entry`."""
        return None if self.study.is_finished else counted(len(self.study.lines), "observation")

    def repetitions(self, over: Over, table: Table | None) -> list[Repetition]:
        """See `Entry`."""
        frame = rescore_study(self.study, table or self._own_table())
        found = trajectory(frame)
        if not len(found):
            return []
        regrets = self.check_known("test regrets", found["test_regret"].to_numpy(np.float64), self.study.shared_options)
        at = found["seconds"].to_numpy(np.float64)
        flags = frame.loc[frame["number"].isin(found["number"]), "test_measured"]
        return [Repetition(at, regrets, float(at[-1]), float(regrets[-1]), float(flags.mean()), self.study.is_finished)]

    def _own_table(self) -> Table:
        """Return the table of the study, needed to tell measured from predicted regrets.

        Raises InvalidInputError if the table is not installed.
        """
        recorded = self.study.config["table_id"]
        shared, space, where = self.study.shared_options, self.study.config["space"], self.folder / CONFIG
        check_trusted("search_spaces", "space", space, where)
        with suppress(UserError):
            config = {"space": space, "reference": shared.get("reference")}
            table = table_of_run(config, where, shared.get("table"))
            if table.id == recorded:
                return table
        raise InvalidInputError(
            f"the table {recorded} of '{self.folder}' is not installed, so it is unknown which regrets are "
            "measured: score all runs on an installed table with --table"
        )
