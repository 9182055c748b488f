"""The moving average of rewards that REINFORCE subtracts as a baseline."""

from collections.abc import Mapping


class MovingAverage:
    """A bias-corrected exponential moving average: Σ decayʲ xⱼ / Σ decayʲ, with j = 0 for the newest value."""

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.numerator = self.denominator = 0.0

    def update(self, value: float) -> None:
        """Add a value."""
        self.numerator = self.decay * self.numerator + (1 - self.decay) * value
        self.denominator = self.decay * self.denominator + (1 - self.decay)

    def value(self, default: float) -> float:
        """Return the average; `default` if it has no value yet, or only values of weight zero."""
        return self.numerator / self.denominator if self.denominator else default

    def state(self) -> dict[str, float]:
        """Return numerator and denominator."""
        return {"numerator": self.numerator, "denominator": self.denominator}

    def restore(self, state: Mapping[str, float]) -> None:
        """Restore what `state` returned."""
        self.numerator, self.denominator = state["numerator"], state["denominator"]
