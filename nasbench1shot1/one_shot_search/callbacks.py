"""Functions that a search calls after every epoch: your own, and the one that writes event files for TensorBoard."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option
from nasbench1shot1.ground.files import write_error
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.one_shot_search.record import EVENT_FILES, EVENTS, Run, flatten_datasets, open_search
from nasbench1shot1.runs.machine import computing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch.utils.tensorboard import SummaryWriter

    from nasbench1shot1.one_shot_search.loop import Reporter
    from nasbench1shot1.one_shot_search.state import SearchState


@dataclass(frozen=True)
class Epoch:
    """A recorded epoch of a search, as callbacks see it; nothing in it can change the search.

    After each call, the search restores PyTorch's random generators, number of threads, TF32 settings, gradient mode,
    default dtype and default device. Other global settings of PyTorch, such as inference mode, are the callback's
    responsibility.

    Attributes:
        folder: the run's folder; metrics.jsonl already has the epoch.
        line: the recorded fields of the epoch, such as `epoch`, `train_loss`, `one_shot_validation_error` and
            `test_regret` (docs/run_folder.md); errors and regrets are fractions.
        architecture: the preferred architecture.
        architecture_parameters: copies of raw Λ for every key of the space's `mixing_shapes()`.
    """

    folder: Path
    line: Mapping[str, Any]
    architecture: Architecture
    architecture_parameters: Mapping[str, "NDArray[np.float32]"]


Callback = Callable[[Epoch], object]


def check_callbacks(callbacks: Sequence[Callback]) -> None:
    """Raise InvalidInputError unless the callbacks are a sequence of functions."""
    is_sequence = isinstance(callbacks, Sequence) and not callable(callbacks)  # a generator could be read only once
    if not is_sequence or not all(map(callable, callbacks)):
        raise InvalidInputError("callbacks must be a list of functions: give callbacks=[function]")


class CallbackReporter:
    """Passes reports to another reporter, and calls the callbacks after every recorded epoch (`loop.Reporter`)."""

    def __init__(self, inner: "Reporter", state: "SearchState", folder: Path, callbacks: Sequence[Callback]) -> None:
        self._inner, self._state, self._folder, self._callbacks = inner, state, folder, callbacks

    def step(self, epoch: int, loss: float | None) -> None:
        """Report a training step."""
        self._inner.step(epoch, loss)

    def epoch_done(self, line: dict[str, Any]) -> None:
        """Report an epoch, then call the callbacks in their order."""
        self._inner.epoch_done(line)
        for call in self._callbacks:
            with _isolated():
                call(self._epoch(line))

    def _epoch(self, line: dict[str, Any]) -> Epoch:
        copies = {key: value.copy() for key, value in self._state.recorded_parameters.items()}
        architecture = Architecture.parse(line["architecture"])
        return Epoch(self._folder, MappingProxyType(deepcopy(line)), architecture, MappingProxyType(copies))


@contextmanager
def _isolated() -> Iterator[None]:
    """Restore the settings of PyTorch that `Epoch` lists afterwards."""
    import torch

    with torch.random.fork_rng(), computing(None):
        yield


# Event files for TensorBoard -----------------------------------------------------------------------------------------


GROUPS = ("loss", "error", "regret", "eigenvalue")
"""Last words of the names of written fields; TensorBoard shows the curves of a group together."""


@contextmanager
def tensorboard_callbacks(is_wanted: bool) -> Iterator[list["_Events"]]:
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
    require_package("tensorboard", option("tensorboard"), extra="tensorboard")


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

    def complete(self, folder: Path) -> None:
        """Write all epochs of a finished search, unless this process wrote its last ones; raises the same errors.

        A process that is killed after it recorded the last epoch has not written it, and nothing is left to search.
        """
        if folder == self._folder:
            return
        try:
            self._begin(folder)
        except OSError as error:
            raise write_error(folder / EVENTS, error) from error

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
        for earlier in (folder / EVENTS).glob(EVENT_FILES):
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
