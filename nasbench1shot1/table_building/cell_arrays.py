"""Many cells as arrays, as the regression's features and the parameter count take them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.cell import MAX_VERTICES
from nasbench1shot1.nasbench101.encoding import Encodings, to_arrays

Integers = NDArray[np.int64]
N_INNER = MAX_VERTICES - 2
OUTPUT = MAX_VERTICES - 1


@dataclass(frozen=True)
class CellArrays:
    """N cells with the output always at vertex 6; vertices that a cell lacks have no edges.

    Attributes:
        adjacency: (N, 7, 7) of 0 and 1.
        operations: (N, 5) operation of vertices 1…5, -1 where there is none.
        n_vertices: (N,).
    """

    adjacency: Integers
    operations: Integers
    n_vertices: Integers

    def __len__(self) -> int:
        return len(self.n_vertices)

    @classmethod
    def from_encodings(cls, codes: Encodings) -> "CellArrays":
        """Unpack encodings, as they are numbered."""
        adjacency, operations, n_vertices = to_arrays(codes)
        rows = np.arange(len(codes))
        inner = n_vertices < MAX_VERTICES
        to_output = adjacency[rows, :, n_vertices - 1]
        adjacency[rows[inner], :, n_vertices[inner] - 1] = 0
        adjacency[:, :, OUTPUT] = to_output
        return cls(adjacency, operations, n_vertices)
