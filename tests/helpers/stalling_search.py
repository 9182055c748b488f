"""A search that stalls once epoch 1 is recorded, unless it is resumed: a test can kill it there for certain."""

import time
from typing import Any

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search import loop

COMMAND = "stalling_search:search"
"""What a job calls."""


def search(out: Any = None, resume: Any = None, **options: Any) -> nb.Run:
    """`nb.search`, for a process of its own."""
    if resume is None:
        loop.record_epoch = record_and_stall
    return nb.search(out=out, resume=resume, **options)


def record_and_stall(state, writer, line, real=loop.record_epoch):
    real(state, writer, line)
    if line["epoch"] == 1:
        time.sleep(3600)
