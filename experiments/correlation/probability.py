"""The probability that a search's Λ assigns to architectures (NAS-Bench-201, Table 7: encoded probability)."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.encoded_probability import log_probability_of_picks, log_softmax
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

Floats = NDArray[np.float64]


def log_probabilities(
    space: ChoiceBlockSpace, parameters: Mapping[str, NDArray[np.floating]], architectures: Sequence[Architecture]
) -> Floats:
    """Return the log-probabilities (A,) of sub-networks, in nats.

    A node's operation is drawn from the softmax of its row of Λ. The k parents of a node are drawn without replacement
    from the softmax over the remaining entries, in any order (Plackett-Luce; Gumbel-top-k samples from this model).
    Only blocks with a path to the output count, so the result is the total probability of all architectures with this
    live part.

    Args:
        space: the space of the architectures.
        parameters: raw Λ, an array for every key of `space.mixing_shapes()`.
        architectures: A architectures.
    """

    @cache
    def of_parents(node: int, parents: tuple[int, ...]) -> float:
        key = space.mixing_key(node)
        return 0.0 if key is None else log_probability_of_picks(np.asarray(parameters[key], np.float64), parents)

    operations = log_softmax(np.asarray(parameters[space.operation_key], np.float64))

    def of_architecture(arch: Architecture) -> float:
        nodes = (*arch.live_blocks, len(arch.parents))
        edges = sum(of_parents(node, arch.parents[node - 1]) for node in nodes)
        return edges + sum(float(operations[block - 1, arch.operations[block - 1]]) for block in arch.live_blocks)

    return np.array([of_architecture(arch) for arch in architectures])
