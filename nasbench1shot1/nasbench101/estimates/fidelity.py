"""The fidelity of estimates: held-out predictions compared with measurements."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.sources import Floats

Mask = NDArray[np.bool_]
THRESHOLDS = (0.9, 0.93)
"""Accuracies above which the rank correlation is also reported."""
TOP = 0.01
"""Share of the cells that are called the top."""
_ENOUGH = 30


def accuracy_fidelity(predicted: Floats, measured: Floats, groups: Mapping[str, Mask] | None = None) -> dict[str, Any]:
    """Compare held-out predictions of an accuracy with its measurements, (N,) fractions each.

    Args:
        predicted, measured: the accuracies.
        groups: (N,) masks, one for each space, for separate rank correlations.

    Returns:
        Rank correlations among all cells, each group, the cells measured above each of `THRESHOLDS`, and the cells
        measured in the top; errors; the mean of predicted minus measured accuracy as the bias. `regret_of_best` is the
        measured regret of the cell that is predicted to be the best, and `regret_of_best_in_top` the lowest measured
        regret among the cells that are predicted to be in the top.
    """
    found: dict[str, Any] = {"cells": len(measured), "spearman": _spearman(predicted, measured)}
    for name, of in (groups or {}).items():
        if of.sum() > 2:
            found[f"spearman_{name}"] = _spearman(predicted[of], measured[of])
    for threshold in THRESHOLDS:
        above = measured > threshold
        if above.sum() > _ENOUGH:
            found[f"cells_above_{threshold}"] = int(above.sum())
            found[f"spearman_above_{threshold}"] = _spearman(predicted[above], measured[above])
    n_top = round(TOP * len(measured))
    if n_top >= _ENOUGH:
        by_measured, by_predicted = np.argsort(-measured, kind="stable"), np.argsort(-predicted, kind="stable")
        top, chosen = by_measured[:n_top], by_predicted[:n_top]
        found |= {
            "cells_in_top": n_top,
            "spearman_in_top": _spearman(predicted[top], measured[top]),
            "regret_of_best": _round(measured.max() - measured[chosen[0]]),
            "regret_of_best_in_top": _round(measured.max() - measured[chosen].max()),
        }
    errors = predicted - measured
    return found | {
        "median_absolute_error": _round(np.median(np.abs(errors))),
        "root_mean_square_error": _round(np.sqrt(np.mean(errors**2))),
        "bias": _round(errors.mean()),
    }


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
