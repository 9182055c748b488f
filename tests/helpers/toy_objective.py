"""An objective without torch for worker processes: a run of a few short steps, which can be resumed.

`toy.json` in the study's folder sets its behaviour: seconds per step, and trials that fail, by "0-0-3 at 1 epochs".
"""

import json
import os
import signal
import time
from pathlib import Path

from nasbench1shot1.ground.errors import DivergedError, UserError
from nasbench1shot1.ground.files import atomic_write, write_json
from nasbench1shot1.runs.folder import as_json_line, read_lines
from nasbench1shot1.runs.lock import locked

COMMAND = "toy_objective:run"
STEPS = 5


def loss_of(configuration, epochs):
    noise = 0.1 * configuration["rate"] / epochs
    return (configuration["rate"] - 0.3) ** 2 + abs(configuration["width"] - 12) / 32 + noise


def write_line(path, line):
    """Append a line in one call, which several processes can do safely."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def run(out=None, resume=None, *, study, name, configuration, epochs):
    folder, study = Path(resume or out), Path(study)
    write_line(study / "pids", os.getpid())
    toy = json.loads((study / "toy.json").read_text())
    folder.mkdir(exist_ok=True)
    with locked(folder):
        write_line(folder / "attempts", name)
        if fail(toy.get(name, toy.get("all")), folder):
            return
        write_json(folder / "config.json", {})
        metrics = folder / "metrics.jsonl"
        done = read_lines(metrics)
        with atomic_write(metrics) as file:  # without the incomplete line of a killed process
            file.write("".join(map(as_json_line, done)).encode())
        for step in range(len(done), STEPS):
            time.sleep(toy.get("seconds", 0.0))
            with metrics.open("a") as file:
                file.write(as_json_line({"step": step, "process": os.getpid()}))
        write_json(folder / "summary.json", {"loss": loss_of(configuration, epochs)})


def fail(how, folder):
    attempt = len((folder / "attempts").read_text().splitlines())
    if how == "raise":
        raise RuntimeError("no images\nand more")
    if how == "refuse":
        raise UserError("CIFAR-10 is not installed")
    if how == "diverge":
        raise DivergedError("the loss diverged")
    if how == "die" or (how == "die once" and attempt == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        raise SystemExit(3)
    if how == "lose the summary":
        write_json(folder / "config.json", {})
        write_json(folder / "summary.json", [])
        return True
    return False
