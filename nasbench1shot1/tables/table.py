"""The table: measured or estimated performance of every network, looked up in microseconds."""

import copy
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, parsed
from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import (
    InvalidInputError,
    OutOfDomainError,
    UserError,
    alternatives,
    option,
    shorten,
    unknown_name,
    value_of,
)
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.bounds import SIZE, Bounds, GivenBounds, Limit, as_bounds
from nasbench1shot1.tables.columns import STANDARD, Column, Moment
from nasbench1shot1.tables.description import Objective, fidelity
from nasbench1shot1.tables.folder import Metric, TableFolder, open_folder
from nasbench1shot1.tables.keys import Item, as_list, is_item
from nasbench1shot1.tables.metrics import Metrics as Metrics
from nasbench1shot1.tables.metrics import to_python
from nasbench1shot1.tables.names import bundled_tables, find_table, folder_of
from nasbench1shot1.tables.references import PRESENT, Coverage, Reference
from nasbench1shot1.tables.rows import TableRows
from nasbench1shot1.tables.stored_columns import Run, StoredColumn, choose_repeat

_ACCURACIES = ("validation_accuracy", "test_accuracy")


def load_table(path: str | Path | None = None) -> "Table":
    """Open a table.

    Args:
        path: folder or name of a table. Bundled tables are "embedded" and "nb101-sample" (NAS-Bench-101), "nb201"
            (NAS-Bench-201) and "nats-size" (NATS-Bench's size space); imported tables have their own names, such as
            "nasbench_only108". Default: the table in the environment variable NB1SHOT1_TABLE, or else "embedded", the
            bundled estimates.

    Raises:
        InvalidInputError: there is no table, or it has another format.
        DamagedFileError: a file of the table is missing or damaged.
    """
    found = find_table(path)
    return Table(found if isinstance(found, TableFolder) else open_folder(found))


