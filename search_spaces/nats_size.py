"""The size space of NATS-Bench (Dong et al. 2021, section 2.2): one of eight widths for each of five layers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import values_by_name
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
from nasbench1shot1.search_spaces.cell_choices import checked_choice
from nasbench1shot1.search_spaces.independent_choices import IndependentChoices
from nasbench1shot1.space import Place, Weights

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

_NAMES = tuple(f"layer-{layer}" for layer in range(N_LAYERS))
"""The names that the published BOHB gives to the five choices (exps/NATS-algos/bohb.py of AutoDL-Projects)."""


class NATSSizeSpace(IndependentChoices[WidthArchitecture]):
    """All 32,768 choices of a width for each of five layers (`nats_size.architecture.LAYERS`).

    Numbers are the official indices: `space[i]` is architecture i of NATS-Bench's size space. All architectures are
    different networks, so the kinds "all" and "unique" are equal. The entries of a choice are the positions of the
    widths in `WIDTHS`, narrowest first.
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
    n_choices, n_entries = N_LAYERS, N_WIDTHS

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

    def _at(self, positions: tuple[int, ...]) -> WidthArchitecture:
        return WidthArchitecture.unchecked(self.name, tuple(WIDTHS[position] for position in positions))

    def _positions(self, arch: Architecture) -> tuple[int, ...]:
        return self._checked(arch).positions

    def _checked(self, arch: Architecture) -> WidthArchitecture:
        self.check_architecture(arch)
        if isinstance(arch, WidthArchitecture) and arch.space == self.name:
            return arch
        raise InvalidInputError(
            f"'{arch}' is not in {self.name}, whose architectures are written {self.name}:64:48:32:16:8"
        )

    # Moving ----------------------------------------------------------------------------------------------------

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

    # The supernet ----------------------------------------------------------------------------------------------

    def numbers_of_picks(self) -> NDArray[np.int64]:
        """Return the official index of every combination of widths, as in `OneShotSpace`."""
        return np.arange(len(self)).reshape(self.variables())

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
        super().check_operations(operations)
        if any(isinstance(choice, tuple) and len(choice) != 2 for choice in operations):
            raise InvalidInputError(
                f"operations={operations!r} is not valid: give a position, or two different positions, for each row"
            )

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

        Raises InvalidInputError if a name is missing or unknown, or a value is not a width.
        """
        values, widths = values_by_name(configuration, self.name, _NAMES), tuple(map(str, WIDTHS))
        return WidthArchitecture.unchecked(
            self.name, tuple(int(checked_choice(values, name, widths)) for name in _NAMES)
        )

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        from ConfigSpace import Configuration

        values = dict(zip(_NAMES, self._checked(arch).widths, strict=True))
        return Configuration(self.configuration_space(), values=values)


SPACE = NATSSizeSpace()
