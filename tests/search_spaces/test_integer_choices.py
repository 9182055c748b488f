"""Choices as integers, and mutation without listing neighbours, compared with plain definitions."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import chisquare

import nasbench1shot1 as nb
from nasbench1shot1.configurable import Configurable
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.nasbench101 import NASBench101Space

NAMES = ("s1", "s2", "s3", "nb101", "nb101-mini", "nb101-5v", "nb201", "nats-size")
VARIABLES = {
    "s1": (3, 1, 3, 1, 3, 3, 3, 6, 10),
    "s2": (3, 1, 3, 2, 3, 3, 3, 6, 10),
    "s3": (3, 1, 3, 2, 3, 3, 3, 6, 3, 10, 15),
    "nb101": (3,) * 5 + (2,) * 21,
    "nb101-mini": (3,) * 4 + (2,) * 15,
    "nb101-5v": (3,) * 3 + (2,) * 10,
    "nb201": (5,) * 6,
    "nats-size": (8,) * 5,
}
P_VALUE = 1e-4

Draw = Callable[[np.random.Generator], nb.Architecture]


class Scripted(np.random.Generator):
    """A generator whose `random` returns given numbers."""

    def __init__(self, numbers: Sequence[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self._numbers = iter(numbers)

    def random(self) -> float:  # type: ignore[override]
        return next(self._numbers)


@pytest.fixture(params=NAMES)
def space(request: pytest.FixtureRequest) -> nb.SearchSpace:
    return nb.search_space(request.param)


def drawn(space: nb.SearchSpace, n: int, seed: int = 0) -> list[nb.Architecture]:
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(n)]


# Integers --------------------------------------------------------------------------------------------------------


def test_integers_agree_with_the_configspace_default(space: nb.SearchSpace) -> None:
    assert space.variables() == Configurable.variables(space) == VARIABLES[space.name]
    for arch in drawn(space, 5):
        values = space.values_of(arch)
        assert values == Configurable.values_of(space, arch)
        assert space.from_values(values) == Configurable.from_values(space, values) == arch
        assert space.from_values(np.array(values)) == arch  # type: ignore[arg-type]
        assert hash(space.from_values(np.array(values))) == hash(arch)  # type: ignore[arg-type]


def test_integers_identify_every_architecture() -> None:
    for space in (ChoiceBlockSpace("t", "t-v1", (1, 1, 2)), NASBench101Space(n_vertices=4)):
        every = [space[i] for i in range(len(space))]
        values = [space.values_of(arch) for arch in every]
        assert len(set(values)) == len(space)
        assert [space.from_values(of_one) for of_one in values] == every


def test_integers_of_edges_outside_the_space_are_refused_like_architectures() -> None:
    space = nb.search_space("nb101-mini")
    for values, message in (((0,) * 19, "no path leads from its input to its output"), ((1,) * 19, "it has 15 edges")):
        with pytest.raises(nb.InvalidInputError, match=message):
            space.from_values(values)


@pytest.mark.parametrize(
    "values, named",
    [
        ((0,) * 5, "nb201 6 5"),
        ((0, 0, 5, 0, 0, 0), "2 nb201 5 0 4"),
        ((0, 0, 0, 0, 0, -1), "5 nb201 -1 0 4"),
        ((0, 0, 0, 0, 0, 1.0), "6 integers 1.0"),
        (3, "6 integers 3"),
        ((), "choices 6 0"),
    ],
)
def test_invalid_integers_are_refused_in_one_sentence(values: Any, named: str) -> None:
    for convert in (nb.search_space("nb201").from_values, lambda of: default_from_values("nb201", of)):
        with refuses(nb.InvalidInputError, *named.split()):
            convert(values)


def default_from_values(name: str, values: Any) -> nb.Architecture:
    return Configurable.from_values(nb.search_space(name), values)


class NumberedSpace(ChoiceBlockSpace):
    """A third-party space with a hyperparameter of another kind."""

    variables, values_of, from_values = Configurable.variables, Configurable.values_of, Configurable.from_values

    def configuration_space(self) -> Any:
        from ConfigSpace import Integer

        configurations = super().configuration_space()
        configurations.add(Integer("width", (1, 9)))
        return configurations


class ConditionalSpace(NumberedSpace):
    def configuration_space(self) -> Any:
        from ConfigSpace import EqualsCondition

        configurations = ChoiceBlockSpace.configuration_space(self)
        child, parent = configurations["choice_block_2_op"], configurations["choice_block_1_op"]
        configurations.add(EqualsCondition(child, parent, "maxpool3x3"))
        return configurations


@pytest.mark.parametrize("kind, key", [(NumberedSpace, "width"), (ConditionalSpace, "choice_block_2_op")])
def test_a_space_of_other_hyperparameters_must_override_the_default(kind: Any, key: str) -> None:
    message = f"'{key}' of t is conditional or not categorical.*override variables, values_of and from_values"
    with pytest.raises(nb.InvalidInputError, match=message):
        kind("t", "t-v1", (1, 1, 2)).variables()


# Mutation --------------------------------------------------------------------------------------------------------


def test_a_mutation_is_selected_by_the_index_of_the_neighbour(space: nb.SearchSpace) -> None:
    """Every neighbour has an equal interval; numbers of invalid encodings are redrawn."""
    for arch in drawn(space, 3):
        neighbours = space.neighbours(arch)
        n_moves = {"nb101": 31, "nb101-mini": 23, "nb101-5v": 16}.get(space.name, len(neighbours))
        found = [space.mutate(arch, Scripted([(i + at) / n_moves, 0.0])) for i in range(n_moves) for at in (0.01, 0.99)]
        if n_moves == len(neighbours):
            assert found == [neighbour for neighbour in neighbours for _ in range(2)]
        redrawn = 2 * (n_moves - len(neighbours))
        assert Counter(found) == Counter({n: 2 + redrawn * (n == neighbours[0]) for n in neighbours})


def chi_square_pvalue(draw: Draw, expected: dict[nb.Architecture, float], n: int) -> float:
    """Chi-squared test of n draws against their probabilities; any other draw fails."""
    rng = np.random.default_rng(11)
    found = Counter(draw(rng) for _ in range(n))
    assert set(found) <= set(expected)
    assert sum(expected.values()) == pytest.approx(1)
    return float(chisquare([found[arch] for arch in expected], [p * n for p in expected.values()]).pvalue)


def test_mutations_are_uniform_among_neighbours(space: nb.SearchSpace) -> None:
    for arch in drawn(space, 2):
        neighbours = space.neighbours(arch)
        uniform = {neighbour: 1 / len(neighbours) for neighbour in neighbours}
        assert chi_square_pvalue(lambda rng, arch=arch: space.mutate(arch, rng), uniform, 4000) > P_VALUE  # type: ignore[misc]


def choice_block_children(space: Any, arch: Any) -> Counter[nb.Architecture]:
    """Probabilities of NAS-Bench-1Shot1's children, from the definition in `published_mutate`."""
    children: Counter[Any] = Counter({arch: 1 / 3})
    movable = [node for node, k in enumerate(space.n_parents, start=1) if k < node]
    for node in movable:
        parents = arch.parents[node - 1]
        others = [new for new in range(node) if new not in parents]
        for old in parents:
            for new in others:
                changed = list(arch.parents)
                changed[node - 1] = tuple(sorted({*parents, new} - {old}))
                child = nb.Architecture(arch.space, tuple(changed), arch.operations)
                children[child] += 1 / 3 / len(movable) / len(parents) / len(others)
    for block, now in enumerate(arch.operations):
        for op in {0, 1, 2} - {now}:
            operations = (*arch.operations[:block], op, *arch.operations[block + 1 :])
            children[nb.Architecture(arch.space, arch.parents, operations)] += 1 / 3 / space.n_blocks / 2
    return children


