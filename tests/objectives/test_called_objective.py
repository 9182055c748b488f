"""`nb.objective`: answers, clock, limits, budgets, bounds and several metrics, on tables with known values."""

import math
import pickle
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from black_box_tables import BUDGETS, S1, convolutions, noisy_table, s1_table, saved, smooth_table
from hypothesis import given
from hypothesis import strategies as st
from own_ask_tell import until_spent
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.choices import Choices, snap
from nasbench1shot1.tables.columns import Column

CELLS = 2_685
LATENCY = Column(metric="latency_edgegpu", quantity="latency", dataset="cifar10", unit="ms", direction="lower")
SPEED = Column(metric="speed", quantity="speed", dataset="cifar10", unit="images/s", direction="higher")
SHAPE = Column(metric="shape_score", quantity="score", dataset="cifar10", fidelity="predicted")
LOSS = Column(metric="own_loss", quantity="loss", dataset="cifar10", direction="lower", epochs=BUDGETS)


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> nb.Table:
    """A saved table: training takes `epochs` seconds, latency is the number of 3×3 convolutions."""
    others = {LATENCY: convolutions() + 1.0, SPEED: 1.0 / (convolutions() + 1), SHAPE: np.arange(CELLS)}
    return saved(smooth_table(others=others), tmp_path_factory.mktemp("tables") / "smooth")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> nb.Table:
    """A saved table with three repeats of accuracy and time."""
    return saved(noisy_table(), tmp_path_factory.mktemp("tables") / "noisy")


def test_a_printed_answer_has_rounded_numbers() -> None:
    answer = nb.Evaluation(S1[0], 12, (1 - 0.7673, 7.0), seconds=0.1 + 0.2, finished=1e6, violations=(math.inf, -1.5))
    assert (answer.cost, answer.seconds) == (0.23270000000000002, 0.30000000000000004)
    assert str(answer) == (
        f"Evaluation(architecture={S1[0]!r}, epochs=12, costs=(0.2327, 7.0), seconds=0.3, finished=1000000.0, "
        "repeat=None, is_trained=True, violations=(inf, -1.5))"
    )


def test_an_answer_has_validation_costs_seconds_and_the_clock(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, seconds=1e4)
    arch = S1[1234]
    answer = function(arch)
    assert answer.cost == float(answer) == 1 - smooth.query(arch).validation_accuracy
    assert (answer.seconds, answer.finished, answer.epochs, answer.repeat) == (108.0, 108.0, 108, 0)
    assert (function.seconds, function.remaining, function.evaluations) == (108.0, 1e4 - 108, 1)
    assert function(arch, 4).finished == 112.0
    assert "test" not in "".join(nb.Evaluation.__dataclass_fields__)


@pytest.mark.parametrize("name", ["s1", "nb201"])
def test_all_forms_of_an_architecture_give_the_same_answer(name: str) -> None:
    function, rng = nb.objective(name, evaluations=300), np.random.default_rng(0)
    for _ in range(20):
        arch = function.space.sample(rng)
        configuration = function.configuration(arch)
        forms = (
            arch,
            configuration,
            function.indices(arch),
            np.array(function.indices(arch), np.int16),
            dict(function.space.to_configuration(arch)),  # the space's own names and numpy strings
            str(arch),
            function.space.index(arch),
            np.int64(function.space.index(arch)),
        )
        assert {function(form).architecture for form in forms} == {arch}
        assert function(arch.network_id).architecture.network_id == arch.network_id
        assert function.score(str(arch)) == function.score(function.space.index(arch)) == function.score(arch)
        assert function.indices(str(arch)) == function.indices(arch)
    for configuration in function.configuration_space.sample_configuration(20):
        assert function(configuration).architecture == function(dict(configuration)).architecture


