"""The measured columns of a table of NAS-Bench-201 or NATS-Bench, and the facts that every figure states."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.experiments.space_statistics.values import Floats, check_enough
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.images.data_sets import DATA_SETS
from nasbench1shot1.registry import search_space
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.index_keys import IndexKeys
from nasbench1shot1.tables.stored_columns import mean_of_known
from nasbench1shot1.tables.table import Table


class _Titles(dict[str, str]):
    """Names of data sets in figures; a data set that the benchmarks do not have keeps its own name."""

    def __missing__(self, name: str) -> str:
        return name


DATASETS = _Titles({name: known.title for name, known in DATA_SETS.items()})
"""The data sets of both benchmarks and their names in figures."""
REFERENCE = "cifar10"
"""The data set by whose test accuracy the papers rank."""
SPLITS = ("validation", "test")
FEWEST = 3
"""Fewest architectures of a rank correlation; two always correlate perfectly."""
SHORT = 12
"""Epochs of the short schedule, H‡ of NAS-Bench-201's section 4; its learning rate ends at 0, too."""


def drawn_datasets(frame: pandas.DataFrame) -> list[str]:
    """Return the benchmarks' data sets, or all data sets of the frame if it has others."""
    own = [str(name) for name in frame["dataset"].unique()]
    return list(DATASETS) if set(own) <= set(DATASETS) else own


class Column(NamedTuple):
    """Accuracies of architectures on a data set, means over repeats.

    Attributes:
        dataset: one of `DATASETS`.
        split: "train", "validation" or "test".
        epochs: epochs after which they were measured.
        accuracy: (N,) fractions, NaN without a measurement.
        budget: epochs of the whole training.
    """

    dataset: str
    split: str
    epochs: int
    accuracy: Floats
    budget: int

    @property
    def name(self) -> str:
        """Data set and split, such as "CIFAR-10 test"."""
        return f"{DATASETS[self.dataset]} {self.split}"

    @property
    def known(self) -> NDArray[np.bool_]:
        """(N,) bool: whether each architecture has a measurement."""
        known: NDArray[np.bool_] = ~np.isnan(self.accuracy)
        return known

    @property
    def n(self) -> int:
        """Number of architectures that have a measurement."""
        return int(self.known.sum())


