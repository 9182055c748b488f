"""Local search: train all neighbours of an architecture, move to the best, and restart at local optima.

Source: White et al., Exploring the Loss Landscape in Neural Architecture Search (UAI 2021, arXiv:2005.02960), section
3; Den Ottelander et al., Local Search is a Remarkably Strong Baseline for Neural Architecture Search (2021).
"""

from dataclasses import dataclass
from typing import Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.hyperparameters import Hyperparameters


@dataclass(frozen=True, kw_only=True)
class LocalSearchHyperparameters(Hyperparameters):
    """The options of local search."""

    first_improvement: bool = False
    """Move to the first better neighbour instead of training all neighbours and moving to the best one."""


class LocalSearch(BlackBoxOptimizer):
    """Hill climbing with random restarts; no architecture is trained twice between two restarts.

    The search starts from a random architecture and trains its neighbours in random order. If the best neighbour has a
    lower validation error than the current architecture, it becomes the current architecture. Otherwise, the search
    restarts from another random architecture. With `first_improvement`, the search moves to the first better neighbour.

    With bounds, neighbours outside them are left out, and random architectures outside them are drawn again.
    """

    Hyperparameters = LocalSearchHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.current: tuple[float, Architecture] | None = None
        self._seen: set[Architecture] = set()
        self._waiting: list[Architecture] = []
        self._running = 0
        self._found: tuple[float, Architecture] | None = None

    def _begin(self) -> None:
        """Start from a random architecture."""
        start = self.first_allowed(lambda: self.space.sample(self.rng))
        self.current = self._found = None
        self._seen, self._waiting, self._running = {start}, [start], 0

    def ask(self) -> Query | None:
        """Return the next neighbour; None while the last neighbours are being trained."""
        if not self._seen:
            self._begin()
        if not self._waiting:
            return None
        self._running += 1
        return self.query(self._waiting.pop())

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Remember the best neighbour; once all results are known, move to it or restart."""
        self._running -= 1
        if self._found is None or validation_error < self._found[0]:
            self._found = validation_error, query.architecture
        improved = self.current is None or self._found[0] < self.current[0]
        if improved and self.hyperparameters.first_improvement:
            self._seen.difference_update(self._waiting)  # they may be neighbours of the next architecture, too
            self._waiting.clear()
        if self._waiting or self._running:
            return
        if improved:
            self._move(self._found)
        if not self._waiting:
            self._begin()

    def _move(self, found: tuple[float, Architecture]) -> None:
        self.current, self._found = found, None
        fresh = [arch for arch in self.space.neighbours(found[1]) if arch not in self._seen and self.allows(arch)]
        self._seen.update(fresh)
        self._waiting = [fresh[place] for place in self.rng.permutation(len(fresh))]
