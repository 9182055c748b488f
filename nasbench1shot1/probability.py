"""The probabilities of architectures under Λ, and the most probable architectures (NAS-Bench-201, Table 7).

Λ encodes independent decisions (`OneShotSpace.choices`). A single entry is drawn from the softmax of its vector.
Several entries are drawn one after another from the softmax over the remaining entries; their order does not matter
(Plackett-Luce; Gumbel-top-k samples from this model).
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.space import OneShotSpace, Weights

Floats = NDArray[np.float64]
Picks = tuple[int, ...]
"""The entries that a decision takes, ascending."""


def log_softmax(logits: Floats) -> Floats:
    """Return the logarithm of the softmax along the last axis."""
    from scipy.special import log_softmax

    values: Floats = log_softmax(logits, axis=-1)
    return values


def log_probability_of_picks(logits: Floats, picks: Sequence[int]) -> float:
    """Return the log-probability, in nats, that a decision takes these entries.

    Args:
        logits: the decision's vector of raw Λ, (entries,); −∞ for entries that are never taken.
        picks: the entries, without repetition.
    """
    from scipy.special import logsumexp

    return float(logsumexp([_log_probability_of_order(logits, order) for order in permutations(picks)]))


def _log_probability_of_order(logits: Floats, order: Sequence[int]) -> float:
    """Return the log-probability of drawing these entries one after another, each from the remaining entries."""
    if np.isneginf(logits[list(order)]).any():
        return -math.inf  # excluded entries
    left, total = np.ones(len(logits), np.bool_), 0.0
    for entry in order:
        total += float(log_softmax(np.where(left, logits, -np.inf))[entry])
        left[entry] = False
    return total


def most_probable(space: OneShotSpace, parameters: Weights) -> Iterator[tuple[Architecture, float]]:
    """Yield the networks of a space, most probable first, each with the log-probability of its encoding in nats.

    An encoding takes entries of every decision, and its probability is the product over all decisions. Encodings that
    differ only in loose ends are the same network. A network is yielded once, with its most probable
    encoding, as the architecture without loose ends. Ties have a fixed order.

    The search is lazy and exact: a heap contains the encodings that are the next worse in one decision than an encoding
    already found. Memory grows with the number of yielded networks, not with the size of the space.

    Args:
        space: a space whose decisions are listed node by node, so that only later decisions can make a decision part of
            a loose end.
        parameters: raw Λ, an array or tensor for every key of `space.mixing_shapes()`.

    Raises:
        InvalidInputError: keys or shapes are wrong, or a value is NaN.
    """
    decisions = _decisions(space, parameters)
    heap: list[tuple[float, tuple[int, ...]]] = []

    def push(ranks: tuple[int, ...]) -> None:
        # fsum rounds once, so the cost never decreases when one of its terms increases
        cost = -math.fsum(decision[rank][0] for decision, rank in zip(decisions, ranks, strict=True))
        heappush(heap, (cost, ranks))

    found = set()
    push((0,) * len(decisions))
    while heap:
        cost, ranks = heappop(heap)
        picks = [decision[rank][1] for decision, rank in zip(decisions, ranks, strict=True)]
        network = space.without_loose_ends(space.from_picks(picks[::-1]))
        if network in found:
            continue  # this encoding, and all that follow from it, only have worse picks in loose ends
        found.add(network)
        yield network, -cost
        for following in _successors(ranks, decisions):
            push(following)


def preferred_within(
    constraint: Constraint | None, preferred: Architecture, space: OneShotSpace, parameters: Weights
) -> Architecture:
    """Return the preferred architecture if it is within bounds, else the most probable network within them.

    Args:
        constraint: the bounds; None: the preferred architecture is returned.
        preferred: an architecture, such as the discretised Λ.
        space: the space.
        parameters: raw Λ, as in `most_probable`.

    Raises InvalidInputError if no network of the space is within the bounds, and the errors of `most_probable`.
    """
    if constraint is None or constraint.allows(preferred):
        return preferred
    return constraint.first(network for network, _ in most_probable(space, parameters))


def _decisions(space: OneShotSpace, parameters: Weights) -> list[list[tuple[float, Picks]]]:
    """Return the log-probabilities and entries of all picks of each decision, best first; the last decision first."""
    arrays = space.checked_mixing(parameters)
    decisions = []
    for choice in reversed(space.choices()):
        logits = choice.of(arrays)
        picks = combinations(range(choice.entries), choice.picks)
        scored = [(log_probability_of_picks(logits, taken), taken) for taken in picks]
        decisions.append(sorted(scored, key=lambda pair: -pair[0]))  # stable: ties go to the lowest entries
    return decisions


def _successors(ranks: tuple[int, ...], decisions: Sequence[Sequence[object]]) -> Iterator[tuple[int, ...]]:
    """Yield the ranks that are worse by one in one decision; every tuple of ranks follows from exactly one other."""
    last = max((i for i, rank in enumerate(ranks) if rank), default=0)
    for i in range(last, len(ranks)):
        if ranks[i] + 1 < len(decisions[i]):
            yield (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :])
