"""A run without torch, for tests of jobs: it appends drawn numbers to metrics.jsonl, and goes on where it stopped."""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.errors import UserError
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.runs.folder import CONFIG, METRICS, SUMMARY, FolderWriter, read_lines, read_object

COMMAND = "light_run:run"
LINES = 4


def run(out: Any = None, resume: Any = None, **options: Any) -> None:
    """Draw `LINES` numbers from `seed`. Options for a new run: `fail`, `crash`, `stall` after two lines."""
    folder = Path(resume or out)
    if resume is None:
        FolderWriter.create(folder, options, {})
    writer, seed = FolderWriter(folder), read_object(folder / CONFIG)["seed"]
    with writer.locked():
        note(folder)
        print("drawing")
        for index in range(len(read_lines(folder / METRICS)), LINES):
            writer.append_line({"value": np.random.default_rng((seed, index)).random()})
            if index == 1 and resume is None:
                misbehave(**options)
        (folder / SUMMARY).write_text("{}")


def misbehave(seed: int, fail: str = "", crash: bool = False, stall: bool = False) -> None:
    if fail:
        raise UserError(fail)
    if crash:
        os.abort()
    while stall:
        time.sleep(60)


def note(folder: Path) -> None:
    """Append who runs this, and where, to `attempts`."""
    seen = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")}
    with (folder / "attempts").open("a") as file:
        file.write(json.dumps({"process": os.getpid(), "parent": os.getppid(), **seen}) + "\n")


def attempts(job: Job) -> list[dict[str, Any]]:
    return read_lines(job.folder / "attempts")


def light_job(folder: Path, name: str, **options: Any) -> Job:
    threads, gpu = options.pop("threads", 1), options.pop("gpu", False)
    options = {"seed": 0, **options}
    return Job(name=name, command=COMMAND, folder=folder / name, options=options, threads=threads, gpu=gpu)


def wait_for_lines(folder: Path, count: int) -> None:
    while len(read_lines(folder / METRICS)) < count:
        time.sleep(0.02)
