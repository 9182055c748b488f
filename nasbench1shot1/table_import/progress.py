"""A progress bar for imports and checks."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class ImportBar:
    """A context manager that shows the current work with a bar and the remaining time.

    Reading takes most of the time, and its duration is known. In later steps of unknown duration, the bar moves back
    and forth. Without a terminal, nothing is shown.
    """

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)
        self._doing = ""

    def __enter__(self) -> "ImportBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, doing: str, fraction: float | None) -> None:
        """Show a description of the current work and the fraction done; None if the fraction is unknown."""
        if doing != self._doing:
            self._bar.start()  # not earlier, because the bar of a download may still be shown
            self._doing = doing
            self._bar.update(self._task, visible=False)
            self._task = self._bar.add_task(doing, total=None if fraction is None else 1.0)
        if fraction is not None:
            self._bar.update(self._task, completed=fraction)
