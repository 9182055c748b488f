"""Paths with shared computation, compared with one architecture at a time by `Supernet.forward`."""

import numpy as np
import pytest
import torch
from small_supernets import SPACES, images, small
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101 import shared_passes
from nasbench1shot1.nasbench101.original_passes import with_output_parents, without_last_edge
from nasbench1shot1.nasbench101.shared_passes import ChoiceBlockPaths, path_key, sort_paths
from nasbench1shot1.supernets.group_statistics import fixed_statistics, measured_statistics
from nasbench1shot1.supernets.layers import max_pool_3x3
from nasbench1shot1.supernets.passes import as_mixing
from nasbench1shot1.supernets.presets import BATCH_NORMS

ARCHITECTURES, FEWER, CHANNELS = 30, 12, 4
SUPPORTED = [mode for mode in BATCH_NORMS if mode != "batch-in-cells"]  # others are computed by `GenericPasses`


def supernet(space: str, preset: str = "corrected", partial: int = 1, cells: int = 3) -> nb.Supernet:
    net, generator = small(space, preset, CHANNELS, cells, partial).eval(), torch.Generator().manual_seed(5)
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d) and layer.affine:
            nn.init.uniform_(layer.weight, 0.5, 1.5, generator=generator)
            nn.init.normal_(layer.bias, 0, 0.3, generator=generator)
    return net.double()


def small_images(count: int, seed: int) -> torch.Tensor:
    """Images with a quarter of CIFAR-10's area; cells of the last stack work on 4 × 4 pixels."""
    return images(count, seed)[..., :16, :16].contiguous(memory_format=torch.channels_last)


REFERENCE = small_images(3, seed=11)


def scored() -> torch.Tensor:
    return small_images(2, seed=12)


def sampled(net: nb.Supernet, count: int = ARCHITECTURES) -> list[Architecture]:
    rng = np.random.default_rng(3)
    return [net.space.sample(rng) for _ in range(count)]


def together(net, paths, batch_norm: str, precision: str = "float32") -> torch.Tensor:
    """Class scores of all paths, (A, N, classes), by the tested engine."""
    of_paths = ChoiceBlockPaths(net, paths, batch_norm, lambda: REFERENCE, precision)
    logits = torch.full((len(paths), len(scored()), 10), torch.nan)
    for positions, found in of_paths.logits(scored()):
        assert torch.isnan(logits[positions]).all(), "a path was returned twice"
        logits[positions] = found
    return logits


def pass_alone(net, batch_norm: str, *arguments) -> torch.Tensor:
    """Class scores (N, classes) of one pass, by `Supernet.forward`."""
    dtype = net.classifier.weight.dtype
    if batch_norm == "running":
        return net(scored().to(dtype), *arguments)
    if batch_norm == "batch":
        with measured_statistics(net):
            return net(scored().to(dtype), *arguments)
    with measured_statistics(net) as statistics:
        net(REFERENCE.to(dtype), *arguments)
    with fixed_statistics(net, statistics):
        return net(scored().to(dtype), *arguments)


def alone(net, paths, batch_norm: str) -> torch.Tensor:
    with torch.no_grad():
        return torch.stack([pass_alone(net, batch_norm, path) for path in paths]).float()


@pytest.mark.parametrize("batch_norm", SUPPORTED)
@pytest.mark.parametrize(("preset", "partial"), [("corrected", 1), ("original", 1), ("corrected", 4)])
@pytest.mark.parametrize("space", SPACES)
def test_every_architecture_is_computed_as_in_a_separate_pass(space, preset, partial, batch_norm):
    net = supernet(space, preset, partial)
    paths = sampled(net, ARCHITECTURES if (preset, partial) == ("corrected", 1) else FEWER)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    found = together(net, paths, batch_norm)
    torch.testing.assert_close(found, alone(net, paths, batch_norm), rtol=1e-5, atol=1e-6)
    assert found.std(dim=0).min() > 1e-3
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


@pytest.mark.parametrize("batch_norm", SUPPORTED)
def test_lower_precision_agrees_within_rounding(batch_norm):
    net = supernet("s3").float()
    paths = sampled(net, FEWER)
    wanted = alone(net, paths, batch_norm)
    torch.testing.assert_close(together(net, paths, batch_norm), wanted, rtol=1e-3, atol=1e-3)
    rounded = together(net, paths, batch_norm, "bfloat16")
    assert (rounded - wanted).abs().mean() < 0.05 * wanted.std()
    assert not torch.equal(rounded, wanted)


@pytest.mark.parametrize("batch_norm", SUPPORTED)
@pytest.mark.parametrize("cells", [1, 2, 4])
def test_any_depth_is_supported(cells, batch_norm):
    net = supernet("s1", cells=cells)
    paths = sampled(net, 20)
    torch.testing.assert_close(
        together(net, paths, batch_norm), alone(net, paths, batch_norm), rtol=1e-5, atol=1e-6
    )  # fmt: skip


