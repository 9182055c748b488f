"""The values of one training in a file: after every epoch, at the end, and its costs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.trial_files.description import LATENCY, METRICS, TIMES

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """A training with one seed.

    Attributes:
        epochs: the number of epochs.
        ends: metrics at the end of the training, in the order of `METRICS`; NaN if unknown. Times are sums.
        curves: the metrics (epochs,) that are known after earlier epochs, too. Times are sums so far; they are omitted
            if all epochs take equally long.
        costs: parameters and FLOPs in millions; NaN if unknown.
    """

    epochs: int
    ends: Floats
    curves: Mapping[str, Floats]
    costs: tuple[float, float]


def read_trial(fields: Mapping[str, Any], sets: Mapping[str, str]) -> Trial:
    """Return the values in the fields of the official `ResultsCount`.

    Args:
        fields: the fields. The result of evaluation set S after epoch e, counted from 0, has the key "S@e".
        sets: the official name of the images of each split.

    Raises:
        InvalidInputError: an accuracy, loss, time or cost is impossible.
        KeyError, TypeError, ValueError, AttributeError: the fields have another format.
    """
    epochs = int(fields["epochs"])
    found = dict.fromkeys(METRICS, math.nan)
    found[LATENCY] = _latency(fields.get("latency"))
    curves: dict[str, Floats] = {}
    for split, official in sets.items():
        if split == "train":
            keys: list[Any] = list(range(epochs))
            accuracies, losses, times = fields["train_acc1es"], fields["train_losses"], fields["train_times"]
            found["train_accuracy"], found["train_loss"] = accuracies[epochs - 1] / 100, losses[epochs - 1]
        else:
            keys = [f"{official}@{epoch}" for epoch in range(epochs)]
            accuracies, losses, times = fields["eval_acc1es"], fields["eval_losses"], fields["eval_times"]
        for metric, values, unit in ((f"{split}_accuracy", accuracies, 100), (f"{split}_loss", losses, 1)):
            found[metric] = float(values.get(keys[-1], math.nan)) / unit
            curve = np.array([values.get(key, math.nan) for key in keys], np.float64) / unit
            if np.isfinite(curve[:-1]).any():
                curves[metric] = curve
        if times and all(key in times for key in keys):
            found[TIMES[split]] = sum(times[key] for key in keys)
            if len({times[key] for key in keys}) > 1:
                curves[TIMES[split]] = np.cumsum([times[key] for key in keys])
    for metric, curve in curves.items():
        _check(metric, float(np.nanmin(curve)))
        _check(metric, float(np.nanmax(curve)))
        curves[metric] = np.minimum(curve, 1) if METRICS[metric].quantity == "accuracy" else curve
    ends = np.array([_possible(metric, float(found[metric])) for metric in METRICS])
    return Trial(epochs, ends, curves, _costs(fields))


def _latency(measured: Any) -> float:
    """Return the mean latency in seconds; NaN if it was not measured, which files state as -1 or as an empty list."""
    seconds = sum(measured) / len(measured) if measured else math.nan
    return float(seconds) if seconds > 0 or seconds < -1 else math.nan


def _check(metric: str, value: float) -> None:
    highest = 1 + 1e-6 if METRICS[metric].quantity == "accuracy" else math.inf
    if value < 0 or value > highest or math.isinf(value):
        raise InvalidInputError(f"has a {metric.replace('_', ' ')} of {value:g}, which is impossible")


def _possible(metric: str, value: float) -> float:
    _check(metric, value)
    return min(value, 1.0) if METRICS[metric].quantity == "accuracy" else value


def _costs(fields: Mapping[str, Any]) -> tuple[float, float]:
    """Return parameters and FLOPs in millions, NaN if unknown; raises InvalidInputError for impossible numbers."""
    costs = float(fields["params"]), float(fields["flop"])
    for name, millions in zip(("parameters", "FLOPs"), costs, strict=True):
        if not (math.isnan(millions) or 0 <= 1e6 * millions < 2**31):
            raise InvalidInputError(f"has {millions:g} million {name}, which is impossible")
    return costs
