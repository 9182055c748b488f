"""The trainings in a table of NAS-Bench-201 or NATS-Bench, in the units and with the names of the official APIs."""

import random
from collections.abc import Callable, Mapping
from functools import cached_property
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives, unknown_name
from nasbench1shot1.tables.stored_columns import CurveColumn, MetricColumn
from nasbench1shot1.tables.table import Table
from nasbench1shot1.trial_files.description import LATENCY, TIMES, Trainings

Repeat = Any  # "mean", or the number of a repeat


class MissingValueError(OutOfDomainError, KeyError):
    """The table lacks a value that the official files have; also a KeyError, because a dictionary lacks the key."""

    __str__ = OutOfDomainError.__str__  # a KeyError would show its message in quotes


class KnownValues(dict[str, Any]):
    """A dictionary of the values that a table has; any other key raises `MissingValueError`.

    Args:
        values: values by name; NaN is omitted.
        sentence: the error's message, or a function that returns it, with {} in place of the name.
    """

    def __init__(self, values: Mapping[str, Any], sentence: str | Callable[[], str]) -> None:
        super().__init__({name: value for name, value in values.items() if value is None or value == value})
        self._sentence = sentence

    def __missing__(self, name: str) -> Any:
        raise MissingValueError(self._text().replace("{}", f"'{name}'"))

    def __reduce__(self) -> tuple[Any, ...]:
        return KnownValues, (dict(self), self._text())

    def _text(self) -> str:
        return self._sentence if isinstance(self._sentence, str) else self._sentence()


def absent_value_error(table: Table, what: str) -> MissingValueError:
    """Return the error for something that no table has."""
    return MissingValueError(f"the table {table.id} does not have {what}: read the official files with nats_bench")


def known_latency(reader: "TrialReader", row: int, dataset: str, epochs: int, repeat: Repeat) -> float:
    """Return the latency in seconds; raises OutOfDomainError if the table does not have it."""
    if (found := reader.latency(row, dataset, epochs, repeat)) is None:
        raise absent_value_error(reader.table, "latencies")
    return found


def means_only_error(table: Table) -> MissingValueError:
    """Return the error for a single training in a table of means."""
    return MissingValueError(
        f"the table {table.id} does not have complete trainings with their seeds: import an official file for them"
    )


SHORT = {"train": "train", "validation": "valid", "test": "test", "valtest": "valtest"}
"""The official prefix of each split's values, as in "valid-accuracy"."""


