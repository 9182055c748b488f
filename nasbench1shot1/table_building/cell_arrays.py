"""Arrays of many cells, for the regression's features and the parameter count."""

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
    """N cells with the output always at vertex 6; missing vertices have no edges.

    Attributes:
        adjacency: (N, 7, 7) matrices of 0 and 1.
        operations: (N, 5) operations of vertices 1…5, -1 for missing vertices.
        n_vertices: (N,) numbers of vertices.
    """

    adjacency: Integers
    operations: Integers
    n_vertices: Integers

    def __len__(self) -> int:
        return len(self.n_vertices)

    @classmethod
    def from_encodings(cls, codes: Encodings) -> "CellArrays":
        """Unpack encodings without changing the numbering."""
        adjacency, operations, n_vertices = to_arrays(codes)
        rows = np.arange(len(codes))
        inner = n_vertices < MAX_VERTICES
        to_output = adjacency[rows, :, n_vertices - 1]
        adjacency[rows[inner], :, n_vertices[inner] - 1] = 0
        adjacency[:, :, OUTPUT] = to_output
        return cls(adjacency, operations, n_vertices)
