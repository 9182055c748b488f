"""Prediction of test accuracy from validation accuracy at 108 epochs, fitted to measured pairs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.sample import OFFICIAL_PAIRS, Floats, Sample, read_repeats, read_source

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
