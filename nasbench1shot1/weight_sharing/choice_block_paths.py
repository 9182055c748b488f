"""Class scores of many architectures in a supernet of choice blocks; what they have in common is computed once.

Only live blocks, chosen operations and needed projections are computed, without autograd. The stem is computed once per
batch of images, and every sub-graph of the first cell once for all architectures that contain it. Where batch-norm has
fixed statistics, it is folded into its convolution.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.layers import BatchNorm2d
from nasbench1shot1.supernet import Supernet
from nasbench1shot1.supernets.choice_blocks import ChoiceBlockCell
from nasbench1shot1.weight_sharing.first_cell import FirstCell
from nasbench1shot1.weight_sharing.path_layers import Affine, FoldedLayers, MeasuredLayers, PathLayers, running_affine
from nasbench1shot1.weight_sharing.path_operations import cell_output
from nasbench1shot1.weight_sharing.subgraphs import NodeKey, ordered, path_key

IMAGES_AT_ONCE = 128  # where batch-norm has fixed statistics; larger feature maps leave a CPU's cache


def is_known(net: Supernet) -> bool:
    """Return whether all cells of a supernet are this package's choice-block cells, and none is a subclass."""
    return all(type(cell) is ChoiceBlockCell for cell in net.cells)


class ChoiceBlockPaths:
    """Class scores of paths; each score depends neither on the other paths nor on their order, bit for bit on a CPU.

    Args:
        net: a supernet for which `is_known` holds. It does not change.
        paths: A architectures; whether they are in the space is not checked.
        batch_norm: "batch", "running" or "recalibrated", as in `SharedWeights`.
        reference: returns the images (N, 3, H, W) that recalibrated statistics are measured on.
        precision: "float32" or "bfloat16".
    """

    def __init__(
        self,
        net: Supernet,
        paths: Sequence[Architecture],
        batch_norm: str,
        reference: Callable[[], Tensor],
        precision: str = "float32",
    ) -> None:
        self._net, self._ordered = net, ordered(paths)
        self._positions: dict[NodeKey, list[int]] = {}
        for position, path in enumerate(paths):
            self._positions.setdefault(path_key(path), []).append(position)
        self._dtype = torch.bfloat16 if precision == "bfloat16" else net.classifier.weight.dtype
        self._layers = self._prepared(batch_norm, reference)

    @torch.no_grad()
    def logits(self, images: Tensor) -> Iterator[tuple[list[int], Tensor]]:
        """Iterate over distinct paths: their positions in `paths`, and their class scores (N, classes), float32.

        With batch-norm "batch", `images` (N, 3, H, W) are normalised by their own statistics. Otherwise the class
        scores of an image depend on no other image.
        """
        for key, features in self._features(images, self._layers):
            yield self._positions[key], self._net.classifier(features).float()

    @torch.no_grad()
    def _prepared(self, batch_norm: str, reference: Callable[[], Tensor]) -> PathLayers:
        """How layers are computed, after the reference images have passed if statistics are recalibrated."""
        if batch_norm == "batch":
            return MeasuredLayers(self._dtype)
        if batch_norm == "running":
            return FoldedLayers(self._dtype, running_affine, varies=False)
        kept: dict[tuple[BatchNorm2d, Hashable], Affine] = {}
        for _ in self._features(reference(), MeasuredLayers(self._dtype, kept)):
            pass
        return FoldedLayers(self._dtype, lambda norm, key: kept[norm, key], varies=True)

    def _features(self, images: Tensor, layers: PathLayers) -> Iterator[tuple[NodeKey, Tensor]]:
        """What the classifier reads under every distinct path."""
        net, first = self._net, FirstCell(self._net, layers, images)
        for key, path in self._ordered:
            maps = first.output(key)
            for i in range(1, len(net.cells)):
                if i > 1:
                    maps = replace(maps, x=net.halved(maps.x, i))
                maps = cell_output(net.cells[i], path, key, maps, layers)
            yield key, layers.features(net, key, maps)
