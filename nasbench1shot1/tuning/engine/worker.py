"""A worker: it joins a study, evaluates the trials that it is given, and reports their outcomes.

`python -m nasbench1shot1.tuning.engine.worker WORKER-AS-JSON` is the process of a local worker, which ends with its
parent. `StudyWorker` fixes these faults of hpbandster's `core/worker.py`:

- A worker whose master was gone waited forever. Here it looks at the name server regularly, and leaves.
- A result that could not be delivered was lost, with an exception in an unmonitored thread. Here it is sent
  again until it is acknowledged or the master is gone.
- The start of a computation was not acknowledged. Here it is, and a busy worker reports that it is busy.
- A computation could not be stopped. Here the evaluation polls whether its outcome is still wanted.
- Two workers with one name, or a name that was removed by mistake, went unnoticed: a worker restores its own entry.
"""

import json
import logging
import os
import secrets
import socket
import sys
import threading
import time
import traceback
import uuid
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from hpbandster.core.worker import Worker

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import reason
from nasbench1shot1.jobs.process import end_with_parent, one_line_error
from nasbench1shot1.runs.folder import SUMMARY
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.tuning.engine.interfaces import (
    USUAL_PACE,
    Evaluate,
    Outcome,
    Pace,
    PrintLine,
    Trial,
    TrialInterruptedError,
    print_nothing,
)
from nasbench1shot1.tuning.engine.remote import (
    Address,
    NameServerClient,
    UnansweredError,
    answer,
    call,
    expose,
    read_address,
)

PATIENCE = 600.0  # seconds


def run_worker(
    folder: Path,
    evaluate: Evaluate,
    *,
    name: str | None = None,
    host: str | None = None,
    patience: float = PATIENCE,
    pace: Pace = USUAL_PACE,
    print_line: PrintLine = print_nothing,
) -> None:
    """Evaluate trials of a study until the study has a summary.json.

    A worker whose master is gone stops its evaluation, waits for a new master, and joins it.

    Args:
        folder: the study's folder, which need not have a master yet.
        evaluate: evaluates a trial in the process of the worker, in a thread of its own.
        name: a name for the worker, unique among the study's workers on this machine. Default: the process id and a
            random suffix, because containers may share their host's name and process ids.
        host: name or address under which the master reaches this machine. Default: the address of the network
            interface that leads to the master.
        patience: seconds to wait for a master.
        pace: intervals and time limits.
        print_line: prints a line about each event.

    Raises:
        InvalidInputError: the folder does not exist, or `host` is not this machine.
        UserError: no master has answered for `patience` seconds, or only the master's own machine can reach the
            master's address.
    """
    if not folder.is_dir():
        raise InvalidInputError(f"'{folder}' is not a study: give a study's folder")
    full_name = f"{socket.gethostname()}.{name or f'{os.getpid()}-{secrets.token_hex(2)}'}"
    deadline = time.monotonic() + patience
    print_line(f"waiting for nb1shot1 tune to run the study {folder}")
    while not (folder / SUMMARY).exists():
        if _serve(folder, evaluate, full_name, host, pace, print_line):
            deadline = time.monotonic() + patience
            print_line("nb1shot1 tune has ended or cannot be reached")
        elif time.monotonic() > deadline:
            raise UserError(
                f"nb1shot1 tune has not answered for {patience:g} s: continue the study with "
                f"{resume_command('tune', folder)}"
            )
        time.sleep(min(pace.look_every, 0.5))
    print_line("the study is finished")


def _serve(folder: Path, evaluate: Evaluate, name: str, host: str | None, pace: Pace, print_line: PrintLine) -> bool:
    """Work for the study's present master, if there is one, to its end; return whether there was one.

    Raises the errors of `run_worker`.
    """
    if (address := read_address(folder)) is None:
        return False
    if address.is_out_of_reach:
        raise UserError(
            f"the study runs on {address.machine} with --host {address.host}, which other machines cannot reach: stop "
            f"it there, and continue it with {resume_command('tune', folder, '--host ADDRESS')}"
        )
    if (own_host := host or local_address(address.host, address.port)) is None:
        return False
    try:
        StudyWorker(address, evaluate, name, own_host, pace, print_line).serve()
    except UnansweredError:  # the file of a master that was killed
        return False
    except OSError as error:
        raise InvalidInputError(f"the worker cannot listen on '{own_host}' ({reason(error)}): check --host") from error
    return True


