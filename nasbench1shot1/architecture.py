"""Architectures: discrete choices in a search space, which all parts of the package exchange.

Every family of spaces has its own form: a subclass of `Architecture` with its own text form.
"""

import re
from importlib import import_module
from typing import Any, ClassVar, Self

from nasbench1shot1.ground.errors import InvalidInputError

CELL_FORM = "nasbench1shot1.nasbench101.architecture:CellArchitecture"
EDGE_FORM = "nasbench1shot1.nasbench201.architecture:EdgeArchitecture"
FORMS = (CELL_FORM, EDGE_FORM)
"""The built-in forms as "module:class"; each is imported only when it is used."""
CELL_NETWORK = "nasbench1shot1.nasbench101.network:build_network"
CELL_TRAINING = "nasbench1shot1.cell_training.config:TrainingConfig"
EDGE_NETWORK = "nasbench1shot1.nasbench201.network:build_edge_network"
EDGE_TRAINING = "nasbench1shot1.cell_training.config:EdgeTrainingConfig"

_SPACE = re.compile(r"[\w-]+")


class Architecture:
    """An architecture of a search space: an immutable, hashable value. Equal architectures have equal texts.

    This class is the base of all forms. `Architecture(space, parents, operations)` creates a
    `nasbench101.architecture.CellArchitecture`, the form of s1, s2, s3 and nb101. The form of nb201 is
    `nasbench201.architecture.EdgeArchitecture`.

    Attributes:
        space: the short name of its search space, such as "s1".
    """

    SYNTAX: ClassVar[str] = ""
    """The form of the text with an example, for messages."""
    NETWORK: ClassVar[str] = ""
    """The function that `networks.build_network` calls for an architecture of this form, as "module:function"."""
    TRAINING: ClassVar[str] = ""
    """The options that train these networks, as "module:Class"; their defaults are the protocol of the benchmark."""

    space: str

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Create a `CellArchitecture` when called on `Architecture` itself, else an instance of the subclass."""
        made: Self = object.__new__(_form(CELL_FORM) if cls is Architecture else cls)
        return made

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

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
        forms = [_form(name) for name in FORMS] if cls is Architecture else [cls]
        for form in forms:
            if (found := form.from_text(str(text).strip())) is not None:
                return found
        likely = [form for form in forms if form.resembles(str(text).strip())] or forms
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


def check_space_name(name: object) -> None:
    """Raise InvalidInputError if a value cannot be the name of a space."""
    if not isinstance(name, str) or not _SPACE.fullmatch(name):
        raise InvalidInputError(f"{name!r} is not a valid name of a space: use letters, digits, _ and -, as in 's1'")


def _form(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
