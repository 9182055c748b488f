"""The interface between `reproduce` and any kind of figure: the figure's jobs and their results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.files import read_bytes
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import Job, is_started
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
"""Identifies jobs of one figure whose units take equally long."""

BLACK_BOX_OPTIONS = frozenset({"space", "seconds", "repeats"})
"""Options of `reproduce` that apply only to figures of black-box optimizers."""


@dataclass(frozen=True, kw_only=True)
class FigureJob(Job, ABC):
    """One run that a figure needs; its options are resolved.

    Attributes:
        panel, curve: keys of the panel and the curve that show the result; the name of the job is "panel/curve/seed-0".
        stage: jobs start once all jobs of earlier stages have ended.
        NOUNS: the singular and the plural noun for such jobs on screens.
        UNIT: the noun for a unit of progress; each unit is a line of metrics.jsonl.
        VERB: the participle for such a folder in error messages: "was searched with".
        FREE: options that may differ from a recorded run. Searches are scored again on the table in use, and their
            device only matters if it is given.
    """

    NOUNS: ClassVar[tuple[str, str]]
    UNIT: ClassVar[str]
    VERB: ClassVar[str]
    FREE: ClassVar[tuple[str, ...]] = ("table", "device")

    panel: str
    curve: str
    stage: int = 0

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units, for example epochs, of the whole job."""

    @property
    def extent(self) -> str:
        """Return the work of the whole job in words: "50 epochs"."""
        return counted(self.units, self.UNIT)

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Key of jobs whose units take equally long."""

    @abstractmethod
    def seconds_per_unit(self) -> float:
        """Time a few steps on this machine and return the seconds per unit; raises the errors that the job would."""

    def check_data(self) -> None:
        """Raise UserError, on the machine that will run the job, if its images are missing or too few."""
        from nasbench1shot1.images.image_set import load_images

        load_images(self.options["images"])

    @abstractmethod
    def record(self) -> RunRecord:
        """Open the job's folder; the job must have begun."""

    def recorded_options(self) -> Mapping[str, Any] | None:
        """Return the options that the job's folder records; None before the job has begun."""
        return self.record().config if is_started(self.folder) else None

    @abstractmethod
    def outcome(self) -> str:
        """Return the result of the finished job in a few words."""

    def units_done(self) -> int:
        """Return the number of recorded units; a running process may be one unit ahead."""
        return min(self._lines(), self.units)

    def _lines(self) -> int:
        try:
            return read_bytes(self.folder / METRICS).count(b"\n")
        except FileNotFoundError:
            return 0


def job_fields(panel: str, curve: str, out: Path, options: Options) -> dict[str, Any]:
    """Return the fields of a job with resolved options; its folder is a subfolder of the figure's folder `out`."""
    name = f"{panel}/{curve}/seed-{options['seed']}"
    return {
        "name": name,
        "folder": out / name,
        "options": options,
        "threads": options.get("threads", 1),
        "gpu": options.get("device", "cpu").startswith("cuda"),
        "panel": panel,
        "curve": curve,
    }


def nouns(jobs: Sequence[FigureJob]) -> tuple[str, str]:
    """Return the singular and the plural noun for jobs: "run", "runs" if they are of several kinds."""
    kinds = {job.NOUNS for job in jobs}
    return kinds.pop() if len(kinds) == 1 else ("run", "runs")


def counted_jobs(jobs: Sequence[FigureJob], number: int | None = None) -> str:
    """Return a number of jobs in words, such as "30 searches". Default: the number of the given jobs."""
    number = len(jobs) if number is None else number
    return f"{number} {nouns(jobs)[number != 1]}"


class FigureResults(Protocol):
    """The results of the finished jobs of a figure, scored on one table."""

    def as_table(self) -> "pandas.DataFrame":
        """Return the plotted values, for the CSV file."""

    def further_tables(self) -> "Mapping[str, pandas.DataFrame]":
        """Return the contents of further CSV files by the suffix of their names. Default: none."""
        return {}

    def draw(self) -> "Figure":
        """Return the picture."""

    def show(self, console: "Console") -> None:
        """Print a summary of the results."""


