"""The table of the benchmark: the row keys, and the columns with their descriptions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.tables.columns import Column, standard
from nasbench1shot1.tables.keys import KeyColumn, RowKeys, wrong_benchmark_error
from small_widths.space import SPACE, WIDTHS, WidthArchitecture

EPOCHS = (3, 9)


class WidthKeys(RowKeys):
    """The rows of a table: row i has architecture i."""

    COLUMNS: Mapping[str, KeyColumn] = {"number": KeyColumn()}
    WHOLE = SPACE.name
    SPACES: Mapping[str, str] = {SPACE.name: SPACE.id}
    SIZES: Mapping[str, int] = {SPACE.name: len(SPACE)}

    def rows(self, items: Sequence[Any]) -> np.ndarray:
        """Return the rows of architectures or texts such as "4-2-1"."""
        return np.array([self._number(item) for item in items], np.int64)

    def _number(self, item: Any) -> int:
        if isinstance(item, str):
            text = item if ":" in item else f"{SPACE.name}:{item}"
            item = WidthArchitecture.parse(text)
        if not isinstance(item, nb.Architecture):
            raise nb.InvalidInputError(f"{item!r} cannot be looked up: give an architecture or its text")
        if not isinstance(item, WidthArchitecture):
            raise wrong_benchmark_error(item, "Small-Widths")
        return SPACE.index(item)

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the texts of the architectures of rows, without the space."""
        return [self.network(int(row)).network_id for row in rows]

    def network(self, row: int) -> WidthArchitecture:
        """Return the architecture of a row."""
        return SPACE[int(row)]


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
    values = {"number": np.arange(size), "member_widths": np.arange(size)}
    meta = {
        "name": "small-widths",
        "version": "1",
        "keyed_by": "small-widths",
        "datasets": [dataset],
        "epochs": list(epochs),
        "repeats": repeats,
        "spaces": [SPACE.name],
        "columns": {
            "number": {"fidelity": "exact"},
            "member_widths": {"fidelity": "exact"},
            **{name: column.entry(sources=[]) for name, (_, column) in described.items()},
        },
    }
    return {**values, **{name: array for name, (array, _) in described.items()}}, meta
