"""How much of the loss's variance does each hyperparameter explain? fANOVA per budget (figure 16 of NAS-Bench-1Shot1).

The evaluator is Optuna's `FanovaImportanceEvaluator` (Hutter et al. 2014): a random forest is fitted to the
observations, and its variance over the space is attributed to the hyperparameters. Configurations are passed in the
unit cube. Otherwise, the evaluator would integrate over the raw range, in which most of a logarithmic range has almost
no volume.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.experiments.tuning.encoding import encode_observations, is_ordered, n_choices
from nasbench1shot1.tuning.export import import_optuna, new_optuna_study

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from nasbench1shot1.tuning.record import Study

EVALUATOR = "Optuna's fANOVA"
REST = "(interactions)"
"""Row for the variance that no single hyperparameter explains."""
FEWEST = 4
"""Number of observations at a budget below which no importance is reported."""


def importances(studies: "Sequence[Study]", seed: int = 0) -> pandas.DataFrame:
    """Return the importance of each hyperparameter at each budget.

    Args:
        studies: studies of one configuration space, which are pooled; they may be unfinished.
        seed: seed of the random forest.

    Returns:
        Columns `budget`, `observations` (searches that did not diverge), `hyperparameter`, `importance` (fraction of
        the variance). The rows `REST` make the sum 1. Importances are NaN if a budget has fewer than `FEWEST`
        observations or if all its losses are equal.

    Raises:
        InvalidInputError: the studies have different configuration spaces.
        UserError: Optuna is not installed.
    """
    rows = []
    for budget in sorted({line["budget"] for study in studies for line in study.lines}):
        frame, losses = encode_observations(studies, budget)
        found = _fanova(frame, losses, studies[0].config_space, seed)
        rows += [(budget, len(losses), name, value) for name, value in found.items()]
    return pandas.DataFrame(rows, columns=["budget", "observations", "hyperparameter", "importance"])


def _fanova(
    frame: pandas.DataFrame, losses: NDArray[np.float64], space: Mapping[str, Any], seed: int
) -> dict[str, float]:
    if len(losses) < FEWEST or np.ptp(losses) == 0:
        return dict.fromkeys([*frame.columns, REST], float("nan"))
    import_optuna()
    from optuna.importance import FanovaImportanceEvaluator
    from optuna.trial import create_trial

    distributions = {name: _distribution(space[name]) for name in frame.columns}
    trials = [
        create_trial(params=_params(row, distributions), distributions=distributions, value=float(loss))
        for row, loss in zip(frame.to_dict("records"), losses, strict=True)
    ]
    found = FanovaImportanceEvaluator(seed=seed).evaluate(new_optuna_study(trials))  # not normalised to a sum of 1
    own = {name: float(found.get(name, 0.0)) for name in frame.columns}
    return {**own, REST: 1 - sum(own.values())}


def _distribution(hyperparameter: Any) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    count = n_choices(hyperparameter)
    if count is None:
        return FloatDistribution(0.0, 1.0)
    return IntDistribution(0, count - 1) if is_ordered(hyperparameter) else CategoricalDistribution(range(count))


def _params(row: Mapping[Any, float], distributions: "Mapping[str, BaseDistribution]") -> dict[str, Any]:
    from optuna.distributions import FloatDistribution

    numbers = (FloatDistribution,)
    return {name: value if isinstance(distributions[name], numbers) else int(value) for name, value in row.items()}


def order_of(frame: pandas.DataFrame) -> list[str]:
    """Return the hyperparameters of `importances` from the most to the least important on average; `REST` last."""
    mean = frame[frame["hyperparameter"] != REST].groupby("hyperparameter", sort=False)["importance"].mean()
    return [*mean.fillna(0.0).sort_values(ascending=False, kind="stable").index, REST]
