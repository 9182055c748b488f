"""The row keys of NAS-Bench-201 tables: the official index."""

from collections.abc import Mapping

from nasbench1shot1.nasbench201.architecture import SPACE_NAME, EdgeArchitecture
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations, index_of_valid
from nasbench1shot1.tables.index_keys import IndexKeys


class EdgeKeys(IndexKeys):
    """The rows of a table of NAS-Bench-201 by official index."""

    FORM = EdgeArchitecture
    WHOLE = SPACE_NAME
    SPACES: Mapping[str, str] = {SPACE_NAME: "nb201-v1"}
    SIZES: Mapping[str, int] = {SPACE_NAME: N_ARCHITECTURES}

    @staticmethod
    def index_of(architecture: EdgeArchitecture) -> int:
        """Return the official index of an architecture."""
        return index_of_valid(architecture.operations)

    @staticmethod
    def architecture_at(index: int) -> EdgeArchitecture:
        """Return the architecture with a valid official index."""
        return EdgeArchitecture.unchecked(SPACE_NAME, tuple(all_operations()[index].tolist()))
