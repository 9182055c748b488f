"""The one-shot validation error: how wrong the supernet itself is after an epoch."""

import math

from nasbench1shot1.one_shot_search.shared_weights import shared_weights
from nasbench1shot1.one_shot_search.state import SearchState


def one_shot_error(state: SearchState, epoch: int) -> float:
    """Return the error of the supernet as searched on the whole architecture half, a fraction.

    For a method that samples architectures, this is the error of the architecture that it chose. The error is measured
    as `SharedWeights` measures any other; nothing of the supernet changes. It is NaN where the supernet's loss is not
    a finite number: the weights have diverged then.
    """
    scores = shared_weights(state, epoch).scores([state.method.evaluation_mixing()])
    return float(scores.errors[0]) if math.isfinite(scores.losses[0]) else math.nan
