"""Rankings that fail or stop on the way, and what lies around them changes: nothing is lost, nothing is mixed."""

import numpy as np
import pytest
from rich.console import Console
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation import correlating, evaluation

RANKING = {"architectures": 12, "images": 40, "resamples": 5, "threads": 1, "device": "cpu", "budgets": 108}


def correlate(run, out=None, **options):
    return nb.correlate(run, out=out, console=Console(quiet=True), **{**RANKING, **options})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return search(tmp_path_factory.mktemp("search") / "run", epochs=2, keep_weights_every=1)


def fail_at(monkeypatch, call, error):
    """Evaluate chunks of 5, and fail at one of them."""
    monkeypatch.setattr(evaluation, "CHUNK", 5)
    monkeypatch.setattr(correlating, "_expected_seconds", lambda state, left: 0.0)
    real, calls = evaluation.scores_of, []

    def scores_of(*given):
        calls.append(0)
        if len(calls) == call:
            raise error
        return real(*given)

    monkeypatch.setattr(evaluation, "scores_of", scores_of)
    return calls


def test_a_ranking_that_fails_in_its_first_epoch_keeps_the_chunks_before(run, tmp_path, monkeypatch):
    calls = fail_at(monkeypatch, 3, nb.UserError("the disk is full"))
    with pytest.raises(nb.UserError, match="the disk is full"):
        correlate(run, tmp_path / "ranking", epochs=1)
    assert len(calls) == 3
    correlate(run, tmp_path / "ranking", epochs=1)
    assert len(calls) == 4  # the last of three chunks, again
    whole = correlate(run, tmp_path / "whole", epochs=1)
    for name in ("epoch-001.npz", "correlations.csv"):
        assert (tmp_path / "ranking" / name).read_bytes() == (whole.folder / name).read_bytes()
