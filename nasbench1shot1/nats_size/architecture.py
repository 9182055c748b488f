"""The architectures of NATS-Bench's size space: one of eight widths for each of five layers (section 2.2)."""

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, Bars, check_space_name, checked_weights
from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import BEST, EdgeArchitecture
from nasbench1shot1.nats_size.benchmark import BENCHMARK

WIDTHS = (8, 16, 24, 32, 40, 48, 56, 64)
"""The candidates: numbers of channels, ascending. Λ and one-hot rows have the same order."""

LAYERS = ("stem and cell 1", "reduction 1", "cell 2", "reduction 2", "cell 3")
"""What each of the five widths c0 … c4 determines; the stem and the first cell share the first width.

The README of D-X-Y/NATS-Bench describes other layers. The code that trained the networks determines these
(`xautodl/models/shape_infers/InferTinyCellNet.py` in AutoDL-Projects), and only these match the published numbers of
parameters.
"""

N_LAYERS, N_WIDTHS = len(LAYERS), len(WIDTHS)

CELL = EdgeArchitecture.parse(BEST)
"""The topology of every cell."""

LAYER_ROWS = (0, *range(N_LAYERS))
"""The row of Λ of each layer of the supernet, from the stem to the last cell: stem and first cell share a row."""

SPACE_NAME = "nats-size"
"""The space of official texts, which do not name one."""

_EXAMPLE = "64:48:32:16:8"
_TEXT = re.compile(r"(?:(?P<space>(?![0-9]+:)[\w-]+):)?(?P<widths>[0-9]{1,9}(?::[0-9]{1,9}){4})")
"""The name of a space is never a number: 64:48:32:16:8:8 has one width too many."""
_SIMILAR = re.compile(r"[0-9:]+")


def checked_widths(widths: Iterable[int]) -> tuple[int, ...]:
    """Return the widths of the five layers as Python integers.

    Raises:
        InvalidInputError: they are not five integers, or one is not in `WIDTHS`.
    """
    try:
        checked = tuple(int(operator.index(width)) for width in widths)
    except TypeError as error:
        raise InvalidInputError(
            f"the widths of an architecture of {SPACE_NAME} are {N_LAYERS} integers, such as (64, 48, 32, 16, 8), not "
            f"{widths!r}"
        ) from error
    if len(checked) != N_LAYERS:
        raise InvalidInputError(
            f"an architecture of {SPACE_NAME} has {N_LAYERS} widths, not {len(checked)}: give one for each of "
            f"{', '.join(LAYERS)}"
        )
    for width, layer in zip(checked, LAYERS, strict=True):
        if width not in WIDTHS:
            raise InvalidInputError(
                f"{width} is not a width of {SPACE_NAME} ({layer} of '{':'.join(map(str, checked))}'): choose from "
                f"{', '.join(map(str, WIDTHS))}"
            )
    return checked


def layer_rows(kind: str, number: int) -> tuple[int, int]:
    """Return the rows of Λ of the layer before a place of a supernet, and of the layer at this place.

    `kind` and `number` are those of `space.Place`. The head has the row of the last cell.
    """
    layer = {"stem": 0, "cell": 1 + 2 * number, "reduction": 2 * number, "head": len(LAYER_ROWS)}[kind]
    before, own = max(layer - 1, 0), min(layer, len(LAYER_ROWS) - 1)
    return LAYER_ROWS[before], LAYER_ROWS[own]


@dataclass(frozen=True, repr=False)
class WidthArchitecture(Architecture):
    """An architecture of NATS-Bench's size space; immutable, hashable, comparable.

    Attributes:
        space: the short name of its search space, "nats-size".
        widths: the number of channels of each of `LAYERS`, a value of `WIDTHS` (5 integers).

    Lists and NumPy integers are accepted and converted to a tuple of Python integers.

    Raises:
        InvalidInputError: there are not five integers, or one is not in `WIDTHS`.
    """

    benchmark: ClassVar[Benchmark] = BENCHMARK
    SYNTAX: ClassVar[str] = f"space:width:width:width:width:width, for example {SPACE_NAME}:{_EXAMPLE}"

    space: str
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        check_space_name(self.space)
        object.__setattr__(self, "widths", checked_widths(self.widths))

    @classmethod
    def unchecked(cls, space: str, widths: tuple[int, ...]) -> "WidthArchitecture":
        """Create an architecture from valid widths without checks; for search spaces."""
        arch = object.__new__(cls)
        arch.__dict__.update(space=space, widths=widths)
        return arch

    @classmethod
    def from_text(cls, text: str) -> "WidthArchitecture | None":
        """Read "space:64:48:32:16:8", or only the widths (space "nats-size"); None for text in another format.

        Raises:
            InvalidInputError: a width is not in `WIDTHS`.
        """
        match = _TEXT.fullmatch(text)
        if not match:
            return None
        arch = cls(match["space"] or SPACE_NAME, tuple(map(int, match["widths"].split(":"))))
        return arch if arch.official == match["widths"] else None  # "064" is not written as a width

    @classmethod
    def resembles(cls, text: str) -> bool:
        """Return whether text consists of numbers and colons."""
        return _SIMILAR.fullmatch(text) is not None

    @property
    def official(self) -> str:
        """NATS-Bench's text of the architecture, such as "64:48:32:16:8"."""
        return ":".join(map(str, self.widths))

    @property
    def positions(self) -> tuple[int, ...]:
        """The position of each width in `WIDTHS`, 0 to 7: the entry of each row of Λ."""
        return tuple(map(WIDTHS.index, self.widths))

    def drawn_bars(self, weights: Mapping[str, NDArray[Any]] | None = None) -> Bars:
        """Return the widths that `nb.draw_cell` draws (`Architecture.drawn_bars`)."""
        rows = None
        if weights is not None:
            rows = checked_weights(weights, {"widths": (N_LAYERS, N_WIDTHS)}, needed="widths")["widths"]
        kinds = tuple(int(name.startswith("reduction")) for name in LAYERS)
        return Bars(LAYERS, kinds, self.widths, WIDTHS, rows, "channels")

    @property
    def network_id(self) -> str:
        """NATS-Bench's text, because all architectures are different networks."""
        return self.official

    def __str__(self) -> str:
        return f"{self.space}:{self.official}"
