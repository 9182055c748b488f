"""Gradient-boosted regression trees, one model for each target."""

import numpy as np

from nasbench1shot1.nasbench101.sample import Floats, Matrix

LEAVES, FEATURE_FRACTION = 24, 0.15
LEARNING_RATE = 0.05
HUBER = 0.1
"""Threshold of the Huber loss in log error, because diverged repeats are outliers."""


def fit_and_predict(x: Matrix, y: Floats, wanted: Matrix, trees: int, threads: int) -> Floats:
    """Fit (N, F) features to (N, T) targets; return predictions (M, T) for (M, F) features.

    Results are bit-identical for an equal number of threads.
    """
    return np.stack([_fit_one_target(x, target, wanted, trees, threads) for target in y.T], axis=1)


def _fit_one_target(x: Matrix, y: Floats, wanted: Matrix, trees: int, threads: int) -> Floats:
    import lightgbm

    parameters = {
        "objective": "huber",
        "alpha": HUBER,
        "learning_rate": LEARNING_RATE,
        "num_leaves": LEAVES,
        "feature_fraction": FEATURE_FRACTION,
        "min_data_in_leaf": 20,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "seed": 0,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads,
        "verbose": -1,
    }
    model = lightgbm.train(parameters, lightgbm.Dataset(x, y), trees)
    return np.asarray(model.predict(wanted, num_threads=threads))
