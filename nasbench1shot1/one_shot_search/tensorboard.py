"""`search --tensorboard`: event files for TensorBoard in the run's folder, which a callback writes."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import write_error
from nasbench1shot1.one_shot_search.callbacks import Callback, Epoch
from nasbench1shot1.one_shot_search.record import EVENTS, Run, flatten_datasets, open_search

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

GROUPS = ("loss", "error", "regret", "eigenvalue")
"""Last words of the names of written fields; TensorBoard shows the curves of a group together."""


@contextmanager
def tensorboard_callbacks(is_wanted: bool) -> Iterator[list[Callback]]:
    """Yield the callback that writes event files, or nothing; afterwards, the files are closed.

    Raises UserError if TensorBoard is not installed, or if the files cannot be written.
    """
    if not is_wanted:
        yield []
        return
    check_tensorboard()
    events = _Events()
    try:
        yield [events]
    except BaseException:
        with suppress(UserError):  # perhaps the same full disk: the first error counts
            events.close()
        raise
    events.close()


def check_tensorboard() -> None:
    """Raise UserError if TensorBoard is not installed."""
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise UserError("--tensorboard needs TensorBoard: in a checkout, run pip install '.[tensorboard]'") from error


class _Events:
    """Writes the curves of one search after the other, each into its own run's folder."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._writer: SummaryWriter | None = None

    def __call__(self, epoch: Epoch) -> None:
        """Write an epoch. The first call for a run writes all recorded epochs, also those before it was resumed."""
        try:
            if epoch.folder == self._folder:
                self._write(epoch.line)
            else:
                self._begin(epoch.folder)
            assert self._writer is not None
            self._writer.flush()
        except OSError as error:
            raise write_error(epoch.folder / EVENTS, error) from error

    def close(self) -> None:
        """Close the event file; raises UserError if it cannot be written."""
        if self._folder is None or self._writer is None:
            return
        try:
            self._writer.close()
        except OSError as error:
            raise write_error(self._folder / EVENTS, error) from error

    def _begin(self, folder: Path) -> None:
        """Start an event file that replaces earlier files of the run."""
        from torch.utils.tensorboard import SummaryWriter

        self.close()
        for earlier in (folder / EVENTS).glob("events.out.tfevents.*"):
            earlier.unlink()
        events = SummaryWriter(str(folder / EVENTS), purge_step=0)  # a running TensorBoard discards earlier points
        self._folder, self._writer = folder, events
        options = json.dumps(open_search(folder).config, indent=4, ensure_ascii=False)
        self._writer.add_text("options", "    " + options.replace("\n", "\n    "), 0)  # a block of code in Markdown
        for line in Run.read_lines(folder):
            self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._writer is not None
        for name, value in {**line, **flatten_datasets(line["other_datasets"])}.items():
            group = name.rpartition("_")[2]
            if group in GROUPS and value is not None:
                self._writer.add_scalar(f"{group}/{name}", value, line["epoch"])