def edge_children(space: Any, arch: Any) -> dict[nb.Architecture, float]:
    """Probabilities of NAS-Bench-101's children: a choice, then another value, again until the encoding is valid."""
    children: dict[nb.Architecture, float] = {}
    values = space.values_of(arch)
    for place, size in enumerate(space.variables()):
        for value in set(range(size)) - {values[place]}:
            try:
                child = space.from_values((*values[:place], value, *values[place + 1 :]))
            except nb.InvalidInputError:
                continue
            children[child] = 1 / (size - 1)
    total = sum(children.values())
    return {child: weight / total for child, weight in children.items()}


def operation_children(space: Any, arch: Any) -> dict[nb.Architecture, float]:
    """Probabilities of NAS-Bench-201's children: a node, one of its edges, another operation."""
    children = {}
    for edge, node in enumerate((1, 2, 2, 3, 3, 3)):
        for op in set(range(5)) - {arch.operations[edge]}:
            operations = (*arch.operations[:edge], op, *arch.operations[edge + 1 :])
            children[nb.EdgeArchitecture("nb201", operations)] = 1 / 3 / node / 4
    return children


def width_children(space: Any, arch: Any) -> dict[nb.Architecture, float]:
    """Probabilities of the size space's children: a layer, then any of the eight widths."""
    children: dict[nb.Architecture, float] = {arch: 1 / 8}
    for layer, now in enumerate(arch.widths):
        for width in {8, 16, 24, 32, 40, 48, 56, 64} - {now}:
            widths = (*arch.widths[:layer], width, *arch.widths[layer + 1 :])
            children[nb.WidthArchitecture("nats-size", widths)] = 1 / 5 / 8
    return children


