"""What a one-shot optimizer is: it owns the architecture parameters Λ and turns them into mixing weights."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.registry import one_shot
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    from nasbench1shot1.one_shot_search.shared_weights import SharedWeights

INITIAL_SPREAD = 1e-3  # standard deviation of the initial Λ, as published


@dataclass(frozen=True)
class Mixing:
    """What one forward pass of the supernet is given: mixing weights, or an architecture, or both.

    Attributes:
        weights: a tensor for every key of `space.mixing_shapes()`; a tuple of such, for cells in turns; None where
            `path` is computed unweighted.
        operations: the sampled operation of every block, as Python integers, where only those are computed (a tuple
            of such where `weights` is one).
        path: the architecture to which the pass is restricted: only its live blocks, operations and edges.
    """

    weights: Mapping[str, Tensor] | tuple[Mapping[str, Tensor], ...] | None = None
    operations: tuple[int, ...] | tuple[tuple[int, ...], ...] | None = None
    path: Architecture | None = None

    def arguments(self) -> tuple[Any, ...]:
        """What `Supernet.forward` takes after the images."""
        return (self.path,) if self.weights is None else (self.weights, self.operations, self.path)

    @property
    def is_sampled(self) -> bool:
        """Whether something is chosen on the host, which a compiled supernet would be compiled anew for."""
        return self.operations is not None or self.path is not None

    def tensors(self) -> list[Tensor]:
        """All mixing weights, in a fixed order."""
        of_cells = self.weights if isinstance(self.weights, tuple) else (self.weights or {},)
        return [tensor for weights in of_cells for tensor in weights.values()]

    def unstacked(self) -> "Mixing":
        """From weights and operations with a leading axis of samples, one of each for the cells in turns."""
        assert isinstance(self.weights, Mapping)
        parts = zip(*(value.unbind() for value in self.weights.values()), strict=True)
        weights = tuple(dict(zip(self.weights, part, strict=True)) for part in parts)
        operations: Any = self.operations and tuple(tuple(sample) for sample in self.operations)  # type: ignore[arg-type]
        return Mixing(weights, operations)

    def with_tensors(self, tensors: Iterator[Tensor]) -> "Mixing":
        """The same with other mixing weights, in the order of `tensors()`."""
        if isinstance(self.weights, tuple):
            cells = tuple({key: next(tensors) for key in weights} for weights in self.weights)
            return Mixing(cells, self.operations, self.path)
        return Mixing({key: next(tensors) for key in self.weights or {}}, self.operations, self.path)


@dataclass(frozen=True)
class Batch:
    """Normalised images (N, 3, H, W) and their labels (N,)."""

    images: Tensor
    labels: Tensor


@dataclass(frozen=True)
class SearchStep:
    """All that an optimizer may use in one step of a search.

    Attributes:
        loss: (mixing, batch) → scalar, the supernet's cross-entropy.
        loss_at: (weights, mixing, batch) → scalar, the same with other tensors in place of the supernet's weights;
            batch-norm's running statistics stay as they are.
        weights: the supernet's weights by name.
        weight_batch: the batch of the weight half that the following weight step takes.
        architecture_batch: a batch of the architecture half.
        weight_optimizer: the SGD that moves the supernet's weights.
    """

    loss: Callable[[Mixing, Batch], Tensor]
    loss_at: Callable[[Mapping[str, Tensor], Mixing, Batch], Tensor]
    weights: Mapping[str, Tensor]
    weight_batch: Batch
    architecture_batch: Batch
    weight_optimizer: torch.optim.Optimizer


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """What one optimizer lets a user set: subclass it with fields, each with a default and a docstring.

    They become options of a search with that optimizer (`nb.search(…)`, `nb1shot1 search`, config.json), so a name
    must not be that of a common option (`one_shot_search.config.SearchConfig`), nor among its `RESERVED`.
    """

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range."""


class OneShotOptimizer(ABC):
    """A one-shot method. For every epoch the search loop calls `begin_epoch`; for every step `architecture_step`, then
    `mixing` for the weight step; after the steps `end_epoch`; then, also before training (epoch 0), `choose`,
    `evaluation_mixing` and `architecture`. While the weights are warmed up, `architecture_step` and `end_epoch` are
    left out.

    Attributes:
        space: the search space.
        parameters: Λ, a tensor for every key of `space.mixing_shapes()`, recorded after every epoch.
        Hyperparameters: the dataclass of the method's own options.
        defaults: common options whose default is another for this method.
        original_defaults: options whose default is another under the preset "original".
        quick_defaults: options whose default is another at the quick scale.
    """

    Hyperparameters: ClassVar[type[Hyperparameters]] = Hyperparameters
    defaults: ClassVar[Mapping[str, Any]] = {}
    original_defaults: ClassVar[Mapping[str, Any]] = {}
    quick_defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        """Draw Λ from `generator`, a CPU one, so that every device starts from the same values."""
        self.space, self.hyperparameters = one_shot(space), hyperparameters
        self.parameters = {
            key: (INITIAL_SPREAD * torch.randn(shape, generator=generator)).to(device).requires_grad_()
            for key, shape in self.space.mixing_shapes().items()
        }
        self.generator, self.device = generator, device

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Called before every epoch, 1 … epochs; all that the method draws in it must come from `generator`."""
        self.generator = generator

    @property
    def is_annealed(self) -> bool:
        """Whether mixing weights depend on Λ ever more steeply, so that a Hessian by Λ grows by that alone."""
        return False

    @abstractmethod
    def mixing(self) -> Mixing:
        """The mixing weights of one training pass, differentiable with respect to Λ; methods that sample draw here."""

    def architecture_step(self, step: SearchStep) -> None:  # noqa: B027  a default, not a gap
        """Move Λ once; methods whose Λ follows no gradient have nothing to do here."""

    def end_epoch(self, shared: "SharedWeights") -> None:  # noqa: B027
        """Move what moves once an epoch, given the supernet's weights after it."""

    def choose(self, shared: "SharedWeights") -> None:  # noqa: B027
        """Choose the architecture of this epoch, where that takes the shared weights' own word."""

    def evaluation_mixing(self) -> Mixing:
        """The mixing weights that the one-shot validation error is measured with."""
        return self.mixing()

    def architecture(self) -> Architecture:
        """The architecture preferred now."""
        return self.space.discretise(self.parameters)

    def scorings(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """What `end_epoch` and `choose` score in an epoch, for estimates of time: (architectures, images of each)."""
        return ()

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """All that `load_state_dict` needs to go on, as tensors and Python values."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` gave."""
