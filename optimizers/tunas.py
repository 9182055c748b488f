"""TuNAS (Bender et al.: Can Weight Sharing Outperform Random Architecture Search? An Investigation With TuNAS, CVPR
2020), as run on NATS-Bench's size space, where it is called mask_rl. See docs/tunas.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.adam import AdamHyperparameters, AdamOptimizer
from nasbench1shot1.optimizers.components.moving_average import MovingAverage
from nasbench1shot1.optimizers.widths import WidthHyperparameters, WidthOptimizer, used_samples
from nasbench1shot1.runs.options import RATE, OnlyWithBounds, Range
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.optimizers.components.expectation import Expectation


@dataclass(frozen=True, kw_only=True)
class TuNASHyperparameters(AdamHyperparameters, WidthHyperparameters):
    """Options of TuNAS: REINFORCE on the probabilities of the widths."""

    architecture_weight_decay: Annotated[float, RATE] = 0.0
    """Weight decay of Λ (Adam)."""
    weights_first: bool | None = False
    """Train the weights before Λ in every step, as in the published code, instead of after it."""
    draws: Annotated[int, Range(1, 1000)] = 1
    """Number of samples per forward pass, which the layers use in turn."""
    evaluation_noise: bool = False
    """Also sample for the one-shot error, as in the published code, instead of using the preferred widths."""
    baseline_decay: Annotated[float, Range(0, 1)] = 0.95
    """Decay of the baseline, a bias-corrected exponential moving average of rewards."""
    baseline_includes_current: bool = False
    """Update the baseline before it is subtracted from the reward, as in the published code, instead of after."""
    reward_in_percent: bool = False
    """Measure the reward in percent, as in the published code, instead of as a fraction."""
    cost_weight: Annotated[float, Range(0), OnlyWithBounds()] = 0.1
    """Weight w of a bounded cost in the reward: accuracy - w · |cost / bound - 1|, in searches with bounds."""
    rejection: Annotated[bool, OnlyWithBounds()] = False
    """Draw only architectures within the bounds, instead of using a reward that depends on costs (TabNAS)."""

    def check(self) -> None:
        """Raise InvalidInputError for values that contradict each other or are out of range."""
        super().check()
        if self.rejection and self.draws > 1:
            raise InvalidInputError(
                f"{switch('rejection')} needs passes of one architecture: remove it, or use {option('draws', 1)}"
            )


class TuNAS(WidthOptimizer, AdamOptimizer):
    """Train one sampled architecture per step, and learn by REINFORCE which widths are accurate."""

    Hyperparameters = TuNASHyperparameters
    original_defaults = {  # noqa: RUF012
        "epochs": 100,
        "draws": 6,
        "evaluation_noise": True,
        "weights_first": True,
        "baseline_includes_current": True,
        "reward_in_percent": True,
    }
    hyperparameters: TuNASHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.baseline = MovingAverage(self.hyperparameters.baseline_decay)

    @property
    def is_relaxed(self) -> bool:
        """False: the weights train along single paths."""
        return False

    @property
    def learns_to_sample(self) -> bool:
        """True: Λ is a distribution of architectures."""
        return True

    def sample(self) -> Architecture:
        """Return an architecture drawn from the softmax of Λ."""
        return self.drawn_architecture(self._draw())

    def searched_mixing(self) -> Mixing:
        """Return widths drawn from the softmax of Λ."""
        return self.fixed_widths(self._draw())

    def architecture_step(self, step: SearchStep) -> None:
        """Take one step of REINFORCE: sampled widths become more probable if they are more accurate than others."""
        import torch

        positions = self._draw()
        with torch.no_grad():
            logits = step.logits(self.fixed_widths(positions), step.architecture_batch.images)
        accuracy = float((logits.argmax(dim=1) == step.architecture_batch.labels).double().mean())
        reward = accuracy - self.cost_penalty(positions)
        advantage = self.advantage(100 * reward if self.hyperparameters.reward_in_percent else reward)
        self.descend(torch.autograd.grad(-advantage * self.log_probability(positions), [self.width_parameters]))

    def cost_penalty(self, positions: Tensor) -> float:
        """Return w · Σ |cost / bound - 1| over the bounded costs of drawn widths (TuNAS, section 3: "absolute").

        It is 0 without bounds, and if architectures outside them are rejected. A cost that a partial table lacks does
        not count.
        """
        if self.constraint is None or self.hyperparameters.rejection:
            return 0.0
        arch = self.drawn_architecture(positions)
        known = [(found, cost.limit) for cost in self.constraint.costs if not isnan(found := cost.of(arch))]
        return self.hyperparameters.cost_weight * sum(abs(found / limit - 1) for found, limit in known)

    def drawn_architecture(self, positions: Tensor) -> Architecture:
        """Return the architecture of drawn positions (draws, rows).

        If several layers share a row and use different draws, the last of these layers decides: on nats-size, the
        first cell rather than the stem.
        """
        sample_of = {row: sample for sample, row in used_samples(self.space.layer_rows, len(positions))}
        return self.space.from_values([int(positions[sample_of[row], row]) for row in range(positions.shape[1])])

    def advantage(self, reward: float) -> float:
        """Return how much better a reward is than the baseline, and update the baseline."""
        before = self.baseline.value(reward)
        self.baseline.update(reward)
        return reward - (self.baseline.value(reward) if self.hyperparameters.baseline_includes_current else before)

    def log_probability(self, positions: Tensor) -> Tensor:
        """Return the sum of the log-probabilities of all draws that a pass uses, (); positions are (draws, layers).

        With rejection, this is the logarithm of the probability given that the architecture is within the bounds
        (Yang et al.: TabNAS, NeurIPS 2022, equation 4); the probability of the bounds is computed exactly.
        """
        parameters = self.width_parameters
        logarithms, used = parameters.log_softmax(dim=-1), used_samples(self.space.layer_rows, len(positions))
        total = logarithms[[row for _, row in used], [int(positions[sample, row]) for sample, row in used]].sum()
        if self._within_bounds is None:
            return total
        return total - self._within_bounds({self.space.operation_key: parameters}).log().to(total.dtype)

    @cached_property
    def _within_bounds(self) -> Expectation | None:
        """The probability of the bounds under Λ; None if no architectures are rejected."""
        from nasbench1shot1.optimizers.components.expectation import Expectation

        if self.constraint is None or not self.hyperparameters.rejection:
            return None
        within = np.all([cost.by_number <= cost.limit for cost in self.constraint.costs], axis=0)
        return Expectation(self.space, within)

    def _draw(self) -> Tensor:
        """Return drawn positions, int64 (draws, layers), on the CPU; those outside the bounds may be rejected."""
        import torch

        if self.constraint is None or not self.hyperparameters.rejection:
            return self._propose()
        drawn = self.constraint.draw(lambda: self.drawn_architecture(self._propose()))
        return torch.tensor([self.space.values_of(drawn)])

    def _propose(self) -> Tensor:
        """Return positions drawn from the softmax of Λ, int64 (draws, layers), on the CPU."""
        import torch

        probabilities = self.width_parameters.detach().softmax(dim=-1).cpu()
        return torch.multinomial(probabilities, self.draws, replacement=True, generator=self.generator).T

    def state_dict(self) -> dict[str, Any]:
        """Return Λ, Adam's moments and the baseline."""
        return {**super().state_dict(), "baseline": self.baseline.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.baseline.restore(state["baseline"])
