"""A search's progress on the screen: a bar with losses, regret and time left, and a line for every epoch."""

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class SearchProgress:
    """Reports a search on a console; a context manager. On what is no terminal, only the epochs' lines appear."""

    def __init__(self, title: str, epochs: int, steps_per_epoch: int, first_epoch: int, console: Console) -> None:
        self._console, self._title = console, title
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("steps"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        done = max(first_epoch - 1, 0) * steps_per_epoch
        self._task: TaskID = self._bar.add_task(title, total=epochs * steps_per_epoch, completed=done)
        self._epochs, self._regret = epochs, "–"

    def __enter__(self) -> "SearchProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, epoch: int, loss: float | None) -> None:
        """Move the bar by a step."""
        if loss is not None:
            text = f"{self._title}  epoch {epoch}/{self._epochs}  loss {loss:.3f}  test regret {self._regret}"
            self._bar.update(self._task, description=text)
        self._bar.advance(self._task)

    def epoch_done(self, line: dict[str, Any]) -> None:
        """Print an epoch's line."""
        regret = line["test_regret"]
        self._regret = _percent(regret, 2).strip()
        self._console.print(
            f"epoch {line['epoch']:>{len(str(self._epochs))}}/{self._epochs}"
            f"  loss {_number(line['train_loss'], '.3f')}"
            f"  one-shot error {_percent(line['one_shot_valid_error'], 1)}"
            f"  regret: test {_percent(regret, 2)}, valid. {_percent(line['valid_regret'], 2)}"
            f"  {line['search_seconds']:.0f} s",
            highlight=False,
            soft_wrap=True,
        )


def _number(value: float | None, form: str) -> str:
    return "–".rjust(5) if value is None else format(value, form)


def _percent(value: float | None, digits: int) -> str:
    return "–".rjust(7) if value is None else f"{100 * value:5.{digits}f} %"
