"""NAS-Bench-201's topology space: the conformance suite, golden counts (papers.md 3.1), the complete data."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_space import OneShotSpaceConformance
from nasbench1shot1.search_spaces.nasbench201 import NASBench201Space
from nasbench1shot1.space import Choice, SearchSpace

SPACE = NASBench201Space()
ALL_SKIP = nb.EdgeArchitecture("nb201", (1,) * 6)

indices = st.integers(0, 15_624)


class TestConformance(OneShotSpaceConformance):
    @pytest.fixture
    def space(self) -> SearchSpace:
        return nb.search_space("nb201")


# Numbers and counts ----------------------------------------------------------------------------------------------


def test_golden_counts() -> None:
    assert isinstance(nb.search_space("nb201-v1"), NASBench201Space)
    assert {kind: SPACE.count(kind) for kind in SPACE.kinds} == {
        "all": 15_625,
        "unique_skip_connect": 12_751,
        "unique": 6_466,
    }
    assert np.isin(SPACE.numbers("unique"), SPACE.numbers("unique_skip_connect")).sum() == 6_453


def test_indices_are_the_official_ones(shared: Path) -> None:
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        official, classes, accuracy = data["ops"], data["iso_class"], data["c10_test_e200"]
    assert [SPACE[i].operations for i in SPACE.numbers("all")] == [tuple(row) for row in official.tolist()]
    assert np.array_equal(SPACE.numbers("unique"), np.sort(np.unique(classes, return_index=True)[1]))
    assert int(np.nanargmax(accuracy)) == 6111
    assert accuracy[SPACE.index(ALL_SKIP)] < np.median(accuracy)


def test_known_architectures_have_their_official_index() -> None:
    """The first, the best on CIFAR-10, the last, and the all-skip cell to which DARTS collapses (papers.md)."""
    best = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"
    first = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|"
    assert SPACE.index(nb.Architecture.parse(best)) == 6111
    assert SPACE[0] == nb.Architecture.parse(first)
    assert SPACE[SPACE.index(ALL_SKIP)] == ALL_SKIP
    assert ALL_SKIP.official == (
        "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"
    )


@given(indices)
def test_index_text_and_configuration_are_inverse(index: int) -> None:
    arch = SPACE[index]
    assert SPACE.index(arch) == index
    assert nb.EdgeArchitecture(arch.space, arch.operations) == arch == nb.Architecture.parse(str(arch))
    assert SPACE.from_configuration(SPACE.to_configuration(arch)) == arch
    assert SPACE.discretise(SPACE.one_hot(arch)) == arch


@pytest.mark.parametrize("kind", ["unique_skip_connect", "unique"])
def test_indices_of_a_kind_are_read_only(kind: str) -> None:
    numbers = SPACE.numbers(kind)
    assert isinstance(numbers, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 0


# Sampling and neighbours -----------------------------------------------------------------------------------------


@given(indices)
def test_neighbours_differ_in_one_operation(index: int) -> None:
    arch = SPACE[index]
    neighbours = SPACE.neighbours(arch)
    differing = [[edge for edge in range(6) if other.operations[edge] != arch.operations[edge]] for other in neighbours]
    assert differing == [[edge] for edge in range(6) for _ in range(4)]
    assert len(set(neighbours)) == 24


def test_mutation_is_uniform_over_the_neighbours() -> None:
    from scipy.stats import chisquare

    rng = np.random.default_rng(0)
    drawn = Counter(SPACE.mutate(ALL_SKIP, rng) for _ in range(4800))
    assert chisquare([drawn[neighbour] for neighbour in SPACE.neighbours(ALL_SKIP)]).pvalue > 0.001


def test_no_architecture_has_loose_ends() -> None:
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(50):
        arch = SPACE.sample(first, loose_ends=False)
        assert arch == SPACE.sample(second, loose_ends=True) == SPACE.without_loose_ends(arch)


# Mixing weights and configurations -------------------------------------------------------------------------------


def test_every_edge_has_five_operations() -> None:
    assert SPACE.mixing_shapes() == {"operations": (6, 5)}
    assert SPACE.choices() == tuple(Choice("operations", edge, 5, 1) for edge in range(6))


@pytest.fixture
def mixing() -> dict[str, NDArray[np.float64]]:
    """Expected: operations 3, 0, 1, 4, 2, 0."""
    rows = [
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0],
        [-1, 0.5, 0.5, 0, 0],
        [0, 0, 0, 0, 9],
        [1, 1, 2, 1, 1],
        [-1, -2, -3, -4, -5],
    ]
    return {"operations": np.array(rows, np.float64)}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_discretise_takes_the_best_operation_and_breaks_ties_by_index(
    mixing: dict[str, NDArray[np.float64]], dtype: torch.dtype
) -> None:
    tensors = {key: torch.tensor(value, dtype=dtype).requires_grad_() for key, value in mixing.items()}
    for given_mixing in (mixing, tensors):
        arch = SPACE.discretise(given_mixing)
        assert arch == nb.EdgeArchitecture("nb201", (3, 0, 1, 4, 2, 0))
        assert {type(operation) for operation in arch.operations} == {int}


def test_configurations_match_the_published_bohb() -> None:
    """get_topology_config_space in exps/NATS-algos/bohb.py of AutoDL-Projects."""
    operations = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    configurations = SPACE.configuration_space()
    assert list(configurations) == ["1<-0", "2<-0", "2<-1", "3<-0", "3<-1", "3<-2"]
    assert {hyperparameter.choices for hyperparameter in configurations.values()} == {operations}
    best = SPACE.to_configuration(SPACE[6111])
    assert dict(best) == {
        "1<-0": "nor_conv_3x3",
        "2<-0": "nor_conv_3x3",
        "2<-1": "nor_conv_3x3",
        "3<-0": "skip_connect",
        "3<-1": "nor_conv_3x3",
        "3<-2": "nor_conv_1x1",
    }


# Refused input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, values",
    [
        (lambda: SPACE.index(nb.search_space("s1")[0]), "nb201 nb201:|operation~source|+…"),
        (lambda: SPACE.index(nb.Architecture("nb201", ((0,), (0,)), (0,))), "'nb201:0|0:conv3x3' nb201"),
        (lambda: SPACE.neighbours(nb.EdgeArchitecture("other", (0,) * 6)), "'other:|none~0|+|none~0|none~1|+|none~0"),
        (lambda: nb.search_space("s1").index(ALL_SKIP), "s1 4 1, 2, 2, 2, 2"),
        (lambda: nb.search_space("nb101").index(ALL_SKIP), "nb101 5"),
        (lambda: SPACE.index(ALL_SKIP.official), "Architecture.parse"),  # type: ignore[arg-type]
        (lambda: SPACE.index(6111), "6111"),  # type: ignore[arg-type]
        (lambda: SPACE.count("loose_ends"), "'loose_ends'"),
        (lambda: SPACE.numbers("uniqe"), "uniqe unique"),
        (lambda: SPACE.count("unique", "paper"), "'unique' 'paper'"),
        (lambda: SPACE.from_configuration({}), "1<-0 none skip_connect, nor_conv_1x1,"),
        (
            lambda: SPACE.from_configuration(dict(SPACE.to_configuration(ALL_SKIP)) | {"3<-2": "avg_pool"}),
            "3<-2 'avg_pool' 'avg_pool_3x3'",
        ),
        (lambda: SPACE.discretise({"operations": np.zeros((5, 6))}), "(5, 6) nb201 (6, 5)"),
        (lambda: SPACE.discretise({"operations": np.full((6, 5), np.nan)}), "'operations' NaN"),
    ],
)
def test_mismatched_arguments_are_reported_in_one_sentence(call: Any, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        call()


@pytest.mark.parametrize("outside", [-1, 15_625])
def test_an_index_out_of_range_raises_index_error(outside: int) -> None:
    with pytest.raises(IndexError, match=r"nb201.*architectures 0.*\b15624\b"):
        SPACE[outside]
