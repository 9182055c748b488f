"""Class scores of many architectures in a choice-block supernet; shared computations run once.

Only live blocks, chosen operations and needed projections are computed, without autograd. The stem is computed once per
batch of images. Every sub-graph of the first cell is computed once for all architectures that contain it. If batch-norm
has fixed statistics, it is folded into its convolution.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.supernet import CellStacks, ChoiceBlockCell, MixedOperation
from nasbench1shot1.supernets.group_statistics import channel_moments
from nasbench1shot1.supernets.layers import BatchNorm2d, ConvBNReLU, max_pool_3x3, total
from nasbench1shot1.supernets.supernet import Supernet

NodeKey = tuple[object, ...]
"""(node, operation, keys of the node's parents); (0,) for the cell's input."""

INPUT_KEY: NodeKey = (0,)


def node_keys(path: CellArchitecture) -> dict[int, NodeKey]:
    """Return the key of every live block; blocks with equal keys compute equal values from equal inputs."""
    keys = {0: INPUT_KEY}
    for node in path.live_blocks:
        parents = tuple(keys[parent] for parent in path.parents[node - 1])
        keys[node] = (node, path.operations[node - 1], parents)
    return keys


def path_key(path: CellArchitecture) -> NodeKey:
    """Return the key of a path; paths with equal keys differ only in loose ends."""
    keys = node_keys(path)
    return tuple(keys[parent] for parent in path.parents[-1])


def sharing_key(path: CellArchitecture) -> tuple[object, ...]:
    """Return the key by which paths are sorted so that consecutive paths share as many first blocks as possible.

    Paths that differ only in loose ends have equal keys: a loose end counts as if it had its lowest-indexed parents and
    operation 0, as in the kind "no_loose_ends".
    """
    live = {*path.live_blocks, len(path.parents)}
    choices = zip(path.parents, (*path.operations, 0), strict=True)
    return tuple(
        choice if node in live else (tuple(range(len(choice[0]))), 0) for node, choice in enumerate(choices, start=1)
    )


def sort_paths(paths: Iterable[CellArchitecture]) -> Sequence[tuple[NodeKey, CellArchitecture]]:
    """Return one path per key (`path_key`), sorted by `sharing_key`."""
    distinct = {path_key(path): path for path in paths}
    return sorted(distinct.items(), key=lambda item: sharing_key(item[1]))


# Layers of paths without autograd: batch-norm uses statistics of the pass, or is folded into the convolution ----------


Affine = tuple[Tensor, Tensor]
"""The affine map of a batch-norm with fixed statistics: a factor (C,) and a term (C,), one per channel."""


@dataclass(frozen=True)
class Maps:
    """Feature maps with all or some channels of a cell's output.

    Attributes:
        x: (N, channels, H, W) feature maps.
        columns: int64 (channels,), the positions of these channels in the cell's output; all other channels are zero.
            None if all channels are present.
    """

    x: Tensor
    columns: Tensor | None = None

    def weight(self, conv: nn.Conv2d) -> Tensor:
        """Return the weight of a convolution for the channels that are present."""
        return conv.weight if self.columns is None else conv.weight.index_select(1, self.columns)


class PathLayers(Protocol):
    """The interface for computing the layers of paths."""

    dtype: torch.dtype

    def conv_bn_relu(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> Tensor:
        """Return the layer's output, (N, out_channels, H, W); `key` identifies the input."""

    def features(self, net: Supernet, key: Hashable, maps: Maps) -> Tensor:
        """Return the classifier's input, (N, channels): the average of the head's output over pixels."""


@dataclass
class MeasuredLayers:
    """Layers whose batch-norm normalises by the statistics of the images in the pass.

    Attributes:
        dtype: data type of the feature maps.
        kept: receives the affine map of each batch-norm by (layer, key), for `FoldedLayers`; None keeps nothing.
    """

    dtype: torch.dtype
    kept: dict[tuple[BatchNorm2d, Hashable], Affine] | None = None

    def conv_bn_relu(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> Tensor:
        """Convolve, measure the statistics, normalise and apply ReLU."""
        x = F.conv2d(maps.x, maps.weight(layer.conv).to(self.dtype), padding=layer.conv.padding)
        mean, variance = self._measured(layer.bn, key, x)
        norm = layer.bn
        return F.batch_norm(x, mean, variance, norm.weight, norm.bias, training=False, eps=norm.eps).relu_()

    def features(self, net: Supernet, key: Hashable, maps: Maps) -> Tensor:
        """Convolve, measure the statistics, then normalise the averages, because batch-norm is an affine map."""
        x = F.conv2d(maps.x, maps.weight(net.head).to(self.dtype))
        mean, variance = self._measured(net.head_bn, key, x)
        factor, term = affine(net.head_bn, mean, variance)
        return _average(x, factor) * factor + term

    def _measured(self, norm: BatchNorm2d, key: Hashable, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, variance = channel_moments(x)
        if self.kept is not None:
            self.kept[norm, key] = affine(norm, mean, variance)
        return mean, variance


@dataclass
class FoldedLayers:
    """Layers whose batch-norm has fixed statistics and is folded into its convolution.

    Attributes:
        dtype: data type of the feature maps.
        affine_of: function that returns the affine map of a batch-norm by (layer, key).
        varies: whether the affine map of a layer depends on the key. If not, each layer is folded once.
    """

    dtype: torch.dtype
    affine_of: Callable[[BatchNorm2d, Hashable], Affine]
    varies: bool
    _folded: dict[Hashable, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def conv_bn_relu(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> Tensor:
        """Convolve with folded weights and apply ReLU."""
        weight, term = self._weights(layer, key, maps)
        return F.conv2d(maps.x, weight, term, padding=layer.conv.padding).relu_()

    def features(self, net: Supernet, key: Hashable, maps: Maps) -> Tensor:
        """Average over pixels, then convolve and normalise, because the head has only affine maps."""
        factor, term = self.affine_of(net.head_bn, key)
        weight = maps.weight(net.head).flatten(1)
        return F.linear(_average(maps.x, weight), weight) * factor + term

    def _weights(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> tuple[Tensor, Tensor]:
        if self.varies or maps.columns is not None:
            return self._fold(layer, key, maps)
        if layer not in self._folded:
            self._folded[layer] = self._fold(layer, key, maps)
        return self._folded[layer]

    def _fold(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> tuple[Tensor, Tensor]:
        factor, term = self.affine_of(layer.bn, key)
        return (maps.weight(layer.conv) * factor[:, None, None, None]).to(self.dtype), term.to(self.dtype)


def affine(norm: BatchNorm2d, mean: Tensor, variance: Tensor) -> Affine:
    """Return the affine map of a batch-norm with the given statistics, (C,) each."""
    factor = torch.rsqrt(variance + norm.eps)
    if not norm.affine:
        return factor, -mean * factor
    factor = factor * norm.weight
    return factor, norm.bias - mean * factor


def running_affine(norm: BatchNorm2d, key: Hashable) -> Affine:
    """Return the affine map of a batch-norm with its running statistics; the key is ignored."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return affine(norm, norm.running_mean, norm.running_var)


def _average(x: Tensor, like: Tensor) -> Tensor:
    """Return the mean of every channel over pixels, (N, C), in the data type of `like`."""
    return x.mean(dim=(2, 3), dtype=like.dtype)


# Computation of a choice-block cell along one path --------------------------------------------------------------------


def cell_output(cell: Any, path: CellArchitecture, key: Hashable, maps: Maps, layers: PathLayers) -> Maps:
    """Return the output of a cell along a path, as in `ChoiceBlockCell.forward`, but without channels that are zero.

    Args:
        cell: the cell.
        path: the architecture.
        key: the key under which batch-norm statistics are looked up, or stored after they are measured.
        maps: the cell's input.
        layers: object that computes layers.
    """
    assert isinstance(cell, ChoiceBlockCell)
    outputs: dict[int, Tensor] = {}
    projections: Any = cell.projections
    for node in path.live_blocks:
        inputs = [
            outputs[parent] if parent else layers.conv_bn_relu(projections[node - 1], key, maps)
            for parent in path.parents[node - 1]
        ]
        outputs[node] = block_output(cell.blocks[node - 1], path.operations[node - 1], key, total(inputs), layers)
    taken = path.parents[-1]
    if taken[0] > 0:
        x = torch.cat([outputs[node] for node in taken], dim=1) if taken[1:] else outputs[taken[0]]
        return Maps(x, channel_indices(cell, taken, x.device))
    x = layers.conv_bn_relu(projections[-1], key, maps)
    width = cell.out_channels // len(cell.blocks)
    for node in taken[1:]:
        x.narrow(1, (node - 1) * width, width).add_(outputs[node])
    return Maps(x)


def block_output(block: Any, operation: int, key: Hashable, x: Tensor, layers: PathLayers) -> Tensor:
    """Return the output of one operation of a block, (N, C, H, W)."""
    assert isinstance(block, MixedOperation)
    if operation == 2:
        return block.apply_to_visible(x, max_pool_3x3)
    layer = (block.conv3x3, block.conv1x1)[operation]
    return block.apply_to_visible(x, lambda seen: layers.conv_bn_relu(layer, key, Maps(seen)))


def channel_indices(cell: ChoiceBlockCell, nodes: tuple[int, ...], device: torch.device) -> Tensor:
    """Return the positions of the channels of the given blocks in a cell's output, int64."""
    width = cell.out_channels // len(cell.blocks)
    return torch.cat([torch.arange((node - 1) * width, node * width, device=device) for node in nodes])


# The first cell of many architectures: each sub-graph is computed once while its output is cached ---------------------


CACHE_BYTES = 2**29  # size of the cache for feature maps of the first cell


class TensorCache:
    """A least-recently-used cache of tensors, up to a number of bytes; it always keeps the newest tensor."""

    def __init__(self, most_bytes: int) -> None:
        self._tensors: OrderedDict[Hashable, Tensor] = OrderedDict()
        self._most_bytes, self._bytes = most_bytes, 0

    def get(self, key: Hashable, compute: Callable[[], Tensor]) -> Tensor:
        """Return the tensor of a key; compute it if it is not in the cache."""
        if key in self._tensors:
            self._tensors.move_to_end(key)
            return self._tensors[key]
        tensor = self._tensors[key] = compute()
        self._bytes += tensor.nbytes
        while self._bytes > self._most_bytes and len(self._tensors) > 1:
            self._bytes -= self._tensors.popitem(last=False)[1].nbytes
        return tensor


class FirstCell:
    """The first cell on one batch of images.

    The input of the cell is the stem's output, which does not depend on the architecture. The output of a block only
    depends on its own sub-graph.

    Args:
        net: a supernet of choice blocks.
        layers: object that computes the layers.
        images: (N, 3, H, W) normalised images.
    """

    def __init__(self, net: Supernet, layers: PathLayers, images: Tensor) -> None:
        cell, stem = net.cells[0], net.stem
        assert isinstance(cell, ChoiceBlockCell)
        assert isinstance(stem, ConvBNReLU)
        self._net, self._cell, self._layers = net, cell, layers
        self._input = Maps(layers.conv_bn_relu(stem, None, Maps(images.to(layers.dtype))))
        self._cache = TensorCache(CACHE_BYTES)

    def output(self, keys: tuple[Any, ...]) -> Maps:
        """Return the input of the second cell if the first cell's output concatenates the nodes with these keys."""
        taken = {key[0]: key for key in keys}
        with_shortcut = 0 in taken
        nodes = range(1, len(self._cell.blocks) + 1) if with_shortcut else sorted(taken)
        pieces = [self._piece(node, taken.get(node), with_shortcut) for node in nodes]
        x = torch.cat(pieces, dim=1) if pieces[1:] else pieces[0]
        return Maps(x, None if with_shortcut else channel_indices(self._cell, tuple(nodes), x.device))

    def _piece(self, node: int, key: Any, with_shortcut: bool) -> Tensor:
        """Return one block's channels of the second cell's input."""
        return self._cache.get(("piece", node, key, with_shortcut), lambda: self._make_piece(node, key, with_shortcut))

    def _make_piece(self, node: int, key: Any, with_shortcut: bool) -> Tensor:
        if not with_shortcut:
            x = self._node(key)
        else:
            shortcut = self._projection(len(self._cell.blocks) + 1)
            width = shortcut.shape[1] // len(self._cell.blocks)
            x = shortcut.narrow(1, (node - 1) * width, width)
            x = x if key is None else x + self._node(key)
        return self._net.cell_input(x, 1)

    def _node(self, key: Any) -> Tensor:
        """Return the output of a block."""
        return self._cache.get(key, lambda: self._make_node(key))

    def _make_node(self, key: Any) -> Tensor:
        node, operation, parents = key
        inputs = [self._projection(node) if of == INPUT_KEY else self._node(of) for of in parents]
        return block_output(self._cell.blocks[node - 1], operation, key, total(inputs), self._layers)

    def _projection(self, node: int) -> Tensor:
        layer: Any = self._cell.projections[node - 1]
        return self._cache.get(("input", node), lambda: self._layers.conv_bn_relu(layer, None, self._input))


class ChoiceBlockPaths:
    """Class scores of paths (`SharedPasses`). On a CPU, they do not depend on the other paths or on their order.

    Args:
        net: a supernet for which `supports` returns True; it is not modified.
        paths: A architectures, which are not checked to be in the space.
        batch_norm: "batch", "running" or "recalibrated", as in `SharedWeights`.
        reference: function that returns the images (N, 3, H, W) on which recalibrated statistics are measured.
        precision: "float32" or "bfloat16".
    """

    IMAGES_AT_ONCE = 128

    @staticmethod
    def supports(net: Supernet) -> bool:
        """Return whether a supernet is on a CPU, and its skeleton and cells are this package's, not subclasses."""
        is_on_cpu = net.classifier.weight.device.type == "cpu"  # a GPU computes several passes at once instead
        return is_on_cpu and type(net.skeleton) is CellStacks and all(type(c) is ChoiceBlockCell for c in net.cells)

    @staticmethod
    def sharing_key(path: CellArchitecture) -> tuple[object, ...]:
        """Return the key in whose order consecutive architectures share as many computations as possible."""
        return sharing_key(path)

    def __init__(
        self,
        net: Supernet,
        paths: Sequence[CellArchitecture],
        batch_norm: str,
        reference: Callable[[], Tensor],
        precision: str = "float32",
    ) -> None:
        self._net, self._ordered = net, sort_paths(paths)
        self._positions: dict[NodeKey, list[int]] = {}
        for position, path in enumerate(paths):
            self._positions.setdefault(path_key(path), []).append(position)
        self._dtype = torch.bfloat16 if precision == "bfloat16" else net.classifier.weight.dtype
        self._layers = self._prepare_layers(batch_norm, reference)

    @torch.no_grad()
    def logits(self, images: Tensor) -> Iterator[tuple[list[int], Tensor]]:
        """Yield, for every distinct path, its positions in `paths` and its class scores (N, classes), float32.

        With batch-norm "batch", `images` (N, 3, H, W) are normalised by their own statistics. Otherwise the class
        scores of an image do not depend on other images.
        """
        for key, features in self._features(images, self._layers):
            yield self._positions[key], self._net.classifier(features).float()

    @torch.no_grad()
    def _prepare_layers(self, batch_norm: str, reference: Callable[[], Tensor]) -> PathLayers:
        """Return the layers; for recalibrated statistics, the reference images pass through the network first."""
        if batch_norm == "batch":
            return MeasuredLayers(self._dtype)
        if batch_norm == "running":
            return FoldedLayers(self._dtype, running_affine, varies=False)
        kept: dict[tuple[BatchNorm2d, Hashable], Affine] = {}
        for _ in self._features(reference(), MeasuredLayers(self._dtype, kept)):
            pass
        return FoldedLayers(self._dtype, lambda norm, key: kept[norm, key], varies=True)

    def _features(self, images: Tensor, layers: PathLayers) -> Iterator[tuple[NodeKey, Tensor]]:
        """Yield the classifier's input for every distinct path."""
        net, first = self._net, FirstCell(self._net, layers, images)
        for key, path in self._ordered:
            maps = first.output(key)
            for i in range(1, len(net.cells)):
                if i > 1:
                    maps = replace(maps, x=net.cell_input(maps.x, i))
                maps = cell_output(net.cells[i], path, key, maps, layers)
            yield key, layers.features(net, key, maps)
