"""Random search: train uniformly drawn architectures."""

from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query


class RandomSearch(BlackBoxOptimizer):
    """Random search, as in NAS-Bench-101 (Ying et al. 2019, section 5): uniform over all valid encodings.

    With bounds, it is uniform over the encodings within them: others are drawn again.
    """

    def ask(self) -> Query:
        """Return a random architecture."""
        return self.query(self.first_allowed(lambda: self.space.sample(self.rng)))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Do nothing: random search ignores results."""
