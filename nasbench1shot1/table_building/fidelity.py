"""Fidelity of the estimates: held-out predictions compared with measurements."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.sample import Floats

GOOD = 0.9
Mask = NDArray[np.bool_]


def accuracy_fidelity(predicted: Floats, measured: Floats, groups: Mapping[str, Mask]) -> dict[str, Any]:
    """Compare held-out predictions of validation accuracy with single measured repeats, (N,) fractions each.

    `groups` are (N,) masks, one for each space, for separate rank correlations.
    """
    good = measured > GOOD
    found: dict[str, Any] = {"cells": len(measured), "spearman": _spearman(predicted, measured)}
    found |= {f"spearman_{name}": _spearman(predicted[group], measured[group]) for name, group in groups.items()}
    if good.sum() > 100:
        found |= {"cells_above_0.9": int(good.sum()), "spearman_above_0.9": _spearman(predicted[good], measured[good])}
    return found | {"median_absolute_error": _round(np.median(np.abs(predicted - measured)))}


def time_fidelity(predicted: Floats, measured: Floats) -> dict[str, Any]:
    """Compare held-out predictions of training times with measured times, (N,) seconds each."""
    return {
        "cells": len(measured),
        "spearman": _spearman(predicted, measured),
        "median_relative_error": _round(np.median(np.abs(predicted / measured - 1))),
    }


def _spearman(a: Floats, b: Floats) -> float:
    from scipy.stats import spearmanr

    return _round(spearmanr(a, b).statistic)


def _round(value: Any) -> float:
    return round(float(value), 4)
