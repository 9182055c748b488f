"""The proxy study at a tiny scale."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.nasbench_1shot1 import _sizes
from nasbench1shot1.experiments.reproduction.figures.parts import Figure
from nasbench1shot1.proxy_training import ProxyTrainings, train_proxies

TINY: dict[str, Any] = {
    "scale": "quick",
    "architectures": 5,
    "images_per_half": 40,
    "batch_size": 10,
    "batch_norm_momentum": 0.8,
    "epochs": 2,
    "threads": 1,
    "device": "cpu",
}
SIZE = {"cells": 1, "channels": 2}
JOBS = ("cells-3/channels-2/seed-0", "cells-3/channels-4/seed-0")


def tiny_study() -> Figure:
    """Figure 17 with a tiny quick scale."""
    own = {name: TINY[name] for name in TINY if name not in ("epochs", "threads", "device")}
    return replace(FIGURES["figure17"], quick=_sizes((3,), (2, 4), **own))


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the quick scale tiny, also for started processes, which get their options from here."""
    monkeypatch.setitem(FIGURES, "figure17", tiny_study())


def reproduce(out: Path, *arguments: str) -> None:
    """The command line, in this process."""
    cli.main(["reproduce", "figure17", "--scale", "quick", "--epochs", "2", "--out", str(out), *arguments])


def train(out: Path, **options: Any) -> ProxyTrainings:
    return train_proxies(out=out, console=Console(quiet=True), **{**TINY, **SIZE, **options})


def resume(folder: Path) -> ProxyTrainings:
    return train_proxies(resume=folder, console=Console(quiet=True))


def without_seconds(trainings: ProxyTrainings) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "seconds"} for line in trainings.lines]
