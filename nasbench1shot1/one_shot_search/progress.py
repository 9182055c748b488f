"""The progress of a search on the screen: a bar with loss, regret and remaining time, and a row for every epoch."""

import time
from typing import Any

from rich.console import Console

from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import percent, row_printer

HEADING = "epoch   train loss   one-shot error   test regret   validation regret    time"
ROW = "{epoch:>5}{loss:>13}{error:>17}{test:>14}{valid:>20}{seconds:>6} s"  # fits 80 columns


class SearchProgress(ProgressDisplay):
    """Reports a search on a console; a context manager. Without a terminal, it only prints a row per epoch."""

    def __init__(self, epochs: int, steps_per_epoch: int, first_epoch: int, console: Console) -> None:
        self._print_line = row_printer(console, HEADING)
        super().__init__(console)
        done = max(first_epoch - 1, 0) * steps_per_epoch
        first = f"epoch {min(first_epoch, epochs)}/{epochs}" + (
            "  measuring the untrained supernet" if first_epoch == 0 else ""
        )
        self._task = self._bar.add_task(first, total=epochs * steps_per_epoch, completed=done)
        self._epochs, self._steps, self._regret = epochs, steps_per_epoch, "–"
        self._step, self._training_share, self._began, self._trained = 0, 1.0, time.monotonic(), 0.0

    def step(self, epoch: int, loss: float | None) -> None:
        """Advance the bar by a step; after an epoch's last step, only the evaluation remains."""
        self._step += 1
        trains = self._step < self._steps
        if loss is not None or self._step in (1, self._steps):
            now = "evaluating" if not trains else "training" if loss is None else f"loss {loss:.3f}"
            self._bar.update(self._task, description=f"epoch {epoch}/{self._epochs}  {now}  test regret {self._regret}")
        if not trains:
            self._trained = time.monotonic()
        self._bar.advance(self._task, self._training_share)

    def epoch_done(self, line: dict[str, Any]) -> None:
        """Print an epoch's row, and measure the share of an epoch's time that training takes."""
        now = time.monotonic()
        if self._step:
            self._training_share = (self._trained - self._began) / max(now - self._began, 1e-9)
        self._began, self._step = now, 0
        self._bar.update(self._task, completed=line["epoch"] * self._steps)
        self._regret = percent(line["test_regret"])
        loss = line["train_loss"]
        self._print_line(
            ROW.format(
                epoch=line["epoch"],
                loss="–" if loss is None else f"{loss:.3f}",
                error=percent(line["one_shot_validation_error"], 1),
                test=self._regret,
                valid=percent(line["validation_regret"]),
                seconds=f"{line['search_seconds']:.0f}",
            )
        )
