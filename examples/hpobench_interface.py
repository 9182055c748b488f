"""HPOBench: a benchmark with its interface, for optimizers that were written for HPOBench.

HPOBench itself is not needed, and is not on PyPI.
"""

from typing import Any

import nasbench1shot1 as nb


class TableBenchmark:
    """A search space with the methods of HPOBench's `AbstractBenchmark`.

    Args:
        space: the search space.
        options: options of `nb.objective`.
    """

    def __init__(self, space: str = "s1", **options: Any) -> None:
        self.objective = nb.objective(space, **options)

    def objective_function(self, configuration: Any, fidelity: dict[str, float] | None = None, rng: Any = None) -> Any:
        """Train a configuration, by default with the most epochs.

        `rng` has no effect, because the objective draws the repeat of the table.
        """
        answer = self.objective(configuration, (fidelity or {}).get("epochs", self.objective.epochs[-1]))
        info = {"fidelity": {"epochs": answer.epochs}, "finished": answer.finished}
        return {"function_value": answer.cost, "cost": answer.seconds, "info": info}

    def objective_function_test(self, configuration: Any, fidelity: Any = None, rng: Any = None) -> Any:
        """Return the test error of a configuration after full training, for reports."""
        arch = self.objective.space.from_values(
            [of.index(str(configuration[name])) for name, of in self.objective.choices.items()]
        )
        return {"function_value": self.objective.score(arch).table_test_error, "cost": 0.0, "info": {}}

    def get_configuration_space(self, seed: int | None = None) -> Any:
        """Return the choices as a ConfigSpace space."""
        space = self.objective.configuration_space
        space.seed(seed)
        return space

    def get_fidelity_space(self, seed: int | None = None) -> Any:
        """Return the training epochs as a ConfigSpace space."""
        from ConfigSpace import ConfigurationSpace, OrdinalHyperparameter

        space = ConfigurationSpace(seed=seed)
        space.add(OrdinalHyperparameter("epochs", self.objective.epochs, default_value=self.objective.epochs[-1]))
        return space

    def get_meta_information(self) -> dict[str, Any]:
        """Return the name of the table."""
        return {"name": self.objective.table.id}


benchmark = TableBenchmark("s1", seconds=1e5)
space = benchmark.get_configuration_space(seed=0)
found = []
try:
    while True:
        configuration = space.sample_configuration()
        found.append((benchmark.objective_function(configuration, {"epochs": 36})["function_value"], configuration))
except nb.BudgetSpent:
    best = min(found, key=lambda one: one[0])[1]
    print(f"{len(found)} trainings, test error {benchmark.objective_function_test(best)['function_value']:.4f}")
