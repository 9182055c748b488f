"""The trainings in a NAS-Bench-201 table, in the units and with the names of the official APIs."""

import random
from collections.abc import Callable, Mapping
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.nasbench201.benchmark import CLASSES, DATASETS, OFFICIAL_SETS
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
    def has_only_means(self) -> bool:
        """Whether no training is complete, because some of its values are only known as means over the seeds."""
        return not self.table.seeds or self.table.has_means

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
        if self.has_only_means:
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
        if draws and (not is_random or self.has_only_means):
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
        advice = "do without it" if not self.has_only_means else "import an official file for it, or do without it"

        def sentence() -> str:
            return f"the table {self.table.id} does not have {{}} of {of}{self.name(row, *training)}: {advice}"

        return KnownValues(values, sentence)

    def name(self, row: int, dataset: str, epochs: int) -> str:
        """Return a description of a training, for error messages."""
        return f"the training of {self.table.hashes(row)[0]} on {dataset} for {epochs} epochs"


def net_config(arch_str: str, dataset: str) -> dict[str, Any]:
    """Return the official configuration of the published network, which AutoDL-Projects builds.

    Raises InvalidInputError for an unknown data set.
    """
    if not isinstance(dataset, str) or dataset not in CLASSES:
        raise unknown_name("data set", dataset, CLASSES)
    return {"name": "infer.tiny", "C": 16, "N": 5, "arch_str": arch_str, "num_classes": CLASSES[dataset]}


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


class ResultsCount:
    """A single training with one seed; only tables imported from official files have single trainings.

    Attributes:
        name: the data set.
        seed: the random seed.
        epochs: the budget.
        params, flop: millions of parameters and FLOPs.
        eval_names: the official names of the image sets.
    """

    def __init__(self, reader: TopologyReader, row: int, training: tuple[str, int, int]) -> None:
        self.name, self.epochs, self.seed = training
        self._reader, self._row = reader, row
        self._repeat = reader.repeat(row, self.name, self.epochs, self.seed)
        costs = reader.costs(row, self.name, self.epochs)
        self.params, self.flop = costs["params"], costs.get("flops")
        self.eval_names = [official for official in OFFICIAL_SETS[self.name].values() if official != "train"]

    def get_total_epoch(self) -> int:
        """Return the number of epochs."""
        return self.epochs

    def get_eval_set(self) -> list[str]:
        """Return the official names of the image sets."""
        return self.eval_names

    def get_train(self, iepoch: int | None = None) -> KnownValues:
        """Return iepoch, loss, accuracy (percent), cur_time and all_time (seconds) on the training images.

        Raises OutOfDomainError for any epoch except the last.
        """
        return self._metrics("train", iepoch)

    def get_eval(self, name: str, iepoch: int | None = None) -> KnownValues:
        """Return the same values as `get_train`, for an image set: "x-valid", "x-test" or "ori-test".

        Raises OutOfDomainError for any epoch except the last, and for "ori-test" of CIFAR-100 and ImageNet16-120.
        """
        return self._metrics(split_of(self.name, name), iepoch)

    def get_times(self) -> KnownValues:
        """Return the seconds of one epoch and of all ("T-train@epoch", "T-train@total", "T-x-valid@epoch", …)."""
        times: dict[str, Any] = {}
        for split, official in (("train", "train"), ("validation", "x-valid")):
            found = self._metrics(split, None)
            times |= {f"T-{official}@epoch": found.get("cur_time"), f"T-{official}@total": found.get("all_time")}
        known = {name: seconds for name, seconds in times.items() if seconds is not None}
        return self._reader.known(known, self._row, (self.name, self.epochs))

    def get_latency(self) -> float:
        """Raise OutOfDomainError: tables have no latencies."""
        raise absent_value_error(self._reader.table, "latencies")

    def get_net_param(self, clone: bool = False) -> Any:
        """Raise OutOfDomainError: tables have no weights."""
        raise absent_value_error(self._reader.table, "trained weights")

    def get_config(self, str2structure: Any = None) -> dict[str, Any]:
        """Return the configuration of the network, as the API's `get_net_config` does.

        Args:
            str2structure: function from the architecture string to the value of "genotype", which replaces "arch_str".
        """
        config = net_config(self._reader.table.hashes(self._row)[0], self.name)
        if str2structure is not None:
            config["genotype"] = str2structure(config.pop("arch_str"))
        return config

    def __repr__(self) -> str:
        arch = self._reader.table.hashes(self._row)[0]
        return f"ResultsCount({self.name}, arch={arch}, seed={self.seed}, epochs={self.epochs})"

    def _metrics(self, split: str, iepoch: int | None) -> KnownValues:
        self._reader.check_epoch(iepoch, self.epochs)
        return self._reader.metrics(self._row, self.name, self.epochs, self._repeat, split)


