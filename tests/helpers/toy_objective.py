"""An objective without torch for worker processes: a few short steps, resumable from a file.

`toy.json` in the study's folder sets its behaviour: seconds per step, and trials that fail, by "0-0-3 at 1 epochs".
"""

import json
import math
import os
import signal
import time

from nasbench1shot1.ground.files import write_json
from nasbench1shot1.proposers.configurations import format_id
from nasbench1shot1.tuning.engine.interfaces import Outcome, TrialInterruptedError, TrialStoppedError

STEPS = 5


def loss_of(configuration, epochs):
    noise = 0.1 * configuration["rate"] / epochs
    return (configuration["rate"] - 0.3) ** 2 + abs(configuration["width"] - 12) / 32 + noise


def write_line(path, line):
    """Append a line in one call, which several processes can do safely."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def evaluator(folder):
    write_line(folder / "pids", os.getpid())
    toy = json.loads((folder / "toy.json").read_text())

    def evaluate(trial, is_stopped):
        write_line(folder / "starts", f"{trial.name} attempt {trial.attempt}")
        fail(toy.get(trial.name, toy.get("all")), folder, trial)
        path = folder / "runs" / f"{format_id(trial.configuration_id)}-{trial.epochs}.json"
        done = json.loads(path.read_text()) if path.exists() else 0
        for step in range(done, STEPS):
            if is_stopped():
                raise TrialStoppedError
            time.sleep(toy.get("seconds", 0.01))
            write_json(path, step + 1)
            write_line(folder / "steps", f"{trial.name} step {step}")
        return Outcome(loss_of(trial.configuration, trial.epochs), None, {"test_loss": 0.5})

    return evaluate


def fail(how, folder, trial):
    if how == "raise":
        raise RuntimeError("no images\nand more")
    if how == "nan":
        Outcome(math.nan)
    if how == "exit":
        raise SystemExit(3)
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "interrupt":
        raise TrialInterruptedError("out of memory")
    if how == "interrupt once" and trial.attempt == 1:
        raise TrialInterruptedError("out of memory")
    if how == "hang once" and trial.attempt == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
