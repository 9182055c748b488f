"""Groups: the runs in one folder that differ only in their seeds."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

from nasbench1shot1.ground.notebooks import Displayed
from nasbench1shot1.runs.folder import FolderView
from nasbench1shot1.runs.record import RunRecord

R = TypeVar("R", bound=RunRecord)


class RunGroup(FolderView, Sequence[R], Displayed):
    """Base class of groups of runs in one folder: a sequence of the runs that have begun.

    Attributes:
        folder: the folder of the group.
        seeds: the seeds of the runs.
        options: the options that all runs share.
    """

    seeds: tuple[int, ...]
    options: dict[str, Any]

    @cached_property
    def runs(self) -> list[R]:
        """The runs that have begun, seed by seed; raises DamagedFileError if a config.json is damaged."""
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