def test_published_mutations_have_the_published_distribution(space: nb.SearchSpace) -> None:
    definition: Any = {
        "nb201": operation_children,
        "nb101": edge_children,
        "nb101-mini": edge_children,
        "nb101-5v": edge_children,
        "nats-size": width_children,
    }
    for arch in drawn(space, 2, seed=1):
        expected = dict(definition.get(space.name, choice_block_children)(space, arch))
        assert chi_square_pvalue(lambda rng, arch=arch: space.published_mutate(arch, rng), expected, 4000) > P_VALUE  # type: ignore[misc]


def test_a_space_without_a_choice_of_parents_mutates_operations_only() -> None:
    space, rng = ChoiceBlockSpace("t", "t-v1", (1, 2, 3)), np.random.default_rng(0)
    children = Counter(space.published_mutate(space[0], rng) for _ in range(3000))
    assert children[space[0]] == pytest.approx(2000, abs=100)
    assert {child.parents for child in children} == {space[0].parents}  # type: ignore[attr-defined]


def test_the_default_published_mutation_is_mutate() -> None:
    space = ChoiceBlockSpace("t", "t-v1", (1, 1, 2))
    of_base = [nb.SearchSpace.published_mutate(space, space[3], np.random.default_rng(seed)) for seed in range(20)]
    assert of_base == [space.mutate(space[3], np.random.default_rng(seed)) for seed in range(20)]


def test_nothing_changes_with_probability_zero_and_every_choice_with_one() -> None:
    for space in (nb.search_space("s1"), nb.search_space("nb201"), nb.search_space("nats-size")):
        rng, arch = np.random.default_rng(0), space[3]
        assert all(space.mutate_each(arch, 0, rng) == arch for _ in range(5))
        child = space.mutate_each(arch, 1, rng)
        assert child is not None
        pairs = zip(space.values_of(arch), space.values_of(child), space.variables(), strict=True)
        assert all((before != after) == (size > 1) for before, after, size in pairs)


@pytest.mark.parametrize("method", ["mutate", "published_mutate"])
def test_architectures_of_other_spaces_are_refused_by_mutate(space: nb.SearchSpace, method: str) -> None:
    other = nb.search_space("nb201" if space.name != "nb201" else "s1")
    with pytest.raises(nb.InvalidInputError, match=rf"\b{space.name}"):
        getattr(space, method)(other[0], np.random.default_rng(0))
