"""Cross-fitting: the held-out prediction of a cell comes from models that were fitted without its measurement."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.sample import Floats, Matrix
from nasbench1shot1.table_building import boosting


@dataclass(frozen=True)
class Settings:
    """Amount of work of the regression; the defaults build the embedded table.

    Attributes:
        folds: number of cross-validation folds, which are determined by hash.
        trees: number of trees in each boosted model.
        epochs: number of training epochs of the network.
        threads: number of threads; it is fixed because the order of sums, and thus rounding, depends on it.
    """

    folds: int = 5
    trees: int = 800
    epochs: int = 40
    threads: int = 1


QUICK = Settings(folds=2, trees=40, epochs=2)
"""Settings for tests, which run all steps in less than a minute."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of T targets for the sample and for other cells.

    Attributes:
        held_out: (N, T) predictions for the sample's cells, by models that were fitted without the cell's fold.
        mean: (M, T) predictions for other cells, means over the models of all folds.
    """

    held_out: Floats
    mean: Floats


def folds_by_hash(hashes: NDArray[np.bytes_], n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each cell: the first four bytes of its MD5 modulo the number of folds."""
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
    """Fit models without each fold; a prediction is the mean of the boosted trees' and the network's predictions.

    Args:
        x: (N, F) features of the sample.
        y: (N, T) targets.
        folds: (N,) folds of the sample's cells.
        others: (M, F) features of the cells to predict.
        settings: amount of work.
        report: receives a line for every fold.
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
