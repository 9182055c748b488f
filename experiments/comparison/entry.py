"""The common interface of compared runs: label, repetitions and facts about their data."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tables.coverage import PRESENT
from nasbench1shot1.tables.table import Table

Floats = NDArray[np.float64]
Over = Literal["epochs", "search-time", "simulated-time"]
EPOCHS: Final = "epochs"
SEARCH_TIME: Final = "search-time"
SIMULATED_TIME: Final = "simulated-time"
OVER: tuple[Over, ...] = (EPOCHS, SEARCH_TIME, SIMULATED_TIME)


class Facts(NamedTuple):
    """Recorded ids or names that must be equal for regrets to be comparable."""

    space: str
    dataset: str
    table: str


@dataclass(frozen=True, eq=False)
class Repetition:
    """The test regret of one search over time.

    Attributes:
        at: epochs or seconds at which a preferred architecture is recorded; ascending, not empty.
        regrets: test regret of the preferred architecture from each entry of `at` on, as fractions; shape of `at`.
            NaN for architectures that a partial table lacks.
        end: epoch or second at which the record ends.
        final: test regret of the result, a fraction, or NaN likewise. It applies after `end` if the search is finished.
        measured: fraction of the regrets that are measured; the others are predicted.
        is_finished: whether the search is finished.
    """

    at: Floats
    regrets: Floats
    end: float
    final: float
    measured: float
    is_finished: bool = True

    def regret_at(self, times: Floats) -> Floats:
        """Return the regret of the preferred architecture at T epochs or seconds, shape (T,); NaN before the first."""
        found = np.concatenate([[np.nan], self.regrets])[np.searchsorted(self.at, times, side="right")]
        return np.where(times > self.end, self.final, found)


@dataclass(frozen=True, eq=False)
class Entry(ABC):
    """A run, a group of seeds or a study in a comparison.

    Attributes:
        folder: folder of the run.
        kind: kind of run, in words.
        AXES: supported horizontal axes.
    """

    AXES: ClassVar[tuple[Over, ...]]

    folder: Path
    kind: str

    @property
    @abstractmethod
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """The contents of config.json for each search of the run; at least one."""

    @property
    @abstractmethod
    def progress(self) -> str | None:
        """The progress of an unfinished run, such as "12 of 50 epochs"; None if it is finished."""

    @abstractmethod
    def repetitions(self, over: Over, table: Table | None) -> list[Repetition]:
        """Return the searches of the run that have a result.

        Args:
            over: one of `AXES`.
            table: the table to score all architectures on. Default: the recorded regrets.

        Raises:
            UserError: the table lacks an architecture, or test regrets or training times are missing.
        """

    @property
    def folders(self) -> list[Path]:
        """The folders of the run and of its searches, to detect entries that share a folder."""
        return [self.folder]

    @property
    def optimizer(self) -> str:
        """Name of the optimizer; for "module:Class", only the class."""
        return str(self.configs[0]["optimizer"]).rpartition(":")[2]

    @property
    def name(self) -> str:
        """The default label."""
        return self.optimizer

    @property
    def facts(self) -> set[Facts]:
        """Space, data set and table of the regrets; one element unless the searches of a group differ."""
        return {Facts(config["space_id"], self._dataset(config), config["table_id"]) for config in self.configs}

    def _dataset(self, config: Mapping[str, Any]) -> str:
        """Return the data set of a run. Early versions supported only CIFAR-10 and did not record it."""
        return config.get("dataset") or "cifar10"

    def check_known(self, what: str, values: Floats, config: Mapping[str, Any]) -> Floats:
        """Return values; raises InvalidInputError if one is NaN, unless the run's table may lack architectures."""
        if np.isnan(values).any() and config.get("reference") != PRESENT:
            raise InvalidInputError(
                f"'{self.folder}' lacks {what}, because its table lacks them: score all runs on another table "
                "with --table"
            )
        return values
