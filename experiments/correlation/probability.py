"""The probability that a search's Λ assigns to architectures (NAS-Bench-201, Table 7: encoded probability)."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.encoded_probability import log_probability_of_picks, log_softmax
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.space import OneShotSpace

Floats = NDArray[np.float64]


Parameters = Mapping[str, NDArray[np.floating]]


def log_probabilities(space: OneShotSpace, parameters: Parameters, architectures: Sequence[Architecture]) -> Floats:
    """Return the log-probabilities (A,) of sub-networks, in nats.

    A single entry of a vector of Λ is drawn from its softmax. The k parents of a node are drawn without replacement
    from the softmax over the remaining entries, in any order (Plackett-Luce; Gumbel-top-k samples from this model).
    In choice-block spaces, only blocks with a path to the output count, so the result is the total probability of all
    architectures with this live part.

    Args:
        space: the space of the architectures.
        parameters: raw Λ, an array for every key of `space.mixing_shapes()`.
        architectures: A architectures.
    """
    if isinstance(space, ChoiceBlockSpace):
        return _sum_over_live_parts(
            space, parameters, [arch for arch in architectures if isinstance(arch, CellArchitecture)]
        )
    return _sum_over_choices(space, parameters, architectures)


def _sum_over_choices(space: OneShotSpace, parameters: Parameters, architectures: Sequence[Architecture]) -> Floats:
    """Return the sums over all decisions (A,)."""
    one_hot = [space.one_hot(arch) for arch in architectures]
    total = np.zeros(len(architectures))
    for choice in space.choices():
        place = () if choice.row is None else choice.row
        logits = np.asarray(parameters[choice.key], np.float64)[place]
        of_picks = cache(lambda picks, logits=logits: log_probability_of_picks(logits, picks))
        total += [of_picks(tuple(np.flatnonzero(weights[choice.key][place]).tolist())) for weights in one_hot]
    return total


def _sum_over_live_parts(
    space: ChoiceBlockSpace, parameters: Parameters, architectures: Sequence[CellArchitecture]
) -> Floats:
    """Return the sums over the nodes with a path to the output (A,)."""

    @cache
    def of_parents(node: int, parents: tuple[int, ...]) -> float:
        key = space.mixing_key(node)
        return 0.0 if key is None else log_probability_of_picks(np.asarray(parameters[key], np.float64), parents)

    operations = log_softmax(np.asarray(parameters[space.operation_key], np.float64))

    def of_architecture(arch: CellArchitecture) -> float:
        nodes = (*arch.live_blocks, len(arch.parents))
        edges = sum(of_parents(node, arch.parents[node - 1]) for node in nodes)
        return edges + sum(float(operations[block - 1, arch.operations[block - 1]]) for block in arch.live_blocks)

    return np.array([of_architecture(arch) for arch in architectures])