class ReproducedFigure(Protocol):
    """A figure of a paper, or a selected part of it.

    Attributes:
        INAPPLICABLE: options of `reproduce` that do not apply to the figure.
        DEVICE: the default device of the jobs.
    """

    INAPPLICABLE: ClassVar[frozenset[str]] = BLACK_BOX_OPTIONS
    DEVICE: ClassVar[str] = "auto"

    @property
    def title(self) -> str:
        """Return what the figure compares."""

    def size(self, scale: str) -> str:
        """Return the amount of work at a scale, such as "90 × 50 epochs"."""

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> Sequence[FigureJob]:
        """Return the jobs of the figure in the order in which they start.

        Args:
            scale: "full" or "quick".
            out: the figure's folder.
            given: options of all jobs, which override the figure's own options.
            seeds: seeds of every curve. Default: the seeds of the scale.
            call: `Workers.call`, which runs a function on the machine of the workers.

        Raises:
            InvalidInputError: an unknown scale or option, a value out of range, or bad seeds.
        """

    def table(self, jobs: Sequence[FigureJob], given: Options) -> "Table":
        """Return the table that scores the jobs. Default: the given table, or else the table in use."""
        from nasbench1shot1.tables.table import load_table

        return load_table(given.get("table"))

    def results(self, jobs: Sequence[FigureJob], table: "Table") -> FigureResults | None:
        """Return the results of the finished jobs, scored on a table; None if no job is finished.

        Raises OutOfDomainError if the table lacks an architecture.
        """


def is_selected(panel: str, curve: str, only: Sequence[str]) -> bool:
    """Return whether a curve is selected: by its panel, its key or "panel/curve", each with optional `*` wildcards."""
    return any(fnmatch(name, pattern) for pattern in only for name in (panel, curve, f"{panel}/{curve}"))


def check_parts(name: str, pairs: Sequence[tuple[str, str]], only: Sequence[str]) -> None:
    """Raise InvalidInputError for a pattern that matches none of a figure's pairs of panel and curve."""
    for pattern in only:
        if not any(is_selected(panel, curve, [pattern]) for panel, curve in pairs):
            panels, curves = (dict.fromkeys(keys) for keys in zip(*pairs, strict=True))
            raise unknown_name(f"part of {name}", pattern, [*panels, *curves])


def check_seeds(seeds: Sequence[int] | None) -> None:
    """Raise InvalidInputError if seeds are empty or not distinct; None is valid."""
    if seeds is not None and (not seeds or len(set(seeds)) < len(seeds)):
        raise InvalidInputError(f"seeds {list(seeds)} are empty or not distinct: give distinct seeds, such as 0-5")


def check_recorded(jobs: Sequence[FigureJob], given: Options) -> None:
    """Check that existing run folders have the figure's options and are not damaged.

    Raises:
        InvalidInputError: an option of a recorded run differs from the figure's.
        DamagedFileError: the record of a finished run is damaged or incomplete.
    """
    for job in jobs:
        if job.is_finished:
            _ = job.record().lines  # raises for damaged or missing lines
        for name, wanted, recorded in _differences(job):
            if name not in job.FREE or (name == "device" and name in given):
                raise InvalidInputError(
                    f"{job.folder} was {job.VERB} with {flag(name)} {recorded}, but the figure needs {wanted}: "
                    "choose another --out, or remove that folder"
                )


def _differences(job: FigureJob) -> Iterator[tuple[str, Any, Any]]:
    recorded = job.recorded_options()
    if recorded is None:
        return
    for name, wanted in job.options.items():
        if recorded.get(name) != wanted:
            yield name, wanted, recorded.get(name)