@pytest.mark.parametrize("given", [[1, 2, 3], [0] * 9, "s1:0|0,1|0,1|0,1|0,1:conv3x3,conv3x3,conv3x3,conv3x3", 5, {}])
def test_a_batch_is_a_list_of_proposals(smooth: nb.Table, given: Any) -> None:
    function = nb.objective("s1", table=smooth, evaluations=9)
    with refuses(nb.InvalidInputError, "row"):
        function.evaluate(given)
    assert function.evaluations == 0
    matrix = function.evaluate([S1.values_of(S1[3]), S1.values_of(S1[9_000])])
    assert np.array_equal(matrix, function.evaluate([S1[3], str(S1[9_000])]))


@pytest.mark.parametrize("name", ["s1", "s3", "nb101-5v", "nb201", "nats-size"])
def test_parameters_are_identifiers_and_choices_are_strings(name: str) -> None:
    space = nb.search_space(name)
    choices = Choices(space)
    assert all(parameter.isidentifier() for parameter in choices.by_name)
    assert tuple(map(len, choices.by_name.values())) == space.variables()
    assert {type(choice) for of in choices.by_name.values() for choice in of} == {str}
    assert list(choices.configuration_space) == list(choices.by_name)
    types = [type(choices.configuration_space[new]) for new in choices.by_name]
    if name == "nats-size":  # widths have an order
        assert types == [type(known) for known in space.configuration_space().values()]
    arch = space.sample(np.random.default_rng(1))
    assert choices.read(choices.configuration(arch)).architecture == arch


@given(st.floats(0.001, 1e6), st.sets(st.integers(1, 300), min_size=1))
def test_odd_budgets_become_the_largest_budget_below_or_the_smallest(epochs: float, budgets: set[int]) -> None:
    ascending = sorted(budgets)
    below = [budget for budget in ascending if budget <= epochs]
    assert snap(epochs, ascending) == (below[-1] if below else ascending[0])


def test_a_training_beyond_the_time_limit_is_not_charged(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, seconds=300)
    function(S1[0])
    function(S1[1])
    with refuses(nb.BudgetSpent, "108", "324", "300"):
        function(S1[2])
    assert (function.seconds, function.evaluations, function.remaining) == (216.0, 2, 0.0)
    with refuses(nb.BudgetSpent, "300", "reset"):  # the search is over, also for cheaper trainings
        function(S1[2], 4)
    function.reset()
    assert (function.number, function.seconds, function.remaining) == (1, 0.0, 300.0)
    assert function(S1[2], 4).finished == 4.0


def test_the_number_of_trainings_can_be_limited(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, evaluations=3)
    assert function.evaluate([S1[0], S1[1]]).shape == (2, 1)
    assert function.remaining == 1
    with until_spent():
        function.evaluate(np.array([function.indices(S1[number]) for number in (2, 3)]))
    assert function.evaluations == 3


def test_a_promoted_training_pays_the_difference_if_asked(noisy: nb.Table, smooth: nb.Table) -> None:
    def paid(**options: Any) -> list[float]:
        function = nb.objective("s1", table=smooth, seconds=1e4, **options)
        return [
            function(S1[number], epochs).seconds for number, epochs in ((0, 4), (0, 36), (0, 12), (0, 108), (9000, 36))
        ]

    assert paid() == [4.0, 36.0, 12.0, 108.0, 36.0]
    assert paid(continuation=True) == [4.0, 32.0, 8.0, 72.0, 36.0]
    function = nb.objective("s1", table=noisy, seconds=1e4, continuation=True)
    for number in range(0, 2000, 100):
        first, second = function(S1[number], 4), function(S1[number], 12)
        assert first.repeat == second.repeat
        times = [noisy.query(S1[number], epochs, run=first.repeat).training_time for epochs in (4, 12)]
        assert second.seconds == max(times[1] - times[0], 0.0)
        assert second.cost == 1 - noisy.query(S1[number], 12, run=first.repeat).validation_accuracy


