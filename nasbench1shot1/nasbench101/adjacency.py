"""Checks of adjacency matrices."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.ground.errors import InvalidInputError


def as_square_array(matrix: ArrayLike, n_labels: int) -> NDArray[Any]:
    """Return a copy of a matrix as a (V, V) array of the same type; raises InvalidInputError unless V = n_labels."""
    try:
        given = np.array(matrix)
    except ValueError as error:
        raise InvalidInputError(f"the adjacency matrix is not a rectangle of numbers ({error})") from error
    if given.shape != (n_labels, n_labels):
        raise InvalidInputError(
            f"the adjacency matrix has shape {given.shape}, but there are {n_labels} labels: give V × V entries and V "
            "labels"
        )
    return given


def check_bits(adjacency: NDArray[Any]) -> None:
    """Raise InvalidInputError for an entry that is neither 0 nor 1."""
    if not ((adjacency == 0) | (adjacency == 1)).all():
        raise InvalidInputError("the adjacency matrix may only contain 0 and 1")


def check_ascending(adjacency: NDArray[Any]) -> None:
    """Raise InvalidInputError for an edge from a vertex to itself or to a lower vertex."""
    if np.tril(adjacency).any():
        raise InvalidInputError(
            "the adjacency matrix must be strictly upper triangular: number vertices along the edges"
        )
