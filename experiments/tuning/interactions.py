"""Which pairs of hyperparameters interact? Shapley interactions by hypershap, an optional extra.

hypershap's sensitivity game asks how much the prediction of a random forest varies if some hyperparameters vary and the
others keep their defaults (Wever et al. 2025). fANOVA averages over the other hyperparameters instead, so the two do
not measure the same thing.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING

import pandas

from nasbench1shot1.experiments.tuning.encoding import list_observations
from nasbench1shot1.experiments.tuning.importance import FEWEST
from nasbench1shot1.ground.errors import InvalidInputError, UserError

if TYPE_CHECKING:
    from nasbench1shot1.tuning.record import Study

EVALUATOR = "hypershap's sensitivity, Faithful Shapley interactions"
SAMPLES = 1000
"""Random configurations per set of hyperparameters."""


def interactions(studies: "Sequence[Study]", budget: int | None = None, seed: int = 0) -> pandas.DataFrame:
    """Return the contribution of each hyperparameter and of each pair to the variance of the predicted loss.

    Args:
        studies: studies of one configuration space without conditions, which are pooled.
        budget: only fit searches of this many epochs. Default: all.
        seed: seed of the random forest and of the random configurations.

    Returns:
        Columns `first`, `second` (empty for a hyperparameter alone) and `interaction`, a variance of losses as
        fractions; negative for a pair whose joint effect is less than the sum of its parts. No rows if fewer than
        `FEWEST` searches did not diverge.

    Raises:
        InvalidInputError: the space has conditions, or the studies have different configuration spaces.
        UserError: hypershap is not installed.
    """
    try:
        from hypershap import ExplanationTask, HyperSHAP
        from sklearn.ensemble import RandomForestRegressor
    except ImportError as error:
        raise UserError("interactions need hypershap: in a checkout, run pip install '.[interactions]'") from error
    from ConfigSpace import Configuration

    space = studies[0].config_space
    if space.conditions:
        raise InvalidInputError("interactions are not defined for a configuration space with conditions")
    found = list_observations(studies, budget)
    if len(found) < FEWEST:
        return pandas.DataFrame(columns=["first", "second", "interaction"])
    data = [(Configuration(space, values=configuration), loss) for configuration, loss in found]
    task = ExplanationTask.from_data(space, data, RandomForestRegressor(random_state=seed))
    values = HyperSHAP(task).sensitivity(space.get_default_configuration(), n_samples=SAMPLES, seed=seed)
    names = list(space)
    sets = [(i,) for i in range(len(names))] + list(combinations(range(len(names)), 2))
    rows = [(names[of[0]], names[of[1]] if len(of) > 1 else "", float(values[of])) for of in sets]
    return pandas.DataFrame(rows, columns=["first", "second", "interaction"])


def is_installed() -> bool:
    """Return whether hypershap is installed."""
    return find_spec("hypershap") is not None
