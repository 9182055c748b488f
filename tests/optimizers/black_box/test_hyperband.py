"""Hyperband's brackets and promotions, and BOHB's model, invalid configurations and ignored budgets."""

from collections import Counter

import numpy as np
import pytest
from library_methods import BUDGETS, asked, make
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.black_box_search.simulation import Limits, TrainingResult, simulate
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.proposers.brackets import EndlessBrackets
from nasbench1shot1.proposers.categorical_bohb import HpbandsterGenerator


def error_of(query):
    """A synthetic table whose error depends only on the index of the architecture."""
    return (nb.search_space("s1").index(query.architecture) % 997) / 1000


def test_brackets_agree_with_hpbandster_on_the_budgets_of_the_table():
    plan = EndlessBrackets(BUDGETS).plan
    assert plan(0) == plan(4) == ((4, 27), (12, 9), (36, 3), (108, 1))
    assert plan(1) == ((12, 9), (36, 3), (108, 1))
    assert plan(2) == ((36, 6), (108, 2))
    assert plan(3) == ((108, 4),)
    assert EndlessBrackets((12, 200)).plan(0) == ((12, 3), (200, 1))
    assert EndlessBrackets((108,)).plan(5) == ((108, 1),)


def test_the_best_third_is_promoted_and_brackets_repeat_forever():
    queries = [query for query, _ in asked(make("hyperband"), error_of, 130)]
    assert Counter(query.epochs for query in queries[:65]) == {4: 27, 12: 18, 36: 12, 108: 8}
    stages = [queries[:27], queries[27:36], queries[36:39], queries[39:40]]
    for before, after, budget in zip(stages[:-1], stages[1:], BUDGETS[1:], strict=True):
        best = sorted(before, key=error_of)[: len(after)]
        assert {query.architecture for query in after} == {query.architecture for query in best}
        assert {query.epochs for query in after} == {budget}
    assert [query.epochs for query in queries[65:92]] == [4] * 27


def test_with_several_workers_the_next_bracket_starts_during_a_stage():
    found = simulate(
        make("hyperband"), lambda query, now: TrainingResult(error_of(query), query.epochs), Limits(300, 200, 9)
    )
    alone = simulate(
        make("hyperband"), lambda query, now: TrainingResult(error_of(query), query.epochs), Limits(300, 200, 1)
    )
    assert found.evaluations > 3 * alone.evaluations


@pytest.mark.parametrize("method", ["hyperband", "bohb"])
def test_results_of_equal_queries_are_matched_in_the_order_of_asking(method):
    found = make(method)
    queries = [found.ask() for _ in range(27)]
    for query in reversed(queries):
        found.tell(query, error_of(query), 1.0)
    best = sorted(queries, key=error_of)[:9]
    assert {found.ask().architecture for _ in range(9)} == {query.architecture for query in best}


def test_bohb_uses_its_model_after_enough_observations():
    found = make("bohb", random_fraction=0.0)
    proposals = found._proposer
    needed = 2 * (9 + 1)  # s1 has nine choices, two of which cannot vary
    for query, _ in asked(found, error_of, 27):
        assert query.epochs == 4
    kinds = [datum.config_info["model_based_pick"] for datum in proposals.iterations[0].data.values()]
    assert not any(kinds[:14]) and all(kinds[needed:])


def test_the_model_of_bohb_prefers_good_configurations():
    space = nb.search_space("s1")

    def error(query):
        return 0.1 * sum(operation != 0 for operation in query.architecture.operations) + 0.001

    found = make("bohb", random_fraction=0.0)
    queries = [query for query, _ in asked(found, error, 195)]
    first = np.mean([error(query) for query in queries[:14]])
    last = np.mean([error(query) for query in queries[130:157]])
    assert space.index(queries[-1].architecture) >= 0
    assert last < 0.7 * first


def test_with_ignored_budgets_trainings_have_one_length_and_promotions_pay_again():
    found = make("bohb", "nb201", budgets="ignored")
    queries = [query for query, _ in asked(found, lambda query: 0.1, 13 + 4 + 3)]
    assert {query.epochs for query in queries} == {12}
    assert [query.architecture for query in queries[9:12]] == [query.architecture for query in queries[:3]]
    seconds = simulate(
        make("bohb", "nb201", budgets="ignored"), lambda query, now: TrainingResult(0.1, 10.0), Limits(evaluations=13)
    )
    assert seconds.seconds == 130.0
    right = [query.epochs for query, _ in asked(make("bohb", "nb201"), lambda query: 0.1, 6)]
    assert right == [12, 12, 12, 200, 200, 200]


def test_with_ignored_budgets_nats_size_has_the_brackets_of_its_script():
    found = make("bohb", "nats-size", budgets="ignored")  # a table with four budgets
    brackets = [found.plan().plan(number) for number in range(4)]
    assert [[count for _, count in stages] for stages in brackets] == [[9, 3, 1], [3, 1], [3], [9, 3, 1]]
    queries = [query for query, _ in asked(found, lambda query: 0.1, 13)]
    assert {query.epochs for query in queries} == {108} and found.used_budgets == (108,)
    assert [query.architecture for query in queries[9:12]] == [query.architecture for query in queries[:3]]


def test_defaults_equal_the_published_settings_of_nb201():
    own = make("bohb", "nb201").hyperparameters
    assert (own.num_samples, own.random_fraction, own.min_bandwidth, own.eta) == (4, 0.0, 0.3, 3)
    own = make("bohb").hyperparameters
    assert (own.num_samples, own.random_fraction, own.min_bandwidth, own.budgets) == (64, 0.33, 0.3, "table")


def test_hpbandsters_densities_are_optional_and_refuse_other_spaces(monkeypatch):
    found = make("bohb", "nb201", budgets="ignored", densities="hpbandster")
    assert isinstance(found._proposer.config_generator, HpbandsterGenerator)
    queries = [query for query, _ in asked(found, lambda query: 0.1, 60)]
    assert len({query.architecture for query in queries}) > 30
    assert not isinstance(make("bohb", "nb201")._proposer.config_generator, HpbandsterGenerator)
    monkeypatch.setattr("nasbench1shot1.optimizers.black_box.bohb.is_categorical", lambda space: False)
    with pytest.raises(UserError, match=r'densities="hpbandster".*nb201'):
        make("bohb", "nb201", densities="hpbandster")


def test_without_the_extra_the_error_explains_what_to_install(monkeypatch):
    monkeypatch.setattr("nasbench1shot1.ground.plugins.find_spec", lambda name: None)
    for method, package in (("hyperband", "hpbandster"), ("bohb", "hpbandster"), ("smac", "smac"), ("tpe", "optuna")):
        with refuses(UserError, package, "pip install -c constraints.txt '.[tune]'"):
            make(method)
