"""The rule by which DARTS-ES stops a search and goes back to an earlier epoch."""

from collections.abc import Sequence

WINDOW = 5  # number of epochs over which the eigenvalue is averaged
BACK = 5  # number of epochs over which growth is measured, and by which the search goes back
LEAST_RATIO = 0.75  # smallest allowed ratio of the smoothed eigenvalue BACK epochs ago to the current one


def returned_epoch(eigenvalues: Sequence[float | None]) -> int | None:
    """Return the epoch whose architecture an early-stopped search returns; None while the search continues.

    DARTS-ES (Zela et al.: Understanding and Robustifying DARTS, ICLR 2020, section 4.3): if the smoothed dominant
    eigenvalue of the validation loss's Hessian with respect to Λ grows too fast, the search stops and returns to an
    earlier architecture.

    Args:
        eigenvalues: the eigenvalue after epoch 0, 1, …; None where it was not measured, as in epoch 0 and during
            warm-up. Their magnitudes are averaged over the last `WINDOW` measured epochs, so the first two averages to
            be compared belong to the `WINDOW`-th and the `WINDOW + BACK`-th.
    """
    measured = [(epoch, abs(value)) for epoch, value in enumerate(eigenvalues) if value is not None]
    if len(measured) < WINDOW + BACK:
        return None
    before, now = (_mean(measured[-back - WINDOW : len(measured) - back]) for back in (BACK, 0))
    return measured[-1 - BACK][0] if before < LEAST_RATIO * now else None


def _mean(measured: Sequence[tuple[int, float]]) -> float:
    return sum(value for _, value in measured) / len(measured)
