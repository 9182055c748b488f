"""The supernet compared with a naive reference, golden parameter counts, and published faults."""

from dataclasses import fields, replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from naive_supernet import naive_forward
from refusals import refuses
from small_supernets import SPACES, images, random_mixing, small
from torch.func import functional_call, grad, stack_module_state, vmap

import nasbench1shot1 as nb
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.supernets import supernet
from nasbench1shot1.supernets.presets import PRESETS, Preset
from nasbench1shot1.supernets.supernet import to_tensors


@pytest.mark.parametrize(("space", "count"), [("s1", 1_101_402), ("s2", 1_101_402), ("s3", 1_509_594)])
@pytest.mark.parametrize("preset", PRESETS)
def test_parameter_counts_equal_published_values(space, count, preset):
    net = nb.Supernet(nb.search_space(space), preset=preset)
    assert sum(p.numel() for p in net.parameters()) == count


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("preset", PRESETS)
def test_values_and_gradients_agree_with_the_naive_supernet(space, preset, training):
    net, x = small(space, preset).train(training).double(), images().double()
    mixing = {key: value.detach().double().requires_grad_() for key, value in random_mixing(net.space, 1).items()}
    naive_state = {key: value.detach().clone() for key, value in net.state_dict().items()}
    names = [name for name, _ in net.named_parameters()]
    for name in names:
        naive_state[name].requires_grad_()
    wanted, _ = naive_forward(naive_state, x, mixing, 3, training, padded=preset == "original")
    weights = torch.randn(wanted.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    of_naive = torch.autograd.grad((wanted * weights).sum(), [*(naive_state[n] for n in names), *mixing.values()])
    found = net(x.contiguous(memory_format=torch.channels_last), mixing)
    of_real = torch.autograd.grad((found * weights).sum(), [*net.parameters(), *mixing.values()])
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-10)
    for name, a, b in zip([*names, *mixing], of_real, of_naive, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("space", SPACES)
def test_mixing_weights_per_sample_equal_a_loop_over_samples(space):
    net, x = small(space).eval(), images(5)
    mixing = random_mixing(net.space, seed=2, batch=5)
    together = net(x, mixing)
    alone = [net(x[i : i + 1], {key: value[i] for key, value in mixing.items()}) for i in range(5)]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("space", SPACES)
def test_a_batch_of_sampled_architectures_equals_separate_passes(space):
    net, x, rng = small(space).eval(), images(4), np.random.default_rng(0)
    architectures = [net.space.sample(rng) for _ in range(4)]
    together = net(x, net.discrete_mixing(architectures))
    for i, arch in enumerate(architectures):
        alone = net(x[i : i + 1], net.discrete_mixing(arch), operations=arch.operations)
        torch.testing.assert_close(together[i : i + 1], alone, rtol=1e-5, atol=1e-6)


def test_only_sampled_operations_and_their_weights_get_gradients():
    net, arch = small("s1"), nb.search_space("s1")[4321]
    mixing = {key: value.requires_grad_() for key, value in net.discrete_mixing(arch).items()}
    net(images(), mixing, operations=arch.operations).sum().backward()
    convolutions = ("conv3x3", "conv1x1")
    for block, operation in enumerate(arch.operations):
        for o, name in enumerate(convolutions):
            gradient = getattr(net.cells[0].blocks[block], name).conv.weight.grad
            assert (gradient is not None) == (o == operation)
    assert torch.equal(mixing["operations"].grad != 0, mixing["operations"] != 0)


@pytest.mark.parametrize(("preset", "sides"), [("corrected", [32, 16, 8]), ("original", [32, 17, 9])])
def test_feature_maps_are_halved_where_the_preset_specifies(preset, sides):
    net, seen = small("s1", preset), []
    for cell in net.cells:
        cell.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[-1]))
    mixing = random_mixing(net.space, seed=1)
    net(images(2), mixing)
    _, naive_sides = naive_forward(dict(net.state_dict()), images(2), mixing, 3, True, padded=preset == "original")
    assert seen == naive_sides == sides


def test_preset_original_softmaxes_one_hot_operations_and_averages_edges():
    space = nb.search_space("s1")
    arch = nb.Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
    published = small("s1", "original").discrete_mixing(arch)
    assert published["operations"][0].tolist() == pytest.approx([0.5761, 0.2119, 0.2119], abs=1e-4)
    assert published["input_edges/3"].tolist() == [0.5, 0, 0.5]
    assert published["output_edges"].tolist() == [0, 0, 0.5, 0, 0.5]
    corrected = small("s1").discrete_mixing(arch)
    assert all(np.array_equal(corrected[key], value) for key, value in space.one_hot(arch).items())


