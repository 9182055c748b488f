"""Assembly of a table's columns from single trainings, with a repeat for each seed, one architecture after another."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError, alternatives, quote
from nasbench1shot1.ground.files import reason
from nasbench1shot1.tables.columns import Column, standard
from nasbench1shot1.tables.description import MEMBER, Meta, exact_entry
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.formats import compact
from nasbench1shot1.tables.growing_column import GrowingColumn
from nasbench1shot1.tables.stored_columns import stored_counts, to_counts
from nasbench1shot1.trial_files.description import LATENCY, METRICS, TIMES, Trainings

Floats = NDArray[np.float64]
Results = Mapping[Any, Mapping[str, Any]]
"""The fields of the official `ResultsCount`, by data set and seed."""

Place = tuple[str, str, int, int]
"""Data set, metric, budget and repeat of a learning curve."""

_LEGACY_SEED = 888
"""If an architecture's trainings state different costs, the official API uses the value of this seed."""


@dataclass(frozen=True)
class Trial:
    """A training with one seed.

    Attributes:
        epochs: the number of epochs.
        ends: metrics at the end of the training, in the order of `METRICS`; NaN if unknown. Times are sums.
        curves: the metrics (epochs,) that are known after earlier epochs, too. Times are sums so far; they are omitted
            if all epochs take equally long.
        costs: parameters and FLOPs in millions; NaN if unknown.
    """

    epochs: int
    ends: Floats
    curves: Mapping[str, Floats]
    costs: tuple[float, float]


