"""The network of a cell: official parameter counts, a naive oracle, TensorFlow's initialisation, bad input."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from torch import nn
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.cost import Skeleton, multiply_adds, parameter_count, vertex_channels
from nasbench1shot1.nasbench101.encoding import OPERATIONS
from nasbench1shot1.nasbench101.network import build_network
from nasbench1shot1.runs.counting import count_flops

CONV3X3, CONV1X1, POOL = OPERATIONS


def cell_of(edges: list[tuple[int, int]], *inner: str) -> nb.Cell:
    matrix = np.zeros((len(inner) + 2, len(inner) + 2), int)
    for x, y in edges:
        matrix[x, y] = 1
    return nb.Cell(matrix, ["input", *inner, "output"])


@pytest.fixture(scope="module")
def real(real_cells) -> tuple[list[nb.Cell], np.ndarray]:
    """27,001 cells in NAS-Bench-101's numbering and their official parameter counts."""
    with np.load(real_cells) as file:
        adjacency, ops, sizes, params = (file[name] for name in ("adjacency", "ops", "n_vertices", "params"))
    cells = [
        nb.Cell(matrix[:n, :n], ["input", *(OPERATIONS[op] for op in labels[1 : n - 1]), "output"])
        for matrix, labels, n in zip(adjacency, ops, sizes, strict=True)
    ]
    return cells, params


@st.composite
def any_cell(draw) -> nb.Cell:
    """A cell of 2 to 11 vertices, pruned."""
    n = draw(st.integers(2, 11))
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    matrix = np.triu(np.array(bits).reshape(n, n), 1).astype(int)
    if n == 2 or not matrix[0].any() or not matrix[:, -1].any():
        matrix[0, -1] = 1
    cell = nb.Cell(matrix, ["input", *draw(st.lists(st.sampled_from(OPERATIONS), min_size=n - 2, max_size=n - 2)), "o"])
    return cell if cell.ops else cell_of([(0, 1)])


# Parameters -----------------------------------------------------------------------------------------------------------


def test_parameter_counts_of_all_real_cells_are_official(real):
    cells, official = real
    assert len(cells) == 27_001
    assert [parameter_count(cell) for cell in cells] == official.tolist()


def test_the_modules_have_the_official_parameter_counts(real):
    cells, official = real
    with torch.device("meta"):
        for i in range(0, len(cells), 900):
            assert sum(p.numel() for p in build_network(cells[i]).parameters()) == official[i]


def test_the_vectorised_count_agrees_on_other_numberings(real):
    """The vectorised and the general count check each other."""
    from nasbench1shot1.nasbench101.features import CellArrays, trainable_parameters

    arches = [nb.search_space("s3").sample(np.random.default_rng(i), loose_ends=True) for i in range(500)]
    codes = np.array([arch.cell.encoding for arch in arches], np.uint64)
    assert trainable_parameters(CellArrays.from_encodings(codes)).tolist() == [parameter_count(a) for a in arches]


def test_the_extreme_parameter_counts_of_the_data_set():
    narrow = cell_of([(0, 1), *[(1, v) for v in range(2, 6)], *[(v, 6) for v in range(2, 6)]], *[POOL] * 5)
    wide = cell_of([*[(0, v) for v in (1, 2, 3, 6)], *[(v, v + 1) for v in range(1, 6)]], *[CONV3X3] * 5)
    for cell, parameters in ((narrow, 227_274), (wide, 49_979_274)):
        assert cell.is_valid
        assert parameter_count(cell) == parameters
        with torch.device("meta"):
            assert sum(p.numel() for p in nb.build_network(cell).parameters()) == parameters


@settings(max_examples=30)
@given(any_cell(), st.integers(10, 40), st.integers(1, 3), st.integers(1, 2))
def test_modules_and_count_agree_on_cells_of_any_size(cell, stem_channels, stacks, cells_per_stack):
    skeleton = {"stem_channels": stem_channels, "stacks": stacks, "cells_per_stack": cells_per_stack, "classes": 7}
    with torch.device("meta"):
        net = build_network(cell, **skeleton)
        logits = net(torch.empty(2, 3, 8, 8))
    assert logits.shape == (2, 7)
    assert sum(p.numel() for p in net.parameters()) == parameter_count(cell, Skeleton(**skeleton))


