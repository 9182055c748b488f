"""What a table says about one architecture or several."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import unknown_name

Values = Any  # a float for one architecture; an array for several, or where every repeat was asked for


@dataclass(frozen=True, eq=False)
class Metrics:
    """The answer to `Table.query`: Python numbers for one architecture, arrays for a sequence of N.

    Arrays cannot be written to. With run="all" accuracies, times and `is_measured` have a last axis of repeats.

    Attributes:
        validation_accuracy: fraction of the 9,984 validation images.
        test_accuracy: fraction of the test images; NaN where no source speaks.
        train_accuracy: fraction of the training images; NaN where no source speaks.
        training_time: seconds.
        trainable_parameters: exact, an integer or (N,).
        measured_validation_accuracy: the raw measurement of a single repeat that stands behind
            `validation_accuracy`, NaN where none does. An official table's single runs are their own measurement.
        hash: NAS-Bench-101's MD5, a string or N of them.
        epochs: the budget that was asked for.
        table_id: the table that answered.
        fidelity: in words, which accuracies at this budget are predicted and how good the predictions are; empty
            where both are measured.
    """

    validation_accuracy: Values
    test_accuracy: Values
    train_accuracy: Values
    training_time: Values
    trainable_parameters: Values
    measured_validation_accuracy: Values
    hash: Any
    epochs: int
    table_id: str
    fidelity: str
    _measured: dict[str, NDArray[np.bool_]] = field(repr=False)

    def __post_init__(self) -> None:
        for values in (*vars(self).values(), *self._measured.values()):
            if isinstance(values, np.ndarray):
                values.flags.writeable = False

    def is_measured(self, column: str) -> Any:
        """Does a real measurement of this column stand behind this answer? A bool, or an array for a sequence.

        Raises InvalidInputError for a name that is no column.
        """
        if not isinstance(column, str) or column not in self._measured:
            raise unknown_name("column", str(column), self._measured)
        return plain(self._measured[column])


def plain(values: NDArray[Any]) -> Any:
    """A Python number for an array without axes, else the array."""
    return values.item() if np.ndim(values) == 0 else values