@pytest.mark.parametrize(("preset", "momentum"), [("corrected", 0.003), ("original", 0.997)])
def test_running_statistics_use_the_momentum_of_the_preset(preset, momentum):
    net = nb.Supernet(nb.search_space("s1"), 2, 1, preset, generator=torch.Generator().manual_seed(0))
    x = images(8)
    net(x, random_mixing(net.space, 0))
    batch_mean = torch.nn.functional.conv2d(x, net.stem.conv.weight, padding=1).mean(dim=(0, 2, 3))
    torch.testing.assert_close(net.stem.bn.running_mean, momentum * batch_mean, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 9])
def test_any_number_of_channels_and_cells(cells):
    net = nb.Supernet(nb.search_space("s2"), channels=1, cells=cells)
    assert net(images(2), random_mixing(net.space, 0)).shape == (2, 10)
    assert len(net.cells) == cells


@pytest.mark.parametrize("name", ["channels", "cells", "classes", "partial_channels"])
@pytest.mark.parametrize("size", [0, -1, 4.0, "9", True, None])
def test_sizes_that_are_not_positive_numbers_are_refused(name, size):
    with refuses(nb.InvalidInputError, name, repr(size)):
        nb.Supernet(nb.search_space("s1"), **{name: size})


@pytest.mark.parametrize("space", ["s1", "nb201"])
@pytest.mark.parametrize(("name", "size"), [*(("channels", 10**n) for n in (6, 18, 20, 40)), ("cells", 10**9)])
def test_a_supernet_that_does_not_fit_into_memory_is_refused(space, name, size):
    with refuses(nb.InvalidInputError, size, "memory", options="channels cells"):
        nb.Supernet(nb.search_space(space), **{"channels": 1, "cells": 1, name: size})


def test_a_supernet_of_too_many_classes_is_refused():
    with refuses(nb.InvalidInputError, "classes", "1,000,000"):
        nb.Supernet(nb.search_space("s1"), channels=1, cells=1, classes=10**20)


@pytest.mark.parametrize("error", [RuntimeError("numerical overflow"), TypeError("no argument 'overflow_mode'")])
def test_errors_of_a_cell_that_are_not_about_memory_are_raised(error, monkeypatch):
    monkeypatch.setattr(supernet, "cell_class", lambda space: Mock(side_effect=error, output_width=lambda *of: 4))
    with pytest.raises(type(error), match=f"^{error}$"):
        nb.Supernet(nb.search_space("s1"), channels=4, cells=1)


@pytest.mark.parametrize("switch", [field.name for field in fields(Preset) if field.name != "name"])
def test_a_preset_refuses_a_value_that_a_switch_does_not_have(switch):
    for unfit in ("mispelt", 2, ["sum"]):
        with refuses(nb.InvalidInputError, switch, unfit):
            replace(PRESETS["corrected"], **{switch: unfit})
    for preset in PRESETS.values():
        assert replace(PRESETS["corrected"], **{switch: getattr(preset, switch)}).name == "corrected"


def test_an_unknown_preset_is_refused_with_a_suggestion():
    with pytest.raises(nb.InvalidInputError, match="mean 'original'"):
        nb.Supernet(nb.search_space("s1"), preset="orignal")


def test_initial_weights_come_only_from_the_generator_with_pytorchs_distribution():
    def build(seed: int) -> nb.Supernet:
        return nb.Supernet(nb.search_space("s1"), generator=torch.Generator().manual_seed(seed))

    first, again, other = build(1), build(1), build(2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.head.weight, other.head.weight)
    torch.manual_seed(0)
    default = nb.Supernet(nb.search_space("s1"))
    for name in ("head.weight", "classifier.weight", "cells.8.projections.4.conv.weight"):
        ours, theirs = first.get_parameter(name).detach(), default.get_parameter(name).detach()
        assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.02)
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.06)


def test_state_dict_round_trip_gives_the_same_logits():
    net, other = small("s3"), nb.Supernet(nb.search_space("s3"), 3, 3)
    other.load_state_dict(net.state_dict())
    mixing = random_mixing(net.space, 0)
    assert torch.equal(net.eval()(images(), mixing), other.eval()(images(), mixing))


