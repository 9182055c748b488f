"""The summary of a black-box study: statistics over its searches, in numbers and in words."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.evaluator import BOUNDS
from nasbench1shot1.tables.columns import counted_source, partly_text

FROM_CONFIG = ("optimizer", "space", "seed", "repeats", "seconds", "evaluations", "epochs", "dataset", "table_id")
"""Fields of config.json that are repeated in the summary."""
STATISTICS = ("mean", "std", "median", "min", "max")
"""Names of the statistics of errors and regrets."""


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return statistics over the searches of a study. Errors and regrets are fractions, times are seconds.

    For an objective other than the default, the metric and the unit of the errors and regrets are added. For bounds,
    they and the baseline are added.
    """
    goal, seconds = Goal.from_config(config), [line["simulated_seconds"] for line in lines]
    about = {} if goal.is_default else {"objective": goal.guide.metric, "unit": goal.judge.unit}
    about |= {BOUNDS: config[BOUNDS]} if BOUNDS in config else {}
    return {
        **{name: config[name] for name in FROM_CONFIG},
        **about,
        "test_regret": statistics_of([line["test_regret"] for line in lines]),
        "test_error": statistics_of([line["test_error"] for line in lines]),
        "validation_error": statistics_of([line["validation_error"] for line in lines]),
        "measured_test_errors": sum(line["test_measured"] for line in lines),
        "mean_evaluations": statistics.fmean(line["evaluations"] for line in lines),
        "mean_simulated_seconds": None if None in seconds else statistics.fmean(seconds),
    }


def result_text(goal: Goal, summary: Mapping[str, Any], searches: int) -> str:
    """Return a sentence for screens: the test regrets at the end of searches, or that the table lacks them.

    A single search has neither a spread nor a median. Exact values are not called measured.

    Args:
        goal: what the searches look for.
        summary: what `summarise` returned for them.
        searches: their number.
    """
    if (regrets := summary["test_regret"]) is None:
        return f"The table lacks {goal.regrets} of final incumbents, so no picture was drawn."
    mean, std, median = (goal.text(regrets[name]) for name in ("mean", "std", "median"))
    measured = summary["measured_test_errors"]
    source = "" if goal.judge.fidelity == "exact" else f" ({counted_source(measured, searches)})"
    if searches == 1:
        return f"{goal.title} of the final incumbent: {mean}{source}"
    return f"{goal.title} of the final incumbents: {mean} ± {std} (standard deviation), median {median}{source}"


def source_in_words(summary: Mapping[str, Any], searches: int) -> str:
    """Return whether the final test errors of searches are "measured", "predicted" or "partly predicted"."""
    measured = summary["measured_test_errors"]
    return partly_text((measured > 0, measured == searches))


def statistics_of(values: Sequence[float | None]) -> dict[str, float] | None:
    """Return mean, standard deviation (n - 1; 0 for one value), median, minimum and maximum; None if one is None."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    std = statistics.stdev(known) if len(known) > 1 else 0.0
    values_of = (statistics.fmean(known), std, statistics.median(known), min(known), max(known))
    return dict(zip(STATISTICS, values_of, strict=True))
