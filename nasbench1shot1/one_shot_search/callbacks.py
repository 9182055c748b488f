"""Functions that a search calls after every epoch, for your own dashboards and messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.runs.machine import cpu_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nasbench1shot1.one_shot_search.loop import Reporter
    from nasbench1shot1.one_shot_search.state import SearchState


@dataclass(frozen=True)
class Epoch:
    """A recorded epoch of a search, as callbacks see it; nothing in it can change the search.

    After each call, the search restores PyTorch's random generators, number of threads, gradient mode, default dtype
    and default device. Other global settings of PyTorch, such as inference mode, are the callback's responsibility.

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
    is_sequence = isinstance(callbacks, Iterable) and not callable(callbacks)
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
        parameters = self._state.method.parameters.items()
        copies = {key: value.detach().cpu().numpy().copy() for key, value in parameters}
        architecture = Architecture.parse(line["architecture"])
        return Epoch(self._folder, MappingProxyType(deepcopy(line)), architecture, MappingProxyType(copies))


@contextmanager
def _isolated() -> Iterator[None]:
    """Restore PyTorch's random generators, threads, gradient mode, default dtype and default device afterwards."""
    import torch

    with torch.random.fork_rng(), cpu_threads(None), torch.set_grad_enabled(torch.is_grad_enabled()):
        before = torch.empty(0)  # has the default dtype and device
        try:
            yield
        finally:
            torch.set_default_dtype(before.dtype)
            if torch.empty(0).device != before.device:
                torch.set_default_device(None if before.is_cpu else before.device)  # None: the CPU, without overhead