def test_numpy_integers_are_sizes():
    cell, sizes = cell_of([(0, 1), (1, 2)], CONV3X3), {"stem_channels": 4, "stacks": 2, "classes": 7}
    of_numpy = {name: np.int64(size) for name, size in sizes.items()}
    assert all(type(size) is int for size in vars(Skeleton(**of_numpy)).values())
    skeleton, other = Skeleton(**sizes), Skeleton(**of_numpy)
    found = multiply_adds(cell, other, np.int16(32))
    assert (type(found), found) == (int, multiply_adds(cell, skeleton))
    net = nb.build_network(cell, **of_numpy)
    assert sum(p.numel() for p in net.parameters()) == parameter_count(cell, other) == parameter_count(cell, skeleton)
    for wrong in (np.int64(0), np.float64(7), np.bool_(True)):
        with refuses(nb.InvalidInputError, "classes", "at least 1", repr(wrong)):
            nb.build_network(cell, classes=wrong)


def test_channels_are_divided_and_the_first_vertices_take_the_remainder():
    three = cell_of([(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)], *[CONV1X1] * 3).matrix.tolist()
    assert vertex_channels(three, 128) == [0, 43, 43, 42, 128]
    fed_by_a_wider_one = cell_of([(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)], *[CONV1X1] * 3).matrix.tolist()
    assert vertex_channels(fed_by_a_wider_one, 7) == [0, 4, 4, 3, 7]


def test_isomorphic_numberings_can_differ_and_nasbench101s_has_the_count_of_the_table():
    # Vertices with more channels are all convolutions in one numbering, but include a pooling in the other.
    edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]
    one, other = cell_of(edges, CONV3X3, CONV3X3, POOL), cell_of(edges, POOL, CONV3X3, CONV3X3)
    assert one == other
    assert parameter_count(one) != parameter_count(other)
    table, rng, as_given = nb.load_table(), np.random.default_rng(0), 0
    with torch.device("meta"):
        for _ in range(60):
            arch = nb.search_space("s2").sample(rng, loose_ends=True)
            own = nb.build_network(arch, numbering="nasbench101")
            official = table.query(arch).trainable_parameters
            assert sum(p.numel() for p in own.parameters()) == official == parameter_count(own.cell)
            as_given += parameter_count(arch) == official
    assert 0 < as_given < 60


# The forward pass -----------------------------------------------------------------------------------------------------


