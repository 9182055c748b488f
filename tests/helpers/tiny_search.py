"""Searches that take a second, and their state between two epochs."""

from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
import torch
from rich.console import Console
from tiny_size import TINY_SIZE

import nasbench1shot1 as nb
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.one_shot_search import measurements
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch
from nasbench1shot1.optimizers.widths import WidthOptimizer
from nasbench1shot1.registry import BUILT_IN, optimizer
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

TINY: dict[str, Any] = {"scale": "quick", "epochs": 4, **TINY_SIZE, "threads": 1, "device": "cpu"}

SMALL_SPACE = ChoiceBlockSpace("small", "small-v1", n_parents=(1, 1, 2))
"""54 architectures: 3 operations, 1 of 2 inputs, 3 operations, 2 of 3 outputs."""


FOR_CELLS = tuple(name for name in BUILT_IN["optimizers"] if not issubclass(optimizer(name), WidthOptimizer))
"""The built-in one-shot optimizers that search spaces of cells."""

UNLIKE = ("darts", "gdas", "pc-darts", "enas", "darts-pt", "drnas-progressive", "is-darts", "sgas")
"""Methods whose supernets and states differ in kind: sampled, partial, controlled, decided and pruned ones."""

FEW = {"candidates": 3, "candidate_batches": 1, "finalists": 2}
FOR_TINY: dict[str, dict[str, Any]] = {
    "random-ws": FEW,
    "enas": {**FEW, "controller_steps": 2},
    "setn": FEW,
    "pc-darts": {"channels": 4},
    "lambda-darts": {"cells": 2},
    "darts-pt": {"selection_epochs": 1, "epochs": 2},
    "is-darts": {"shrink_steps": 1, "shrink_interval": 1, "epochs": 2},
    "oles": {"window": 2},
    "sgas": {"decision_start": 1, "batch_increase": 0, "epochs": 2},
    "drnas-progressive": {"channels": 4, "warm_start_epochs": 0, "epochs": 2},
    "spos": {**FEW, "generations": 2, "population": 4, "crossovers": 1, "mutations": 1},
}
"""Options with which a tiny search with a method is short, or possible at all."""

_read_once = cache(load_images)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tiny_state(**options: Any) -> SearchState:
    """State of a TINY search before epoch 0, with Λ spread out; initially Λ is almost uniform."""
    with patch("nasbench1shot1.one_shot_search.beginning.load_images", _read_once):
        state = begin(search_options({**TINY, **options}))
    with torch.no_grad():
        for value in state.method.parameters.values():
            value.normal_(0, 1, generator=generator(11))
    return state


def tiny_batch(n: int = 6, seed: int = 0, side: int = 8, dtype: torch.dtype = torch.float64) -> Batch:
    """Random images with labels."""
    drawn = generator(seed)
    images = torch.randn(n, 3, side, side, generator=drawn, dtype=dtype).contiguous(memory_format=torch.channels_last)
    return Batch(images, torch.randint(10, (n,), generator=drawn))


def measure_eigenvalues_roughly(patch: pytest.MonkeyPatch) -> None:
    """Take two power iterations for an eigenvalue of the Hessian; the usual 50 take longer than a tiny search."""
    patch.setattr(measurements.dominant_eigenvalue, "__defaults__", (2,))


def search(out: Any, **options: Any) -> nb.Run:
    """Run a complete TINY search silently."""
    return nb.search(out=out, console=Console(quiet=True), **{**TINY, **options})
