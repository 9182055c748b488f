"""Single paths, partial channels and mixing weights per cell, compared with plain implementations."""

import numpy as np
import pytest
import torch
from naive_supernet import naive_forward
from refusals import refuses
from small_supernets import SPACES, images, random_mixing, small

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.loop import batch_pairs, one_shot_error
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

ONE_OUTPUT = ChoiceBlockSpace("one-output", "one-output-v1", n_parents=(1, 1, 2, 1))
"""Its output may read the input alone, which leaves every block loose."""


def spaces():
    return [*(nb.search_space(name) for name in SPACES), ONE_OUTPUT]


def architectures(space, n: int) -> list[nb.Architecture]:
    rng = np.random.default_rng(0)
    drawn = [space.sample(rng) for _ in range(n)]
    assert any(len(arch.live_blocks) < space.n_blocks for arch in drawn)
    assert space is not ONE_OUTPUT or any(arch.live_blocks == () for arch in drawn)
    return drawn


def one_hot(space, arch) -> dict[str, torch.Tensor]:
    return {key: torch.from_numpy(value).double().requires_grad_() for key, value in space.one_hot(arch).items()}


def on_path(net: nb.Supernet, arch: nb.Architecture) -> set[str]:
    """Names of the parameters used by an architecture."""
    operations = ("conv3x3", "conv1x1", None)
    parts = ["stem", "head", "classifier"]
    for c in range(len(net.cells)):
        nodes = [*arch.live_blocks, len(arch.parents)]
        parts += [f"cells.{c}.projections.{node - 1}" for node in nodes if 0 in arch.parents[node - 1]]
        kinds = [(node, operations[arch.operations[node - 1]]) for node in arch.live_blocks]
        parts += [f"cells.{c}.blocks.{node - 1}.{kind}" for node, kind in kinds if kind]
    return {name for name, _ in net.named_parameters() if any(name.startswith(f"{part}.") for part in parts)}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("partial", [1, 2])
@pytest.mark.parametrize("space", spaces(), ids=lambda space: space.name)
def test_a_path_equals_one_hot_mixing_and_other_weights_get_no_gradient(space, partial, training):
    net = small(space, channels=2, partial=partial).double().train(training)
    x, names = images(3).double()[..., :16, :16], [name for name, _ in net.named_parameters()]
    factors = torch.randn(3, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for arch in architectures(space, 8):
        wanted, found = net(x, one_hot(space, arch)), net(x, arch)
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-10)
        of_whole = torch.autograd.grad((wanted * factors).sum(), list(net.parameters()))
        of_path = torch.autograd.grad((found * factors).sum(), list(net.parameters()), allow_unused=True)
        taken = on_path(net, arch)
        for name, path, whole in zip(names, of_path, of_whole, strict=True):
            assert (path is not None) == (name in taken), name
            torch.testing.assert_close(torch.zeros_like(whole) if path is None else path, whole, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("space", spaces(), ids=lambda space: space.name)
def test_running_statistics_change_only_on_the_path(space):
    for arch in architectures(space, 6):
        net = small(space).train()
        before = {name: buffer.clone() for name, buffer in net.named_buffers()}
        net(images(4), arch)
        taken = on_path(net, arch) | {"head_bn.weight"}  # it has buffers, but no weight
        norms = {name.removesuffix(".weight") for name in taken}
        for name, buffer in net.named_buffers():
            assert torch.equal(buffer, before[name]) == (name.rpartition(".")[0] not in norms), name


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("space", spaces(), ids=lambda space: space.name)
def test_a_path_under_mixing_weights_equals_masked_mixing_in_value_and_gradient(space, per_sample):
    net, x = small(space).double().train(), images(3).double()[..., :16, :16]
    for seed, arch in enumerate(architectures(space, 8)):
        drawn = random_mixing(space, seed, batch=3 if per_sample else None)
        mixing = {key: value.detach().double().requires_grad_() for key, value in drawn.items()}
        masked = {key: value * one_hot(space, arch)[key].detach() for key, value in mixing.items()}
        wanted, found = net(x, masked), net(x, mixing, path=arch)
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-10)
        keys = list(mixing.values())
        of_masked = torch.autograd.grad(wanted.square().sum(), keys, materialize_grads=True)
        of_path = torch.autograd.grad(found.square().sum(), keys, materialize_grads=True)
        for key, ours, right in zip(mixing, of_path, of_masked, strict=True):
            torch.testing.assert_close(ours, right, rtol=1e-6, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize(("space", "count"), [("s1", 492_570), ("s2", 492_570), ("s3", 748_554)])
def test_partial_channels_have_the_published_parameter_counts(space, count):
    net = nb.Supernet(nb.search_space(space), partial_channels=4)
    assert sum(p.numel() for p in net.parameters()) == count


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("partial", [1, 2, 3, 6])
@pytest.mark.parametrize("space", SPACES)
def test_partial_channels_agree_with_the_naive_supernet(space, partial, training):
    net = small(space, channels=6, partial=partial).train(training).double()
    x, mixing = images(2).double()[..., :16, :16], random_mixing(net.space, 1)
    mixing = {key: value.detach().double().requires_grad_() for key, value in mixing.items()}
    state = {key: value.detach().clone() for key, value in net.state_dict().items()}
    wanted, _ = naive_forward(state, x, mixing, 3, training, partial=partial)
    found = net(x, mixing)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-10)
    ours = torch.autograd.grad(found.square().sum(), list(mixing.values()))
    right = torch.autograd.grad(wanted.square().sum(), list(mixing.values()))
    torch.testing.assert_close(ours, right, rtol=1e-7, atol=1e-9)


