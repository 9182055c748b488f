"""The simulated clock, compared with histories computed by hand."""

import math
from collections.abc import Callable

import pytest
from black_box_tables import S1, ScriptedProposals
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.simulation import FREE_IN_A_ROW, Limits, SearchResult, TrainingResult, simulate

A, B, C, D = (Query(S1[number], 108) for number in range(4))
RESULTS = {
    A: TrainingResult(0.5, 100.0),
    B: TrainingResult(0.4, 50.0),
    C: TrainingResult(0.45, 25.0),
    D: TrainingResult(0.3, 200.0),
}


def searched(queries: list[Query | None], **limits: float) -> tuple[SearchResult, ScriptedProposals]:
    method = ScriptedProposals(queries)
    return simulate(method, known(RESULTS), Limits(**limits)), method


def known(results: dict[Query, TrainingResult]) -> Callable[[Query, float], TrainingResult]:
    """Return trainings with given results, independent of their start time."""
    return lambda query, now: results[query]


def history(found: SearchResult) -> list[tuple[float, int, nb.Architecture, float]]:
    return [tuple(incumbent) for incumbent in found.incumbents]


def test_time_adds_up_and_only_improvements_become_the_incumbent() -> None:
    found, method = searched([A, B, C, D])
    assert history(found) == [
        (100.0, 1, A.architecture, 0.5),
        (150.0, 2, B.architecture, 0.4),
        (375.0, 4, D.architecture, 0.3),
    ]
    assert (found.evaluations, found.seconds) == (4, 375.0)
    assert method.told == [(query, *RESULTS[query]) for query in (A, B, C, D)]


@pytest.mark.parametrize(("seconds", "evaluations", "end"), [(375.0, 4, 375.0), (374.9, 3, 175.0), (150.0, 2, 150.0)])
def test_only_trainings_that_finish_in_time_count(seconds: float, evaluations: int, end: float) -> None:
    found, method = searched([A, B, C, D], seconds=seconds)
    assert (found.evaluations, found.seconds) == (evaluations, end)
    assert len(method.told) == evaluations


def test_the_number_of_trainings_can_be_limited() -> None:
    found, method = searched([A, B, C, D], evaluations=3)
    assert (found.evaluations, found.seconds) == (3, 175.0)
    assert method.queries == [D]


def test_equal_errors_keep_the_first_incumbent() -> None:
    again = Query(S1[9], 108)
    found = simulate(ScriptedProposals([A, again]), known({**RESULTS, again: TrainingResult(0.5, 1.0)}), Limits())
    assert [incumbent.architecture for incumbent in found.incumbents] == [A.architecture]


def test_decisions_cost_their_stated_overhead() -> None:
    found, _ = searched([A, B], decision_seconds=7.0)
    assert [incumbent.seconds for incumbent in found.incumbents] == [107.0, 164.0]


def test_two_workers_train_in_parallel_and_results_arrive_in_order_of_completion() -> None:
    # worker 1: A until 100, then D until 300; worker 2: B until 50, C until 75, then nothing is left
    found, method = searched([A, B, C, D], workers=2)
    assert [query for query, *_ in method.told] == [B, C, A, D]
    assert history(found) == [(50.0, 1, B.architecture, 0.4), (275.0, 4, D.architecture, 0.3)]


def test_asking_none_waits_for_a_result_or_ends_an_idle_search() -> None:
    found, method = searched([A, None, B, None, C], workers=2)
    assert [query for query, *_ in method.told] == [A, B, C]
    assert found.seconds == 175.0
    found, method = searched([A, None, None, B])
    assert found.evaluations == 1


def test_a_search_of_free_trainings_terminates() -> None:
    class Repeats(ScriptedProposals):
        def ask(self) -> Query:
            return A

    found = simulate(Repeats([]), lambda query, now: TrainingResult(0.5, 0.0), Limits(seconds=1e7))
    assert found.evaluations == FREE_IN_A_ROW


def test_simultaneously_finished_trainings_are_not_free() -> None:
    queries = [A] * (FREE_IN_A_ROW + 5)
    found = simulate(ScriptedProposals(queries), known(RESULTS), Limits(workers=len(queries)))
    assert (found.evaluations, found.seconds) == (len(queries), 100.0)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (Query(S1[0], 5), "ScriptedProposals 5 4 12 36 108"),
        (S1[0], "ScriptedProposals.ask()"),
        (
            Query(str(S1[0]), 108),
            "ScriptedProposals 's1:0|0,1|0,1|0,1|0,1:conv3x3,conv3x3,conv3x3,conv3x3' nb.Architecture",
        ),  # type: ignore[arg-type]
        (Query(None, 108), "ScriptedProposals None nb.Architecture"),  # type: ignore[arg-type]
    ],
)
def test_anything_but_a_query_is_refused(query: object, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        searched([query])  # type: ignore[list-item]


class SingleBudget(ScriptedProposals):
    """Declares only its largest budget."""

    used_budgets = (108,)


def test_a_query_of_a_budget_that_the_optimizer_does_not_declare_is_refused() -> None:
    with refuses(nb.InvalidInputError, "SingleBudget", "36 epochs", "108", "`used_budgets`"):
        simulate(SingleBudget([Query(S1[0], 36)]), known(RESULTS), Limits())
    assert simulate(SingleBudget([A]), known(RESULTS), Limits()).evaluations == 1


@settings(max_examples=60, deadline=None)
@given(
    costs=st.lists(st.integers(0, 1000), min_size=1, max_size=30),
    workers=st.integers(1, 5),
    limit=st.integers(1, 5000),
)
def test_any_number_of_workers_respects_the_limit_and_loses_no_result(
    costs: list[int], workers: int, limit: int
) -> None:
    queries = [Query(S1[number], 108) for number in range(len(costs))]
    trained = [TrainingResult(1 / (2 + number), float(cost)) for number, cost in enumerate(costs)]
    results = dict(zip(queries, trained, strict=True))
    method = ScriptedProposals(queries)
    found = simulate(method, known(results), Limits(seconds=limit, workers=workers))
    ends, busy = [], [0] * workers  # list scheduling: each training starts on the worker that is free first
    for cost in costs:
        place = min(range(workers), key=busy.__getitem__)
        busy[place] += cost
        ends.append(busy[place])
    in_time = [end for end in ends if end <= limit]
    assert found.evaluations == len(method.told) == len(in_time)
    assert found.seconds == max(in_time, default=0)
    assert [incumbent.seconds for incumbent in found.incumbents] == sorted(i.seconds for i in found.incumbents)
    assert all(math.isfinite(incumbent.seconds) for incumbent in found.incumbents)
