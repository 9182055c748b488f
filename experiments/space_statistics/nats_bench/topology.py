"""The analyses of NAS-Bench-201 by name, with the panels of their figures and their results in one line."""

from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any

from nasbench1shot1.experiments.rank_correlation import coefficient_text
from nasbench1shot1.experiments.space_statistics.analysis import Analysis, Frame
from nasbench1shot1.experiments.space_statistics.nats_bench.accuracy_and_cost import (
    accuracy_by_cost,
    accuracy_panels,
    pareto_fronts,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.latencies import (
    latency_fronts,
    latency_panels,
    latency_summary,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.learning_curves import (
    curve_headline,
    curve_panels,
    known_curves,
    rank_headline,
    rank_panels,
    ranks_along_training,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import DATASETS
from nasbench1shot1.experiments.space_statistics.nats_bench.published_tables import (
    known_cells,
    known_cells_panels,
    schedule_correlation,
    schedule_panels,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.ranks import (
    correlation_matrix,
    dataset_rank_panels,
    dataset_ranks,
    matrix_panels,
    short_training_panels,
    short_training_ranks,
)
from nasbench1shot1.experiments.space_statistics.pareto import PARETO_FRONTS

_SMALL = (3.7, 2.9)


def _resnet(frame: Frame) -> str:
    differences = []
    for row in frame.attrs["compared"]:
        below, equal = (100 * (row[best] - row["accuracy"]) for best in ("best", "best_of_equal_cost"))
        differences.append(f"{DATASETS[row['dataset']]} {below:.2f} ({equal:.2f} at equal cost)")
    if not differences:
        return "no marked architecture is among these architectures"
    return f"{frame.attrs['marks'][0]['name']}: test accuracy, percentage points below the best: " + ", ".join(
        differences
    )


def _ranks(frame: Frame) -> str:
    listed = [f"{DATASETS[c['dataset']]} {coefficient_text(c['spearman'], 3)}" for c in frame.attrs["correlations"]]
    return f"Spearman with CIFAR-10: {', '.join(listed)}"


def _short(frame: Frame) -> str:
    listed = [
        f"{DATASETS[c['dataset']]} at {c['epochs']} epochs {coefficient_text(c['spearman'], 3)}"
        for c in frame.attrs["correlations"]
    ]
    return f"Spearman of validation with final test accuracy: {', '.join(listed)}"


def _matrix(frame: Frame) -> str:
    tests = frame[(frame["a"] == "CIFAR-10 test") & (frame["b"] == "CIFAR-100 test")].drop_duplicates("architectures")
    listed = [
        f"{n:,}: {coefficient_text(rho)}" for n, rho in zip(tests["architectures"], tests["spearman"], strict=True)
    ]
    if not listed:
        return "the table does not have test accuracies of both CIFAR-10 and CIFAR-100"
    return f"Spearman of CIFAR-10 and CIFAR-100 test accuracy among the best {', '.join(listed)}"


def _cells(frame: Frame) -> str:
    optima = frame[frame["cell"] == "optimal"]
    return _beside_printed("optima in %", optima, "accuracy", 2, scale=100)


def _schedules(frame: Frame) -> str:
    ends = frame[frame["epochs"] == frame["budget"]]
    first = ends[ends["epochs"] == ends["epochs"].min()]
    return _beside_printed(f"Pearson of {first['epochs'].iloc[0]} epochs", first, "pearson", 3)


def _beside_printed(what: str, frame: Frame, column: str, digits: int, scale: float = 1) -> str:
    """Return the values of a column by data set and split, each with the number that the paper prints, if any."""
    listed = []
    for row in frame.to_dict("records"):
        printed = "" if isnan(row["published"]) else f" ({scale * row['published']:.{digits}f})"
        listed.append(
            f"{DATASETS[row['dataset']]} {row['split']} {coefficient_text(scale * row[column], digits)}{printed}"
        )
    return f"{what}{' (printed)' if frame['published'].notna().any() else ''}: {', '.join(listed)}"


_OF_KIND: dict[str, Any] = {"takes": ("kind",)}
_MARKED: dict[str, Any] = {"takes": ("kind", "mark")}
ANALYSES = {
    "accuracy-by-parameters": Analysis(
        accuracy_by_cost, accuracy_panels, _resnet, columns=4, panel_inches=_SMALL, **_MARKED
    ),
    "accuracy-by-flops": Analysis(
        partial(accuracy_by_cost, cost="flops"), accuracy_panels, _resnet, columns=3, panel_inches=_SMALL, **_MARKED
    ),
    "dataset-ranks": Analysis(dataset_ranks, dataset_rank_panels, _ranks, **_OF_KIND),
    "correlation-matrix": Analysis(
        correlation_matrix, matrix_panels, _matrix, columns=2, panel_inches=(5.4, 4.9), **_OF_KIND
    ),
    "short-training-ranks": Analysis(short_training_ranks, short_training_panels, _short, **_OF_KIND),
    "known-cells": Analysis(known_cells, known_cells_panels, _cells, panel_inches=(5.2, 3.6), **_OF_KIND),
    "schedule-correlation": Analysis(
        schedule_correlation, schedule_panels, _schedules, panel_inches=(5.6, 4.2), **_OF_KIND
    ),
    "pareto-fronts": replace(PARETO_FRONTS, ask=pareto_fronts, split=None, **_MARKED),
    "ranks-along-training": Analysis(
        ranks_along_training, rank_panels, rank_headline, panel_inches=(5.2, 3.6), **_OF_KIND
    ),
    "learning-curves": Analysis(known_curves, curve_panels, curve_headline, panel_inches=_SMALL, **_OF_KIND),
    "latency-fronts": Analysis(
        latency_fronts, latency_panels, latency_summary, columns=5, panel_inches=(2.7, 2.3), **_MARKED
    ),
}
"""The analyses of NAS-Bench-201 and of NATS-Bench's topology space."""
