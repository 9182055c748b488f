"""Do similar cells have similar accuracies? Autocorrelation and fitness-distance correlation.

Both are shown in NAS-Bench-101's figure 6 (left).
"""

from itertools import permutations

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Panel, Series, Zero
from nasbench1shot1.experiments.counts import choice_block_space
from nasbench1shot1.experiments.rank_correlation import coefficient_text, pearson, spearman
from nasbench1shot1.experiments.space_statistics.distributions import architecture_counts
from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, Graphs, Integers, graphs
from nasbench1shot1.experiments.space_statistics.values import (
    Floats,
    accuracy,
    cells_of,
    check_counts,
    check_enough,
    known_values,
    vertices_of,
)
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, option, switch
from nasbench1shot1.ground.text import percent
from nasbench1shot1.nasbench101.cost import as_cell
from nasbench1shot1.nasbench101.encoding import MAX_VERTICES, OPERATIONS, Encodings, to_arrays
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.tables.table import Table

CELLS = {2: 1, 3: 7, 4: 91, 5: 2532, 6: 64_542, 7: 423_624}
"""Number of cells with at most the given number of vertices."""
N_INNER, LAST = MAX_VERTICES - 2, MAX_VERTICES - 1
_CHUNK = 65_536


# Autocorrelation along random walks -----------------------------------------------------------------------------------


def autocorrelation(
    table: Table,
    rng: np.random.Generator,
    space: str | ChoiceBlockSpace | None = None,
    split: str = "test",
    epochs: int | None = None,
    steps: int = 100_000,
    shifts: int = 100,
    predicted: bool = False,
) -> pandas.DataFrame:
    """Return the autocorrelation of accuracies along a random walk.

    Without `space`, the walk visits valid encodings, labelled V × V matrices, where V is the number of vertices of the
    table's largest cells. Each step flips one edge or changes one label; a flip that results in an invalid encoding is
    redrawn. In a choice-block space, each step goes to a uniformly drawn neighbour (`space.neighbours`). A walk can
    visit every cell, so the table must have all of them.

    Args:
        table: a table with all cells of at most V vertices, or of the space.
        rng: generator for drawing the start and the steps.
        space: "s1", "s2", "s3" or another choice-block space.
        split, epochs, predicted: select the accuracy, a mean over repeats.
        steps: number of steps of the walk.
        shifts: the largest shift.

    Returns:
        A data frame with `shift` 0, 1, …; `distance`, its square root, because a walk of n steps ends at a distance of
        about √n; and `autocorrelation`.

    Raises:
        OutOfDomainError: the table lacks a cell that the walk can visit.
        InvalidInputError: the walk is too short for the largest shift, or the space does not consist of choice blocks.
    """
    check_counts(steps=steps, shifts=shifts)
    if steps <= shifts + 1:
        raise InvalidInputError(f"a walk of {steps} steps is too short for a shift of {shifts}: give more steps")
    values = known_values(table, accuracy(split), epochs, predicted)
    if space is None:
        rows, where = _walk_encodings(table, values.mean, steps, rng)
    else:
        rows, where = _walk_space(table, values.mean, choice_block_space(space), steps, rng)
    met = values.mean[rows]
    shift = np.arange(shifts + 1)
    columns = {"shift": shift, "distance": np.sqrt(shift), "autocorrelation": shifted_correlations(met, shifts)}
    frame = pandas.DataFrame(columns)
    note = f"{steps:,} steps over {where}, which visited {len(np.unique(rows)):,} cells"
    frame.attrs = values.attributes(split=split, steps=steps, where=where, notes=[note])
    return frame


def autocorrelation_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the autocorrelation against the square root of the shift."""
    curve = Series(frame["distance"], frame["autocorrelation"], line="-", marker="o", size=3)
    across = Axis("√shift [√steps], about the distance after so many steps")
    up = Axis(f"autocorrelation of {frame.attrs['split']} accuracy")
    return [Panel(f"Random walk over {frame.attrs['where']}", across, up, [curve, Zero()])]


def shifted_correlations(series: Floats, shifts: int) -> Floats:
    """Return Pearson's r of a series (N,) with itself shifted by 0, 1, …, `shifts`; NaN if it is constant."""
    return np.array([pearson(series[: len(series) - s], series[s:]) for s in range(shifts + 1)])


