"""Syne Tune: the table of an objective as a blackbox for its simulator.

Source: Syne Tune 0.16 (Salinas et al., Syne Tune: A Library for Large Scale Hyperparameter Tuning and Reproducible
Research, AutoML 2022).
"""

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.simulation import TableTrainings
from nasbench1shot1.choices import Choices
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.objectives.answers import OtherMetric
from nasbench1shot1.objectives.objective import Objective, check_objective

if TYPE_CHECKING:
    from syne_tune.blackbox_repository.blackbox_tabular import BlackboxTabular

ELAPSED = "seconds"
"""The blackbox's name of the cost of a training in simulated seconds."""
FIDELITY = "epochs"
"""The blackbox's name of its fidelity."""
LARGEST = 100_000
"""Maximum number of configurations of a blackbox, which holds all of them in memory."""


def syne_tune_blackbox(objective: Objective) -> "BlackboxTabular":
    """Return all trainings of an objective as a tabular blackbox of Syne Tune.

    The blackbox has the costs of all objectives under their names, lower is better, and "seconds", the cost of a
    training in simulated seconds. Its fidelity is "epochs", with the budgets of the table. Its seeds are the repeats
    that the table has for every configuration at every budget, in ascending order. The clock, limits and record of the
    objective are not used, because Syne Tune has its own.

    Raises:
        UserError: Syne Tune is not installed, or is installed without its extra.
        InvalidInputError: the objective has bounds, or its space has too many configurations.
        OutOfDomainError: the table has no repeat of all configurations at all budgets.
    """
    for package in ("syne_tune", "huggingface_hub"):  # Syne Tune without its extra cannot import its blackboxes
        require_package(package, "nb.syne_tune_blackbox", install="run pip install 'syne-tune[extra]'")
    check_objective(objective)
    import pandas as pd
    from syne_tune.blackbox_repository.blackbox_tabular import BlackboxTabular
    from syne_tune.config_space import choice, randint

    if objective.bounds:
        raise InvalidInputError("a blackbox of Syne Tune has no bounds: make the objective without them")
    choices = objective.choices
    if (size := math.prod(map(len, choices.values()))) > LARGEST:
        raise InvalidInputError(
            f"{objective.space.name} has {size:,} configurations, but a blackbox holds at most {LARGEST:,}: use a "
            "smaller space"
        )
    return BlackboxTabular(
        hyperparameters=pd.DataFrame(product(*choices.values()), columns=list(choices)),
        configuration_space={name: choice(list(of)) for name, of in choices.items()},
        fidelity_space={FIDELITY: randint(objective.epochs[0], objective.epochs[-1])},
        objectives_evaluations=all_trainings(objective),
        fidelity_values=np.array(objective.epochs),
        objectives_names=[*objective.objectives, ELAPSED],
    )


def all_trainings(objective: Objective) -> np.ndarray:
    """Return costs and seconds of all trainings, (configurations, repeats, budgets, objectives + 1).

    Configurations are in the order of the Cartesian product of the choices. Only repeats without a missing value are
    included. Raises OutOfDomainError if there is none.
    """
    table, repeats, read = objective.table, objective.repeats, Choices(objective.space).read
    is_noisy = any(repeats.repeats_at(epochs)[1] > 1 for epochs in objective.epochs)
    numbers: list[int | None] = list(range(table.repeats)) if is_noisy else [None]
    others = [OtherMetric(table, name, repeats.objective) for name in repeats.others]
    train = TableTrainings(
        *(objective.space, table, repeats.objective.dataset, np.random.default_rng(0)),
        metric=repeats.objective.validation_metric,
        suits=lambda drawn, epochs: all(other.is_known(drawn, epochs) for other in others),
    )

    def training(arch: Architecture | None, repeat: int | None, epochs: int) -> list[float]:
        if arch is None:
            return [*objective.worst_costs, 0.0]
        try:
            drawn = train.draw(Query(arch, epochs), repeat=repeat)
            costs = [other.cost(drawn, arch, epochs) for other in others]
        except OutOfDomainError:
            return [np.nan] * (len(others) + 2)
        return [drawn.result.validation_error, *costs, drawn.result.seconds]

    architectures = [read(values).architecture for values in product(*map(range, map(len, objective.choices.values())))]
    of_repeats = [
        [[training(arch, repeat, epochs) for epochs in objective.epochs] for arch in architectures]
        for repeat in numbers
    ]
    complete = [found for found in map(np.array, of_repeats) if not np.isnan(found).any()]
    if not complete:
        raise OutOfDomainError(
            f"the table {table.id} has no repeat of all configurations of {objective.space.name} at all budgets: "
            "choose another table or objective"
        )
    return np.stack(complete, axis=1)
