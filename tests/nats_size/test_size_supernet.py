"""The size space's supernet: under the preset "corrected", its sub-networks are the networks of the table."""

import numpy as np
import pytest
import torch
from published_widths import values_of
from refusals import refuses
from tiny_search import generator
from torch import Tensor

import nasbench1shot1 as nb
from nasbench1shot1.nats_size.architecture import WIDTHS, layer_rows
from nasbench1shot1.nats_size.network import WidthNetwork, build_width_network
from nasbench1shot1.nats_size.supernet import interpolate, layer_width
from nasbench1shot1.supernets.passes import Mixing
from nasbench1shot1.supernets.presets import BATCH_NORMS, PRESETS
from nasbench1shot1.supernets.supernet import Supernet, to_tensors
from nasbench1shot1.supernets.weight_sharing import GenericPasses

SPACE = nb.search_space("nats-size")
ARCHITECTURES = [SPACE[index] for index in (0, 32767, 284, 4711, 20000)]
EDGES = {"10": 0, "20": 1, "21": 2, "31": 4, "32": 5}


def images(n: int = 4, side: int = 8) -> Tensor:
    return torch.from_numpy(values_of("images", (n, 3, side, side)))


def supernet(preset: str = "corrected") -> Supernet:
    return Supernet(SPACE, 64, 3, preset, generator=generator(0)).double()


def weights_of(arch, batch: int | None = None) -> dict[str, Tensor]:
    one_hot = {key: value.double() for key, value in to_tensors(SPACE.one_hot(arch)).items()}
    return one_hot if batch is None else {key: value.expand(batch, 5, 8) for key, value in one_hot.items()}


def copy_prefix(into: torch.nn.Module, conv: torch.nn.Conv2d) -> None:
    """Copy the part of a supernet's convolution that a narrower one has."""
    out_channels, in_channels = into.weight.shape[:2]
    into.weight.data = conv.weight.data[:out_channels, :in_channels].clone()


