"""Architectures: discrete choices in a search space, which all parts of the package exchange.

Every benchmark has its own form: a subclass of `Architecture` with its own text form.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.benchmark import Benchmark, benchmarks
from nasbench1shot1.ground.errors import InvalidInputError

if TYPE_CHECKING:
    import networkx

_SPACE = re.compile(r"(?![0-9]+$)[\w-]+")
_SPACE_ID = re.compile(r"[\w-][\w.-]*")


class Bars(NamedTuple):
    """The sizes that an architecture chooses, one for each layer, as `nb.draw_cell` draws them.

    Attributes:
        names: the names of the L layers, from input to output.
        kinds: the kind of each layer, which selects its colour (L integers).
        values: the chosen size of each layer (L integers).
        candidates: the C possible sizes of every layer, ascending.
        weights: the mixing weight of each candidate, (L, C), NaN for excluded ones; None if they are unknown.
        unit: what is counted, such as "channels".
    """

    names: tuple[str, ...]
    kinds: tuple[int, ...]
    values: tuple[int, ...]
    candidates: tuple[int, ...]
    weights: NDArray[np.float64] | None
    unit: str


class Architecture:
    """An architecture of a search space: an immutable, hashable value. Equal architectures have equal texts.

    This class is the base of all forms; the record of a benchmark names the form of its architectures.
    `Architecture(space, parents, operations)` creates a `CellArchitecture`, the form of s1, s2, s3 and nb101.

    Attributes:
        space: the short name of its search space, such as "s1".
        benchmark: the record of the benchmark to which this form belongs.
    """

    benchmark: ClassVar[Benchmark]
    SYNTAX: ClassVar[str] = ""
    """The form of the text with an example, for messages."""
    space: str

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Create an instance of `cls`, or, for `Architecture` itself, an instance of the first benchmark's form."""
        made: Self = object.__new__(next(_forms()) if cls is Architecture else cls)
        return made

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text: equal architectures have equal pickles, by which joblib.Memory recognizes arguments."""
        return type(self).parse, (str(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the architecture itself, which is immutable."""
        return self

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the result of `str(architecture)`; only the format is checked.

        `SearchSpace.index` checks whether the architecture is in its space.

        Args:
            text: a text such as "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3", or NAS-Bench-201's string
                for an architecture.

        Raises:
            InvalidInputError: the text is not an architecture, or does not have this form.
        """
        forms = (cls,) if cls is not Architecture else chain(_forms(), _other_forms())
        for form in forms:
            if (found := form.from_text(str(text).strip())) is not None:
                return found
        likely = [cls] if cls is not Architecture else likely_forms(str(text))
        raise InvalidInputError(f"'{text}' is not an architecture: write {' or '.join(form.SYNTAX for form in likely)}")

    @classmethod
    def resembles(cls, text: str) -> bool:
        """Return whether invalid text was probably meant in this form, so that an error describes only this form."""
        return False

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """Read text in this form; return None if it has another form.

        Raises InvalidInputError if it has this form, but is not a valid architecture.
        """
        raise NotImplementedError

    @property
    def network_id(self) -> str:
        """The string that identifies the network in tables and records, such as NAS-Bench-101's MD5 of the cell.

        Architectures whose network is trained only once, such as copies of a cell, have equal identifiers.
        """
        raise NotImplementedError

    def operation_counts(self) -> Mapping[str, int] | None:
        """Return how often each operation of the space occurs; None if its number of places for operations varies.

        Searches on spaces with operation counts show them by epoch, because some methods collapse to few operations.
        """
        return None

    def drawn_graph(self, weights: Mapping[str, NDArray[Any]] | None = None) -> "networkx.DiGraph[int] | None":
        """Return the labelled graph that `nb.draw_cell` draws; None if architectures of this form are not graphs.

        Nodes are numbered in topological order: node 0 is the input, the last one the output. Loose ends are kept.

        - Attributes of a node: `label` is the displayed text; `operation` is the index of its operation, which selects
          the colour, or None. Optional: `decided`, whether the search has decided the operation.
        - Attributes of an edge: `label` is the displayed text; `chosen` tells whether the architecture has the edge;
          `weight` is a mixing weight from 0 to 1, which sets the width, or NaN for an excluded edge. Optional:
          `decided`, whether the choice of the edge is decided.
        - Attributes of the graph: `node_characters` and `edge_characters` are the lengths of the longest possible lines
          of labels in graphs of this form, so that all their pictures have the same layout.

        Args:
            weights: the mixing weights of one epoch, for every key of the space's `mixing_shapes()`; NaN for excluded
                entries. If given, the graph has all candidate edges, and the label of a chosen operation includes its
                weight.

        Raises:
            InvalidInputError: "operations" is missing, or an array has another shape.
        """
        return None

    def drawn_bars(self, weights: Mapping[str, NDArray[Any]] | None = None) -> Bars | None:
        """Return the sizes that `nb.draw_cell` draws as bars; None if architectures of this form are not sizes.

        Args:
            weights: the mixing weights of one epoch, as for `drawn_graph`. If given, the bars have weights.

        Raises:
            InvalidInputError: a key is missing, or an array has another shape.
        """
        return None


def checked_weights(
    weights: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], needed: str = "operations"
) -> Mapping[str, NDArray[Any]]:
    """Return the mixing weights of `Architecture.drawn_graph`.

    Args:
        weights: the mixing weights of one epoch.
        shapes: the shapes of arrays by key.
        needed: the required key. Other keys may be missing, because spaces have no keys for choices without
            alternatives.

    Raises:
        InvalidInputError: the required key is missing, or an array has another shape.
    """
    for key, shape in shapes.items():
        if key in weights and np.shape(weights[key]) != shape:
            raise InvalidInputError(
                f"parameters['{key}'] has the shape {np.shape(weights[key])}, not {shape}: give the parameters of "
                "one epoch, such as run.architecture_parameters[key][-1] for every key"
            )
    if needed not in weights:
        raise InvalidInputError(f"parameters lack '{needed}': give an array for every key of space.mixing_shapes()")
    return weights


LEFT, EXCLUDED = "\N{BLACK CIRCLE}", "\N{WHITE CIRCLE}"
"""Symbols for the candidates of a choice in pictures, in the order of the candidates."""


def weight_text(weights: NDArray[Any], entry: int) -> str:
    """Return the text of a chosen entry's weight: "0.52", or "0.52 ●○●" if other entries of the vector are excluded."""
    excluded = np.isnan(weights)
    text = f"{weights[entry]:.2f}"
    return f"{text} {''.join(EXCLUDED if each else LEFT for each in excluded)}" if excluded.any() else text


