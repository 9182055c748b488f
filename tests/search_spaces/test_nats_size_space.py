"""NATS-Bench's size space: the conformance suite, and golden numbers of size_space.md."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_space import OneShotSpaceConformance
from nasbench1shot1.search_spaces.nats_size import NATSSizeSpace
from nasbench1shot1.space import Choice, SearchSpace

SPACE = NATSSizeSpace()
LARGEST = nb.WidthArchitecture("nats-size", (64,) * 5)

indices = st.integers(0, 32_767)


class TestConformance(OneShotSpaceConformance):
    @pytest.fixture
    def space(self) -> SearchSpace:
        return nb.search_space("nats-size")


def test_all_architectures_are_distinct_networks() -> None:
    assert isinstance(nb.search_space("nats-size-v1"), NATSSizeSpace)
    assert {kind: SPACE.count(kind) for kind in SPACE.kinds} == {"all": 32_768, "unique": 32_768}
    assert SPACE[32_767] == LARGEST
    assert SPACE[1] == nb.Architecture.parse("8:8:8:8:16")  # the last width changes fastest
    assert SPACE[4096] == nb.Architecture.parse("16:8:8:8:8")


@given(indices)
def test_index_text_and_configuration_are_inverse(index: int) -> None:
    arch = SPACE[index]
    assert SPACE.index(arch) == index
    assert nb.WidthArchitecture(arch.space, arch.widths) == arch == nb.Architecture.parse(str(arch))
    assert SPACE.from_configuration(SPACE.to_configuration(arch)) == arch
    assert SPACE.discretise(SPACE.one_hot(arch)) == arch


@given(indices)
def test_neighbours_differ_in_one_width(index: int) -> None:
    arch = SPACE[index]
    neighbours = SPACE.neighbours(arch)
    differing = [[k for k in range(5) if other.widths[k] != arch.widths[k]] for other in neighbours]
    assert differing == [[layer] for layer in range(5) for _ in range(7)]
    assert len(set(neighbours)) == 35


def test_one_in_eight_published_children_equals_its_parent() -> None:
    rng = np.random.default_rng(0)
    unchanged = sum(SPACE.published_mutate(LARGEST, rng) == LARGEST for _ in range(8000))
    assert abs(unchanged - 1000) < 120  # four standard deviations


def test_every_layer_has_eight_widths() -> None:
    assert SPACE.mixing_shapes() == {"widths": (5, 8)}
    assert SPACE.choices() == tuple(Choice("widths", layer, 8, 1) for layer in range(5))
    SPACE.check_operations((0, 7, 3, 1, 5))
    with pytest.raises(nb.InvalidInputError, match=r"5 numbers from 0 to 7"):
        SPACE.check_operations((0, 8, 3, 1, 5))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_discretise_takes_the_best_width_and_breaks_ties_by_the_narrowest(dtype: torch.dtype) -> None:
    values = np.zeros((5, 8))
    values[1, 7], values[2, [3, 5]], values[3], values[4, 4] = 1, 2, -np.arange(8), 0.5
    arch = SPACE.discretise({"widths": torch.tensor(values, dtype=dtype).requires_grad_()})
    assert arch == nb.Architecture.parse("8:64:32:8:40") == SPACE.discretise({"widths": values})
    assert {type(width) for width in arch.widths} == {int}


def test_configurations_are_ordinals_with_the_names_of_the_published_bohb() -> None:
    from ConfigSpace import OrdinalHyperparameter

    configurations = SPACE.configuration_space()
    assert list(configurations) == ["layer-0", "layer-1", "layer-2", "layer-3", "layer-4"]
    for hyperparameter in configurations.values():
        assert isinstance(hyperparameter, OrdinalHyperparameter)
        assert hyperparameter.sequence == (8, 16, 24, 32, 40, 48, 56, 64)
    widths = dict(SPACE.to_configuration(SPACE[284]))
    assert widths == {"layer-0": 8, "layer-1": 8, "layer-2": 40, "layer-3": 32, "layer-4": 40}


@pytest.mark.parametrize(
    "call, values",
    [
        (lambda: SPACE.index(nb.search_space("s1")[0]), "nats-size nats-size:64:48:32:16:8"),
        (lambda: SPACE.neighbours(nb.WidthArchitecture("other", (8,) * 5)), "'other:8:8:8:8:8' nats-size"),
        (lambda: nb.search_space("nb201").index(LARGEST), "'nats-size:64:64:64:64:64' nb201"),
        (lambda: SPACE.index("64:64:64:64:64"), "Architecture.parse"),  # type: ignore[arg-type]
        (lambda: SPACE.numbers("uniqe"), "uniqe unique"),
        (lambda: SPACE.count("unique", "paper"), "'unique' 'paper'"),
        (lambda: SPACE.from_configuration({}), "layer-0 8, 16, 24,"),
        (lambda: SPACE.from_configuration(dict(SPACE.to_configuration(LARGEST)) | {"layer-4": 9}), "layer-4 '9'"),
        (lambda: SPACE.discretise({"widths": np.zeros((8, 5))}), "(8, 5) nats-size (5, 8)"),
        (lambda: SPACE.discretise({"operations": np.zeros((5, 8))}), "widths operations"),
    ],
)
def test_mismatched_arguments_are_reported_in_one_sentence(call: Any, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        call()


@pytest.mark.parametrize("outside", [-1, 32_768])
def test_an_index_out_of_range_raises_index_error(outside: int) -> None:
    with pytest.raises(IndexError, match=r"nats-size.*architectures 0.*\b32767\b"):
        SPACE[outside]
