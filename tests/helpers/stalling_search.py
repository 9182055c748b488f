"""A search that stalls after recording epoch 1 unless resumed, so that a test can kill it there."""

import os
import time
from pathlib import Path
from typing import Any

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search import loop

COMMAND = "stalling_search:search"
"""What a job calls."""


def search(out: Any = None, resume: Any = None, **options: Any) -> nb.Run:
    """Run `nb.search` in a separate process."""
    with Path(out or resume).with_suffix(".parents").open("a") as file:
        file.write(f"{os.getppid()}\n")
    if resume is None:
        loop.record_epoch = record_and_stall
    return nb.search(out=out, resume=resume, **options)


def record_and_stall(state, writer, line, parameters, real=loop.record_epoch):
    real(state, writer, line, parameters)
    if line["epoch"] == 1:
        time.sleep(3600)


def parents(folder: Path) -> list[int]:
    """Process identifiers of all attempts at the search."""
    return [int(line) for line in folder.with_suffix(".parents").read_text().split()]
