"""The display of many jobs: a bar, and a line for each job that ends."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import line_printer
from nasbench1shot1.jobs.pool import J, Watcher
from nasbench1shot1.runs.opening import open_run

if TYPE_CHECKING:
    from rich.console import Console


class JobsProgress(ProgressDisplay, Watcher[J]):
    """Base class of displays of many jobs. Subclasses add a task to the bar, and move it in `tick`."""

    def __init__(self, jobs: Sequence[J], console: "Console", estimates: bool = True) -> None:
        """Create the bar `_bar`, without a task.

        Args:
            jobs: all jobs; finished ones count as ended.
            console, estimates: as in `ProgressDisplay`.
        """
        super().__init__(console, estimates)
        self._jobs, self._print_line = jobs, line_printer(console)
        self._ended = {job.name for job in jobs if job.is_finished}

    def __enter__(self) -> Self:
        self.tick([])
        return super().__enter__()

    @property
    def count(self) -> str:
        """The number of jobs that have ended, and the number of all jobs, such as "3/12"."""
        return f"{len(self._ended)}/{len(self._jobs)}"

    def finished(self, job: J) -> None:
        """Print the result of a run."""
        self._end(job, open_run(job.folder).result)

    def failed(self, job: J, message: str) -> None:
        """Print why a job failed."""
        self._end(job, f"FAILED: {message}")

    def _end(self, job: J, text: str) -> None:
        self._ended.add(job.name)
        self._print_line(f"{len(self._ended):>3}/{len(self._jobs)}  {job.name}: {text}")
        self.tick([])
