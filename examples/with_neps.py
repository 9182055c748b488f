"""NePS: Hyperband on s1, with the simulated seconds as its budget.

Needs `pip install neural-pipeline-search`, which requires pandas < 3 and networkx < 3, in an environment of its own.
"""

import neps

import nasbench1shot1 as nb

with nb.objective("s1", evaluations=500, name="neps-hyperband", out="runs/neps-hyperband") as objective:
    names = {name: neps.Categorical(of) for name, of in objective.choices.items() if len(of) > 1}
    epochs = neps.IntegerFidelity(objective.epochs[0], objective.epochs[-1])
    space = type("Space", (neps.PipelineSpace,), {**names, "epochs": epochs})()
    neps.run(
        nb.target_function(objective, "neps"),
        space,
        optimizer="hyperband",
        total_cost_to_spend=20_000,
        root_directory="runs/neps",
    )

print(nb.open_run("runs/neps-hyperband").final[["validation_error", "test_regret", "evaluations"]])
