"""A worker: joins a study, evaluates the trials that it is given, and reports their outcomes."""

from collections.abc import Callable
from pathlib import Path

from nasbench1shot1.tuning.trial import Outcome, Trial

Evaluate = Callable[[Trial, Callable[[], bool]], Outcome]
"""Evaluates a trial. The second argument must be polled several times a second: once it returns True, nobody wants the
outcome, and the evaluation must end soon, with `TrialStoppedError` or otherwise. A trial that diverged is an outcome
without loss. `TrialInterruptedError` asks for another attempt. Any other exception ends the study."""

PATIENCE = 600.0  # seconds


def run_worker(
    folder: Path, evaluate: Evaluate, *, name: str | None = None, host: str | None = None, patience: float = PATIENCE
) -> None:
    """Evaluate trials of a study until the study has a summary.json.

    A worker whose master is gone stops its evaluation, waits for a new master, and joins it.

    Args:
        folder: the study's folder, which need not have a master yet.
        evaluate: evaluates a trial in the process of the worker, in a thread of its own.
        name: a name for the worker, unique among the study's workers on this machine. Default: the process id.
        host: name or address under which the master reaches this machine. Default: the address of the network
            interface that leads to the master.
        patience: seconds to wait for a master.

    Raises:
        UserError: no master has answered for `patience` seconds.
    """
    raise NotImplementedError