@pytest.mark.parametrize("batch_norm", SUPPORTED)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("cache_bytes", [2**29, 10_000])
def test_results_do_not_depend_on_order_batch_or_memory(batch_norm, precision, cache_bytes, monkeypatch):
    net = supernet("s1").float()
    paths = sampled(net, 20)
    wanted = together(net, paths, batch_norm, precision)
    monkeypatch.setattr(shared_passes, "CACHE_BYTES", cache_bytes)
    order = np.random.default_rng(1).permutation(len(paths))
    found = together(net, [paths[i] for i in order], batch_norm, precision)
    assert torch.equal(found, wanted[order])
    parts = [together(net, paths[start : start + 7], batch_norm, precision) for start in range(0, len(paths), 7)]
    assert torch.equal(torch.cat(parts), wanted)
    assert torch.equal(together(net, paths[5:6], batch_norm, precision)[0], wanted[5])


def test_shared_prefixes_are_computed_once(monkeypatch):
    net, convolved = supernet("s1"), []
    real = shared_passes.F.conv2d
    monkeypatch.setattr(shared_passes.F, "conv2d", lambda x, *of, **named: convolved.append(x) or real(x, *of, **named))
    first = Architecture.parse("s1:0|0,1|0,2|1,2|3,4:conv3x3,conv1x1,conv1x1,conv3x3")
    other = Architecture.parse("s1:0|0,1|0,2|1,2|3,4:conv3x3,conv1x1,conv1x1,conv1x1")
    together(net, [first], "running")
    of_one = len(convolved)
    together(net, [first, other], "running")
    assert of_one == 1 + 3 * (3 + 4)  # stem; three projections and four blocks in each of three cells
    # only the last block of the second path's first cell is new
    assert len(convolved) - of_one == of_one + 1 + 2 * (3 + 4)


def test_loose_ends_are_computed_only_once():
    first = Architecture.parse("s1:0|0,1|0,1|0,1|0,1:conv3x3,conv1x1,conv1x1,conv3x3")
    other = Architecture.parse("s1:0|0,1|0,2|1,2|0,1:conv3x3,conv3x3,conv1x1,maxpool3x3")
    assert path_key(first) == path_key(other)
    net = supernet("s1")
    [(positions, _)] = ChoiceBlockPaths(net, [first, other], "running", lambda: REFERENCE).logits(scored())
    assert positions == [0, 1]


def test_consecutive_architectures_share_their_first_blocks():
    net = supernet("s3")
    paths = [path for _, path in sort_paths(sampled(net))]
    first_blocks = [path.operations[0] for path in paths if 1 in path.live_blocks]
    assert first_blocks == sorted(first_blocks)
    assert len({path_key(path) for path in paths}) == len(paths)


@pytest.mark.parametrize("batch_norm", SUPPORTED)
@pytest.mark.parametrize("space", ["s1", "s2"])
def test_an_edge_to_the_output_can_be_dropped(space, batch_norm):
    """The engine agrees with `Supernet.forward` on mixing weights without this edge."""
    net = supernet(space)
    last = net.space.n_blocks
    whole = [arch for arch in sampled(net) if last in arch.parents[-1]][:20]
    dropped = [without_last_edge(arch) for arch in whole]
    found = together(net, [sub.path for sub in dropped], batch_norm)
    with torch.no_grad():
        wanted = [pass_alone(net, batch_norm, *as_mixing(sub, net.space).arguments()) for sub in dropped]
    torch.testing.assert_close(found, torch.stack(wanted).float(), rtol=1e-5, atol=1e-6)
    assert (found - together(net, whole, batch_norm)).abs().amax(dim=(1, 2)).min() > 1e-4


def test_a_subnetwork_keeps_some_parents_of_the_output():
    arch = Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
    assert without_last_edge(arch) == with_output_parents(arch, (2,))
    assert with_output_parents(arch, (2,)).path.live_blocks == (1, 2)
    other = Architecture.parse("s1:0|0,1|0,2|1,3|2,3:conv3x3,conv1x1,maxpool3x3,conv3x3")
    assert without_last_edge(other) is other
    for parents in [(), (3,), (4, 2), (2, 2)]:
        with pytest.raises(InvalidInputError, match="more"):
            with_output_parents(arch, parents)


def test_only_cells_of_this_package_are_supported():
    net = supernet("s1")
    assert ChoiceBlockPaths.supports(net)
    net.cells[1].__class__ = type("Own", (type(net.cells[1]),), {})
    assert not ChoiceBlockPaths.supports(net)


@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (1, 4, 17, 9), (2, 1, 3, 1), (1, 2, 2, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_max_pooling_without_gradients_agrees_with_pytorch(shape, memory_format):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).contiguous(memory_format=memory_format)
    assert torch.equal(shared_passes.max_pool_3x3(x), max_pool_3x3(x))


def test_the_cache_keeps_the_most_recently_used_entries():
    cache, computed = shared_passes.TensorCache(3 * 4), []

    def ask(key: str) -> float:
        return float(cache.get(key, lambda: computed.append(key) or torch.full((1,), float(ord(key)))))

    assert [ask(key) for key in "abcadab"] == [float(ord(key)) for key in "abcadab"]
    assert computed == ["a", "b", "c", "d", "b"]
