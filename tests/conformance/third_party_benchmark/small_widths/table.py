"""The table of the benchmark: the row keys, and the columns with their descriptions."""

from typing import Any

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.tables.columns import Column, standard
from small_widths.space import SPACE, WIDTHS

EPOCHS = (3, 9)


KEYS = nb.space_keys(SPACE)
"""Finds the rows of a table: the column `index` has the numbers of their architectures in the space."""


def columns() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the columns of the table and its description; the values are made up.

    A column consists of an array, and of an entry that describes it. No other module refers to these columns by name.
    """
    rng, width = np.random.default_rng(0), np.array([sum(WIDTHS[w] for w in arch.widths) for arch in SPACE])
    size, repeats, full = len(SPACE), 2, np.array(EPOCHS) / EPOCHS[-1]
    accuracy = 0.5 + 0.03 * width[:, None, None] * full[:, None] + rng.normal(0, 0.01, (size, 2, repeats))
    seconds = 10.0 * width[:, None, None] * np.array(EPOCHS)[:, None] + np.zeros((1, 1, repeats))
    dataset, epochs = "cifar10", EPOCHS
    latency = Column(
        metric="latency_phone", quantity="latency", dataset=dataset, unit="ms", direction="lower", device="phone"
    )
    described = {
        "validation_accuracy": (accuracy, standard("validation_accuracy", dataset, epochs=epochs)),
        "test_accuracy": (accuracy - 0.02, standard("test_accuracy", dataset, epochs=epochs)),
        "training_time": (seconds, standard("training_time", dataset, epochs=epochs)),
        "trainable_parameters": (1000 * width, standard("trainable_parameters", dataset)),
        "latency_phone": (0.5 + 0.25 * width + rng.random(size), latency),
    }
    values = {"index": np.arange(size), "member_widths": np.arange(size)}
    meta = {
        "name": "small-widths",
        "version": "1",
        "keyed_by": "small-widths",
        "datasets": [dataset],
        "epochs": list(epochs),
        "repeats": repeats,
        "spaces": [SPACE.name],
        "columns": {
            "index": {"fidelity": "exact"},
            "member_widths": {"fidelity": "exact"},
            **{name: column.entry(sources=[]) for name, (_, column) in described.items()},
        },
    }
    return {**values, **{name: array for name, (array, _) in described.items()}}, meta