def test_a_seed_chooses_the_repeat_and_none_draws_one(noisy: nb.Table, smooth: nb.Table) -> None:
    function = nb.objective("s1", table=noisy, seconds=1e6)
    arch = S1[77]
    for repeat in range(3):
        answer = function(arch, seed=repeat)
        known = noisy.query(arch, run=repeat)
        assert (answer.cost, answer.seconds) == (1 - known.validation_accuracy, known.training_time)
    drawn = [function(arch) for _ in range(60)]
    assert {answer.repeat for answer in drawn} == {0, 1, 2}
    assert len({answer.cost for answer in drawn}) == 3
    assert "random one of 3 repeats" in function.feedback
    with refuses(nb.OutOfDomainError, "7", "0 to 2"):
        function(arch, seed=7)
    free = nb.objective("s1", table=smooth, seconds=1e6)
    assert free.feedback.startswith("Noise-free feedback")
    assert free(arch, seed=7).cost == free(arch).cost


def test_a_seed_chooses_the_repeat_if_only_a_further_metric_has_several(noisy: nb.Table, tmp_path: Path) -> None:
    metrics = ["trainable_parameters", "validation_accuracy"]
    arch, options = S1[77], {"table": noisy, "objective": metrics, "evaluations": 40}
    with nb.objective("s1", out=tmp_path / "study", **options) as function:
        assert len({function(arch).costs[1] for _ in range(20)}) == 3
        for repeat in range(3):
            assert function(arch, seed=repeat).costs[1] == 1 - noisy.query(arch, run=repeat).validation_accuracy
        with refuses(nb.OutOfDomainError, "7", "0 to 2"):
            function(arch, seed=7)
        assert "random one of 3 repeats after 108 epochs" in function.feedback
    assert nb.open_run(tmp_path / "study").feedback_repeats == {"108": [3, 3]}
    with nb.objective(resume=tmp_path / "study") as function:
        assert function.objectives == tuple(metrics) and "random one of 3 repeats" in function.feedback


def test_all_metrics_are_means_if_only_the_mean_of_the_first_one_is_known() -> None:
    metrics = ["validation_loss", "validation_accuracy"]
    function = nb.objective("nb201", objective=metrics, epochs=200, evaluations=9)
    known = function.table.query(function.space[7], 200, dataset="cifar10-valid")
    answers = {function(7, 200, seed).costs for seed in (None, None, 777, 888)}
    assert answers == {(known.validation_loss, 1 - known.validation_accuracy)}
    assert function.repeats.repeats_at(200) == (1, 1)


def test_the_random_draws_of_a_search_depend_on_seed_and_number(noisy: nb.Table) -> None:
    def answers(number: int, **options: Any) -> list[float]:
        function = nb.objective("s1", table=noisy, seconds=1e6, **options)
        function.reset(number)
        return [function(S1[0]).cost for _ in range(20)] + [float(function.rng.random())]

    assert answers(4) == answers(4) != answers(5)
    assert answers(4, seed=1) != answers(4)


def test_a_call_that_is_refused_because_another_metric_is_missing_changes_nothing(tmp_path: Path) -> None:
    losses = np.ones((CELLS, len(BUDGETS), 1))
    losses[:, 0] = np.nan
    table = saved(smooth_table(others={LOSS: losses}), tmp_path / "table")
    options: dict[str, Any] = {"objective": ["validation_accuracy", "own_loss"], "seconds": 1e4}
    function = nb.objective("s1", table=table, continuation=True, **options)
    with refuses(nb.OutOfDomainError, table.id, "loss", "4 epochs"):
        function(S1[0], 4)
    assert (function.evaluations, function.seconds) == (0, 0.0)
    assert function(S1[9_000], 108).finished == 108
    assert function(S1[0], 12).seconds == 12  # the refused training is not continued
    assert function(S1[0], 36).seconds == 36 - 12


