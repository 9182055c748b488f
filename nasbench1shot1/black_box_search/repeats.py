"""One search of a study: from its number to the line that records it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
from nasbench1shot1.black_box_search.options import BlackBoxOptions
from nasbench1shot1.black_box_search.simulation import Incumbent, Limits, Searched, simulate
from nasbench1shot1.black_box_search.trainings import TableTrainings
from nasbench1shot1.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.evaluator import Score, score, scores_elsewhere
from nasbench1shot1.registry import search_space
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.space_table import table_for
from nasbench1shot1.tables.table import Table


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
    def limits(self) -> Limits:
        """When each search ends."""
        config = self.options.common
        ends = {name: value for name in ("seconds", "evaluations") if (value := getattr(config, name)) is not None}
        return Limits(workers=config.simulated_workers, decision_seconds=config.decision_seconds, **ends)

    @cached_property
    def _scores(self) -> dict[str, Score]:
        return {}

    def line(self, repeat: int) -> dict[str, Any]:
        """Search, and return what metrics.jsonl records of the search with a number.

        Raises:
            UserError: no training ends in time, or the table lacks a value.
        """
        found = self.search(repeat)
        if not found.incumbents:
            raise self._fruitless(repeat, found)
        best = found.incumbents[-1]
        scored, dataset = self.score(best.architecture), self.options.common.dataset
        return {
            "repeat": repeat,
            "architecture": str(best.architecture),
            "validation_error": best.validation_error,
            "test_error": scored.table_test_error,
            "test_regret": scored.test_regret,
            "valid_regret": scored.valid_regret,
            "test_measured": scored.test_measured,
            "evaluations": found.evaluations,
            "simulated_seconds": found.seconds,
            "other_datasets": scores_elsewhere(best.architecture, self.table, dataset),
            "incumbents": [self._entry(incumbent) for incumbent in found.incumbents],
        }

    def _fruitless(self, repeat: int, found: Searched) -> InvalidInputError:
        """Return the error for a search in which no training ended."""
        if not found.begun:
            name = self.options.method.__name__
            return InvalidInputError(f"{name}.ask() returned None before any training: let it return a Query")
        return InvalidInputError(
            f"no training of search {repeat} ended within {self.limits.seconds:g} simulated seconds: increase --seconds"
        )

    def search(self, repeat: int) -> Searched:
        """Run the search with a number; its optimizer and its table draw from generators of their own."""
        config = self.options.common
        streams = np.random.SeedSequence((config.seed, repeat)).spawn(2)
        own, drawn = (np.random.default_rng(stream) for stream in streams)
        method = self.method(own)
        trainings = TableTrainings(self.space, self.table, config.dataset, drawn, config.deduplicate)
        return simulate(method, trainings, self.limits)

    def method(self, rng: np.random.Generator) -> BlackBoxOptimizer:
        """Return the optimizer of a search; raises UserError where it lacks a package, or refuses space or budgets."""
        return self.options.method(self.space, self.options.own, self.epochs, self.table.epochs, rng)

    @property
    def epochs(self) -> int:
        """The budget of methods that use a single one."""
        return self.options.common.epochs or self.table.full_budget

    def score(self, arch: Architecture) -> Score:
        """Return the table's values of an architecture after the full training; each is looked up once."""
        if (text := str(arch)) not in self._scores:
            self._scores[text] = score(arch, self.table, self.options.common.dataset)
        return self._scores[text]

    def _entry(self, incumbent: Incumbent) -> list[Any]:
        """Return an incumbent as a list, in the order of `record.INCUMBENT`."""
        scored = self.score(incumbent.architecture)
        return [
            incumbent.seconds,
            incumbent.evaluations,
            str(incumbent.architecture),
            incumbent.validation_error,
            scored.table_test_error,
            scored.test_regret,
        ]


def table_of_study(options: BlackBoxOptions) -> Table:
    """Open the table of a study, with the networks of its space as a reference; raises as `table_for` does."""
    config = options.common
    return table_for(search_space(config.space), config.table, config.reference)


def for_table(options: BlackBoxOptions, table: Table) -> BlackBoxOptions:
    """Return the options with the data set that the table searches on by default.

    Raises OutOfDomainError if the table does not have the budget or the data set of the options.
    """
    config = options.common
    if config.dataset not in (None, *(found := [objective.dataset for objective in table.objectives])):
        raise OutOfDomainError(
            f"the table {table.id} has no values for searches on {config.dataset}: choose {', '.join(found)}"
        )
    if config.epochs is not None:
        table.fidelity(config.epochs)  # raises for a budget that it does not have
    return replace(options, common=replace(config, dataset=table.objective(config.dataset).dataset))
