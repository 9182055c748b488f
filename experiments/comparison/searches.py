"""Searches and groups of seeds in a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.experiments.comparison.entry import (
    EPOCHS,
    OVER,
    SEARCH_TIME,
    SIMULATED_TIME,
    Entry,
    Floats,
    Over,
    Repetition,
)
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.search_record import SearchRecord
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.tables.coverage import PRESENT
from nasbench1shot1.tables.table import Table

COLUMNS = {EPOCHS: "epoch", SEARCH_TIME: "search_seconds", SIMULATED_TIME: "simulated_seconds"}


@dataclass(frozen=True, eq=False)
class SearchEntry(Entry):
    """A search, or the searches of a group of seeds.

    Attributes:
        runs: the searches that have begun.
        planned: the number of searches.
    """

    AXES = OVER

    runs: Sequence[SearchRecord]
    planned: int

    @classmethod
    def from_run(cls, run: SearchRecord) -> Self:
        """Return the entry of a single search."""
        return cls(run.folder, "search", [run], 1)

    @classmethod
    def from_group(cls, group: SearchGroup) -> Self:
        """Return the entry of a group; raises InvalidInputError if none of its searches has begun."""
        if not group.runs:
            command = resume_command("search", group.folder)
            raise InvalidInputError(
                f"'{group.folder}' does not contain a search yet: resume it with {command}, or remove it"
            )
        return cls(group.folder, "group of seeds", group.runs, len(group.seeds))

    @property
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """See `Entry`."""
        return [run.config for run in self.runs]

    @property
    def folders(self) -> list[Path]:
        """See `Entry`."""
        return [self.folder, *(run.folder for run in self.runs)]

    @property
    def progress(self) -> str | None:
        """See `Entry`."""
        running = [run for run in self.runs if not run.is_finished]
        if self.planned == 1:
            return _epochs(running[0]) if running else None
        seeds = [f"seed {run.config['seed']} at {_epochs(run)}" for run in running]
        missing = self.planned - len(self.runs)
        return (
            ", ".join([*seeds, *([f"{missing} of {counted(self.planned, 'seed')} not started"] if missing else [])])
            or None
        )

    def repetitions(self, over: Over, table: Table | None) -> list[Repetition]:
        """See `Entry`."""
        return [self._repetition(run, over, table) for run in self.runs if self._has_result(run, over)]

    def _has_result(self, run: SearchRecord, over: Over) -> bool:
        """Return whether a run has results, and at least one at a known time if its table may lack architectures."""
        known = run.config.get("reference") != PRESENT or any(line[COLUMNS[over]] is not None for line in run.lines)
        return bool(run.lines) and known

    def _repetition(self, run: SearchRecord, over: Over, table: Table | None) -> Repetition:
        frame = run.metrics if table is None else rescore(run, table)
        regrets = self.check_known("test regrets", frame["test_regret"].to_numpy(np.float64), run.config)
        at = self.check_known("training times", frame[COLUMNS[over]].to_numpy(np.float64), run.config)
        final = float(regrets[_final_epoch(run, len(frame))])
        measured = frame["test_measured"][frame["test_regret"].notna()]
        has_time = ~np.isnan(at)  # an architecture that a partial table lacks has no simulated time
        at, regrets = at[has_time], regrets[has_time]
        seen = latest_results(at)
        return Repetition(at[seen], regrets[seen], float(at[-1]), final, float(measured.mean()), run.is_finished)


def latest_results(at: Floats) -> NDArray[np.bool_]:
    """Return a mask of the epochs whose result is the latest one at some time, shape (epochs + 1,).

    Over epochs and search time, all results are. Over simulated time, the result of an epoch is known after its search
    time plus one training. The result of a later epoch can be known earlier if its architecture trains faster; it then
    hides the result of the earlier epoch.

    Args:
        at: the time at which the result of each epoch is known.
    """
    later = np.minimum.accumulate(at[::-1])[::-1]
    return np.append(at[:-1] < later[1:], True)


def _final_epoch(run: SearchRecord, lines: int) -> int:
    """Return the epoch of a search's result: the last one, unless early stopping returned to an earlier epoch."""
    return int(run.summary.get("final_epoch", lines - 1)) if run.is_finished else lines - 1


def _epochs(run: SearchRecord) -> str:
    done = max(len(run.lines) - 1, 0)
    return counted(done, "epoch") if run.planned_epochs is None else f"{done} of {counted(run.planned_epochs, 'epoch')}"
