"""Nevergrad: search s1 with its evolutionary algorithm until the simulated time is spent.

Needs `pip install nevergrad`.
"""

import nevergrad as ng

import nasbench1shot1 as nb

with nb.objective("s1", seconds=1e5, name="nevergrad", out="runs/nevergrad") as objective:
    space = ng.p.Dict(**{name: ng.p.Choice(list(of)) for name, of in objective.choices.items()})
    space.random_state.seed(0)
    optimizer = ng.optimizers.DiscreteOnePlusOne(space, budget=1_000)
    try:
        while True:
            candidate = optimizer.ask()
            optimizer.tell(candidate, objective(candidate.value).cost)
    except nb.BudgetSpent:
        pass

print(nb.open_run("runs/nevergrad").final[["validation_error", "test_regret", "evaluations"]])
