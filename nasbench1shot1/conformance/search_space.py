"""The conformance suites for search spaces."""
# ruff: noqa: D102  a test's name states what it checks

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import categorical_values
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import OneShotSpace, SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import Configuration

N_DRAWN = 100
"""Number of architectures that a test draws, with a fixed seed."""

N_LISTED = 20_000
"""Number of architectures of a kind that are compared with their numbers."""

N_CONFIGURATIONS = 200
"""Number of configurations that a test draws."""

N_BINS, CHI_SQUARE_LIMIT = 20, 50.8
"""Bins and limit of the uniformity tests; a uniform sampler exceeds the limit for 1 seed in 10,000 (19 degrees of
freedom)."""


class SearchSpaceConformance:
    """Tests of a search space. Subclass this class in a test module and provide the fixture `space`."""

    @pytest.fixture
    def space(self) -> SearchSpace:
        """Return the space to be tested."""
        raise NotImplementedError("override the fixture 'space'")

    @pytest.fixture
    def archs(self, space: SearchSpace) -> list[Architecture]:
        """Return architectures spread over the whole space, including the first and the last."""
        rng = np.random.default_rng(0)
        return [space[0], space[len(space) - 1], *(space.sample(rng) for _ in range(N_DRAWN))]

    # Names and numbers -----------------------------------------------------------------------------------------

    def test_name_is_a_word_and_id_is_versioned(self, space: SearchSpace) -> None:
        assert re.fullmatch(r"[\w-]+", space.name)
        assert re.fullmatch(r"[\w-]+-v\d+", space.id)

    def test_copies_are_equal(self, space: SearchSpace, archs: list[Architecture]) -> None:
        assert deepcopy(space) == space and hash(deepcopy(space)) == hash(space)
        assert deepcopy(archs) == archs

    def test_index_and_getitem_are_inverse(self, space: SearchSpace, archs: list[Architecture]) -> None:
        numbers = [0, len(space) - 1, *np.random.default_rng(1).integers(len(space), size=N_DRAWN).tolist()]
        assert [space.index(space[i]) for i in numbers] == numbers
        assert [space[space.index(arch)] for arch in archs] == archs

    def test_out_of_range_numbers_raise_index_error(self, space: SearchSpace) -> None:
        for outside in (-1, len(space)):
            with pytest.raises(IndexError):
                space[outside]

    def test_numbers_must_be_integers(self, space: SearchSpace) -> None:
        assert space[np.int64(1)] == space[1]  # type: ignore[index]
        with pytest.raises(TypeError):
            space[1.5]  # type: ignore[index]

    def test_architectures_are_hashable_and_immutable(self, space: SearchSpace, archs: list[Architecture]) -> None:
        again = [space[space.index(arch)] for arch in archs]
        assert [hash(arch) for arch in again] == [hash(arch) for arch in archs]
        assert len(set(archs)) == len({space.index(arch) for arch in archs})
        with pytest.raises(AttributeError):
            archs[0].space = "another"

    def test_architectures_have_form_of_benchmark(self, space: SearchSpace, archs: list[Architecture]) -> None:
        form = space.benchmark.load("architecture")
        assert all(isinstance(arch, form) and arch.benchmark == space.benchmark for arch in archs)

    def test_text_and_parse_are_inverse(self, archs: list[Architecture]) -> None:
        texts = [str(arch) for arch in archs]
        assert [type(arch).parse(text) for arch, text in zip(archs, texts, strict=True)] == archs
        assert len(set(texts)) == len(set(archs))

    def test_architecture_of_other_space_is_rejected(self, space: SearchSpace, archs: list[Architecture]) -> None:
        _, _, rest = str(archs[0]).partition(":")
        _assert_rejected(space.index, type(archs[0]).parse(f"not-{space.name}:{rest}"))

    # Kinds -----------------------------------------------------------------------------------------------------

    def test_numbers_of_every_kind_ascend_and_match_count(self, space: SearchSpace) -> None:
        assert space.count(space.kinds[0]) == len(space) == len(space.numbers(space.kinds[0]))
        for kind in space.kinds[1:]:
            numbers = np.asarray(space.numbers(kind))
            assert len(numbers) == space.count(kind) <= len(space)
            assert (np.diff(numbers) > 0).all()

    def test_architectures_are_iterated_by_number(self, space: SearchSpace) -> None:
        for kind in space.kinds[1:]:
            numbers = space.numbers(kind)
            listed = [space.index(arch) for arch in islice(space.architectures(kind), N_LISTED)]
            assert listed == list(numbers[:N_LISTED])

    def test_unknown_kinds_and_rules_are_rejected(self, space: SearchSpace) -> None:
        _assert_rejected(space.count, "no-such-kind")
        _assert_rejected(space.architectures, "no-such-kind")
        _assert_rejected(space.numbers, "no-such-kind")
        _assert_rejected(space.count, space.kinds[0], "no-such-rule")

    def test_network_ids_distinguish_unique_networks(self, space: SearchSpace, archs: list[Architecture]) -> None:
        assert [space[space.index(arch)].network_id for arch in archs] == [arch.network_id for arch in archs]
        rng = np.random.default_rng(10)
        distinct = {space.sample_distinct(rng) for _ in range(N_DRAWN)}
        identifiers = {arch.network_id for arch in distinct}
        assert len(identifiers) == len(distinct)
        assert all(isinstance(identifier, str) and identifier for identifier in identifiers)

    def test_form_without_loose_ends_has_same_network(self, space: SearchSpace, archs: list[Architecture]) -> None:
        found = [space.without_loose_ends(arch) for arch in archs]
        assert [arch.network_id for arch in found] == [arch.network_id for arch in archs]
        assert [space.without_loose_ends(arch) for arch in found] == found
        if "no_loose_ends" in space.kinds:
            assert np.isin([space.index(arch) for arch in found], np.asarray(space.numbers("no_loose_ends"))).all()
        else:
            assert found == archs

    # Sampling and mutation -------------------------------------------------------------------------------------

    @pytest.mark.parametrize("loose_ends", [True, False])
    def test_samples_are_reproducible(self, space: SearchSpace, loose_ends: bool) -> None:
        first, second, other = (np.random.default_rng(seed) for seed in (7, 7, 8))
        drawn = [space.sample(first, loose_ends) for _ in range(20)]
        assert drawn == [space.sample(second, loose_ends) for _ in range(20)]
        assert drawn != [space.sample(other, loose_ends) for _ in range(20)]

    @pytest.mark.parametrize("loose_ends", [True, False])
    def test_samples_are_uniform(self, space: SearchSpace, loose_ends: bool) -> None:
        """Uniform over all architectures, or over all without loose ends if the space distinguishes them."""
        rng = np.random.default_rng(2)
        drawn = np.array([space.index(space.sample(rng, loose_ends)) for _ in range(4000)])
        size = len(space)
        if not loose_ends and "no_loose_ends" in space.kinds:
            allowed = np.asarray(space.numbers("no_loose_ends"))
            assert np.isin(drawn, allowed).all()
            drawn, size = np.searchsorted(allowed, drawn), len(allowed)
        assert _chi_square(drawn, size) < CHI_SQUARE_LIMIT

    def test_distinct_samples_are_uniform_over_distinct_cells(self, space: SearchSpace) -> None:
        first, second = np.random.default_rng(9), np.random.default_rng(9)
        distinct = np.asarray(space.numbers("unique"))
        drawn = [space.sample_distinct(first) for _ in range(2000)]
        numbers = np.array([space.index(arch) for arch in drawn])
        assert np.isin(numbers, distinct).all()
        assert _chi_square(np.searchsorted(distinct, numbers), len(distinct)) < CHI_SQUARE_LIMIT
        assert drawn[:20] == [space.sample_distinct(second) for _ in range(20)]

    def test_neighbours_are_distinct_and_symmetric(self, space: SearchSpace, archs: list[Architecture]) -> None:
        for arch in archs[:20]:
            neighbours = space.neighbours(arch)
            assert arch not in neighbours
            assert len(set(neighbours)) == len(neighbours) > 0
            assert all(arch in space.neighbours(neighbour) for neighbour in neighbours)

    def test_mutations_reach_exactly_the_neighbours(self, space: SearchSpace, archs: list[Architecture]) -> None:
        rng = np.random.default_rng(3)
        for arch in archs[:3]:
            neighbours = space.neighbours(arch)
            mutants = [space.mutate(arch, rng) for _ in range(20 * len(neighbours))]
            assert set(mutants) == set(neighbours)

    def test_mutations_are_reproducible(self, space: SearchSpace, archs: list[Architecture]) -> None:
        first, second = np.random.default_rng(4), np.random.default_rng(4)
        assert [space.mutate(arch, first) for arch in archs] == [space.mutate(arch, second) for arch in archs]

    def test_published_mutations_are_in_space(self, space: SearchSpace, archs: list[Architecture]) -> None:
        first, second = np.random.default_rng(11), np.random.default_rng(11)
        children = [space.published_mutate(arch, first) for arch in archs]
        assert children == [space.published_mutate(arch, second) for arch in archs]
        assert [space[space.index(child)] for child in children] == children

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def test_configurations_and_architectures_are_inverse(self, space: SearchSpace, archs: list[Architecture]) -> None:
        assert [space.from_configuration(space.to_configuration(arch)) for arch in archs[:20]] == archs[:20]

    def test_expected_fraction_of_random_configurations_is_valid(self, space: SearchSpace) -> None:
        """The expected fraction is the number of architectures divided by the number of configurations."""
        configurations = space.configuration_space()
        configurations.seed(8)
        share = len(space) / float(configurations.estimate_size())
        assert share <= 1
        fitting = sum(_fits(space, drawn) for drawn in configurations.sample_configuration(N_CONFIGURATIONS))
        assert abs(fitting - share * N_CONFIGURATIONS) <= 4 * np.sqrt(share * (1 - share) * N_CONFIGURATIONS)

    def test_invalid_configurations_are_rejected(self, space: SearchSpace, archs: list[Architecture]) -> None:
        good = dict(space.to_configuration(archs[0]))
        for key in good:
            _assert_rejected(space.from_configuration, {k: v for k, v in good.items() if k != key})
            _assert_rejected(space.from_configuration, good | {key: "no-such-value"})

    # Integers --------------------------------------------------------------------------------------------------

    def test_integers_and_architectures_are_inverse(self, space: SearchSpace, archs: list[Architecture]) -> None:
        values = [space.values_of(arch) for arch in archs]
        assert [space.from_values(of_one) for of_one in values] == archs
        assert len(set(values)) == len(set(archs))
        sizes = space.variables()
        assert all(0 <= v < n for of_one in values for v, n in zip(of_one, sizes, strict=True))

    def test_integers_match_values_of_configurations(self, space: SearchSpace, archs: list[Architecture]) -> None:
        named = categorical_values(space.name, space.configuration_space())
        assert space.variables() == tuple(map(len, named.values()))
        for arch in archs[:20]:
            configuration = space.to_configuration(arch)
            numbered = zip(named.items(), space.values_of(arch), strict=True)
            assert all(configuration[name] == values[number] for (name, values), number in numbered)

    def test_invalid_integers_are_rejected(self, space: SearchSpace, archs: list[Architecture]) -> None:
        good = space.values_of(archs[0])
        _assert_rejected(space.from_values, good[:-1])
        _assert_rejected(space.from_values, (*good, 0))
        for i, size in enumerate(space.variables()):
            for unfit in (-1, size, 0.5, "no-such-value"):
                _assert_rejected(space.from_values, (*good[:i], unfit, *good[i + 1 :]))