def test_a_channel_fraction_of_one_changes_nothing():
    generators = [torch.Generator().manual_seed(0) for _ in range(2)]
    plain = nb.Supernet(nb.search_space("s1"), 4, 3, generator=generators[0])
    partial = nb.Supernet(nb.search_space("s1"), 4, 3, generator=generators[1], partial_channels=1)
    assert {name: value.shape for name, value in plain.state_dict().items()} == {
        name: value.shape for name, value in partial.state_dict().items()
    }
    mixing = random_mixing(plain.space, 0)
    assert torch.equal(plain(images(), mixing), partial(images(), mixing))


@pytest.mark.parametrize(("channels", "partial"), [(6, 4), (2, 4), (16, 3)])
def test_indivisible_channels_are_refused_in_one_sentence(channels, partial):
    with refuses(nb.InvalidInputError, channels, partial, options="partial_channels channels"):
        nb.Supernet(nb.search_space("s1"), channels, 1, partial_channels=partial)


@pytest.mark.parametrize("training", [True, False])
def test_a_list_of_mixing_weights_gives_each_cell_the_next_in_turn(training):
    net = small("s2", cells=5).train(training).double()
    x, state = images(2).double(), {key: value.clone() for key, value in net.state_dict().items()}
    drawn = [{key: value.double() for key, value in random_mixing(net.space, seed).items()} for seed in range(5)]
    wanted, _ = naive_forward(state, x, drawn, 5, training)
    torch.testing.assert_close(net(x, drawn), wanted, rtol=1e-9, atol=1e-10)
    wanted, _ = naive_forward(state, x, [drawn[i] for i in (0, 1, 0, 1, 0)], 5, training)
    torch.testing.assert_close(net(x, tuple(drawn[:2])), wanted, rtol=1e-9, atol=1e-10)
    assert torch.equal(net(x, drawn[:1]), net(x, drawn[0]))


