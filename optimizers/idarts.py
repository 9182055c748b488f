"""iDARTS (Zhang et al.: iDARTS: Differentiable Architecture Search with Stochastic Implicit Gradients, ICML 2021).

See docs/idarts.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, UpdateName
from nasbench1shot1.phases import Phase, bilevel_phases
from nasbench1shot1.runs.options import Range

USUAL_STEPS = 5
"""The largest default of `weight_steps`."""


@dataclass(frozen=True, kw_only=True)
class IDARTSHyperparameters(GradientHyperparameters):
    """Options of iDARTS: DARTS with implicit gradients and several weight steps for each step of Λ."""

    update: UpdateName = "implicit"
    """Gradient of Λ: first-order (at the current weights), second-order (through one virtual weight step) or implicit
    (through the optimum of the weights, iDARTS)."""
    weight_steps: Annotated[int, Range(1)] = 4
    """Number of weight steps for each step of Λ."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for another gradient of Λ."""
        super().check()
        if self.update != "implicit":
            raise InvalidInputError(
                f"iDARTS is DARTS with {option('update', 'implicit')}, not {option('update', self.update)}: remove it, "
                f"or use {option('optimizer', 'darts')}"
            )


class IDARTS(DARTS):
    """Update Λ with the gradient through the optimum of the weights, once every few weight steps."""

    Hyperparameters = IDARTSHyperparameters
    original_defaults = {"weights_first": True}  # noqa: RUF012
    family_defaults = {  # noqa: RUF012
        "nasbench101": {"weight_steps": 5},
        "nasbench201": {"epochs": 30, "learning_rate": 0.01},
    }
    original_family_defaults = {"nasbench201": {"evaluation_batch_norm": "running"}}  # noqa: RUF012
    hyperparameters: IDARTSHyperparameters

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the phases of DARTS, with several weight steps for each step of Λ."""
        return bilevel_phases(epochs, warm_start_epochs, weight_steps=self.hyperparameters.weight_steps)

    def check_length(self, phases: Sequence[Phase], steps: int) -> None:
        """Raise InvalidInputError if an epoch has fewer steps than `weight_steps`; the defaults are always accepted."""
        super().check_length(phases, steps)
        number = self.hyperparameters.weight_steps
        if number > max(steps, USUAL_STEPS) and not self.trains_weights_first:  # with it, Λ would never be updated
            raise InvalidInputError(
                f"{option('weight_steps', number)} is more than the {counted(steps, 'weight step')} of an epoch, after "
                "which the count starts again: lower it, or use more images"
            )
