"""The analyses of NAS-Bench-201 by name, with the panels of their figures and their results in one line."""

from dataclasses import replace
from functools import partial
from typing import Any

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
    listed = [f"{DATASETS[c['dataset']]} {c['spearman']:.3f}" for c in frame.attrs["correlations"]]
    return f"Spearman with CIFAR-10: {', '.join(listed)}"


def _short(frame: Frame) -> str:
    listed = [
        f"{DATASETS[c['dataset']]} at {c['epochs']} epochs {c['spearman']:.3f}" for c in frame.attrs["correlations"]
    ]
    return f"Spearman of validation with final test accuracy: {', '.join(listed)}"


def _matrix(frame: Frame) -> str:
    tests = frame[(frame["a"] == "CIFAR-10 test") & (frame["b"] == "CIFAR-100 test")].drop_duplicates("architectures")
    listed = [f"{row.architectures:,}: {row.spearman:.2f}" for row in tests.itertuples()]
    return f"Spearman of CIFAR-10 and CIFAR-100 test accuracy among the best {', '.join(listed)}"


def _cells(frame: Frame) -> str:
    optima = frame[frame["cell"] == "optimal"]
    listed = [
        f"{DATASETS[row['dataset']]} {row['split']} {100 * row['accuracy']:.2f} ({100 * row['published']:.2f})"
        for row in optima.to_dict("records")
    ]
    return f"optima in % (printed): {', '.join(listed)}"


def _schedules(frame: Frame) -> str:
    ends = frame[frame["epochs"] == frame["budget"]]
    first = ends[ends["epochs"] == ends["epochs"].min()]
    listed = [
        f"{DATASETS[row['dataset']]} {row['split']} {row['pearson']:.3f} ({row['published']:.3f})"
        for row in first.to_dict("records")
    ]
    return f"Pearson of {first['epochs'].iloc[0]} epochs (printed): {', '.join(listed)}"


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
