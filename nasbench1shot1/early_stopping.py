"""When to stop a search: DARTS-ES (Zela et al.: Understanding and Robustifying DARTS, ICLR 2020, section 4.3).

The dominant eigenvalue of the validation loss's Hessian with respect to Λ, smoothed, shall not grow too fast; where it
does, the search stops and goes back to the architecture before.
"""

from collections.abc import Sequence

WINDOW = 5  # epochs that the eigenvalue is averaged over
BACK = 5  # epochs over which growth is looked at, and which are gone back
LEAST_RATIO = 0.75  # of the smoothed eigenvalue BACK epochs ago to the present one


def returned_epoch(eigenvalues: Sequence[float | None]) -> int | None:
    """The epoch whose architecture an early-stopped search returns; None while it shall go on.

    Args:
        eigenvalues: of epoch 0, 1, …; None where it was not measured, as in epoch 0. They are averaged over the last
            `WINDOW` epochs, so the first two averages to be compared are those of epochs `WINDOW` and
            `WINDOW + BACK`.
    """
    measured = [value for value in eigenvalues[1:] if value is not None]
    epoch = len(measured)
    if epoch < WINDOW + BACK:
        return None
    before, now = (sum(measured[end - WINDOW : end]) / WINDOW for end in (epoch - BACK, epoch))
    return epoch - BACK if now > 0 and before / now < LEAST_RATIO else None
