"""Parsing of NAS-Bench-201's architecture strings, with the same results as the official APIs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench201.operations import OPERATIONS
from nasbench1shot1.nasbench201.trainings import CLASSES

_EXAMPLE = "|nor_conv_1x1~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|"


def str2lists(arch_str: str) -> list[tuple[tuple[str, int], ...]]:
    """Return the incoming edges of each node after the input, as pairs of operation and source node.

    Raises InvalidInputError (a ValueError) for a malformed string.
    """
    try:
        return [tuple(_edge(edge) for edge in node.split("|") if edge) for node in arch_str.split("+")]
    except (AttributeError, ValueError):
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


def net_config(arch_str: str, dataset: str) -> dict[str, Any]:
    """Return the official configuration of the published network, which AutoDL-Projects builds.

    Raises InvalidInputError for an unknown data set.
    """
    if not isinstance(dataset, str) or dataset not in CLASSES:
        raise unknown_name("data set", dataset, CLASSES)
    return {"name": "infer.tiny", "C": 16, "N": 5, "arch_str": arch_str, "num_classes": CLASSES[dataset]}


def _edge(text: str) -> tuple[str, int]:
    operation, source = text.split("~")
    return operation, int(source)
