"""A small file in the official format and the expected answers."""

from itertools import product
from pathlib import Path

import numpy as np
from official_files import OPERATIONS, Graph, Training, graphs_of, made_up, write_file

from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import Table, load_table

INCEPTION = (
    [
        [0, 1, 1, 1, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    ["input", OPERATIONS[1], *[OPERATIONS[0]] * 3, OPERATIONS[2], "output"],
)
"""The example in the documentation of nasbench: 1×1, 3×3, 3×3 after 3×3, and max-pooling."""


def graph_of(cell: Cell, parameters: int) -> Graph:
    """A cell as represented in a file."""
    return Graph(cell.hash, "".join(map(str, cell.matrix.ravel().tolist())), ",".join(cell.ops), parameters)


def all_cells(most_vertices: int) -> list[Cell]:
    """All distinct cells of at most this many vertices."""
    found: dict[str, Cell] = {}
    for n in range(2, most_vertices + 1):
        places = [(x, y) for y in range(n) for x in range(y)]
        for bits in product((0, 1), repeat=len(places)):
            matrix = np.zeros((n, n), int)
            matrix[tuple(zip(*places, strict=True))] = bits
            if matrix[:-1].any(axis=1).all() and matrix[:, 1:].any(axis=0).all() and matrix.sum() <= 9:
                for inner in product(OPERATIONS, repeat=n - 2):
                    cell = Cell(matrix, ["input", *inner, "output"])
                    found.setdefault(cell.hash, cell)
    return list(found.values())


def small_trainings(sample: Path, epochs: tuple[int, ...] = (4, 12, 36, 108)) -> list[Training]:
    """Three trainings per budget of the Inception-like cell, all 91 cells of at most four vertices and a few real
    cells of up to seven vertices, not sorted by hash."""
    graphs = [graph_of(Cell(*INCEPTION), 2_694_282)]
    graphs += [graph_of(cell, 1_000_000 + i) for i, cell in enumerate(all_cells(4))]
    known = {graph.hash for graph in graphs}
    graphs += [graph for graph in graphs_of(sample, slice(7, None, 900)) if graph.hash not in known]
    return made_up(graphs, epochs)


def small_file(path: Path, sample: Path) -> Path:
    """A file of these trainings."""
    return write_file(path, small_trainings(sample))


def small_table(folder: Path, sample: Path) -> Table:
    """The table imported from this file into `folder`."""
    import_table(small_file(folder / "small.tfrecord", sample), folder / "table", report=lambda line: None)
    return load_table(folder / "table")