def naive_conv_bn_relu(x: torch.Tensor, state: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    weight = state[f"{name}.conv.weight"]
    x = F.conv2d(x, weight, padding=weight.shape[-1] // 2)
    mean, variance = (state[f"{name}.bn.running_{what}"][:, None, None] for what in ("mean", "var"))
    scale, shift = (state[f"{name}.bn.{what}"][:, None, None] for what in ("weight", "bias"))
    return ((x - mean) / (variance + 1e-5).sqrt() * scale + shift).clamp(min=0)


def naive_width(cell: nb.Cell, v: int, total: int) -> int:
    last = len(cell.ops) - 1
    feeding = np.flatnonzero(cell.matrix[1:-1, last]) + 1
    if v in feeding:
        return len(np.array_split(np.arange(total), len(feeding))[feeding.tolist().index(v)])
    return max(naive_width(cell, w, total) for w in range(v + 1, last) if cell.matrix[v, w])


def naive_cell(x: torch.Tensor, cell: nb.Cell, state: dict[str, torch.Tensor], name: str, total: int) -> torch.Tensor:
    """NAS-Bench-101's rules, vertex by vertex; `total` channels go to the output."""
    last, values, pieces = len(cell.ops) - 1, {0: x}, []
    for v in range(1, last):
        incoming = [values[u] for u in range(1, v) if cell.matrix[u, v]]
        if cell.matrix[0, v]:
            incoming.append(naive_conv_bn_relu(x, state, f"{name}.projections.{v}"))
        summed = torch.stack([tensor[:, : naive_width(cell, v, total)] for tensor in incoming]).sum(dim=0)
        if cell.ops[v] == POOL:
            padded = F.pad(summed, (1, 1, 1, 1), value=-torch.inf)
            values[v] = padded.unfold(2, 3, 1).unfold(3, 3, 1).amax(dim=(4, 5))
        else:
            values[v] = naive_conv_bn_relu(summed, state, f"{name}.convolutions.{v}")
        if cell.matrix[v, last]:
            pieces.append(values[v])
    projected = naive_conv_bn_relu(x, state, f"{name}.projections.{last}") if cell.matrix[0, last] else 0
    return (torch.cat(pieces, dim=1) if pieces else 0) + projected


def naive_network(images: torch.Tensor, net: nn.Module, cells_per_stack: int) -> torch.Tensor:
    state = net.state_dict()
    x = naive_conv_bn_relu(images, state, "stem")
    for i in range(3 * cells_per_stack):
        if i in (cells_per_stack, 2 * cells_per_stack):
            x = x.unfold(2, 2, 2).unfold(3, 2, 2).amax(dim=(4, 5))
        total = len(state["stem.conv.weight"]) * 2 ** (i // cells_per_stack)
        x = naive_cell(x, net.cell, state, f"cells.{i}", total)
    return x.mean(dim=(2, 3)) @ state["classifier.weight"].T + state["classifier.bias"]


def with_random_statistics(net: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            for tensor in (layer.running_mean, layer.bias.data):
                tensor.normal_(generator=generator)
            for tensor in (layer.running_var, layer.weight.data):
                tensor.uniform_(0.5, 2, generator=generator)
    return net


def assert_agrees_with_naive_network(cell: nb.Cell, stem_channels: int) -> None:
    generator = torch.Generator().manual_seed(0)
    net = build_network(cell, stem_channels=stem_channels, cells_per_stack=2, generator=generator)
    net = with_random_statistics(net).double().eval()
    images = torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=generator)
    with torch.no_grad():
        torch.testing.assert_close(net(images), naive_network(images, net, 2), rtol=1e-9, atol=1e-9)


def test_the_forward_pass_agrees_with_a_naive_implementation_on_real_cells(real):
    for i, stem_channels in zip(range(0, 27_001, 900), [8, 9, 10, 11] * 8, strict=False):
        assert_agrees_with_naive_network(real[0][i], stem_channels)


@settings(max_examples=25)
@given(any_cell())
def test_the_forward_pass_agrees_with_a_naive_implementation_on_cells_of_any_size(cell):
    assert_agrees_with_naive_network(cell, 11)


def test_images_of_odd_side_are_padded_as_in_tensorflow():
    net = build_network(cell_of([(0, 1)]), stem_channels=2, cells_per_stack=1).eval()
    sizes: list[int] = []
    for cell in net.cells:
        cell.register_forward_pre_hook(lambda module, inputs: sizes.append(inputs[0].shape[-1]))
    net(torch.zeros(1, 3, 31, 31))
    assert sizes == [31, 16, 8]


@pytest.mark.parametrize("side", [1, 6, 30, 31, 32])
def test_multiply_adds_are_those_of_a_forward_pass(side):
    cell = cell_of([(0, 1), (0, 2), (1, 3), (2, 3)], CONV3X3, CONV1X1)
    net = build_network(cell, stem_channels=4, cells_per_stack=2).eval()
    counted = count_flops(lambda: net(torch.zeros(1, 3, side, side))).forward / 2
    assert multiply_adds(cell, Skeleton(stem_channels=4, cells_per_stack=2), side) == counted


def test_gradients_reach_every_parameter_and_running_statistics_have_momentum_0_003():
    arch = nb.Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
    net = nb.build_network(arch, stem_channels=8, cells_per_stack=1)
    images = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    net(images).logsumexp(dim=1).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
    convolved = F.conv2d(images, net.stem.conv.weight, padding=1)
    torch.testing.assert_close(net.stem.bn.running_mean, 0.003 * convolved.mean(dim=(0, 2, 3)))
    torch.testing.assert_close(net.stem.bn.running_var, 0.997 + 0.003 * convolved.var(dim=(0, 2, 3)))
    assert {layer.eps for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)} == {1e-5}


# Initial weights ------------------------------------------------------------------------------------------------------


def test_initial_weights_follow_tensorflow():
    cell = cell_of([(0, 1), (1, 2), (2, 3)], CONV3X3, CONV1X1)
    net = build_network(cell, stem_channels=64, generator=torch.Generator().manual_seed(0))
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d) and layer.weight.numel() > 30_000:
            fan_in = layer.weight[0].numel()
            assert layer.weight.std().item() == pytest.approx(fan_in**-0.5, rel=0.02)
            assert abs(layer.weight.mean().item()) < 0.02 * fan_in**-0.5
            cut = 2 * fan_in**-0.5 / 0.8796256610342398
            assert layer.weight.abs().max().item() == pytest.approx(cut, rel=0.01)
            assert layer.weight.abs().max().item() <= cut * (1 + 1e-6)
        if isinstance(layer, nn.BatchNorm2d):
            assert (layer.weight == 1).all()
            assert (layer.bias == 0).all()
    bound = (6 / (256 + 10)) ** 0.5
    assert net.classifier.weight.abs().max().item() == pytest.approx(bound, rel=0.01)
    assert net.classifier.weight.abs().max().item() <= bound
    assert (net.classifier.bias == 0).all()


def test_the_generator_determines_the_weights():
    def weights(seed: int) -> torch.Tensor:
        net = build_network(cell_of([(0, 1)]), stem_channels=2, generator=torch.Generator().manual_seed(seed))
        return torch.cat([p.flatten() for p in net.parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


# Accepted and refused input -------------------------------------------------------------------------------------------


def test_any_object_with_matrix_and_ops_is_accepted_as_a_cell():
    cell = cell_of([(0, 1), (1, 2)], CONV3X3)
    spec = SimpleNamespace(matrix=cell.matrix, ops=list(cell.ops), valid_spec=True)
    assert parameter_count(spec) == parameter_count(cell)
    loose = SimpleNamespace(matrix=[[0, 1, 1, 0], [0, 0, 0, 1], [0] * 4, [0] * 4], ops=["input", CONV3X3, POOL, "o"])
    assert parameter_count(loose) == parameter_count(cell)


CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("x", "options", "values"),
    [
        (7, {}, "7"),
        ("a" * 32, {}, f"'{'a' * 32}' table.cell"),
        (str(nb.search_space("s1")[0]), {}, "nb.Architecture.parse(text)"),
        (SimpleNamespace(matrix=None, ops=None), {}, "output"),
        (SimpleNamespace(matrix=[[0, 0], [0, 0]], ops=["input", "output"]), {}, "output"),
        (SimpleNamespace(matrix=CHAIN, ops=["input", "conv7x7", "output"]), {}, "'conv7x7'"),
        (SimpleNamespace(matrix=[[0, 2], [0, 0]], ops=["input", "output"]), {}, "0 1"),
        (cell_of([(0, 1)]), {"stem_channels": 0}, "stem_channels 1 0"),
        (cell_of([(0, 1)]), {"stacks": 2.5}, "stacks 1 2.5"),
        (cell_of([(0, 1)]), {"stem_channels": 10**7}, f"stem_channels={10**7} stacks=3 cells_per_stack=3 memory"),
        (cell_of([(0, 1)]), {"stem_channels": 10**20}, f"stem_channels={10**20} stacks=3 cells_per_stack=3 memory"),
        (cell_of([(0, 1)]), {"stacks": 10**9}, f"stem_channels=128 stacks={10**9} cells_per_stack=3 memory"),
        (cell_of([(0, 1)]), {"classes": 10**20}, "classes 1,000,000"),
        (cell_of([(0, 1)]), {"numbering": "nasbench"}, "'nasbench101'"),
        (cell_of([(0, v) for v in range(1, 4)] + [(v, 4) for v in range(1, 4)], *[POOL] * 3), {"stem_channels": 2},
         "3 2"),
        (cell_of([(v, v + 1) for v in range(8)], *[POOL] * 7), {"numbering": "nasbench101"}, "NAS-Bench-101"),
    ],
)  # fmt: skip
def test_bad_input_is_reported_in_one_sentence(x, options, values):
    with refuses(nb.InvalidInputError, *values.split()):
        nb.build_network(x, **options)
