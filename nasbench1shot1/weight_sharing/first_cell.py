"""The first cell of many architectures: each sub-graph is computed once while its output is cached."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.supernet import Supernet
from nasbench1shot1.supernets.choice_blocks import ChoiceBlockCell
from nasbench1shot1.weight_sharing.path_layers import Maps, PathLayers
from nasbench1shot1.weight_sharing.path_operations import block_output, channel_indices, total
from nasbench1shot1.weight_sharing.subgraphs import INPUT_KEY

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
        cell = net.cells[0]
        assert isinstance(cell, ChoiceBlockCell)
        self._net, self._cell, self._layers = net, cell, layers
        self._input = Maps(layers.conv_bn_relu(net.stem, None, Maps(images.to(layers.dtype))))
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
