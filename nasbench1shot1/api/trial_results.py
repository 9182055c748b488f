"""The results of trainings in the classes of the official APIs: `ResultsCount` and `ArchResults`."""

from typing import Any

from nasbench1shot1.api.trial_reader import (
    SHORT,
    KnownValues,
    MissingValueError,
    TrialReader,
    absent_value_error,
    known_latency,
    net_config,
)
from nasbench1shot1.trial_files.description import SPLITS


class ResultsCount:
    """A training with one seed. Only tables that record seeds have such trainings, such as imported official files.

    Attributes:
        name: the data set.
        seed: the random seed as official files write it, such as "0777".
        epochs: the budget.
        params, flop: millions of parameters and FLOPs.
        eval_names: the official names of the image sets.
    """

    def __init__(self, reader: TrialReader, row: int, training: tuple[str, int, int]) -> None:
        self.name, self.epochs, seed = training
        self.seed = f"{seed:04d}"
        self._reader, self._row = reader, row
        self._repeat = reader.repeat(row, self.name, self.epochs, seed)
        costs = reader.costs(row, self.name, self.epochs)
        self.params, self.flop = costs.get("params"), costs.get("flops")
        self.eval_names = [official for official in reader.of.sets[self.name].values() if official != "train"]

    def get_total_epoch(self) -> int:
        """Return the number of epochs."""
        return self.epochs

    def get_eval_set(self) -> list[str]:
        """Return the official names of the image sets."""
        return self.eval_names

    def get_train(self, iepoch: int | None = None) -> KnownValues:
        """Return iepoch, loss, accuracy (percent), cur_time and all_time (seconds) on the training images.

        `iepoch` is an epoch, counted from 0; None means the last. Raises the errors of `ArchResults.get_metrics`.
        """
        return self._metrics("train", iepoch)

    def get_eval(self, name: str, iepoch: int | None = None) -> KnownValues:
        """Return the same values as `get_train`, for an image set: "x-valid", "x-test" or "ori-test"."""
        return self._metrics(self._reader.split_of(self.name, name), iepoch)

    def get_times(self) -> KnownValues:
        """Return the seconds of one epoch and of all ("T-train@epoch", "T-train@total", "T-x-valid@epoch", …)."""
        times = self._reader.times(self._row, self.name, self.epochs, self._repeat)
        return self._reader.known(times, self._row, (self.name, self.epochs))

    def get_latency(self) -> float:
        """Return the latency in seconds; raises OutOfDomainError if the table does not have it."""
        return known_latency(self._reader, self._row, self.name, self.epochs, self._repeat)

    def get_net_param(self, clone: bool = False) -> Any:
        """Raise OutOfDomainError: tables have no weights."""
        raise absent_value_error(self._reader.table, "trained weights")

    def get_config(self, str2structure: Any = None) -> dict[str, Any]:
        """Return the configuration of the network, as the API's `get_net_config` does.

        Args:
            str2structure: function from the string of the cell to the value of "genotype".
        """
        config = net_config(self._reader.of, self._reader.table.hashes(self._row)[0], self.name)
        if str2structure is not None:
            config["genotype"] = str2structure(config.pop("arch_str" if "arch_str" in config else "genotype"))
        return config

    def __repr__(self) -> str:
        arch = self._reader.table.hashes(self._row)[0]
        return f"ResultsCount({self.name}, arch={arch}, seed={self.seed}, epochs={self.epochs})"

    def _metrics(self, split: str, iepoch: int | None) -> KnownValues:
        last = self._reader.check_epoch(iepoch, self.epochs)
        return self._reader.metrics(self._row, self.name, self.epochs, self._repeat, split, last)


