"""How recorded architecture parameters Λ map to mixing weights, for pictures: softmax, sigmoids, or fixed shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.space import Choice, OneShotSpace, Weights, as_array

Form = Literal["softmax", "sigmoid", "dirichlet", "equal"]
Shares = dict[str, NDArray[np.float64]]
"""Mixing weights with the keys and shapes of `mixing_shapes()`; NaN for excluded entries."""


@dataclass(frozen=True)
class Reading:
    """How Λ maps to mixing weights, at the mean of any noise.

    With samples of one candidate, such as Gumbel-max, these are the probabilities of the candidates.

    Attributes:
        operations: the form of the weights of operations (`OneShotSpace.operation_key`): "softmax" of Λ; "sigmoid" of
            Λ; "dirichlet", the mean of a Dirichlet distribution with the concentrations elu(Λ) + 1; or "equal", 1/n
            for each of the n entries of a choice, whatever Λ is.
        edges: the form of all other weights.
        temperature: divides Λ in a softmax and in sigmoids.
    """

    operations: Form = "softmax"
    edges: Form = "softmax"
    temperature: float = 1.0

    @property
    def depends_on_parameters(self) -> bool:
        """Whether weights depend on Λ."""
        return (self.operations, self.edges) != ("equal", "equal")

    @property
    def has_probabilities(self) -> bool:
        """Whether Λ gives every architecture a probability; sigmoids do not, because candidates do not compete."""
        return self.depends_on_parameters and "sigmoid" not in (self.operations, self.edges)

    def __str__(self) -> str:
        """Return the words of captions for a space with weights of operations and of edges."""
        return self.describe()

    def describe(self, has_operations: bool = True, has_edges: bool = True) -> str:
        """Return the words of captions, such as "softmax of Λ", or "softmax of Λ/τ" with a temperature τ.

        Args:
            has_operations: whether the space has weights of operations.
            has_edges: whether it has other weights.
        """
        of_operations, of_edges = WORDS[self.operations], WORDS[self.edges]
        if of_operations == of_edges or not has_edges:
            words = of_operations
        elif not has_operations:
            words = of_edges
        else:
            words = f"{of_operations} (operations), {of_edges} (edges)"
        return words if self.temperature == 1 else words.replace("of Λ", "of Λ/τ")

    def weights(
        self, parameters: Weights, space: OneShotSpace | None = None, structure: Mapping[str, Any] | None = None
    ) -> Shares:
        """Return the mixing weights of an epoch.

        The entries of a choice that is decided share the weight 1 equally, unless all weights are "equal".

        Args:
            parameters: raw Λ of one epoch by key, arrays or tensors.
            space: the space of the search; without it, all weights have the form `operations`, and nothing is excluded.
            structure: what the method has changed in the epoch (`OneShotOptimizer.structure`): for a choice by its
                name, the entries that are left; other keys are ignored.
        """
        arrays = {key: as_array(value).copy() for key, value in parameters.items()}
        left = {} if space is None else _left(space, structure or {})
        for choice, entries in left.items():
            choice_values = choice.of(arrays)
            choice_values[[entry for entry in range(choice.entries) if entry not in entries]] = -np.inf
        of_operations = None if space is None else space.operation_key
        forms = {key: self.operations if of_operations in (None, key) else self.edges for key in arrays}
        found = {key: _weights(value, forms[key], self.temperature) for key, value in arrays.items()}
        for choice, entries in left.items():
            weights = choice.of(found)
            if len(entries) == choice.picks and forms[choice.key] != "equal":
                weights[entries] = 1 / choice.picks
            weights[np.isneginf(choice.of(arrays))] = np.nan
        return found


WORDS: dict[Form, str] = {
    "softmax": "softmax of Λ",
    "sigmoid": "sigmoids of Λ",
    "dirichlet": "means of the Dirichlet distributions of Λ",
    "equal": "equal shares of all candidates",
}
"""Descriptions of the weights of each form, for captions."""


LEAST_CONCENTRATION = 1e-6
"""elu(Λ) + 1 underflows for very negative Λ; a Dirichlet distribution needs concentrations of more than 0."""


def _left(space: OneShotSpace, structure: Mapping[str, Any]) -> dict[Choice, list[int]]:
    """Return the remaining entries of every choice that has excluded entries."""
    return {choice: list(structure[str(choice)]) for choice in space.choices() if str(choice) in structure}


def _weights(values: NDArray[np.float64], form: Form, temperature: float) -> NDArray[np.float64]:
    """Return weights (…, entries); 0 for entries of −∞."""
    if form == "equal":
        return np.where(np.isneginf(values), 0.0, 1 / values.shape[-1])
    if form == "sigmoid":
        return np.asarray((1 + np.tanh(values / (2 * temperature))) / 2)
    if form == "dirichlet":
        concentrations = np.where(values > 0, values, np.expm1(np.minimum(values, 0))) + 1
        concentrations = np.where(np.isneginf(values), 0, np.maximum(concentrations, LEAST_CONCENTRATION))
        return np.asarray(concentrations / concentrations.sum(axis=-1, keepdims=True))
    powers = np.exp((values - values.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
