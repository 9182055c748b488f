"""Tiny searches for the optimizer suite, complete or killed, and the comparison of two runs."""

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.one_shot_search.searching import search
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.runs import writer
from nasbench1shot1.runs.checkpoints import load_checkpoint
from nasbench1shot1.runs.folder import CHECKPOINT, SUMMARY, WEIGHTS
from nasbench1shot1.runs.next_command import modules_of
from nasbench1shot1.runs.writer import DIGESTS

TINY = {
    "scale": "quick",
    "epochs": 2,
    "channels": 2,
    "cells": 2,
    "batch_size": 6,
    "keep_weights_every": 1,
    "threads": 1,
    "device": "cpu",
}
IMAGES_PER_HALF = 10  # a batch of 6 and a shorter one
PRELOADED = [__name__, "pytest", "torch._dynamo", "pandas", "rich.console"]
"""Modules that the fork server imports in advance for the processes that get killed."""

SECONDS = ("search_seconds", "simulated_seconds")


class Kill(NamedTuple):
    """The moment at which a search kills its own process with SIGKILL, without any clean-up.

    Attributes:
        moment: "training": after the first weight step of the epoch; "choosing": after the epoch's architecture is
            chosen; "recording": after its line and Λ are written, but before its checkpoint is.
        epoch: number of the epoch.
    """

    moment: str
    epoch: int


def random_images(folder: Path) -> Path:
    """Return the path of an .npz file with the images of a tiny search, in ten classes; write it if it is missing.

    Each image consists of four squares of random colours. Even an untrained network distinguishes such images, but not
    images of noise.
    """
    path, rng, number = folder / "random_images.npz", np.random.default_rng(0), 2 * IMAGES_PER_HALF
    if not path.exists():
        images = rng.integers(0, 256, (number, 2, 2, 3), np.uint8).repeat(16, axis=1).repeat(16, axis=2)
        np.savez(path, images=images, labels=np.arange(number) % 10)
    return path


def tiny_state(options: Mapping[str, Any]) -> SearchState:
    """Return the state of a search before its first epoch; `TINY` has the defaults of the options."""
    return begin(search_options({**TINY, **options}))


def tiny_search(out: Path, options: Mapping[str, Any]) -> Run:
    """Run a complete search; `TINY` has the defaults of the options."""
    return search(out=out, console=_quiet_console(), **{**TINY, **options})


def cached_search(folder: Path, options: Mapping[str, Any]) -> Run:
    """Run a tiny search in `folder`, or open it if it has already run there with the same options."""
    name = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:16]
    return open_search(folder / name) if (folder / name / SUMMARY).exists() else tiny_search(folder / name, options)


def resume_search(folder: Path) -> Run:
    """Resume the run in a folder and return it."""
    return search(resume=folder, allow_module=modules_of(folder), console=_quiet_console())


def killed_search(out: Path, options: Mapping[str, Any], kill: Kill) -> None:
    """Search in a separate process, or resume the run in `out` if it exists, until the process kills itself.

    Raises AssertionError if the process ends in any other way.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_search_and_die, args=(out, dict(options), kill))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL, f"the search ended with {process.exitcode} before {kill}"


def _search_and_die(out: Path, options: Mapping[str, Any], kill: Kill) -> None:
    _arm(kill)
    if out.exists():
        resume_search(out)
    else:
        tiny_search(out, options)


def _arm(kill: Kill) -> None:
    """Make this process, which only runs this search, kill itself at the given moment."""
    module, before = {
        "training": (loop, "weight_step"),
        "choosing": (loop, "one_shot_error"),
        "recording": (writer, "save_checkpoint"),
    }[kill.moment]
    real, calls = getattr(module, before), 0

    def run_or_kill(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += _is_due(kill, *arguments)
        if calls == (2 if kill.moment == "training" else 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    setattr(module, before, run_or_kill)


def _is_due(kill: Kill, first: Any, *others: Any) -> bool:
    """Return whether a call of the armed function belongs to the kill's epoch; the state has the epoch before it."""
    if kill.moment == "recording":
        path, content = first, others[0]
        return bool(path.name == CHECKPOINT and content["epoch"] == kill.epoch)
    return bool(first.epoch + 1 == kill.epoch)


def differences(a: Run, b: Run) -> list[str]:
    """Return the differences between two runs in lines, Λ, checkpoints and saved weights; times are ignored."""
    kept = [sorted(path.name for path in (run.folder / WEIGHTS).glob("*")) for run in (a, b)]
    ours, theirs = (flatten(load_checkpoint(run.folder / CHECKPOINT)) for run in (a, b))
    found = [f"line {i}" for i, pair in enumerate(zip(_lines(a), _lines(b), strict=False)) if pair[0] != pair[1]]
    found += [] if len(a.lines) == len(b.lines) else ["the number of lines"]
    found += [] if kept[0] == kept[1] else ["the weights kept"]
    lambdas = (a.architecture_parameters, b.architecture_parameters)
    found += [f"Λ {key}" for key in _unequal(*lambdas)]
    return found + [f"checkpoint {key}" for key in _unequal(ours, theirs)]


def _lines(run: Run) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key not in SECONDS} for line in run.lines]


def _unequal(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    one_side = set(ours) ^ set(theirs)
    return sorted(one_side | {key for key in set(ours) & set(theirs) if not are_identical(ours[key], theirs[key])})


def are_identical(a: Any, b: Any) -> bool:
    """Return whether two values, nested as in a `state_dict`, are equal bit for bit."""
    ours, theirs = flatten(a), flatten(b)
    return ours.keys() == theirs.keys() and all(_equal(ours[key], theirs[key]) for key in ours)


def flatten(content: Any, path: str = "") -> dict[str, Any]:
    """Return all values in nested mappings and sequences by their path, except times."""
    if isinstance(content, Mapping):
        items: Any = ((key, value) for key, value in content.items() if key not in (*SECONDS, DIGESTS))
    elif isinstance(content, list | tuple):
        items = enumerate(content)
    else:
        return {path: content}
    return {name: leaf for key, value in items for name, leaf in flatten(value, f"{path}/{key}").items()}


def _equal(a: Any, b: Any) -> bool:
    import torch

    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else type(a) is type(b) and bool(a == b)


def _quiet_console() -> Any:
    from rich.console import Console

    return Console(quiet=True)
