"""REINFORCE with one categorical distribution per choice, without a recurrent network.

Source: Williams 1992; NAS-Bench-101 (Ying et al. 2019), section 5, whose script takes gradient steps on logits
initialized to zero; NAS-Bench-201 (Dong and Yang, ICLR 2020), section 4 and appendix B, whose script uses Adam.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.constraint import REJECTIONS
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.optimizers.components.moving_average import MovingAverage
from nasbench1shot1.runs.options import Range

FEASIBILITY_SAMPLES = 1024
"""Number of samples that estimate the gradient of the policy's probability of the architectures within bounds."""
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True, kw_only=True)
class REINFORCEHyperparameters(Hyperparameters):
    """The options of REINFORCE."""

    learning_rate: Annotated[float, Range(above=0)] = 0.1
    """Learning rate of the logits."""
    baseline_momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of the moving average of rewards that is subtracted from each reward."""
    update: Literal["sgd", "adam"] = "sgd"
    """Update rule of the logits."""


class REINFORCE(BlackBoxOptimizer):
    """A policy of independent categorical distributions. The reward is the validation accuracy as a fraction.

    The baseline is the bias-corrected exponential moving average of all rewards, including the latest. Invalid samples
    (on nb101) are redrawn and receive no reward, as in NAS-Bench-101's script.

    With bounds, the policy is conditioned on the architectures within them, as in TabNAS (Yang et al., NeurIPS 2022,
    arXiv:2204.07615, section 3): samples outside the bounds are redrawn, and a sample y within the bounds V follows the
    gradient of log p(y | V) = log p(y) - log p(V). The gradient of log p(V) is the mean gradient of log p(z) over the
    samples z within V among `FEASIBILITY_SAMPLES` samples of the policy, drawn anew in every step.
    """

    Hyperparameters = REINFORCEHyperparameters
    # 0.1 and 0.9 are defaults of NAS-Bench-1Shot1's script. NAS-Bench-201's paper does not state the chosen learning
    # rate; the commands of NATS-Bench's scripts use 0.01.
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nasbench201": {"learning_rate": 0.01, "update": "adam"},
        "nats_size": {"learning_rate": 0.01, "update": "adam"},  # exps/NATS-algos/reinforce.py of AutoDL-Projects
    }

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.levels = np.array(self.space.variables())
        self.allowed = np.arange(self.levels.max()) < self.levels[:, None]
        self.logits = np.where(self.allowed, 0.0, -np.inf)
        self._baseline = MovingAverage(self.hyperparameters.baseline_momentum)
        self._first, self._second, self._steps = np.zeros(self.logits.shape), np.zeros(self.logits.shape), 0
        self._probabilities = self.probabilities()
        self._is_allowed: dict[tuple[int, ...], bool] = {}

    def probabilities(self) -> Any:
        """Return the probability of each value of each choice, shape (choices, largest number of values)."""
        powers = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def ask(self) -> Query:
        """Return an architecture drawn from the policy."""
        for _ in range(REJECTIONS):
            (values,) = self._draw(1)
            try:
                arch = self.space.from_values(values.tolist())
            except InvalidInputError:
                continue
            if self.allows(arch):
                return self.query(arch)
        if self.constraint is not None:
            raise self.constraint.rejections_error()
        raise InvalidInputError(
            f"the policy does not draw a valid architecture of {self.space.name}: lower {option('learning_rate')}"
        )

    def _draw(self, count: int) -> Any:
        """Draw values of all choices from the policy, (count, choices)."""
        sums, draws = self._probabilities.cumsum(axis=1), self.rng.random((count, len(self.levels)))
        return np.minimum((draws[..., None] >= sums).sum(axis=2), self.levels - 1)

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Take a gradient step on the log-probability of the architecture, weighted by its advantage."""
        reward = 1 - validation_error
        self._baseline.update(reward)
        self._ascend((reward - self._baseline.value(0.0)) * self._log_gradient(query.architecture))

    def _log_gradient(self, arch: Architecture) -> Any:
        """Return the gradient with respect to the logits of log p(arch), or of log p(arch | V) with bounds.

        This is one-hot minus probabilities; with bounds, one-hot minus probabilities within the bounds.
        """
        gradient = -(self._probabilities if self.constraint is None else self._probabilities_within())
        gradient[np.arange(len(self.levels)), self.space.values_of(arch)] += 1
        return gradient

    def _probabilities_within(self) -> Any:
        """Estimate the probability of each value of each choice given that an architecture is within the bounds.

        Without a sample within the bounds, this is the policy's own probability: the step is then not corrected.
        """
        drawn = self._draw(FEASIBILITY_SAMPLES)
        kept = drawn[[self._allows_values(tuple(values)) for values in drawn.tolist()]]
        if not len(kept):
            return self._probabilities
        return (kept[..., None] == np.arange(self.levels.max())).mean(axis=0)

    def _allows_values(self, values: tuple[int, ...]) -> bool:
        """Return whether values are those of a valid architecture within the bounds; results are cached."""
        if values not in self._is_allowed:
            try:
                self._is_allowed[values] = self.allows(self.space.from_values(values))
            except InvalidInputError:
                self._is_allowed[values] = False
        return self._is_allowed[values]

    def _ascend(self, gradient: Any) -> None:
        step = gradient if self.hyperparameters.update == "sgd" else self._adam(gradient)
        self.logits[self.allowed] += self.hyperparameters.learning_rate * step[self.allowed]
        self._probabilities = self.probabilities()

    def _adam(self, gradient: Any) -> Any:
        """Return the update direction of Adam (Kingma and Ba 2015, algorithm 1)."""
        (first, second), self._steps = _BETAS, self._steps + 1
        self._first = first * self._first + (1 - first) * gradient
        self._second = second * self._second + (1 - second) * gradient**2
        corrected = self._second / (1 - second**self._steps)
        return self._first / (1 - first**self._steps) / (np.sqrt(corrected) + _EPSILON)
