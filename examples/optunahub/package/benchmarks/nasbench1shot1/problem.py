"""Architectures of NAS-Bench-1Shot1, NAS-Bench-101, NAS-Bench-201 and NATS-Bench as a problem of OptunaHub."""

from typing import Any

import optuna
import optunahub

import nasbench1shot1 as nb


class Problem(optunahub.benchmarks.BaseProblem):
    """A search space of nasbench1shot1, whose table answers on a simulated clock.

    A study stops by itself when the limit of the search is reached, so `optimize` needs no `n_trials`. Bounds are
    constraints of the trials.

    Args:
        space: the search space, such as "s1" or "nb201".
        epochs: training epochs, or several budgets for pruning. Default: full training.
        options: options of `nb.objective`, such as `seconds=2e5`, `objective=[…]`, `bounds="flops=1e8"` or `out=…`. The
            default limit of nb201 and nats-size is meant for trainings of 12 epochs.

    Attributes:
        objective: the objective, with the clock, the limits and the record.
    """

    def __init__(self, space: str = "s1", epochs: Any = None, **options: Any) -> None:
        super().__init__()
        self.objective = nb.objective(space, **options)
        self._train = nb.optuna_objective(self.objective, self.objective.epochs[-1] if epochs is None else epochs)

    @property
    def search_space(self) -> dict[str, optuna.distributions.BaseDistribution]:
        """One categorical distribution for each choice."""
        choices = self.objective.choices
        return {name: optuna.distributions.CategoricalDistribution(of) for name, of in choices.items()}

    @property
    def directions(self) -> list[optuna.study.StudyDirection]:
        """The directions: all costs are minimized."""
        return [optuna.study.StudyDirection.MINIMIZE] * len(self.objective.objectives)

    def __call__(self, trial: optuna.Trial) -> float | tuple[float, ...]:
        """Train the architecture of a trial; the trial also gets reports for pruning and constraints."""
        return self._train(trial)

    def evaluate(self, params: dict[str, Any]) -> float | tuple[float, ...]:
        """Return the cost of an architecture at full training, or all costs of several objectives."""
        costs = self.objective(params, self.objective.epochs[-1]).costs
        return costs if len(costs) > 1 else costs[0]