class Table(TableRows):
    """A table of measured or estimated metrics, with queries and regrets. `TableRows` lists the attributes.

    Two tables are equal if they have the same `id`, and are restricted to the same data sets and spaces (`of_dataset`,
    `covering`), such as a table and its copy in another process.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def _identity(self) -> tuple[Any, ...]:
        known = self._coverage
        covered = None if known is None else (known.space, known.networks, known.rows.tobytes())
        return self.id, self.datasets, covered

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Let another process open the folder again: columns are copied only if they are in memory."""
        opened = (Table, self._folder) if self._place is None else (load_table, str(self._place))
        return _reopen, (*opened, self._coverage, self.datasets)

    def of_dataset(self, dataset: str | None = None) -> Self:
        """Return a table that shares this one's columns and `id`, and knows only one of its data sets.

        Methods of the returned table need no `dataset`. Default of `dataset`: the table's only data set.

        Raises InvalidInputError for an unknown data set, or if none is given and the table has several.
        """
        other = copy.copy(self)
        other.datasets = (self._dataset(dataset),)
        return other

    # Queries ---------------------------------------------------------------------------------------------------

    def query(
        self,
        x: Item | Iterable[Item],
        epochs: int | None = None,
        run: Run = "mean",
        rng: np.random.Generator | None = None,
        halfway: bool = False,
        dataset: str | None = None,
        budget: int | None = None,
    ) -> Metrics:
        """Look up an architecture or its text, a cell or hash, or an iterable of N items.

        Args:
            x: the item or items to look up.
            epochs: the number of epochs: a budget, that is, the end of the trainings with so many epochs; or with
                `budget`, any epoch of longer trainings. Default: `budget`, or else the full budget.
            run: "mean" for the mean over the repeats; "random" for a random repeat of each item among the repeats for
                which it has an accuracy; "all" for all repeats on a last axis; or the seed or number of a repeat.
                Numbers are refused if seeds such as 1, 2 and 3 are also the numbers of other repeats. The values of
                missing repeats are NaN; means ignore them. "mean" and "all" use each metric's own repeats. If the table
                has only the mean over repeats of a metric, "random" gives this mean, and a number NaN.
            rng: generator for "random".
            halfway: return the values half-way through the training instead of at its end.
            dataset: the training, one of `datasets`; required if the table has several.
            budget: the length of the trainings in which `epochs` lies, if the table has their learning curves.
                `epochs=12, budget=200` is not `epochs=12`: a training of 12 epochs has its own learning-rate schedule.

        Raises:
            OutOfDomainError: the table lacks a network, the budget, the epoch, the repeat or half-way values.
            InvalidInputError: "random" needs a generator, the budget or repeat is not a whole number, the data set is
                unknown, or something cannot be looked up.
        """
        rows = self.row_of(x) if is_item(x) else self.rows(x)
        name = self._dataset(dataset)
        if not isinstance(halfway, bool | np.bool_):
            raise InvalidInputError(f"{value_of('halfway')} must be True or False, not {shorten(repr(halfway))}")
        epochs, moment = self._training(epochs, budget)
        if halfway:
            self._check_halfway(name, budget)
            moment = "halfway"
        repeat = choose_repeat(
            self.id,
            self._folder.repeats,
            run,
            np.shape(rows),
            rng,
            self.seeds,
            lambda: self._folder.trained_repeats(
                name, np.asarray(rows), moment if isinstance(moment, int) else self._budget(epochs)
            ),
        )
        is_drawn = isinstance(run, str) and run == "random"
        return Metrics(self.id, self._folder, self.keys, rows, (name, epochs), repeat, moment, is_drawn)

    def value(
        self,
        metric: str,
        row: int,
        epochs: int | None = None,
        repeat: Literal["mean"] | int = "mean",
        halfway: bool = False,
        dataset: str | None = None,
        budget: int | None = None,
    ) -> float:
        """Return one value of one row, for loops over millions of values; NaN if unknown.

        Args:
            metric: one of `metrics`.
            row: a result of `row_of`.
            epochs, repeat, halfway, dataset, budget: as in `query`, but not checked.

        Raises:
            InvalidInputError: no data set is given, and the values differ between the data sets of the table.
            OutOfDomainError: no data set is given, and none of several data sets has the metric.
        """
        epochs = epochs or budget or self.full_budget
        moment: Moment = "halfway" if halfway else "end" if budget in (None, epochs) else budget
        column = self._folder.metrics.get((metric, dataset or self._dataset_of(metric, None), moment))
        return column.value(row, epochs, repeat) if column else float("nan")

    def reader(self, metric: str, dataset: str | None = None) -> Callable[[int, int, Literal["mean"] | int], float]:
        """Return a function of row, epochs and repeat that does the same as `value`; the fastest way to read a table.

        Raises InvalidInputError for an unknown metric or data set.
        """
        column = self.stored(metric, dataset)
        return column.value if column else _no_value

    def about(self, metric: str, dataset: str | None = None, halfway: bool = False) -> Column:
        """Return the description of a metric: quantity, unit, direction, budgets, fidelity, device.

        Raises InvalidInputError for an unknown metric or data set.
        """
        return self._folder.about(*self._key(metric, dataset, "halfway" if halfway else "end"))

    def stored(self, metric: str, dataset: str | None = None, halfway: bool = False) -> StoredColumn | None:
        """Return the stored column with the values of a metric; None if the table lacks it.

        Raises InvalidInputError for an unknown metric or data set.
        """
        return self._folder.metrics.get(self._key(metric, dataset, "halfway" if halfway else "end"))

    def epochs_of(self, metric: str, dataset: str | None = None) -> tuple[int, ...]:
        """Return the budgets at which most networks have a value of a metric, ascending.

        Raises InvalidInputError for an unknown metric or data set.
        """
        known = {epochs: np.isfinite(self.values(metric, epochs, dataset)).any(axis=-1) for epochs in self.epochs}
        return tuple(epochs for epochs, networks in known.items() if networks.mean() > 0.5)

    def repeats_of(self, metric: str, epochs: int | None = None, dataset: str | None = None) -> tuple[int, int]:
        """Return the smallest and the largest number of repeats of a metric among the networks that have it.

        (1, 1) means one value per network, such as a single run, a mean over runs or an estimate: its feedback has no
        noise. (0, 0) means that no network has a value at the budget. Raises the errors of `measured`.
        """
        known = np.isfinite(self.values(metric, epochs, dataset)).sum(axis=-1)
        return (int(known[known > 0].min(initial=known.max())), int(known.max()))

    def seeds_of(self, row: int, epochs: int | None = None, dataset: str | None = None) -> tuple[int, ...]:
        """Return the random seeds with which a network was trained, ascending; empty if the table has no seeds.

        Raises InvalidInputError for an unknown row or data set, OutOfDomainError for an unknown budget.
        """
        trained = self.trained_repeats(row, epochs, dataset)
        return tuple(seed for number, seed in enumerate(self.seeds) if number in trained)

    def trained_repeats(self, row: int, epochs: int | None = None, dataset: str | None = None) -> tuple[int, ...]:
        """Return the numbers of the repeats with which a network was trained, ascending; empty if only means are known.

        Raises the errors of `seeds_of`.
        """
        row = whole_number("row", row, "a row number")
        trained = self._folder.trained_repeats(self._dataset(dataset), self._checked_rows(row), self._budget(epochs))
        return tuple(np.flatnonzero(trained).tolist())

    def measured(
        self, metric: str, epochs: int | None = None, dataset: str | None = None, budget: int | None = None
    ) -> NDArray[np.float64]:
        """Return every row's measurements of a metric, (R, K), without estimates; NaN if there is none.

        K is the metric's own number of repeats, 1 for a column of estimates. `epochs` and `budget` are as in `query`.

        Raises:
            InvalidInputError: the metric or data set is unknown.
            OutOfDomainError: the table lacks the budget or the epoch.
        """
        epochs, moment = self._training(epochs, budget)
        return self._folder.measurement(self._key(metric, dataset, moment), np.arange(len(self)), epochs, "all")

    def values(
        self, metric: str, epochs: int | None = None, dataset: str | None = None, budget: int | None = None
    ) -> NDArray[np.float64]:
        """Return every row's values of a metric, measured or estimated, (R, K); NaN if unknown.

        Arguments and errors are as for `measured`.
        """
        epochs, moment = self._training(epochs, budget)
        return self._folder.values(self._key(metric, dataset, moment), np.arange(len(self)), epochs, "all")

    def stored_curve(self, metric: str, budget: int, dataset: str | None = None) -> StoredColumn | None:
        """Return the values of a metric after every epoch of the trainings with a budget; None if there are none.

        Raises InvalidInputError for an unknown metric or data set.
        """
        return self._folder.metrics.get((self._known_metric(metric), self._dataset(dataset), budget))

    def is_measured(self, metric: str, dataset: str | None = None) -> bool:
        """Return whether the values of a metric are measured or exact, rather than estimates; false if there are none.

        Raises InvalidInputError for an unknown metric or data set.
        """
        key = self._key(metric, dataset)
        return key in self._folder.metrics and self._folder.about(*key).is_measured

    def _key(self, metric: str, dataset: str | None, moment: Moment = "end") -> Metric:
        return self._known_metric(metric), self._dataset_of(metric, dataset), moment

    def _known_metric(self, metric: str) -> str:
        if not isinstance(metric, str) or (metric not in STANDARD and metric not in self.metrics):
            raise unknown_name("metric", str(metric), self.metrics)
        return metric

    def _dataset_of(self, metric: str, dataset: str | None) -> str:
        """Return the data set of a metric; the first one if none is given and all data sets have equal values."""
        if dataset is None and self._folder.is_equal_on_all_data_sets(metric):
            return self.datasets[0]
        return self._dataset(dataset, metric)

    def _dataset(self, dataset: str | None, metric: str | None = None) -> str:
        if dataset is None and len(self.datasets) == 1:
            return self.datasets[0]
        if dataset is None:
            raise self._unnamed_dataset_error(metric)
        if not isinstance(dataset, str) or dataset not in self.datasets:
            raise unknown_name("data set", str(dataset), self.datasets)
        return dataset

    def _unnamed_dataset_error(self, metric: str | None) -> UserError:
        """Return the error for a query without a data set; it names the data sets that have the metric."""
        what = metric and metric.replace("_", " ")
        if not (known := self._folder.datasets_of(metric)):
            return OutOfDomainError(f"the table {self.id} has no {what} on any data set: use another metric or table")
        is_accuracy = metric in (None, *_ACCURACIES)
        notes = [
            f"searches on {one.dataset} use the validation accuracy of {one.validation} and the test accuracy of "
            f"{one.test}"
            for one in filter(self._has_separate_trainings, self.objectives if is_accuracy else ())
        ]
        explanation = f" ({'; '.join(notes)})" if notes else ""
        return InvalidInputError(
            f"the table {self.id} has trainings on several data sets: {f'for {what}, ' if what else ''}give "
            f"{alternatives([option('dataset', known[0]), *known[1:]])}{explanation}"
        )

    def _has_separate_trainings(self, objective: Objective) -> bool:
        """Return whether different trainings have the validation and the test accuracies of an objective."""
        places = (objective.validation, objective.test)
        return len(set(places)) > 1 and all(map(self._has, _ACCURACIES, places))

    def _check_halfway(self, dataset: str, budget: int | None) -> None:
        if budget is not None:
            raise InvalidInputError(f"{option('budget')} does not apply to half-way values: remove it")
        described = [column for column in self._folder.names.about.values() if column.moment == "halfway"]
        if not any(dataset in (column.dataset, *column.also_of) for column in described):
            raise OutOfDomainError(f"the table {self.id} has no half-way values: set halfway=False")

    def _budget(self, epochs: int | None, advises_curves: bool = False) -> int:
        if epochs is None:
            return self.full_budget
        if type(epochs) is int and epochs in self.epochs:
            return epochs
        known = alternatives(epochs for epochs in self.epochs if epochs not in self.empty_budgets)
        number = whole_number("epochs", epochs, known)
        if number not in self.epochs:
            longer = [budget for budget in self._folder.names.curves if advises_curves and budget > number > 0]
            within = f", or add {option('budget', longer[-1])} for an epoch of longer trainings" if longer else ""
            raise OutOfDomainError(
                f"the table {self.id} has no budget of {counted(number, 'epoch')}: use {known}{within}"
            )
        return number

    def _training(self, epochs: int | None, budget: int | None) -> tuple[int, Moment]:
        """Return an epoch, and the moment of its values: the end of trainings, or within the trainings of a budget."""
        if budget is None or budget == epochs:
            return self._budget(epochs, advises_curves=True), "end"
        budget = self._budget(whole_number("budget", budget, alternatives(self.epochs)))
        number = budget if epochs is None else whole_number("epochs", epochs, f"1 to {budget}")
        if number == budget:
            return budget, "end"
        if budget not in self._folder.names.curves:
            raise OutOfDomainError(
                f"the table {self.id} has only the end of trainings with {counted(budget, 'epoch')}, no learning "
                f"curves: remove {option('budget')}, or import an official file that has them"
            )
        if not 1 <= number <= budget:
            raise OutOfDomainError(
                f"trainings with {counted(budget, 'epoch')} do not have {option('epochs', number)}: use 1 to {budget}"
            )
        return number, budget

    def fidelity(self, epochs: int | None = None) -> str:
        """Return which accuracies at a budget are predicted, as in `Metrics.fidelity`, for captions."""
        meta, names, budget = self._folder.meta, self._folder.names, self._budget(epochs)
        texts = [fidelity(meta, names, dataset, budget) for dataset in self.datasets]
        return "; ".join(dict.fromkeys(text for text in texts if text))

    def notes(self) -> list[str]:
        """Return important notes about the values for screens, one sentence each."""
        estimated = "Unmeasured accuracies are estimates; results for a paper need the official data."
        return [*filter(None, [self.partial_note, self.missing]), *([estimated] if self.fidelity() else [])]

    # Regret ----------------------------------------------------------------------------------------------------

    @overload
    def regret(
        self,
        x: str | Architecture,
        reference: str | SearchSpace | None = None,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
        metric: str | None = None,
        within: GivenBounds | None = None,
    ) -> float: ...
    @overload
    def regret(  # type: ignore[overload-overlap]
        self,
        x: Iterable[Item],
        reference: str | SearchSpace | None = None,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
        metric: str | None = None,
        within: GivenBounds | None = None,
    ) -> NDArray[np.float64]: ...
    @overload
    def regret(
        self,
        x: object,
        reference: str | SearchSpace | None = None,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
        metric: str | None = None,
        within: GivenBounds | None = None,
    ) -> float: ...
    def regret(
        self,
        x: Item | Iterable[Item],
        reference: str | SearchSpace | None = None,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
        metric: str | None = None,
        within: GivenBounds | None = None,
    ) -> Any:
        """Return how much worse a metric is than its best value in the reference, both means over this table's repeats.

        For accuracies, this is the error minus the lowest error. It is negative only if `x` is outside the reference
        and better than all networks in it.

        Args:
            x: an architecture, cell or hash, or an iterable of N items.
            reference: a search space; the name of a space that the table knows (`spaces`); "nb101" or "nb201" for all
                rows of this table (the embedded table has 66,111 of NAS-Bench-101's 423,624 cells); or "nb101-mini" for
                the rows with at most six vertices; or "present" for all rows that have a value of the metric. The first
                look-up of a space takes about a second for 50,000 cells.
                Default: for an architecture, its own space, of which the table must have all networks; for other
                items, all rows.
            split: "test" or "validation": the images of the accuracy, if no metric is given.
            epochs: the budget. Default: the full budget.
            dataset: the training, one of `datasets`; required if the table has several, unless the metric does not
                depend on the training, such as a latency that is equal on all data sets.
            metric: one of `metrics` with a direction, such as "test_loss". Default: the accuracy on `split`.
            within: bounds of the reference: an `nb.Bounds`, a text such as "flops=1e8", or a mapping from metrics to
                limits. The regret is relative to the best network within them. Limits without a data set compare the
                costs on `dataset`. Default: no bounds.

        Returns:
            A number in the metric's unit (a fraction for accuracies), or an array (N,).

        Raises:
            OutOfDomainError: a network has no value at the budget, or the table lacks networks of the reference or
                their values, or no network is within the bounds.
            InvalidInputError: the reference, split, metric or data set is unknown, a text is not a bound, neither high
                nor low values of the metric are better, or no reference is given and an architecture is not in its
                own space.
        """
        items = as_list(x)
        rows = self.rows(x if is_item(x) else items)
        epochs, metric = self._budget(epochs), self._ranking_metric(split, metric)
        dataset = self._dataset_of(metric, dataset)
        bounds = self._on_dataset(within, dataset)
        values = self._references.means(metric, rows.reshape(-1), epochs, dataset)
        if np.isnan(values).any():
            lacking = self.hashes(rows.reshape(-1)[np.isnan(values)])[0]
            words, budget = self._folder.about(metric, dataset).words, counted(epochs, "epoch")
            raise OutOfDomainError(f"the table {self.id} has no {words} of {lacking} at {budget}")
        if reference is not None:
            best: Any = self._references.best_value(reference, metric, epochs, dataset, bounds)
        else:
            own = [self._own_space(item) for item in items]
            for name in set(own):
                numbers = [number for number, of in enumerate(own) if of == name]
                self._references.check_members(name, [items[number] for number in numbers], rows.reshape(-1)[numbers])
            best_of = {name: self._references.best_value(name, metric, epochs, dataset, bounds) for name in set(own)}
            best = np.array([best_of[name] for name in own])
        return to_python(self._references.regret(values, best, metric, dataset).reshape(rows.shape))

    def mean_regret(
        self,
        reference: str | SearchSpace,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
        metric: str | None = None,
        within: GivenBounds | None = None,
    ) -> float:
        """Return the mean regret over all networks of a reference; arguments and errors as for `regret`."""
        metric = self._ranking_metric(split, metric)
        return float(np.mean(self.regrets(reference, metric, dataset, epochs=epochs, within=within)[1]))

    def regrets(
        self,
        reference: str | SearchSpace,
        metric: str = "test_accuracy",
        dataset: str | None = None,
        *,
        epochs: int | None = None,
        within: GivenBounds | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ascending rows of all networks of a reference, (M,), and their regrets, (M,).

        Arguments and errors are as for `regret`.
        """
        epochs, metric = self._budget(epochs), self._known_metric(metric)
        dataset = self._dataset_of(metric, dataset)
        bounds = self._on_dataset(within, dataset)
        best = self._references.best_value(reference, metric, epochs, dataset, bounds)
        rows = self._references.compared(reference, metric, epochs, dataset, bounds)
        values = self._references.means(metric, rows, epochs, dataset)
        return rows, self._references.regret(values, best, metric, dataset)

    @staticmethod
    def _on_dataset(within: GivenBounds | None, dataset: str) -> Bounds | None:
        """Return bounds whose limits have a data set, by default the one of a query."""
        if within is None:
            return None
        bounds = as_bounds(within, "within")
        return bounds.on({limit.metric: dataset for limit in bounds.limits})

    def _ranking_metric(self, split: str, metric: str | None) -> str:
        """Return the metric that ranks networks: the given one, or the accuracy on a split."""
        if metric is not None:
            return self._known_metric(metric)
        if not isinstance(split, str) or split not in ("test", "validation"):
            raise unknown_name("split", str(split), ("test", "validation"))
        return f"{split}_accuracy"

    def _own_space(self, item: Item) -> str:
        """Return an item's own reference."""
        with suppress(InvalidInputError):  # a benchmark of the user's own may have other texts
            item = parsed(item)
        if isinstance(item, Architecture):
            return self._references.own_reference(item.space)
        return PRESENT if self._references.is_partial else self._references.whole

    def best(
        self,
        reference: str | SearchSpace,
        split: Literal["test", "validation"] = "test",
        epochs: int | None = None,
        dataset: str | None = None,
        metric: str | None = None,
        within: GivenBounds | None = None,
    ) -> tuple[Any, Metrics]:
        """Return the network with the best mean value of a metric in a reference, and its metrics.

        Ties go to the first row. Arguments and errors are as for `regret`. The network is what `network` returns, such
        as a `Cell` or an `Architecture`.
        """
        epochs, metric = self._budget(epochs), self._ranking_metric(split, metric)
        dataset = self._dataset_of(metric, dataset)
        row = self._references.best_row(reference, metric, epochs, dataset, self._on_dataset(within, dataset))
        return self.network(row), self.query(self.hashes(row)[0], epochs, dataset=dataset)

    def largest(
        self, reference: str | SearchSpace, within: GivenBounds | None = None, dataset: str | None = None
    ) -> Any:
        """Return the largest network within bounds.

        It has the most trainable parameters, whatever is bounded. If they are unknown for all networks within the
        bounds, it has the most FLOPs, if they are bounded, or else the largest value of the alphabetically first
        bounded cost. Ties go to the first row, and networks without a value are ignored. "Always the largest network
        that fits" is a baseline, because larger networks are often better.

        Args:
            reference: as in `regret`.
            within: the bounds, as in `regret`. Default: none.
            dataset: as in `resolve`.

        Returns:
            What `network` returns, such as a `Cell` or an `Architecture`.

        Raises:
            OutOfDomainError: no network of the reference is within the bounds, the table has no number of parameters
                and there are no bounds, and the errors of `resolve`.
        """
        resolved = None if within is None else self.resolve(as_bounds(within, "within"), dataset)
        sizes = resolved.limits_by_size if resolved else ()
        if not sizes or sizes[0].metric != SIZE:
            sizes = (Limit(SIZE, math.inf, self._dataset_of_cost(SIZE, dataset)), *sizes)
        return self.network(self._references.largest_row(reference, sizes, resolved))

    def constraint(self, space: SearchSpace, within: GivenBounds, dataset: str | None = None) -> Constraint:
        """Return bounds as optimizers see them: costs are functions of architectures of a space.

        Args:
            space: the space of a search.
            within: the bounds, as in `regret`.
            dataset: the data set of the search, as in `resolve`.

        Raises:
            OutOfDomainError: no network of the space is within the bounds, and the errors of `resolve`.
        """
        bounds = as_bounds(within, "within")
        resolved = self.resolve(bounds, dataset)
        self.members(space.name, resolved)  # raises if no network is within the bounds
        costs = [
            self._cost(space, limit, values)
            for limit, values in zip(resolved.limits, self.costs(resolved), strict=True)
        ]
        return Constraint(costs, bounds.words)

    def _cost(self, space: SearchSpace, limit: Limit, values: NDArray[np.float64]) -> Cost:
        def of(arch: Architecture) -> float:
            try:
                return float(values[self.row_of(arch)])
            except OutOfDomainError:  # a partial table
                return math.nan

        return Cost(
            limit.metric,
            limit.most,
            of,
            lambda: np.array([of(arch) for arch in map(space.__getitem__, range(len(space)))]),
        )


def _reopen(open_: Callable[[Any], Table], place: Any, coverage: Coverage | None, datasets: tuple[str, ...]) -> Table:
    """Return a table in another process."""
    table = open_(place)
    table.datasets = datasets
    return table if coverage is None else table.with_coverage(coverage)


def _no_value(row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
    return float("nan")


def table_for(space: SearchSpace, path: str | Path | None = None, reference: Reference | None = None) -> Table:
    """Open the table that measures regrets in a space; all searches call this function.

    Args:
        space: the space. Its name becomes a reference of the table, also for a user's own space.
        path: as in `load_table`.
        reference: "present" to measure regret relative to the best network that the table has, if it lacks some.

    Raises:
        OutOfDomainError: the table lacks networks of the space, and `reference` is not given.
        InvalidInputError: as `load_table`; or the table and the space belong to different benchmarks.
        DamagedFileError: as `load_table`.
    """
    return load_table(path).covering(space, present=reference == PRESENT, has_option=True)


def recorded_name(table: Table) -> str:
    """Return the name or folder with which a table can be opened again.

    Raises InvalidInputError for a table that is only in memory.
    """
    folders = {name: folder_of(bundled) for name, bundled in bundled_tables().items()}
    if table.folder is not None:
        return next((name for name, folder in folders.items() if folder == table.folder), str(table.folder))
    if table.name in folders and folders[table.name] is None and load_table(table.name).id == table.id:
        return table.name  # a bundled table in memory
    raise InvalidInputError(
        f"the table {table.id} is only in memory, so a run cannot find it again: save it with "
        "table.save('my-table') and give that folder"
    )
