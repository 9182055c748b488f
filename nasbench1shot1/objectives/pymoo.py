"""pymoo: an objective as a problem with categorical variables, several objectives and constraints.

Source: pymoo 0.6 (Blank and Deb, pymoo: Multi-Objective Optimization in Python, IEEE Access 2020).
"""

from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.objectives.answers import BudgetSpent
from nasbench1shot1.objectives.objective import Objective, check_objective

if TYPE_CHECKING:
    from pymoo.core.problem import ElementwiseProblem


def pymoo_problem(objective: Objective, epochs: float | None = None) -> "ElementwiseProblem":
    """Return an objective as a problem that pymoo's `minimize` optimizes.

    Each choice is a variable `Choice`, each objective a cost, and each bound an inequality constraint. The attribute
    `until_spent` is a termination that ends the optimization when the search is over. Individuals for which no budget
    is left get `objective.worst_costs` and are not charged.

    Args:
        objective: the objective, a result of `nb.objective`.
        epochs: training epochs. Default: the default of the objective.

    Raises UserError if pymoo is not installed.
    """
    require_package("pymoo", "nb.pymoo_problem", install="run pip install pymoo")
    check_objective(objective)
    import numpy as np
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.core.termination import Termination
    from pymoo.core.variable import Choice

    class UntilSpent(Termination):  # type: ignore[misc]
        """Ends an optimization when the search is over."""

        def _update(self, algorithm: Any) -> float:
            return 0.0 if objective.remaining else 1.0

    class TrainingProblem(ElementwiseProblem):  # type: ignore[misc]
        """Trains the architectures of a search space."""

        def __init__(self) -> None:
            choices = {name: Choice(options=list(of)) for name, of in objective.choices.items()}
            super().__init__(vars=choices, n_obj=len(objective.objectives), n_ieq_constr=len(objective.bounds))
            self.until_spent = UntilSpent()

        def _evaluate(self, x: dict[str, str], out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            try:
                answer = objective(x, epochs)
            except BudgetSpent:
                out["F"], out["G"] = objective.worst_costs, (np.inf,) * len(objective.bounds)
            else:
                out["F"], out["G"] = answer.costs, answer.violations

        def __deepcopy__(self, memo: Any) -> "TrainingProblem":
            return self  # the history of an optimization shares the objective and its clock

    return TrainingProblem()