def is_decided(weights: NDArray[Any], picks: int = 1) -> bool:
    """Return whether only as many entries of a vector of mixing weights are left as an architecture takes."""
    excluded = np.isnan(weights)
    return bool(excluded.any()) and int((~excluded).sum()) <= picks


def check_space_name(name: object) -> None:
    """Raise InvalidInputError if a value cannot be the name of a space."""
    if not isinstance(name, str) or not _SPACE.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} is not a valid name of a space: use letters, digits, _ and -, and not only digits, as in 's1'"
        )


def check_space_id(id: object) -> None:
    """Raise InvalidInputError if a value cannot be the versioned id of a space, which is also the name of a file."""
    if not isinstance(id, str) or not _SPACE_ID.fullmatch(id):
        raise InvalidInputError(
            f"{id!r} is not a valid id of a space: use letters, digits, _, - and ., as in 'nb101-s1-v1'"
        )


def is_text_form(x: Any) -> bool:
    """Return whether a value is a text that is meant as an architecture, rather than as a hash or an official index."""
    return isinstance(x, str) and bool({":", "|"} & set(x))


def parsed(x: Any) -> Any:
    """Return the architecture of a text that is meant as one, and any other value unchanged, such as a hash or a cell.

    Raises InvalidInputError if the text is not an architecture.
    """
    return Architecture.parse(x) if is_text_form(x) else x


def likely_forms(text: str) -> list[Any]:
    """Return the forms in which an invalid text was probably meant: of the space that it names, or similar ones."""
    every = list(_forms())
    name = text.strip().partition(":")[0]
    named = [form for form in every if name in form.benchmark.load("keys").SPACES]
    return named or [form for form in every if form.resembles(text.strip())] or every


def _forms() -> Iterator[Any]:
    """Iterate over the forms of all registered benchmarks; each is imported only when it is reached."""
    return (benchmark.load("architecture") for benchmark in benchmarks())


def _other_forms() -> Iterator[Any]:
    """Iterate over the forms of benchmarks without registration whose modules are imported."""
    for form in Architecture.__subclasses__():
        is_imported = getattr(sys.modules.get(form.__module__), form.__name__, None) is form
        if is_imported and {"benchmark", "from_text"} <= vars(form).keys():
            yield form
