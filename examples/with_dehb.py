"""DEHB: differential evolution and Hyperband on s1, until the simulated time is spent.

Needs `pip install dehb==0.1.2`, which requires numpy < 2, in an environment of its own.
"""

from contextlib import suppress

from dehb import DEHB

import nasbench1shot1 as nb

with nb.objective("s1", seconds=1e5, name="dehb", out="runs/dehb") as objective:
    optimizer = DEHB(
        f=nb.target_function(objective, "dehb"),
        cs=objective.configuration_space,
        min_fidelity=objective.epochs[0],
        max_fidelity=objective.epochs[-1],
        n_workers=1,
        seed=0,
        output_path="runs/dehb-files",
        log_level="CRITICAL",  # it logs nb.BudgetSpent as an error before raising it
    )
    with suppress(nb.BudgetSpent):
        optimizer.run(fevals=10_000)

print(nb.open_run("runs/dehb").final[["validation_error", "test_regret", "evaluations"]])
