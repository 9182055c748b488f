"""The supernet: a network in which each discrete sub-network is an architecture of the space."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.benchmark import CellFeature, load
from nasbench1shot1.ground.arguments import check_torch_generator
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.networks import network_size
from nasbench1shot1.runs.machine import within_memory
from nasbench1shot1.space import OneShotSpace, Place, SearchSpace, Weights, as_one_shot, check_keys
from nasbench1shot1.supernets.layers import BatchNorm2d, Mixture, Observer, initialise, set_affine
from nasbench1shot1.supernets.places import Skeleton
from nasbench1shot1.supernets.presets import Preset, as_preset

OF_MIXTURES: tuple[CellFeature, ...] = ("auxiliary-skip", "weights-of-operations", "partial-channels")
"""Features of cells that contain a `Mixture`."""


class SupernetCell(Protocol):
    """The interface of cells: an `nn.Module` made with (space, place, preset, partial_channels).

    What cells can do beyond this is declared as `Benchmark.cell_features`, or as `cell_features` of a space with cells
    of its own (`benchmark.CELL_FEATURES`).
    """

    def __init__(self, space: Any, place: Place, preset: Preset, partial_channels: int) -> None:
        """Build the cell of a place; raises InvalidInputError if it cannot have the place's numbers of channels."""

    def __call__(
        self,
        x: Tensor,
        mixing: Mapping[str, Tensor] | None,
        operations: Sequence[int | tuple[int, ...]] | None,
        path: Architecture | None,
    ) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H, W), with the mixing weights that reach this place.

        With `path`, only the parts of that architecture are computed; without mixing weights, they are not scaled.
        Cells with the feature "masked-edges" also accept a fifth argument: `edges` of `Supernet.forward`.
        """

    @staticmethod
    def output_width(space: Any, in_channels: int, channels: int) -> int:
        """Return the number of output channels, given the input channels and the width of the stage."""

    @staticmethod
    def as_evaluated(one_hot: Mapping[str, Tensor], preset: Preset) -> dict[str, Tensor]:
        """Return the mixing weights that evaluate discrete architectures, from the result of `OneShotSpace.one_hot`."""


class Supernet(nn.Module):
    """A weight-sharing network: the places of its space's skeleton, from the stem through all cells to the classifier.

    The supernet does not own architecture parameters: it applies the mixing weights that it receives to the places that
    they reach (`OneShotSpace.is_mixed`), by default to all cells. Every projection and operation has one parameter
    tensor. `supernets/__init__.py` explains the ways in which a cell is computed.

    Attributes:
        places: all places in the order of the forward pass, for images of 32 × 32 pixels.
        partial_channels: as the argument; `supernets.widening` can change it.

    Args:
        space: the search space; `forward` expects mixing weights with its `mixing_shapes()`.
        channels: width of the first stage: number of channels of the stem and of every block of a cell.
        cells: number of cells, 9 in NAS-Bench-1Shot1.
        preset: "corrected", "original", or another `Preset`.
        classes: number of classes.
        partial_channels: k; operations see 1/k of a block's channels (PC-DARTS: 4). 1 means all channels.
        generator: draws the initial weights. Default: PyTorch's global generator.

    Raises:
        InvalidInputError: the preset is unknown, the space has no mixing weights, its cell cannot be found or lacks
            what a declared feature needs, `channels` is not a multiple of `partial_channels`, a number is not a whole
            number of at least 1, there are more than a million classes, or there is too little memory for the weights.
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
        channels, cells = network_size("channels", channels), network_size("cells", cells)
        classes = network_size("classes", classes)
        partial_channels = network_size("partial_channels", partial_channels)
        self.space, self.preset, self.partial_channels = as_one_shot(space), as_preset(preset), partial_channels
        self.skeleton = make_skeleton(self.space, channels, cells, self.preset)
        self._cell_class = cell_class(self.space)
        self._mixing_shapes = self.space.mixing_shapes()
        with within_memory("a supernet", cells, channels=channels, cells=cells):
            self.places = tuple(places_of(self.space, self.skeleton))
            first, *inner, last = self.places
            self.stem = self.skeleton.layer(first)
            self.cells, self.reductions = nn.ModuleList(), nn.ModuleDict()
            for place in inner:
                if place.kind == "reduction":
                    self.reductions[str(place.number)] = self.skeleton.layer(place)
                else:
                    self.cells.append(self._cell_class(self.space, place, self.preset, partial_channels))
            _check_features(self.space, self.mixtures)
            for name, layer in self.skeleton.head(last, classes).items():
                self.add_module(name, layer)
        if self.preset.batch_norm_affine is not None:
            set_affine(self, self.preset.batch_norm_affine)
        if generator is not None:
            initialise(self, generator)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @cached_property
    def _smallest_side(self) -> int:
        """The smallest height and width of images, in pixels, for which all reductions have an output."""
        return math.prod(place.stride for place in self.places)

    def forward(
        self,
        images: Tensor,
        mixing: Weights | Architecture | Sequence[Weights],
        operations: Sequence[Any] | None = None,
        path: Architecture | None = None,
        edges: Mapping[str, Sequence[int]] | None = None,
    ) -> Tensor:
        """Return class scores of images with mixing weights, or of a single architecture.

        Args:
            images: (N, 3, H, W) normalised images.
            mixing: a tensor or array for every key of `space.mixing_shapes()`, with that shape or, to compute
                different architectures in one batch, with an additional leading dimension N. `torch.compile` requires
                tensors. In a list of mappings, the mixed place i uses mapping i modulo the length of the list. With an
                Architecture, only its live parts are computed, without scaling.
            operations: for methods that sample or exclude operations, the operation to compute for every row of the
                space's `operation_key`, or a tuple of operations, as Python or NumPy integers (a list of sequences if
                `mixing` is a list). Their outputs are still scaled by their weights in `mixing`, so that these have a
                gradient.
            path: an architecture to compute alone, scaled by its entries in `mixing`.
            edges: for methods that exclude edges, the entries to compute of each choice other than operations, by key;
                all entries of a choice that is missing. The weights of the other entries in `mixing` must be 0.

        Returns:
            (N, classes) logits.

        Raises:
            InvalidInputError: the images are not a batch of floats, have another number of channels than the stem
                reads, or are too small for the reductions, mixing weights have wrong keys or shapes, the space
                does not have the operations or edges, or the architecture is not in the space; not checked inside
                `torch.compile`.
        """
        if not torch.compiler.is_compiling():
            _check_images(images, self.places[0].in_channels, self._smallest_side)
        if isinstance(mixing, Architecture):
            self.space.index(mixing)
            in_turn: list[Any] = [(None, None, mixing, None)]
        else:
            in_turn = self._arguments_in_turn(images, mixing, operations, path, edges)
        x, mixed = images, 0
        for place in self.places[:-1]:
            layer = self._layer_at(place)
            if not self.space.is_mixed(place):
                x = layer(x)
                continue
            x = layer(x, *self._arguments_at(place, *in_turn[mixed % len(in_turn)]))
            mixed += 1
        head = self.places[-1]
        if self.space.is_mixed(head):  # with the weights of the last cell, whose output it reads
            return self.skeleton.classify(self, x, *self._arguments_at(head, *in_turn[(mixed - 1) % len(in_turn)]))
        return self.skeleton.classify(self, x)

    @property
    def mixtures(self) -> list[Mixture]:
        """The mixtures of operations in all cells, in the order of the cells."""
        return [module for module in self.cells.modules() if isinstance(module, Mixture)]

    @property
    def operation_weights(self) -> dict[str, tuple[str, ...]]:
        """The names of the weights of each operation that has some, by the operation's name, at every place.

        Every access returns a new dictionary. Operations are the sub-modules of a `Mixture`; cells without the feature
        "weights-of-operations" have none.
        """
        return dict(self._operation_weights)

    @cached_property
    def _operation_weights(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for prefix, module in self.named_modules():
            for name, candidate in module.named_children() if isinstance(module, Mixture) else ():
                weights = tuple(f"{prefix}.{name}.{weight}" for weight, _ in candidate.named_parameters())
                found |= {f"{prefix}.{name}": weights} if weights else {}
        return found

    @contextmanager
    def auxiliary_skip(self, factor: float) -> Iterator[None]:
        """Inside the context, every mixture of operations adds its input, scaled by a factor, to its output.

        Passes of single operations and of architectures do not change. Raises InvalidInputError if the space's cells
        have no such mixtures, unless the factor is 0.
        """
        if factor:
            self.space.check_cells("auxiliary-skip", "an auxiliary skip connection")
        for mixture in self.mixtures:
            mixture.auxiliary_skip = factor
        try:
            yield
        finally:
            for mixture in self.mixtures:
                mixture.auxiliary_skip = 0.0

    @contextmanager
    def observed_candidates(self, observer: Observer) -> Iterator[None]:
        """Inside the context, uncompiled passes of mixtures show an observer the outputs of all candidates in cells.

        Candidates of a choice are operations, or the inputs of a node. Raises InvalidInputError if the space's cells do
        not have the feature "observed-candidates": a method `observe(observer)`, which sets the observer of a cell or,
        with None, removes it.
        """
        self.space.check_cells("observed-candidates", "an observer of candidates")
        cells: list[Any] = list(self.cells)
        for cell in cells:
            cell.observe(observer)
        try:
            yield
        finally:
            for cell in cells:
                cell.observe(None)

    @property
    def mixed_places(self) -> int:
        """Number of places that mixing weights reach."""
        return sum(self.space.is_mixed(place) for place in self.places)

    def _layer_at(self, place: Place) -> nn.Module:
        """Return the layers of a place other than the head."""
        if place.kind == "cell":
            return self.cells[place.number]
        return self.stem if place.kind == "stem" else self.reductions[str(place.number)]

    def _arguments_at(
        self, place: Place, mixing: Any, operations: Any, path: Architecture | None, edges: Any
    ) -> tuple[Any, ...]:
        """Return the parts of mixing weights and sampled operations that reach a place, the path, and edges, if any."""
        return (
            None if mixing is None else self.space.weights_at(place, mixing),
            None if operations is None else self.space.operations_at(place, operations),
            path,
            *(() if edges is None else (edges,)),
        )

    def cell_input(self, x: Tensor, cell: int) -> Tensor:
        """Return the input of a cell from the previous output: reduced between stages, else unchanged."""
        reduced: Tensor = self.reductions[str(cell)](x) if str(cell) in self.reductions else x
        return reduced

    def _arguments_in_turn(
        self, images: Tensor, mixing: Any, operations: Any, path: Architecture | None, edges: Any
    ) -> list[Any]:
        """Check and return the arguments (mixing, operations, path, edges) that the mixed places use in turn."""
        several = isinstance(mixing, list | tuple)
        mixings = list(mixing) if several else [mixing]
        of_each = several and isinstance(operations, Sequence | np.ndarray)
        sampled = list(operations) if of_each else [operations] * len(mixings)
        if not mixings or len(mixings) != len(sampled):
            raise InvalidInputError(
                f"{len(mixings)} sets of mixing weights and {len(sampled)} of operations: give at least one set of "
                "mixing weights, and as many of operations or none"
            )
        if not torch.compiler.is_compiling():
            mixings = [self._checked_mixing(of_cell, images) for of_cell in mixings]
            sampled = [None if of_cell is None else self._checked_operations(of_cell) for of_cell in sampled]
            if path is not None:
                self.space.index(path)
            if edges is not None:
                self.space.check_edges(edges)
        return [(*both, path, edges) for both in zip(mixings, sampled, strict=True)]

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

    def _checked_operations(self, operations: Any) -> tuple[Any, ...]:
        """Return sampled operations with Python integers instead of NumPy's, which random generators draw."""
        if isinstance(operations, np.ndarray):
            operations = operations.tolist()
        self.space.check_operations(operations)
        return tuple(map(_as_python, operations))

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
    """Return the class of a space's cells; raises InvalidInputError if the space names none, or its import fails."""
    return _part(space, "cell", space.cell)


def make_skeleton(space: OneShotSpace, channels: int, cells: int, preset: Preset) -> Skeleton:
    """Return the skeleton of a space's supernets; raises the errors of `cell_class`."""
    skeleton: Skeleton = _part(space, "skeleton", space.skeleton)(channels, cells, preset)
    return skeleton


def places_of(space: OneShotSpace, skeleton: Skeleton, side: int = 32) -> Iterator[Place]:
    """Return the places of a space's supernets with a skeleton, for images of a side in pixels.

    Raises the errors of `cell_class` and `Skeleton.places`.
    """
    return skeleton.places(partial(cell_class(space).output_width, space), side)


def check_side(space: OneShotSpace, skeleton: Skeleton, side: int) -> None:
    """Raise InvalidInputError if the layers of a supernet do not support images of a side in pixels."""
    for _ in places_of(space, skeleton, side):
        pass


def _check_images(images: Tensor, needed: int, smallest: int) -> None:
    """Raise InvalidInputError if images are not a batch of floats, or have other channels or too few pixels.

    The images of an `ImageSet`, uint8 (N, H, W, 3), are not a batch of floats.
    """
    if not isinstance(images, Tensor) or images.ndim != 4 or not images.is_floating_point():
        given = f"{images.dtype} {tuple(images.shape)}" if isinstance(images, Tensor) else type(images).__name__
        raise InvalidInputError(
            "images must be a tensor of floats (N, 3, H, W), as nb.Augmentation and its method normalise return, "
            f"not {given}: normalise them"
        )
    _, channels, height, width = images.shape
    if channels != needed:  # otherwise, some stems would repeat a single channel
        raise InvalidInputError(f"images must have {needed} channels, not {channels}: convert them")
    if min(height, width) < smallest:
        raise InvalidInputError(
            f"images of {height} × {width} pixels are too small for the supernet's reductions: use images of at least "
            f"{smallest} × {smallest} pixels"
        )


def _check_features(space: OneShotSpace, mixtures: Sequence[Mixture]) -> None:
    """Raise InvalidInputError if the cells of a space lack what their declared features need."""
    if not mixtures and (declared := [name for name in OF_MIXTURES if name in space.cell_features]):
        raise InvalidInputError(
            f"{space.name} declares the feature '{declared[0]}', but its cells contain no "
            "supernets.layers.Mixture: add one, or remove the feature from cell_features"
        )
    if "observed-candidates" in space.cell_features and not hasattr(cell_class(space), "observe"):
        raise InvalidInputError(
            f"{space.name} declares the feature 'observed-candidates', but its cells have no method observe(observer): "
            "add it, or remove the feature from cell_features"
        )


def _part(space: OneShotSpace, part: str, reference: str | None) -> Any:
    if reference is None:
        raise InvalidInputError(f"{space.name} names no {part} for its supernets: set its attribute '{part}'")
    return load(reference, f"the {part} of {space.name}")


def _as_python(operation: Any) -> Any:
    """Return an operation, or a tuple of operations, without NumPy's integers."""
    if isinstance(operation, tuple):
        return tuple(map(_as_python, operation))
    return int(operation) if isinstance(operation, np.integer) else operation


def _as_tensor(key: str, values: Any, images: Tensor) -> Tensor:
    if isinstance(values, Tensor):
        return values
    try:
        if isinstance(values, np.ndarray):  # PyTorch does not read all strides, byte orders and types
            values = np.asarray(values, np.float64, order="C")
        return torch.tensor(values, dtype=torch.promote_types(images.dtype, torch.float32), device=images.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInputError(f"mixing weights '{key}' are not an array of numbers ({error})") from error


def to_tensors(mixing: Weights, device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Convert arrays, such as the result of `OneShotSpace.one_hot`, to float32 tensors on a device."""
    return {key: torch.as_tensor(value, dtype=torch.float32, device=device) for key, value in mixing.items()}
