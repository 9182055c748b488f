"""How decided a search is after every epoch: the entropy of the mixing weights that it learns."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.one_shot_search.record import PARAMETERS, SearchRecord
from nasbench1shot1.reading import Shares

Floats = NDArray[np.float64]


def learned_weights(run: SearchRecord, epochs: Sequence[int]) -> Mapping[int, Shares]:
    """Return the mixing weights of some epochs; empty if the mixing weights of the search do not depend on Λ.

    Optimizers that sample architectures, such as random search with weight sharing, record 1 for the choices of the
    preferred architecture and 0 otherwise. Softmaxes of zeros and ones would look like learned weights.
    """
    found = run.architecture_parameters
    is_learned = any(np.ptp(values, axis=0).any() and not np.isin(values, (0, 1)).all() for values in found.values())
    if not is_learned and run.reading(0).depends_on_parameters:
        return {}
    return run.mixing_weights_of(epochs)


def relative_entropy(weights: Mapping[str, Floats]) -> float:
    """Return the mean entropy of the choices, each divided by the entropy of equal weights.

    It is 1 if all entries of each choice have equal weights, and 0 if one entry of each choice has all the weight. An
    excluded entry counts as one without weight.

    Args:
        weights: mixing weights by key, of shape (…, entries); NaN where an entry is excluded. The weights of a choice
            are divided by their sum, which is not 1 for sigmoids. Choices between fewer than two entries, or without
            any weight, do not count.

    Returns:
        The mean over all choices; NaN if there is none.
    """
    found: list[Floats] = []
    for values in weights.values():
        rows = np.nan_to_num(np.reshape(values, (-1, np.shape(values)[-1])))
        rows = rows[rows.sum(1) > 0]
        if rows.shape[1] > 1 and len(rows):
            shares = rows / rows.sum(1, keepdims=True)
            entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(1)
            found.append(entropy / np.log(rows.shape[1]))
    return float(np.concatenate(found).mean()) if found else float("nan")


def entropies(runs: Sequence[SearchRecord], epochs: Sequence[int]) -> Floats | None:
    """Return `relative_entropy` after some epochs, of shape (runs, epochs); None if a run did not learn or record Λ."""
    if not all((run.folder / PARAMETERS).exists() for run in runs):
        return None
    found = [learned_weights(run, epochs) for run in runs]
    if not all(found):
        return None
    return np.array([[relative_entropy(weights[epoch]) for epoch in epochs] for weights in found])
