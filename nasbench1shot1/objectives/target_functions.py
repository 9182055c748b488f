"""SMAC3, NePS and DEHB: an objective as the target function that these libraries call.

Sources: SMAC3 2.4 (Lindauer et al., JMLR 2022), NePS 0.17 (github.com/automl/neps), DEHB 0.1 (Awad et al., IJCAI 2021).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.objectives.objective import Objective, check_objective

if TYPE_CHECKING:
    from smac import Callback

Library = Literal["smac", "neps", "dehb"]
"""Libraries with target functions."""


def target_function(objective: Objective, library: Library = "smac") -> Callable[..., Any]:
    """Return an objective as the target function of a library that uses ConfigSpace.

    Give `objective.configuration_space` to the library as its search space.

    Args:
        objective: the objective, a result of `nb.objective`.
        library: the library that calls the function.
            "smac": `f(config, seed=0, budget=None)` returns the cost, or a dictionary of costs by the name of the
            objective if there are several. The seed has no effect: each call draws a repeat of the table.
            "neps": `f(epochs=None, **choices)` returns "objective_to_minimize", a cost or a list of costs, and "cost",
            the simulated seconds. Parameters with a single choice, which NePS refuses, can be left out.
            "dehb": `f(config, fidelity=None, **others)` returns "fitness", "cost" in simulated seconds, and "info" with
            the clock. Budgets and fidelities are epochs.

    Raises InvalidInputError for an unknown library, or if `objective` is not an `nb.Objective`.
    """
    check_objective(objective)

    def smac(config: Any, seed: int = 0, budget: float | None = None) -> float | dict[str, float]:
        answer = objective(config, budget)
        costs = dict(zip(objective.objectives, answer.costs, strict=True))
        return costs if len(costs) > 1 else answer.cost

    fixed = {name: of[0] for name, of in objective.choices.items() if len(of) == 1}

    def neps(epochs: float | None = None, **choices: str) -> dict[str, Any]:
        answer = objective({**fixed, **choices}, epochs)
        costs = list(answer.costs)
        return {"objective_to_minimize": costs if len(costs) > 1 else answer.cost, "cost": answer.seconds}

    def dehb(config: Mapping[str, Any], fidelity: float | None = None, **others: Any) -> dict[str, Any]:
        answer = objective(config, fidelity)
        return {"fitness": answer.cost, "cost": answer.seconds, "info": {"finished": answer.finished}}

    functions: dict[str, Callable[..., Any]] = {"smac": smac, "neps": neps, "dehb": dehb}
    if library not in functions:
        raise unknown_name("library", str(library), get_args(Library))
    return functions[library]


def smac_callback(objective: Objective) -> "Callback":
    """Return a callback for SMAC that stops the optimization when a search of an objective is over.

    Without it, SMAC treats `nb.BudgetSpent` as a crash of the target function and continues.

    Raises UserError if SMAC is not installed.
    """
    require_package("smac", "nb.smac_callback", extra="tune")
    check_objective(objective)
    from smac import Callback

    class UntilSpent(Callback):
        """Stops SMAC when the search is over."""

        def on_tell_end(self, smbo: Any, info: Any, value: Any) -> bool | None:
            return None if objective.remaining else False

    return UntilSpent()
