"""FairDARTS (Chu et al.: Fair DARTS: Eliminating Unfair Advantages in Differentiable Architecture Search, ECCV 2020).

See docs/fair_darts.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.components.relaxation_kinds import RelaxationName
from nasbench1shot1.optimizers.gradient import (
    PUBLISHED_SETTINGS,
    GradientOptimizer,
    TermName,
)
from nasbench1shot1.optimizers.levels import LevelHyperparameters, level_phases
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.options import IF_GIVEN, RATE, OfLength, Range

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BATCHES_OF_LAMBDA = dict.fromkeys(
    ("augment_architecture_images", "draw_with_replacement"), "the batches of the weights also train Λ"
)
"""Options without an effect on a search with a single level."""


@dataclass(frozen=True, kw_only=True)
class FairDARTSHyperparameters(LevelHyperparameters):
    """Options of FairDARTS: a sigmoid for each operation, and a term that drives the sigmoids to 0 or 1."""

    relaxation: RelaxationName = "sigmoid"
    """Relaxation that turns Λ into mixing weights."""
    term: Annotated[TermName | None, IF_GIVEN] = "zero-one"
    """Term added to the loss of Λ; none disables it."""
    architecture_learning_rate: Annotated[float, RATE, OfLength.STEP] = 3e-3
    """Learning rate of Λ (Adam)."""
    levels: Literal["bilevel", "single-level"] = "bilevel"
    """bilevel: the weight half trains the weights, and the architecture half trains Λ. single-level: every batch of
    --training-images trains both at once."""
    operation_threshold: Annotated[float | None, Range(0, 1), IF_GIVEN] = None
    """Choose `none` on an edge unless the sigmoid of another operation reaches this value (published: 0.85). Only for
    spaces with the operation `none`. Default: the largest sigmoid wins."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for meaningless combinations."""
        super().check()
        if self.operation_threshold is not None and self.exclude_none:
            raise InvalidInputError(
                f"{option('operation_threshold', self.operation_threshold)} chooses the operation none where all "
                f"others are weak, but {option('exclude_none', True)} excludes it: remove one of them"
            )
        if self.is_single_level and self.weights_first:
            raise InvalidInputError(
                f"{option('levels', 'single-level')} updates the weights and Λ from the same mixing weights, so "
                f"neither comes first: remove {option('weights_first', True)}, or give {option('levels', 'bilevel')}"
            )
        if self.operation_threshold is not None and self.relaxation != "sigmoid":
            raise InvalidInputError(
                f"{option('operation_threshold', self.operation_threshold)} compares sigmoids, which "
                f"{option('relaxation', self.relaxation)} does not have: give {option('relaxation', 'sigmoid')}"
            )


class FairDARTS(GradientOptimizer):
    """Train with the sigmoid of every operation, so that operations do not compete.

    Entries of operations start at exactly 0, as published. An operation whose output is zero, such as `none`, has no
    gradient of its own, so the term would otherwise drive its sigmoid to 0 or 1 by the sign of the initial noise.
    """

    Hyperparameters = FairDARTSHyperparameters
    original_defaults = {"learning_rate": 0.005, "batch_size": 128, "architecture_beta1": 0.9}  # noqa: RUF012
    original_family_defaults = {  # noqa: RUF012
        "nasbench201": {**PUBLISHED_SETTINGS, "operation_threshold": 0.85},
    }
    hyperparameters: FairDARTSHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        threshold = self.hyperparameters.operation_threshold
        if threshold is not None and self.space.zero_operation is None:
            raise InvalidInputError(
                f"{option('operation_threshold', threshold)} needs the operation none, which {self.space.name} lacks: "
                f"remove {option('operation_threshold')}, or choose another space"
            )
        if self.space.operation_key in self.parameters:
            self.parameters[self.space.operation_key].data.zero_()
        self._before: Mixing | None = None

    @classmethod
    def unused_options(cls, hyperparameters: FairDARTSHyperparameters) -> Mapping[str, str]:
        """Return those of all gradient methods, and the options for batches of Λ if the weight batches train Λ."""
        of_batches = BATCHES_OF_LAMBDA if hyperparameters.is_single_level else {}
        return {**super().unused_options(hyperparameters), **of_batches}

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases, on the images of the option `levels`."""
        return level_phases(self.hyperparameters, epochs, warm_start_epochs)

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Begin an epoch, as other gradient methods do."""
        super().begin_epoch(epoch, epochs, generator)
        self._before = None

    def architecture_step(self, step: SearchStep) -> None:
        """Update Λ; with a single level on the batch of the weights, which then train under the Λ before this step.

        The published code computes the gradients of both in one pass, so neither sees the step of the other.
        """
        if self.hyperparameters.is_single_level:
            step = replace(step, architecture_batch=step.weight_batch)
            self._before = self.next_mixing()  # the step of Λ draws the same noise, as in one pass
        super().architecture_step(step)

    def weight_mixing(self) -> Mixing:
        """Return the mixing weights of a weight step."""
        before, self._before = self._before, None
        return self.mixing() if before is None else before

    def architecture(self) -> Architecture:
        """Return the operations with the largest sigmoids; with a threshold, `none` where all others are below it."""
        threshold, zero, key = (
            self.hyperparameters.operation_threshold,
            self.space.zero_operation,
            self.space.operation_key,
        )
        if threshold is None or zero is None:
            return super().architecture()
        allowed = self.allowed.masked(self.parameters)
        values = allowed[key].detach().clone()
        values[:, zero] = -float("inf")
        values[:, zero].masked_fill_((values.max(dim=-1).values / self.temperature).sigmoid() < threshold, float("inf"))
        return self.space.discretise({**allowed, key: values})

    def preferences(self) -> Mapping[str, Tensor]:
        """Return Λ; with a threshold, `none` has the value whose sigmoid is the threshold, as in `architecture`."""
        import torch

        threshold, zero = self.hyperparameters.operation_threshold, self.space.zero_operation
        if threshold is None or zero is None:
            return super().preferences()
        values = self.parameters[self.space.operation_key].detach().clone()
        values[:, zero] = self.temperature * torch.logit(torch.tensor(threshold, dtype=torch.float64), eps=1e-6)
        return {**super().preferences(), self.space.operation_key: values}