class ArchResults:
    """All trainings of an architecture at one budget.

    Attributes:
        arch_index: the official index.
        arch_str: the official string.
    """

    def __init__(self, reader: TrialReader, row: int, epochs: int) -> None:
        self._reader, self._row, self._epochs = reader, row, epochs
        self.arch_index = int(reader.table.column("index")[row])
        self.arch_str = reader.table.hashes(row)[0]

    @property
    def dataset_seed(self) -> dict[str, list[int]]:
        """The seeds of the trainings on each data set; raises OutOfDomainError if the table does not have them."""
        return {dataset: self.get_dataset_seeds(dataset) for dataset in self.get_dataset_names()}

    @property
    def all_results(self) -> dict[tuple[str, int], ResultsCount]:
        """The single trainings by data set and seed; raises OutOfDomainError if the table does not have them."""
        return {(name, seed): one for name in self.get_dataset_names() for seed, one in self.query(name).items()}

    def get_dataset_names(self) -> list[str]:
        """Return the data sets on which the architecture was trained."""
        if self._reader.has_only_means:
            return list(self._reader.datasets)
        trained_repeats = self._reader.table.trained_repeats
        return [name for name in self._reader.datasets if trained_repeats(self._row, self._epochs, name)]

    def get_dataset_seeds(self, dataset: str) -> list[int]:
        """Return the seeds of the trainings on a data set; raises OutOfDomainError if the table does not have them."""
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
            iepoch: an epoch, counted from 0. Default: the last one.
            is_random: False for the mean over the seeds, True for one of them, or a seed.

        Raises:
            OutOfDomainError: the epoch is an earlier one and the table has no learning curves, or a seed is given for
                a table of means or without seeds; also raised when a missing value is read from the result.
            InvalidInputError: a name or the seed is unknown.
        """
        last = self._reader.check_epoch(iepoch, self._epochs)
        split = self._reader.split_of(dataset, setname)
        repeat = self._reader.repeat(self._row, dataset, self._epochs, is_random)
        return self._reader.metrics(self._row, dataset, self._epochs, repeat, split, last)

    def get_latency(self, dataset: str) -> float:
        """Return the mean latency in seconds; raises OutOfDomainError if the table does not have it."""
        self._reader.check_dataset(dataset)
        return known_latency(self._reader, self._row, dataset, self._epochs, "mean")

    def get_net_param(self, dataset: str, seed: int | None = None) -> Any:
        """Raise OutOfDomainError: tables have no weights."""
        raise absent_value_error(self._reader.table, "trained weights")

    def query(self, dataset: str, seed: int | None = None) -> Any:
        """Return the training with a seed, or by default a dictionary of all trainings by seed.

        Raises OutOfDomainError, which is also a KeyError, if the table has only means, no seeds, or lacks the seed.
        """
        seeds = self._reader.seeds(self._row, dataset, self._epochs)
        if seed is None:
            return {one: ResultsCount(self._reader, self._row, (dataset, self._epochs, one)) for one in seeds}
        if seed not in seeds:
            name = self._reader.name(self._row, dataset, self._epochs)
            raise MissingValueError(
                f"the table {self._reader.table.id} does not have {name} with the seed {seed!r}: give one of the seeds "
                f"{seeds}"
            )
        return ResultsCount(self._reader, self._row, (dataset, self._epochs, int(seed)))

    def arch_idx_str(self) -> str:
        """Return the official index with six digits."""
        return f"{self.arch_index:06d}"

    def lines(self, extra: str | None = None, between: str = " & ") -> list[str]:
        """Return the lines that `show` prints, with `between` after each loss; "?" stands for an unknown value."""
        names = self.get_dataset_names()
        found = [self.arch_str, f"datasets : {names}, extra-info : {extra}"]
        for name in names:
            costs = self.get_compute_costs(name)
            flops = f"{costs['flops']:6.2f}" if "flops" in costs else "?"
            params = f"{costs['params']:.3f}" if "params" in costs else "?"
            latency = None if costs["latency"] is None else f"{1000 * costs['latency']:.2f}"
            found.append(f"{name:14s} FLOP={flops} M, Params={params} MB, latency={latency} ms.")
            hidden = self._reader.of.unprinted.get(name, ())
            shown = [split for split in SPLITS[:3] if split in self._reader.of.sets[name] and split not in hidden]
            sets = (
                f"{SHORT[split]:{5 if shown == ['train', 'test'] else 4}s} : "
                f"[{_loss_and_accuracy(self.get_metrics(name, self._reader.of.sets[name][split]), between)}]"
                for split in shown
            )
            found.append(f"{name:14s} {', '.join(sets)}")
        return found

    def __repr__(self) -> str:
        return f"ArchResults(arch-index={self.arch_index}, arch={self.arch_str}, epochs={self._epochs})"


def _loss_and_accuracy(metrics: KnownValues, between: str) -> str:
    loss, accuracy = (metrics.get(name) for name in ("loss", "accuracy"))
    losses = f"loss = {'?' if loss is None else f'{loss:.3f}'}"
    return f"{losses}{between}top1 = {'?' if accuracy is None else f'{accuracy:.2f}%'}"
