"""The one-shot validation error: the error of the supernet itself after an epoch."""

import math

import torch

from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.supernets.weight_sharing import MIXED_BATCH


@torch.no_grad()
def one_shot_error(state: SearchState, epoch: int) -> float:
    """Return the error of the supernet as searched on the whole architecture half, a fraction.

    For a method that samples architectures, this is the error of the architecture that it chose. It is measured as
    `SharedWeights` measures the error of any architecture; the supernet does not change. A method that evaluates with
    noise draws new mixing weights for every batch, as the published GDAS does. The error is NaN if the supernet's loss
    is infinite or NaN, because the weights have diverged.
    """
    shared, half = state.shared_weights(epoch), torch.from_numpy(state.split.architecture)
    parts = half.split(MIXED_BATCH) if state.method.evaluates_with_noise else (half,)
    scores = [shared.scores([state.method.evaluation_mixing()], rows) for rows in parts]
    if not all(math.isfinite(score.losses[0]) for score in scores):
        return math.nan
    return sum(float(score.errors[0]) * len(rows) for score, rows in zip(scores, parts, strict=True)) / len(half)
