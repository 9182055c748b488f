"""The analyses of NAS-Bench-201 by name, with the panels of their figures and their results in one line."""

from dataclasses import replace
from functools import partial

from nasbench1shot1.experiments.space_statistics.analysis import Analysis, Frame
from nasbench1shot1.experiments.space_statistics.nasbench201.accuracy_and_cost import (
    accuracy_by_cost,
    pareto_fronts,
    plot_accuracy,
)
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import DATASETS, SPLITS
from nasbench1shot1.experiments.space_statistics.nasbench201.published_tables import (
    TABLE_5,
    TABLE_6,
    known_cells,
    plot_known_cells,
    plot_schedule_correlation,
    schedule_correlation,
)
from nasbench1shot1.experiments.space_statistics.nasbench201.ranks import (
    SHARES,
    correlation_matrix,
    dataset_ranks,
    plot_correlation_matrix,
    plot_ranks,
    short_training_ranks,
)
from nasbench1shot1.experiments.space_statistics.pareto import PARETO_FRONTS

_OTHERS = tuple(DATASETS)[1:]
_ALL_SPLITS = ("train", *SPLITS)
_SMALL = (3.7, 2.9)


def _resnet(frame: Frame) -> str:
    differences = []
    for row in frame.attrs["resnet"]:
        below, equal = (100 * (row[best] - row["accuracy"]) for best in ("best", "best_of_equal_cost"))
        differences.append(f"{DATASETS[row['dataset']]} {below:.2f} ({equal:.2f} at equal cost)")
    if not differences:
        return "the ResNet cell is not among these architectures"
    return "ResNet's test accuracy, percentage points below the best: " + ", ".join(differences)


def _ranks(frame: Frame) -> str:
    listed = [f"{DATASETS[c['dataset']]} {c['spearman']:.3f}" for c in frame.attrs["correlations"]]
    return f"Spearman with CIFAR-10: {', '.join(listed)}"


def _short(frame: Frame) -> str:
    listed = [
        f"{DATASETS[c['dataset']]} at {c['epochs']} epochs {c['spearman']:.3f}" for c in frame.attrs["correlations"]
    ]
    return f"Spearman of validation with final test accuracy: {', '.join(listed)}"


def _matrix(frame: Frame) -> str:
    tests = frame[(frame["a"] == "CIFAR-10 test") & (frame["b"] == "CIFAR-100 test")]
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
    first = frame[frame["epochs"] == frame["epochs"].min()]
    listed = [
        f"{DATASETS[row['dataset']]} {row['split']} {row['pearson']:.3f} ({row['published']:.3f})"
        for row in first.to_dict("records")
    ]
    return f"Pearson of {first['epochs'].iloc[0]} epochs (printed): {', '.join(listed)}"


ANALYSES = {
    "accuracy-by-parameters": Analysis(
        accuracy_by_cost,
        tuple(
            partial(plot_accuracy, dataset=dataset, split=split, against=against)
            for dataset in DATASETS
            for split, against in (("test", "index"), *((split, "trainable_parameters") for split in _ALL_SPLITS))
        ),
        _resnet,
        takes=("kind",),
        columns=4,
        panel_inches=_SMALL,
    ),
    "accuracy-by-flops": Analysis(
        partial(accuracy_by_cost, cost="flops"),
        tuple(
            partial(plot_accuracy, dataset=dataset, split=split, against="flops")
            for dataset in DATASETS
            for split in _ALL_SPLITS
        ),
        _resnet,
        takes=("kind",),
        columns=3,
        panel_inches=_SMALL,
    ),
    "dataset-ranks": Analysis(
        dataset_ranks,
        tuple(
            partial(plot_ranks, dataset=dataset, x="rank on CIFAR-10", y=f"rank on {DATASETS[dataset]}")
            for dataset in _OTHERS
        ),
        _ranks,
        takes=("kind",),
    ),
    "correlation-matrix": Analysis(
        correlation_matrix,
        tuple(partial(plot_correlation_matrix, share=share) for share in SHARES),
        _matrix,
        takes=("kind",),
        columns=2,
        panel_inches=(5.4, 4.9),
    ),
    "short-training-ranks": Analysis(
        short_training_ranks,
        tuple(
            partial(plot_ranks, dataset=dataset, x="rank by final test accuracy", y="rank by validation accuracy")
            for dataset in DATASETS
        ),
        _short,
        takes=("kind",),
    ),
    "known-cells": Analysis(
        known_cells,
        tuple(partial(plot_known_cells, cell=cell) for cell in TABLE_5),
        _cells,
        takes=("kind",),
        panel_inches=(5.2, 3.6),
    ),
    "schedule-correlation": Analysis(
        schedule_correlation,
        tuple(partial(plot_schedule_correlation, epochs=epochs) for epochs, _ in TABLE_6),
        _schedules,
        takes=("kind",),
        panel_inches=(5.6, 4.2),
    ),
    "pareto-fronts": replace(PARETO_FRONTS, ask=pareto_fronts, split=None, takes=("kind",)),
}
"""The analyses of NAS-Bench-201 and of NATS-Bench's topology space."""
