"""The progress bar of long commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class ProgressDisplay:
    """Base class of progress displays: a context manager around a bar, which only terminals and notebooks show."""

    def __init__(self, console: "Console", estimates: bool = True) -> None:
        """Create the bar `_bar`, without a task.

        Args:
            console: the console that shows the bar.
            estimates: whether the bar estimates the remaining time from its speed during the last ten minutes, a period
                that averages over an epoch's phases of different speed.
        """
        self._bar = progress_bar(console, estimates)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


@contextmanager
def show_step(console: "Console", description: str) -> Iterator[None]:
    """Show what a command is doing, and for how long, during a step without measurable progress."""
    with progress_bar(console, estimates=False) as bar:
        bar.add_task(description, total=None)
        yield


def progress_bar(console: "Console", estimates: bool = True) -> "Progress":
    """Return a bar that starts with its task's description; arguments as in `ProgressDisplay`."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=14), TimeElapsedColumn())
    left = (TextColumn("left"), TimeRemainingColumn()) if estimates else ()
    is_shown = console.is_terminal
    return Progress(*columns, *left, console=console, transient=True, disable=not is_shown, speed_estimate_period=600)
