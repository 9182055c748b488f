"""A worker: joins a study, evaluates the trials that it is given, and reports their outcomes."""

import os
import secrets
import socket
import time
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import reason
from nasbench1shot1.proposers.configurations import require_extra
from nasbench1shot1.runs.folder import SUMMARY
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.tuning.engine.interfaces import USUAL_PACE, Evaluate, Pace, PrintLine, print_nothing

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
    require_extra("hpbandster")
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

    Raises as `run_worker` does.
    """
    from nasbench1shot1.tuning.engine.remote import UnansweredError, read_address
    from nasbench1shot1.tuning.engine.study_worker import StudyWorker, local_address

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