class ArchResults:
    """All trainings of an architecture at one budget.

    Attributes:
        arch_index: the official index.
        arch_str: the official string.
    """

    def __init__(self, reader: TopologyReader, row: int, epochs: int) -> None:
        self._reader, self._row, self._epochs = reader, row, epochs
        self.arch_index = int(reader.table.column("index")[row])
        self.arch_str = reader.table.hashes(row)[0]

    @property
    def dataset_seed(self) -> dict[str, list[int]]:
        """The seeds of the trainings on each data set; raises OutOfDomainError if the table has only means."""
        return {dataset: self.get_dataset_seeds(dataset) for dataset in self.get_dataset_names()}

    @property
    def all_results(self) -> dict[tuple[str, int], ResultsCount]:
        """The single trainings by data set and seed; raises OutOfDomainError if the table has only means."""
        return {(name, seed): one for name in self.get_dataset_names() for seed, one in self.query(name).items()}

    def get_dataset_names(self) -> list[str]:
        """Return the data sets on which the architecture was trained."""
        if self._reader.has_only_means:
            return list(DATASETS)
        return [name for name in DATASETS if self._reader.table.seeds_of(self._row, self._epochs, name)]

    def get_dataset_seeds(self, dataset: str) -> list[int]:
        """Return the seeds of the trainings on a data set; raises OutOfDomainError if the table has only means."""
        return self._reader.seeds(self._row, dataset, self._epochs)

    def get_total_epoch(self, dataset: str | None = None) -> int:
        """Return the number of epochs."""
        return self._epochs

    def get_compute_costs(self, dataset: str) -> KnownValues:
        """Return what the API's `get_cost_info` returns."""
        return self._reader.costs(self._row, dataset, self._epochs)

    get_comput_costs = get_compute_costs  # as NAS-Bench-201's README spells it

    def get_metrics(
        self, dataset: str, setname: str, iepoch: int | None = None, is_random: bool | int = False
    ) -> KnownValues:
        """Return iepoch, loss, accuracy (percent), cur_time and all_time (seconds).

        Args:
            dataset: "cifar10-valid", "cifar10", "cifar100" or "ImageNet16-120".
            setname: "train", "x-valid", "x-test" or "ori-test".
            iepoch: None or the last epoch.
            is_random: False for the mean over the seeds, True for one of them, or a seed.

        Raises:
            OutOfDomainError: the epoch is not the last, a seed is given for a table of means, or "ori-test" for
                CIFAR-100 or ImageNet16-120; also raised when a missing value is read from the result.
            InvalidInputError: a name or the seed is unknown.
        """
        self._reader.check_epoch(iepoch, self._epochs)
        split = split_of(dataset, setname)
        repeat = self._reader.repeat(self._row, dataset, self._epochs, is_random)
        return self._reader.metrics(self._row, dataset, self._epochs, repeat, split)

    def get_latency(self, dataset: str) -> float:
        """Raise OutOfDomainError: tables have no latencies."""
        raise absent_value_error(self._reader.table, "latencies")

    def get_net_param(self, dataset: str, seed: int | None = None) -> Any:
        """Raise OutOfDomainError: tables have no weights."""
        raise absent_value_error(self._reader.table, "trained weights")

    def query(self, dataset: str, seed: int | None = None) -> Any:
        """Return the training with a seed, or by default a dictionary of all trainings by seed.

        Raises OutOfDomainError if the table has only means.
        """
        seeds = self._reader.seeds(self._row, dataset, self._epochs)
        if seed is not None:
            return ResultsCount(self._reader, self._row, (dataset, self._epochs, seed))
        return {one: ResultsCount(self._reader, self._row, (dataset, self._epochs, one)) for one in seeds}

    def arch_idx_str(self) -> str:
        """Return the official index with six digits."""
        return f"{self.arch_index:06d}"

    def lines(self, extra: str | None = None) -> list[str]:
        """Return the lines that `show` prints; "?" stands for an unknown value."""
        names = self.get_dataset_names()
        found = [self.arch_str, f"datasets : {names}, extra-info : {extra}"]
        for name in names:
            costs = self.get_compute_costs(name)
            flops = f"{costs['flops']:6.2f}" if "flops" in costs else "?"
            found.append(f"{name:14s} FLOP={flops} M, Params={costs['params']:.3f} MB, latency=None ms.")
            sets = (
                f"{short} : [{_loss_and_accuracy(self.get_metrics(name, OFFICIAL_SETS[name][split]))}]"
                for split, short in (("train", "train"), ("validation", "valid"), ("test", "test"))
                if split in OFFICIAL_SETS[name]
            )
            found.append(f"{name:14s} {', '.join(sets)}")
        return found

    def __repr__(self) -> str:
        return f"ArchResults(arch-index={self.arch_index}, arch={self.arch_str}, epochs={self._epochs})"


def _loss_and_accuracy(metrics: KnownValues) -> str:
    loss, accuracy = (metrics.get(name) for name in ("loss", "accuracy"))
    return f"loss = {'?' if loss is None else f'{loss:.3f}'} & top1 = {'?' if accuracy is None else f'{accuracy:.2f}%'}"
