"""The interface between `reproduce` and a figure, whatever the figure shows: its jobs, and what comes out of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from nasbench1shot1.errors import InvalidInputError, unknown_name
from nasbench1shot1.jobs.folders import is_started
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.runs.folder import METRICS
from nasbench1shot1.runs.options import flag
from nasbench1shot1.runs.record import RunRecord

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from rich.console import Console

    from nasbench1shot1.tables.table import Table

Options = Mapping[str, Any]
Kind = tuple[str, ...]
"""What the cost of a job's units depends on within one figure."""

# Finished runs are scored anew on the table in use. Where they were computed only matters if somebody asks for it.
_FREE = ("table", "device")


@dataclass(frozen=True, kw_only=True)
class FigureJob(Job, ABC):
    """One run that a figure needs; its options are resolved.

    Attributes:
        panel, curve: keys of where its result is drawn; the name of the job is "panel/curve/seed-0".
        NOUNS: what screens call one such job, and several.
        UNIT: what its progress counts; each is a line of metrics.jsonl.
        VERB: how such a folder came about, for errors.
    """

    NOUNS: ClassVar[tuple[str, str]]
    UNIT: ClassVar[str]
    VERB: ClassVar[str]

    panel: str
    curve: str

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units, for example epochs, of the whole job."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What the cost of the job's units depends on."""

    @abstractmethod
    def seconds_per_unit(self) -> float:
        """Time a few steps on this machine; return the seconds that a unit takes. Raises as the job would."""

    @abstractmethod
    def record(self) -> RunRecord:
        """Open the job's folder, which must be started."""

    def recorded_options(self) -> Mapping[str, Any] | None:
        """Return the options that the job's folder records; None before the job has begun."""
        return self.record().config if is_started(self.folder) else None

    @abstractmethod
    def outcome(self) -> str:
        """Return in a few words what came out of the finished job."""

    def units_done(self) -> int:
        """Return the number of units on record; a process that is writing may be one ahead."""
        return min(self._lines(), self.units)

    @classmethod
    def counted(cls, number: int) -> str:
        """Return so many jobs in words: "1 search", "30 searches"."""
        return f"{number} {cls.NOUNS[number != 1]}"

    def _lines(self) -> int:
        try:
            return (self.folder / METRICS).read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0


class FigureResults(Protocol):
    """What the finished jobs of a figure gave, scored on one table."""

    def as_table(self) -> "pandas.DataFrame":
        """Return the drawn values, for the CSV file."""

    def draw(self) -> "Figure":
        """Return the picture."""

    def show(self, console: "Console") -> None:
        """Print the results in short."""


class ReproducedFigure(Protocol):
    """A figure of the paper, or the part of it that is asked for."""

    @property
    def title(self) -> str:
        """Return what the figure compares."""

    def size(self, scale: str) -> str:
        """Return how much work the figure is at a scale, as in "90 × 50 epochs"."""

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> Sequence[FigureJob]:
        """Return the jobs of the figure in the order in which they are started.

        Args:
            scale: "full" or "quick".
            out: the figure's folder.
            given: options for all jobs, which win over the figure's own.
            seeds: seeds of every curve. Default: those of the scale.
            call: `Workers.call`, for what depends on the machine that computes.

        Raises:
            InvalidInputError: an unknown scale or option, a value out of range, or bad seeds.
        """

    def results(self, jobs: Sequence[FigureJob], table: "Table") -> FigureResults | None:
        """Return what the finished jobs gave, scored on a table; None if no job is finished.

        Raises OutOfDomainError if the table lacks an architecture.
        """


def fits(panel: str, curve: str, only: Sequence[str]) -> bool:
    """Return whether a curve is asked for: by its panel, its own key or "panel/curve", each perhaps with `*`."""
    return any(fnmatch(name, pattern) for pattern in only for name in (panel, curve, f"{panel}/{curve}"))


def check_parts(name: str, pairs: Sequence[tuple[str, str]], only: Sequence[str]) -> None:
    """Raise InvalidInputError for a pattern that fits none of a figure's pairs of panel and curve."""
    for pattern in only:
        if not any(fits(panel, curve, [pattern]) for panel, curve in pairs):
            panels, curves = (dict.fromkeys(keys) for keys in zip(*pairs, strict=True))
            raise unknown_name(f"part of {name}", pattern, [*panels, *curves])


def check_seeds(seeds: Sequence[int] | None) -> None:
    """Raise InvalidInputError for seeds that are none or not distinct; None passes."""
    if seeds is not None and (not seeds or len(set(seeds)) < len(seeds)):
        raise InvalidInputError(f"seeds {list(seeds)} are none or one twice: give distinct ones, as 0-5")


def check_recorded(jobs: Sequence[FigureJob], given: Options) -> None:
    """Refuse a folder whose run has other options than the figure's, or has lost some of its lines.

    Raises:
        InvalidInputError: the first difference, and what to do; DamagedFileError for a damaged run.
    """
    for job in jobs:
        if job.is_finished:
            _ = job.record().lines  # damaged or missing ones raise here
        for name, wanted, recorded in _differences(job):
            if name not in _FREE or (name == "device" and name in given):
                raise InvalidInputError(
                    f"{job.folder} was {job.VERB} with {flag(name)} {recorded}, and the figure asks for {wanted}: "
                    "choose another --out, or remove that folder"
                )


def _differences(job: FigureJob) -> Iterator[tuple[str, Any, Any]]:
    recorded = job.recorded_options()
    if recorded is None:
        return
    for name, wanted in job.options.items():
        if recorded.get(name) != wanted:  # an option that is newer than the folder is None there
            yield name, wanted, recorded.get(name)
