"""The record of an objective: a black-box study whose searches are appended one by one as they end."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.black_box_search.goal import FEEDBACK
from nasbench1shot1.black_box_search.options import recorded_study
from nasbench1shot1.black_box_search.record import OTHERS, BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study
from nasbench1shot1.black_box_search.studying import BlackBoxKind, begin_study
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.registry import check_trusted
from nasbench1shot1.runs.folder import CONFIG, OUTSIDE, TRAJECTORY, check_facts, description
from nasbench1shot1.runs.kind import Begun
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.machine import environment
from nasbench1shot1.runs.writer import RunWriter


class OutsideOptimizer(BlackBoxOptimizer):
    """Stands for the optimizer that calls an objective: options and records need a class."""

    def ask(self) -> Query | None:
        """Return None: the optimizer itself calls the objective."""
        return None

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Do nothing."""


@dataclass(frozen=True, eq=False)
class OutsideRepeats(Repeats):
    """The searches of an optimizer that calls an objective.

    Attributes:
        options, table: as in `Repeats`.
        asked: the budgets at which it trained so far, in epochs.
        others: the further metrics that it observes.
    """

    asked: set[int] = field(default_factory=set)
    others: tuple[str, ...] = ()

    @property
    def used_budgets(self) -> tuple[int, ...]:
        """The budgets at which the optimizer trained so far; before the first training, the default."""
        return tuple(sorted(self.asked or {self.epochs}))

    @property
    def possible_budgets(self) -> tuple[int, ...]:
        """All budgets of the table, because the optimizer is unknown."""
        return self.budgets

    def repeats_at(self, epochs: int) -> tuple[int, int]:
        """Return the numbers of repeats of the metric that has the most, because one repeat determines all metrics.

        If only the mean of the first metric is known, answers have the means of all metrics.
        """
        guide = super().repeats_at(epochs)
        if epochs in self.goal.guide.means:
            return guide
        others = [self.table.repeats_of(metric, epochs, self.objective.validation) for metric in self.others]
        return max([guide, *others], key=lambda repeats: repeats[1])


class StudyRecorder:
    """Writes the study of an objective, and holds the lock of its folder; made by `start` and `resume`.

    Attributes:
        repeats: the searches of the study.
        next: number of the next search to record.
    """

    def __init__(self, writer: "RunWriter[BlackBoxStudy]", stack: ExitStack, begun: Begun[Repeats]) -> None:
        self._writer, self._stack, self._begun = writer, stack, begun
        self._kind = BlackBoxKind(WorkerOptions())
        self.repeats = begun.state
        self.next = self.repeats.options.common.first_repeat + writer.recorded

    @classmethod
    def start(cls, folder: Path, repeats: OutsideRepeats, begun: Begun[Repeats], labels: dict[str, Any]) -> Self:
        """Make the folder of a new study; raises the errors of `runs.lifecycle.new_run`."""
        check_is_new(folder)
        with ExitStack() as stack:
            writer = stack.enter_context(new_run(folder, RunWriter[BlackBoxStudy], BlackBoxStudy))
            facts = {**begun.facts, **begun.labels, OUTSIDE: True, **labels}
            config = description(BlackBoxStudy.KIND, repeats.options.sections(), facts)
            writer.describe(config, environment(repeats.options.device, ()))
            return cls(writer, stack.pop_all(), begun)

    @classmethod
    def resume(cls, folder: Path, allow_module: str | None) -> Self:
        """Continue the study in a folder; searches that are not complete are begun again.

        Raises:
            InvalidInputError: the folder does not hold a study of an objective, another process is writing to it, or
                its space or table is not the recorded one, or the table describes the objective differently.
            DamagedFileError: a file of the record is damaged.
        """
        study = BlackBoxStudy.open(folder)
        if not study.is_outside:
            raise InvalidInputError(
                f"'{folder}' is a study of {study.config['optimizer']}, which nb.objective did not record: continue it "
                f"with nb.black_box(resume='{folder}')"
            )
        if TRAJECTORY in study.config:
            raise InvalidInputError(
                f"'{folder}' has the searches of another program, which nb.objective cannot continue: read them again "
                f"into another {option('out')}"
            )
        check_trusted("search_spaces", "space", study.config["space"], folder / CONFIG, allow_module)
        with ExitStack() as stack:
            writer = stack.enter_context(existing_run(folder, RunWriter[BlackBoxStudy], BlackBoxStudy))
            study = BlackBoxStudy.open(folder)
            options = recorded_study(study.config, folder / CONFIG, OutsideOptimizer)
            asked = set(map(int, study.feedback_repeats)) if study.recorded else set()
            others = tuple(study.config.get(OTHERS, {}))
            begun = begin_study(OutsideRepeats(options, table_of_study(options), asked, others), study)
            check_facts(folder, study.config, begun.facts)
            if study.is_finished:
                _ = study.lines  # raises if they were changed after the study had finished
            writer.keep_complete_lines()
            return cls(writer, stack.pop_all(), begun)

    @property
    def folder(self) -> Path:
        """The folder of the study, as it was given, or absolute if that path no longer leads there."""
        return self._writer.shown_folder

    @property
    def recorded(self) -> int:
        """Number of recorded searches."""
        return self._writer.recorded

    def append(self, *lines: dict[str, Any]) -> None:
        """Record searches that have ended; raises UserError if the disk is full or the lock is lost."""
        self._update(self.recorded + len(lines))  # first: readers ignore lines beyond the number of searches
        self._writer.append_lines(lines)
        self.next += len(lines)

    def finish(self, draws: bool = True) -> BlackBoxStudy:
        """Write summary.json and, with `draws`, the picture; release the folder, and return the study."""
        with self:
            if not self.recorded:
                raise InvalidInputError(
                    f"'{self.folder}' has no recorded search: train an architecture within its limit first"
                )
            self._update(self.recorded)
            self._writer.finish(self._kind.summarise(self._kind.open(self.folder), self._begun))
            study = self._kind.open(self.folder)
            if draws:
                self._kind.present(study, self._begun, Console(quiet=True))
            return study

    def close(self) -> None:
        """Release the folder without ending the study."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release the folder; after an error, a folder without any search is removed."""
        self._stack.__exit__(kind, error, traceback)

    def _update(self, searches: int) -> None:
        """Record the number of searches and the feedback at the budgets that were used."""
        self._writer.update({"repeats": searches, FEEDBACK: self.repeats.feedback_repeats()})
