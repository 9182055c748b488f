"""The supernet: a network in which each discrete sub-network is an architecture of the space."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.arguments import check_torch_generator
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import OneShotSpace, SearchSpace, Weights, as_one_shot, check_keys
from nasbench1shot1.supernets.layers import BatchNorm2d, initialise
from nasbench1shot1.supernets.presets import Preset, as_preset
from nasbench1shot1.supernets.skeletons import resolve_class, skeleton_class

CELLS = {
    "choice-block": "nasbench1shot1.nasbench101.supernet:ChoiceBlockCell",
    "nasbench201": "nasbench1shot1.nasbench201.supernet:EdgeCell",
    "nasbench201-affine": "nasbench1shot1.nasbench201.supernet:AffineEdgeCell",
}
"""Short names of cells as module:class; a space's `cell_kind` is one of them, or itself a module:class."""


class SupernetCell(Protocol):
    """The interface of cells: an `nn.Module` made with (space, in_channels, channels, preset, partial_channels)."""

    out_channels: int

    def __call__(
        self,
        x: Tensor,
        mixing: Mapping[str, Tensor] | None,
        operations: Sequence[int] | None,
        path: Architecture | None,
    ) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H, W), with mixing weights that have the space's keys.

        With `path`, only the parts of that architecture are computed; without mixing weights, they are not scaled.
        """

    def check_operations(self, operations: Sequence[int]) -> None:
        """Raise InvalidInputError if these cannot be the operations of a single path."""

    @staticmethod
    def as_evaluated(one_hot: Mapping[str, Tensor], preset: Preset) -> dict[str, Tensor]:
        """Return the mixing weights that evaluate discrete architectures, from the result of `OneShotSpace.one_hot`."""


class Supernet(nn.Module):
    """A weight-sharing network of cells in its space's skeleton: stem, three stacks of cells, average, classifier.

    The supernet does not own architecture parameters: it applies the mixing weights that it receives to all cells.
    Between stacks, the image is halved and the number of channels doubles (NAS-Bench-1Shot1, section 3; NAS-Bench-101,
    section 2.1; NAS-Bench-201, section 3). Every projection and operation has one parameter tensor.

    Args:
        space: the search space; `forward` expects mixing weights with its `mixing_shapes()`.
        channels: number of channels of the stem and of every block in the first stack.
        cells: number of cells, 9 in the paper; stacks end before cells `cells // 3` and `2 * cells // 3`.
        preset: "corrected", "original", or another `Preset`.
        classes: number of classes.
        partial_channels: k; operations see 1/k of a block's channels (PC-DARTS: 4). 1 means all channels.
        generator: draws the initial weights. Default: PyTorch's global generator.

    Raises:
        InvalidInputError: the preset is unknown, the space has no mixing weights, its cell cannot be found, `channels`
            is not a multiple of `partial_channels`, or there is less than one channel or cell.
    """

    classifier: nn.Linear
    head: nn.Conv2d  # this and the next only in the skeleton `CellStacks`
    head_bn: BatchNorm2d

    def __init__(
        self,
        space: SearchSpace,
        channels: int = 16,
        cells: int = 9,
        preset: str | Preset = "corrected",
        classes: int = 10,
        generator: torch.Generator | None = None,
        partial_channels: int = 1,
    ) -> None:
        super().__init__()
        if generator is not None:
            check_torch_generator(generator)
        if not all(isinstance(number, int | np.integer) and number >= 1 for number in (channels, cells)):
            raise InvalidInputError(f"a supernet needs at least 1 channel and 1 cell, not {channels!r} and {cells!r}")
        self.space, self.preset = as_one_shot(space), as_preset(preset)
        self.skeleton = skeleton_class(self.space)(channels, cells, self.preset)
        self._mixing_shapes = self.space.mixing_shapes()
        self._cell_class = cell_class(self.space)
        self.stem = self.skeleton.stem()
        self.cells, self.reductions = nn.ModuleList(), nn.ModuleDict()
        width = channels
        for i in range(cells):
            if i in self.skeleton.starts:
                channels *= 2
                self.reductions[str(i)] = self.skeleton.reduction(width, channels)
                width = self.skeleton.reduced(width, channels)
            cell = self._cell_class(space, width, channels, self.preset, partial_channels)
            self.cells.append(cell)
            width = cell.out_channels
        for name, layer in self.skeleton.head(width, channels, classes).items():
            self.add_module(name, layer)
        if generator is not None:
            initialise(self, generator)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(
        self,
        images: Tensor,
        mixing: Weights | Architecture | Sequence[Weights],
        operations: Sequence[int] | Sequence[Sequence[int]] | None = None,
        path: Architecture | None = None,
    ) -> Tensor:
        """Return class scores of images with mixing weights, or of a single architecture.

        Args:
            images: (N, 3, H, W) normalised images.
            mixing: a tensor or array for every key of `space.mixing_shapes()`, with that shape or, to compute
                different architectures in one batch, with an additional leading dimension N. `torch.compile` requires
                tensors. In a list of mappings, cell i uses mapping i modulo the length of the list. With an
                Architecture, only its live blocks, their operations and the needed projections are computed, without
                scaling.
            operations: for methods that sample operations, the operation to compute in every block, as Python integers
                (a list of sequences if `mixing` is a list). Its output is still scaled by its weight in `mixing`, so
                that the weight has a gradient.
            path: an architecture to compute alone, scaled by its entries in `mixing`.

        Returns:
            (N, classes) logits.

        Raises:
            InvalidInputError: mixing weights have wrong keys or shapes, the cell does not have the operations, or the
                architecture is not in the space; not checked inside `torch.compile`.
        """
        if isinstance(mixing, Architecture):
            self.space.index(mixing)
            per_cell: list[Any] = [(None, None, mixing)]
        else:
            per_cell = self._arguments_per_cell(images, mixing, operations, path)
        x = self.stem(images)
        for i, cell in enumerate(self.cells):
            x = cell(self.cell_input(x, i), *per_cell[i % len(per_cell)])
        logits: Tensor = self.skeleton.classify(self, x)
        return logits

    def cell_input(self, x: Tensor, cell: int) -> Tensor:
        """Return the input of a cell from the previous output: at half the size between stacks, else unchanged."""
        reduced: Tensor = self.reductions[str(cell)](x) if str(cell) in self.reductions else x
        return reduced

    def _arguments_per_cell(self, images: Tensor, mixing: Any, operations: Any, path: Architecture | None) -> list[Any]:
        """Check and return the arguments of the cells, (mixing, operations, path), which the cells use in turn."""
        several = isinstance(mixing, list | tuple)
        mixings = list(mixing) if several else [mixing]
        sampled = list(operations) if several and operations is not None else [operations] * len(mixings)
        if not mixings or len(mixings) != len(sampled):
            raise InvalidInputError(
                f"{len(mixings)} sets of mixing weights and {len(sampled)} of operations: give at least one set of "
                "mixing weights, and as many of operations or none"
            )
        if not torch.compiler.is_compiling():
            mixings = [self._checked_mixing(of_cell, images) for of_cell in mixings]
            for of_cell in sampled:
                if of_cell is not None:
                    self.cells[0].check_operations(of_cell)  # type: ignore[operator]
            if path is not None:
                self.space.index(path)
        return [(*both, path) for both in zip(mixings, sampled, strict=True)]

    def discrete_mixing(self, architectures: Architecture | Sequence[Architecture]) -> dict[str, Tensor]:
        """Return the mixing weights with which this supernet evaluates discrete architectures, given its preset.

        Args:
            architectures: one (weights of `mixing_shapes()`), or a sequence of N (weights with a leading N).

        Raises:
            InvalidInputError: an architecture is not in the space, or the sequence is empty.
        """
        device = self.classifier.weight.device
        if isinstance(architectures, Architecture):
            return {key: value[0] for key, value in self.discrete_mixing([architectures]).items()}
        one_hot = [self.space.one_hot(arch) for arch in architectures]
        if not one_hot:
            raise InvalidInputError("there is no architecture to mix weights for: give at least one")
        stacked = {
            key: torch.stack([torch.from_numpy(weights[key]) for weights in one_hot]).to(device) for key in one_hot[0]
        }
        evaluated: dict[str, Tensor] = self._cell_class.as_evaluated(stacked, self.preset)
        return evaluated

    def _checked_mixing(self, mixing: Weights, images: Tensor) -> dict[str, Tensor]:
        """Return mixing weights as tensors; only keys and shapes are checked, which does not synchronise a device."""
        shapes = self._mixing_shapes
        check_keys("mixing weights of the supernet", mixing, shapes)
        tensors = {key: _as_tensor(key, mixing[key], images) for key in shapes}
        for key, shape in shapes.items():
            if tensors[key].shape not in (shape, (len(images), *shape)):
                raise InvalidInputError(
                    f"mixing weights '{key}' have shape {tuple(tensors[key].shape)}: give {shape}, "
                    f"or {(len(images), *shape)} for one set per image"
                )
        return tensors


def cell_class(space: OneShotSpace) -> Any:
    """Return the class that a space's `cell_kind` names; raises InvalidInputError if it cannot be imported."""
    return resolve_class(space.cell_kind, CELLS, "cell", space.name)


def _as_tensor(key: str, values: Any, images: Tensor) -> Tensor:
    if isinstance(values, Tensor):
        return values
    try:
        return torch.tensor(values, dtype=torch.promote_types(images.dtype, torch.float32), device=images.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"mixing weights '{key}' are not an array of numbers ({error})") from error


def to_tensors(mixing: Weights, device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Convert arrays, such as the result of `OneShotSpace.one_hot`, to float32 tensors on a device."""
    return {key: torch.as_tensor(value, dtype=torch.float32, device=device) for key, value in mixing.items()}
