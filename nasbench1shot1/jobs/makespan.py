"""How long jobs take together."""

import heapq
from collections.abc import Sequence


def makespan(seconds: Sequence[float], workers: int) -> float:
    """Return the seconds until the last job ends if jobs start in order, each as soon as a worker is free."""
    ends = [0.0] * workers
    for length in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)