class TrialAssembly:
    """Collects trainings, one architecture after another; the values are in temporary files until `finish`.

    Args:
        trainings: the description of the space.
        source: name of the file, for messages.
        scratch: folder of the temporary files. Default: the system's folder.

    Attributes:
        trainings: the description of the space.
        left_out: number of omitted trainings, whose budgets are not in the description.
    """

    def __init__(self, trainings: Trainings, source: str, scratch: Path | None = None) -> None:
        self.left_out = 0
        self.trainings = self._of = trainings
        self._source, self._scratch, self._trials = source, scratch, 0
        self._indices: list[int] = []
        self._has_values = np.zeros(self._shape, bool)
        self._ends = GrowingColumn(self._shape, scratch, dtype=np.float64)
        self._costs = GrowingColumn((len(trainings.datasets), 2), scratch, dtype=np.float64)
        self._curves: dict[Place, GrowingColumn] = {}

    @property
    def _shape(self) -> tuple[int, ...]:
        return len(self._of.datasets), len(self._of.epochs), len(self._of.seeds), len(METRICS)

    def __len__(self) -> int:
        return self._trials

    def add(self, index: int, name: str, results: Iterable[Results]) -> None:
        """Add the trainings of an architecture.

        Args:
            index: its official index, larger than all earlier ones.
            name: its official text, for messages.
            results: its trainings, for each budget.

        Raises InvalidInputError if a data set or seed is unknown, or a training lacks a field or has an impossible
        value.
        """
        ends, costs = np.full(self._shape, np.nan), np.full((len(self._of.datasets), 2), np.nan)
        curves: dict[Place, Floats] = {}
        before = self._trials
        for key, fields in (item for of_budget in results for item in of_budget.items()):
            try:
                self._add_trial(key, fields, ends, costs, curves)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self._source}: the training {key} of {name} {quote(error)}") from None
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"{self._source}: the training {key} of {name} does not have the format of "
                    f"{self._of.benchmark.title}'s files ({type(error).__name__}: {reason(error)}): download the file "
                    "again"
                ) from error
        if self._trials == before:
            return
        row = len(self._indices)
        for place, curve in curves.items():
            if place not in self._curves:
                self._curves[place] = GrowingColumn(curve.shape, self._scratch, self._images(*place[:2]))
            self._curves[place].append(row, curve)
        self._ends.append(row, ends)
        self._costs.append(row, costs)
        self._has_values |= np.isfinite(ends)
        self._indices.append(index)

    def _add_trial(
        self, key: Any, fields: Mapping[str, Any], ends: Floats, costs: Floats, curves: dict[Place, Floats]
    ) -> None:
        dataset, seed = key
        if dataset not in self._of.datasets or seed not in self._of.seeds:
            names, seeds = ", ".join(self._of.datasets), self._of.seeds
            raise InvalidInputError(f"does not have a data set of {names} and a seed of {seeds}")
        if int(fields["epochs"]) not in self._of.epochs:
            self.left_out += 1
            return
        trial = read_trial(fields, self._of.sets[dataset])
        d, repeat = self._of.datasets.index(dataset), self._of.seeds.index(seed)
        ends[d, self._of.epochs.index(trial.epochs), repeat] = trial.ends
        if seed == _LEGACY_SEED or np.isnan(costs[d]).any():
            costs[d] = trial.costs
        for metric, curve in trial.curves.items():
            curves[dataset, metric, trial.epochs, repeat] = curve
        self._trials += 1

    # The finished table -----------------------------------------------------------------------------------------

    def finish(self) -> tuple[Columns, Meta]:
        """Arrange the trainings.

        Returns:
            The columns of a table, and its description without name and version.

        Raises InvalidInputError if there are no trainings with a budget of the description.
        """
        if not self._indices:
            budgets = alternatives(self._of.epochs)
            raise InvalidInputError(f"{self._source} has no trainings with {budgets} epochs")
        n, keys = len(self._indices), self._of.benchmark.load("keys")
        indices = np.array(self._indices, np.uint16)
        columns: Columns = {"index": indices}
        about: dict[str, dict[str, Any]] = {"index": exact_entry("the official index")}
        if n == keys.size():
            columns[MEMBER + keys.WHOLE] = np.arange(n, dtype=np.uint16)
            about[MEMBER + keys.WHOLE] = exact_entry("all rows")
        ends, _ = self._ends.finish(n)
        costs, _ = self._costs.finish(n)
        for d, dataset in enumerate(self._of.datasets):
            for metric, place in _PLACES.items():
                self._add_metric(d, metric, ends[:, d, :, :, place], columns, about)
            self._add_curves(dataset, n, columns, about)
            self._add_costs(dataset, np.rint(1e6 * costs[:, d]), columns, about)
        return columns, {
            "keyed_by": self._of.benchmark.name,
            "datasets": list(self._of.datasets),
            "objectives": [dict(one) for one in self._of.objectives],
            "epochs": [e for i, e in enumerate(self._of.epochs) if self._has_values[:, i].any()],
            "repeats": len(self._of.seeds),
            "seeds": list(self._of.seeds),
            "spaces": [keys.WHOLE] if n == keys.size() else [],
            "columns": about,
        }

    def _add_metric(
        self, d: int, metric: str, values: Floats, columns: Columns, about: dict[str, dict[str, Any]]
    ) -> None:
        """Add the column of a metric at the end of trainings, at the budgets that have values."""
        there = np.flatnonzero(self._has_values[d, :, :, _PLACES[metric]].any(axis=1))
        if not len(there):
            return
        dataset, column, values = self._of.datasets[d], METRICS[metric], values[:, there]
        name, budgets = f"{dataset}.{metric}", tuple(self._of.epochs[i] for i in there)
        facts: dict[str, Any] = {"sources": [], "method": "at the end of training"}
        if metric == LATENCY and (same := _same_everywhere(values)) is not None:
            columns[name], stored = compact(same)
            about[name] = _described(column, dataset).entry(sources=[], method="of one batch; equal in all trainings")
            return
        columns[name], stored = _compact(values, self._images(dataset, metric))
        if metric in TIMES.values():
            facts["method"] = "sum over all epochs"
            is_even = not any(place[:2] == (dataset, metric) for place in self._curves)
            column = _described(column, dataset, epochs=budgets, accumulates="evenly" if is_even else None)
        else:
            column = _described(column, dataset, epochs=budgets)
        known = {str(epochs): int((~np.isnan(values[:, k])).sum()) for k, epochs in enumerate(budgets)}
        about[name] = column.entry(**facts, known=known, **stored)

    def _images(self, dataset: str, metric: str) -> int | None:
        """Return the number of images of an accuracy; None for other metrics."""
        return self._of.images[dataset].get(str(METRICS[metric].split)) if _is_accuracy(metric) else None

    def _add_curves(self, dataset: str, n: int, columns: Columns, about: dict[str, dict[str, Any]]) -> None:
        """Add the learning curves of a data set, each with the repeats that have one."""
        for metric, epochs in dict.fromkeys(place[1:3] for place in self._curves if place[0] == dataset):
            d, e = self._of.datasets.index(dataset), self._of.epochs.index(epochs)
            places = [(dataset, metric, epochs, repeat) for repeat in range(len(self._of.seeds))]
            unknown = None
            if metric in TIMES.values():  # in some trainings, all epochs take equally long
                trained = self._has_values[d, e, :, _PLACES[metric]]
                for place in (place for place in places if trained[place[3]] and place not in self._curves):
                    self._curves[place] = GrowingColumn((epochs,), self._scratch)
                repeats = [place[3] for place in places if place in self._curves]
                unknown = partial(self._even_times, (d, e, repeats, _PLACES[metric]), epochs)
            repeats = [place[3] for place in places if place in self._curves]
            grown = [self._curves[places[repeat]] for repeat in repeats]
            name = f"curve{epochs}_{dataset}.{metric}"
            columns[name], stored = GrowingColumn.stack(grown, n, unknown)
            facts = {"sources": [], "method": "after every epoch", "repeats": repeats}
            about[name] = _described(METRICS[metric], dataset, moment=epochs).entry(**facts, **stored)

    def _even_times(self, place: tuple[Any, ...], epochs: int, rows: slice) -> Floats:
        """Return the seconds after each epoch (n, epochs, repeats), if all epochs take equally long."""
        ends = self._ends.finish(len(self._indices))[0][(rows, *place)]
        return np.asarray(np.arange(1, epochs + 1)[None, :, None] / epochs * ends[:, None, :])

    def _add_costs(self, dataset: str, costs: Floats, columns: Columns, about: dict[str, dict[str, Any]]) -> None:
        """Add the parameters, counted if the file does not state them, and the FLOPs, if a row has them."""
        (parameters, flops), keys = costs.T.copy(), self._of.benchmark.load("keys")
        for i in np.flatnonzero(np.isnan(parameters)):
            parameters[i] = self._of.parameters(keys.architecture_at(self._indices[i]), self._of.classes[dataset])
        name, stated = f"{dataset}.trainable_parameters", "as the file states them"
        columns[name] = parameters.astype(np.int32)
        about[name] = standard("trainable_parameters", dataset).entry(
            sources=[], method=f"{stated}; counted where it does not"
        )
        if not np.isnan(flops).all():
            name = f"{dataset}.flops"
            columns[name] = flops if np.isnan(flops).any() else flops.astype(np.int32)
            about[name] = standard("flops", dataset).entry(sources=[], method=stated)


