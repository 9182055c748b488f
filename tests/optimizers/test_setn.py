"""SETN: training of weights and Λ, and candidate architectures."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch
from judge import HALF, Judge
from scipy import stats
from tiny_search import SMALL_SPACE, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import are_identical
from nasbench1shot1.ground.errors import DivergedError
from nasbench1shot1.one_shot_search.loop import batch_pairs
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.setn import SETN, SETNHyperparameters
from nasbench1shot1.probability import most_probable

S1 = nb.search_space("s1")


def method(space=S1, seed: int = 0, spread: float = 1.0, **hyperparameters) -> SETN:
    """A method with spread-out Λ; initially Λ is almost uniform."""
    made = SETN(space, SETNHyperparameters(**hyperparameters), generator(seed), torch.device("cpu"))
    with torch.no_grad():
        for value in made.parameters.values():
            value.normal_(0, spread, generator=generator(seed + 1))
    return made


def most_probable_of(made: SETN, count: int) -> list[nb.Architecture]:
    return [arch for arch, _ in islice(most_probable(made.space, made.parameters), count)]


def test_weights_train_on_uniform_draws_for_any_lambda():
    made = method(SMALL_SPACE, spread=10.0)
    drawn = [made.mixing() for _ in range(100 * len(SMALL_SPACE))]
    assert all(mixing.weights is None for mixing in drawn)
    counts = Counter(SMALL_SPACE.index(mixing.path) for mixing in drawn)
    assert stats.chisquare([counts[i] for i in range(len(SMALL_SPACE))]).pvalue > 1e-3


def test_draws_equal_those_of_random_ws():
    drawn = []
    for optimizer in ("setn", "random-ws"):
        made = tiny_state(optimizer=optimizer).method
        made.begin_epoch(1, 4, generator(7))
        drawn.append([made.mixing() for _ in range(10)])
    assert drawn[0] == drawn[1]


def test_lambda_takes_the_first_order_step_of_darts():
    """With equal weights, the forward pass of DARTS computes the same mixture of all operations."""
    moved = []
    for optimizer in ("setn", "darts"):
        state = tiny_state(optimizer=optimizer, architecture_learning_rate=3e-4)
        weight_batch, architecture_batch = next(batch_pairs(state, 1))
        for _ in range(3):
            state.method.architecture_step(state.step(weight_batch, architecture_batch))
        moved.append({key: value.detach() for key, value in state.method.parameters.items()})
        assert all(value.grad is None for value in state.net.parameters())
    for key, value in moved[0].items():
        torch.testing.assert_close(value, moved[1][key], rtol=0, atol=1e-6)


def test_lambda_learns_which_operations_lower_the_validation_loss():
    made = method(spread=1e-3, architecture_learning_rate=0.05)
    preferred = torch.tensor([2, 0, 1, 2])

    def loss(mixing: Mixing, _: object) -> torch.Tensor:
        assert mixing.path is None
        return -mixing.weights["operations"][range(4), preferred].sum()

    step = SearchStep(loss, None, None, {}, {}, None, None, None)
    for _ in range(100):
        made.architecture_step(step)
    assert made.parameters["operations"].argmax(dim=1).tolist() == preferred.tolist()
    first = most_probable_of(made, 1)[0]
    assert first == S1.without_loose_ends(S1.discretise(made.parameters))
    assert [first.operations[block - 1] for block in first.live_blocks] == [preferred[b - 1] for b in first.live_blocks]


def test_the_hundred_most_probable_are_scored_and_the_best_of_five_finalists_is_chosen():
    made, judge = method(), Judge(S1)
    before = {key: value.detach().clone() for key, value in made.parameters.items()}
    made.choose(judge)
    (candidates, rows), (finalists, whole) = judge.asked
    assert candidates == most_probable_of(made, 100)
    assert len({S1.without_loose_ends(arch) for arch in candidates}) == 100
    assert len(rows) == len(set(rows.tolist())) == 10 * judge.batch_size
    assert whole is None
    few = sorted(candidates, key=lambda arch: judge.on_few[S1.index(arch)])[:5]
    assert finalists == few
    assert made.architecture() == min(few, key=lambda arch: judge.on_all[S1.index(arch)])
    assert made.evaluation_mixing() == Mixing(path=made.architecture())
    assert all(torch.equal(value.detach(), before[key]) for key, value in made.parameters.items())


def test_ties_are_broken_by_probability():
    made, judge = method(finalists=1, candidates=40), Judge(S1)
    judge.on_few[:] = 0
    made.choose(judge)
    assert [len(asked) for asked, _ in judge.asked] == [40]
    assert made.architecture() == most_probable_of(made, 1)[0]


def test_a_space_smaller_than_the_number_of_candidates_is_scored_completely():
    made, judge = method(SMALL_SPACE), Judge(SMALL_SPACE)
    made.choose(judge)
    assert set(judge.asked[0][0]) == set(SMALL_SPACE.architectures("no_loose_ends"))


@pytest.mark.parametrize("hyperparameters", [{}, {"finalists": 1}, {"candidates": 20, "candidate_batches": 100}])
def test_the_announced_number_of_images_is_scored(hyperparameters):
    made, judge = method(**hyperparameters), Judge(S1)
    made.choose(judge)
    asked = sum(len(architectures) * (HALF if rows is None else len(rows)) for architectures, rows in judge.asked)
    assert asked == sum(architectures * images for architectures, images in made.scorings(judge.batch_size, HALF))


def test_the_state_has_lambda_its_moments_and_the_chosen_architecture():
    made, other = tiny_state(optimizer="setn").method, method(seed=5)
    state = tiny_state(optimizer="setn")
    made.architecture_step(state.step(*next(batch_pairs(state, 1))))
    made.choose(Judge(S1))
    other.load_state_dict(made.state_dict())
    assert other.architecture() == made.architecture()
    assert are_identical(other.state_dict(), made.state_dict())
    assert set(made.state_dict()) == {"parameters", "adam", "chosen"}
    assert [made.learns_parameters, made.is_relaxed, made.learns_to_sample] == [True, False, False]


def test_a_diverged_lambda_is_reported_in_one_sentence():
    made = method()
    with torch.no_grad():
        made.parameters["output_edges"][0] = float("inf")
    with pytest.raises(DivergedError, match="architecture_learning_rate="):
        made.choose(Judge(S1))


def test_a_search_records_lambda_and_the_architecture_chosen_by_shared_weights(tmp_path):
    few = {"candidates": 12, "candidate_batches": 1, "finalists": 2, "architecture_learning_rate": 3e-4}
    run = search(tmp_path / "run", optimizer="setn", epochs=2, **few)
    for epoch, line in enumerate(run.lines):
        raw = {key: values[epoch] for key, values in run.architecture_parameters.items()}
        candidates = [str(arch) for arch, _ in islice(most_probable(S1, raw), 12)]
        assert line["architecture"] in candidates
    first, *_, last = run.architecture_parameters["operations"]
    assert 0 < np.abs(last - first).max() < 4 * 3e-4 * 1.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": 0}, r"^candidates\b.*least 1"),
        ({"finalists": 101}, "finalists=101 cannot.*candidates=100"),
        ({"architecture_learning_rate": -1.0}, "architecture_learning_rate.*least 0"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(options, message):
    with pytest.raises(nb.InvalidInputError, match=message):
        SETNHyperparameters(**options).check()
