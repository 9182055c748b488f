"""The runs of a comparison: what all kinds have in common, and searches; `study_entries` has the studies."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.curves import Trace
from nasbench1shot1.evaluator import Baseline
from nasbench1shot1.experiments.rescoring import recorded_table, rescore
from nasbench1shot1.ground.errors import InvalidInputError, in_words, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.captions import scale_text
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.record import NOTE, RunRecord
from nasbench1shot1.tables.references import PRESENT
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.record import Study

Floats = NDArray[np.float64]
Over = Literal["epochs", "search-time", "simulated-time", "evaluations"]
EPOCHS: Final = "epochs"
SEARCH_TIME: Final = "search-time"
SIMULATED_TIME: Final = "simulated-time"
EVALUATIONS: Final = "evaluations"
OVER: tuple[Over, ...] = (EPOCHS, SEARCH_TIME, SIMULATED_TIME, EVALUATIONS)
CLOCK_WORDS: dict[Over, str] = {
    EPOCHS: "search epochs",
    SEARCH_TIME: "recorded search time",
    SIMULATED_TIME: "simulated time",
    EVALUATIONS: "the number of trainings",
}
"""The horizontal axes in words that follow "over"."""
CLOCKS: dict[Over, str] = {SIMULATED_TIME: "seconds", EVALUATIONS: "evaluations"}
"""The axes over which searches end at different times, and their units."""
COLUMNS = {EPOCHS: "epoch", SEARCH_TIME: "search_seconds", SIMULATED_TIME: "simulated_seconds"}


class Facts(NamedTuple):
    """Recorded ids or names that must be equal for regrets to be comparable.

    `objective` is the metric that guides the searches of a black-box study whose results are not judged by test
    accuracy; "validation_accuracy" for all other runs.
    """

    space: str
    dataset: str
    table: str
    objective: str


@dataclass(frozen=True, eq=False)
class Entry(ABC):
    """A run, a group of seeds or a study in a comparison.

    Attributes:
        folder: folder of the run; for a trajectory without a folder of its own, the file or the label of its
            trainings.
        kind: kind of run, in words.
        AXES: supported horizontal axes.
        FAMILY: the kind of method, which legends name in comparisons of several kinds.
        REPETITION: a noun for a repetition; empty for runs of which there is always one.
        CLOCK: what simulated time is, as a sentence for captions.
    """

    AXES: ClassVar[tuple[Over, ...]]
    FAMILY: ClassVar[str] = "one-shot"
    REPETITION: ClassVar[str] = "seed"
    CLOCK: ClassVar[str] = "The simulated time of a search is its search time plus one training of its result."

    folder: Path
    kind: str

    @property
    @abstractmethod
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """The contents of config.json for each search of the run; at least one."""

    @property
    @abstractmethod
    def run(self) -> RunRecord:
        """The record of the run; for a group of seeds, the record of the first search."""

    @property
    @abstractmethod
    def progress(self) -> str | None:
        """The progress of an unfinished run, such as "12 of 50 epochs"; None if it is finished."""

    @abstractmethod
    def repetitions(self, over: Over, table: Table | None) -> list[Trace]:
        """Return the test regrets over time of the searches that have a result, as fractions.

        NaN: an architecture that a partial table lacks.

        Args:
            over: one of `AXES`.
            table: the table to score all architectures on. Default: the recorded regrets.

        Raises:
            UserError: the table lacks an architecture, or test regrets or training times are missing.
        """

    @property
    def axes(self) -> tuple[Over, ...]:
        """The supported horizontal axes, given what the run has recorded."""
        return self.AXES

    @property
    def folders(self) -> list[Path]:
        """The folders of the run and of its searches, to detect entries that share a folder."""
        return [self.folder]

    @property
    def records(self) -> Sequence[SearchRecord | Study]:
        """The records whose errors can be compared with a table's; none for black-box studies."""
        return []

    @property
    def optimizer(self) -> str:
        """Name of the optimizer; for "module:Class", only the class."""
        return str(self.configs[0]["optimizer"]).rpartition(":")[2]

    @property
    def name(self) -> str:
        """The default label."""
        return self.optimizer

    @property
    def scale(self) -> str | None:
        """The scale of the searches, such as "quick"; None for black-box studies."""
        found: str | None = self.configs[0].get("scale")
        return found

    @property
    def origin(self) -> str:
        """A sentence about searches that another program recorded, for captions; empty for other runs."""
        return ""

    @property
    def note(self) -> str:
        """A sentence about a run whose method could not do what its name says; empty for other runs."""
        return ""

    @property
    def length_and_size(self) -> str:
        """The number of epochs and the size of one-shot searches, in words; empty for other runs.

        For searches without a scale, such as loops of users, it has the notes that were recorded.
        """
        return ""

    @property
    @abstractmethod
    def setting(self) -> str:
        """The seeds, the budget and the size of the searches, for the section on methods of a paper."""

    @property
    def facts(self) -> set[Facts]:
        """Space, data set, table and objective of the regrets; one element unless the searches of a group differ."""
        is_judged_alike = self.goal.judge.metric == Goal.judge.metric  # for example, test accuracy also guided
        objective = Goal.guide.metric if is_judged_alike else self.goal.guide.metric
        return {Facts(config["space_id"], config["dataset"], config["table_id"], objective) for config in self.configs}

    @property
    def goal(self) -> Goal:
        """The metrics that guide the searches and judge their results."""
        return Goal()

    @property
    def baselines(self) -> dict[str, Baseline | None]:
        """The bounds of the run's searches and their baseline, by folder; None for searches without bounds."""
        own = self.folders[0]  # the label of a trajectory could be the folder of another run
        return {str(own): Baseline.from_config(config, own / CONFIG) for config in self.configs}

    @cached_property
    def is_partial(self) -> bool:
        """Whether the run's table may lack networks of the space, so that regrets refer to those that it has."""
        if any(config.get("reference") == PRESENT for config in self.configs):
            return True
        table = recorded_table(self.run)  # a table that was imported as a part of a space needs no option
        return table is not None and table.is_partial

    def check_known(self, what: str, values: Floats, table: Table | None = None) -> Floats:
        """Return values; raises InvalidInputError if one is NaN, unless the table may lack architectures.

        `table` is the table of the values. Default: the run's own.
        """
        if np.isnan(values).any() and not self.is_partial and not (table is not None and table.is_part):
            raise self.lacking_error(what)
        return values

    def no_result_error(self) -> InvalidInputError:
        """Return the error for a run that has not recorded a result yet."""
        command = self.run.COMMAND
        resume = f", or continue it with {resume_command(command, self.folder)}" if command else ""
        return InvalidInputError(f"'{self.folder}' does not have a result yet: remove it from the comparison{resume}")

    def lacking_error(self, what: str) -> InvalidInputError:
        """Return the error for values that the table lacks."""
        return InvalidInputError(
            f"'{self.folder}' lacks {what}, because its table lacks them: score all runs on another table with "
            f"{option('table')}"
        )


