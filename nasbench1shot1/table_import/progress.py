"""The progress of an import or a check on the screen."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class ImportBar:
    """A bar for what is being done, and the time that this will still take; a context manager.

    Reading takes most of the time, and its end is known. The bar only moves back and forth in the steps after it,
    whose end is not. Nothing appears on what is not a terminal.
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
        """What is being done, and which fraction of it is done; None where that cannot be said."""
        if doing != self._doing:
            self._bar.start()  # not before, since a download's bar may have the screen until then
            self._doing = doing
            self._bar.update(self._task, visible=False)
            self._task = self._bar.add_task(doing, total=None if fraction is None else 1.0)
        if fraction is not None:
            self._bar.update(self._task, completed=fraction)
