"""What a one-shot optimizer is: it owns the architecture parameters Λ and turns them into mixing weights."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.runs.options import check_ranges
from nasbench1shot1.space import OneShotSpace, as_one_shot
from nasbench1shot1.weight_sharing.passes import Batch as Batch
from nasbench1shot1.weight_sharing.passes import Mixing as Mixing

if TYPE_CHECKING:
    from nasbench1shot1.weight_sharing.shared_weights import SharedWeights

INITIAL_SPREAD = 1e-3  # standard deviation of the initial Λ, as published


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
        """Raise InvalidInputError for values that contradict each other, or are out of their fields' ranges.

        A range stands beside its field: `population: Annotated[int, Range(2)] = 20` (`runs.options.Range`).
        """
        check_ranges(self)


class OneShotOptimizer(ABC):
    """A one-shot method. For every epoch the search loop calls `begin_epoch`; for every step `architecture_step`, then
    `mixing` for the weight step; after the steps `end_epoch`; then, also before training (epoch 0), `choose`,
    `evaluation_mixing` and `architecture`. After the last `choose` comes `end_search`. While the weights are warmed up,
    `architecture_step` and `end_epoch` are left out.

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
        self.space, self.hyperparameters = as_one_shot(space), hyperparameters
        self.parameters = {
            key: (INITIAL_SPREAD * torch.randn(shape, generator=generator)).to(device).requires_grad_()
            for key, shape in self.space.mixing_shapes().items()
        }
        self.generator, self.device = generator, device

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Called before every epoch, 1 … epochs; all that the method draws in it must come from `generator`."""
        self.generator = generator

    @property
    def is_relaxed(self) -> bool:
        """Whether mixing weights are a function of Λ; otherwise, Λ only marks the architecture that was chosen."""
        return any(value.requires_grad for value in self.parameters.values())

    @property
    def is_annealed(self) -> bool:
        """Whether mixing weights depend on Λ ever more steeply, so that a Hessian by Λ grows by that alone."""
        return False

    @property
    def evaluates_with_noise(self) -> bool:
        """Whether `evaluation_mixing` draws, so that the one-shot error takes another one for every batch."""
        return False

    @property
    def learns_to_sample(self) -> bool:
        """Whether the method learns a distribution of architectures, from which its `sample()` draws."""
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

    def end_search(self, shared: "SharedWeights") -> None:  # noqa: B027
        """Choose the architecture that the search returns, for methods that do more than prefer one after each epoch.

        Called once, after `choose` in the last epoch; `architecture`, `parameters` and `evaluation_mixing` then give
        what is recorded for that epoch. The loop undoes its effects with `load_state_dict` before it writes the
        checkpoint, so that a finished search can be continued for more epochs. It is not called where a search stops
        early. It may change only what `load_state_dict` restores.
        """

    def evaluation_mixing(self) -> Mixing:
        """The mixing weights that the one-shot validation error is measured with."""
        return self.mixing()

    def architecture(self) -> Architecture:
        """The architecture preferred now."""
        return self.space.discretise(self.parameters)

    def scorings(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """What `end_epoch` and `choose` score in an epoch, for estimates of time: (architectures, images of each)."""
        return ()

    def scorings_at_end(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """What `end_search` scores, for estimates of time: (architectures or mixings, images of each)."""
        return ()

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """All that `load_state_dict` needs to go on, as tensors and Python values."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` gave."""
