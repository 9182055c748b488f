"""TAS (Dong and Yang: Network Pruning via Transformable Architecture Search, NeurIPS 2019), as run on NATS-Bench's size
space. See docs/tas.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from nasbench1shot1.constraint import Cost
from nasbench1shot1.optimizers.components.relaxation_kinds import RelaxationName
from nasbench1shot1.optimizers.fbnetv2 import FBNetV2, FBNetV2Hyperparameters
from nasbench1shot1.runs.options import OnlyWithBounds, Range

if TYPE_CHECKING:
    from torch import Tensor

    from nasbench1shot1.optimizers.components.expectation import Expectation


@dataclass(frozen=True, kw_only=True)
class TASHyperparameters(FBNetV2Hyperparameters):
    """Options of TAS: two sampled widths, which are interpolated, a falling temperature, and a penalty on costs."""

    relaxation: RelaxationName = "interpolation"
    """Relaxation, which turns Λ into mixing weights."""
    cost_weight: Annotated[float | None, Range(0), OnlyWithBounds()] = 2.0
    """Weight of the penalty on expected costs in Λ's loss, in searches with bounds."""
    cost_tolerance: Annotated[float, Range(0, 1), OnlyWithBounds()] = 0.05
    """Gap below a bound, as a share of the largest cost, beyond which the penalty raises costs."""


class TAS(FBNetV2):
    """Compute two sampled widths of every layer, and add their outputs after interpolation along channels.

    With bounds, the loss of Λ has the penalty w · log E of every bounded cost, with its expectation E under Λ, while
    the preferred architecture costs more than the bound, and - w · log E while it costs less than the bound minus the
    tolerance (`get_flop_loss` in `procedures/search_main_v2.py` of AutoDL-Projects).
    """

    Hyperparameters = TASHyperparameters
    hyperparameters: TASHyperparameters

    @property
    def option_needing_bounds(self) -> str | None:
        """None: `cost_weight` has a default, and without bounds, there is no penalty."""
        return None

    def _with_costs(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        if self.constraint is None:
            return gradients
        (gradient,) = gradients
        pairs = zip(self.constraint.costs, self._expectations, strict=True)
        penalties = [self._penalty_gradient(cost, expected) for cost, expected in pairs]
        for penalty in penalties:
            gradient = penalty if gradient is None else gradient + penalty
        return (gradient,)

    def _penalty_gradient(self, cost: Cost, expected: Expectation) -> Tensor:
        """Return the gradient of the penalty on one cost, with the shape of Λ."""
        import torch

        leaf = self.width_parameters.detach().requires_grad_()
        now, tolerance = cost.of(self.space.discretise(self.parameters)), self.hyperparameters.cost_tolerance
        sign = float(now > cost.limit) - float(now < cost.limit - tolerance * expected.largest)
        if not sign:
            return torch.zeros_like(leaf)
        penalty = sign * (self.hyperparameters.cost_weight or 0.0) * expected({self.space.operation_key: leaf}).log()
        (gradient,) = torch.autograd.grad(penalty, [leaf])
        return gradient
