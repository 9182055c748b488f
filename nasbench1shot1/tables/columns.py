"""The descriptions of columns of metrics, as in `meta.json`; `stored_columns` has their values.

A metric is any property of networks in a table: an accuracy, a time, a number of parameters, a latency. Everything
that is done with a metric follows from its description, so a new column is one entry where a table is built, or one
call of `Table.with_column`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.arguments import is_integer
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import percent

Floats = NDArray[np.float64]
Moment = Literal["end", "halfway"] | int
"""When values were measured: at the end of trainings, half-way, or after every epoch of the trainings of N epochs."""


ESTIMATED = "estimated"
"""The fidelity of a bundled table's estimates, in which a measurement of a network counts. The test accuracy is
predicted from the validation accuracy."""
PARTLY_MEASURED = "measured or predicted"
"""The fidelity of a column whose values are measurements where available, and predictions elsewhere. Another column of
the metric, with the fidelity "measured", has only the measurements."""
PARTLY_PREDICTED = "partly predicted"
"""Text about several values, of which some are measured and some predicted."""

RESERVED = frozenset(
    {
        "architecture",
        "budget",
        "dataset",
        "epochs",
        "fidelity",
        "hash",
        "is_measured",
        "is_measurement",
        "measured_validation_accuracy",
        "missing",
        "names",
        "repeat",
        "seed",
        "source",
        "table_id",
    }
)
"""Names that no metric may have: other attributes of `metrics.Metrics`, and the keys of data frames (`to_frame`)."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """The description of a column of a metric.

    If a table has two columns of a metric, data set and moment, one contains measurements (`fidelity` "measured") and
    the other one contains the values, such as estimates.

    Attributes:
        metric: the name by which queries ask for the metric, such as "validation_accuracy" or "latency_edgegpu".
        quantity: what the metric measures, such as "accuracy", "loss", "training time", "parameters", "FLOPs",
            "latency" or "energy".
        dataset: the training to which the metric belongs, by its data set.
        split: the images of an accuracy or loss: "train", "validation", "test", or "valtest" for validation and test
            images together.
        unit: unit of the values, such as "fraction", "nats", "s", "ms" or "mJ"; empty for values without a unit.
        direction: which values are better, "higher" or "lower"; None if neither is.
        epochs: the budgets that have values, ascending. Without budgets, each network has one value, which applies to
            every budget and repeat.
        moment: whether values belong to the end of a training ("end") or to its half-way evaluation ("halfway"). A
            number N means learning curves: `epochs` are then all epochs of the trainings whose budget is N. The 12th
            epoch of a training of 200 epochs is not the end of a training of 12 epochs, which has its own schedule.
        accumulates: "evenly" if each epoch of a training adds the same amount, as to simulated times. The value after
            e of N epochs is then e/N of the value at the end, so such metrics need no learning curve.
        fidelity: "measured", "exact", or how values were obtained otherwise, such as `ESTIMATED`, "predicted",
            "modelled" (computed by a model of a device) or `PARTLY_MEASURED`.
        device: the device of a latency or energy.
        means: the budgets at which the column has means over repeats, so that no single repeat's value is known.
        is_same_for_repeats: whether one stored value applies to every repeat.
        also_of: further data sets whose trainings have the same values, which are stored once.
        caveat: a limit of the values, one sentence.

    Lists and NumPy integers are accepted for `epochs` and `means`, and a NumPy integer for `moment`. They are converted
    to tuples and Python integers.
    """

    metric: str
    quantity: str
    dataset: str = ""
    split: str | None = None
    unit: str = ""
    direction: Literal["higher", "lower"] | None = None
    epochs: tuple[int, ...] = ()
    moment: Moment = "end"
    fidelity: str = "measured"
    device: str | None = None
    means: tuple[int, ...] = ()
    is_same_for_repeats: bool = False
    also_of: tuple[str, ...] = ()
    caveat: str | None = None
    accumulates: Literal["evenly"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", _as_integers(self.means))
        if is_integer(self.moment):
            object.__setattr__(self, "moment", int(self.moment))
            object.__setattr__(self, "epochs", tuple(range(1, int(self.moment) + 1)))
        else:
            object.__setattr__(self, "epochs", _as_integers(self.epochs))

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> "Column":
        """Return the description in a column's entry of `meta.json`."""
        known: dict[str, Any] = {field.name: entry[field.name] for field in fields(cls) if field.name in entry}
        known |= {name: tuple(said) for name, said in known.items() if isinstance(said, list)}
        return cls(**known)

    def entry(self, **more: Any) -> dict[str, Any]:
        """Return the column's entry for `meta.json`, with more facts, such as `sources`, `method` or `images`."""
        about = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.moment, int):
            del about["epochs"]  # all up to `moment`
        known = {name: said for name, said in about.items() if said is not None and said != () and said is not False}
        return {**{name: list(said) if isinstance(said, tuple) else said for name, said in known.items()}, **more}

    @property
    def is_measured(self) -> bool:
        """Whether the values are measurements or exact, rather than estimates."""
        return self.fidelity in ("measured", "exact")

    @property
    def keeps_measurements(self) -> bool:
        """Whether the value of a measured network is its measurement, rather than an estimate shrunk toward it."""
        return self.is_measured or self.fidelity == PARTLY_MEASURED

    @property
    def uses_test_images(self) -> bool:
        """Whether the values were measured on test images, at least in part, so that a search must not observe them."""
        return self.split in ("test", "valtest")

    @property
    def words(self) -> str:
        """The metric in sentences, such as "validation accuracy"."""
        return self.metric.replace("_", " ")

    def text(self, value: float) -> str:
        """Return a value with its unit and the digits that suit it, such as "0.9432", "1,133 s" or "5.63 ms"."""
        if self.unit in ("fraction", "nats"):
            return f"{value:.4f}"
        is_large = self.unit == "s" and not 0 < abs(value) < 1
        digits = f"{value:,.0f}" if not self.unit or is_large else f"{value:,.4g}"
        return f"{digits} {self.unit}".rstrip()

    @property
    def prefix(self) -> str:
        """What stands before the metric, and its data set, in the name of the column: "", "halfway_" or "curve200_"."""
        return f"curve{self.moment}_" if isinstance(self.moment, int) else "halfway_" if self.moment != "end" else ""

    @property
    def provenance(self) -> str:
        """How far the values of all networks are measured: "measured", "partly predicted" or "predicted"."""
        return PARTLY_PREDICTED if self.fidelity == PARTLY_MEASURED else source_text(self.is_measured)

    def source(self, measured: bool) -> str:
        """Return in words where a value comes from, given whether a measurement of its network exists."""
        if self.is_measured or self.fidelity == "modelled":
            return self.fidelity
        if self.fidelity == PARTLY_MEASURED:
            return source_text(measured)
        return "predicted, shrunk toward a measurement" if measured and self.fidelity == ESTIMATED else "predicted"

    def cost(self, values: Any) -> Any:
        """Return what a search minimises: if higher values are better, 1 - fraction or -value; else the value.

        Raises InvalidInputError if the metric has no direction.
        """
        if self._is_higher_better():
            return 1 - values if self.unit == "fraction" else -values
        return values

    def regret(self, values: Any, best: Any) -> Any:
        """Return how much worse values are than the best value, in the column's unit; raises the error of `cost`."""
        return best - values if self._is_higher_better() else values - best

    def best(self, values: Floats) -> int:
        """Return the position of the best value (N,), ignoring NaN; ties go to the first.

        Raises the error of `cost`.
        """
        return int(np.nanargmax(values) if self._is_higher_better() else np.nanargmin(values))

    def check_direction(self) -> None:
        """Raise InvalidInputError if neither high nor low values of the metric are better."""
        if self.direction is None:
            raise InvalidInputError(
                f"neither high nor low values of {self.metric} are better: choose a metric with a direction"
            )

    def _is_higher_better(self) -> bool:
        self.check_direction()
        return self.direction == "higher"