_PLACES = {metric: place for place, metric in enumerate(METRICS)}
"""The place of each metric in `Trial.ends`."""


def _described(column: Column, dataset: str, **about: Any) -> Column:
    return replace(column, dataset=dataset, **about)


def _is_accuracy(metric: str) -> bool:
    return METRICS[metric].quantity == "accuracy"


def _same_everywhere(values: Floats) -> Floats | None:
    """Return one value for each row (R,), if all its known values (R, budgets, seeds) are equal; else None."""
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    first = flat[np.arange(len(flat)), known.argmax(axis=1)]
    return first if (~known | (flat == first[:, None])).all() else None


def _compact(values: Floats, images: int | None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Store accuracies as image counts if possible, and other values in the smallest exact type."""
    counts = to_counts(values, images) if images else None
    if images is None or counts is None:
        return compact(values)
    return stored_counts(counts, images), {"images": images}


# The values of one training -------------------------------------------------------------------------------------------


def read_trial(fields: Mapping[str, Any], sets: Mapping[str, str]) -> Trial:
    """Return the values in the fields of the official `ResultsCount`.

    Args:
        fields: the fields. The result of evaluation set S after epoch e, counted from 0, has the key "S@e".
        sets: the official name of the images of each split.

    Raises:
        InvalidInputError: an accuracy, loss, time or cost is impossible.
        KeyError, TypeError, ValueError, AttributeError: the fields have another format.
    """
    epochs = int(fields["epochs"])
    found = dict.fromkeys(METRICS, math.nan)
    found[LATENCY] = _latency(fields.get("latency"))
    curves: dict[str, Floats] = {}
    for split, official in sets.items():
        if split == "train":
            keys: list[Any] = list(range(epochs))
            accuracies, losses, times = fields["train_acc1es"], fields["train_losses"], fields["train_times"]
            found["train_accuracy"], found["train_loss"] = accuracies[epochs - 1] / 100, losses[epochs - 1]
        else:
            keys = [f"{official}@{epoch}" for epoch in range(epochs)]
            accuracies, losses, times = fields["eval_acc1es"], fields["eval_losses"], fields["eval_times"]
        for metric, values, unit in ((f"{split}_accuracy", accuracies, 100), (f"{split}_loss", losses, 1)):
            found[metric] = float(values.get(keys[-1], math.nan)) / unit
            curve = np.array([values.get(key, math.nan) for key in keys], np.float64) / unit
            if np.isfinite(curve[:-1]).any():
                curves[metric] = curve
        if times and all(key in times for key in keys):
            found[TIMES[split]] = sum(times[key] for key in keys)
            if len({times[key] for key in keys}) > 1:
                curves[TIMES[split]] = np.cumsum([times[key] for key in keys])
    for metric, curve in curves.items():
        _check(metric, float(np.nanmin(curve)))
        _check(metric, float(np.nanmax(curve)))
        curves[metric] = np.minimum(curve, 1) if _is_accuracy(metric) else curve
    ends = np.array([_possible(metric, float(found[metric])) for metric in METRICS])
    return Trial(epochs, ends, curves, _costs(fields))


def _latency(measured: Any) -> float:
    """Return the mean latency in seconds; NaN if it was not measured, which files state as -1 or as an empty list."""
    seconds = sum(measured) / len(measured) if measured else math.nan
    return float(seconds) if seconds > 0 or seconds < -1 else math.nan


def _check(metric: str, value: float) -> None:
    highest = 1 + 1e-6 if _is_accuracy(metric) else math.inf
    if value < 0 or value > highest or math.isinf(value):
        raise InvalidInputError(f"has a {metric.replace('_', ' ')} of {value:g}, which is impossible")


def _possible(metric: str, value: float) -> float:
    _check(metric, value)
    return min(value, 1.0) if _is_accuracy(metric) else value


def _costs(fields: Mapping[str, Any]) -> tuple[float, float]:
    """Return parameters and FLOPs in millions, NaN if unknown; raises InvalidInputError for impossible numbers."""
    costs = float(fields["params"]), float(fields["flop"])
    for name, millions in zip(("parameters", "FLOPs"), costs, strict=True):
        if not (math.isnan(millions) or 0 <= 1e6 * millions < 2**31):
            raise InvalidInputError(f"has {millions:g} million {name}, which is impossible")
    return costs