def walk(space: Graphs, steps: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return a random walk over valid encodings of V vertices: (steps + 1,) edges as bits and (steps + 1, V - 2)
    operations.

    It starts at a uniformly drawn valid encoding. Each step draws one of the edges and labels uniformly, and flips the
    edge or changes the label to one of the other two. A step that results in an invalid encoding is redrawn.
    """
    valid = space.valid()
    n_edges = len(space.edges).bit_length() - 1
    matrix = int(rng.choice(np.flatnonzero(valid)))
    labels: list[int] = rng.integers(N_OPERATIONS, size=space.inner).tolist()
    is_valid = valid.tolist()
    matrices, all_labels = [matrix], [tuple(labels)]
    while len(matrices) <= steps:
        choices = rng.integers(n_edges + space.inner, size=4096).tolist()
        turns = rng.integers(1, N_OPERATIONS, size=4096).tolist()
        for choice, turn in zip(choices, turns, strict=True):
            if choice >= n_edges:
                labels[choice - n_edges] = (labels[choice - n_edges] + turn) % N_OPERATIONS
            elif is_valid[matrix ^ 1 << choice]:
                matrix ^= 1 << choice
            else:
                continue
            matrices.append(matrix)
            all_labels.append(tuple(labels))
    return np.array(matrices[: steps + 1]), np.array(all_labels[: steps + 1]).reshape(steps + 1, space.inner)


def _walk_encodings(
    table: Table, values: Floats, steps: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], str]:
    vertices = vertices_of(table)
    known, needed = int((~np.isnan(values)).sum()), CELLS[vertices]
    if known < needed:
        raise OutOfDomainError(
            f"a random walk can visit every cell, but the table {table.id} has values for {known:,} of the {needed:,} "
            f"cells with at most {vertices} vertices: open a complete table (the official data), or stay within a "
            f"space that the table covers, such as {option('space', 's1')} (the embedded table also needs "
            f"{switch('predicted')})"
        )
    space = graphs(vertices)
    return table.rows_of_encodings(space.cells(*walk(space, steps, rng))), f"encodings of {vertices} vertices"


def _walk_space(
    table: Table, values: Floats, space: ChoiceBlockSpace, steps: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], str]:
    rows = table.rows_of_encodings(architecture_counts(space)[0])
    known = int(((rows >= 0) & ~np.isnan(values[rows])).sum())
    if known < len(rows):
        share = percent(known / len(rows), 1)
        raise OutOfDomainError(
            f"a random walk can visit every cell, but the table {table.id} has values for {share} of {space.name}: "
            f"open a table with all its cells (the official data), or add {switch('predicted')} to use estimates"
        )
    arch: Architecture = space.sample(rng)
    met = np.empty(steps + 1, np.uint64)
    for step in range(steps + 1):
        met[step] = as_cell(arch).encoding
        arch = space.mutate(arch, rng)
    return table.rows_of_encodings(met), space.name


# Fitness-distance correlation -----------------------------------------------------------------------------------------


def fitness_distance(
    table: Table, split: str = "test", epochs: int | None = None, predicted: bool = False
) -> pandas.DataFrame:
    """Return the accuracy of known cells by their edit distance from the best known cell.

    Returns:
        A data frame with a row for each distance: `distance` (see `cell_distances`), `cells`, and as fractions
        `accuracy` (mean), `std` (n - 1), `lower`, `median` and `upper` (quartiles). `attrs` has the best cell's hash,
        `best`, and the correlations of accuracy with distance over all other cells, `pearson` and `spearman`.

    Raises OutOfDomainError if accuracy is unknown, or known for fewer than four cells: the best and three others.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    check_enough(len(values.rows), 4, f"cells with {values.what}", table)
    codes, known = cells_of(table)[values.rows], values.mean[values.rows]
    best = int(known.argmax())
    distance = cell_distances(codes, int(codes[best]))
    others = np.arange(len(known)) != best
    groups = pandas.Series(known).groupby(distance)
    quartiles = groups.quantile(np.array([0.25, 0.5, 0.75])).unstack().set_axis(["lower", "median", "upper"], axis=1)
    columns = {"cells": groups.size(), "accuracy": groups.mean(), "std": groups.std()}
    frame = pandas.concat([pandas.DataFrame(columns), quartiles], axis=1).rename_axis("distance").reset_index()
    frame.attrs = values.attributes(
        split=split,
        best=table.hashes(values.rows[best])[0],
        pearson=pearson(known[others], distance[others].astype(float)),
        spearman=spearman(known[others], distance[others].astype(float)),
    )
    return frame


def fitness_distance_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the mean accuracy against distance with the interquartile range; distances of a single cell are marked."""
    mean, low, high = (100 * frame[name] for name in ("accuracy", "lower", "upper"))
    single = ["n = 1" if cells == 1 else "" for cells in frame["cells"]]
    marks = [
        Series(
            frame["distance"], mean, label="mean", detail=" (band: 25 to 75 % quantiles)", line="-", marker="o", size=5,
            low=low, high=high, band=True, texts=single,
        ),
        Series(frame["distance"], 100 * frame["median"], label="median", line=":"),
    ]  # fmt: skip
    across = Axis("edit distance to the best known cell [edges and operations]")
    linear, ranks = (coefficient_text(frame.attrs[name]) for name in ("pearson", "spearman"))
    title = f"Accuracy by distance to the best cell (r = {linear}, Spearman {ranks})"
    return [Panel(title, across, Axis(f"{frame.attrs['split']} accuracy [%]"), marks)]


# Edit distance between cells: differing edges and operations with the best matching of vertices -----------------------


def cell_distances(codes: Encodings, target: int) -> NDArray[np.int64]:
    """Return the edit distances of pruned cells from a given cell.

    An edit adds or removes an edge or changes an operation. The distance is the minimum over all ways to match the
    inner vertices of the two cells, so it does not depend on their numbering. A vertex that only one of the cells has
    contributes its edges, but not its operation, because unused vertices of an encoding can have any operation.

    Args:
        codes: (N,) encodings.
        target: encoding of the given cell.

    Returns:
        (N,) distances.
    """
    wanted = _Features(np.array([target], np.uint64))
    orders = np.array(list(permutations(range(N_INNER))))
    edges, labels, present = wanted.permuted(orders)
    out = np.empty(len(codes), np.int64)
    for start in range(0, len(codes), _CHUNK):
        cells = _Features(codes[start : start + _CHUNK])
        # An edge counts if only one cell has it. The operation of a vertex that both have counts if it differs.
        shared = 2 * cells.edges @ edges.T + cells.labels @ labels.T - cells.present @ present.T
        total = cells.edges.sum(axis=1) + wanted.edges.sum()
        out[start : start + _CHUNK] = np.rint(total - shared.max(axis=1))
    return out


class _Features:
    """Features of N cells whose products count common properties; the output is always at vertex 6.

    Attributes:
        edges: (N, 49) adjacency, float32.
        labels: (N, 15) one-hot operations, float32.
        present: (N, 5) whether each inner vertex is present, float32.
    """

    def __init__(self, codes: Encodings) -> None:
        adjacency, operations, n_vertices = to_arrays(codes)
        rows = np.arange(len(codes))
        to_output = adjacency[rows, :, n_vertices - 1]
        adjacency[rows, :, n_vertices - 1] = 0
        adjacency[:, :, LAST] = to_output
        self._adjacency, self._operations = adjacency, operations
        self.edges = adjacency.reshape(len(codes), -1).astype(np.float32)
        self.labels = _one_hot(operations)
        self.present = (operations >= 0).astype(np.float32)

    def permuted(
        self, orders: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return edges, labels and present of the first cell with its inner vertices in each of P orders."""
        edges = []
        for inner in orders:
            order = [0, *(inner + 1), LAST]
            edges.append(self._adjacency[0][np.ix_(order, order)].ravel())
        operations = self._operations[0][orders]
        return np.array(edges, np.float32), _one_hot(operations), (operations >= 0).astype(np.float32)


def _one_hot(operations: NDArray[np.int64]) -> NDArray[np.float32]:
    hot: NDArray[np.bool_] = operations[:, :, None] == np.arange(len(OPERATIONS))
    return hot.reshape(len(operations), -1).astype(np.float32)