def network_with_weights_of(net: Supernet, arch) -> WidthNetwork:
    """The network of the table, with a part of the supernet's weights."""
    alone = build_width_network(arch).double()
    copy_prefix(alone.stem[0], net.stem.conv.conv)
    for number, place in enumerate((0, 2, 4)):
        ours, theirs = net.cells[number], alone.cells[place]
        for edge, index in EDGES.items():
            copy_prefix(theirs.edges[str(index)].conv, ours.convolutions[f"edge_{edge}"].conv)
        if isinstance(theirs.edges["3"], torch.nn.Sequential):  # the widths before and after the cell differ
            copy_prefix(theirs.edges["3"][0], ours.projection.conv)
    for place in (1, 3):
        ours, theirs = net.reductions[str((place + 1) // 2)], alone.cells[place]
        copy_prefix(theirs.conv_a.conv, ours.conv_a.conv)
        copy_prefix(theirs.conv_b.conv, ours.conv_b.conv)
        copy_prefix(theirs.shortcut, ours.shortcut)
    alone.classifier.weight.data = net.classifier.weight.data[:, : arch.widths[-1]].clone()
    alone.classifier.bias.data = net.classifier.bias.data.clone()
    return alone


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=lambda arch: arch.official)
def test_a_sub_network_is_the_network_of_the_table(arch):
    """With one-hot mixing weights, with the chosen widths, and alone: values, and gradients slice by slice."""
    net = supernet().train()
    alone = network_with_weights_of(net, arch).train()
    wanted = alone(images())
    parameters = [p for name, p in alone.named_parameters() if "bn" not in name and p.dim() == 4]
    gradients = torch.autograd.grad(wanted.square().sum(), parameters)
    total = sum(float(gradient.square().sum()) for gradient in gradients)
    for arguments in ((arch,), (weights_of(arch),), (weights_of(arch), arch.positions), (weights_of(arch, 4),)):
        found = net(images(), *arguments)
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
        convolutions = [p for p in net.parameters() if p.dim() == 4]
        ours = torch.autograd.grad(found.square().sum(), convolutions, allow_unused=True)
        assert sum(float(g.square().sum()) for g in ours if g is not None) == pytest.approx(total, rel=1e-8)
        stem = ours[0][: arch.widths[0]]
        torch.testing.assert_close(stem, gradients[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("arch", ARCHITECTURES[2:], ids=lambda arch: arch.official)
def test_a_path_updates_the_running_statistics_of_its_channels(arch):
    """The same statistics as the network of the table; those of other channels do not change."""
    net = supernet().train()
    alone = network_with_weights_of(net, arch).train()
    net(images(), arch)
    alone(images())
    width, ours, theirs = arch.widths[0], net.stem.conv.bn, alone.stem[1]
    torch.testing.assert_close(ours.running_mean[:width], theirs.running_mean)
    torch.testing.assert_close(ours.running_var[:width], theirs.running_var)
    assert not ours.running_mean[width:].any()
    assert ours.num_batches_tracked == 1
    net.eval(), alone.eval()
    torch.testing.assert_close(net(images(), arch), alone(images()), rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(net(images(), weights_of(arch)), alone(images()), rtol=1e-9, atol=1e-11)


def test_the_published_supernet_is_not_the_network_of_the_table():
    """Its inner feature maps have all channels, and its skip connections are never convolutions."""
    net, arch = supernet("original").train(), ARCHITECTURES[3]
    assert all(cell.projection is None for cell in net.cells)
    found, masked = net(images(), arch), net(images(), weights_of(arch))
    torch.testing.assert_close(found, masked)
    assert not torch.allclose(found, network_with_weights_of(supernet(), arch).train()(images()), atol=1e-3)


def test_batch_norm_follows_the_preset():
    published, ours = supernet("original"), supernet()
    for net, has_flags in ((published, True), (ours, False)):
        reductions = [layer.bn for block in net.reductions.values() for layer in (block.conv_a, block.conv_b)]
        assert all(norm.affine is has_flags and norm.track_running_stats for norm in reductions)
    others = [published.stem.conv.bn, published.last.bn, published.cells[0].convolutions["edge_10"].bn]
    assert not any(norm.affine or norm.track_running_stats for norm in others)
    assert ours.last.bn.track_running_stats
    assert published.stem.conv.conv.bias is not None
    assert ours.stem.conv.conv.bias is None


def test_the_last_width_has_a_gradient_only_under_corrected():
    """Batch norm cancels the mask before it, up to its epsilon: published FBNetV2 hardly learns the last width."""
    largest = {}
    for preset in PRESETS:
        net = supernet(preset).train()
        weights = torch.from_numpy(values_of("Λ", (5, 8))).softmax(dim=-1).requires_grad_()
        loss = torch.nn.functional.cross_entropy(net(images(), {"widths": weights}), torch.arange(4))
        (gradient,) = torch.autograd.grad(loss, [weights])
        largest[preset] = gradient.abs().amax(dim=1)
    assert largest["original"][4] < 5e-2 * largest["original"][:4].min()
    assert largest["corrected"][4] > 5e-1 * largest["corrected"][:4].min()


@pytest.mark.parametrize(("first", "second"), [(0, 7), (4, 1), (2, 3)])
def test_interpolation_equals_adaptive_pooling_along_channels(first, second):
    narrow, wide = WIDTHS[first], WIDTHS[second]
    largest = max(narrow, wide)
    x = torch.from_numpy(values_of("x", (2, largest, 3, 3)))
    parts = [torch.nn.functional.adaptive_avg_pool3d(x[:, :width], (largest, 3, 3)) for width in (narrow, wide)]
    shares = torch.tensor([0.3, 0.7], dtype=torch.float64)
    wanted = 0.3 * parts[0] + 0.7 * parts[1]
    torch.testing.assert_close(interpolate(x, (narrow, wide), shares), wanted)
    weights = torch.zeros(8, dtype=torch.float64)
    weights[[first, second]] = shares
    assert layer_width(weights, (first, second), True).channels == largest
    padded = layer_width(weights, (first, second), False).apply(torch.from_numpy(values_of("y", (2, 64, 3, 3))))
    assert not padded[:, largest:].any()


PAIRS = ((1, 2), (5, 3), 4, (0, 7), (6, 5))


def test_each_image_can_have_its_own_shares_of_two_widths():
    net = supernet().eval()
    weights = torch.from_numpy(values_of("Λ", (4, 5, 8))).softmax(dim=-1)
    alone = [net(images()[i : i + 1], {"widths": weights[i]}, PAIRS) for i in range(4)]
    together = net(images(), {"widths": weights}, PAIRS)
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-9, atol=1e-11)


def test_equal_shares_of_two_widths_for_each_image_have_the_gradient_of_shared_ones():
    net = supernet("original").train()
    weights = torch.from_numpy(values_of("Λ", (5, 8))).softmax(dim=-1).requires_grad_()
    outputs = [net(images(), {"widths": given}, PAIRS) for given in (weights, weights.expand(4, 5, 8))]
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-9, atol=1e-11)
    wanted, found = (torch.autograd.grad(output.square().sum(), weights) for output in outputs)
    torch.testing.assert_close(found, wanted, rtol=1e-7, atol=1e-9)


def test_rows_of_layers():
    rows = [layer_rows(place.kind, place.number) for place in supernet().places]
    assert rows == [(0, 0), (0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    "operations", [(0, 1, 2, 3), (0, 1, 2, 3, 8), *[(0, 1, 2, 3, of_last) for of_last in ((1, 1), (0, 1, 2), (3,))]]
)
def test_invalid_choices_are_refused(operations):
    with pytest.raises(nb.InvalidInputError, match="operations"):
        supernet()(images(), weights_of(ARCHITECTURES[0]), operations)


def test_masks_of_a_batch_evaluate_several_architectures():
    net = supernet().eval()
    together = {"widths": torch.cat([weights_of(arch)["widths"][None] for arch in ARCHITECTURES])}
    same = images(1).expand(len(ARCHITECTURES), 3, 8, 8)
    alone = torch.cat([net(images(1), arch) for arch in ARCHITECTURES])
    np.testing.assert_allclose(net(same, together).detach(), alone.detach(), rtol=1e-9, atol=1e-11)


def test_partial_channels_are_refused_with_what_to_do():
    with refuses(nb.InvalidInputError, "nats-size", options="partial_channels"):
        Supernet(SPACE, 64, 3, "corrected", generator=generator(0), partial_channels=4)


def test_the_head_has_the_width_of_the_last_cell_if_layers_use_weights_in_turn() -> None:
    """The mixed places, six layers and the head, use six sets of weights in turn."""
    net = supernet()
    widest, narrow = (weights_of(nb.WidthArchitecture("nats-size", (64, 64, 64, 64, last))) for last in (64, 8))
    widths = []
    net.last.register_forward_hook(lambda _, __, features: widths.append(int((features != 0).any(0).sum())))
    for narrow_set in (None, 0, 5):
        net(images(), [narrow if place == narrow_set else widest for place in range(6)])
    assert widths[0] == widths[1] > 8 >= widths[2]


@pytest.mark.parametrize("preset", ["corrected", "original"])
def test_an_architecture_is_computed_alone_on_another_device(preset: str) -> None:
    net = Supernet(SPACE, 64, 3, preset).to("meta")
    scores = net(torch.empty(2, 3, 8, 8, device="meta"), SPACE[4711])
    assert (scores.shape, scores.device.type) == ((2, 10), "meta")


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
@pytest.mark.parametrize("preset", ["corrected", "original"])
def test_architectures_in_one_pass_do_not_share_statistics(preset: str, batch_norm: str) -> None:
    """The published stem, cells and head have no running statistics."""
    net, mixings = supernet(preset).eval(), [Mixing(path=arch) for arch in ARCHITECTURES[:3]]
    alone, together = (
        torch.stack(
            [logits for _, logits in GenericPasses(net, mixings, batch_norm, images, together=number).logits(images(6))]
        )
        for number in (1, 3)
    )
    torch.testing.assert_close(together, alone, rtol=1e-6, atol=1e-8)
    assert (alone[0] - alone[1]).abs().max() > 1e-3
