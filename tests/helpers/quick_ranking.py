"""Rankings without pictures and time estimates."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from unrendered import save_unrendered

from nasbench1shot1.experiments.correlation import correlating, outcome
from nasbench1shot1.experiments.correlation.planning import Expectation


@contextmanager
def quick_ranking() -> Iterator[None]:
    """Within this context, pictures are empty and no time is measured for the estimate."""
    unmeasured = patch.object(correlating, "expected_seconds", lambda *given: Expectation(0.0, 0.0))
    undrawn = patch.object(outcome, "_figures", lambda *given: dict.fromkeys((outcome.BY_EPOCH, outcome.SCATTER)))
    with unmeasured, undrawn, patch.object(outcome, "save_figure", save_unrendered):
        yield
