"""The calls of the official APIs that only NAS-Bench-201 and NATS-Bench's topology space have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.api.trial_api import TrialAPI, trainings_named
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench201.architecture import OPERATIONS
from nasbench1shot1.nasbench201.numbering import all_operations
from nasbench1shot1.nasbench201.topology import unique_string

_EXAMPLE = "|nor_conv_1x1~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|"


def str2lists(arch_str: str) -> list[tuple[tuple[str, int], ...]]:
    """Return the incoming edges of each node after the input, as pairs of operation and source node.

    Raises InvalidInputError (a ValueError) for a malformed string.
    """
    try:
        return [tuple(_edge(edge) for edge in node.split("|") if edge) for node in arch_str.split("+")]
    except (AttributeError, TypeError, ValueError):
        raise InvalidInputError(f"{arch_str!r} is not an architecture string: write, for example, {_EXAMPLE}") from None


def str2matrix(arch_str: str, search_space: Sequence[str] = OPERATIONS) -> NDArray[np.float64]:
    """Return the index of each edge's operation, (nodes, nodes) float64; row: target, column: source; 0: no edge.

    Args:
        arch_str: an architecture string.
        search_space: the operations, in the order of their indices.

    Raises InvalidInputError (a ValueError) for a malformed string or an operation that is not in `search_space`.
    """
    nodes = str2lists(arch_str)
    matrix = np.zeros((len(nodes) + 1, len(nodes) + 1))
    for target, edges in enumerate(nodes, start=1):
        for operation, source in edges:
            if operation not in search_space:
                raise unknown_name("operation", operation, search_space)
            if source >= target:
                raise InvalidInputError(f"{arch_str!r} has an edge from node {source} to {target}: write {_EXAMPLE}")
            matrix[target, source] = list(search_space).index(operation)
    return matrix


def _edge(text: str) -> tuple[str, int]:
    operation, source = text.split("~")
    return operation, int(source)


class TopologyAPI(TrialAPI):
    """`TrialAPI` of the topology space."""

    trainings = trainings_named("nasbench201")
    str2lists = staticmethod(str2lists)
    str2matrix = staticmethod(str2matrix)

    def get_unique_str(self, arch: Any) -> str:
        """Return the string of an architecture's topology, equal for isomorphic architectures.

        Raises InvalidInputError (a ValueError) for an unknown architecture.
        """
        return unique_string(all_operations()[self._known_index(arch)].tolist(), zero_rule=True)
