"""What the methods for widths share: the warm-up with random widths, and which update comes first.

TAS, FBNetV2 and TuNAS differ in how a layer's output depends on Λ. Source: NATS-Bench (Dong et al., TPAMI 2021) and its
published code, `exps/NATS-algos/search-size.py` in AutoDL-Projects.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import Hyperparameters, Mixing, OneShotOptimizer
from nasbench1shot1.phases import Phase
from nasbench1shot1.probability import preferred_within
from nasbench1shot1.runs.options import Range
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch
    from torch import Tensor

WIDTHS_KEY = "widths"
"""The `operation_key` of spaces that choose the widths of layers."""


@dataclass(frozen=True, kw_only=True)
class WidthHyperparameters(Hyperparameters):
    """Options of all methods for widths."""

    warm_up_ratio: Annotated[float, Range(0, 1)] = 0.3
    """Share of the epochs, at the start, that train only the weights, at random widths; 0 disables the warm-up."""


class WidthOptions(Protocol):
    """The options that every `WidthOptimizer` has.

    Not all are in `WidthHyperparameters`: the methods inherit the others from their gradient methods, or declare them.
    """

    @property
    def warm_up_ratio(self) -> float:
        """See `WidthHyperparameters`."""

    @property
    def weights_first(self) -> bool | None:
        """Train the weights before Λ in every step, as in the published code, instead of after it."""

    @property
    def draws(self) -> int:
        """Number of samples per forward pass, which the layers use in turn."""

    @property
    def evaluation_noise(self) -> bool:
        """Also sample for the one-shot error, instead of using the preferred widths."""


class WidthOptimizer(OneShotOptimizer):
    """A one-shot method for widths; a subclass defines the mixing weights after the warm-up, and the step of Λ.

    The warm-up is a phase, which trains the weights with random widths. Every layer has the largest width with a
    probability that falls linearly from 1 to 0 during the warm-up, and otherwise one of all widths.
    """

    defaults = {"grad_clip": 0.0}  # noqa: RUF012
    hyperparameters: WidthOptions
    full_share: float | None = None
    """The probability of the largest width during the warm-up; None after it."""

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the space has no widths to choose."""
        check_has_widths(space, cls.__name__)

    @property
    def trains_weights_first(self) -> bool:
        """Whether the option `weights_first` is set."""
        return bool(self.hyperparameters.weights_first)

    @property
    def draws(self) -> int:
        """The option `draws`."""
        return self.hyperparameters.draws

    @property
    def evaluates_with_noise(self) -> bool:
        """Whether the option `evaluation_noise` is set."""
        return self.hyperparameters.evaluation_noise

    @property
    def width_parameters(self) -> Tensor:
        """Λ of the widths, (rows, entries)."""
        parameters: Tensor = self.parameters[self.space.operation_key]
        return parameters

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases, whose warm-up includes all epochs with random widths.

        Raises InvalidInputError if Λ never moves, because the warm-up takes all epochs.
        """
        random_epochs = sum(self._full_share(epoch, epochs) is not None for epoch in range(1, epochs + 1))
        if random_epochs == epochs:
            ratio = self.hyperparameters.warm_up_ratio
            raise InvalidInputError(
                f"{option('warm_up_ratio', ratio)} leaves no epoch of {option('epochs', epochs)} for Λ: lower the "
                "first or raise the second"
            )
        return super().phases(epochs, max(warm_start_epochs, random_epochs))

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set the probability of the largest width, if the epoch belongs to the warm-up."""
        super().begin_epoch(epoch, epochs, generator)
        self.full_share = self._full_share(epoch, epochs)

    def mixing(self) -> Mixing:
        """Return random widths during the warm-up, and the method's mixing weights after it."""
        return self.searched_mixing() if self.full_share is None else self._random_widths(self.full_share)

    @abstractmethod
    def searched_mixing(self) -> Mixing:
        """Return the mixing weights of one training pass after the warm-up."""

    def fixed_widths(self, positions: Tensor) -> Mixing:
        """Return a pass with given widths, int64 (draws, layers): positions among the candidates.

        A single sample is an architecture, and only its channels are computed. Several samples are not an architecture:
        the layers use them in turn.
        """
        from torch.nn.functional import one_hot

        key, parameters = self.space.operation_key, self.width_parameters
        weights = one_hot(positions.to(self.device), parameters.shape[-1]).to(parameters.dtype)
        if len(positions) > 1:
            return Mixing(tuple({key: of_sample} for of_sample in weights))
        path = self.space.from_values(positions[0].tolist())
        return Mixing({key: weights[0]} if self.is_relaxed else None, path=path)

    def architecture(self) -> Architecture:
        """Return the widths with the largest entries of Λ or, with bounds, the most probable ones within them."""
        return preferred_within(self.constraint, super().architecture(), self.space, self.parameters)

    def evaluation_mixing(self) -> Mixing:
        """Return the preferred architecture or, with `evaluation_noise`, the mixing weights of a training pass.

        In the warm-up, a training pass uses random widths, as in the published code.
        """
        return self.mixing() if self.evaluates_with_noise else Mixing(path=self.architecture())

    def _full_share(self, epoch: int, epochs: int) -> float | None:
        progress, ratio = (epoch - 1) / epochs, self.hyperparameters.warm_up_ratio
        return 1 - progress / ratio if progress < ratio else None

    def _random_widths(self, full_share: float) -> Mixing:
        import torch

        layers, entries = self.width_parameters.shape
        positions = torch.randint(entries, (self.draws, layers), generator=self.generator)
        is_full = torch.rand(self.draws, layers, generator=self.generator) < full_share
        return self.fixed_widths(torch.where(is_full, entries - 1, positions))


def check_has_widths(space: OneShotSpace, what: str) -> None:
    """Raise InvalidInputError if a space has no widths to choose; `what` needs them."""
    if space.operation_key != WIDTHS_KEY:
        raise InvalidInputError(
            f"{what} chooses the widths of layers, which {space.name} does not have: use {option('space', 'nats-size')}"
        )


def used_samples(rows: Sequence[int], draws: int) -> list[tuple[int, int]]:
    """Return the samples and rows of Λ that decide about the layers of a pass, each once.

    Args:
        rows: the row of Λ of each layer.
        draws: number of samples, which the layers use in turn.
    """
    return list(dict.fromkeys((layer % draws, row) for layer, row in enumerate(rows)))