def test_a_refused_repeat_is_not_kept_for_the_next_call(tmp_path: Path) -> None:
    accuracies, losses = np.full((CELLS, len(BUDGETS), 3), 0.5), np.ones((CELLS, len(BUDGETS), 3))
    losses[:, :, :2] = np.nan
    table = saved(s1_table(accuracies, accuracies + np.arange(3), others={LOSS: losses}), tmp_path / "table")
    metrics = ["validation_accuracy", "own_loss"]
    function = nb.objective("s1", table=table, objective=metrics, seconds=1e4, deduplicate=True)

    def answered(arch: nb.Architecture) -> nb.Evaluation | None:
        for _ in range(50):
            with suppress(nb.OutOfDomainError):
                return function(arch)
        return None

    found = [answered(S1[number]) for number in range(0, 2_000, 200)]
    assert {answer and answer.repeat for answer in found} == {2}


def test_a_training_that_cannot_be_continued_with_all_metrics_is_drawn_anew(tmp_path: Path) -> None:
    """Repeat 0 has no loss at the full budget, so a training of repeat 0 is not continued, but replaced."""
    accuracies, losses = np.full((CELLS, len(BUDGETS), 2), 0.5), np.ones((CELLS, len(BUDGETS), 2))
    losses[:, -1, 0] = np.nan
    table = saved(s1_table(accuracies, accuracies, others={LOSS: losses}), tmp_path / "table")
    metrics = ["validation_accuracy", "own_loss"]
    function = nb.objective("s1", table=table, objective=metrics, seconds=1e5, continuation=True)
    short = [function(S1[number], 4).repeat for number in range(0, 600, 20)]
    assert {*short} == {0, 1}
    assert {function(S1[number], 108).repeat for number in range(0, 600, 20)} == {1}


@pytest.mark.parametrize("repeat", [None, 1])
@pytest.mark.parametrize("metrics", [["validation_accuracy"], ["validation_accuracy", "own_loss"]])
def test_later_answers_do_not_depend_on_refused_calls(
    metrics: list[str], repeat: int | None, smooth: nb.Table, tmp_path: Path
) -> None:
    """At 4 epochs, the table lacks the first metric of some cells or, if there are two metrics, the second one."""
    accuracies, losses = np.random.default_rng(0).uniform(0.1, 0.9, (2, CELLS, len(BUDGETS), 3))
    lacking = [smooth.row_of(S1[number]) for number in range(20)]
    (losses if metrics[1:] else accuracies)[lacking, 0] = np.nan
    table = saved(s1_table(accuracies, accuracies, others={LOSS: losses}), tmp_path / "table")

    def answers(refused: bool) -> list[float]:
        function = nb.objective("s1", table=table, objective=metrics, seconds=1e6)
        found = []
        for number in range(20):
            if refused:
                with pytest.raises(nb.OutOfDomainError):
                    function(S1[number], 4, repeat)
            found.append(function(S1[number], 108).cost)
        return found

    assert answers(refused=True) == answers(refused=False)


def test_an_architecture_that_a_partial_table_lacks_fails_at_no_cost(smooth: nb.Table, tmp_path: Any) -> None:
    space = nb.search_space("nb101-5v")
    function = nb.objective("nb101-5v", table=smooth, reference="present", seconds=1e4)
    missing = next(arch for arch in map(space.__getitem__, range(len(space))) if arch not in smooth)
    answer = function(missing)
    assert (answer.cost, answer.seconds, answer.is_trained, answer.repeat) == (1.0, 0.0, True, None)
    assert (function.evaluations, function.seconds) == (1, 0.0)


def test_a_recorded_search_needs_an_architecture_of_the_table(smooth: nb.Table, tmp_path: Path) -> None:
    space, given = nb.search_space("nb101-5v"), {"table": smooth, "reference": "present", "evaluations": 1}
    missing = next(arch for arch in map(space.__getitem__, range(len(space))) if arch not in smooth)
    function = nb.objective("nb101-5v", **given, out=tmp_path / "study")
    function(missing)
    for end in (function.reset, function.reset, function.finish):
        with refuses(nb.InvalidInputError, smooth.id, "search 0", options=""):
            end()
    assert function.number == 0
    unrecorded = nb.objective("nb101-5v", **given)
    unrecorded(missing)
    unrecorded.reset()
    assert unrecorded.number == 1


