"""The summary of a finished black-box study."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

FROM_CONFIG = ("optimizer", "space", "seed", "repeats", "seconds", "evaluations", "epochs", "dataset", "table_id")


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return statistics over the searches of a study. Errors and regrets are fractions, times are seconds."""
    return {
        **{name: config[name] for name in FROM_CONFIG},
        "test_regret": statistics_of([line["test_regret"] for line in lines]),
        "test_error": statistics_of([line["test_error"] for line in lines]),
        "validation_error": statistics_of([line["validation_error"] for line in lines]),
        "measured_test_errors": sum(line["test_measured"] for line in lines),
        "mean_evaluations": statistics.fmean(line["evaluations"] for line in lines),
        "mean_simulated_seconds": statistics.fmean(line["simulated_seconds"] for line in lines),
    }


def statistics_of(values: Sequence[float | None]) -> dict[str, float] | None:
    """Return mean, standard deviation (n - 1; 0 for one value), median, minimum and maximum; None if one is None."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    return {
        "mean": statistics.fmean(known),
        "std": statistics.stdev(known) if len(known) > 1 else 0.0,
        "median": statistics.median(known),
        "min": min(known),
        "max": max(known),
    }
