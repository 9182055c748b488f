"""`nb.objective`: a function of architectures for outside optimizers, on the simulated clock of black-box studies.

Each call is a training of the table: the answer has validation costs and simulated seconds, and never a test value. The
same classes as in `nb.black_box` draw the repeats, advance the clock and choose the incumbents, so that equal calls
give equal records.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.goal import describe_feedback
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.simulation import Drawn, SearchClock
from nasbench1shot1.choices import Choices, snap
from nasbench1shot1.constraint import REJECTIONS
from nasbench1shot1.evaluator import Score
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, option, quoted_option, shorten
from nasbench1shot1.ground.text import counted
from nasbench1shot1.objectives.answers import BudgetSpent, Evaluation, Front, OtherMetric
from nasbench1shot1.objectives.recording import OutsideRepeats, StudyRecorder
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.references import PRESENT
from nasbench1shot1.tables.stored_columns import choose_repeat
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

SEVERAL_WORKERS = "use nb.black_box(nb.AskTell(make), …)"
"""Advice for optimizers that need several simulated workers, or several processes."""


class Objective:
    """An objective on the simulated clock of a table, as returned by `nb.objective`.

    The object holds the clock of the current search, and `reset` begins the next search. Use it as a context manager if
    it records a study.

    Attributes:
        repeats: the searches of the study, each determined by the options and its number.
        space: the search space.
        table: the table that answers.
        objectives: the metrics whose costs an answer has, in order. The first one determines the incumbents.
        epochs: the budgets of the table, in epochs, ascending.
        number: number of the current search.
        rng: random generator for the optimizer's own draws in the current search, as in `nb.black_box`.
    """

    def __init__(self, repeats: OutsideRepeats) -> None:
        self.repeats = repeats
        self.space: SearchSpace = repeats.space
        self.table: Table = repeats.table
        self.objectives = (repeats.objective.validation_metric, *repeats.others)
        self.epochs = repeats.budgets
        self._choices = Choices(self.space)
        self._others = [OtherMetric(self.table, metric, repeats.objective) for metric in repeats.others]
        self._worst = (repeats.worst_error, *(other.worst for other in self._others))
        self._costs = () if repeats.constraint is None else tuple(repeats.constraint.costs)
        self._noise: dict[int, bool] = {}
        self._owner, self._lock, self._is_open = os.getpid(), RLock(), True
        self._recorder: StudyRecorder | None = None
        self._begin(repeats.options.common.first_repeat)

    # What there is to choose ---------------------------------------------------------------------------------------

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """The choices by the name of the parameter; names are Python identifiers."""
        return dict(self._choices.by_name)

    @property
    def configuration_space(self) -> "ConfigurationSpace":
        """The choices as a ConfigSpace space, with the names and values of `choices`."""
        return self._choices.configuration_space

    def indices(self, arch: Architecture | str | int) -> tuple[int, ...]:
        """Return the choice indices of an architecture, its text or number; raises InvalidInputError if unknown."""
        return self._choices.indices(arch)

    def configuration(self, arch: Architecture | str | int) -> dict[str, str]:
        """Return the choices of an architecture, its text or number; raises InvalidInputError if unknown."""
        return self._choices.configuration(arch)

    @property
    def bounds(self) -> tuple[str, ...]:
        """The bounds in the order of `Evaluation.violations`, such as "flops ≤ 5e+07"; empty without bounds."""
        return tuple(f"{cost.metric} ≤ {cost.limit:g}" for cost in self._costs)

    @property
    def worst_costs(self) -> tuple[float, ...]:
        """The costs of a proposal that is not trained, which are not better than any other."""
        return self._worst

    @property
    def default_epochs(self) -> int:
        """The budget of a call without `epochs`, in epochs."""
        return self.repeats.epochs

    @property
    def feedback(self) -> str:
        """A sentence about the noise of the answers at all budgets; it states where they are noise-free."""
        of_budgets = {str(epochs): self.repeats.repeats_at(epochs) for epochs in self.epochs}
        return describe_feedback([of_budgets], self.repeats.goal)

    # Training ------------------------------------------------------------------------------------------------------

    def __call__(self, x: Any, epochs: float | None = None, seed: int | None = None) -> Evaluation:
        """Train an architecture on the simulated clock.

        Args:
            x: an `nb.Architecture`, its text, the identifier of its network (such as a cell's hash), or its number in
                the space; a ConfigSpace configuration or another mapping from parameter names to choices; or a vector
                of choice indices, in the order of `choices`.
            epochs: training epochs. A number that is not a budget of the table is rounded down to a budget, or up to
                the smallest budget. Default: `default_epochs`.
            seed: the repeat of the table, given by its training seed or number, as for `run` of `Table.query`. It has
                no effect if the table has one value of each objective, or only the mean of the first one. Default: a
                random one, drawn as in `nb.black_box`.

        Raises:
            BudgetSpent: the search is over; nothing is charged.
            InvalidInputError: `x`, `epochs` or `seed` is not valid, or the call comes from another process.
            OutOfDomainError: the table lacks the repeat, or a value of the architecture at this budget. The call has no
                effect on later answers.
        """
        with self._lock:
            self._check_usable()
            proposal = self._choices.read(x)
            budget = self.default_epochs if epochs is None else snap(epochs, self.epochs)
            repeat = None if seed is None else self._repeat(seed, budget)
            if self._is_over:
                raise BudgetSpent(f"search {self.number} has reached its limit of {self._limit}: call reset()")
            arch = proposal.architecture
            violations = self._violations(arch)
            if arch is None or not all(over <= 0 for over in violations):  # false for NaN
                return self._untrained(arch, budget, violations)
            return self._train(arch, budget, repeat, violations)

    def _train(self, arch: Architecture, epochs: int, repeat: int | None, violations: tuple[float, ...]) -> Evaluation:
        clock = self._clock
        drawn, costs = self._draw(arch, epochs, repeat)
        end = clock.start(drawn.result)
        if end > clock.limits.seconds:
            self._end()
            raise BudgetSpent(
                f"a training of {counted(epochs, 'epoch')} would end at {end:,.0f} s, after the limit of "
                f"{self._limit}: search {self.number} is over, call reset()"
            )
        clock.finish(end, arch, drawn.result)
        self.repeats.asked.add(epochs)
        self._refusals = 0
        if self._others and drawn.row is not None:
            self._front.add(clock, arch, costs)
        if clock.is_over:
            self._end()
        name = None if drawn.row is None else drawn.repeat
        return Evaluation(arch, epochs, costs, drawn.result.seconds, end, name, violations=violations)

    def _draw(self, arch: Architecture, epochs: int, repeat: int | None) -> tuple[Drawn, tuple[float, ...]]:
        """Return a training and its costs. After an OutOfDomainError, random state and trainings are as before."""
        query, before, drawn = Query(arch, epochs), self._draws.bit_generator.state, None
        try:
            drawn = self._trainings.draw(query, self._clock.now, repeat)
            return drawn, (drawn.result.validation_error, *(other.cost(drawn, arch, epochs) for other in self._others))
        except OutOfDomainError:
            self._draws.bit_generator.state = before  # so that later answers do not depend on refused calls
            if drawn is not None:
                self._trainings.forget(query, repeat)  # which was refused, so nothing can continue it
            raise

    def _suits(self, drawn: Drawn, epochs: int) -> bool:
        """Return whether the table has all further metrics of a training."""
        return all(other.is_known(drawn, epochs) for other in self._others)

    def _untrained(self, arch: Architecture | None, epochs: int, violations: tuple[float, ...]) -> Evaluation:
        """Return the answer to a proposal outside the space or the bounds, as searches of this package treat them."""
        self._refusals += 1
        if self._refusals >= REJECTIONS:
            constraint = self.repeats.constraint
            if arch is not None and constraint is not None:
                raise constraint.rejections_error()
            raise InvalidInputError(
                f"{REJECTIONS:,} consecutive configurations were not in {self.space.name}: use another space"
            )
        now = self._clock.now
        return Evaluation(arch, epochs, self._worst, 0.0, now, is_trained=False, violations=violations)

    def evaluate(self, x: Any) -> NDArray[np.float64]:
        """Train several architectures one after the other, at the default budget.

        Args:
            x: a matrix of choice indices, (N, number of choices), or a sequence of N proposals as in a call, except
                numbers, which could be the indices of one architecture.

        Returns:
            The costs, (N, number of objectives), lower is better.

        Raises the errors of a call. Trainings that ended before the error count.
        """
        proposals = list(x) if isinstance(x, Iterable) and not isinstance(x, str | Mapping) else [0]
        if any(isinstance(one, int | float | np.number) for one in proposals):
            raise InvalidInputError(
                f"{shorten(repr(x))} is not a list of proposals: give a matrix with a row of choice indices for each "
                "architecture, or a list of architectures"
            )
        found = [self(one).costs for one in proposals]
        return np.array(found, np.float64).reshape(len(found), len(self.objectives))

    def _violations(self, arch: Architecture | None) -> tuple[float, ...]:
        if arch is None:
            return tuple(np.inf for _ in self._costs)
        return tuple([cost.of(arch) - cost.limit for cost in self._costs])

    def _repeat(self, seed: int, epochs: int) -> int | None:
        """Return the repeat with a number or training seed; None if all have the same value at this budget."""
        number = whole_number("seed", seed, "the number of a repeat, or None for a random one")
        if epochs not in self._noise:
            self._noise[epochs] = self.repeats.repeats_at(epochs)[1] > 1
        if not self._noise[epochs]:
            return None
        found = choose_repeat(self.table.id, self.table.repeats, number, (), None, self.table.seeds, _unused)
        return found if isinstance(found, int) else None

    # The clock -----------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """The clock of the current search in simulated seconds, or in trainings if the table has no training times."""
        return self._clock.now

    @property
    def evaluations(self) -> int:
        """Number of trainings of the current search."""
        return self._clock.ended

    @property
    def remaining(self) -> float:
        """What is left of the limit of the current search: simulated seconds, or a number of trainings."""
        limits = self._clock.limits
        if self._is_over:
            return 0.0
        if np.isfinite(limits.seconds):
            return limits.seconds - self._clock.now
        return limits.evaluations - self._clock.ended

    @property
    def _limit(self) -> str:
        limits = self._clock.limits
        if np.isfinite(limits.seconds):
            return f"{limits.seconds:,.0f} simulated seconds"
        return counted(int(limits.evaluations), "training")

    def reset(self, seed: int | None = None) -> None:
        """End the current search, record it, and begin the next one with a new clock.

        A search without a training that ended within the limit is not recorded, and its number is used again.

        Args:
            seed: number of the search, which together with the seed of the study determines its random draws. The
                searches of a recorded study have consecutive numbers. Default: the next number, or the current one if
                nothing was trained.

        Raises InvalidInputError if the number is not the next one of a recorded study, or if the table has none of the
        trained architectures, so that the search has no result to record.
        """
        with self._lock:
            self._check_usable()
            following = self.number + (self._clock.ended > 0)
            number = following if seed is None else whole_number("seed", seed, "the number of a search")
            if number < 0 or (self._recorder is not None and number != following):
                raise InvalidInputError(
                    f"search {number} cannot begin, because searches have consecutive numbers: call reset({following})"
                )
            if self._clock.ended:
                if self._recorder is not None:  # a record cannot skip a number
                    self.repeats.check_has_result(self.number, self._clock.result())
                self._end()
            self._begin(number)

    def _begin(self, number: int) -> None:
        self.number, self._clock = number, SearchClock(self.repeats.limits)
        self.rng, self._draws = self.repeats.generators(number)
        self._trainings = self.repeats.trainings(self._draws, suits=self._suits)
        self._front, self._is_over, self._refusals = Front(self.repeats.is_timed), False, 0
        self._is_recorded = False

    def _end(self) -> None:
        """End the current search, and record it if it has an incumbent."""
        self._is_over = True
        if self._recorder is not None and self._clock.incumbents and not self._is_recorded:
            line = self.repeats.line_of(self.number, self._clock.result())
            front = {"front": self._front.entries} if self._others else {}
            self._recorder.append({**line, **front})
            self._is_recorded = True  # after an error, the next call tries again

    # Truth, for reports --------------------------------------------------------------------------------------------

    def score(self, arch: Architecture | str | int) -> Score:
        """Return test and validation errors and regrets of an architecture after full training, for reports.

        Optimizers must not use them. The architecture can also be a text, identifier or number, as in a call. Raises
        InvalidInputError if it is not in the space.
        """
        return self.repeats.score(self._choices.architecture(arch))

    def optimum(self, split: str = "test") -> Score:
        """Return the `score` of the best network of the reference within the bounds, for reports.

        Args:
            split: "test" or "validation": the split on which the network is the best one.

        Raises InvalidInputError for another split, OutOfDomainError if the table lacks the metric.
        """
        if split not in ("test", "validation"):
            raise InvalidInputError(f"{quoted_option('split', split)} is unknown: give test or validation")
        objective, judge = self.repeats.objective, self.repeats.judge
        is_test = split == "test"
        within = judge.within and self.table.resolve(judge.within, judge.dataset)
        reference = PRESENT if self.table.is_part else self.space.name  # as for the regrets of `score`
        network, _ = self.table.best(
            reference,
            dataset=objective.test if is_test else objective.validation,
            metric=objective.test_metric if is_test else objective.validation_metric,
            within=within,
        )
        return judge.score_in(reference, network, self.table)

    # The record ----------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """The folder of the study; None if nothing is recorded."""
        return None if self._recorder is None else self._recorder.folder

    def record(self, recorder: StudyRecorder) -> None:
        """Record all searches from now on, beginning with the next one of a study; called before any training."""
        self._recorder = recorder
        self._begin(recorder.next)

    def finish(self) -> BlackBoxStudy:
        """End the current search and the study: write summary.json and the picture, and return the study.

        Raises InvalidInputError if no folder was given, no search is recorded, or the table has none of the
        architectures of the only search.
        """
        with self._lock:
            self._check_usable()
            if self._recorder is None:
                raise InvalidInputError(f"this objective records nothing: give it a folder with {option('out')}")
            if self._clock.ended:
                if self._recorder.next == self.repeats.options.common.first_repeat:
                    self.repeats.check_has_result(self.number, self._clock.result())
                self._end()
            self._is_open = False
            return self._recorder.finish()

    def close(self) -> None:
        """Release the folder without ending the study, which `nb.objective(resume=…)` continues."""
        self._is_open = False
        if self._recorder is not None:
            self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._is_open or os.getpid() != self._owner:
            return
        if self._recorder is None:
            self._is_open = False
        elif kind is None or issubclass(kind, BudgetSpent):
            with self._recorder:
                self.finish()
        else:
            self._is_open = False
            self._recorder.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        name, common = self.repeats.options.common.optimizer, self.repeats.options.common
        done = f"search {self.number}, {counted(self.evaluations, 'training')}, {self.seconds:,.0f} simulated seconds"
        return f"Objective({common.space}, {', '.join(self.objectives)}, {name}: {done}; {self.table.id})"

    def __reduce__(self) -> NoReturn:
        raise InvalidInputError(
            f"an nb.objective has one clock and cannot be copied into another process: {SEVERAL_WORKERS}"
        )

    def _check_usable(self) -> None:
        if os.getpid() != self._owner:
            raise InvalidInputError(f"only the process that created an nb.objective may call it: {SEVERAL_WORKERS}")
        if not self._is_open:
            where = "" if self._recorder is None else f", or continue with nb.objective(resume='{self.folder}')"
            raise InvalidInputError(f"this objective is closed: create a new one{where}")


def check_objective(objective: Any) -> None:
    """Raise InvalidInputError if a value is not an `Objective`, such as the name of a space."""
    if not isinstance(objective, Objective):
        raise InvalidInputError(
            f"{shorten(repr(objective))} is not an nb.Objective: give the result of nb.objective, such as "
            "nb.objective('nb201')"
        )


def _unused() -> Any:
    raise AssertionError("only a random repeat needs the trained ones")