@dataclass(frozen=True, eq=False)
class SearchEntry(Entry):
    """A search, or the searches of a group of seeds.

    Attributes:
        runs: the searches that have begun.
        planned: the number of searches.
    """

    AXES = (EPOCHS, SEARCH_TIME, SIMULATED_TIME)

    runs: Sequence[SearchRecord]
    planned: int

    @property
    def records(self) -> Sequence[SearchRecord | Study]:
        """The searches that have begun."""
        return self.runs

    @property
    def run(self) -> RunRecord:
        """See `Entry`."""
        return self.runs[0]

    @classmethod
    def from_group(cls, group: SearchGroup) -> Self:
        """Return the entry of a group; raises InvalidInputError if none of its searches has begun."""
        if not group.runs:
            command = resume_command("search", group.folder)
            raise InvalidInputError(
                f"'{group.folder}' does not contain a search yet: continue with {command}, or remove it"
            )
        return cls(group.folder, "group of seeds", group.runs, len(group.seeds))

    @property
    def configs(self) -> Sequence[Mapping[str, Any]]:
        """See `Entry`."""
        return [run.config for run in self.runs]

    @property
    def baselines(self) -> dict[str, Baseline | None]:
        """See `Entry`."""
        return {str(run.folder): run.baseline for run in self.runs}

    @property
    def folders(self) -> list[Path]:
        """See `Entry`."""
        return [self.folder, *(run.folder for run in self.runs)]

    @property
    def note(self) -> str:
        """See `Entry`."""
        finished = [run.summary for run in self.runs if run.is_finished]
        return " ".join(dict.fromkeys(str(summary[NOTE]) for summary in finished if NOTE in summary))

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

    def repetitions(self, over: Over, table: Table | None) -> list[Trace]:
        """See `Entry`."""
        curves = [self._repetition(run, over, table) for run in self.runs if run.shared_lines]
        found = [curve for curve in curves if curve is not None]
        if curves and not found and table is not None:
            raise InvalidInputError(
                f"the table {table.id} has none of the architectures of '{self.folder}': leave it out, or give another "
                f"{option('table')}"
            )
        return found

    @property
    def setting(self) -> str:
        """See `Entry`."""
        seeds = [config["seed"] for config in self.configs if config.get("seed") is not None]
        return "; ".join(filter(None, [_seeds(seeds), self.length_and_size]))

    @property
    def length_and_size(self) -> str:
        """See `Entry`."""
        run = self.runs[0]
        most = "at most " if run.config.get("early_stopping") else ""
        epochs = "" if run.planned_epochs is None else f"{most}{counted(run.planned_epochs, 'epoch')}"
        size = scale_text(self.configs[:1]).splitlines()[0].replace("\N{NO-BREAK SPACE}", " ")
        return "; ".join(filter(None, [epochs, size]))

    def _repetition(self, run: SearchRecord, over: Over, table: Table | None) -> Trace | None:
        """Return the curve of a run; None if no result has a known time, because a partial table lacks them."""
        frame = run.metrics if table is None else rescore(run, table)
        regrets = self.check_known("test regrets", frame["test_regret"].to_numpy(np.float64), table)
        at = self.check_known("training times", frame[COLUMNS[over]].to_numpy(np.float64), table)
        last = run.final_epoch
        final = float(regrets[last])
        measured = frame["test_measured"].astype(float).where(frame["test_regret"].notna())
        has_time = ~np.isnan(at)  # an architecture that a partial table lacks has no simulated time
        at, regrets = at[has_time], regrets[has_time]
        if not len(at):
            return None
        seen = latest_results(at)
        known: dict[str, Any] = {"end": float(at[-1]), "final": final}
        known |= {"measured": float(measured.mean()), "final_measured": float(measured.iloc[last])}
        key = "" if (seed := run.config.get("seed")) is None else f"seed {seed}"
        return Trace(at=at[seen], values=regrets[seen], holds=run.is_finished, key=key, **known)


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


def _seeds(seeds: Sequence[int]) -> str:
    """Return random seeds in words, such as "seeds 0 to 4"; empty without seeds."""
    is_range = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    shown = f"{seeds[0]} to {seeds[-1]}" if is_range else in_words(seeds)
    return f"seed{'s' if len(seeds) > 1 else ''} {shown}" if seeds else ""


def _epochs(run: SearchRecord) -> str:
    done = max(len(run.shared_lines) - 1, 0)
    return counted(done, "epoch") if run.planned_epochs is None else f"{done} of {counted(run.planned_epochs, 'epoch')}"
