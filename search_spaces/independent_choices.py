"""Spaces in which every architecture is one entry for each of several choices, independently of each other."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.space import Choice, Numbers, OneShotSpace, Weights

Arch = TypeVar("Arch", bound=Architecture)


class IndependentChoices(OneShotSpace, Generic[Arch]):
    """A space of all combinations of entries; there are no loose ends.

    A subclass defines the numbers of its architectures (`__len__`, `__getitem__`, `index`), how positions of entries
    become an architecture and back, and configurations. Mixing weights are one matrix, with a row for each choice and a
    column for each entry.

    Attributes:
        n_choices: number of choices.
        n_entries: number of entries of each choice.
    """

    n_choices: int
    n_entries: int

    @abstractmethod
    def __getitem__(self, index: int) -> Arch:
        """Return the architecture with a number; raises the errors of `SearchSpace.__getitem__`."""

    @abstractmethod
    def _at(self, positions: tuple[int, ...]) -> Arch:
        """Return the architecture with the entries at the given positions, which are valid."""

    @abstractmethod
    def _positions(self, arch: Architecture) -> tuple[int, ...]:
        """Return the position of the entry of each choice; raises InvalidInputError like `index`."""

    # Counting --------------------------------------------------------------------------------------------------

    def count(self, kind: str, rule: str | None = None) -> int:
        """Return the number of architectures of a kind.

        Raises InvalidInputError for an unknown kind, or for any rule: each kind is counted in one way only.
        """
        self.check_kind(kind)
        if rule is not None:
            raise InvalidInputError(f"'{kind}' has only one counting rule, not '{rule}': remove the rule")
        return len(self.numbers(kind))

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind; by default, each kind contains all architectures.

        Raises InvalidInputError like `count`.
        """
        self.check_kind(kind)
        return range(len(self))

    # Sampling and moving ---------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> Arch:
        """Draw an architecture uniformly; `loose_ends` has no effect."""
        check_rng(rng)
        return self[int(rng.integers(len(self)))]

    def neighbours(self, arch: Architecture) -> list[Arch]:
        """Return all architectures that differ in one choice, choice by choice, with ascending entries."""
        now, n_entries = self._positions(arch), self.n_entries
        changes = range(self.n_choices * (n_entries - 1))
        return [self._at(with_another_entry(now, number, n_entries)) for number in changes]

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> Arch:
        """Draw one of the neighbours of an architecture uniformly; raises InvalidInputError as `index` does."""
        check_rng(rng)
        n_entries = self.n_entries
        number = int(rng.random() * (self.n_choices * (n_entries - 1)))
        return self._at(with_another_entry(self._positions(arch), number, n_entries))

    # Mixing weights --------------------------------------------------------------------------------------------

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the mixing weights: a row for each choice and a column for each entry."""
        return {self.operation_key: (self.n_choices, self.n_entries)}

    def choices(self) -> tuple[Choice, ...]:
        """Return the choice of one entry in each row."""
        return tuple(Choice(self.operation_key, row, self.n_entries, 1) for row in range(self.n_choices))

    def discretise(self, mixing: Weights) -> Arch:
        """Select the best entry of each choice; ties go to the first entry.

        Args:
            mixing: an array or tensor of `mixing_shapes()`; weights or raw parameters, because only their order
                matters.

        Raises:
            InvalidInputError: keys or shapes are wrong, or a value is NaN.
        """
        return self._at(tuple(self.checked_mixing(mixing)[self.operation_key].argmax(axis=1).tolist()))

    def one_hot(self, arch: Architecture) -> dict[str, NDArray[np.float32]]:
        """Return mixing weights that compute exactly this architecture: 1 for chosen entries, 0 for all others."""
        return {self.operation_key: np.eye(self.n_entries, dtype=np.float32)[list(self._positions(arch))]}

    # Integers --------------------------------------------------------------------------------------------------

    def variables(self) -> tuple[int, ...]:
        """Return the number of entries of each choice."""
        return (self.n_entries,) * self.n_choices

    def values_of(self, arch: Architecture) -> tuple[int, ...]:
        """Return the position of the entry of each choice; raises InvalidInputError like `index`."""
        return self._positions(arch)

    def from_values(self, values: Sequence[int]) -> Arch:
        """Return the architecture with the entries at these positions; inverse of `values_of`.

        Raises InvalidInputError if there is not one integer for each choice, or an entry does not exist.
        """
        return self._at(checked_values(self.name, values, self.variables()))


def with_another_entry(entries: tuple[int, ...], number: int, n_entries: int) -> tuple[int, ...]:
    """Return entries that differ in one choice, by the number of the change.

    Args:
        entries: the position of the entry of each of n choices.
        number: 0 … n(n_entries - 1) - 1; changes are numbered choice by choice, with ascending entries.
        n_entries: number of entries of each choice.
    """
    choice, entry = divmod(number, n_entries - 1)
    if entry >= entries[choice]:  # the current entry is not a change
        entry += 1
    return (*entries[:choice], entry, *entries[choice + 1 :])
