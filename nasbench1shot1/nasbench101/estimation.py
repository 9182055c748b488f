"""The regression behind the embedded table.

Trees and networks are cross-fitted to measured cells. Measurements are combined with predictions by shrinkage, and test
accuracy follows from validation accuracy.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from nasbench1shot1.nasbench101.sample import OFFICIAL_PAIRS, Floats, Matrix, Sample, read_repeats, read_source


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
    held_out, total = np.empty(y.shape), np.zeros((len(others), y.shape[1]))
    for fold in range(settings.folds):
        report(f"fold {fold + 1} of {settings.folds}")
        inside = folds == fold
        wanted = np.concatenate([x[inside], others])
        given = x[~inside], y[~inside], wanted
        predicted = (
            fit_trees(*given, settings.trees, settings.threads) + fit_network(*given, settings.epochs, settings.threads)
        ) / 2
        held_out[inside] = predicted[: inside.sum()]
        total += predicted[inside.sum() :]
    return Predictions(held_out, total / settings.folds)


# Boosted trees, one model for each target -----------------------------------------------------------------------------


LEAVES, FEATURE_FRACTION = 24, 0.15
TREE_LEARNING_RATE = 0.05
TREE_HUBER = 0.1
"""Threshold of the Huber loss in log error, because diverged repeats are outliers."""


def fit_trees(x: Matrix, y: Floats, wanted: Matrix, trees: int, threads: int) -> Floats:
    """Fit (N, F) features to (N, T) targets; return predictions (M, T) for (M, F) features.

    Results are bit-identical for an equal number of threads.
    """
    return np.stack([_fit_one_target(x, target, wanted, trees, threads) for target in y.T], axis=1)


def _fit_one_target(x: Matrix, y: Floats, wanted: Matrix, trees: int, threads: int) -> Floats:
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
    model = lightgbm.train(parameters, lightgbm.Dataset(x, y), trees)
    return np.asarray(model.predict(wanted, num_threads=threads))


# A network for all targets, whose errors differ from the trees' errors ------------------------------------------------


WIDTH, DROPOUT = 256, 0.1
NETWORK_LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.05
BATCH = 256
NETWORK_HUBER = 0.3
"""Threshold of the Huber loss, in robust standard deviations of a target."""
_FEATURE_CLIP = 6.0


def fit_network(x: Matrix, y: Floats, wanted: Matrix, epochs: int, threads: int) -> Floats:
    """Fit (N, F) features to (N, T) targets; return predictions (M, T) for (M, F) features.

    Results are bit-identical for an equal number of threads.
    """
    spread = x.std(axis=0)
    used = spread > 0
    centre, spread = x.mean(axis=0)[used], spread[used]
    middle = np.median(y, axis=0)
    scale = 1.4826 * np.median(np.abs(y - middle), axis=0)

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
    n_batches = max(len(x) // BATCH, 1)
    optimizer = torch.optim.AdamW(net.parameters(), NETWORK_LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, NETWORK_LEARNING_RATE, total_steps=epochs * n_batches, pct_start=0.1
    )
    for _ in range(epochs):
        for batch in torch.randperm(len(x))[: n_batches * BATCH].chunk(n_batches):
            loss = nn.functional.huber_loss(net(x[batch]), y[batch], delta=NETWORK_HUBER)
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


# Shrinkage of a prediction towards a measurement, weighted by the measurement's reliability ---------------------------


# A residual (measurement minus held-out prediction) has two parts: a property of the cell that the regression missed,
# and the noise of one training. An estimate for the cell should only include the first part, a share w of the variance.

RESIDUAL_CLIP = 3.0
"""Residuals are clipped to this many standard deviations: a diverged repeat says little about a cell's mean."""

_MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class Shrinkage:
    """The shrinkage of one quantity.

    Attributes:
        weight: w, the share of the residuals' variance that is a property of the cell.
        sd: robust standard deviation of the residuals.
        weight_by_repeats: the value of w if the noise equalled the scatter of EC-NAS's repeats; None if not computed.
    """

    weight: float
    sd: float
    weight_by_repeats: float | None = None

    def shrink(self, predicted: Floats, measured: Floats) -> Floats:
        """Return prediction + w · (measurement − prediction); residuals are clipped to three standard deviations."""
        return np.asarray(predicted + self.weight * _clip_residuals(measured - predicted, self.sd))

    def as_dict(self) -> dict[str, float]:
        """Return the description for `meta.json`."""
        found = {"weight_of_measurement": self.weight, "residual_sd_of_log": self.sd}
        if self.weight_by_repeats is not None:
            found["weight_by_repeats"] = self.weight_by_repeats
        return {name: round(value, 4) for name, value in found.items()}


