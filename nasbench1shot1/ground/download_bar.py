"""A download's progress on the screen."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


class DownloadBar:
    """A bar with what pooch calls: `total` (set once, bytes), `update`, `reset`, `close`.

    A context manager, so that the bar also ends where the download fails. Nothing appears on what is not a terminal.
    """

    def __init__(self, title: str, console: Console) -> None:
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn("left"), TimeRemainingColumn())
        self._bar = Progress(
            TextColumn("{task.description}", markup=False), *columns, console=console, disable=not console.is_terminal
        )
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> "DownloadBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def total(self) -> float | None:
        """The file's size in bytes; None where the server did not say it. Setting it starts the bar."""
        return self._bar.tasks[self._task].total

    @total.setter
    def total(self, size: int) -> None:
        self._bar.update(self._task, total=size or None)
        self._bar.start()

    def update(self, size: int) -> None:
        """So many bytes more; pooch gives a whole chunk for the last, shorter one, too."""
        task = self._bar.tasks[self._task]
        done = task.completed + size
        self._bar.update(self._task, completed=done if task.total is None else min(done, task.total))

    def reset(self) -> None:
        """Back to 0 bytes: pooch does this before it says the exact total."""
        self._bar.update(self._task, completed=0)

    def close(self) -> None:
        """Leave the bar as it is and free the screen."""
        self._bar.stop()
