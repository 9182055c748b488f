"""Local search on a synthetic landscape."""

import numpy as np
import pytest
from black_box_tables import BUDGETS, S1

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.optimizers.black_box.local_search import LocalSearch, LocalSearchHyperparameters


def height(arch: Architecture) -> float:
    return 0.1 + 0.01 * sum(S1.values_of(arch))


@pytest.mark.parametrize("first_improvement", [False, True])
def test_local_search_descends_to_the_optimum_then_restarts(first_improvement: bool) -> None:
    options = LocalSearchHyperparameters(first_improvement=first_improvement)
    made = LocalSearch(S1, options, 108, BUDGETS, np.random.default_rng(1))
    start, seen, restarts, current = None, set(), 0, []
    while restarts < 2:
        query = made.ask()
        assert query is not None
        if made.current is None:  # a random start
            restarts += start is not None
            start, seen = query.architecture, set()
        assert query.architecture not in seen
        seen.add(query.architecture)
        made.tell(query, height(query.architecture), 1.0)
        if made.current is not None:
            current.append(made.current[0])
    assert min(current) == pytest.approx(0.1)  # all values 0


def test_first_improvement_restarts_only_at_an_optimum() -> None:
    """On this landscape without structure, every restart leaves an architecture whose neighbours are all worse."""
    made = LocalSearch(S1, LocalSearchHyperparameters(first_improvement=True), 108, BUDGETS, np.random.default_rng(1))
    errors = np.random.default_rng(0).random(len(S1))
    trained, left = dict[Architecture, float](), list[Architecture]()
    while len(left) < 5:
        query, before = made.ask(), made.current
        assert query is not None
        trained[query.architecture] = float(errors[S1.index(query.architecture)])
        made.tell(query, trained[query.architecture], 1.0)
        if made.current is None and before is not None:
            left.append(before[1])
    for arch in left:
        around = S1.neighbours(arch)
        assert all(trained[neighbour] >= trained[arch] for neighbour in around)


def test_all_neighbours_are_trained_before_a_move() -> None:
    made = LocalSearch(S1, LocalSearchHyperparameters(), 108, BUDGETS, np.random.default_rng(1))
    start = made.ask()
    made.tell(start, height(start.architecture), 1.0)
    neighbours = S1.neighbours(start.architecture)
    asked = [made.ask() for _ in neighbours]
    assert made.ask() is None  # until their errors are known
    assert {query.architecture for query in asked} == set(neighbours)
    for query in asked:
        assert made.current == (height(start.architecture), start.architecture)
        made.tell(query, height(query.architecture), 1.0)
    assert made.current[1] == min((query.architecture for query in asked), key=height)


def test_local_search_restarts_if_no_neighbour_improves() -> None:
    made = LocalSearch(S1, LocalSearchHyperparameters(), 108, BUDGETS, np.random.default_rng(1))
    start = made.ask()
    made.tell(start, 0.1, 1.0)
    for query in [made.ask() for _ in S1.neighbours(start.architecture)]:
        made.tell(query, 0.2, 1.0)
    assert made.current is None
    assert made.ask().architecture != start.architecture
