"""CARP-S: a task on nb201 with budgets and several objectives, and CARP-S's random search on it.

Needs `pip install carps`. CARP-S adds real seconds to the simulated ones, so the task limits the number of trials.
"""

from typing import Any

from carps.objective_functions.objective_function import ObjectiveFunction
from carps.optimizers.random_search import RandomSearchOptimizer
from carps.utils.task import FidelitySpace, InputSpace, OptimizationResources, OutputSpace, Task, TaskMetadata
from carps.utils.trials import TrialInfo, TrialValue

import nasbench1shot1 as nb


class Training(ObjectiveFunction):
    """Trains an architecture on the simulated clock of an objective."""

    def __init__(self, objective: nb.Objective, loggers: Any = None) -> None:
        super().__init__(loggers)
        self.objective = objective

    @property
    def configspace(self) -> Any:
        """The choices of the space."""
        return self.objective.configuration_space

    def _evaluate(self, trial_info: TrialInfo) -> TrialValue:
        answer = self.objective(trial_info.config, trial_info.budget)
        costs = list(answer.costs)
        return TrialValue(cost=costs if len(costs) > 1 else costs[0], virtual_time=answer.seconds)


def task(objective: nb.Objective, trials: int) -> Task:
    """Return a task of CARP-S with all budgets and objectives of an objective."""
    fidelities = FidelitySpace(True, "epochs", objective.epochs[0], objective.epochs[-1])
    return Task(
        name=f"nasbench1shot1/{objective.space.name}",
        objective_function=Training(objective),
        input_space=InputSpace(objective.configuration_space, fidelities),
        output_space=OutputSpace(len(objective.objectives), objective.objectives),
        optimization_resources=OptimizationResources(n_trials=trials),
        metadata=TaskMetadata(domain="NAS", objective_function_approximation="tabular", has_virtual_time=True),
    )


objective = nb.objective("nb201", evaluations=20, objective=["validation_accuracy", "trainable_parameters"])
objective.configuration_space.seed(0)  # CARP-S's random search draws its configurations from this space
optimizer = RandomSearchOptimizer(task(objective, trials=20))
incumbent = optimizer.run()
print(f"{objective.evaluations} trainings in {objective.seconds:,.0f} simulated seconds")
