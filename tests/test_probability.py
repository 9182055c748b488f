"""Probabilities of encodings under Λ and the most probable networks, compared with brute force."""

from functools import cache
from itertools import islice, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from tiny_search import SMALL_SPACE

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation.analysis import log_probabilities
from nasbench1shot1.probability import log_probability_of_picks, most_probable
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.space import Choice

S1, S3 = nb.search_space("s1"), nb.search_space("s3")


def parameters_of(space, seed: int = 0, spread: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {key: spread * rng.normal(size=shape) for key, shape in space.mixing_shapes().items()}


def drawn(logits: np.ndarray, picks: tuple[int, ...]) -> float:
    """Probability of a set by definition: the sum over all orders of drawing it."""
    total = 0.0
    for order in permutations(picks):
        left, probability = np.exp(logits - logits.max()), 1.0
        for entry in order:
            probability *= left[entry] / left.sum()
            left[entry] = 0
        total += probability
    return total


def every_encoding(space, parameters) -> dict[nb.Architecture, float]:
    """The probability of every encoding of a choice-block space: a product over all parents and operations."""
    softmax = np.exp(parameters["operations"]) / np.exp(parameters["operations"]).sum(axis=1, keepdims=True)

    @cache
    def of_wiring(parents: tuple[tuple[int, ...], ...]) -> float:
        keys = [space.mixing_key(node) for node in range(1, len(parents) + 1)]
        return float(np.prod([drawn(parameters[key], taken) for key, taken in zip(keys, parents, strict=True) if key]))

    blocks = range(space.n_blocks)
    every = space.architectures("loose_ends")
    return {arch: of_wiring(arch.parents) * float(softmax[blocks, arch.operations].prod()) for arch in every}


def brute_force(space, parameters) -> list[tuple[nb.Architecture, float]]:
    """Every network with the probability of its most probable encoding, best first."""
    best: dict[nb.Architecture, float] = {}
    for arch, probability in every_encoding(space, parameters).items():
        network = space.without_loose_ends(arch)
        best[network] = max(probability, best.get(network, 0.0))
    return sorted(best.items(), key=lambda pair: -pair[1])


@pytest.mark.parametrize("picks", [1, 2, 3, 5])
def test_the_probabilities_of_all_picks_sum_to_one(picks):
    logits = np.random.default_rng(picks).normal(size=5)
    taken = {tuple(sorted(order)) for order in permutations(range(5), picks)}
    found = {each: np.exp(log_probability_of_picks(logits, each)) for each in taken}
    assert sum(found.values()) == pytest.approx(1)
    for each, probability in found.items():
        assert probability == pytest.approx(drawn(logits, each))


def test_the_hundred_most_probable_of_s1_agree_with_all_14580_encodings():
    parameters = parameters_of(S1, 1)
    assert len(S1) == 14_580
    found = list(islice(most_probable(S1, parameters), 100))
    expected = brute_force(S1, parameters)[:100]
    assert [arch for arch, _ in found] == [arch for arch, _ in expected]
    assert np.exp([log for _, log in found]) == pytest.approx([probability for _, probability in expected])


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([1e-3, 0.3, 2.0]))
@settings(max_examples=30, deadline=None)
def test_all_networks_of_a_small_space_are_sorted_by_probability(seed, spread):
    parameters = parameters_of(SMALL_SPACE, seed, spread)
    found, expected = list(most_probable(SMALL_SPACE, parameters)), brute_force(SMALL_SPACE, parameters)
    assert [arch for arch, _ in found] == [arch for arch, _ in expected]
    assert np.exp([log for _, log in found]) == pytest.approx([probability for _, probability in expected])


def test_every_network_of_s1_is_listed_once():
    found = [arch for arch, _ in most_probable(S1, parameters_of(S1, 2))]
    assert len(found) == len(set(found)) == 3702
    assert set(found) == set(S1.architectures("no_loose_ends"))


def test_the_encodings_of_a_network_sum_to_its_probability_in_a_ranking():
    """The probability that `correlate` ranks by is the sum over all encodings that are the same network."""
    parameters, networks = parameters_of(S1, 3), list(S1.architectures("no_loose_ends"))
    sums = dict.fromkeys(networks, 0.0)
    for arch, probability in every_encoding(S1, parameters).items():
        sums[S1.without_loose_ends(arch)] += probability
    assert np.exp(log_probabilities(S1, parameters, networks)) == pytest.approx(list(sums.values()))


def test_the_most_probable_network_is_the_preferred_architecture():
    for seed in range(20):
        parameters = parameters_of(S3, seed)
        first, _ = next(most_probable(S3, parameters))
        assert first == S3.without_loose_ends(S3.discretise(parameters))


def test_a_peaked_distribution_needs_no_more_work_than_a_flat_one(monkeypatch):
    """The output prefers the input and block 1, which gives three networks but 87,480 encodings."""
    parameters = parameters_of(S3, 0, 1e-2)
    parameters["output_edges"][:2] += 3
    looked_at = []
    real = ChoiceBlockSpace.from_picks
    monkeypatch.setattr(ChoiceBlockSpace, "from_picks", lambda space, picks: looked_at.append(1) or real(space, picks))
    found = list(islice(most_probable(S3, parameters), 100))
    assert len({arch.live_blocks for arch, _ in found[:3]}) == 1
    assert len(looked_at) < 200


def test_ties_are_ordered_deterministically():
    flat = {key: np.zeros(shape) for key, shape in S1.mixing_shapes().items()}
    found = [arch for arch, _ in islice(most_probable(S1, flat), 200)]
    assert found == [arch for arch, _ in islice(most_probable(S1, flat), 200)]
    assert found[0] == S1.without_loose_ends(S1.discretise(flat))
    assert len(set(found)) == 200


class Edges(ChoiceBlockSpace):
    """Six choices of one operation each in one matrix, as in NAS-Bench-201's space, but without its cells."""

    operation_key = "edges"

    def __init__(self) -> None:
        super().__init__("edges", "edges-v1", (1, 1, 1, 1, 1, 1))

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"edges": (6, 3)}

    def choices(self) -> tuple[Choice, ...]:
        return tuple(Choice("edges", row, 3, 1) for row in range(6))

    def discretise(self, mixing) -> nb.Architecture:
        operations = tuple(int(row.argmax()) for row in self.checked_mixing(mixing)["edges"])
        return nb.Architecture("edges", tuple((0,) for _ in range(7)), operations)

    def without_loose_ends(self, arch: nb.Architecture) -> nb.Architecture:
        return arch


def test_a_space_without_loose_ends_and_operation_keys_has_all_encodings():
    space = Edges()
    parameters = parameters_of(space, 4)
    found = list(most_probable(space, parameters))
    logs = np.log(np.exp(parameters["edges"]) / np.exp(parameters["edges"]).sum(axis=1, keepdims=True))
    expected = {taken: sum(logs[range(6), taken]) for taken in product(range(3), repeat=6)}
    assert [arch.operations for arch, _ in found] == sorted(expected, key=expected.__getitem__, reverse=True)
    assert [log for _, log in found] == pytest.approx(sorted(expected.values(), reverse=True))


def test_bad_parameters_are_refused_in_one_sentence():
    parameters = parameters_of(S1)
    with refuses(nb.InvalidInputError, "'operations'", "NaN"):
        next(most_probable(S1, {**parameters, "operations": np.full((4, 3), np.nan)}))
    with refuses(nb.InvalidInputError, "'output_edges'", "(2,)"):
        next(most_probable(S1, {**parameters, "output_edges": np.zeros(2)}))