class CellSpaceConformance:
    """Additional tests of a space of NAS-Bench-101 cells; use this class as a second base class."""

    def test_cells_are_in_nasbench101(self, archs: list[Any]) -> None:
        assert all(arch.cell.is_valid for arch in archs)
        assert all(re.fullmatch(r"[0-9a-f]{32}", arch.cell.hash) for arch in archs)
        assert [arch.network_id for arch in archs] == [arch.cell.hash for arch in archs]


class OneShotSpaceConformance(SearchSpaceConformance):
    """Tests of a `OneShotSpace`: all tests of a search space, and tests of its relaxation."""

    def test_cell_and_skeleton_of_supernets_are_named(self, space: OneShotSpace) -> None:
        assert space.cell
        assert space.skeleton

    def test_one_hot_has_shapes_of_mixing_weights(self, space: OneShotSpace, archs: list[Architecture]) -> None:
        for arch in archs[:20]:
            weights = space.one_hot(arch)
            assert {key: value.shape for key, value in weights.items()} == space.mixing_shapes()
            assert list(weights) == list(space.mixing_shapes())
            assert all(value.dtype == np.float32 and np.isin(value, (0, 1)).all() for value in weights.values())

    def test_discretise_inverts_one_hot(self, space: OneShotSpace, archs: list[Architecture]) -> None:
        assert [space.discretise(space.one_hot(arch)) for arch in archs] == archs

    def test_architecture_picks_expected_number_of_entries(
        self, space: OneShotSpace, archs: list[Architecture]
    ) -> None:
        shapes, choices = space.mixing_shapes(), space.choices()
        vectors = {(key, row) for key, shape in shapes.items() for row in (range(shape[0]) if shape[1:] else [None])}
        assert {(choice.key, choice.row) for choice in choices} == vectors
        assert len(choices) == len(vectors)
        for arch in archs:
            assert [len(picks) for picks in _picks(space, arch)] == [choice.picks for choice in choices]
            assert space.from_picks(_picks(space, arch)) == arch

    def test_loose_ends_depend_only_on_later_choices(self, space: OneShotSpace, archs: list[Architecture]) -> None:
        for one, other in pairwise(_picks(space, arch) for arch in archs[:50]):
            for i in range(len(one)):
                pairs = [(early + one[i:], early + other[i : i + 1] + one[i + 1 :]) for early in (one[:i], other[:i])]
                networks = [{space.without_loose_ends(space.from_picks(picks)) for picks in pair} for pair in pairs]
                assert len(networks[0]) == len(networks[1]), space.choices()[i]

    def test_discretise_is_invariant_to_softmax(self, space: OneShotSpace) -> None:
        rng = np.random.default_rng(5)
        for _ in range(20):
            raw = _random_mixing(space, rng)
            assert space.discretise({key: _softmax(value) for key, value in raw.items()}) == space.discretise(raw)

    def test_discretise_stays_in_space_and_breaks_ties_consistently(self, space: OneShotSpace) -> None:
        flat = {key: np.zeros(shape) for key, shape in space.mixing_shapes().items()}
        rng = np.random.default_rng(6)
        for mixing in (flat, *(_random_mixing(space, rng) for _ in range(20))):
            arch = space.discretise(mixing)
            assert space[space.index(arch)] == arch == space.discretise(dict(mixing))

    def test_invalid_mixing_weights_are_rejected(self, space: OneShotSpace) -> None:
        good: dict[str, Any] = _random_mixing(space, np.random.default_rng(7))
        key = next(iter(good))
        bad: list[Mapping[str, Any]] = [
            {},
            {name: value for name, value in good.items() if name != key},
            good | {"no-such-key": np.zeros(3)},
            good | {key: np.zeros((*good[key].shape, 2))},
            good | {key: good[key] * np.nan},
            good | {key: "no numbers"},
        ]
        for mixing in bad:
            _assert_rejected(space.discretise, mixing)

    def test_supernet_evaluates_architectures(self, space: OneShotSpace, archs: list[Architecture]) -> None:
        import torch

        from nasbench1shot1.supernets.supernet import Supernet

        channels = space.search_defaults.get("channels", 2)  # some skeletons have a fixed width
        net = Supernet(space, channels=channels, cells=3, generator=torch.Generator().manual_seed(0)).eval()
        images = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
        together = net(images, net.discrete_mixing(archs[2:4]))
        alone = [net(images[i : i + 1], net.discrete_mixing(archs[2 + i])) for i in range(2)]
        torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)
        _assert_rejected(net, images, {})

    def test_cells_have_their_declared_features(self, space: OneShotSpace) -> None:
        import torch

        from nasbench1shot1.supernets.supernet import Supernet, to_tensors

        channels, features = space.search_defaults.get("channels", 2), space.cell_features
        net = Supernet(space, channels=channels, cells=3, generator=torch.Generator().manual_seed(0))
        images = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
        mixing = to_tensors(
            {key: _softmax(value) for key, value in _random_mixing(space, np.random.default_rng(8)).items()}
        )
        if "auxiliary-skip" in features:
            with net.auxiliary_skip(1.0):
                changed = net(images, mixing)
            assert not torch.equal(changed, net(images, mixing))
        if "weights-of-operations" in features:
            assert net.operation_weights
        if "observed-candidates" in features:
            seen = set[str]()
            with net.observed_candidates(lambda key, row, entry, output: seen.add(key)):
                net(images, mixing)
            assert space.operation_key in seen
        if "masked-operations" in features:
            rows = [choice for choice in space.choices() if choice.key == space.operation_key]
            net(images, mixing, [(0,) for _ in rows]).sum().backward()
            assert any(weight.grad is None for cell in net.cells for weight in cell.parameters())