def test_a_configuration_outside_the_space_costs_nothing_and_does_not_count() -> None:
    function = nb.objective("nb101-5v", evaluations=50)
    found = [function(configuration) for configuration in function.configuration_space.sample_configuration(40)]
    outside = [answer for answer in found if answer.architecture is None]
    assert outside and all((answer.cost, answer.seconds, answer.is_trained) == (1.0, 0.0, False) for answer in outside)
    assert function.evaluations == len(found) - len(outside)


def test_proposals_outside_the_bounds_are_not_trained(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, evaluations=30, bounds="latency_edgegpu=3,trainable_parameters=2000")
    assert function.bounds == ("latency_edgegpu ≤ 3", "trainable_parameters ≤ 2000")
    for number in range(0, 500, 25):
        before, answer, known = function.evaluations, function(S1[number]), smooth.query(S1[number])
        assert answer.violations == (known.latency_edgegpu - 3, known.trainable_parameters - 2000)
        assert answer.is_trained == (max(answer.violations) <= 0)
        assert function.evaluations - before == answer.is_trained
        assert answer.is_trained or (answer.cost, answer.seconds) == (1.0, 0.0)
    best = function.optimum()
    assert best.test_regret == 0
    assert smooth.query(smooth.network(smooth.row_of(best.cell_hash))).latency_edgegpu <= 3


def test_several_metrics_come_from_the_drawn_repeat(noisy: nb.Table, smooth: nb.Table) -> None:
    several = ["validation_accuracy", "training_time", "trainable_parameters"]
    function = nb.objective("s1", table=noisy, objective=several, seconds=1e6)
    for number in range(10):
        answer = function(S1[number], 36)
        known = noisy.query(S1[number], 36, run=answer.repeat)
        assert answer.costs == (1 - known.validation_accuracy, known.training_time, known.trainable_parameters)
    function = nb.objective("s1", table=smooth, objective=["latency_edgegpu", "speed"], evaluations=9)
    costs = function.evaluate([S1[number] for number in range(9)])
    np.testing.assert_allclose(costs[:, 1], -1 / costs[:, 0])


def test_truth_is_only_for_reports(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, evaluations=9)
    scored, best = function.score(S1[3]), function.optimum()
    assert scored.test_regret == pytest.approx(scored.table_test_error - best.table_test_error)
    assert best.table_test_error == pytest.approx(1 - smooth.best("s1")[1].test_accuracy)
    assert function.optimum("validation").validation_regret == 0
    assert function.evaluations == 0


def test_the_optimum_of_a_part_of_a_space_is_the_best_of_the_known_values(tmp_path: Path) -> None:
    archs, known = list(islice(S1.architectures("unique"), 6)), np.linspace(0.5, 0.9, 6)
    frame = pd.DataFrame({"architecture": archs, "epochs": 108, "validation_accuracy": known[::-1]})
    frame["test_accuracy"] = np.where(frame.index == 5, np.nan, known)
    table = saved(nb.table_from_frame(frame, space=S1, reference="present"), tmp_path / "part")
    function = nb.objective("s1", table=table, reference="present", evaluations=9)
    best, other = function.optimum(), function.score(archs[2])
    assert (best.cell_hash, best.test_regret) == (archs[4].network_id, 0)
    assert other.test_regret == pytest.approx(other.table_test_error - best.table_test_error)
    assert function.optimum("validation").cell_hash == archs[0].network_id


