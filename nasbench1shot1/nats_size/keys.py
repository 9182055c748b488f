"""The row keys of tables of the size space: the official index."""

from collections.abc import Mapping

from nasbench1shot1.nats_size.architecture import SPACE_NAME, WidthArchitecture
from nasbench1shot1.nats_size.numbering import N_ARCHITECTURES, index_of_valid, widths_of
from nasbench1shot1.tables.index_keys import IndexKeys


class WidthKeys(IndexKeys):
    """The rows of a table of the size space by official index."""

    FORM = WidthArchitecture
    WHOLE = SPACE_NAME
    SPACES: Mapping[str, str] = {SPACE_NAME: "nats-size-v1"}
    SIZES: Mapping[str, int] = {SPACE_NAME: N_ARCHITECTURES}

    @staticmethod
    def index_of(architecture: WidthArchitecture) -> int:
        """Return the official index of an architecture."""
        return index_of_valid(architecture.widths)

    @staticmethod
    def architecture_at(index: int) -> WidthArchitecture:
        """Return the architecture with a valid official index."""
        return WidthArchitecture.unchecked(SPACE_NAME, widths_of(index))