@dataclass(frozen=True, eq=False)
class Measurements:
    """The measurements of N architectures of a table, without estimates.

    Attributes:
        table: a table whose rows are official indices.
        kind: which architectures of the space are included, such as "all", or "unique" topologies.
        of: the benchmark that the table must belong to. Default: NAS-Bench-201 or NATS-Bench.

    Raises InvalidInputError for a table of another benchmark or an unknown kind.
    """

    table: Table
    kind: str = "all"
    of: Benchmark | None = None

    def __post_init__(self) -> None:
        if self.of is not None and self.table.benchmark != self.of:
            raise InvalidInputError(
                f"the table {self.table.id} does not belong to {self.of.title}: open a table such as '{self.of.table}'"
            )
        if not isinstance(self.table.keys, IndexKeys):
            raise InvalidInputError(
                f"the table {self.table.id} does not belong to NAS-Bench-201 or NATS-Bench: open a table such as "
                "'nb201' or 'nats-size'"
            )
        self.space.check_kind(self.kind)

    @cached_property
    def space(self) -> SearchSpace:
        """The search space of the table's benchmark."""
        return search_space(self.table.keys.WHOLE)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(N,) the rows of the architectures, ascending."""
        return np.flatnonzero(
            np.isin(np.asarray(self.table.column("index")), np.asarray(self.space.numbers(self.kind)))
        )

    @cached_property
    def indices(self) -> NDArray[np.int64]:
        """(N,) their official indices."""
        return np.asarray(self.table.column("index")[self.rows], np.int64)

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets that the table has values for."""
        return [objective.dataset for objective in self.table.objectives]

    @property
    def titles(self) -> dict[str, str]:
        """The names of these data sets in figures."""
        return {name: DATASETS[name] for name in self.datasets}

    @property
    def full_budget(self) -> int:
        """Epochs of the longest schedule: 200, or 90 in the size space."""
        return self.table.full_budget

    def column(self, dataset: str, split: str, epochs: int | None = None, budget: int | None = None) -> Column:
        """Return a column; only NaN if the table lacks it.

        Without a budget, it has the accuracies at the end of trainings of `epochs` epochs (default: the full budget),
        otherwise those after `epochs` epochs of trainings of `budget` epochs, if the table has their learning curves.

        Validation and training accuracy on CIFAR-10 belong to a training on 25,000 images, test accuracy to one on
        50,000. Raises OutOfDomainError for an unknown budget or data set.
        """
        if dataset not in self.datasets:
            raise OutOfDomainError(f"the table {self.table.id} has no values of {dataset}: open another table")
        objective = self.table.objective(dataset)
        training = objective.test if split == "test" else objective.validation
        epochs = self.full_budget if epochs is None else epochs
        metric, total = f"{split}_accuracy", epochs if budget is None else budget
        if total != epochs and self.table.stored_curve(metric, total, training) is None:
            return Column(dataset, split, epochs, np.full(len(self.rows), np.nan), total)
        repeats = self.table.measured(metric, epochs, training, None if total == epochs else total)[self.rows]
        return Column(dataset, split, epochs, mean_of_known(repeats), total)

    def columns(self, splits: Iterable[str] = SPLITS, epochs: int | None = None) -> list[Column]:
        """Return the columns of all data sets, in the order of the papers' tables."""
        splits = tuple(splits)
        return [self.column(dataset, split, epochs) for dataset in self.datasets for split in splits]

    def cost(self, dataset: str, name: str) -> Floats:
        """Return "trainable_parameters" or "flops" (N,), which depend on the numbers of classes and pixels.

        NaN where the table does not have it.
        """
        training = self.table.objective(dataset).test
        return np.asarray(self.table.values(name, dataset=training)[self.rows, 0], np.float64)

    def place(self, architecture: str) -> int | None:
        """Return the position among the N of an architecture, given its official text; None if it is absent."""
        try:
            found = np.flatnonzero(self.rows == self.table.row_of(architecture))
        except OutOfDomainError:
            return None
        return int(found[0]) if len(found) else None

    def insert_indices(self, frame: pandas.DataFrame) -> None:
        """Insert the column `index`, the official indices, before the column `architecture`, the identifiers."""
        places, texts = pandas.factorize(frame["architecture"])
        indices = np.asarray(self.table.column("index")[self.table.rows(texts.tolist())], np.int64)
        frame.insert(list(frame.columns).index("architecture"), "index", indices[places])

    def reference(self) -> Column:
        """Return the CIFAR-10 test accuracy, by which the papers rank.

        Raises OutOfDomainError if fewer than three architectures have it.
        """
        column = self.column(REFERENCE, "test")
        check_enough(
            column.n, FEWEST, f"architectures with {column.name} accuracy at {column.epochs} epochs", self.table
        )
        return column

    def attributes(self, quantity: str, columns: Iterable[Column], *notes: str, **more: Any) -> dict[Any, Any]:
        """Return a frame's `attrs`: table, quantity, number of architectures, and what is missing.

        Args:
            quantity: what the frame has, in words.
            columns: all columns that the analysis needs, including missing ones.
            notes: further lines of the caption.
            more: further attributes.

        Raises OutOfDomainError if none of the columns has a value.
        """
        columns = list(columns)
        known = np.any([column.known for column in columns], axis=0)
        if not known.any():
            asked = ", ".join(column.name for column in columns)
            raise OutOfDomainError(f"the table {self.table.id} has no measured accuracy of {asked}: open another table")
        kind = () if self.kind == "all" else (f"one architecture for each topology (kind {self.kind})",)
        n, missing = int(known.sum()), missing_columns(columns)
        return {
            "table": self.table.id,
            "quantity": quantity,
            "predicted": False,
            "unit": "architectures",
            "rows": n,
            "measured_rows": n,
            "dropped": len(self.rows) - n,
            "kind": self.kind,
            "missing": missing,
            "notes": [*kind, *missing, *self._trainings(columns), *notes],
            **more,
        }

    def _trainings(self, columns: list[Column]) -> list[str]:
        """Return a line of the caption for each data set whose values come from two trainings."""
        splits = {dataset: [c.split for c in columns if c.dataset == dataset] for dataset in self.datasets}
        objectives = [o for o in self.table.objectives if o.validation != o.test and "test" in splits[o.dataset]]
        return [
            f"{DATASETS[o.dataset]}: test accuracies from the training {o.test}, other values from {o.validation}"
            for o in objectives
            if set(splits[o.dataset]) > {"test"}
        ]


def missing_columns(columns: Iterable[Column]) -> list[str]:
    """Return a line about columns without a value, and one about columns that only some architectures have."""
    columns = list(columns)
    absent = [f"{column.name} at {column.epochs} epochs" for column in columns if column.n == 0]
    partial = [
        f"{column.name} at {column.epochs} epochs ({column.n:,} of {len(column.accuracy):,})"
        for column in columns
        if 0 < column.n < len(column.accuracy)
    ]
    lines = [f"not in this table: {', '.join(absent)}"] if absent else []
    return lines + ([f"known for a biased subset of the architectures only: {', '.join(partial)}"] if partial else [])


def tick_label(dataset: str, split: str) -> str:
    """Return the name of a column, broken into narrow lines, for ticks."""
    return f"{DATASETS[dataset]} {split}".replace("ImageNet16", "ImageNet 16").replace(" ", "\n")
