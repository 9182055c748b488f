"""Search s1 with Optuna's TPE for 100,000 simulated seconds."""

import optuna
import optunahub

nasbench1shot1 = optunahub.load_module("benchmarks/nasbench1shot1")
problem = nasbench1shot1.Problem("s1", seconds=1e5)
study = optuna.create_study(directions=problem.directions, sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(problem)
print(f"{problem.objective.evaluations} trainings, best validation error {study.best_value:.4f}")
