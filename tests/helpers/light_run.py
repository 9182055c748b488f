"""A run without torch, for tests of jobs: appends random numbers to metrics.jsonl and can be resumed."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.runs.folder import COMMON, METRICS, description, read_lines
from nasbench1shot1.runs.lifecycle import existing_run, new_run
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.writer import RunWriter

COMMAND = "light_run:run"
LINES = 4


@dataclass(frozen=True)
class LightOptions:
    seed: int = 0


class LightRun(RunRecord):
    KIND, COMMAND = "light run", "nothing"
    FIELDS, OPTIONS, FACTS = {"value": float}, LightOptions, {}


class LightWriter(RunWriter[LightRun]):
    pass


def run(out: Any = None, resume: Any = None, **options: Any) -> None:
    """Draw `LINES` numbers from `seed`. Options for a new run: `fail`, `crash`, `stall` after two lines."""
    folder, begin = Path(resume or out), existing_run if resume else new_run
    with begin(folder, LightWriter, LightRun) as writer:
        if resume is None:
            writer.describe(description(LightRun.KIND, {COMMON: options}, {}), {})
        writer.read(len(read_lines(folder / METRICS)))
        note(folder)
        print("drawing")
        for index in range(len(read_lines(folder / METRICS)), LINES):
            drawn = np.random.default_rng((LightRun.open(folder).config["seed"], index)).random()
            writer.append_line({"value": drawn})
            if index == 1 and resume is None:
                misbehave(**options)
        writer.finish({})


def run_with_symbols(out: Path, **options: Any) -> None:
    """Print characters that ASCII lacks, then run."""
    print("16 × 9 – Λ")
    run(out, **options)


def fail_at_once(out: Path, **options: Any) -> None:
    """Raise an error that is not for users."""
    raise ZeroDivisionError("mine")


def die(out: Path) -> None:
    """Kill this process at once."""
    note(out)
    os.abort()


def die_after_each_line(out: Any = None, resume: Any = None, **options: Any) -> None:
    """Kill this process after a line; the next attempt finishes a complete run."""

    def append_and_die(self: LightWriter, line: Any) -> None:
        super(LightWriter, self).append_line(line)
        os.abort()

    LightWriter.append_line = append_and_die  # type: ignore[method-assign]
    run(out, resume, **options)


def die_before_the_picture(out: Any = None, resume: Any = None, **options: Any) -> None:
    """Kill this process after the summary of a new run; a resumed run writes `picture`."""

    def finish(self: LightWriter, summary: Any) -> None:
        super(LightWriter, self).finish(summary)
        if resume is None:
            os.abort()
        (self.folder / "picture").touch()

    LightWriter.finish = finish  # type: ignore[method-assign]
    run(out, resume, **options)


def leave(out: Path) -> None:
    """End this process without an answer."""
    print("leaving", flush=True)
    os._exit(7)


def misbehave(seed: int, fail: str = "", crash: bool = False, stall: bool = False) -> None:
    if fail:
        raise UserError(fail)
    if crash:
        os.abort()
    while stall:
        time.sleep(60)


def note(folder: Path) -> None:
    """Append process and machine to `attempts`."""
    folder.mkdir(exist_ok=True)
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
    patience = time.monotonic() + 300  # otherwise, waiting for a run that failed before would never end
    while len(read_lines(folder / METRICS)) < count:
        assert time.monotonic() < patience, f"{folder} has too few lines: see {folder}.log"
        time.sleep(0.02)
