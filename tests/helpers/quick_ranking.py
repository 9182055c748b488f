"""Rankings without pictures and time estimates, and one of a tiny search."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from tiny_search import search
from unrendered import save_unrendered

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation import correlating, outcome
from nasbench1shot1.experiments.correlation.expectation import Expectation


@contextmanager
def quick_ranking() -> Iterator[None]:
    """Within this context, pictures are empty and no time is measured for the estimate."""
    unmeasured = patch.object(correlating, "expected_seconds", lambda *given: Expectation(0.0, 0.0))
    undrawn = patch.object(outcome, "_figures", lambda *given: dict.fromkeys((outcome.BY_EPOCH, outcome.SCATTER)))
    with unmeasured, undrawn, patch.object(outcome, "save_figure", save_unrendered):
        yield


def tiny_ranking(run: Path, **options: Any) -> "nb.Ranking":
    """Search for two epochs into a folder, and rank twelve architectures after both, into its folder "ranking"."""
    found = search(run, epochs=2, keep_weights_every=1)
    usual = {"architectures": 12, "images": 40, "resamples": 5, "threads": 1, "device": "cpu", "epochs": "1,2"}
    with quick_ranking():
        return nb.correlate(found, console=Console(quiet=True), **{**usual, **options})