def test_bfloat16_autocast_agrees_approximately_and_keeps_float32_gradients():
    net, x = small("s1", channels=8).train(), images(16)
    mixing = random_mixing(net.space, 0)
    exact = net(x, mixing)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = net(x, mixing)
    torch.testing.assert_close(rough.float(), exact, rtol=0.1, atol=0.1)
    rough.float().sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in net.parameters() if p.grad is not None)
    assert all(value.grad.dtype == torch.float32 for value in mixing.values())


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ({"operations": torch.ones(9, 3)}, "'operations' (9, 3) (4, 3) (4, 4, 3)"),
        ({"output_edges": torch.ones(1, 5)}, "'output_edges' (1, 5) (5,) (4, 5)"),
        ({"output_edges": torch.ones(3, 5)}, "'output_edges' (3, 5)"),
        ({"output_edges": torch.ones(4)}, "'output_edges' (4,)"),
        ({"input_edges/4": np.ones((4, 1))}, "'input_edges/4' (4, 1)"),
        ({"input_edges/2": torch.ones(2)}, "input_edges/3, input_edges/4, operations, output_edges,"),
        ({"operations": None}, "'operations' numbers"),
        ({"operations": "abc"}, "'operations' numbers"),
        ({"output_edges": np.array(list("abcde"), object)}, "'output_edges' numbers"),
    ],
)
def test_invalid_mixing_weights_are_named(change, values):
    net = small("s1")
    with refuses(nb.InvalidInputError, *values.split()):
        net(images(4), random_mixing(net.space, 0) | change)


@pytest.mark.parametrize(
    "given", [torch.zeros(4, 32, 32, 3, dtype=torch.uint8), images(1)[0], np.zeros((4, 3, 32, 32))]
)
@pytest.mark.parametrize("is_discrete", [False, True])
def test_images_that_are_not_a_batch_of_floats_are_refused(given, is_discrete):
    net = small("s1")
    kind = f"{given.dtype} {tuple(given.shape)}" if isinstance(given, torch.Tensor) else "ndarray"
    with refuses(nb.InvalidInputError, "(N, 3, H, W)", "nb.Augmentation", kind):
        net(given, net.space[0] if is_discrete else random_mixing(net.space, 0))


@pytest.mark.parametrize(("name", "width"), [("s1", 3), ("nb201", 3), ("nats-size", 64)])
def test_images_of_other_channels_or_too_few_pixels_are_refused(name, width):
    net = small(name, channels=width)
    mixing = random_mixing(net.space, 0)
    for channels in (1, 4):  # the stem of nats-size would repeat a single channel
        with refuses(nb.InvalidInputError, 3, channels):
            net(torch.zeros(2, channels, 16, 16), mixing)
    with refuses(nb.InvalidInputError, "2 × 8", "4 × 4"):
        net(torch.zeros(2, 3, 2, 8), mixing)
    assert net(torch.zeros(2, 3, 4, 4), mixing).shape == (2, 10)


def test_missing_mixing_weights_are_named():
    net = small("s1")
    mixing = random_mixing(net.space, 0)
    del mixing["operations"]
    for unfit in (mixing, {}, None, torch.ones(3)):
        with pytest.raises(nb.InvalidInputError, match=r"input_edges/3.*output_edges"):
            net(images(), unfit)


@pytest.mark.parametrize(
    "operations",
    [(0,) * 9, (0,) * 3, *[(0, 0, unfit, 0) for unfit in (-1, 3, None, 1.0, True, [0, 1], "1", (0, 1.0))]],
)
def test_operations_missing_from_the_cell_are_refused(operations):
    net = small("s1")
    with pytest.raises(nb.InvalidInputError, match=r"4 numbers.*from 0.*\b2\b"):
        net(images(), random_mixing(net.space, 0), operations=operations)


@pytest.mark.parametrize(
    "change", [lambda array: array[::-1].copy()[::-1], lambda a: a.astype(">f4"), lambda a: a.astype("O")]
)
def test_arrays_of_every_order_and_type_are_accepted_as_mixing_weights(change):
    net = small("s1").eval()
    arrays = net.space.one_hot(net.space[12345])
    changed = {key: change(array) for key, array in arrays.items()}
    assert torch.equal(net(images(), changed), net(images(), arrays))


@pytest.mark.parametrize(("name", "rows"), [("s1", 4), ("nb201", 6)])
def test_operations_drawn_by_numpy_equal_python_integers(name, rows):
    net = small(name).eval()
    mixing, drawn = random_mixing(net.space, 0), np.random.default_rng(0).permutation(3)
    for operations in ([drawn[0]] * rows, [tuple(drawn[:2])] * rows, (*drawn[1:], *[0] * (rows - 2))):
        plain = [tuple(map(int, each)) if isinstance(each, tuple) else int(each) for each in operations]
        assert torch.equal(net(images(), mixing, operations), net(images(), mixing, plain))
        assert torch.equal(net(images(), [mixing], [operations]), net(images(), mixing, plain))
    array = np.arange(rows) % 3
    assert torch.equal(net(images(), mixing, array), net(images(), mixing, array.tolist()))
    assert torch.equal(net(images(), [mixing], array[None]), net(images(), mixing, array.tolist()))


