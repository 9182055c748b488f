"""Objectives and adapters."""

from collections.abc import Callable

import numpy as np
import optuna
from optuna.trial import Trial

import nasbench1shot1 as nb

with nb.objective("s1", seconds=2e5, name="my-random-search", out="runs/my-random-search") as objective:
    for search in range(3):
        objective.reset(search)
        try:
            while True:
                choices = {name: str(objective.rng.choice(of)) for name, of in objective.choices.items()}
                answer = objective(choices)
                print(answer.cost + float(answer), answer.costs, answer.seconds, answer.finished, answer.architecture)
        except nb.BudgetSpent:
            pass
study = nb.open_run("runs/my-random-search")
print(study.final[["validation_error"]])
objective = nb.objective(
    nb.search_space("nb201"),
    objective=["validation_accuracy", "trainable_parameters"],
    bounds="flops=1e8",
    evaluations=100,
)
sampler = optuna.samplers.NSGAIISampler(seed=0, population_size=20)
found = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
found.optimize(nb.optuna_objective(objective))
goal: Callable[[Trial], float | tuple[float, ...]] = nb.optuna_objective(objective, epochs=objective.epochs)
objective("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
objective(5, epochs=12.0, seed=777)
objective(np.int64(5))
objective([0, 1, 2, 3, 4, 0])
objective(np.zeros(6, np.int64))
objective(objective.configuration_space.sample_configuration())
costs = objective.evaluate(np.zeros((3, 6), np.int64))
print(costs.min(axis=0), objective.indices(nb.search_space("nb201")[3]), objective.score(4), objective.optimum())
print(objective.finish().final, objective.remaining, objective.epochs[0])
target = nb.target_function(objective)
callback = nb.smac_callback(objective)
problem = nb.pymoo_problem(objective)
box = nb.syne_tune_blackbox(objective)
