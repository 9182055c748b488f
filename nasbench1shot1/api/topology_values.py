"""Values of a NAS-Bench-201 table in the units and with the names of the official APIs."""

import random
from collections.abc import Callable, Mapping
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.nasbench201.trainings import DATASETS, OFFICIAL_SETS
from nasbench1shot1.tables.table import Table

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


def means_only_error(table: Table) -> MissingValueError:
    """Return the error for a single training in a table of means."""
    return MissingValueError(
        f"the table {table.id} has means over the seeds and no single trainings: import an official file for them"
    )


class TopologyReader:
    """Reads the trainings in a table.

    Args:
        table: a table of NAS-Bench-201.
        seed: random seed for drawing trainings and architectures. Default: draw from Python's global generator, as in
            the published packages, so that `random.seed` takes effect.
    """

    def __init__(self, table: Table, seed: int | None = None) -> None:
        self.table = table
        self._random = None if seed is None else Random(seed)

    @property
    def random(self) -> Random | ModuleType:
        """The random generator."""
        return self._random or random

    def epochs(self, hp: Any) -> int:
        """Return the budget that an official `hp` means, such as "12" or 200.

        Raises OutOfDomainError if the table does not have it.
        """
        known = [str(epochs) for epochs in self.table.epochs]
        if str(hp) not in known:
            raise OutOfDomainError(
                f"the table {self.table.id} has no trainings with {str(hp)[:20]!r} epochs: give hp='{known[-1]}'"
                + (f" or hp='{known[0]}'" if known[1:] else "")
            )
        return int(str(hp))

    def seeds(self, row: int, dataset: str, epochs: int) -> list[int]:
        """Return the seeds of the trainings of a row.

        Raises OutOfDomainError if the table does not state them, or has no such training.
        """
        _check_dataset(dataset)
        if not self.table.seeds:
            raise means_only_error(self.table)
        if not (found := self.table.seeds_of(row, epochs, dataset)):
            raise MissingValueError(f"the table {self.table.id} does not have {self.name(row, dataset, epochs)}")
        return list(found)

    def repeat(self, row: int, dataset: str, epochs: int, is_random: Any) -> Repeat:
        """Return the repeat that an official `is_random` selects: the mean (False), a random one (True), or a seed's.

        In a table of means, True also selects the mean.

        Raises:
            OutOfDomainError: the table has no single trainings, or lacks this one.
            InvalidInputError: the value is not a boolean or one of the architecture's seeds.
        """
        _check_dataset(dataset)
        draws = isinstance(is_random, bool | np.bool_)
        if draws and not (is_random and self.table.seeds):
            return "mean"
        seeds = self.seeds(row, dataset, epochs)
        if draws:
            return self.table.seeds.index(self.random.choice(seeds))
        if not isinstance(is_random, int | np.integer) or is_random not in seeds:
            raise InvalidInputError(f"is_random cannot be {is_random!r}: give True, False or one of the seeds {seeds}")
        return self.table.seeds.index(int(is_random))

    def check_epoch(self, iepoch: Any, epochs: int) -> None:
        """Raise an error unless `iepoch` means the last epoch of a training.

        Raises:
            InvalidInputError: the training has no such epoch.
            OutOfDomainError: the epoch is an earlier one, for which the table has no values.
        """
        if iepoch is None or iepoch == epochs - 1:
            return
        if not isinstance(iepoch, int | np.integer) or not 0 <= iepoch < epochs:
            raise InvalidInputError(f"iepoch cannot be {iepoch!r}: give a number from 0 to {epochs - 1}, or None")
        raise OutOfDomainError(
            f"the table {self.table.id} only has the end of each training, not epoch {iepoch} of {epochs}: give "
            f"iepoch={epochs - 1}, or leave it out"
        )

    def metrics(self, row: int, dataset: str, epochs: int, repeat: Repeat, split: str) -> KnownValues:
        """Return iepoch, loss (nats), accuracy (percent), cur_time and all_time (seconds of one and all epochs).

        Args:
            row: row of the table.
            dataset, epochs: data set and budget of the training.
            repeat: a result of the method `repeat`.
            split: "train", "validation" or "test".
        """
        value = self.table.value
        found = {
            "iepoch": epochs - 1,
            "loss": value(f"{split}_loss", row, epochs, repeat, dataset=dataset),
            "accuracy": percent(value(f"{split}_accuracy", row, epochs, repeat, dataset=dataset)),
        }
        if split != "test":
            timed = "training_time" if split == "train" else "evaluation_time"
            seconds = value(timed, row, epochs, repeat, dataset=dataset)
            found |= {"cur_time": seconds / epochs, "all_time": seconds}
        return self.known(found, row, (dataset, epochs), f"the {split} set of ")

    def costs(self, row: int, dataset: str, epochs: int) -> KnownValues:
        """Return flops and params (millions), latency (None: unknown) and mean times over the seeds (seconds)."""
        _check_dataset(dataset)
        found = self.table.query(int(self.table.column("index")[row]), epochs, dataset=dataset)
        costs = {"flops": found.flops / 1e6, "params": found.trainable_parameters / 1e6, "latency": None}
        for name, seconds in (("train", found.training_time), ("x-valid", found.evaluation_time)):
            costs |= {f"T-{name}@epoch": seconds / epochs, f"T-{name}@total": seconds}
        return self.known(costs, row, (dataset, epochs))

    def known(self, values: Mapping[str, Any], row: int, training: tuple[str, int], of: str = "") -> KnownValues:
        """Return the values that are not NaN.

        Args:
            values: values of a training.
            row, training: row of the table, and the training's data set and epochs.
            of: the part of the training for error messages, such as "the test set of ".
        """
        advice = "do without it" if self.table.seeds else "import an official file for it, or do without it"

        def sentence() -> str:
            return f"the table {self.table.id} does not have {{}} of {of}{self.name(row, *training)}: {advice}"

        return KnownValues(values, sentence)

    def name(self, row: int, dataset: str, epochs: int) -> str:
        """Return a description of a training, for error messages."""
        return f"the training of {self.table.hashes(row)[0]} on {dataset} for {epochs} epochs"


def percent(fraction: float) -> float:
    """Return a fraction in percent, without the rounding noise of the multiplication."""
    return round(100 * fraction, 10)


def split_of(dataset: str, official_set: str) -> str:
    """Return the split that an official name means, such as "validation" for "x-valid".

    Raises:
        OutOfDomainError: the set combines validation and test images ("ori-test" of CIFAR-100 and ImageNet16-120).
        InvalidInputError: the data set or name is unknown.
    """
    _check_dataset(dataset)
    sets = {official: split for split, official in OFFICIAL_SETS[dataset].items()} | {"valid": "validation"}
    if isinstance(official_set, str) and sets.get(official_set) in OFFICIAL_SETS[dataset]:
        return sets[official_set]
    if official_set == "ori-test":
        raise OutOfDomainError(f"no table has '{official_set}' of {dataset}: use 'x-valid' or 'x-test'")
    raise unknown_name(f"set of {dataset}", official_set, OFFICIAL_SETS[dataset].values())


def _check_dataset(dataset: object) -> None:
    if not isinstance(dataset, str) or dataset not in DATASETS:
        raise unknown_name("data set", dataset, DATASETS)
