"""Calls shared by the official APIs of NATS-Bench's two spaces and NAS-Bench-201, answered from a table."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np

from nasbench1shot1.api.trial_reader import (
    SHORT,
    KnownValues,
    TrialReader,
    absent_value_error,
    hp_of,
    known_latency,
    means_only_error,
    net_config,
    percent,
)
from nasbench1shot1.api.trial_results import ArchResults
from nasbench1shot1.benchmark import benchmark
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives, option, unknown_name
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.trial_files.description import Trainings

_SETS = {"valid": "x-valid", "test": "x-test"}
_COMMENTS = {
    "cifar10-valid": "train: half of CIFAR-10's training images; valid: the other half; test: its test images",
    "cifar10": "train: all of CIFAR-10's training images; test: its test images",
}


class Architectures:
    """The calls about architectures, which need no results: a sequence of the official texts of all architectures.

    Attributes:
        trainings: the description of the space's trainings, which a subclass defines.
    """

    trainings: Trainings

    @property
    def full_train_epochs(self) -> int:
        """The longest training in epochs."""
        return self.trainings.epochs[-1]

    full_epochs_in_paper = full_train_epochs

    @property
    def is_topology(self) -> bool:
        """Whether this is the topology space."""
        return self.trainings.tag == "tss"

    @property
    def is_size(self) -> bool:
        """Whether this is the size space."""
        return self.trainings.tag == "sss"

    @property
    def search_space_name(self) -> str:
        """The official name of the space, "topology" or "size"."""
        return "size" if self.is_size else "topology"

    @cached_property
    def meta_archs(self) -> list[str]:
        """The official texts of all architectures, in the order of their official indices."""
        keys = self.trainings.keys
        return [keys.architecture_at(index).official for index in range(keys.size())]

    @cached_property
    def archstr2index(self) -> dict[str, int]:
        """The official index of each text."""
        return {name: index for index, name in enumerate(self.meta_archs)}

    def __len__(self) -> int:
        size: int = self.trainings.keys.size()
        return size

    def __getitem__(self, index: int) -> str:
        return self.meta_archs[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.meta_archs)

    def arch(self, index: int) -> str:
        """Return the string of an index; raises InvalidInputError (a ValueError) for an unknown one."""
        return self.meta_archs[self._known_index(index)]

    def query_index_by_arch(self, arch: Any) -> int:
        """Return the index of an architecture, or -1 if it is unknown.

        Args:
            arch: a string, an index, an architecture of this package, or an object whose `tostr` method returns the
                string.

        Raises InvalidInputError (a ValueError) for an index that does not exist.
        """
        if isinstance(arch, int | np.integer):
            if 0 <= arch < len(self):
                return int(arch)
            raise InvalidInputError(f"{arch} is not an official index: give 0 to {len(self) - 1:,}")
        name = arch.official if isinstance(arch, self.trainings.keys.FORM) else arch
        name = name.tostr() if hasattr(name, "tostr") else name
        return self.archstr2index.get(name, -1) if isinstance(name, str) else -1

    def get_net_config(self, index: Any, dataset: str) -> dict[str, Any]:
        """Return the configuration from which AutoDL-Projects builds the network.

        Its keys are name, C, N, arch_str and num_classes in the topology space, and name, channels, genotype and
        num_classes in the size space.

        Raises InvalidInputError for an unknown architecture or data set.
        """
        return net_config(self.trainings, self.meta_archs[self._known_index(index)], dataset)

    def _known_index(self, arch: Any) -> int:
        index = self.query_index_by_arch(arch)
        if index < 0:
            title = self.trainings.benchmark.title
            raise InvalidInputError(f"{arch!r} is not an architecture of {title}: give a string or an index")
        return index


class TrialAPI(Architectures):
    """The base of `nats_bench.NATStopology`, `nats_bench.NATSsize` and `nas_201_api.NASBench201API`.

    Accuracies are in percent, costs in millions, times in seconds. Dictionaries only contain the values that the table
    has: any other key raises `MissingValueError`, which is both an OutOfDomainError and a KeyError.

    Args:
        file_path_or_dict: None for the bundled table; an official file or archive, which is imported on first use and
            then opened from the imported table; the folder or name of a table; a `Table`; or an official file's
            dictionary.
        verbose: print one line about the table.
        seed: random seed for drawing trainings and architectures. Default: draw from Python's global generator, as in
            the published packages.

    Attributes:
        table: the `Table` that answers.
        filename: name of the file or table.
        used_time: seconds counted by `simulate_train_eval` since the last `reset_time`.

    Raises:
        InvalidInputError, DamagedFileError: the file or table does not exist, is damaged or belongs to another
            benchmark.
    """

    _between = " & "
    """The separator between loss and accuracy in printed results."""

    def __init__(self, file_path_or_dict: Any, verbose: bool, seed: int | None) -> None:
        self.table, self.verbose = _open(file_path_or_dict, self.trainings), verbose
        self.filename = Path(file_path_or_dict).name if isinstance(file_path_or_dict, str | Path) else self.table.name
        self._reader = TrialReader(self.table, self.trainings, seed)
        self.reset_time()
        if verbose:
            print(f"{self} answers from the table {self.table.id}")
        if self._reader.has_only_means:
            warn(
                f"the table {self.table.id} does not have complete trainings with their seeds: is_random=True returns "
                "the same values as is_random=False",
                stacklevel=3,
            )

    @cached_property
    def _indices(self) -> list[int]:
        """The official indices of the architectures in the table, in ascending order."""
        indices: list[int] = self.table.column("index").tolist()
        return indices

    def random(self) -> int:
        """Return the index of a random architecture."""
        return int(self._reader.random.randint(0, len(self) - 1))

    # Results ---------------------------------------------------------------------------------------------------

    def get_more_info(
        self, index: Any, dataset: str, iepoch: int | None = None, hp: str | int = "12", is_random: bool | int = True
    ) -> KnownValues:
        """Return losses, accuracies and times of an architecture's training.

        Args:
            index: an index or string.
            dataset: "cifar10-valid" (half of the training images), "cifar10" (all), "cifar100" or "ImageNet16-120".
            iepoch: an epoch, counted from 0; only imported tables have epochs before the last. Default: the last one.
            hp: the budget: "12" or "200" in the topology space, "01", "12" or "90" in the size space.
            is_random: True for the training with a random seed, False for the mean over the seeds, or a seed. In a
                table without complete trainings, such as the bundled one, True gives the same values as False and a
                seed is an error. In a table that numbers its repeats, True draws a repeat and a seed is an error.

        Returns:
            For each of train, valid, test and valtest: "-loss", "-accuracy" (percent), "-per-time" and "-all-time"
            (mean seconds of one epoch, and seconds of all epochs so far), as far as the table has them. "valtest"
            combines the validation and the test images of CIFAR-100 and ImageNet16-120. The training "cifar10" has no
            "valid". Of epochs before the last, NATS-Bench evaluated only some image sets.

        Raises:
            InvalidInputError: (a ValueError) the architecture, data set, seed or epoch is unknown.
            OutOfDomainError: the table lacks the budget, epoch or seed.
        """
        row, epochs = self._row(index), self._reader.epochs(hp)
        last = self._reader.check_epoch(iepoch, epochs)
        repeat = self._reader.repeat(row, dataset, epochs, is_random)
        found: dict[str, Any] = {}
        for split in self.trainings.sets[dataset]:
            metrics, short = self._reader.metrics(row, dataset, epochs, repeat, split, last), SHORT[split]
            is_evaluated = "loss" in metrics or "accuracy" in metrics
            found |= {f"{short}-{name}": metrics[name] for name in ("loss", "accuracy") if name in metrics}
            if "all_time" in metrics and (is_evaluated or last == epochs - 1):
                seconds = metrics["all_time"]
                found |= {f"{short}-per-time": seconds / (last + 1), f"{short}-all-time": seconds}
        if dataset in _COMMENTS:
            found["comment"] = _COMMENTS[dataset]
        return self._reader.known(found, row, (dataset, epochs))

    def get_cost_info(self, index: Any, dataset: str, hp: str | int = "12") -> KnownValues:
        """Return the costs of an architecture, averaged over its trainings.

        Returns:
            "flops" and "params" in millions; "latency" in seconds, None if unknown; "T-train@epoch" and "T-train@total"
            in seconds, and the same for each image set, such as "T-x-valid@epoch", as far as the table has them.

        Raises the errors of `get_more_info`.
        """
        return self._reader.costs(self._row(index), dataset, self._reader.epochs(hp))

    def get_latency(self, index: Any, dataset: str, hp: str | int = "12") -> float:
        """Return the latency of a batch in seconds; raises OutOfDomainError if the table does not have it."""
        row, epochs = self._row(index), self._reader.epochs(hp)
        self._reader.check_dataset(dataset)
        return known_latency(self._reader, row, dataset, epochs, "mean")

    def get_net_param(self, index: Any, dataset: str, seed: int | None, hp: str | int = "12") -> Any:
        """Raise OutOfDomainError: tables have no weights."""
        raise absent_value_error(self.table, "trained weights")

    def reload(self, archive_root: str | None = None, index: int | None = None) -> None:
        """Raise OutOfDomainError: tables have no weights to reload."""
        raise absent_value_error(self.table, "trained weights")

    def clear_params(self, index: int, hp: str | int | None = None) -> None:
        """Do nothing: there are no weights to remove."""

    def query_meta_info_by_index(self, arch_index: Any, hp: str | int = "12") -> ArchResults:
        """Return all trainings of an architecture at a budget; raises the errors of `get_more_info`."""
        return ArchResults(self._reader, self._row(arch_index), self._reader.epochs(hp))

    def query_by_index(self, arch_index: Any, dataname: str | None = None, hp: str | int = "12") -> Any:
        """Return all trainings of an architecture at a budget; with `dataname`, a dictionary by seed.

        Raises the errors of `get_more_info`, and OutOfDomainError for `dataname` in a table of means or without seeds.
        """
        info = self.query_meta_info_by_index(arch_index, hp)
        return info if dataname is None else info.query(dataname)

    def query_info_str_by_arch(self, arch: Any, hp: str | int = "12") -> str:
        """Return the results of an architecture as several lines; "?" stands for an unknown value."""
        info = self.query_meta_info_by_index(arch, hp)
        return "\n".join(info.lines(f"arch-index={info.arch_index}", self._between))

    def query_by_arch(self, arch: Any, hp: str | int) -> str:
        """Return what `query_info_str_by_arch` returns."""
        return self.query_info_str_by_arch(arch, hp)

    def show(self, index: int = -1) -> None:
        """Print the results of an architecture, or of all if the index is negative.

        For an index that does not exist or that the table lacks, print a sentence that states this.
        """
        try:
            rows = [self._row(index)] if index >= 0 else range(len(self.table))
        except (InvalidInputError, OutOfDomainError) as error:
            print(error)
            return
        if index < 0:
            print(self)
        for row in rows:
            for epochs in self._reader.budgets:
                lines = ArchResults(self._reader, row, epochs).lines(between=self._between)
                print(f"{f' {epochs:03d} epochs ':>^90}", *lines, sep="\n")

    def statistics(self, dataset: str, hp: str | int) -> dict[int, int]:
        """Return the number of architectures by number of trainings; raises OutOfDomainError for a table of means."""
        if self._reader.has_only_means:
            raise means_only_error(self.table)
        self._reader.check_dataset(dataset)
        epochs = self._reader.epochs(hp)
        numbers = [len(self.table.trained_repeats(row, epochs, dataset)) for row in range(len(self.table))]
        return {number: numbers.count(number) for number in sorted(set(numbers))}

    # Searches --------------------------------------------------------------------------------------------------

    @property
    def used_time(self) -> float:
        """The seconds counted by `simulate_train_eval` since the last `reset_time`."""
        return self._used_time

    def reset_time(self) -> None:
        """Set `used_time` to zero."""
        self._used_time = 0.0

    @property
    def avaliable_hps(self) -> list[str]:
        """The budgets in epochs, as strings; the official API spells this name so."""
        return [hp_of(epochs) for epochs in self._reader.budgets]

    def _simulate(
        self, arch: Any, dataset: str, iepoch: int | None, hp: str | int, account_time: bool
    ) -> tuple[float, float | None, float, float]:
        searched = {one["dataset"]: one["validation"] for one in self.trainings.objectives}
        if not isinstance(dataset, str) or dataset not in searched:
            raise unknown_name("data set of a search", dataset, searched)
        info = self.get_more_info(arch, searched[dataset], iepoch, hp, is_random=True)
        if "valid-accuracy" not in info and "valtest-accuracy" in info:  # only the last epoch has both
            last = self.get_more_info(arch, dataset, None, hp, is_random=True)
            accuracy, per_evaluation = info["valtest-accuracy"], last["valid-per-time"]
        else:
            accuracy, per_evaluation = info["valid-accuracy"], info["valid-per-time"]
        seconds = info["train-all-time"] + per_evaluation
        self._used_time += seconds if account_time else 0
        latency = self._reader.latency(self._row(arch), dataset, self._reader.epochs(hp))
        return accuracy, latency, seconds, self._used_time

    def _best(
        self, dataset: str, metric_on_set: str, most_flops: float | None, most_params: float | None, hp: str | int
    ) -> tuple[int, float | None]:
        if not isinstance(dataset, str) or not isinstance(metric_on_set, str):
            raise InvalidInputError(f"a data set and a set must be names, not {dataset!r} and {metric_on_set!r}")
        if dataset == "cifar10" and metric_on_set == "valid":
            dataset = "cifar10-valid"
        split = self._reader.split_of(dataset, _official(dataset, metric_on_set))
        epochs, indices = self._reader.epochs(hp), np.array(self._indices)
        found, metric = self.table.query(indices, epochs, dataset=dataset), f"{split}_accuracy"
        allowed = self._within(found.flops, most_flops) & self._within(found.trainable_parameters, most_params)
        accuracy = (found[metric] if metric in found.names else np.full(len(indices), np.nan))[allowed]
        if (lacking := int(np.isnan(accuracy).sum())) > 0:
            raise OutOfDomainError(
                f"the table {self.table.id} lacks the {split} accuracy on {dataset} at {epochs} epochs for "
                f"{lacking:,} of {len(accuracy):,} architectures, so the best one is unknown: use another set"
            )
        if not len(accuracy):
            return -1, None
        best = int(np.argmax(accuracy))
        return int(indices[allowed][best]), percent(float(accuracy[best]))

    def _within(self, costs: Any, most: float | None) -> Any:
        """Return whether each cost is within a limit in millions."""
        if most is not None and not _is_limit(most):
            raise InvalidInputError(f"a limit on FLOPs or parameters cannot be {most!r}: give millions, or None")
        if most is not None and np.isnan(costs).any():
            raise OutOfDomainError(f"the table {self.table.id} lacks FLOPs for some architectures: remove the limit")
        return np.ones(len(costs), bool) if most is None else costs / 1e6 <= most

    # Helpers ---------------------------------------------------------------------------------------------------

    def _row(self, arch: Any) -> int:
        return self.table.row_of(self._known_index(arch))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.table)}/{len(self)} architectures, file={self.filename})"


def _official(dataset: str, metric_on_set: str) -> str:
    """Return the official name of a set; `find_best` also accepts "valid" and "test"."""
    is_test = dataset in ("cifar10", "cifar10-valid") and metric_on_set == "test"
    return "ori-test" if is_test else _SETS.get(metric_on_set, metric_on_set)


def _is_limit(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and not np.isnan(value)


def _open(given: Any, trainings: Trainings) -> Table:
    """Open the table of an API's first argument; raises InvalidInputError if it belongs to another benchmark."""
    table, of = _table(given, trainings), trainings.benchmark
    if table.benchmark != of:
        raise InvalidInputError(
            f"the table {table.id} belongs to another benchmark: open a table of {of.title}, such as '{of.table}'"
        )
    if not set(trainings.datasets) & set(table.datasets):
        raise InvalidInputError(
            f"the table {table.id} has no trainings on {alternatives(trainings.datasets)}: name its data set when you "
            f"import it, for example with {option('dataset', trainings.datasets[0])}"
        )
    return table


def _table(given: Any, trainings: Trainings) -> Table:
    if isinstance(given, Table):
        return given
    if given is None:
        if trainings.benchmark.table is None:
            raise OutOfDomainError(
                f"there is no bundled table of {trainings.benchmark.title}: give an official archive"
            )
        return load_table(trainings.benchmark.table)
    if isinstance(given, Mapping):
        from nasbench1shot1.trial_files.archives import in_memory

        columns, meta = in_memory(given, "the dictionary", trainings.benchmark)
        return Table.from_columns(columns, {"name": f"{trainings.benchmark.name}-dictionary", **meta})
    if not isinstance(given, str | Path):
        raise InvalidInputError(f"file_path_or_dict cannot be {given!r}: give a path, a table's name, a Table or None")
    from nasbench1shot1.tables.importing import open_official

    return open_official(given, benchmark=trainings.benchmark)


def trainings_named(name: str) -> Trainings:
    """Return the description of a benchmark's trainings."""
    found: Trainings = benchmark(name).load("trainings")
    return found
