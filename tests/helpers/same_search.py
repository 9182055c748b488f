"""Comparison of two searches bit for bit."""

import nasbench1shot1 as nb
from nasbench1shot1.runs.checkpoints import load_checkpoint

SECONDS = ("search_seconds", "simulated_seconds")


def assert_same_search(one: nb.Run, other: nb.Run) -> None:
    """Compare options, every line except times, every Λ and the final weights."""
    assert one.config == other.config
    for line, same in zip(one.lines, other.lines, strict=True):
        assert {**line, **dict.fromkeys(SECONDS)} == {**same, **dict.fromkeys(SECONDS)}
    tensors = [load_checkpoint(run.folder / "checkpoint.pt")["supernet"] for run in (one, other)]
    for values, same in ((one.architecture_parameters, other.architecture_parameters), tensors):
        assert values.keys() == same.keys()
        assert all((values[key] == same[key]).all() for key in values)