def test_one_hot_arrays_and_parameter_dicts_are_accepted_as_mixing_weights():
    net = small("s2").eval()
    arch = net.space[12345]
    wanted = net(images(), net.discrete_mixing(arch))
    arrays = net.space.one_hot(arch)
    assert torch.equal(net(images(), arrays), wanted)
    for array in arrays.values():
        array.flags.writeable = False
    assert torch.equal(net(images(), arrays), wanted)
    assert torch.equal(net(images(), torch.nn.ParameterDict(net.discrete_mixing(arch))), wanted)


def test_torch_compile_captures_the_forward_pass_as_one_graph():
    net, mixing = small("s1").eval(), random_mixing(nb.search_space("s1"), 0)
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(images(), mixing), net(images(), mixing), rtol=1e-4, atol=1e-5)


def test_mixing_weights_of_zero_architectures_are_refused():
    with pytest.raises(nb.InvalidInputError, match="least"):
        small("s1").discrete_mixing([])


class Identity(torch.nn.Module):
    """A third-party cell that scales its input and has an arbitrary key."""

    def __init__(self, space, place, preset, partial_channels):
        super().__init__()

    def forward(self, x, mixing, operations=None, path=None):
        return mixing["scales"][..., 0] * x

    @staticmethod
    def output_width(space, in_channels, channels):
        return in_channels

    @staticmethod
    def as_evaluated(one_hot, preset):
        return {"scales": 2 * one_hot["scales"]}


class Scales(ChoiceBlockSpace):
    cell = f"{__name__}:Identity"

    def mixing_shapes(self):
        return {"scales": (2,)}

    def one_hot(self, arch):
        return {"scales": np.array([1, 0], np.float32)}


def test_a_space_supplies_its_cell_class_and_how_architectures_are_evaluated():
    space = Scales("scales", "scales-v1", (1, 1))
    net = nb.Supernet(space, 2, 3)
    assert [type(cell) for cell in net.cells] == [Identity] * 3
    mixing = net.discrete_mixing(space[0])
    assert mixing["scales"].tolist() == [2, 0]
    assert net(images(), mixing).shape == (4, 10)
    with pytest.raises(nb.InvalidInputError, match="operations"):
        net(images(), mixing, operations=(0,))


@pytest.mark.parametrize("cell", ["choice-blok", "no_such_module:Cell", f"{__name__}:NoSuchCell"])
def test_a_cell_that_cannot_be_found_is_named(cell):
    space = ChoiceBlockSpace("mine", "mine-v1", (1, 2))
    space.cell = cell
    with refuses(nb.InvalidInputError, "mine", f"'{cell}'"):
        nb.Supernet(space)


def test_one_hot_arrays_become_tensors():
    space = nb.search_space("s2")
    tensors = to_tensors(space.one_hot(space[7]))
    assert space.discretise(tensors) == space[7]


def test_mixing_weights_can_be_vmapped():
    net, x = small("s1").eval(), images(2)
    several = {key: value.detach() for key, value in random_mixing(net.space, 1, batch=3).items()}
    state = dict(net.named_parameters()) | dict(net.named_buffers())
    together = vmap(lambda mixing: functional_call(net, state, (x, mixing)))(several)
    alone = [net(x, {key: value[i] for key, value in several.items()}) for i in range(3)]
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-5, atol=1e-5)


def test_gradients_of_several_seeds_at_once_equal_separate_gradients():
    nets = [nb.Supernet(nb.search_space("s1"), 2, 1, generator=torch.Generator().manual_seed(i)) for i in range(2)]
    x, mixing = images(4), random_mixing(nets[0].space, 0)

    def loss(parameters, mixing, buffers):
        return functional_call(nets[0], (parameters, buffers), (x, mixing)).square().mean()

    parameters, buffers = stack_module_state(nets)
    stacked = {key: torch.stack([value, value]).detach() for key, value in mixing.items()}
    of_parameters, of_mixing = vmap(grad(loss, argnums=(0, 1)))(parameters, stacked, buffers)
    for i, net in enumerate(nets):
        names, values = zip(*net.named_parameters(), strict=True)
        alone = torch.autograd.grad(net(x, mixing).square().mean(), [*values, *mixing.values()])
        together = [of_parameters[name][i] for name in names] + [of_mixing[key][i] for key in mixing]
        torch.testing.assert_close(together, list(alone), rtol=1e-3, atol=1e-5)