def fit_shrinkages(residuals: Floats, repeats: list[Floats]) -> list[Shrinkage]:
    """Return weights from the correlation of a cell's residuals between budgets, which are separate trainings.

    Only properties of the cell are common to two of its trainings. So w is the correlation of the residuals at two
    neighbouring budgets, the higher one if a budget has two neighbours. This value is conservative, because effects
    that occur at only one budget count as noise. A weight that is too high would be worse: the best network of a space
    would then be a lucky measurement.

    Args:
        residuals: (N, B) residuals of log error, in ascending order of the budgets.
        repeats: for each budget, (C, R) repeats of other cells' log error, for `weight_by_repeats`.
    """
    sds = [robust_sd(of_budget) for of_budget in residuals.T]
    clipped = np.stack([_clip_residuals(r, sd) for r, sd in zip(residuals.T, sds, strict=True)])
    neighbours = np.diag(np.corrcoef(clipped), k=1)
    weights = np.maximum(np.append(neighbours, 0), np.insert(neighbours, 0, 0)).clip(0, 1)
    return [
        Shrinkage(float(weight), sd, weight_from_repeats(sd, of_budget))
        for weight, sd, of_budget in zip(weights, sds, repeats, strict=True)
    ]


def weight_from_repeats(sd: float, repeats: Floats) -> float:
    """Return w, the share of a variance `sd`² that exceeds the variance of the repeats (C, R) of C cells."""
    return float(np.clip(1 - (pooled_noise(repeats) / sd) ** 2, 0, 1))


def pooled_noise(repeats: Floats) -> float:
    """Return the robust standard deviation of single repeats around their cell's mean, pooled over cells.

    The median of the cells' variances is converted to the mean for normal noise. For three repeats, the variance has a
    χ² distribution with two degrees of freedom, whose median is ln 2 times its mean.
    """
    if repeats.shape[1] != 3:
        raise ValueError("the conversion factor requires three repeats")
    return float(np.sqrt(np.median(repeats.var(axis=1, ddof=1)) / np.log(2)))


def robust_sd(values: Floats) -> float:
    """Return the standard deviation of normally distributed values with the same median absolute deviation."""
    return float(_MAD_TO_SD * np.median(np.abs(values - np.median(values))))


def _clip_residuals(residuals: Floats, sd: float) -> Floats:
    return np.clip(residuals, -RESIDUAL_CLIP * sd, RESIDUAL_CLIP * sd)


# Test accuracy, as a function of validation accuracy at 108 epochs ----------------------------------------------------


KNOTS = (0.055, 0.065, 0.08, 0.1, 0.14, 0.2)
RETRAINED_FROM = 0.1
"""Validation error above which EC-NAS's trainings are also used, because the official pairs are sparse there."""


@dataclass(frozen=True)
class ErrorCurve:
    """Test error as a strictly increasing function of validation error.

    Attributes:
        validation: (K,) log validation error at the knots, ascending.
        test: (K,) log test error at the knots.
        n_pairs: number of measured pairs that the curve was fitted to.
        residual: root mean square of the measured minus the fitted test error.
    """

    validation: Floats
    test: Floats
    n_pairs: int
    residual: float

    def __call__(self, validation_error: Floats) -> Floats:
        """Return test errors for validation errors; beyond the knots, their ratio is constant."""
        log_error = np.log(validation_error)
        inside = np.clip(log_error, self.validation[0], self.validation[-1])
        error: Floats = np.exp(np.interp(inside, self.validation, self.test) + (log_error - inside))
        return error


def validation_test_pairs(sample: Sample, folder: Path | None = None) -> tuple[Floats, Floats]:
    """Return measured validation and test errors at 108 epochs, means of three repeats.

    The official pairs come from search logs that do not state the budget. In shorter trainings, the gap between the two
    errors is wider, so a pair is used only if its training time matches 108 epochs. It must be at least 1/√3 of the
    sample's time at an equal number of parameters, which is half-way between 36 and 108 epochs on a logarithmic scale.
    """
    arrays = read_source(OFFICIAL_PAIRS, folder)
    expected = np.polyval(np.polyfit(np.log10(sample.parameters), np.log(sample.seconds), 2), arrays["log10_params"])
    whole = np.log(arrays["train_time_s"]) > expected - np.log(3) / 2
    retrained = read_repeats(folder)[108]
    mean = {name: values.mean(axis=1) for name, values in retrained.items()}
    low = 1 - mean["valid_acc"] > RETRAINED_FROM
    validation = np.concatenate([arrays["valid_acc"][whole], mean["valid_acc"][low]])
    test = np.concatenate([arrays["test_acc"][whole], mean["test_acc"][low]])
    return 1 - validation, 1 - test


def fit_error_curve(validation: Floats, test: Floats) -> ErrorCurve:
    """Fit a piecewise linear curve of the logarithms by least squares.

    Raises ValueError if the curve does not increase strictly, because both errors would then rank cells differently.
    """
    knots = np.log(np.array(KNOTS))
    basis = _hat_functions(np.clip(np.log(validation), knots[0], knots[-1]), knots)
    ratio, *_ = np.linalg.lstsq(basis, np.log(test) - np.log(validation), rcond=None)
    curve = knots + ratio
    if (np.diff(curve) <= 0).any():
        raise ValueError("the fitted test error does not increase with the validation error")
    found = ErrorCurve(knots, curve, len(test), 0.0)
    return ErrorCurve(knots, curve, len(test), float(np.sqrt(np.mean((found(validation) - test) ** 2))))


def _hat_functions(x: Floats, knots: Floats) -> NDArray[np.float64]:
    return np.stack([np.interp(x, knots, of_knot) for of_knot in np.eye(len(knots))], axis=1)
