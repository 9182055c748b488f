"""The expected loss over two hyperparameters: the surfaces of figure 16 of NAS-Bench-1Shot1.

A random forest is fitted to the observations of one budget. Its marginal over two hyperparameters is the mean of its
prediction over all values of the others, uniform on their scales (Hutter et al. 2014, equation 3), here over a Sobol
sequence.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.experiments.tuning.encoding import encode_observations, n_choices
from nasbench1shot1.experiments.tuning.importance import FEWEST
from nasbench1shot1.ground.errors import InvalidInputError, UserError, unknown_name

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from nasbench1shot1.tuning.record import Study

PAIR = ("cutout_probability", "weight_decay")
"""The hyperparameters that figure 16 shows: cutout and L2."""
TREES = 64
"""Number of trees, the default of Optuna's fANOVA."""


def marginal(
    studies: "Sequence[Study]",
    pair: tuple[str, str] = PAIR,
    budget: int | None = None,
    *,
    points: int = 25,
    others: int = 64,
    seed: int = 0,
) -> pandas.DataFrame:
    """Return the expected loss on a grid over two numeric hyperparameters.

    Args:
        studies: studies of one configuration space, which are pooled.
        pair: names of the two hyperparameters.
        budget: only fit searches of this many epochs. Default: all.
        points: number of grid points per hyperparameter, evenly spaced on its scale, ends included.
        others: number of points over which the other hyperparameters are averaged; a power of 2.
        seed: seed of the forest and of the Sobol sequence.

    Returns:
        A frame with one row per grid point: the two hyperparameters in their own units, and `loss`, a fraction. It has
        no rows if fewer than `FEWEST` searches did not diverge.

    Raises:
        InvalidInputError: a name is unknown, not numeric, or given twice, or the studies have different spaces.
        UserError: scikit-learn is not installed.
    """
    space = studies[0].config_space
    for name in pair:
        if name not in space:
            raise unknown_name("hyperparameter", name, list(space))
    if pair[0] == pair[1] or any(n_choices(space[name]) is not None for name in pair):
        raise InvalidInputError(f"a marginal over {pair[0]} and {pair[1]} is not defined: give two different numbers")
    frame, losses = encode_observations(studies, budget)
    if len(losses) < FEWEST:
        return pandas.DataFrame(columns=[*pair, "loss"], dtype=np.float64)
    forest = _forest(seed).fit(frame.to_numpy(), losses)
    axis = np.linspace(0.0, 1.0, points)
    first, second = (values.ravel() for values in np.meshgrid(axis, axis, indexing="ij"))
    filled = np.repeat(_filling(space, others, seed)[None], len(first), axis=0)  # (grid, others, hyperparameters)
    names = list(space)
    filled[:, :, names.index(pair[0])] = first[:, None]
    filled[:, :, names.index(pair[1])] = second[:, None]
    predicted = forest.predict(filled.reshape(-1, len(names))).reshape(len(first), others).mean(axis=1)
    units = [[float(space[name].to_value(x)) for x in of] for name, of in zip(pair, (first, second), strict=True)]
    return pandas.DataFrame({pair[0]: units[0], pair[1]: units[1], "loss": predicted})


def _filling(space: "ConfigurationSpace", others: int, seed: int) -> NDArray[np.float64]:
    """Return points of the whole space in the encoding of `encoding.to_unit_cube`, shape (others, hyperparameters)."""
    from scipy.stats import qmc

    points = qmc.Sobol(len(space), seed=seed).random(others)
    for column, hyperparameter in enumerate(space.values()):
        if count := n_choices(hyperparameter):
            points[:, column] = np.minimum(np.floor(points[:, column] * count), count - 1)
    filled: NDArray[np.float64] = points
    return filled


def _forest(seed: int) -> Any:
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError as error:
        raise UserError("this needs scikit-learn: in a checkout, run pip install '.[tune]'") from error
    return RandomForestRegressor(n_estimators=TREES, random_state=seed)
