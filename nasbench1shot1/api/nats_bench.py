"""Drop-in replacement for the package `nats_bench` (topology space): the same calls, answered from a table.

    from nasbench1shot1.api import nats_bench          # was: import nats_bench
    from nasbench1shot1.api.nats_bench import create   # was: from nats_bench import create

docs/nasbench201_table.md describes the differences.
"""

from typing import Any

from nasbench1shot1.api.topology_api import TopologyAPI
from nasbench1shot1.api.topology_results import ArchResults as ArchResults
from nasbench1shot1.api.topology_results import ResultsCount as ResultsCount
from nasbench1shot1.ground.errors import OutOfDomainError, unknown_name
from nasbench1shot1.nasbench201.architecture import N_NODES, OPERATIONS

NATS_BENCH_TSS_NAMEs = ("tss", "topology")
NATS_BENCH_SSS_NAMEs = ("sss", "size")


class NATStopology(TopologyAPI):
    """NATS-Bench's topology space, which is the space of NAS-Bench-201.

    `TopologyAPI` describes most calls and the first argument. `fast_mode` and `archive_dir` are stored as attributes
    and have no other effect: opening a table never reads the whole file.
    """

    def __init__(
        self,
        file_path_or_dict: Any = None,
        fast_mode: bool = False,
        verbose: bool = True,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(file_path_or_dict, verbose, seed)
        self.reset_fast_mode(fast_mode)
        self.reset_archive_dir(None)

    def reset_archive_dir(self, archive_dir: str | None) -> None:
        """Set the attribute `archive_dir`, which has no other effect."""
        self.archive_dir = archive_dir

    def reset_fast_mode(self, fast_mode: bool) -> None:
        """Set the attribute `fast_mode`, which has no other effect."""
        self.fast_mode = fast_mode

    def simulate_train_eval(
        self, arch: Any, dataset: str, iepoch: int | None = None, hp: str | int = "12", account_time: bool = True
    ) -> tuple[float, None, float, float]:
        """Simulate training an architecture and evaluating it once on the validation images.

        Args:
            arch: an index, a string, or an object with `tostr`.
            dataset: "cifar10" (uses the training "cifar10-valid"), "cifar100" or "ImageNet16-120".
            iepoch: None or the last epoch.
            hp: the budget, "12" or "200".
            account_time: add the seconds to `used_time`.

        Returns:
            Validation accuracy in percent; latency, which is None (unknown); the seconds of this training and
            evaluation; and `used_time`.

        Raises the errors of `get_more_info`, and OutOfDomainError if the table lacks the accuracy or a time.
        """
        return self._simulate(arch, dataset, iepoch, hp, account_time)

    def find_best(
        self,
        dataset: str,
        metric_on_set: str,
        flop_max: float | None = None,
        param_max: float | None = None,
        hp: str | int = "12",
        enforce_all: bool | None = None,
    ) -> tuple[int, float | None]:
        """Return the architecture with the highest mean accuracy within limits on FLOPs and parameters.

        Args:
            dataset: "cifar10", "cifar100", "ImageNet16-120", or the training "cifar10-valid".
            metric_on_set: "valid", "test" or "train", or an official name such as "x-valid".
            flop_max, param_max: the highest numbers of FLOPs and parameters, in millions. Default: no limit.
            hp: the budget, "12" or "200".
            enforce_all: has no effect; all architectures in the table are always compared.

        Returns:
            Index and accuracy in percent; (-1, None) if no architecture is within the limits.

        Raises:
            InvalidInputError: an unknown data set or set of images.
            OutOfDomainError: the table lacks the accuracy of an architecture within the limits.
        """
        return self._best(dataset, metric_on_set, flop_max, param_max, hp)


def create(
    file_path_or_dict: Any,
    search_space: str,
    fast_mode: bool = False,
    verbose: bool = True,
    *,
    seed: int | None = None,
) -> NATStopology:
    """Open NATS-Bench's topology space.

    Args:
        file_path_or_dict: see `TopologyAPI`; None opens the bundled table.
        search_space: "tss" or "topology".
        fast_mode: has no effect.
        verbose: print one line about the table.
        seed: see `TopologyAPI`.

    Raises:
        OutOfDomainError: `search_space` is the size space, for which this package has no table.
        InvalidInputError, DamagedFileError: the space is unknown, or the file cannot be read.
    """
    if not isinstance(search_space, str):
        raise unknown_name("search space", search_space, NATS_BENCH_TSS_NAMEs)
    if search_space in NATS_BENCH_SSS_NAMEs:
        raise OutOfDomainError("this package has no table of NATS-Bench's size space: use the package nats_bench")
    if search_space not in NATS_BENCH_TSS_NAMEs:
        raise unknown_name("search space", search_space, NATS_BENCH_TSS_NAMEs)
    return NATStopology(file_path_or_dict, fast_mode, verbose, seed=seed)


def search_space_info(main_tag: str, aux_tag: str | None = None) -> dict[str, Any]:
    """Return the operations and the number of nodes of ("nats-bench", "tss") or ("nas-bench-201", None).

    Raises InvalidInputError for any other space, including the size space.
    """
    if (main_tag, aux_tag) == ("nas-bench-201", None) or (main_tag == "nats-bench" and aux_tag in NATS_BENCH_TSS_NAMEs):
        return {"op_names": list(OPERATIONS), "num_nodes": N_NODES}
    raise unknown_name("search space", f"{main_tag}, {aux_tag}", ("nats-bench, tss", "nas-bench-201, None"))


def version() -> str:
    """Return the version of the published package that this module replaces."""
    return "v1.8"
