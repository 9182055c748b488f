"""Groups: the runs in one folder that differ only in their seeds."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from nasbench1shot1.ground.notebooks import Displayed
from nasbench1shot1.ground.values import copied_property, independent
from nasbench1shot1.runs.folder import FolderView
from nasbench1shot1.runs.record import RunRecord

R = TypeVar("R", bound=RunRecord)


class RunGroup(FolderView, Sequence[R], Displayed):
    """Base class of groups of runs in one folder: a sequence of the runs that have begun.

    Attributes:
        folder: the folder of the group.
        seeds: the seeds of the runs.
    """

    seeds: tuple[int, ...]
    _options: dict[str, Any]

    @property
    def options(self) -> dict[str, Any]:
        """The options that all runs share, in a new dictionary."""
        return independent(self._options)

    @copied_property
    def runs(self) -> list[R]:
        """The runs that have begun, seed by seed, in a new list.

        Raises DamagedFileError if a config.json is damaged.
        """
        return self._started_runs()

    @abstractmethod
    def _started_runs(self) -> list[R]:
        """Open the runs that have begun."""

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> list[R]: ...
    def __getitem__(self, index: int | slice) -> R | list[R]:
        """Return one of `runs`, or a list of them."""
        return self.runs[index]

    def __len__(self) -> int:
        """Return the number of runs that have begun."""
        return len(self.runs)


def are_seeds(seeds: Any) -> bool:
    """Return whether a JSON value is a list of at least one seed, each of them once."""
    is_list = isinstance(seeds, list) and seeds and all(type(seed) is int and seed >= 0 for seed in seeds)
    return bool(is_list) and len(set(seeds)) == len(seeds)
