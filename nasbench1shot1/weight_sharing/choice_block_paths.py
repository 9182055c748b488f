"""Class scores of many architectures in a choice-block supernet; shared computations run once.

Only live blocks, chosen operations and needed projections are computed, without autograd. The stem is computed once per
batch of images. Every sub-graph of the first cell is computed once for all architectures that contain it. If batch-norm
has fixed statistics, it is folded into its convolution.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.supernet import Supernet
from nasbench1shot1.supernets.choice_blocks import ChoiceBlockCell
from nasbench1shot1.supernets.layers import BatchNorm2d
from nasbench1shot1.supernets.skeletons import CellStacks
from nasbench1shot1.weight_sharing.first_cell import FirstCell
from nasbench1shot1.weight_sharing.path_layers import Affine, FoldedLayers, MeasuredLayers, PathLayers, running_affine
from nasbench1shot1.weight_sharing.path_operations import cell_output
from nasbench1shot1.weight_sharing.subgraphs import NodeKey, path_key, sort_paths

IMAGES_AT_ONCE = 128  # with fixed batch-norm statistics; larger feature maps do not fit into a CPU's cache


def is_supported(net: Supernet) -> bool:
    """Return whether the skeleton and cells of a supernet are this package's classes, not subclasses."""
    return type(net.skeleton) is CellStacks and all(type(cell) is ChoiceBlockCell for cell in net.cells)


class ChoiceBlockPaths:
    """Class scores of paths. On a CPU, they are bit-identical for any other paths and any order.

    Args:
        net: a supernet for which `is_supported` returns True; it is not modified.
        paths: A architectures, which are not checked to be in the space.
        batch_norm: "batch", "running" or "recalibrated", as in `SharedWeights`.
        reference: function that returns the images (N, 3, H, W) on which recalibrated statistics are measured.
        precision: "float32" or "bfloat16".
    """

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
