"""Drop-in replacement for the package `nats_bench`: the same calls, answered from a table.

    from nasbench1shot1.api import nats_bench          # was: import nats_bench
    from nasbench1shot1.api.nats_bench import create   # was: from nats_bench import create

docs/nasbench201_table.md describes the differences.
"""

from functools import cached_property
from typing import Any

from nasbench1shot1.api.topology import TopologyAPI
from nasbench1shot1.api.trial_api import TrialAPI, trainings_named
from nasbench1shot1.api.trial_results import ArchResults as ArchResults
from nasbench1shot1.api.trial_results import ResultsCount as ResultsCount
from nasbench1shot1.ground.errors import OutOfDomainError as OutOfDomainError
from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.nasbench201.architecture import N_NODES, OPERATIONS
from nasbench1shot1.nats_size.architecture import N_LAYERS, WIDTHS

NATS_BENCH_TSS_NAMEs = ("tss", "topology")
NATS_BENCH_SSS_NAMEs = ("sss", "size")


class NATSAPI(TrialAPI):
    """The calls of both of NATS-Bench's spaces.

    `TrialAPI` describes most calls and the first argument. `fast_mode` and `archive_dir` are stored as attributes
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

    @cached_property
    def evaluated_indexes(self) -> set[int]:
        """The official indices of the architectures in the table."""
        return set(self._indices)

    def reset_archive_dir(self, archive_dir: str | None) -> None:
        """Set the attribute `archive_dir`, which has no other effect."""
        self.archive_dir = archive_dir

    def reset_fast_mode(self, fast_mode: bool) -> None:
        """Set the attribute `fast_mode`, which has no other effect."""
        self.fast_mode = fast_mode

    def simulate_train_eval(
        self, arch: Any, dataset: str, iepoch: int | None = None, hp: str | int = "12", account_time: bool = True
    ) -> tuple[float, float | None, float, float]:
        """Simulate training an architecture and evaluating it once on the validation images.

        Args:
            arch: an index, a string, or an object with `tostr`.
            dataset: "cifar10" (uses the training "cifar10-valid"), "cifar100" or "ImageNet16-120".
            iepoch: an epoch, counted from 0. Default: the last one.
            hp: the budget, such as "12".
            account_time: add the seconds to `used_time`.

        Returns:
            Validation accuracy in percent; latency in seconds, None if unknown; the seconds of this training and
            evaluation; and `used_time`. If the epoch was only evaluated on the validation and test images together,
            the accuracy is the one on these.

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
            hp: the budget, such as "12".
            enforce_all: has no effect; all architectures in the table are always compared.

        Returns:
            Index and accuracy in percent; (-1, None) if no architecture is within the limits.

        Raises:
            InvalidInputError: an unknown data set or set of images.
            OutOfDomainError: the table lacks the accuracy of an architecture within the limits.
        """
        return self._best(dataset, metric_on_set, flop_max, param_max, hp)


class NATStopology(NATSAPI, TopologyAPI):
    """NATS-Bench's topology space, which is the space of NAS-Bench-201."""


class NATSsize(NATSAPI):
    """NATS-Bench's size space."""

    trainings = trainings_named("nats_size")


def create(
    file_path_or_dict: Any,
    search_space: str,
    fast_mode: bool = False,
    verbose: bool = True,
    *,
    seed: int | None = None,
) -> NATSAPI:
    """Open one of NATS-Bench's spaces.

    Args:
        file_path_or_dict: see `TrialAPI`; None opens the bundled table of the space.
        search_space: "tss" or "topology", or "sss" or "size".
        fast_mode: has no effect.
        verbose: print one line about the table.
        seed: see `TrialAPI`.

    Raises InvalidInputError or DamagedFileError if the space is unknown, or the file cannot be read or belongs to the
    other space.
    """
    spaces = {**dict.fromkeys(NATS_BENCH_TSS_NAMEs, NATStopology), **dict.fromkeys(NATS_BENCH_SSS_NAMEs, NATSsize)}
    if not isinstance(search_space, str) or search_space not in spaces:
        raise unknown_name("search space", search_space, spaces)
    return spaces[search_space](file_path_or_dict, fast_mode, verbose, seed=seed)


def search_space_info(main_tag: str, aux_tag: str | None = None) -> dict[str, Any]:
    """Return the choices of a space.

    They are the operations and the number of nodes of ("nats-bench", "tss") and ("nas-bench-201", None), and the widths
    and the number of layers of ("nats-bench", "sss").

    Raises InvalidInputError for any other space.
    """
    if main_tag == "nats-bench" and aux_tag in NATS_BENCH_SSS_NAMEs:
        return {"candidates": list(WIDTHS), "num_layers": N_LAYERS}
    if (main_tag, aux_tag) == ("nas-bench-201", None) or (main_tag == "nats-bench" and aux_tag in NATS_BENCH_TSS_NAMEs):
        return {"op_names": list(OPERATIONS), "num_nodes": N_NODES}
    raise unknown_name(
        "search space", f"{main_tag}, {aux_tag}", ("nats-bench, tss", "nats-bench, sss", "nas-bench-201, None")
    )


def version() -> str:
    """Return the version of the published package that this module replaces."""
    return "v1.8"
