"""The metrics at the end of a training in NAS-Bench-201's and NATS-Bench's files."""

import math
from collections.abc import Mapping
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.trainings import OFFICIAL_SETS
from nasbench1shot1.tables.description import ALL_METRICS


def final_values(fields: Mapping[str, Any], dataset: str) -> list[float]:
    """Return the metrics at the end of a training, in the order of `ALL_METRICS`; NaN if unknown.

    Args:
        fields: fields of the official `ResultsCount`.
        dataset: one of `nasbench201.trainings.DATASETS`.

    Raises:
        InvalidInputError: an accuracy, loss or time is impossible.
        KeyError, TypeError, ValueError, AttributeError: the fields have another format.
    """
    epochs = int(fields["epochs"])
    found = {
        "train_accuracy": fields["train_acc1es"][epochs - 1] / 100,
        "train_loss": fields["train_losses"][epochs - 1],
        "training_time": _total(fields["train_times"], range(epochs)),
    }
    for split in ("validation", "test"):
        last = f"{OFFICIAL_SETS[dataset].get(split)}@{epochs - 1}"
        found[f"{split}_accuracy"] = fields["eval_acc1es"].get(last, math.nan) / 100
        found[f"{split}_loss"] = fields["eval_losses"].get(last, math.nan)
    evaluations = [f"{OFFICIAL_SETS[dataset].get('validation')}@{epoch}" for epoch in range(epochs)]
    found["evaluation_time"] = _total(fields["eval_times"], evaluations)
    return [_possible(metric, float(found[metric])) for metric in ALL_METRICS]


def _total(seconds: Mapping[Any, float] | None, keys: Any) -> float:
    """Return the sum over all keys; NaN if a key is missing, as in older files."""
    return sum(seconds[key] for key in keys) if seconds and all(key in seconds for key in keys) else math.nan


def _possible(metric: str, value: float) -> float:
    highest = 1 + 1e-6 if metric.endswith("accuracy") else math.inf
    if value < 0 or value > highest or math.isinf(value):
        raise InvalidInputError(f"has a {metric.replace('_', ' ')} of {value:g}, which is impossible")
    return min(value, 1.0) if metric.endswith("accuracy") else value
