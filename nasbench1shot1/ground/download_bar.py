"""A progress bar for downloads."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


class DownloadBar:
    """A progress bar with pooch's interface: `total` (in bytes), `update`, `reset` and `close`.

    It is a context manager, so that the bar also ends if the download fails. Without a terminal, nothing is shown.
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
        """The file's size in bytes; None if the server did not state it. Setting it starts the bar."""
        return self._bar.tasks[self._task].total

    @total.setter
    def total(self, size: int) -> None:
        self._bar.update(self._task, total=size or None)
        self._bar.start()

    def update(self, size: int) -> None:
        """Advance the bar by a number of bytes; pooch also reports a whole chunk for the last, shorter one."""
        task = self._bar.tasks[self._task]
        done = task.completed + size
        self._bar.update(self._task, completed=done if task.total is None else min(done, task.total))

    def reset(self) -> None:
        """Reset the bar to 0 bytes; pooch does this before it reports the exact total."""
        self._bar.update(self._task, completed=0)

    def close(self) -> None:
        """Stop the bar and release the screen."""
        self._bar.stop()
