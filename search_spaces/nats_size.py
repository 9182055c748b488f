"""The size space of NATS-Bench (Dong et al. 2021, section 2.2): one of eight widths for each of five layers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nats_size.architecture import (
    LAYER_ROWS,
    N_LAYERS,
    N_WIDTHS,
    SPACE_NAME,
    WIDTHS,
    WidthArchitecture,
    layer_rows,
)
from nasbench1shot1.nats_size.benchmark import BENCHMARK
from nasbench1shot1.nats_size.numbering import N_ARCHITECTURES, index_of_valid, widths_of
from nasbench1shot1.search_spaces.cell_choices import checked_choice, with_another_operation
from nasbench1shot1.space import Choice, Numbers, OneShotSpace, Place, Weights

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

_N_CHANGES = N_LAYERS * (N_WIDTHS - 1)
_NAMES = tuple(f"layer-{layer}" for layer in range(N_LAYERS))
"""The names that the published BOHB gives to the five choices (exps/NATS-algos/bohb.py of AutoDL-Projects)."""


class NATSSizeSpace(OneShotSpace):
    """All 32,768 choices of a width for each of five layers (`nats_size.architecture.LAYERS`).

    Numbers are the official indices: `space[i]` is architecture i of NATS-Bench's size space. All architectures are
    different networks, so the kinds "all" and "unique" are equal. There are no loose ends.
    """

    name = SPACE_NAME
    id = "nats-size-v1"
    kinds = ("all", "unique")
    kind_descriptions: Mapping[str, str] = {
        "all": "a width for every layer",
        "unique": "distinct networks",
    }
    sizes_caption = "NATS-Bench (size); Dong et al. 2021 report the same number"
    benchmark = BENCHMARK
    operation_key = "widths"
    layer_rows = LAYER_ROWS

    def __repr__(self) -> str:
        return f"NATSSizeSpace('{self.name}', {len(self):,} architectures)"

    # Numbers ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return N_ARCHITECTURES

    def __getitem__(self, index: int) -> WidthArchitecture:
        return WidthArchitecture.unchecked(self.name, widths_of(self.checked_number(index)))

    def index(self, arch: Architecture) -> int:
        """Return the official index of an architecture; raises InvalidInputError if it belongs to another space."""
        return index_of_valid(self._checked(arch).widths)

    def _at(self, positions: Sequence[int]) -> WidthArchitecture:
        """Return the architecture whose widths have the given positions in `WIDTHS`."""
        return WidthArchitecture.unchecked(self.name, tuple(WIDTHS[position] for position in positions))

    def _checked(self, arch: Architecture) -> WidthArchitecture:
        self.check_architecture(arch)
        if isinstance(arch, WidthArchitecture) and arch.space == self.name:
            return arch
        raise InvalidInputError(
            f"'{arch}' is not in {self.name}, whose architectures are written {self.name}:64:48:32:16:8"
        )

    # Counting --------------------------------------------------------------------------------------------------

    def count(self, kind: str, rule: str | None = None) -> int:
        """Return the number of architectures of a kind, 32,768.

        Raises InvalidInputError for an unknown kind, or for any rule: each kind is counted in one way only.
        """
        self.check_kind(kind)
        if rule is not None:
            raise InvalidInputError(f"'{kind}' has only one rule of counting, not '{rule}': remove the rule")
        return len(self)

    def numbers(self, kind: str) -> Numbers:
        """Return the official indices of all architectures, range(32768); raises InvalidInputError like `count`."""
        self.check_kind(kind)
        return range(len(self))

    # Sampling and moving ---------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> WidthArchitecture:
        """Draw an architecture uniformly; `loose_ends` has no effect."""
        check_rng(rng)
        return self[int(rng.integers(len(self)))]

    def neighbours(self, arch: Architecture) -> list[WidthArchitecture]:
        """Return the 35 architectures that differ in the width of one layer, layer by layer."""
        now = self._checked(arch).positions
        return [self._at(with_another_operation(now, number, N_WIDTHS)) for number in range(_N_CHANGES)]

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> WidthArchitecture:
        """Draw one of the neighbours of an architecture uniformly; raises InvalidInputError as `index` does."""
        check_rng(rng)
        number = int(rng.random() * _N_CHANGES)
        return self._at(with_another_operation(self._checked(arch).positions, number, N_WIDTHS))

    def published_mutate(self, arch: Architecture, rng: np.random.Generator) -> WidthArchitecture:
        """Draw a child as in NATS-Bench's published regularized evolution.

        It draws one of the five layers, then one of all eight widths. With probability 1/8, the child therefore equals
        its parent (D-X-Y/AutoDL-Projects, f46486e, `exps/NATS-algos/regularized_ea.py`, `mutate_size_func`). Raises
        InvalidInputError as `index` does.
        """
        check_rng(rng)
        widths = list(self._checked(arch).widths)
        layer = int(rng.random() * N_LAYERS)
        widths[layer] = WIDTHS[int(rng.random() * N_WIDTHS)]
        return WidthArchitecture.unchecked(self.name, tuple(widths))

    # Mixing weights --------------------------------------------------------------------------------------------

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return `widths`: (5, 8), a row for each layer and a column for each width."""
        return {self.operation_key: (N_LAYERS, N_WIDTHS)}

    def choices(self) -> tuple[Choice, ...]:
        """Return the choice of a width for each layer, from the stem to the last cell."""
        return tuple(Choice(self.operation_key, layer, N_WIDTHS, 1) for layer in range(N_LAYERS))

    def discretise(self, mixing: Weights) -> WidthArchitecture:
        """Select the best width of each layer; ties go to the narrowest.

        Args:
            mixing: an array or tensor of `mixing_shapes()`; weights or raw parameters, because only their order
                matters.

        Raises:
            InvalidInputError: keys or shapes are wrong, or a value is NaN.
        """
        return self._at(self.checked_mixing(mixing)[self.operation_key].argmax(axis=1).tolist())

    def one_hot(self, arch: Architecture) -> dict[str, NDArray[np.float32]]:
        """Return mixing weights that compute exactly this architecture: 1 for chosen widths, 0 for all others."""
        return {self.operation_key: np.eye(N_WIDTHS, dtype=np.float32)[list(self._checked(arch).positions)]}

    # The supernet ----------------------------------------------------------------------------------------------

    def is_mixed(self, place: Place) -> bool:
        """Return True: every layer has a width, and the classifier sees the features of the last one."""
        return True

    def weights_at(self, place: Place, mixing: Weights) -> Weights:
        """Return the mixing weights of the layer before a place, and of the layer at this place, (…, 2, 8)."""
        rows = layer_rows(place.kind, place.number)
        return {self.operation_key: mixing[self.operation_key][..., rows, :]}

    def operations_at(self, place: Place, operations: Sequence[Any]) -> Sequence[Any]:
        """Return the chosen widths of the layer before a place, and of the layer at this place."""
        return [operations[row] for row in layer_rows(place.kind, place.number)]

    def check_operations(self, operations: Sequence[Any]) -> None:
        """Raise InvalidInputError unless there is a choice for every row.

        A choice is the position of a width, 0 to 7, or a pair of different positions, whose outputs are interpolated.
        """
        pairs = [choice if isinstance(choice, tuple) else (choice,) for choice in operations]
        for position in range(max(map(len, pairs), default=1)):
            super().check_operations([pair[min(position, len(pair) - 1)] for pair in pairs])
        if any(len(pair) > 2 or len(set(pair)) < len(pair) for pair in pairs):
            raise InvalidInputError(
                f"operations={operations!r} is not valid: give a position, or two different positions, for each row"
            )

    # Integers --------------------------------------------------------------------------------------------------

    def variables(self) -> tuple[int, ...]:
        """Return the number of widths of each of the five layers."""
        return (N_WIDTHS,) * N_LAYERS

    def values_of(self, arch: Architecture) -> tuple[int, ...]:
        """Return the position of each width in `WIDTHS`; raises InvalidInputError like `index`."""
        return self._checked(arch).positions

    def from_values(self, values: Sequence[int]) -> WidthArchitecture:
        """Return the architecture whose widths have these positions in `WIDTHS`; inverse of `values_of`.

        Raises InvalidInputError if there are not five integers from 0 to 7.
        """
        return self._at(checked_values(self.name, values, self.variables()))

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def configuration_space(self) -> "ConfigurationSpace":
        """Return an ordinal for each width, named as in NATS-Bench's BOHB: `layer-0`, …, `layer-4`.

        The published BOHB declares categoricals instead, which do not know that widths have an order.
        """
        from ConfigSpace import ConfigurationSpace, OrdinalHyperparameter

        configurations = ConfigurationSpace(name=self.id)
        configurations.add(OrdinalHyperparameter(name, WIDTHS) for name in _NAMES)
        return configurations

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> WidthArchitecture:
        """Return the architecture of a configuration of `configuration_space()`, or of a mapping with its keys.

        Raises InvalidInputError if a value is missing or is not a width.
        """
        values, widths = dict(configuration), tuple(map(str, WIDTHS))
        return WidthArchitecture.unchecked(
            self.name, tuple(int(checked_choice(values, name, widths)) for name in _NAMES)
        )

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        from ConfigSpace import Configuration

        values = dict(zip(_NAMES, self._checked(arch).widths, strict=True))
        return Configuration(self.configuration_space(), values=values)


SPACE = NATSSizeSpace()
