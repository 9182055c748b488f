"""Drop-in replacement for the package `nas_201_api`: the same calls, answered from a table.

    from nasbench1shot1.api.nas_201_api import NASBench201API as API   # was: from nas_201_api import …

docs/nasbench201_table.md describes the differences.
"""

from functools import cached_property
from typing import Any

from nasbench1shot1.api.topology import TopologyAPI
from nasbench1shot1.api.trial_results import ArchResults as ArchResults
from nasbench1shot1.api.trial_results import ResultsCount as ResultsCount


class NASBench201API(TopologyAPI):
    """NAS-Bench-201; `TrialAPI` describes most calls and the first argument."""

    _between = ", "

    def __init__(self, file_path_or_dict: Any = None, verbose: bool = True, *, seed: int | None = None) -> None:
        super().__init__(file_path_or_dict, verbose, seed)

    @cached_property
    def evaluated_indexes(self) -> list[int]:
        """The official indices of the architectures in the table, in ascending order."""
        return list(self._indices)

    def simulate_train_eval(
        self, arch: Any, dataset: str, hp: str | int = "12", account_time: bool = True
    ) -> tuple[float, float | None, float, float]:
        """Simulate a training; same as `NATSAPI.simulate_train_eval` without `iepoch`.

        For every `hp`, the latency comes from the shortest trainings (12 epochs), as in the published package.
        """
        accuracy, _, seconds, used_time = self._simulate(arch, dataset, None, hp, account_time)
        latency = self._reader.latency(self._row(arch), dataset, self._reader.budgets[0])
        return accuracy, latency, seconds, used_time

    def find_best(
        self,
        dataset: str,
        metric_on_set: str,
        FLOP_max: float | None = None,
        Param_max: float | None = None,
        hp: str | int = "12",
    ) -> tuple[int, float | None]:
        """Return the best architecture; same as `NATSAPI.find_best`, with other names for the limits."""
        return self._best(dataset, metric_on_set, FLOP_max, Param_max, hp)