def test_only_the_sampled_operations_of_each_cell_are_computed():
    net, x = small("s1").double().eval(), images(2).double()
    drawn = [{key: value.double() for key, value in random_mixing(net.space, seed).items()} for seed in range(3)]
    sampled = [(0, 1, 2, 0), (1, 1, 1, 1), (2, 0, 2, 1)]
    for mixing, operations in zip(drawn, sampled, strict=True):
        kept = torch.zeros(4, 3, dtype=torch.float64)
        kept[range(4), operations] = 1
        mixing["operations"] = mixing["operations"] * kept
    torch.testing.assert_close(net(x, drawn, operations=sampled), net(x, drawn), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((nb.search_space("s2")[0],), "s1"),
        (([],), "one"),
        (({}, None, nb.search_space("s1")[0]), "keys"),
        ((None, None, nb.search_space("s2")[0]), "s1"),
        (([None, None], [(0, 0, 0, 0)]), "2"),
        (([None], [0]), "4 0 2"),
        (([None], [(0, 0, 0)]), "4 0 2"),
    ],
)
def test_mismatched_arguments_are_refused_in_one_sentence(arguments, values):
    net, mixing = small("s1"), random_mixing(nb.search_space("s1"), 0)
    first = [mixing if one is None else one for one in arguments[0]] if isinstance(arguments[0], list) else arguments[0]
    with refuses(nb.InvalidInputError, *values.split()):
        net(images(), mixing if first is None else first, *arguments[1:])


# Presets --------------------------------------------------------------------------------------------------------------

TINY = {"scale": "quick", "epochs": 4, "channels": 2, "cells": 1, "images_per_half": 40, "batch_size": 20, "threads": 1}


def state(preset: str, **options) -> SearchState:
    return begin(search_options({**TINY, "preset": preset, **options}))


def statistics(of: SearchState) -> list[torch.Tensor]:
    return [buffer for name, buffer in of.net.named_buffers() if "running" in name]


@pytest.mark.parametrize(("preset", "augmented"), [("corrected", False), ("original", True)])
def test_only_preset_original_augments_the_architecture_half(preset, augmented):
    searching = state(preset)
    augment = searching.augmentation(1)
    plain, labels = searching.images.batch(torch.from_numpy(searching.split.architecture))
    normalised = {bytes(image.numpy().tobytes()) for image in augment.normalise(plain).contiguous()}
    for _, architecture_batch in batch_pairs(searching, epoch=1):
        unchanged = [image.contiguous().numpy().tobytes() in normalised for image in architecture_batch.images]
        assert all(unchanged) if not augmented else not all(unchanged)
        assert set(architecture_batch.labels.tolist()) <= set(labels.tolist())


@pytest.mark.parametrize(
    ("preset", "probabilities"), [("corrected", [0, 0.2, 0.4, 0.6]), ("original", [0.6, 0.6, 0.6, 0.6])]
)
def test_cutout_ramps_up_or_is_constant(preset, probabilities):
    searching = state(preset, cutout_probability=0.6)
    found = [searching.augmentation(epoch).cutout_probability for epoch in (1, 2, 3, 4)]
    assert found == pytest.approx(probabilities)


@pytest.mark.parametrize("preset", ["corrected", "original"])
@pytest.mark.parametrize(("schedule", "probabilities"), [("linear", [0, 0.2, 0.4, 0.6]), ("constant", [0.6] * 4)])
def test_a_given_cutout_schedule_overrides_the_preset(preset, schedule, probabilities):
    searching = state(preset, cutout_probability=0.6, cutout_schedule=schedule)
    found = [searching.augmentation(epoch).cutout_probability for epoch in (1, 2, 3, 4)]
    assert found == pytest.approx(probabilities)


def test_an_unknown_cutout_schedule_is_refused():
    with pytest.raises(InvalidInputError, match="mean 'constant'"):
        state("corrected", cutout_schedule="constnat")


def test_recalibration_resets_statistics_and_running_statistics_are_kept():
    corrected = state("corrected")
    error = one_shot_error(corrected, epoch=1)
    for buffer in statistics(corrected):
        buffer.fill_(7.0)
    assert one_shot_error(corrected, epoch=1) == error
    assert all(buffer.eq(7).all() for buffer in statistics(corrected))
    original = state("original")
    before = [buffer.clone() for buffer in statistics(original)]
    one_shot_error(original, epoch=1)
    assert all(torch.equal(a, b) for a, b in zip(before, statistics(original), strict=True))
