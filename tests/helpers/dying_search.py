"""Searches whose process is killed at a chosen point, for tests of jobs."""

import os
import signal
from typing import Any

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search import loop


def after_config(**options: Any) -> nb.Run:
    """Run `nb.search` and die after writing config.json."""
    loop.evaluate = _die
    return nb.search(**options)


def after_checkpoint(**options: Any) -> nb.Run:
    """Run `nb.search` and die after writing the first checkpoint; die at once when it is resumed."""
    if options.get("resume"):
        _die()
    return nb.search(callbacks=[_die], **options)


def _die(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
