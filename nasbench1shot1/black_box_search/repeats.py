"""The searches of a study: each is run by its number and recorded as one line."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
from nasbench1shot1.black_box_search.options import BlackBoxOptions
from nasbench1shot1.black_box_search.simulation import Incumbent, Limits, SearchResult, TableTrainings, simulate
from nasbench1shot1.evaluator import Score, score, scores_on_other_datasets
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives
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
        found = self.search(repeat)
        if not found.incumbents:
            raise self._no_training_error(repeat, found)
        best = found.incumbents[-1]
        scored, dataset = self.score(best.architecture), self.options.common.dataset
        return {
            "repeat": repeat,
            "architecture": str(best.architecture),
            "validation_error": best.validation_error,
            "test_error": scored.table_test_error,
            "test_regret": scored.test_regret,
            "validation_regret": scored.validation_regret,
            "test_measured": scored.test_measured,
            "evaluations": found.evaluations,
            "simulated_seconds": found.seconds,
            "other_datasets": scores_on_other_datasets(best.architecture, self.table, dataset),
            "incumbents": [self._entry(incumbent) for incumbent in found.incumbents],
        }

    def _no_training_error(self, repeat: int, found: SearchResult) -> InvalidInputError:
        """Return the error for a search in which no training ended."""
        if not found.started:
            name = self.options.method.__name__
            return InvalidInputError(f"{name}.ask() returned None before any training: return a Query")
        return InvalidInputError(
            f"no training of search {repeat} ended within {self.limits.seconds:g} simulated seconds: increase --seconds"
        )

    def search(self, repeat: int) -> SearchResult:
        """Run the search with a given number. Its optimizer and its table use separate random generators."""
        config = self.options.common
        streams = np.random.SeedSequence((config.seed, repeat)).spawn(2)
        own, drawn = (np.random.default_rng(stream) for stream in streams)
        method = self.method(own)
        trainings = TableTrainings(self.space, self.table, config.dataset, drawn, config.deduplicate)
        return simulate(method, trainings, self.limits)

    def method(self, rng: np.random.Generator) -> BlackBoxOptimizer:
        """Return a search's optimizer. Raises UserError if it lacks a package or refuses the space or budgets."""
        return self.options.method(self.space, self.options.own, self.epochs, self.budgets, rng)

    @property
    def epochs(self) -> int:
        """The training epochs of methods with a single budget."""
        return self.options.common.epochs or self.table.full_budget

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The training epochs of methods with several budgets: those with validation accuracies on the data set.

        On CIFAR-100 and ImageNet16-120, the table of NAS-Bench-201 has them after 200 epochs for few networks.
        """
        training = self.table.objective(self.options.common.dataset).validation
        return self.table.epochs_of("validation_accuracy", training) or self.table.epochs

    def score(self, arch: Architecture) -> Score:
        """Return the table's values of an architecture after full training; results are cached.

        Raises InvalidInputError for an architecture outside the space. The table itself identifies only the network.
        """
        if (text := str(arch)) not in self._scores:
            self.space.index(arch)
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


def with_dataset(options: BlackBoxOptions, table: Table) -> BlackBoxOptions:
    """Return the options with the data set filled in; the default is the table's first data set.

    Raises OutOfDomainError if the table lacks the budget or the data set of the options.
    """
    config = options.common
    if config.dataset not in (None, *(found := [objective.dataset for objective in table.objectives])):
        raise OutOfDomainError(
            f"the table {table.id} has no values for searches on {config.dataset}: choose {alternatives(found)}"
        )
    if config.epochs is not None:
        table.fidelity(config.epochs)  # raises OutOfDomainError for a missing budget
    return replace(options, common=replace(config, dataset=table.objective(config.dataset).dataset))
