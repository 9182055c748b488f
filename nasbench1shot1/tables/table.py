"""The table: measured or estimated truth about every network, looked up in microseconds."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.coverage import Coverage
from nasbench1shot1.tables.description import (
    ALL_METRICS,
    HALFWAY,
    METRICS,
    fidelity,
    is_measured,
    stored_name,
)
from nasbench1shot1.tables.folder import (
    TableFolder,
    open_folder,
)
from nasbench1shot1.tables.items import Item, listed
from nasbench1shot1.tables.metric_column import Rows, Run, choose_repeat, whole_number
from nasbench1shot1.tables.metrics import Metrics as Metrics
from nasbench1shot1.tables.metrics import answer, plain
from nasbench1shot1.tables.names import named_table
from nasbench1shot1.tables.rows import TableRows
from nasbench1shot1.wording import counted


def load_table(path: str | Path | None = None) -> "Table":
    """Open a table.

    Args:
        path: its folder, or the name of a table: a bundled one ("embedded" and "nb101-sample" of NAS-Bench-101, "nb201"
            of NAS-Bench-201), or one that was imported into the data folder ("nasbench_only108"). Default: the table
            that the environment variable NB1SHOT1_TABLE names, or else "embedded", the bundled estimates.

    Raises:
        InvalidInputError: there is no table, or one of another format.
        DamagedFileError: a file of the table is missing or damaged.
    """
    found = named_table(path)
    return Table(found if isinstance(found, TableFolder) else open_folder(found))


class Table(TableRows):
    """Queries of measured or estimated accuracies, and regrets. `TableRows` lists the attributes."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Another process opens the folder anew: columns are not copied, unless they only lie in memory."""
        opened = (Table, self._folder) if self._place is None else (load_table, str(self._place))
        return _opened_again, (*opened, self._coverage)

    # Queries ---------------------------------------------------------------------------------------------------

    def query(
        self,
        x: Item | Iterable[Item],
        epochs: int | None = None,
        run: Run = "mean",
        rng: np.random.Generator | None = None,
        halfway: bool = False,
        dataset: str | None = None,
    ) -> Metrics:
        """Look up an architecture, cell or hash, or an iterable of N of them.

        Args:
            x: what to look up.
            epochs: the budget that it was trained for. Default: the full budget.
            run: "mean" over the repeats; "random", one drawn for each item among those that it has; "all", on a last
                axis; or the number or the seed of a repeat. Where only some items have a repeat, its values are NaN
                for the others, and means leave it out.
            rng: where "random" draws from.
            halfway: the values half-way through that training instead of at its end.
            dataset: the training, one of `datasets`; required if the table has several.

        Raises:
            OutOfDomainError: a network, budget, repeat or half-way value that the table does not have.
            InvalidInputError: "random" without a generator, a budget or repeat that is not a whole number, an unknown
                data set, or something that cannot be looked up.
        """
        rows = self.row_of(x) if isinstance(x, Item) else self.rows(x)
        training = self._dataset(dataset), self._budget(epochs)
        if halfway:
            self._check_halfway(training[0])
        repeat = choose_repeat(
            self.id, self.repeats, run, np.shape(rows), rng, self.seeds, self._trained(rows, training)
        )
        return answer(self.id, self._folder, self.keys, rows, training, repeat, halfway)

    def value(
        self,
        metric: str,
        row: int,
        epochs: int | None = None,
        repeat: Literal["mean"] | int = "mean",
        halfway: bool = False,
        dataset: str | None = None,
    ) -> float:
        """One number of one row, for loops that ask for millions; NaN where the table does not have it.

        Args:
            metric: one of `tables.description.ALL_METRICS`.
            row: of `row_of`.
            epochs, repeat, halfway, dataset: as in `query`, but not checked.
        """
        stored = stored_name(self._folder.meta, dataset or self.datasets[0], metric)
        column = self._folder.metrics.get(HALFWAY + stored if halfway else stored)
        return column.value(row, epochs or self.full_budget, repeat) if column else float("nan")

    def reader(self, metric: str, dataset: str | None = None) -> Callable[[int, int, Literal["mean"] | int], float]:
        """A function of row, epochs and repeat that returns what `value` returns; the quickest way to read a table.

        Raises InvalidInputError for an unknown metric or data set.
        """
        column = self._folder.metrics.get(self._stored(metric, dataset))
        return column.value if column else _no_value

    def seeds_of(self, row: int, epochs: int | None = None, dataset: str | None = None) -> tuple[int, ...]:
        """Return the random seeds with which a network was trained, ascending; none where the table does not say.

        Raises InvalidInputError for an unknown data set, OutOfDomainError for an unknown budget.
        """
        trained = self._folder.trained(self._dataset(dataset), np.asarray(row), self._budget(epochs))
        return tuple(seed for seed, there in zip(self.seeds, trained.tolist(), strict=False) if there)

    def measured(self, metric: str, epochs: int | None = None, dataset: str | None = None) -> NDArray[np.float64]:
        """Every row's measurements of a metric at a budget, (R, K), NaN where there is none; estimates are left out.

        K is the number of repeats, 1 for a column of estimates.

        Raises:
            InvalidInputError: unknown metric or data set.
            OutOfDomainError: unknown budget.
        """
        return self._folder.measurement(
            self._stored(metric, dataset), np.arange(len(self)), self._budget(epochs), "all"
        )

    def values(self, metric: str, epochs: int | None = None, dataset: str | None = None) -> NDArray[np.float64]:
        """Every row's values of a metric at a budget, measured or not, (R, K), NaN where the table has none.

        Raises as `measured` does.
        """
        return self._folder.values(self._stored(metric, dataset), np.arange(len(self)), self._budget(epochs), "all")

    def is_measured(self, metric: str, dataset: str | None = None) -> bool:
        """Return whether the values of a metric are measurements, and not estimates combined with measurements."""
        stored = stored_name(self._folder.meta, self._dataset(dataset), metric)
        return is_measured(self._folder.meta["columns"].get(stored, {}))

    def _trained(self, rows: int | Rows, training: tuple[str, int]) -> Callable[[], NDArray[np.bool_]] | None:
        """Return a function that tells which repeats rows have; None without seeds: all rows have all repeats then."""
        return (lambda: self._folder.trained(training[0], np.asarray(rows), training[1])) if self.seeds else None

    def _stored(self, metric: str, dataset: str | None) -> str:
        if metric not in ALL_METRICS:
            raise unknown_name("metric", str(metric), ALL_METRICS)
        return stored_name(self._folder.meta, self._dataset(dataset), metric)

    def _dataset(self, dataset: str | None) -> str:
        if dataset is None and len(self.datasets) == 1:
            return self.datasets[0]
        if dataset is None:
            raise InvalidInputError(
                f"the table {self.id} has trainings on several data sets: give dataset='{self.datasets[0]}' or another "
                f"of {', '.join(self.datasets)}"
            )
        if dataset not in self.datasets:
            raise unknown_name("data set", str(dataset), self.datasets)
        return dataset

    def _check_halfway(self, dataset: str) -> None:
        if HALFWAY + stored_name(self._folder.meta, dataset, METRICS[0]) not in self._columns:
            raise OutOfDomainError(f"the table {self.id} has no half-way values: set halfway=False")

    def _budget(self, epochs: int | None) -> int:
        if epochs is None:
            return self.full_budget
        if type(epochs) is int and epochs in self.epochs:
            return epochs
        known = ", ".join(map(str, self.epochs))
        number = whole_number("epochs", epochs, f"one of {known}")
        if number not in self.epochs:
            raise OutOfDomainError(f"the table {self.id} has no budget of {counted(number, 'epoch')}: ask for {known}")
        return number

    def fidelity(self, epochs: int | None = None) -> str:
        """`Metrics.fidelity` of every answer for a budget, for captions."""
        texts = [fidelity(self._folder.meta, dataset, self._budget(epochs)) for dataset in self.datasets]
        return "; ".join(dict.fromkeys(text for text in texts if text))

    def notes(self) -> list[str]:
        """Return what users must know of its values, a sentence each, for screens."""
        estimated = ["Its accuracies are estimates; results for a paper need the official data."]
        return [*filter(None, [self.partial_note]), *(estimated if self.fidelity() else [])]

    # Regret ----------------------------------------------------------------------------------------------------

    def regret(
        self,
        x: Item | Iterable[Item],
        reference: str | SearchSpace | None = None,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
    ) -> Any:
        """Error minus the best error in the reference, both from this table and means over its repeats.

        It is negative only where `x` lies outside the reference and is better than all in it.

        Args:
            x: an architecture, cell or hash, or an iterable of N of them.
            reference: a search space, or the name of one that the table knows (`spaces`), or the name of every row of
                this table: "nb101" (the embedded table holds 66,111 of NAS-Bench-101's 423,624 cells) or "nb201";
                "nb101-mini" for the rows of at most six vertices. A space is looked up once per table: about a second
                for 50,000 cells. If not given: an architecture's own space, by its name, all of whose networks the
                table must have, else every row.
            split: "test" or "validation".
            epochs: budget. Default: the full one.
            dataset: the training, one of `datasets`; required if the table has several.

        Returns:
            A fraction, or (N,) of them.

        Raises:
            OutOfDomainError: a network or budget without a value, or a reference of which the table lacks networks, or
                of which only some have a value.
            InvalidInputError: unknown reference, split or data set.
        """
        items = listed(x)
        rows = self.rows(x if isinstance(x, Item) else items)
        epochs, dataset = self._budget(epochs), self._dataset(dataset)
        accuracy = self._references.means(split, rows.reshape(-1), epochs, dataset)
        if np.isnan(accuracy).any():
            lacking = self.hashes(rows.reshape(-1)[np.isnan(accuracy)])[0]
            budget = counted(epochs, "epoch")
            raise OutOfDomainError(f"the table {self.id} has no {split} accuracy of {lacking} at {budget}")
        if reference is not None:
            best: Any = self._references.best_accuracy(reference, split, epochs, dataset)
        else:
            own = [self._own_space(item) for item in items]
            best_of = {name: self._references.best_accuracy(name, split, epochs, dataset) for name in set(own)}
            best = np.array([best_of[name] for name in own])
        return plain((best - accuracy).reshape(rows.shape))

    def mean_regret(
        self,
        reference: str | SearchSpace,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
    ) -> float:
        """The mean of `regret` over all networks of a reference; arguments and errors as for `regret`."""
        epochs, dataset = self._budget(epochs), self._dataset(dataset)
        best = self._references.best_accuracy(reference, split, epochs, dataset)
        return float(np.mean(best - self._references.means(split, self.members(reference), epochs, dataset)))

    def _own_space(self, item: Item) -> str:
        """Return an item's own reference."""
        return self._references.own(item.space) if isinstance(item, Architecture) else self._references.whole

    def best(
        self,
        reference: str | SearchSpace,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
    ) -> tuple[Any, Metrics]:
        """The best network of a reference by mean accuracy, ties to the first row, and its metrics.

        `reference` is as in `regret`.
        A network is a `Cell`, or an `Architecture` in tables of NAS-Bench-201. Raises as `regret` does.
        """
        row = self._references.best_row(reference, split, self._budget(epochs), self._dataset(dataset))
        return self.network(row), self.query(self.hashes(row)[0], epochs, dataset=dataset)


def _opened_again(open_: Callable[[Any], Table], place: Any, coverage: Coverage | None) -> Table:
    """Return a table in another process."""
    table = open_(place)
    return table if coverage is None else table.with_coverage(coverage)


def _no_value(row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
    return float("nan")
