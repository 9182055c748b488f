"""Structural decisions of a search: the entries of each choice that a method has not excluded.

DARTS-PT and SGAS fix one choice after another; IS-DARTS and progressive DrNAS exclude operations. Supernets do not
compute excluded operations and edges, so weights that only these need have no gradient, and neither momentum nor weight
decay changes them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    from torch import Tensor

PENALTY = 1e3
"""What `AllowedEntries.ranked` subtracts from Λ; entries of Λ differ by far less."""


class AllowedEntries:
    """The allowed entries of each choice of a space, by the number of the choice. At first, all are allowed."""

    def __init__(self, space: OneShotSpace) -> None:
        self._space, self._choices = space, space.choices()
        self._all = [tuple(range(choice.entries)) for choice in self._choices]
        self._first = list(self._all)
        self._allowed = list(self._all)

    def __getitem__(self, number: int) -> tuple[int, ...]:
        """Return the allowed entries of a choice, in ascending order."""
        return self._allowed[number]

    def keep(self, number: int, entries: Collection[int]) -> None:
        """Exclude all other entries of a choice.

        Raises InvalidInputError if an entry is excluded already, or if less remain than an architecture takes.
        """
        choice, kept = self._choices[number], tuple(sorted(set(entries)))
        if missing := sorted(set(kept) - set(self._allowed[number])):
            raise InvalidInputError(f"{choice}: entry {missing[0]} is excluded: keep only {self[number]}")
        if len(kept) < choice.picks:
            raise InvalidInputError(
                f"{choice}: an architecture takes {choice.picks} of its entries: keep at least as many, not {len(kept)}"
            )
        self._allowed[number] = kept

    def drop(self, number: int, entry: int) -> None:
        """Exclude an entry of a choice; raises the same errors as `keep`."""
        if entry not in self[number]:
            raise InvalidInputError(f"{self._choices[number]}: entry {entry} is excluded already")
        self.keep(number, [other for other in self[number] if other != entry])

    def shorten(self, number: int, left: int) -> None:
        """Keep the first `left` allowed entries of a choice, as a stand-in for a real decision."""
        self.keep(number, self[number][:left])

    def start_here(self) -> None:
        """Let `clear` restore the entries that are allowed now; an option has excluded the others."""
        self._first = list(self._allowed)

    def clear(self) -> None:
        """Allow all entries again that were allowed at the start of the search."""
        self._allowed = list(self._first)

    def is_decided(self, number: int) -> bool:
        """Return whether a choice has no more entries than an architecture takes."""
        return len(self[number]) == self._choices[number].picks

    @property
    def undecided(self) -> list[int]:
        """The numbers of the choices that are not decided."""
        return [number for number in range(len(self._choices)) if not self.is_decided(number)]

    @property
    def is_restricted(self) -> bool:
        """Whether any entry is excluded."""
        return self._allowed != self._all

    def masked(self, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return Λ with −∞ for excluded entries, for which every relaxation has the weight 0.

        `parameters` may have leading axes of samples.
        """
        if not self.is_restricted:
            return parameters
        masked = {key: value.clone() for key, value in parameters.items()}
        for vector, number in self._vectors(masked):
            for entry in set(self._all[number]) - set(self[number]):
                vector[..., entry] = float("-inf")
        return masked

    def vectors(self, parameters: Mapping[str, Tensor]) -> list[Tensor]:
        """Return the allowed entries of every choice as a vector of Λ, key by key, for the keys of `parameters`."""
        keys = list(parameters)
        of_keys = [(choice, number) for number, choice in enumerate(self._choices) if choice.key in parameters]
        of_keys.sort(key=lambda pair: (keys.index(pair[0].key), pair[0].row or 0))
        return [
            vector if self[number] == self._all[number] else vector[list(self[number])]
            for vector, number in ((choice.of(parameters), number) for choice, number in of_keys)
        ]

    def ranked(self, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return Λ minus a large penalty for excluded entries.

        Every architecture without excluded entries is more probable than any other; if bounds rule all of these out,
        the next ones have few excluded entries, and Λ still decides between them.
        """
        if not self.is_restricted:
            return parameters
        return {
            key: value.where(value != float("-inf"), parameters[key] - PENALTY)
            for key, value in self.masked(parameters).items()
        }

    def fixed(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return mixing weights in which each of the k entries of a decided choice has the weight 1/k."""
        fixed = {key: value.clone() for key, value in weights.items()}
        for vector, number in self._vectors(fixed):
            if self.is_decided(number) and self[number] != self._all[number]:
                for entry in self._all[number]:
                    vector[..., entry] = (entry in self[number]) / len(self[number])
        return fixed

    def restrict(self, mixing: Mixing) -> Mixing:
        """Return a mixing that does not compute excluded edges or, unless it samples operations, excluded operations.

        Raises InvalidInputError if it samples an excluded operation.
        """
        operations = self.operations()
        features = self._space.cell_features
        if "masked-edges" in features and mixing.path is None:
            mixing = replace(mixing, allowed_edges=self.edges())
        if operations is None or not (mixing.is_sampled or "masked-operations" in features):
            return mixing
        if not mixing.is_sampled:
            return replace(mixing, allowed=operations)
        samples: Any = mixing.operations if isinstance(mixing.weights, tuple) else (mixing.operations,)
        for sample in samples if mixing.operations else ():
            self._check_sample(sample)
        return mixing

    def _check_sample(self, sample: Sequence[int | tuple[int, ...]]) -> None:
        """Raise InvalidInputError if one of the sampled operations, one or several for each row, is excluded."""
        for number, operations in zip(self._rows, sample, strict=True):
            for operation in operations if isinstance(operations, tuple) else (operations,):
                if operation not in self[number]:
                    raise InvalidInputError(
                        f"{self._choices[number]}: operation {operation} is excluded: sample one of "
                        f"{', '.join(map(str, self[number]))}"
                    )

    @property
    def _rows(self) -> list[int]:
        """The numbers of the choices of operations, in the order of their rows."""
        numbers = [number for number, choice in enumerate(self._choices) if choice.key == self._space.operation_key]
        return sorted(numbers, key=lambda number: self._choices[number].row or 0)

    def operations(self) -> tuple[tuple[int, ...], ...] | None:
        """Return the allowed entries of every row of the space's operations; None if all are allowed."""
        if all(self[number] == self._all[number] for number in self._rows):
            return None
        return tuple(self[number] for number in self._rows)

    def edges(self) -> dict[str, tuple[int, ...]] | None:
        """Return the allowed entries of every restricted choice other than operations by key; None if there is none."""
        restricted = {
            choice.key: allowed
            for choice, allowed, everything in zip(self._choices, self._allowed, self._all, strict=True)
            if choice.key != self._space.operation_key and allowed != everything
        }
        return restricted or None

    def structure(self) -> dict[str, list[int]]:
        """Return the allowed entries of every restricted choice by its name, for the record of an epoch."""
        return {
            str(choice): list(allowed)
            for choice, allowed, everything in zip(self._choices, self._allowed, self._all, strict=True)
            if allowed != everything
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the allowed entries of all choices."""
        return {"allowed": [list(entries) for entries in self._allowed]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._allowed = [tuple(entries) for entries in state["allowed"]]

    def _vectors(self, tensors: Mapping[str, Tensor]) -> Sequence[tuple[Tensor, int]]:
        """Return a view (…, entries) of each restricted choice, with its number."""
        return [
            (choice.of(tensors), number)
            for number, choice in enumerate(self._choices)
            if self[number] != self._all[number]
        ]
