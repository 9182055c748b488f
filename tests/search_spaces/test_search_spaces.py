"""The three choice-block spaces: the conformance suite, golden counts (papers.md N1-N7), discretisation, sampling."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.conformance.search_space import (
    CellSpaceConformance,
    OneShotSpaceConformance,
    SearchSpaceConformance,
)
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.registry import BUILT_IN, optimizer
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.wirings import live_blocks
from nasbench1shot1.space import SearchSpace

NAMES = ("s1", "s2", "s3")
GOLDEN = {
    #                      s1       s2       s3
    "wirings": (180, 360, 5400),
    "loose-end-free wirings": (66, 190, 876),
    ("loose_ends", None): (14580, 29160, 1312200),
    ("loose_ends", "encodings"): (14580, 29160, 1312200),
    ("loose_ends", "read-blocks"): (6240, 16632, 363648),
    ("loose_ends", "paper"): (6240, 29160, 363648),
    ("no_loose_ends", None): (3702, 12474, 135900),
    ("no_loose_ends", "paper"): (3702, 12510, 137406),
    ("unique", None): (2685, 7773, 55854),
    ("unique", "paper"): (2685, 7773, 55854),
}


def choice_block_space(name: str) -> ChoiceBlockSpace:
    space = nb.search_space(name)
    assert isinstance(space, ChoiceBlockSpace)
    return space


class TestConformance(OneShotSpaceConformance, CellSpaceConformance):
    @pytest.fixture(params=NAMES)
    def space(self, request: pytest.FixtureRequest) -> SearchSpace:
        return nb.search_space(request.param)


class BiasedSpace(ChoiceBlockSpace):
    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> Architecture:
        return min(super().sample(rng, loose_ends), super().sample(rng, loose_ends), key=self.index)


class FavouringSpace(ChoiceBlockSpace):
    def sample_distinct(self, rng: np.random.Generator) -> Architecture:
        hash_ = self.sample(rng).cell.hash
        return next(arch for arch in self.architectures("unique") if arch.cell.hash == hash_)


class RefusingSpace(ChoiceBlockSpace):
    def from_configuration(self, configuration: Any) -> Architecture:
        if configuration["choice_block_1_op"] == "maxpool3x3":
            raise InvalidInputError("this one is refused")
        return super().from_configuration(configuration)


class AsymmetricNeighbours(ChoiceBlockSpace):
    def neighbours(self, arch: Architecture) -> list[Architecture]:
        return [other for other in super().neighbours(arch) if self.index(other) > self.index(arch)] or [self[1]]


class KeepingSpace(ChoiceBlockSpace):
    def without_loose_ends(self, arch: Architecture) -> CellArchitecture:
        assert isinstance(arch, CellArchitecture)
        return arch


class TestTheSuiteDetectsFaults:
    def test_loose_ends_that_are_kept(self) -> None:
        space = KeepingSpace("b", "b-v1", (1, 2, 2))
        with pytest.raises(AssertionError):
            SearchSpaceConformance().test_form_without_loose_ends_has_same_network(space, list(space))

    def test_a_biased_sampler(self) -> None:
        space = BiasedSpace("b", "b-v1", (1, 2, 2))
        with pytest.raises(AssertionError):
            SearchSpaceConformance().test_samples_are_uniform(space, loose_ends=True)

    def test_a_sampler_that_favours_cells_with_many_architectures(self) -> None:
        space = FavouringSpace("b", "b-v1", (1, 2, 2))
        with pytest.raises(AssertionError):
            SearchSpaceConformance().test_distinct_samples_are_uniform_over_distinct_cells(space)

    def test_valid_configurations_that_are_refused(self) -> None:
        space = RefusingSpace("b", "b-v1", (1, 2, 2))
        with pytest.raises(AssertionError):
            SearchSpaceConformance().test_expected_fraction_of_random_configurations_is_valid(space)

    def test_asymmetric_neighbours(self) -> None:
        space = AsymmetricNeighbours("b", "b-v1", (1, 2, 2))
        with pytest.raises(AssertionError):
            SearchSpaceConformance().test_neighbours_are_distinct_and_symmetric(space, list(space))


@pytest.mark.parametrize("name", ["my space", "", "a:b", 3])
def test_names_of_spaces_can_be_parsed(name: Any) -> None:
    with refuses(InvalidInputError, repr(name)):
        ChoiceBlockSpace(name, "m-v1", (1, 1, 2))


# Counts ----------------------------------------------------------------------------------------------------------


def test_parents_per_node_sum_to_nine() -> None:
    assert [choice_block_space(name).n_parents for name in NAMES] == [
        (1, 2, 2, 2, 2),
        (1, 1, 2, 2, 3),
        (1, 1, 1, 2, 2, 2),
    ]
    assert {sum(choice_block_space(name).n_parents) for name in NAMES} == {9}


@pytest.mark.parametrize("column, name", list(enumerate(NAMES)))
def test_golden_counts(column: int, name: str) -> None:
    space = choice_block_space(name)
    found: dict[object, int] = {
        "wirings": len(space.wirings),
        "loose-end-free wirings": len(space.loose_end_free_wirings),
    }
    found |= {key: space.count(*key) for key in GOLDEN if isinstance(key, tuple)}
    assert found == {key: values[column] for key, values in GOLDEN.items()}
    assert {kind: space.count(kind, "paper") for kind in space.kinds} == space.paper_counts


@pytest.mark.parametrize("name", ["s1", "s2"])
def test_without_loose_ends_there_is_one_architecture_per_live_part(name: str) -> None:
    space = choice_block_space(name)
    live_parts = {live_part(arch) for arch in space.architectures("loose_ends")}
    chosen = [live_part(arch) for arch in space.architectures("no_loose_ends")]
    assert len(chosen) == len(set(chosen))
    assert set(chosen) == live_parts


def live_part(arch: Architecture) -> tuple[object, ...]:
    kept = (*live_blocks(arch.parents), len(arch.parents))
    return tuple((node, arch.parents[node - 1], arch.operations[node - 1 : node]) for node in kept)


def test_live_blocks_agree_with_a_forward_search() -> None:
    def reaches_output(wiring: tuple[tuple[int, ...], ...], node: int) -> bool:
        children = [child for child, parents in enumerate(wiring, start=1) if node in parents]
        return node == len(wiring) or any(reaches_output(wiring, child) for child in children)

    for wiring in choice_block_space("s3").wirings[::7]:
        assert live_blocks(wiring) == tuple(b for b in range(1, len(wiring)) if reaches_output(wiring, b))


def test_indices_enumerate_wirings_then_operations_with_the_last_block_fastest() -> None:
    space = nb.search_space("s1")
    assert str(space[0]) == "s1:0|0,1|0,1|0,1|0,1:conv3x3,conv3x3,conv3x3,conv3x3"
    assert str(space[1]) == "s1:0|0,1|0,1|0,1|0,1:conv3x3,conv3x3,conv3x3,conv1x1"
    assert str(space[81]) == "s1:0|0,1|0,1|0,1|0,2:conv3x3,conv3x3,conv3x3,conv3x3"
    assert str(space[14579]) == "s1:0|0,1|1,2|2,3|3,4:maxpool3x3,maxpool3x3,maxpool3x3,maxpool3x3"


def test_the_architecture_missed_by_the_published_enumeration_is_included() -> None:
    """original.md 0.1: 1 <- {0}, 2 <- {0, 1}, 3 <- {0, 1}, output <- {2, 3}."""
    missed = ((0,), (0, 1), (0, 1), (0, 1), (2, 3))
    assert missed in {arch.parents for arch in nb.search_space("s1").architectures("no_loose_ends")}


# Refused input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arch",
    [
        Architecture("s2", ((0,), (0, 1), (0, 1), (0, 1), (0, 1)), (0, 0, 0, 0)),
        Architecture("s1", ((0,), (0,), (0, 1), (0, 1), (0, 1)), (0, 0, 0, 0)),
        Architecture("s1", ((0,), (0, 1), (0, 1), (0, 1)), (0, 0, 0)),
    ],
)
def test_architectures_outside_the_space_are_refused(arch: Architecture) -> None:
    space = nb.search_space("s1")
    for call in (space.index, space.one_hot, space.neighbours, space.to_configuration):
        with pytest.raises(InvalidInputError, match="s1") as caught:
            call(arch)
        assert f"'{arch}'" in str(caught.value)


@pytest.mark.parametrize("wrong", [1.5, "1", None, slice(2)])
def test_a_non_integer_index_is_refused_as_by_a_list(wrong: Any) -> None:
    with pytest.raises(TypeError, match="integer"):
        nb.search_space("s1")[wrong]
    assert nb.search_space("s1")[np.int64(1)] == nb.search_space("s1")[1]


@pytest.mark.parametrize("wrong", ["s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3", 7, None])
def test_anything_but_an_architecture_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="Architecture"):
        nb.search_space("s1").index(wrong)


@pytest.mark.parametrize(
    "n_parents",
    [
        *[(2, 1), (1, 0, 1), (1,), (1, 1, 1, 1, 1, 1, 1), (1, 2, 3, 4)],
        *[(1.0, 1, 2), ("1", 1, 2), (True, 1, 2), "112", None, 5, np.ones((2, 2), int)],
    ],
)
def test_spaces_outside_nasbench101_are_refused(n_parents: Any) -> None:
    with refuses(InvalidInputError, "n_parents"):
        ChoiceBlockSpace("x", "x-v1", n_parents)


def test_numbers_of_parents_become_python_integers() -> None:
    for n_parents in ([1, 1, 2], np.array([1, 1, 2])):
        space = ChoiceBlockSpace("x", "x-v1", n_parents)  # type: ignore[arg-type]
        assert space.definition == "(1, 1, 2)"
        assert space.count("unique") == ChoiceBlockSpace("x", "x-v1", (1, 1, 2)).count("unique")


@pytest.mark.parametrize("id", ["../../x-v1", "x/v1", ".x", "..", "", None])
def test_ids_that_cannot_be_the_name_of_a_file_are_refused(id: Any) -> None:
    with refuses(InvalidInputError, repr(id), "id"):
        ChoiceBlockSpace("x", id, (1, 1, 2))
    assert ChoiceBlockSpace("x", "x-v1.2", (1, 1, 2)).id == "x-v1.2"


@pytest.mark.parametrize(
    "call, values",
    [
        (lambda: nb.search_space("s4"), "s4 s3"),
        (lambda: nb.search_space("nb101-s1-v9"), "nb101-s1-v9"),
        (lambda: nb.search_space(None), "None"),
        (lambda: nb.search_space(["s1"]), "['s1']"),
        (lambda: optimizer(None), "optimizer None"),
        (lambda: nb.search_space("s1").count(None), "None"),
        (lambda: nb.search_space("s1").count("unique", ["paper"]), "'unique' ['paper']"),
        (lambda: nb.search_space("s1").count("uniqe"), "uniqe unique"),
        (lambda: nb.search_space("s1").count("loose_ends", "encoding"), "encoding encodings"),
        (lambda: nb.search_space("s1").count("unique", "encodings"), "'unique' 'encodings'"),
        (lambda: nb.search_space("s1").architectures("no_lose_ends"), "no_lose_ends no_loose_ends"),
        (lambda: nb.search_space("s1").from_configuration({}), "choice_block_1_op conv3x3-bn-relu"),
    ],
)
def test_unknown_names_suggest_the_closest(call: object, values: str) -> None:
    assert callable(call)
    with refuses(InvalidInputError, *values.split()):
        call()


@pytest.mark.parametrize("name", BUILT_IN["search_spaces"])
def test_a_configuration_with_an_unknown_parameter_is_refused(name: str) -> None:
    space = nb.search_space(name)
    for encoding in {"": space, **space.named_encodings}.values():
        configuration = dict(encoding.configuration_space().get_default_configuration())
        with refuses(InvalidInputError, name, "'layer_9'"):
            encoding.from_configuration({**configuration, "layer_9": 0})


def test_a_larger_cell_is_not_read_as_a_smaller_one() -> None:
    arch = nb.Architecture.parse("nb101:0|1|2|3|4|5:conv3x3,conv3x3,conv1x1,conv3x3,maxpool3x3")
    configuration = nb.search_space("nb101").to_configuration(arch)
    with refuses(InvalidInputError, "nb101-mini", "'choice_block_5_op'"):
        nb.search_space("nb101-mini").from_configuration(configuration)


def test_a_space_is_found_by_its_versioned_id() -> None:
    assert nb.search_space("nb101-s2-v1") is nb.search_space("s2")


# Mixing weights --------------------------------------------------------------------------------------------------


def test_mixing_keys_are_the_nodes_with_a_choice() -> None:
    assert [nb.search_space(name).mixing_shapes() for name in NAMES] == [
        {"input_edges/3": (3,), "input_edges/4": (4,), "operations": (4, 3), "output_edges": (5,)},
        {"input_edges/2": (2,), "input_edges/3": (3,), "input_edges/4": (4,)}
        | {"operations": (4, 3), "output_edges": (5,)},
        {f"input_edges/{node}": (node,) for node in (2, 3, 4, 5)} | {"operations": (5, 3), "output_edges": (6,)},
    ]


@pytest.fixture
def s1_mixing() -> dict[str, NDArray[np.float64]]:
    """Expected for s1: 3 <- 1, 2; 4 <- 0, 3; output <- 3, 4; operations 2, 0, 1, 0."""
    return {
        "input_edges/3": np.array([-1.0, 0.5, 0.25]),
        "input_edges/4": np.array([0.4, 0.1, 0.1, 0.4]),
        "operations": np.array([[0.1, 0.1, 0.8], [0.5, 0.2, 0.3], [0.2, 0.5, 0.3], [1.0, -2.0, 0.0]]),
        "output_edges": np.array([0.0, 0.1, 0.2, 0.3, 0.4]),
    }


S1_PREFERRED = "s1:0|0,1|1,2|0,3|3,4:maxpool3x3,conv3x3,conv1x1,conv3x3"


def test_discretise_takes_the_best_operation_and_the_top_k_parents(s1_mixing: dict[str, NDArray[np.float64]]) -> None:
    assert str(nb.search_space("s1").discretise(s1_mixing)) == S1_PREFERRED


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_discretise_accepts_tensors_of_any_kind(
    s1_mixing: dict[str, NDArray[np.float64]], dtype: torch.dtype, requires_grad: bool
) -> None:
    tensors = {k: torch.tensor(v, dtype=dtype).requires_grad_(requires_grad) for k, v in s1_mixing.items()}
    assert str(nb.search_space("s1").discretise(tensors)) == S1_PREFERRED


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0.0, -0.0, 1 / 3, float("inf"), -float("inf")])
def test_ties_are_broken_by_the_lowest_index(name: str, value: float) -> None:
    space = nb.search_space(name)
    assert space.discretise({key: np.full(shape, value) for key, shape in space.mixing_shapes().items()}) == space[0]


def test_a_tie_for_the_last_parent_is_broken_by_the_lowest_index(s1_mixing: dict[str, NDArray[np.float64]]) -> None:
    s1_mixing["output_edges"] = np.array([0.1, 0.3, 0.3, 0.9, 0.3])
    s1_mixing["operations"][1] = [0.2, 0.4, 0.4]
    arch = nb.search_space("s1").discretise(s1_mixing)
    assert arch.parents[-1] == (1, 3)
    assert arch.operations[1] == 1


@pytest.mark.parametrize("name", NAMES)
def test_discretise_maximises_the_sum_over_all_choices(name: str) -> None:
    space = choice_block_space(name)
    rng = np.random.default_rng(0)
    mixing = {key: rng.normal(size=shape) for key, shape in space.mixing_shapes().items()}
    arch = space.discretise(mixing)
    for node, (k, chosen) in enumerate(zip(space.n_parents, arch.parents, strict=True), start=1):
        key = "output_edges" if node > space.n_blocks else f"input_edges/{node}"
        edges = mixing.get(key, np.zeros(node))
        assert chosen == max(combinations(range(node), k), key=lambda c, edges=edges: edges[list(c)].sum())


@pytest.mark.parametrize(
    "change, values",
    [
        ({"operations": None}, "input_edges/3, input_edges/4, operations, output_edges,"),
        ({"input_edges/2": np.zeros(2)}, "input_edges/2, input_edges/3"),
        ({"operations": np.zeros((3, 4))}, "'operations' (3, 4) s1 (4, 3)"),
        ({"output_edges": np.zeros((7, 5))}, "'output_edges' (7, 5)"),
        ({"output_edges": np.array([0, 0, np.nan, 0, 0])}, "'output_edges' NaN"),
        ({"output_edges": list("abcde")}, "'output_edges' numbers"),
        ({"output_edges": [10**400] * 5}, "'output_edges' numbers"),
        ({"output_edges": [[1], [1, 2]]}, "'output_edges' numbers"),
        ({"output_edges": np.zeros(5, complex)}, "'output_edges' numbers complex128"),
        ({"output_edges": torch.zeros(5, dtype=torch.complex64).conj()}, "'output_edges' numbers complex64"),
        ({"output_edges": np.zeros(5, "datetime64[s]")}, "'output_edges' numbers datetime64"),
    ],
)
def test_invalid_mixing_weights_are_named(
    s1_mixing: dict[str, NDArray[np.float64]], change: dict[str, object], values: str
) -> None:
    mixing = {key: value for key, value in (s1_mixing | change).items() if value is not None}
    with refuses(InvalidInputError, *values.split()):
        nb.search_space("s1").discretise(mixing)


# Sampling and neighbours -----------------------------------------------------------------------------------------


def test_sampling_without_loose_ends_is_uniform_over_every_architecture_of_s1() -> None:
    from scipy.stats import chisquare

    space = choice_block_space("s1")
    rng = np.random.default_rng(0)
    drawn = Counter(space.index(space.sample(rng, loose_ends=False)) for _ in range(37_020))
    observed = [drawn.pop(int(i), 0) for i in space.numbers("no_loose_ends")]
    assert not drawn  # no architecture with loose ends
    assert chisquare(observed).pvalue > 0.001


def test_uniform_sampling_gives_the_known_distribution_of_live_blocks() -> None:
    """original.md B1: the number of active nodes of s1, drawn with loose ends."""
    live = Counter(len(live_blocks(wiring)) for wiring in choice_block_space("s1").wirings)
    assert {n: round(count / 180, 2) for n, count in sorted(live.items())} == {1: 0.10, 2: 0.30, 3: 0.39, 4: 0.21}


@pytest.mark.parametrize("name, expected", [("s1", 8), ("s2", 8), ("s3", 10)])
def test_neighbours_are_operation_changes_then_parent_exchanges(name: str, expected: int) -> None:
    space = choice_block_space(name)
    arch = space.sample(np.random.default_rng(1))
    neighbours = space.neighbours(arch)
    exchanges = sum(k * (node - k) for node, k in enumerate(space.n_parents, start=1))
    assert len(neighbours) == expected + exchanges
    assert all(other.parents == arch.parents for other in neighbours[:expected])
    assert all(other.operations == arch.operations for other in neighbours[expected:])


def test_mutation_is_uniform_over_the_neighbours() -> None:
    from scipy.stats import chisquare

    space = nb.search_space("s1")
    arch, rng = space[4321], np.random.default_rng(0)
    drawn = Counter(space.mutate(arch, rng) for _ in range(5000))
    assert chisquare([drawn[neighbour] for neighbour in space.neighbours(arch)]).pvalue > 0.001


def test_configurations_have_the_documented_keys() -> None:
    arch = Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
    assert dict(nb.search_space("s1").to_configuration(arch)) == {
        "choice_block_1_op": "conv3x3-bn-relu",
        "choice_block_2_op": "conv1x1-bn-relu",
        "choice_block_3_op": "maxpool3x3",
        "choice_block_4_op": "conv3x3-bn-relu",
        "choice_block_1_parents": "0",
        "choice_block_2_parents": "0,1",
        "choice_block_3_parents": "0,2",
        "choice_block_4_parents": "1,3",
        "choice_block_5_parents": "2,4",
    }


def test_iterating_a_small_space_visits_every_architecture_once() -> None:
    space = ChoiceBlockSpace("tiny", "tiny-v1", (1, 1))
    assert [str(arch) for arch in iterate(space)] == [
        f"tiny:0|{parent}:{op}" for parent in (0, 1) for op in ("conv3x3", "conv1x1", "maxpool3x3")
    ]
    # The output may have only the input as parent: one cell without a block, and one per operation.
    assert space.count("no_loose_ends") == space.count("unique") == 4


def iterate(space: SearchSpace) -> Iterator[Architecture]:
    return space.architectures(space.kinds[0])


def test_membership_does_not_walk_through_the_space():
    spaces = [nb.search_space(name) for name in ("s1", "s3", "nb101", "nb101-mini", "nb101-5v", "nb201", "nats-size")]
    for space in spaces:
        arch = space[len(space) - 1]
        assert arch in space and str(arch) not in space and 7 not in space
        others = [other for other in spaces if other is not space and arch in other]
        assert all(other[other.index(arch)] == arch for other in others)
    assert nb.search_space("s1")[0] not in nb.search_space("s3")