def _as_integers(values: Any) -> Any:
    """Return a tuple in which NumPy integers are Python integers; a value that is not iterable is left as it is."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return values
    return tuple(int(value) if is_integer(value) else value for value in values)


def _standard() -> dict[str, Column]:
    splits = ("validation", "test", "train")
    accuracy: Any = {"quantity": "accuracy", "unit": "fraction", "direction": "higher"}
    loss: Any = {"quantity": "loss", "unit": "nats", "direction": "lower"}
    columns = [
        *(Column(metric=f"{split}_accuracy", split=split, **accuracy) for split in splits),
        Column(metric="training_time", quantity="training time", unit="s", direction="lower"),
        *(Column(metric=f"{split}_loss", split=split, **loss) for split in splits),
        Column(metric="evaluation_time", quantity="evaluation time", unit="s", direction="lower"),
        Column(metric="trainable_parameters", quantity="parameters", direction="lower", fidelity="exact"),
        Column(metric="flops", quantity="FLOPs", direction="lower", fidelity="exact"),
    ]
    return {column.metric: column for column in columns}


STANDARD = _standard()
"""The metrics that can be queried in every table, NaN if a table lacks them. A table may have any other metrics."""


def standard(metric: str, dataset: str, **about: Any) -> Column:
    """Return the description of a standard metric's column; `about` has further attributes, such as epochs."""
    return replace(STANDARD[metric], dataset=dataset, **about)


def source_text(share: float, digits: int = 0) -> str:
    """Return in words which share of values is measured, such as "67 % measured, else predicted".

    Args:
        share: the share of measured values, or whether a single value is measured; NaN without values.
        digits: number of decimals of the percentage.
    """
    if math.isnan(share):
        return "not in the table"
    if share in (0, 1):
        return "measured" if share else "predicted"
    return f"{percent(share, digits)} measured, else predicted"


def partly_text(flags: Iterable[bool]) -> str:
    """Return whether values are "measured", "predicted" or "partly predicted", given a flag for each measured one."""
    found = set(map(bool, flags))
    return PARTLY_PREDICTED if len(found) > 1 else source_text(True in found)


def counted_source(measured: int, values: int) -> str:
    """Return `partly_text` of a number of values, and how many are measured if only some are.

    Without values, the text is "not in the table".
    """
    if not 0 < measured < values:
        return source_text(measured / values if values else math.nan)
    return f"{PARTLY_PREDICTED}: {measured:,} of {values:,} values are measured"
