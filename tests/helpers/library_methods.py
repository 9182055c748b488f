"""The black-box optimizers that are based on libraries, driven without a table."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.black_box_search.options import black_box_options

BUDGETS = (4, 12, 36, 108)


def make(method: str, space: str = "s1", seed: int = 0, **options: Any) -> BlackBoxOptimizer:
    """The optimizer with its defaults on a space."""
    found = black_box_options({"optimizer": method, "space": space, "evaluations": 1, **options})
    budgets, epochs = ((12, 200), 12) if space == "nb201" else (BUDGETS, 108)
    return found.method(nb.search_space(space), found.own, epochs, budgets, np.random.default_rng(seed))


def asked(method: BlackBoxOptimizer, error_of: Callable[[Query], float], number: int) -> Iterator[tuple[Query, float]]:
    """Alternate ask and tell, and yield the queries with their errors."""
    for _ in range(number):
        query = method.ask()
        assert query is not None
        error = error_of(query)
        method.tell(query, error, 1.0)
        yield query, error
