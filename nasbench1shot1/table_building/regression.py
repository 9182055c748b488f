"""Gradient boosting, fitted so that no cell is ever predicted by a model that has seen its measurement."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.table_building.sources import Floats

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """How much work goes into the regression; the defaults make the embedded table.

    Attributes:
        folds: number of parts that the sample is cut into by hash.
        trees: of each model.
        leaves: of each tree.
        learning_rate: of the boosting.
        huber: where the loss turns from squared to absolute, in log error; diverged repeats lie far out.
        feature_fraction: share of the features that a tree sees.
        threads: a number of its own, because the sums of a histogram depend on it.
    """

    folds: int = 5
    trees: int = 800
    leaves: int = 24
    learning_rate: float = 0.05
    huber: float = 0.1
    feature_fraction: float = 0.15
    threads: int = 1


QUICK = Settings(folds=3, trees=40, leaves=16, learning_rate=0.2)
"""For tests: the same path in a few seconds."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of the target for the sample and for other cells.

    Attributes:
        held_out: (N,) for each cell of the sample, by the model that was fitted without its fold.
        mean: (M,) for other cells, the mean over all models.
    """

    held_out: Floats
    mean: Floats


def folds_by_hash(hashes: NDArray[np.bytes_], n_folds: int) -> NDArray[np.int64]:
    """The fold of each cell: the first four bytes of its MD5 modulo the number of folds."""
    first_bytes = hashes.view(np.uint8).reshape(-1, 16)[:, :4].astype(np.int64)
    return (first_bytes @ 256 ** np.arange(3, -1, -1)) % n_folds


def cross_fit(x: Matrix, y: Floats, folds: NDArray[np.int64], others: Matrix, settings: Settings) -> Predictions:
    """Fit one model for each fold on all other folds.

    Args:
        x: (N, F) features of the sample.
        y: (N,) target.
        folds: (N,) fold of each.
        others: (M, F) features of the cells to predict.
        settings: amount of work.
    """
    held_out, total = np.empty(len(y)), np.zeros(len(others))
    for fold in range(settings.folds):
        inside = folds == fold
        model = fit(x[~inside], y[~inside], settings)
        held_out[inside] = model.predict(x[inside], num_threads=settings.threads)
        total += model.predict(others, num_threads=settings.threads)
    return Predictions(held_out, total / settings.folds)


def fit(x: Matrix, y: Floats, settings: Settings):  # type: ignore[no-untyped-def]  # lightgbm has no types
    """One LightGBM model, the same bits every time."""
    import lightgbm

    parameters = {
        "objective": "huber",
        "alpha": settings.huber,
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.leaves,
        "feature_fraction": settings.feature_fraction,
        "min_data_in_leaf": 20,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "seed": 0,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": settings.threads,
        "verbose": -1,
    }
    return lightgbm.train(parameters, lightgbm.Dataset(x, y), settings.trees)
