"""Optuna: an objective as a function of trials, with pruning, bounds and several objectives.

Source: Optuna 5.0 (Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.choices import snap
from nasbench1shot1.ground.errors import InvalidInputError, value_of
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.ground.text import counted
from nasbench1shot1.objectives.answers import BudgetSpent, Evaluation
from nasbench1shot1.objectives.objective import Objective, check_objective

if TYPE_CHECKING:
    from optuna import Trial


def optuna_objective(
    objective: Objective, epochs: float | Sequence[float] | None = None
) -> "Callable[[Trial], float | tuple[float, ...]]":
    """Return an objective as a function that Optuna's `study.optimize` calls.

    Each choice is a categorical parameter of the trial. With several budgets, a trial trains at one after the other and
    reports each result, so that the study's pruner can end it. A pruned trial is charged only for its own trainings.
    The trial has the violation of each bound as a constraint, and the user attributes `seconds` (cost of its trainings)
    and `finished` (the clock), both in simulated seconds, and `epochs` (budget of its last training). A trial outside
    the space or the bounds is not trained; its user attribute `is_trained` is False. When the search is over, the study
    stops. A trial that the limit interrupts is pruned.

    Args:
        objective: the objective, a result of `nb.objective`. It must be made with `continuation=True` if a training
            should continue the previous one, instead of starting again.
        epochs: training epochs; or several budgets, such as `objective.epochs`, for pruning. Default: the default of
            the objective.

    Returns:
        A function of a trial that returns the cost, or a tuple of all costs if the objective has several.

    Raises:
        UserError: Optuna is not installed.
        InvalidInputError: no budget is given, or several budgets together with several objectives, which Optuna cannot
            prune. The function itself raises it if the study does not minimize exactly these objectives.
    """
    require_package("optuna", "nb.optuna_objective", extra="tune")
    check_objective(objective)
    given = epochs if isinstance(epochs, Sequence) else (objective.default_epochs if epochs is None else epochs,)
    budgets = sorted({snap(one, objective.epochs) for one in given})
    if not budgets or (len(budgets) > 1 and len(objective.objectives) > 1):
        raise InvalidInputError(
            f"{value_of('epochs')} has {len(budgets)} budgets: give one, or several for a single objective, because "
            "Optuna cannot prune trials with several objectives"
        )
    from optuna import TrialPruned

    def cost(trial: "Trial") -> float | tuple[float, ...]:
        _check_directions(trial, objective)
        choices = {name: trial.suggest_categorical(name, of) for name, of in objective.choices.items()}
        try:
            return _train(objective, trial, choices, budgets)
        except BudgetSpent as spent:
            raise TrialPruned("the search has reached its limit") from spent
        finally:
            if not objective.remaining:
                trial.study.stop()

    return cost


def _train(
    objective: Objective, trial: "Trial", choices: dict[str, str], budgets: Sequence[int]
) -> float | tuple[float, ...]:
    """Train at each budget and return the costs of the last one; raises TrialPruned if the pruner ends the trial."""
    from optuna import TrialPruned

    seconds = 0.0
    for place, epochs in enumerate(budgets, 1):
        answer = objective(choices, epochs)
        seconds += answer.seconds
        if place == 1:
            _set_constraints(objective, trial, answer)
        trial.set_user_attr("seconds", seconds)
        trial.set_user_attr("finished", answer.finished)
        trial.set_user_attr("epochs", answer.epochs)
        if not answer.is_trained:
            trial.set_user_attr("is_trained", False)
            break
        if len(budgets) > 1:
            trial.report(answer.cost, answer.epochs)
            if place < len(budgets) and trial.should_prune():
                raise TrialPruned
    return answer.costs if len(answer.costs) > 1 else answer.cost


def _set_constraints(objective: Objective, trial: "Trial", answer: Evaluation) -> None:
    for bound, violation in zip(objective.bounds, answer.violations, strict=True):
        trial.set_constraint(bound, np.inf if np.isnan(violation) else violation)


def _check_directions(trial: "Trial", objective: Objective) -> None:
    """Raise InvalidInputError if a study does not minimize the objectives; Optuna itself would only print a warning."""
    directions = [direction.name.lower() for direction in trial.study.directions]
    if directions != ["minimize"] * len(objective.objectives):
        wanted = ["minimize"] * len(objective.objectives)
        given = f"{counted(len(directions), 'direction')} ({', '.join(directions)})"
        costs = f"{counted(len(wanted), 'objective')} ({', '.join(objective.objectives)})"
        raise InvalidInputError(
            f"the study has {given}, but the nb.Objective has {costs}, whose costs are minimized: "
            f"call optuna.create_study(directions={wanted})"
        )
