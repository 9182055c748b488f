"""Evolution on tables with known answers: removal, parents and mutation."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from black_box_tables import BUDGETS, S1, smooth_table
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.options import black_box_options, own_defaults
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.optimizers.black_box.evolution import (
    Evolution,
    EvolutionHyperparameters,
    NonRegularizedEvolution,
    RegularizedEvolution,
)


def evolution(method: type[Evolution], space: nb.SearchSpace = S1, seed: int = 0, **options: Any) -> Evolution:
    return method(space, EvolutionHyperparameters(**options), 108, BUDGETS, np.random.default_rng(seed))


def errors(made: Evolution) -> list[float]:
    return [individual.validation_error for individual in made.population]


@pytest.mark.parametrize(
    ("method", "left"),
    [(RegularizedEvolution, [0.1, 0.5, 0.4]), (NonRegularizedEvolution, [0.3, 0.1, 0.4])],
    ids=["oldest", "worst"],
)
def test_the_oldest_or_worst_individual_is_removed(method: type[Evolution], left: list[float]) -> None:
    made = evolution(method, population=3)
    for number, error in enumerate([0.3, 0.1, 0.5]):
        made.tell(Query(S1[number], 108), error, 1.0)
    assert errors(made) == [0.3, 0.1, 0.5]
    made.tell(Query(S1[3], 108), 0.4, 1.0)
    assert errors(made) == left


def test_among_equally_bad_individuals_the_oldest_is_removed() -> None:
    made = evolution(NonRegularizedEvolution, population=2)
    for number in range(3):
        made.tell(Query(S1[number], 108), 0.5, 1.0)
    assert [individual.architecture for individual in made.population] == [S1[1], S1[2]]


def test_the_first_population_is_random_and_children_are_mutants_of_a_tournament_winner() -> None:
    made = evolution(RegularizedEvolution, population=5, tournament=50, mutation="neighbour")
    for number in range(5):
        query = made.ask()
        assert query.epochs == 108
        made.tell(query, 0.5 - 0.01 * number, 1.0)
    best = made.population[-1].architecture
    # 50 draws from 5: the best is among them
    assert all(made.ask().architecture in S1.neighbours(best) for _ in range(20))


def test_a_tournament_of_one_draws_uniformly() -> None:
    made = evolution(RegularizedEvolution, population=4, tournament=1)
    for number in range(4):
        made.tell(Query(S1[number], 108), 0.1 * number, 1.0)
    drawn = Counter(str(made.select_parent()) for _ in range(2_000))
    assert sorted(drawn) == sorted(str(S1[number]) for number in range(4))
    assert all(400 < count < 600 for count in drawn.values())


@pytest.mark.parametrize("space", ["s2", "nb101", "nb201"])
def test_the_mutation_rate_is_the_expected_number_of_changed_choices(space: str) -> None:
    of = nb.search_space(space)
    made = evolution(RegularizedEvolution, of, mutation="rate", mutation_rate=1.0)
    parent = of.sample(np.random.default_rng(3))
    before = np.array(of.values_of(parent))
    children = [made.mutate(parent) for _ in range(400)]
    changes = [int((np.array(of.values_of(child)) != before).sum()) for child in children]
    assert {0, 1, 2} <= set(changes)
    if space != "nb101":  # in that space, invalid children are redrawn
        assert 0.8 < np.mean(changes) < 1.2


def test_evolution_finds_the_known_optimum_more_often_than_random_search() -> None:
    table = smooth_table()
    found = {}
    for name in ("random", "regularized-evolution", "non-regularized-evolution", "local-search"):
        options = {"optimizer": name, "space": "s1", "evaluations": 150}
        own = {"population": 20, "tournament": 5} if "evolution" in name else {}
        repeats = Repeats(black_box_options({**options, **own}), table)
        found[name] = [repeats.search(number).incumbents[-1].validation_error for number in range(10)]
    best = 1 - table.values("validation_accuracy", 108).max()
    hits = {name: sum(error == pytest.approx(best) for error in errors) for name, errors in found.items()}
    assert hits.pop("random") <= 5
    assert all(number >= 8 for number in hits.values())


def test_the_defaults_match_the_published_benchmarks() -> None:
    spaces = {name: own_defaults(RegularizedEvolution, nb.search_space(name)) for name in ("s1", "nb101", "nb201")}
    assert spaces == {"s1": {}, "nb101": {}, "nb201": {"population": 10, "tournament": 10}}
    usual = EvolutionHyperparameters()
    assert (usual.population, usual.tournament, usual.mutation) == (100, 10, "published")


def test_a_mutation_rate_needs_the_mutation_that_uses_it() -> None:
    with refuses(nb.InvalidInputError, "mutation_rate=3", options="mutation_rate mutation"):
        black_box_options({"optimizer": "regularized-evolution", "space": "s1", "mutation_rate": 3.0})
    options = {"optimizer": "regularized-evolution", "space": "s1", "mutation": "rate", "mutation_rate": 3.0}
    assert black_box_options(options).own.mutation_rate == 3
