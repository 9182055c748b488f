"""Costs and results of trainings on the simulated clock."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from black_box_tables import BUDGETS, S1, ScriptedProposals, s1_table, smooth_table
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.simulation import Limits, TableTrainings, can_continue, simulate

CELLS = 2_685


def three_repeats() -> nb.Table:
    accuracies = np.broadcast_to(np.array([0.5, 0.6, 0.7]), (CELLS, 4, 3)).copy()
    seconds = np.broadcast_to(np.array([10.0, 20.0, 30.0]), (CELLS, 4, 3)).copy()
    return s1_table(accuracies, seconds)


def test_error_and_time_come_from_the_same_random_repeat() -> None:
    train = TableTrainings(S1, three_repeats(), None, np.random.default_rng(0))
    found = Counter(tuple(train(Query(S1[7], 36))) for _ in range(600))
    assert {(round(error, 9), seconds) for error, seconds in found} == {(0.5, 10.0), (0.4, 20.0), (0.3, 30.0)}
    assert min(found.values()) > 150  # 200 expected


def test_missing_repeats_are_never_drawn() -> None:
    table = three_repeats()
    accuracies = table.values("validation_accuracy", 36).copy()
    stored = np.broadcast_to(accuracies[:, None, :], (CELLS, 4, 3)).copy()
    stored[:, :, 1] = np.nan
    train = TableTrainings(S1, s1_table(stored, np.ones((CELLS, 4, 3))), None, np.random.default_rng(0))
    assert {round(train(Query(S1[7], 36)).validation_error, 9) for _ in range(50)} == {0.5, 0.3}
    stored[:] = np.nan
    train = TableTrainings(S1, s1_table(stored, np.ones((CELLS, 4, 3))), None, np.random.default_rng(0))
    with pytest.raises(nb.OutOfDomainError, match=r"'s1:.*'.*\b36\b"):
        train(Query(S1[7], 36))


def test_with_deduplication_each_cell_and_budget_is_paid_once() -> None:
    train = TableTrainings(S1, three_repeats(), None, np.random.default_rng(0), deduplicate=True)
    paid = train(Query(S1[7], 36))
    assert paid.seconds > 0
    assert [train(Query(S1[7], 36), 100.0) for _ in range(20)] == [(paid.validation_error, 0.0)] * 20
    assert train(Query(S1[7], 108)).seconds > 0
    copies = [arch for arch in map(S1.__getitem__, range(2_000)) if arch.cell == S1[7].cell and arch != S1[7]]
    assert train(Query(copies[0], 36), 100.0) == (paid.validation_error, 0.0)


def test_a_training_in_progress_on_another_worker_is_awaited() -> None:
    train = TableTrainings(S1, three_repeats(), None, np.random.default_rng(0), deduplicate=True)
    paid = train(Query(S1[7], 36), 5.0)
    assert paid.seconds >= 10
    assert train(Query(S1[7], 36), 8.0) == (paid.validation_error, paid.seconds - 3)
    assert train(Query(S1[7], 36), 5 + paid.seconds) == (paid.validation_error, 0.0)
    again = [Query(S1[7], 36)] * 6
    found = simulate(ScriptedProposals(again), train, Limits(workers=3))
    # no result is known before the first training ends
    assert found.incumbents[0].seconds == found.seconds == 5 + paid.seconds


def test_the_cost_on_nb201_is_one_training_and_one_evaluation() -> None:
    space, table = nb.search_space("nb201"), nb.load_table("nb201")
    arch = space[1234]
    found = TableTrainings(space, table, None, np.random.default_rng(0))(Query(arch, 12))
    known = table.query(arch, epochs=12, dataset="cifar10-valid")
    assert found.validation_error == 1 - known.validation_accuracy
    assert found.seconds == known.training_time + known.evaluation_time / 12
    other = TableTrainings(space, table, "cifar100", np.random.default_rng(0))(Query(arch, 12))
    assert other.validation_error == 1 - table.query(arch, epochs=12, dataset="cifar100").validation_accuracy


def test_a_given_repeat_continues_a_training_whose_value_is_a_mean() -> None:
    space, table = nb.search_space("nb201"), nb.load_table("nb201")  # it has only means at 12 epochs
    train = TableTrainings(space, table, None, np.random.default_rng(0), continuation=True)
    arch = space[1234]
    short = train.draw(Query(arch, 12))
    assert short.repeat == "mean"
    paid = TableTrainings(space, table, None, np.random.default_rng(0)).draw(Query(arch, 200), repeat=1)
    found = train.draw(Query(arch, 200), now=short.result.seconds, repeat=1)
    assert found.repeat == paid.repeat == 1
    assert found.result.validation_error == paid.result.validation_error
    assert found.result.seconds == paid.result.seconds - short.result.seconds


@pytest.mark.parametrize("dataset", ["cifar100", "ImageNet16-120"])  # seed 111 at 12 epochs, the others at 200
def test_a_continuation_without_a_repeat_at_two_budgets_is_refused(tmp_path: Path, dataset: str) -> None:
    given: dict[str, Any] = {"space": "nb201", "dataset": dataset, "evaluations": 2, "continuation": True}
    with refuses(nb.InvalidInputError, "nb201-v2-c488c4c", "nb201", dataset, options="continuation"):
        nb.objective(**given)
    with refuses(nb.InvalidInputError, dataset, options="continuation"):
        nb.black_box("hyperband", repeats=1, out=tmp_path / "study", **given)
    assert not (tmp_path / "study").exists()
    assert nb.objective(**{**given, "dataset": "cifar10"}).remaining == 2  # its results at 12 epochs are means


@pytest.mark.parametrize("epochs", [108, 4])
def test_a_continuation_by_a_method_with_a_single_budget_is_refused(tmp_path: Path, epochs: int) -> None:
    given: dict[str, Any] = {"space": "s1", "repeats": 1, "evaluations": 2, "continuation": True}
    with refuses(nb.InvalidInputError, "random", f"{epochs} epochs", options="continuation"):
        nb.black_box("random", epochs=epochs, out=tmp_path / "study", **given)
    assert not (tmp_path / "study").exists()


def test_one_cell_with_a_repeat_at_two_budgets_suffices_for_a_continuation() -> None:
    accuracies = three_repeats().values("validation_accuracy", 36)[:, None, :].repeat(len(BUDGETS), axis=1)
    accuracies[:, :3, 1:] = np.nan
    accuracies[:, 3, 0] = np.nan
    rows = np.arange(CELLS)
    for value, expected in ((np.nan, False), (0.5, True)):
        accuracies[7, 3, 0] = value
        table = s1_table(accuracies, np.ones((CELLS, 4, 3)))
        assert can_continue(table, table.objective(), rows, (36, 108)) is expected
        assert can_continue(table, table.objective(), rows[:7], (36, 108)) is False
        assert can_continue(table, table.objective(), rows, (108,)) is False


def test_a_forgotten_training_is_neither_continued_nor_paid() -> None:
    train = TableTrainings(S1, smooth_table(), None, np.random.default_rng(0), deduplicate=True, continuation=True)
    assert train.draw(Query(S1[7], 4)).result.seconds == 4
    assert train.draw(Query(S1[7], 12), 100.0).result.seconds == 12 - 4
    train.forget(Query(S1[7], 12))
    assert train.draw(Query(S1[7], 36), 200.0).result.seconds == 36 - 4  # 12 epochs were not trained
    assert train.draw(Query(S1[7], 12), 300.0).result.seconds == 12 - 4
    train.forget(Query(nb.search_space("s2")[0], 12))  # the table lacks it


def test_architectures_of_another_space_are_refused() -> None:
    train = TableTrainings(S1, smooth_table(), None, np.random.default_rng(0))
    with pytest.raises(nb.InvalidInputError, match="s1"):
        train(Query(nb.search_space("s2")[0], BUDGETS[0]))
