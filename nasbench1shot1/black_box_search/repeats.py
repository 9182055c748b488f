"""The searches of a study. Each search depends only on the study's options and its own number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.black_box_search.options import EVALUATIONS, BlackBoxOptions
from nasbench1shot1.black_box_search.simulation import (
    Incumbent,
    Limits,
    SearchResult,
    TableTrainings,
    can_continue,
    has_times,
    simulate,
    worst_cost,
)
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.evaluator import Baseline, Judge, Score, recorded_seconds
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives, option, switch
from nasbench1shot1.ground.text import counted
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.options import required
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.description import Objective
from nasbench1shot1.tables.stored_columns import mean_of_known
from nasbench1shot1.tables.table import Table, table_for


@dataclass(frozen=True, eq=False)
class Repeats:
    """The searches of a study, each determined by the study's options and its own number.

    Attributes:
        options: the options of the study.
        table: the table in use.
    """

    options: BlackBoxOptions
    table: Table

    @cached_property
    def space(self) -> SearchSpace:
        """The search space."""
        return search_space(self.options.common.space)

    @cached_property
    def objective(self) -> Objective:
        """The metrics that guide and judge the searches, and their trainings."""
        return self.table.objective(self.options.common.dataset, self.options.common.objective)

    @cached_property
    def is_timed(self) -> bool:
        """Whether the table has training times; without them, the clock only counts trainings."""
        return has_times(self.table, self.objective)

    @cached_property
    def goal(self) -> Goal:
        """The descriptions of the metrics that guide and judge the searches."""
        return Goal.from_objective(self.table, self.objective)

    @cached_property
    def judge(self) -> Judge:
        """How architectures are scored."""
        config = self.options.common
        return Judge(config.dataset, config.objective, config.bounds)

    @cached_property
    def constraint(self) -> Constraint | None:
        """The bounds as optimizers see them; None without any. Raises the errors of `Table.constraint`."""
        within = self.judge.within
        return None if within is None else self.table.constraint(self.space, within, self.judge.dataset)

    @cached_property
    def baseline(self) -> Baseline | None:
        """The baseline of searches with bounds; None without any. Raises the errors of `Baseline.of`."""
        return self.judge.baseline(self.space.name, self.table)

    def check_objective(self) -> None:
        """Check the metric that guides the searches, before the first one.

        Raises:
            InvalidInputError: neither high nor low values of the metric are better.
            OutOfDomainError: the table lacks the metric for all networks of the space, at all budgets or, for a method
                that uses it, at `epochs`.
        """
        about, table, space = self.goal.guide, self.table, self.space.name
        about.check_direction()
        values = table.stored(about.metric, self.objective.validation)
        rows = table.members(space)
        known = [epochs for epochs in table.epochs if values and np.isfinite(values.values(rows, epochs, "all")).any()]
        if self.options.common.objective is None:
            if not known:
                raise no_validation_error(table, self.space)
            return
        if not known:
            raise OutOfDomainError(
                f"the table {table.id} has no {about.words} of any network of {space}: choose another "
                f"{option('objective')} or {option('table')}"
            )
        if _uses_epochs(self.options) and self.epochs not in known:
            raise OutOfDomainError(
                f"the table {table.id} has the {about.words} of {space} only at {alternatives(known)} epochs, not at "
                f"{self.epochs}: give {option('epochs', known[-1])}"
            )

    def check_continuation(self) -> None:
        """Raise InvalidInputError if trainings should continue shorter ones, but there are none that can."""
        if not (common := self.options.common).continuation:
            return
        if len(budgets := self.possible_budgets) == 1:
            raise InvalidInputError(
                f"all trainings of {common.optimizer} have {counted(budgets[0], 'epoch')}, so none can continue a "
                f"shorter one: remove {switch('continuation')}"
            )
        if not can_continue(self.table, self.objective, self.table.members(self.space.name), budgets):
            raise InvalidInputError(
                f"the table {self.table.id} has no network of {common.space} with the same repeat at two budgets on "
                f"{common.dataset}, so no training can continue a shorter one: remove {switch('continuation')}"
            )

    @property
    def used_budgets(self) -> tuple[int, ...]:
        """The budgets at which the optimizer trains."""
        return self._declared_budgets

    @property
    def possible_budgets(self) -> tuple[int, ...]:
        """The budgets at which trainings are possible."""
        return self.used_budgets

    @cached_property
    def _declared_budgets(self) -> tuple[int, ...]:
        return tuple(self.method(np.random.default_rng(0)).used_budgets)

    def feedback_repeats(self) -> dict[str, list[int]]:
        """Return the smallest and the largest number of repeats of an architecture at each budget of the optimizer."""
        return {str(epochs): list(self.repeats_at(epochs)) for epochs in self.used_budgets}

    def repeats_at(self, epochs: int) -> tuple[int, int]:
        """Return the smallest and the largest number of repeats of an architecture at a budget."""
        return self.table.repeats_of(self.objective.validation_metric, epochs, self.objective.validation)

    def describe_budgets(self, budgets: Sequence[int] = ()) -> str:
        """Return the training budgets of the optimizer in words, such as "12 or 200 epochs per training".

        Empty if a metric without budgets, such as a latency, guides the searches and no training times limit them.

        Args:
            budgets: the budgets of a recorded study, ascending. By default, the optimizer is created, which fails if
                its package is not installed.
        """
        if not self.goal.guide.epochs and self.options.common.seconds is None:
            return ""
        *fewer, most = budgets or self.used_budgets
        return f"{alternatives([*map(str, fewer), counted(most, 'epoch')])} per training"

    def random_search_note(self, trainings: int) -> str:
        """Return a sentence if searches of this many trainings never use a result; else an empty string."""
        method = self.method(np.random.default_rng(0))
        if trainings > method.first_trainings:
            return ""
        name = self.options.common.optimizer.rpartition(":")[2]
        return (
            f"With at most {counted(trainings, 'training')} per search, {name} is random search: its first "
            f"{method.first_trainings} architectures are random."
        )

    def exhaustive_note(self) -> str:
        """Return a sentence if each search could train all networks of the space at its largest budget; else empty.

        With bounds, only the networks within them count.
        """
        if self.table.is_partial:
            return ""
        config, training, within = self.options.common, self.objective.validation, self.judge.within
        rows, most = self.table.members(self.space.name, within, self.judge.dataset), max(self.used_budgets)
        if config.evaluations is not None:
            limit, needed, what = float(config.evaluations), float(len(rows)), counted(len(rows), "training")
        else:
            limit, needed = required(config.seconds) * config.simulated_workers, config.decision_seconds * len(rows)
            for metric in ("training_time", "evaluation_time"):
                if self.table.stored(metric, training) is not None:
                    needed += float(mean_of_known(self.table.values(metric, most, training)[rows]).sum())
            what = f"{needed:,.0f} simulated seconds"
        if not limit >= needed:  # NaN: a time is unknown
            return ""
        networks = f"all {len(rows):,} networks of {self.space.name}{' within the bounds' if within else ''}"
        if not self.describe_budgets():
            return f"Each search is long enough to evaluate {networks}: lower the limit to compare optimizers."
        return (
            f"Each search is long enough to train {networks} for {counted(most, 'epoch')} ({what}): lower the limit to "
            "compare optimizers."
        )

    @cached_property
    def limits(self) -> Limits:
        """The limits of each search."""
        config = self.options.common
        ends = {name: value for name in ("seconds", "evaluations") if (value := getattr(config, name)) is not None}
        return Limits(workers=config.simulated_workers, decision_seconds=config.decision_seconds, **ends)

    @cached_property
    def _scores(self) -> dict[str, Score]:
        return {}

    def line(self, repeat: int) -> dict[str, Any]:
        """Run the search with a given number and return its line of metrics.jsonl.

        Raises:
            UserError: no training ends within the time limit, or the table lacks a value.
        """
        return self.line_of(repeat, self.search(repeat))

    def line_of(self, repeat: int, found: SearchResult) -> dict[str, Any]:
        """Return the line of a search with a given number and result; raises the errors of `line`."""
        self.check_has_result(repeat, found)
        best = found.incumbents[-1]
        scored = self.score(best.architecture)
        return {
            "repeat": repeat,
            "architecture": str(best.architecture),
            "validation_error": best.validation_error,
            "test_error": scored.table_test_error,
            "test_regret": scored.test_regret,
            "validation_regret": scored.validation_regret,
            "test_measured": scored.test_measured,
            "evaluations": found.evaluations,
            "simulated_seconds": recorded_seconds(found.seconds) if self.is_timed else None,
            "other_datasets": self.judge.elsewhere(best.architecture, self.table),
            "incumbents": [self._entry(incumbent) for incumbent in found.incumbents],
        }

    def check_has_result(self, repeat: int, found: SearchResult) -> None:
        """Raise InvalidInputError if a search with a given number has no incumbent, with the reason."""
        if not found.incumbents:
            raise self._no_training_error(repeat, found)

    def _no_training_error(self, repeat: int, found: SearchResult) -> InvalidInputError:
        """Return the error for a search in which no training ended."""
        if not found.started:
            name = self.options.method.__name__
            return InvalidInputError(f"{name}.ask() returned None before any training: return a proposal")
        if found.evaluations:  # all failed
            all_of_them = f"all {found.evaluations:,} architectures" if found.evaluations > 1 else "the architecture"
            return InvalidInputError(
                f"the table {self.table.id} lacks {all_of_them} that search {repeat} proposed: choose a table with "
                "more networks of the space"
            )
        return InvalidInputError(
            f"no training of search {repeat} ended within {self.limits.seconds:g} simulated seconds: start a new study "
            f"with a larger {option('seconds')}"
        )

    def search(self, repeat: int, trainings: float = math.inf) -> SearchResult:
        """Run the search with a given number, at most up to a number of trainings.

        Its optimizer and its table use separate random generators.
        """
        own, drawn = self.generators(repeat)
        limits = replace(self.limits, evaluations=min(self.limits.evaluations, trainings))
        return simulate(self.method(own), self.trainings(drawn), limits)

    def generators(self, repeat: int) -> tuple[np.random.Generator, np.random.Generator]:
        """Return the random generators of the search with a given number: its optimizer's and its table's."""
        streams = np.random.SeedSequence((self.options.common.seed, repeat)).spawn(2)
        own, drawn = (np.random.default_rng(stream) for stream in streams)
        return own, drawn

    def trainings(self, rng: np.random.Generator, **more: Any) -> TableTrainings:
        """Return the trainings of a search, with repeats drawn from `rng` and further arguments of the class."""
        config = self.options.common
        return TableTrainings(
            *(self.space, self.table, config.dataset, rng),
            deduplicate=config.deduplicate,
            metric=config.objective,
            continuation=config.continuation,
            **more,
        )

    def method(self, rng: np.random.Generator) -> BlackBoxOptimizer:
        """Return a search's optimizer. Raises UserError if it lacks a package or refuses the space or budgets."""
        method = self.options.method(self.space, self.options.own, self.epochs, self.budgets, rng)
        method.worst_error = self.worst_error
        if self.constraint is not None:
            method.constrain(self.constraint, self.worst_error)
        return method

    @cached_property
    def worst_error(self) -> float:
        """The worst possible result: the error 1, or the highest cost of another metric."""
        return worst_cost(self.table, self.objective)

    @property
    def epochs(self) -> int:
        """The training epochs of methods with a single budget."""
        return self.options.common.epochs or self.table.full_budget

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The budgets of methods with several budgets: those at which most networks have the observed metric."""
        guide, training = self.objective.validation_metric, self.objective.validation
        return self.table.epochs_of(guide, training) or self.table.epochs

    def score(self, arch: Architecture) -> Score:
        """Return the table's values of an architecture after full training; results are cached.

        Raises InvalidInputError for an architecture outside the space. The table itself identifies only the network.
        """
        if (text := str(arch)) not in self._scores:
            self.space.index(arch)
            self._scores[text] = self.judge.score(arch, self.table)
        return self._scores[text]

    def _entry(self, incumbent: Incumbent) -> list[Any]:
        """Return an incumbent as a list, in the order of `record.INCUMBENT`."""
        scored = self.score(incumbent.architecture)
        return [
            recorded_seconds(incumbent.seconds) if self.is_timed else None,
            incumbent.evaluations,
            str(incumbent.architecture),
            incumbent.validation_error,
            scored.table_test_error,
            scored.test_regret,
        ]


def no_validation_error(table: Table, space: SearchSpace) -> OutOfDomainError:
    """Return the error for a table that has no validation accuracy to guide a search, only test values."""
    return OutOfDomainError(
        f"the table {table.id} has no validation accuracy of any network of {space.name}, so its test values would "
        f"guide the search: choose another {option('table')}, or give {option('objective', 'test_accuracy')} to search "
        "on test accuracy, which every record and figure then states"
    )


def table_of_study(options: BlackBoxOptions) -> Table:
    """Open the table of a study, with the networks of its space as a reference; raises the errors of `table_for`."""
    config = options.common
    return table_for(search_space(config.space), config.table, config.reference)


def with_table(options: BlackBoxOptions, table: Table, given: Mapping[str, Any]) -> BlackBoxOptions:
    """Return the options with the defaults that depend on the table: data set, limit and budget.

    The default data set is the table's first one. If the table has no training times, the default limit is a number of
    trainings, and the default budget is the largest one at which most networks have the observed metric.

    Args:
        options: the options.
        table: the table of the study.
        given: the given options; missing ones and None are defaults.

    Raises:
        OutOfDomainError: the table lacks the budget or the data set of the options.
        InvalidInputError: options need training times, which the table lacks.
    """
    options = with_dataset(options, table)
    config = options.common
    objective = table.objective(config.dataset, config.objective)
    if has_times(table, objective):
        return options
    for name in ("seconds", "decision_seconds", "continuation"):
        if given.get(name):
            raise InvalidInputError(
                f"the table {table.id} has no training times, so {option(name)} does not apply: count trainings with "
                f"{option('evaluations')} instead"
            )
    changed: dict[str, Any] = {"seconds": None, "evaluations": config.evaluations or EVALUATIONS}
    known = table.epochs_of(objective.validation_metric, objective.validation)
    if given.get("epochs") is None and known:
        changed["epochs"] = known[-1]
    return replace(options, common=replace(config, **changed))


def _uses_epochs(options: BlackBoxOptions) -> bool:
    """Return whether the method trains at the option `epochs`, rather than only at the budgets of the table."""
    return "epochs" not in options.method.unused_options(options.own)


def with_dataset(options: BlackBoxOptions, table: Table) -> BlackBoxOptions:
    """Return the options with the data set filled in; the default is the table's first data set.

    Raises OutOfDomainError if the table lacks the budget or the data set of the options.
    """
    config = options.common
    if config.dataset not in (None, *(found := [objective.dataset for objective in table.objectives])):
        raise OutOfDomainError(
            f"the table {table.id} has no values for searches on {config.dataset}: choose {alternatives(found)}"
        )
    if config.epochs is not None and _uses_epochs(options):
        table.fidelity(config.epochs)  # raises OutOfDomainError for a missing budget
    return replace(options, common=replace(config, dataset=table.objective(config.dataset).dataset))
