"""`ArchResults` and `ResultsCount` of the official APIs: all trainings of an architecture, and a single one."""

from typing import Any

from nasbench1shot1.api.topology_api import net_config
from nasbench1shot1.api.topology_values import KnownValues, TopologyReader, absent_value_error, split_of
from nasbench1shot1.nasbench201.trainings import DATASETS, OFFICIAL_SETS


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
        if not self._reader.table.seeds:
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
