"""Exact, differentiable expectations of values of architectures, such as costs, under the distribution that Λ encodes.

The distribution is that of `nasbench1shot1.probability`: decisions are independent, a single entry is drawn from the
softmax of its vector, and several entries are drawn one after another from the remaining ones (Plackett-Luce).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, permutations
from math import comb, prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import OneShotSpace

MOST_ARCHITECTURES = 10**7  # a sum over more architectures would take seconds in every step of Λ


class Expectation:
    """The expectation E[v] of a value of architectures under Λ; architectures with the value NaN are left out.

    With unknown values, the result is the expectation given that the value is known.

    Args:
        space: a space whose architectures can be listed.
        values: a value for every architecture by number, (len(space),): costs, or 1 for allowed ones.

    Raises:
        InvalidInputError: the space is too large for an exact sum.
    """

    def __init__(self, space: OneShotSpace, values: NDArray[np.generic]) -> None:
        check_summable(space)
        self._choices, known = space.choices(), np.isfinite(numbers := np.asarray(values, np.float64))
        order = space.numbers_of_picks()
        self._values = torch.from_numpy(np.where(known, numbers, 0.0)[order])
        self._known = None if known.all() else torch.from_numpy(known.astype(np.float64)[order])

    def __call__(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """Return the expectation, a float64 scalar, differentiable with respect to Λ."""
        probabilities = [_probabilities(choice.of(parameters).double(), choice.picks) for choice in self._choices]
        mean = _contract(self._values, probabilities)
        return mean if self._known is None else mean / _contract(self._known, probabilities)

    @cached_property
    def largest(self) -> float:
        """The largest known value."""
        return float(self._values.max())


def check_summable(space: OneShotSpace) -> None:
    """Raise InvalidInputError if a space has too many architectures for an exact expectation."""
    architectures = prod(comb(choice.entries, choice.picks) for choice in space.choices())
    if architectures > MOST_ARCHITECTURES:
        raise InvalidInputError(
            f"{space.name} has {architectures:,} architectures, and an expected cost is a sum over at most "
            f"{MOST_ARCHITECTURES:,}: search without a weight of the cost, or choose another space"
        )


def excess(expectations: Sequence[Expectation], limits: Sequence[float], parameters: Mapping[str, Tensor]) -> Tensor:
    """Return Σ max(E / limit - 1, 0) over costs with their expectations E under Λ, a float64 scalar."""
    terms = [(expected(parameters) / limit - 1).relu() for expected, limit in zip(expectations, limits, strict=True)]
    return torch.stack(terms).sum()


def _contract(values: Tensor, probabilities: list[Tensor]) -> Tensor:
    """Return the mean of values, with an axis for each decision, under independent decisions."""
    mean = values.to(probabilities[0].device)
    for of_choice in reversed(probabilities):  # the last axis first
        mean = mean @ of_choice
    return mean


def _probabilities(logits: Tensor, picks: int) -> Tensor:
    """Return the probabilities of all sets of `picks` entries, in the order of `itertools.combinations`."""
    if picks == 1:
        return logits.softmax(dim=-1)
    sets = combinations(range(len(logits)), picks)
    return torch.stack(
        [torch.stack([_of_order(logits, order) for order in permutations(taken)]).sum() for taken in sets]
    )


def _of_order(logits: Tensor, order: tuple[int, ...]) -> Tensor:
    """Return the probability of drawing entries in this order, each from the remaining ones."""
    left, logarithm = torch.ones_like(logits, dtype=torch.bool), logits.new_zeros(())
    for entry in order:
        logarithm = logarithm + logits[entry] - logits[left].logsumexp(dim=-1)
        left = left.clone()
        left[entry] = False
    return logarithm.exp()
