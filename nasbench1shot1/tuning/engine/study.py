"""A study from its beginning, or from where it was stopped, to its end.

The engine does not depend on searches. Workers (`worker.run_worker`) evaluate its proposals with a function `evaluate`
that the caller supplies, and a `Recorder` keeps the observations.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nasbench1shot1.ground.errors import RunStoppedError
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.configurations import require_extra
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.tuning.engine.interfaces import USUAL_TIMING, Recorder, Timing, Tuner, WorkerProcesses

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from nasbench1shot1.tuning.engine.dispatcher import StudyDispatcher
    from nasbench1shot1.tuning.engine.remote import Address


def run_study(
    folder: Path,
    space: "ConfigurationSpace",
    brackets: Brackets,
    recorder: Recorder,
    start_workers: Callable[[], AbstractContextManager[WorkerProcesses]],
    *,
    seed: int,
    tuner: Tuner = "bohb",
    host: str = "localhost",
    port: int = 0,
    timing: Timing = USUAL_TIMING,
) -> None:
    """Run a study until all its trials are observed; a stopped one continues where it was.

    Args:
        folder: the study's folder, which exists and whose lock the caller holds. This function writes
            submissions.jsonl, attempts.jsonl and name_server.json.
        space: the configurations. Its default is the first one to be evaluated.
        brackets: numbers of epochs and of configurations.
        recorder: keeps the observations.
        start_workers: called once the name server answers; the context's workers are ended at the end.
            `local_workers.local_workers` makes such contexts, `local_workers.no_workers` one without workers.
        seed: seed of all proposals.
        tuner: the algorithm that proposes configurations.
        host: name or address of this machine under which workers reach it.
        port: port of the name server. Default: any free port.
        timing: intervals and time limits of the study.

    Raises:
        InvalidInputError: the host is unknown, the port is taken, or a hyperparameter has an unsupported type.
        DamagedFileError: the recorded submissions and observations contradict each other, the space or the brackets.
        UserError: no worker has connected for `wait_for_workers` seconds, an evaluation failed for another reason than
            divergence, its workers died `most_deaths` times without progress, or the first ten trials and all others
            diverged.
        RunStoppedError: Ctrl-C.
    """
    require_extra("hpbandster")
    from nasbench1shot1.tuning.engine.master import StudyMaster, make_proposer
    from nasbench1shot1.tuning.engine.remote import name_server

    proposer = make_proposer(tuner, space, brackets, seed)
    master = StudyMaster(folder, proposer, recorder, brackets.planned, timing)
    if master.is_finished:
        return
    try:
        with (
            name_server(folder, host, port) as address,
            _dispatcher(address, timing, recorder) as dispatcher,
            start_workers() as workers,
        ):
            master.run(dispatcher, workers)
    except KeyboardInterrupt as stop:
        raise RunStoppedError(folder, resume_command("tune", folder)) from stop


@contextmanager
def _dispatcher(address: "Address", timing: Timing, recorder: Recorder) -> "Iterator[StudyDispatcher]":
    from nasbench1shot1.tuning.engine.dispatcher import StudyDispatcher

    dispatcher = StudyDispatcher(address, timing, recorder.steps_done)
    try:
        dispatcher.run()
        yield dispatcher
    finally:
        dispatcher.shutdown()
