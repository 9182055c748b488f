"""Fitting so that no cell is ever predicted by a model that has seen its measurement."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.table_building import boosting
from nasbench1shot1.table_building.sources import Floats, Matrix


@dataclass(frozen=True)
class Settings:
    """How much work goes into the regression; the defaults make the embedded table.

    Attributes:
        folds: number of parts that the sample is cut into by hash.
        trees: of each boosted model.
        epochs: of the network.
        threads: a number of its own, because the order of sums depends on it.
    """

    folds: int = 5
    trees: int = 800
    epochs: int = 40
    threads: int = 1


QUICK = Settings(folds=2, trees=40, epochs=2)
"""For trying things out: the same path in under a minute."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of T targets for the sample and for other cells.

    Attributes:
        held_out: (N, T) for each cell of the sample, by the models that were fitted without its fold.
        mean: (M, T) for other cells, the mean over all folds' models.
    """

    held_out: Floats
    mean: Floats


def folds_by_hash(hashes: NDArray[np.bytes_], n_folds: int) -> NDArray[np.int64]:
    """The fold of each cell: the first four bytes of its MD5 modulo the number of folds."""
    first_bytes = hashes.view(np.uint8).reshape(-1, 16)[:, :4].astype(np.int64)
    return (first_bytes @ 256 ** np.arange(3, -1, -1)) % n_folds


def cross_fit(
    x: Matrix,
    y: Floats,
    folds: NDArray[np.int64],
    others: Matrix,
    settings: Settings,
    report: Callable[[str], None] = lambda line: None,
) -> Predictions:
    """Fit for each fold on all other folds; a prediction is the mean of boosted trees' and the network's.

    Args:
        x: (N, F) features of the sample.
        y: (N, T) targets.
        folds: (N,) fold of each.
        others: (M, F) features of the cells to predict.
        settings: amount of work.
        report: is told of every fold.
    """
    from nasbench1shot1.table_building import network

    held_out, total = np.empty(y.shape), np.zeros((len(others), y.shape[1]))
    for fold in range(settings.folds):
        report(f"fold {fold + 1} of {settings.folds}")
        inside = folds == fold
        wanted = np.concatenate([x[inside], others])
        given = x[~inside], y[~inside], wanted
        predicted = (
            boosting.fit_and_predict(*given, settings.trees, settings.threads)
            + network.fit_and_predict(*given, settings.epochs, settings.threads)
        ) / 2
        held_out[inside] = predicted[: inside.sum()]
        total += predicted[inside.sum() :]
    return Predictions(held_out, total / settings.folds)