@pytest.mark.parametrize(
    ("x", "epochs", "seed", "named"),
    [
        ({"choice_block_1_op": "conv3x3-bn-relu"}, None, None, ["choice_block_1_parents"]),
        ({**dict.fromkeys(["a", "b"])}, None, None, ["a"]),
        ([0] * 8, None, None, ["9", "8"]),
        ([9] * 9, None, None, ["9"]),
        ([0.5] * 9, None, None, ["9 integers"]),
        ("s1:0|0,1", None, None, ["s1:0|0,1", "space:parents:operations"]),
        (len(S1), None, None, ["14580", "14579"]),
        (None, None, None, ["None"]),
        (nb.search_space("s2")[0], None, None, ["s2"]),
        (S1[0], "many", None, ["many", "108"]),
        (S1[0], 0, None, ["0"]),
        (S1[0], float("nan"), None, ["nan"]),
        (S1[0], True, None, ["True"]),
        (S1[0], None, "mean", ["seed", "mean"]),
    ],
)
def test_a_wrong_call_ends_in_one_sentence_and_costs_nothing(
    smooth: nb.Table, x: Any, epochs: Any, seed: Any, named: list[str]
) -> None:
    function = nb.objective("s1", table=smooth, evaluations=9)
    with refuses(nb.InvalidInputError, *named):
        function(x, epochs, seed)
    assert (function.evaluations, function.seconds) == (0, 0.0)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"objective": "acuracy"}, ["acuracy"]),
        ({"bounds": "flops"}, ['bounds="flops"', "flops=1e8"]),
        ({"objective": ["validation_accuracy", "acuracy"]}, ["acuracy"]),
        ({"objective": ["validation_accuracy", "test_accuracy"]}, ["test_accuracy"]),
        ({"objective": ["validation_accuracy", "validation_accuracy"]}, ["validation_accuracy"]),
        ({"objective": []}, ["objective"]),
        ({"objective": "shape_score"}, ["shape_score"]),
        ({"objective": ["validation_accuracy", "validation_loss"]}, ["validation loss"]),
        ({"bounds": "latency_phone=3"}, ["latency_phone"]),
        ({"name": "random"}, ["random"]),
        ({"name": "my:own"}, ["my:own"]),
        ({"optimizer": "random"}, ["optimizer", "name"]),
        ({"repeats": 3}, ["repeats", "reset"]),
        ({"simulated_workers": 3}, ["simulated_workers", "AskTell"]),
        ({"seconds": 1e4}, ["seconds", "evaluations"]),
        ({"population": 4}, ["population"]),
        ({"resume": "runs/none"}, ["resume"]),
    ],
)
def test_wrong_options_end_in_one_sentence(smooth: nb.Table, options: dict[str, Any], named: list[str]) -> None:
    with refuses(nb.UserError, *named):
        nb.objective("s1", **{"table": smooth, "evaluations": 9, **options})


def test_an_objective_stays_in_its_process(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, evaluations=9)
    with refuses(nb.InvalidInputError, "AskTell"):
        pickle.dumps(function)
    with refuses(nb.InvalidInputError, "out"):
        function.finish()
    assert function.epochs == BUDGETS
    function.close()
    with refuses(nb.InvalidInputError, "closed"):
        function(S1[0])


def test_an_architecture_outside_the_space_is_refused_before_it_is_trained(smooth: nb.Table) -> None:
    function = nb.objective("s1", table=smooth, evaluations=3)
    foreign = nb.Architecture.parse(str(nb.search_space("s2")[0]).replace("s2:", "s1:"))
    with refuses(nb.InvalidInputError, "s1"):
        function(foreign)
    assert (function.evaluations, function.seconds) == (0, 0.0)


def test_a_deduplicated_search_trains_every_repeat_that_is_asked_for(noisy: nb.Table) -> None:
    function = nb.objective("s1", table=noisy, evaluations=9, deduplicate=True)
    first, second, again = (function(S1[7], seed=seed) for seed in (0, 1, 0))
    assert (first.repeat, second.repeat, again.repeat) == (0, 1, 0)
    assert second.seconds > 0 and (again.cost, again.seconds) == (first.cost, 0.0)


def test_a_search_that_could_not_be_recorded_is_recorded_by_the_next_call(
    smooth: nb.Table, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = nb.objective("s1", table=smooth, evaluations=1, name="mine", out=tmp_path / "study")
    function(S1[0])
    function.reset()
    with monkeypatch.context() as patch:
        patch.setattr(type(function.repeats), "line_of", lambda *given: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            function(S1[1])
    function.reset()
    function(S1[2])
    assert [line["architecture"] for line in function.finish().lines] == [str(S1[place]) for place in range(3)]