class StudyWorker(Worker):  # type: ignore[misc]
    """A worker in one session of a study; it is `busy` from the start of an evaluation until its result is delivered.

    Args:
        address: the session's name server.
        evaluate: evaluates a trial.
        name: the worker's name, unique among the workers of the study.
        host: name or address under which the master reaches this machine.
        pace: intervals and time limits.
        print_line: prints a line about each event.
    """

    busy: bool

    def __init__(
        self,
        address: Address,
        evaluate: Evaluate,
        name: str,
        host: str,
        pace: Pace,
        print_line: PrintLine = print_nothing,
    ) -> None:
        super().__init__(address.run_id, address.host, address.port, logging.getLogger(__name__), host)
        self.worker_id = f"hpbandster.run_{self.run_id}.worker.{name}"
        self.names = NameServerClient(address.host, address.port, pace.answers_within)
        self._evaluate, self._pace, self._print_line = evaluate, pace, print_line
        self._where = f"{address.host}:{address.port}"
        self._trial: Trial | None = None
        self._unwanted, self._leaving = threading.Event(), threading.Event()
        self._has_joined = False

    def serve(self) -> None:
        """Evaluate trials until the master is gone or sends the worker away; the last evaluation has then ended.

        Raises: UnansweredError: the master did not answer.
        """
        import Pyro4

        self.names.list(self.worker_id)  # before a port is opened
        daemon = Pyro4.Daemon(host=self.host)
        uri = str(daemon.register(self, f"worker.{uuid.uuid4().hex}"))
        threading.Thread(target=answer, args=(daemon,), daemon=True).start()
        try:
            self._stay(uri)
        finally:
            self._leave()
            daemon.shutdown()

    def _stay(self, uri: str) -> None:
        missed = 0
        while missed < self._pace.missed_looks:
            try:
                self._look(uri)
                missed = 0
            except UnansweredError as error:
                missed = self._pace.missed_looks if error.is_gone else missed + 1
            if self._leaving.wait(self._pace.look_every):
                return

    def _look(self, uri: str) -> None:
        """Check that the master is running and knows this worker; register if it does not.

        Raises:
            UnansweredError: the name server does not answer, or the one that answers is not this session's. The port of
                a master that was killed may be used by another one.
        """
        dispatchers = self.names.list(f"hpbandster.run_{self.run_id}.dispatcher")
        if not dispatchers:
            raise UnansweredError("the session has no dispatcher", is_gone=self._has_joined)
        self._has_joined = True
        if self.names.list(self.worker_id).get(self.worker_id) == uri:
            return
        self.names.register(self.worker_id, uri)
        self._print_line(f"joined the study at {self._where}")
        for found in dispatchers.values():
            call(found, self._pace.answers_within, "trigger_discover_worker")

    def _leave(self) -> None:
        """Stop the evaluation, and wait for its end."""
        with self.thread_cond:
            self._leaving.set()
            self._unwanted.set()
            self.thread_cond.wait_for(lambda: not self.busy)

    # What the dispatcher calls

    @expose
    def start_computation(self, callback: Any, id: Any, *args: Any, **kwargs: Any) -> bool:
        """Start to evaluate a trial; False if the worker is busy or leaves.

        Args:
            callback: name of the dispatcher.
            id: the configuration.
            args: the trial as JSON.
        """
        with self.thread_cond:
            # the last result may have been acknowledged a moment ago
            self.thread_cond.wait_for(lambda: not self.busy, self._pace.ends_within)
            if self.busy or self._leaving.is_set():
                return False
            self.busy, self._trial, self._unwanted = True, Trial.from_json(args[0]), threading.Event()
        threading.Thread(target=self._work, args=(callback, id, self._trial, self._unwanted), daemon=True).start()
        return True

    @expose
    def current(self) -> list[Any] | None:
        """Return configuration, epochs and attempt of the current trial; None if the worker is idle."""
        with self.thread_cond:
            return None if self._trial is None else _identity(self._trial)

    @expose
    def cancel(self, configuration_id: str, epochs: int, attempt: int) -> None:
        """Stop the evaluation of a trial that is evaluated elsewhere."""
        with self.thread_cond:
            if self._trial is not None and _identity(self._trial) == [configuration_id, epochs, attempt]:
                self._unwanted.set()

    @expose
    def shutdown(self) -> None:
        """Leave the session."""
        self._leaving.set()

    # The evaluation, in a thread of its own

    def _work(self, dispatcher: str, id: Any, trial: Trial, unwanted: threading.Event) -> None:
        try:
            result = self.compute(id, trial, unwanted)
            self._deliver(dispatcher, id, result, unwanted)
        finally:
            with self.thread_cond:
                self.busy, self._trial = False, None
                self.thread_cond.notify_all()

    def compute(self, config_id: Any, trial: Trial, unwanted: threading.Event) -> dict[str, Any]:
        """Evaluate a trial and return the result as the dispatcher wants it."""
        result = {"worker": self.worker_id, "epochs": trial.epochs, "attempt": trial.attempt}
        try:
            self._print_line(f"{trial.name}: started")
            outcome: Outcome = self._evaluate(trial, unwanted.is_set)
            self._print_line(f"{trial.name}: {'diverged' if outcome.loss is None else f'loss {outcome.loss:.4f}'}")
            return {**result, "outcome": outcome.as_json()}
        except TrialInterruptedError as error:
            return {**result, "interrupted": one_line_error(error)}
        except UserError as error:
            return {**result, "exception": error.for_command_line}
        except BaseException as error:  # an exit would also end this thread, and leave the worker busy forever
            if not unwanted.is_set():
                traceback.print_exc()
            return {**result, "exception": one_line_error(error)}

    def _deliver(self, dispatcher: str, id: Any, result: dict[str, Any], unwanted: threading.Event) -> None:
        """Report a result until it is acknowledged, or unwanted."""
        while not unwanted.is_set():
            try:
                uri = self.names.list(dispatcher)[dispatcher]
                call(uri, self._pace.answers_within, "register_result", id, result)
                return
            except (UnansweredError, KeyError):
                unwanted.wait(self._pace.look_every)


def _identity(trial: Trial) -> list[Any]:
    described = trial.as_json()
    return [described["configuration_id"], described["epochs"], described["attempt"]]


def local_address(towards: str, port: int) -> str | None:
    """Return the address of the network interface of this machine that leads to another one; None if none does."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # connecting sends nothing
            probe.connect((towards, port))
            return str(probe.getsockname()[0])
    except OSError:
        return None


def main(arguments: list[str]) -> None:
    """Run the worker; after a UserError, the last line of standard error is its sentence, and the exit code is 2."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    worker = json.loads(arguments[0])
    folder = Path(worker["folder"])
    module, _, function = worker["evaluation"].partition(":")
    try:
        evaluate = getattr(import_module(module), function)(folder)
        run_worker(
            folder, evaluate, name=worker["name"], pace=Pace(**worker["pace"]), print_line=partial(print, flush=True)
        )
    except UserError as error:
        print(f"nb1shot1: {error.for_command_line}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
