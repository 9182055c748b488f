"""The architectures of a frame's rows: texts, identifiers of networks, numbers, or columns of a configuration."""

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.choices import Choices
from nasbench1shot1.ground.errors import InvalidInputError, quote, shorten
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    import pandas

ARCHITECTURE = "architecture"
_MOST_ENUMERATED = 2_000_000
"""Largest space whose networks are listed in memory by their identifiers."""


def cell_error(place: int, column: object, what: str) -> InvalidInputError:
    """Return the error for a value; the first row below the header is row 1."""
    return InvalidInputError(f"row {place + 1}, column '{column}': {what}")


def read_architectures(frame: "pandas.DataFrame", space: SearchSpace) -> list[Architecture]:
    """Return the architecture of each row; equal rows are read once.

    Args:
        frame: a frame with the column `architecture`, or with the columns of a configuration of the space, under the
            names of `configuration_space()` or of `nb.objective`.
        space: the search space.

    Raises InvalidInputError, which names the row and the column, if a column or a value is missing or unknown.
    """
    reader = _Reader(space)
    if ARCHITECTURE in frame:
        values = frame[ARCHITECTURE].tolist()
        known: dict[Hashable, Architecture] = {}
        for place, value in enumerate(values):
            if not isinstance(value, Hashable):
                raise cell_error(place, ARCHITECTURE, f"'{shorten(str(value))}' is not a text or a number: correct it")
            if value not in known:
                known[value] = reader.architecture(value, place)
        return [known[value] for value in values]
    columns = reader.columns(frame)
    rows = list(zip(*(map(_as_text, frame[column].tolist()) for column in columns.values()), strict=True))
    configured: dict[tuple[str | None, ...], Architecture] = {}
    for place, row in enumerate(rows):
        if row not in configured:
            configured[row] = reader.configured(dict(zip(columns, row, strict=True)), columns, place)
    return [configured[row] for row in rows]


class _Reader:
    """Reads architectures of one space."""

    def __init__(self, space: SearchSpace) -> None:
        self._space = space

    @cached_property
    def _choices(self) -> Choices:
        return Choices(self._space)

    def columns(self, frame: "pandas.DataFrame") -> dict[str, str]:
        """Return the frame's column for each parameter; raises InvalidInputError if one is missing."""
        found, lacking = dict[str, str](), []
        for name, original in self._choices.original_names.items():
            if original in frame or name in frame:
                found[name] = original if original in frame else name
            else:
                lacking.append(original)
        if lacking:
            raise InvalidInputError(
                f"the column '{ARCHITECTURE}' is missing: add it, or a column for each hyperparameter of "
                f"{self._space.name} (missing: {', '.join(lacking)})"
            )
        return found

    def architecture(self, value: Any, place: int) -> Architecture:
        """Return the architecture that a value means; raises InvalidInputError if it means none of the space."""
        text = _as_text(value) if not isinstance(value, Architecture) else str(value)
        if text is None:
            raise cell_error(place, ARCHITECTURE, "the value is missing: fill it in, or remove the row")
        try:
            if text.isdecimal() and text.isascii() and len(text) < 20:  # a hash can consist of decimal digits
                if int(text) < len(self._space):
                    return self._space[int(text)]
            else:
                return self._parsed(text)
        except InvalidInputError as error:
            raise cell_error(place, ARCHITECTURE, quote(error)) from error
        raise cell_error(
            place,
            ARCHITECTURE,
            f"{self._space.name} has no architecture {shorten(text)}: give a number from 0 to {len(self._space) - 1}",
        )

    def _parsed(self, text: str) -> Architecture:
        """Return an architecture from its text, the identifier of its network, or the text of another space."""
        try:
            arch: Architecture = self._space.benchmark.load("architecture").parse(text)
        except InvalidInputError:
            if text in self._networks:
                return self._space[self._networks[text]]
            raise
        if arch.space != self._space.name and arch.network_id in self._networks:
            return self._space[self._networks[arch.network_id]]
        self._space.index(arch)  # raises for an architecture outside the space
        return arch

    @cached_property
    def _networks(self) -> Mapping[str, int]:
        """The number of the architecture of each network, by the network's identifier; empty in a huge space."""
        if len(self._space) > _MOST_ENUMERATED:
            return {}
        kinds = self._space.kinds
        numbers = self._space.numbers("unique" if "unique" in kinds else kinds[0])
        return {self._space[int(number)].network_id: int(number) for number in numbers}

    def configured(self, values: Mapping[str, str | None], columns: Mapping[str, str], place: int) -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is not in the space."""
        for name, value in values.items():
            if value is None:
                raise cell_error(place, columns[name], "the value is missing: fill it in, or remove the row")
            try:
                self._choices.check(name, value)
            except InvalidInputError as error:
                raise cell_error(place, columns[name], quote(error)) from error
        found = self._choices.read(values).architecture
        if found is None:
            raise InvalidInputError(
                f"row {place + 1}, columns '{next(iter(columns.values()))}' and others: the configuration is not in "
                f"{self._space.name}: correct it, or remove the row"
            )
        return found


def _as_text(value: Any) -> str | None:
    """Return a value as a choice's text, 2.0 as "2"; None for a missing value."""
    if value is None or (isinstance(value, float | np.floating) and value != value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip() or None
