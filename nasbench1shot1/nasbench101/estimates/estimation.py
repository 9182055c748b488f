"""The regression behind the tables of estimates: trees and networks that are cross-fitted to measured cells."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from nasbench1shot1.nasbench101.sources import Floats

Matrix = NDArray[np.float32]


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


@dataclass(frozen=True)
class Predictions:
    """Predictions of T targets for measured and for other cells.

    Attributes:
        held_out: (N, T) predictions for the measured cells, by models that were fitted without the cell's fold.
        mean: (M, T) predictions for other cells, means over the models of all folds.
    """

    held_out: Floats
    mean: Floats


def folds_by_hash(hashes: NDArray[np.bytes_], n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each cell: the first four bytes of its MD5 modulo the number of folds."""
    first_bytes = hashes.view(np.uint8).reshape(-1, 16)[:, :4].astype(np.int64)
    return (first_bytes @ 256 ** np.arange(3, -1, -1)) % n_folds


@dataclass(frozen=True)
class Targets:
    """The T targets of the regression.

    Attributes:
        groups: the targets that one boosted model predicts together, because they hardly differ, such as the validation
            and the test error of the same trainings.
        weights: the weight of a measurement of each target within its group.
    """

    groups: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]


def cross_fit(
    x: Matrix,
    y: Floats,
    folds: NDArray[np.int64],
    others: Matrix,
    targets: Targets,
    settings: Settings,
    report: Callable[[str], None] = lambda line: None,
) -> Predictions:
    """Fit models without each fold; a prediction is the mean of the boosted trees' and the network's predictions.

    Args:
        x: (N, F) features of the measured cells.
        y: (N, T) targets; NaN where a cell has no measurement, or none that the fit should use.
        folds: (N,) folds of the measured cells.
        others: (M, F) features of the cells to predict.
        targets: which targets are predicted together.
        settings: amount of work.
        report: receives a line for every fold.
    """
    held_out, total = np.empty(y.shape), np.zeros((len(others), y.shape[1]))
    for fold in range(settings.folds):
        report(f"fold {fold + 1} of {settings.folds}")
        inside = folds == fold
        wanted = np.concatenate([x[inside], others])
        used = ~inside & ~np.isnan(y).all(axis=1)
        trees = fit_trees(x[used], y[used], wanted, targets, settings.trees, settings.threads)
        network = fit_network(x[used], y[used], wanted, settings.epochs, settings.threads)
        predicted = (trees + network) / 2
        held_out[inside] = predicted[: inside.sum()]
        total += predicted[inside.sum() :]
    return Predictions(held_out, total / settings.folds)


# Boosted trees, one model for each group of targets -------------------------------------------------------------------


LEAVES, FEATURE_FRACTION = 24, 0.15
TREE_LEARNING_RATE = 0.05
TREE_HUBER = 0.1
"""Threshold of the Huber loss in log error, because diverged repeats are outliers."""


def fit_trees(x: Matrix, y: Floats, wanted: Matrix, targets: Targets, trees: int, threads: int) -> Floats:
    """Fit (N, F) features to (N, T) targets; return predictions (M, T) for (M, F) features.

    A group's model is fitted to all measurements of its targets; a further feature is the place of the target in the
    group. Results are bit-identical for an equal number of threads.
    """
    predicted = np.empty((len(wanted), y.shape[1]))
    for group in targets.groups:
        known = [~np.isnan(y[:, target]) for target in group]
        model = _fit_trees(
            np.concatenate([_with_place(x[there], place) for place, there in enumerate(known)]),
            np.concatenate([y[there, target] for target, there in zip(group, known, strict=True)]),
            np.repeat([targets.weights[target] for target in group], [int(there.sum()) for there in known]),
            trees,
            threads,
        )
        for place, target in enumerate(group):
            predicted[:, target] = model.predict(_with_place(wanted, place), num_threads=threads)
    return predicted


def _with_place(x: Matrix, place: int) -> Matrix:
    return np.column_stack([x, np.full(len(x), place, np.float32)])


def _fit_trees(x: Matrix, y: Floats, weights: Floats, trees: int, threads: int) -> Any:
    import lightgbm

    parameters = {
        "objective": "huber",
        "alpha": TREE_HUBER,
        "learning_rate": TREE_LEARNING_RATE,
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
    return lightgbm.train(parameters, lightgbm.Dataset(x, y, weight=weights), trees)


# A network for all targets, whose errors differ from the trees' errors ------------------------------------------------


WIDTH, DROPOUT = 256, 0.1
NETWORK_LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.05
BATCH = 256
NETWORK_HUBER = 0.3
"""Threshold of the Huber loss, in robust standard deviations of a target."""
_FEATURE_CLIP = 6.0


def fit_network(x: Matrix, y: Floats, wanted: Matrix, epochs: int, threads: int) -> Floats:
    """Fit (N, F) features to (N, T) targets; return predictions (M, T) for (M, F) features.

    A missing target does not contribute to the loss; since all targets share the hidden layers, a cell with any target
    improves the predictions of all. Results are bit-identical for an equal number of threads.
    """
    spread = x.std(axis=0)
    used = spread > 0
    centre, spread = x.mean(axis=0)[used], spread[used]
    middle = np.nanmedian(y, axis=0)
    scale = 1.4826 * np.nanmedian(np.abs(y - middle), axis=0)

    def prepared(features: Matrix) -> torch.Tensor:
        return torch.from_numpy(
            np.clip((features[:, used] - centre) / spread, -_FEATURE_CLIP, _FEATURE_CLIP).astype(np.float32)
        )

    with _reproducible(threads):
        net = _network(int(used.sum()), y.shape[1])
        _fit(net, prepared(x), torch.from_numpy(((y - middle) / scale).astype(np.float32)), epochs)
        with torch.inference_mode():
            predicted = net.eval()(prepared(wanted))
    return np.asarray(predicted.double().numpy() * scale + middle)


def _network(n_features: int, n_targets: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_features, WIDTH),
        nn.SiLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, WIDTH),
        nn.SiLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, n_targets),
    )


def _fit(net: nn.Sequential, x: torch.Tensor, y: torch.Tensor, epochs: int) -> None:
    is_known = ~y.isnan()
    y = y.nan_to_num()
    n_batches = max(len(x) // BATCH, 1)
    optimizer = torch.optim.AdamW(net.parameters(), NETWORK_LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, NETWORK_LEARNING_RATE, total_steps=epochs * n_batches, pct_start=0.1
    )
    for _ in range(epochs):
        for batch in torch.randperm(len(x))[: n_batches * BATCH].chunk(n_batches):
            losses = nn.functional.huber_loss(net(x[batch]), y[batch], reduction="none", delta=NETWORK_HUBER)
            loss = (losses * is_known[batch]).sum() / is_known[batch].sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


@contextmanager
def _reproducible(threads: int) -> Iterator[None]:
    """Set the seed and the number of threads, and restore both afterwards."""
    before = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