def _assert_rejected(call: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(InvalidInputError, match=r"\w"):
        call(*arguments)


def _fits(space: SearchSpace, configuration: "Configuration") -> bool:
    """Return whether a configuration is an architecture; if so, also test the conversion back."""
    try:
        arch = space.from_configuration(configuration)
    except InvalidInputError:
        return False
    assert space[space.index(arch)] == arch == space.from_configuration(dict(configuration))
    assert space.to_configuration(arch) == configuration
    return True


def _chi_square(drawn: NDArray[np.int64], size: int) -> float:
    """Return Pearson's chi-square statistic of numbers that should be uniform over 0 … size - 1, in N_BINS bins."""
    edges = np.linspace(0, size, min(N_BINS, size) + 1).round()
    expected = np.diff(edges) / size * len(drawn)
    observed, _ = np.histogram(drawn, bins=edges - 0.5)
    return float(((observed - expected) ** 2 / expected).sum())


def _picks(space: OneShotSpace, arch: Architecture) -> list[list[int]]:
    """Return the entries that an architecture picks in each choice."""
    weights, choices = space.one_hot(arch), space.choices()
    vectors = [choice.of(weights) for choice in choices]
    assert [vector.shape for vector in vectors] == [(choice.entries,) for choice in choices]
    return [np.flatnonzero(vector).tolist() for vector in vectors]


def _random_mixing(space: OneShotSpace, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    return {key: rng.normal(size=shape) for key, shape in space.mixing_shapes().items()}


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(values)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float64)