class TrialReader:
    """Reads the trainings in a table.

    Args:
        table: a table of the benchmark.
        trainings: the description of its trainings.
        seed: random seed for drawing trainings and architectures. Default: draw from Python's global generator, as in
            the published packages, so that `random.seed` takes effect.
    """

    def __init__(self, table: Table, trainings: Trainings, seed: int | None = None) -> None:
        self.table, self.of = table, trainings
        self._random = None if seed is None else Random(seed)

    @property
    def has_only_means(self) -> bool:
        """Whether no training is complete, because some of its values are only known as means over the seeds.

        This is also true for a table with one value of each network and no seed.
        """
        return self.table.has_means or (not self.table.seeds and self.table.repeats == 1)

    @property
    def random(self) -> Random | ModuleType:
        """The random generator."""
        return self._random or random

    @cached_property
    def datasets(self) -> list[str]:
        """The benchmark's data sets that the table has."""
        return [name for name in self.of.datasets if name in self.table.datasets]

    @cached_property
    def budgets(self) -> list[int]:
        """The budgets at which the table has values, ascending."""
        columns = [self.table.stored(metric, dataset) for dataset in self.datasets for metric in self.table.metrics]
        known = {epochs for column in columns if isinstance(column, MetricColumn) for epochs in column.epochs}
        return [epochs for epochs in self.table.epochs if epochs in known]

    def epochs(self, hp: Any) -> int:
        """Return the budget that an official `hp` means, such as "01", "12" or 200.

        Raises OutOfDomainError if the table does not have it.
        """
        known = {hp_of(epochs): epochs for epochs in reversed(self.budgets)}
        named = {**known, **{str(epochs): epochs for epochs in known.values()}}
        if str(hp) not in named:
            raise OutOfDomainError(
                f"the table {self.table.id} has no trainings with {str(hp)[:20]!r} epochs: give "
                + alternatives(f"hp='{one}'" for one in known)
            )
        return named[str(hp)]

    def trained(self, row: int, dataset: str, epochs: int) -> list[int]:
        """Return the numbers of the repeats with which a row was trained.

        Raises OutOfDomainError if the table has no single trainings, or no such training.
        """
        self.check_dataset(dataset)
        if self.has_only_means:
            raise means_only_error(self.table)
        if not (found := self.table.trained_repeats(row, epochs, dataset)):
            raise MissingValueError(f"the table {self.table.id} does not have {self.name(row, dataset, epochs)}")
        return list(found)

    def seeds(self, row: int, dataset: str, epochs: int) -> list[int]:
        """Return the seeds of the trainings of a row.

        Raises the errors of `trained`, and OutOfDomainError if the table does not have the seeds of its repeats.
        """
        self.trained(row, dataset, epochs)
        if not self.table.seeds:
            raise MissingValueError(
                f"the table {self.table.id} numbers its repeats and does not have their seeds: import a file with the "
                "column 'seed' instead of 'repeat'"
            )
        return list(self.table.seeds_of(row, epochs, dataset))

    def repeat(self, row: int, dataset: str, epochs: int, is_random: Any) -> Repeat:
        """Return the repeat that an official `is_random` selects: the mean (False), a random one (True), or a seed's.

        In a table of means, True also selects the mean.

        Raises:
            OutOfDomainError: the table has no single trainings, lacks this one, or does not have the seeds.
            InvalidInputError: the value is not a boolean or one of the architecture's seeds.
        """
        self.check_dataset(dataset)
        if isinstance(is_random, bool | np.bool_):
            draws = is_random and not self.has_only_means
            return self.random.choice(self.trained(row, dataset, epochs)) if draws else "mean"
        seeds = self.seeds(row, dataset, epochs)
        if not isinstance(is_random, int | np.integer) or is_random not in seeds:
            raise InvalidInputError(f"is_random cannot be {is_random!r}: give True, False or one of the seeds {seeds}")
        return self.table.seeds.index(int(is_random))

    def check_epoch(self, iepoch: Any, epochs: int) -> int:
        """Return an epoch of a training, counted from 0; None means the last.

        Raises:
            InvalidInputError: the training has no such epoch.
            OutOfDomainError: the epoch is an earlier one, and the table has no learning curves of these trainings.
        """
        if iepoch is None or iepoch == epochs - 1:
            return epochs - 1
        if not isinstance(iepoch, int | np.integer) or not 0 <= iepoch < epochs:
            raise InvalidInputError(f"iepoch cannot be {iepoch!r}: give a number from 0 to {epochs - 1}, or None")
        if epochs in self.table.curves:
            return int(iepoch)
        raise OutOfDomainError(
            f"the table {self.table.id} only has the end of each training, not epoch {iepoch} of {epochs}: give "
            f"iepoch={epochs - 1}, or leave it out"
        )

    def metrics(
        self, row: int, dataset: str, epochs: int, repeat: Repeat, split: str, iepoch: int | None = None
    ) -> KnownValues:
        """Return iepoch, loss (nats), accuracy (percent), cur_time and all_time (seconds of this and of all epochs).

        Args:
            row: row of the table.
            dataset, epochs: data set and budget of the training.
            repeat: a result of the method `repeat`.
            split: one of `trial_files.description.SPLITS`.
            iepoch: a result of `check_epoch`. Default: the last epoch.
        """
        last = epochs - 1 if iepoch is None else iepoch
        all_time, earlier = (self._seconds(row, dataset, epochs, repeat, split, last - before) for before in (0, 1))
        found = {
            "iepoch": last,
            "loss": self._value(f"{split}_loss", row, dataset, epochs, repeat, last),
            "accuracy": percent(self._value(f"{split}_accuracy", row, dataset, epochs, repeat, last)),
            "cur_time": all_time - earlier if self._takes_unevenly(split, epochs, dataset) else all_time / (last + 1),
            "all_time": all_time,
        }
        return self.known(found, row, (dataset, epochs), f"the {split} set of ")

    def _value(self, metric: str, row: int, dataset: str, epochs: int, repeat: Repeat, iepoch: int) -> float:
        return self.table.value(metric, row, iepoch + 1, repeat, dataset=dataset, budget=epochs)

    def _seconds(self, row: int, dataset: str, epochs: int, repeat: Repeat, split: str, iepoch: int) -> float:
        """Return the seconds of all epochs up to one; 0 before the first."""
        return self._value(TIMES[split], row, dataset, epochs, repeat, iepoch) if iepoch >= 0 else 0.0

    def _takes_unevenly(self, split: str, epochs: int, dataset: str) -> bool:
        """Return whether epochs take differently long, so that the table has a learning curve of the seconds."""
        known = TIMES[split] in self.table.metrics
        return known and isinstance(self.table.stored_curve(TIMES[split], epochs, dataset), CurveColumn)

    def latency(self, row: int, dataset: str, epochs: int, repeat: Repeat = "mean") -> float | None:
        """Return the latency in seconds; None if the table does not have it."""
        found = self.table.value(LATENCY, row, epochs, repeat, dataset=dataset)
        return None if np.isnan(found) else found

    def costs(self, row: int, dataset: str, epochs: int) -> KnownValues:
        """Return flops and params (millions), latency (seconds; None: unknown) and mean times over the seeds."""
        self.check_dataset(dataset)
        found = self.table.query(int(self.table.column("index")[row]), epochs, dataset=dataset)
        costs = {
            "flops": found.flops / 1e6,
            "params": found.trainable_parameters / 1e6,
            "latency": self.latency(row, dataset, epochs),
        }
        return self.known(costs | self.times(row, dataset, epochs, "mean"), row, (dataset, epochs))

    def times(self, row: int, dataset: str, epochs: int, repeat: Repeat) -> dict[str, float]:
        """Return the seconds of one epoch and of all ("T-train@epoch", "T-train@total", …), NaN if unknown."""
        times: dict[str, float] = {}
        for split, official in self.of.sets[dataset].items():
            seconds = self._seconds(row, dataset, epochs, repeat, split, epochs - 1)
            times |= {f"T-{official}@epoch": seconds / epochs, f"T-{official}@total": seconds}
        return times

    def check_dataset(self, dataset: object) -> None:
        """Raise InvalidInputError for an unknown data set."""
        check_dataset(self.of, dataset)

    def split_of(self, dataset: str, official_set: str) -> str:
        """Return the split that an official name means, such as "validation" for "x-valid".

        Raises InvalidInputError for an unknown data set or name.
        """
        self.check_dataset(dataset)
        sets = {official: split for split, official in self.of.sets[dataset].items()} | {"valid": "validation"}
        if isinstance(official_set, str) and sets.get(official_set) in self.of.sets[dataset]:
            return sets[official_set]
        raise unknown_name(f"set of {dataset}", official_set, self.of.sets[dataset].values())

    def known(self, values: Mapping[str, Any], row: int, training: tuple[str, int], of: str = "") -> KnownValues:
        """Return the values that are not NaN.

        Args:
            values: values of a training.
            row, training: row of the table, and the training's data set and epochs.
            of: the part of the training for error messages, such as "the test set of ".
        """
        advice = "do without it" if not self.has_only_means else "import an official file for it, or do without it"

        def sentence() -> str:
            return f"the table {self.table.id} does not have {{}} of {of}{self.name(row, *training)}: {advice}"

        return KnownValues(values, sentence)

    def name(self, row: int, dataset: str, epochs: int) -> str:
        """Return a description of a training, for error messages."""
        return f"the training of {self.table.hashes(row)[0]} on {dataset} for {epochs} epochs"


def check_dataset(trainings: Trainings, dataset: object) -> None:
    """Raise InvalidInputError for an unknown data set."""
    if not isinstance(dataset, str) or dataset not in trainings.datasets:
        raise unknown_name("data set", dataset, trainings.datasets)


def net_config(trainings: Trainings, arch_str: str, dataset: str) -> dict[str, Any]:
    """Return the official configuration of the published network, which AutoDL-Projects builds.

    Raises InvalidInputError for an unknown data set.
    """
    check_dataset(trainings, dataset)
    return dict(trainings.configuration(arch_str, trainings.classes[dataset]))


def hp_of(epochs: int) -> str:
    """Return the official `hp` of a budget: its epochs with at least two digits."""
    return f"{epochs:02d}"


def percent(fraction: float) -> float:
    """Return a fraction in percent, without the rounding noise of the multiplication."""
    return round(100 * fraction, 10)
