"""The best cells of a table: their isomorphic copies and the share of the space near them.

Both are shown in NAS-Bench-101's figure 6 (right).
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Bars, Panel, Series
from nasbench1shot1.display.colours import VERMILION
from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, Graphs, Integers, checked_rule, graphs
from nasbench1shot1.experiments.space_statistics.values import (
    NORMAL,
    Values,
    accuracy,
    cells_of,
    check_counts,
    known_values,
    vertices_of,
)
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_EDGES, VERTEX_BIT, Encodings, to_arrays
from nasbench1shot1.nasbench101.numbering import numberings
from nasbench1shot1.search_spaces.wirings import labellings
from nasbench1shot1.tables.table import Table

WITHOUT_REPEATS = 12
"""Default number of top cells without a standard error: the number that NAS-Bench-101 found with one."""
_MOST = 2_000_000
_PRODUCTS = 20_000_000
"""Number of distances computed at a time, which take 80 MB."""


# Isomorphic copies: encodings that prune to the top cells -------------------------------------------------------------


def isomorphic_copies(
    table: Table,
    split: str = "test",
    epochs: int | None = None,
    top: int | None = None,
    vertices: int | None = None,
    rule: str = "pruned",
    predicted: bool = False,
) -> pandas.DataFrame:
    """Return the top cells and the number of encodings (labelled V × V matrices) that prune to each.

    Args:
        table: a table of NAS-Bench-101.
        split: the split of the accuracy.
        epochs: budget. Default: the table's full budget.
        top: number of cells. Default: all cells within two standard errors of the best, or without repeats the 12 best.
        vertices: V, the number of vertices of an encoding. Default: the number of vertices of the table's largest
            cells; 7 in NAS-Bench-101, which has 2²¹ · 3⁵ = 509,607,936 encodings.
        rule: whether the "pruned" cell or the "raw" matrix may have at most nine edges.
        predicted: use estimates if the metric is not measured.

    Returns:
        A data frame, best cell first, with `hash`, `accuracy` (fraction, mean over repeats), `vertices`, `copies` and
        `cumulative_share` (of all encodings, including invalid ones). `attrs["copies"]` is the sum of the copies,
        `attrs["encodings"]` the number of all encodings.

    Raises OutOfDomainError if accuracy is unknown, InvalidInputError if the rule or a number is invalid.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    rows, which = top_rows(values, top)
    codes = cells_of(table)[rows]
    space = graphs(vertices_of(table, vertices))
    of_cells = copies(codes, space, rule)
    total = len(space.edges) * N_OPERATIONS**space.inner
    frame = pandas.DataFrame(
        {
            "hash": table.hashes(rows),
            "accuracy": values.mean[rows],
            "vertices": (codes >> np.uint64(VERTEX_BIT)).astype(np.int64),
            "copies": of_cells,
            "cumulative_share": np.cumsum(of_cells) / total,
        }
    )
    odds = f"one in {total / of_cells.sum():,.0f}"
    frame.attrs = values.attributes(
        split=split,
        copies=int(of_cells.sum()),
        encodings=total,
        notes=[f"{which}: {of_cells.sum():,} of {total:,} encodings, {odds}"],
    )
    return frame


def copies_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the number of copies of each top cell, best first."""
    ranks, few = range(1, len(frame) + 1), len(frame) <= 16
    named = {rank: f"{rank}\n{100 * value:.2f}" for rank, value in zip(ranks, frame["accuracy"], strict=True)}
    texts = [f"{count:,}" for count in frame["copies"]] if few else []
    below = ", with its accuracy [%]" if few else ""
    across = Axis(f"top cell by {frame.attrs['split']} accuracy{below}", ticks=named if few else None)
    up = Axis("encodings of the cell [number]", log=True, low=0.8, high=3 * frame["copies"].max())
    title = f"Isomorphic copies: {counted(frame.attrs['copies'], 'encoding')} of {counted(len(frame), 'top cell')}"
    return [Panel(title, across, up, [Bars(ranks, frame["copies"], texts=texts)])]


# Volume: the share of all encodings near a top cell -------------------------------------------------------------------


def top_volume(
    table: Table,
    rng: np.random.Generator,
    split: str = "test",
    epochs: int | None = None,
    top: int | None = None,
    samples: int = 20_000,
    vertices: int | None = None,
    predicted: bool = False,
) -> pandas.DataFrame:
    """Return the share of all encodings, including invalid ones, within each distance of an encoding of a top cell.

    Encodings are drawn uniformly; if there are at most `samples`, all are used. An edit flips an edge of the matrix or
    changes the label of a live or dead vertex.

    Args:
        table: a table of NAS-Bench-101.
        rng: generator for drawing encodings.
        split, epochs, top, vertices, predicted: as for `isomorphic_copies`.
        samples: number of encodings.

    Returns:
        A data frame with `distance` 0, 1, …; `share`, the fraction of the encodings within this distance; and `error`,
        its standard error (0 if all encodings were used).

    Raises OutOfDomainError if accuracy is unknown, or the top cells have more than two million encodings.
    """
    check_counts(samples=samples)
    values = known_values(table, accuracy(split), epochs, predicted)
    rows, which = top_rows(values, top)
    space = graphs(vertices_of(table, vertices))
    tops = encodings(cells_of(table)[rows], space)
    drawn, is_all = _encodings(space, samples, rng)
    distance = nearest_distances(drawn, tops, space)
    share = np.cumsum(np.bincount(distance)) / len(distance)
    frame = pandas.DataFrame({"distance": np.arange(len(share)), "share": share})
    frame["error"] = 0.0 if is_all else np.sqrt(share * (1 - share) / len(distance))
    of_distances = f"distances from {counted(len(distance), 'encoding')}, {'all' if is_all else 'uniformly drawn'}"
    frame.attrs = values.attributes(
        split=split,
        top_cells=len(rows),
        copies=len(tops[0]),
        samples=len(distance),
        notes=[f"{which}, {counted(len(tops[0]), 'encoding')} in all; {of_distances}"],
    )
    return frame


def volume_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the share of encodings against distance."""
    share, error = 100 * frame["share"], 100 * NORMAL * frame["error"]
    marks = [Series(frame["distance"], share, line="-", marker="o", low=share - error, high=share + error)]
    if len(near := frame[frame["distance"] == 6]):
        label = f"{percent(near['share'].iloc[0], 1)} within 6 edits"
        marks.append(Series([6, 6], [-2, 102], label=label, color=VERMILION, line="--"))
    across = Axis("distance to the closest top cell [edits of an encoding]")
    up = Axis("share of all encodings within it [%]", low=-2, high=102)
    return [Panel("Volume near the top cells (bars: 95 % intervals)", across, up, marks)]


def nearest_distances(
    these: tuple[Integers, Integers], others: tuple[Integers, Integers], space: Graphs
) -> NDArray[np.int64]:
    """Return the distances of N encodings (edges as bits, operations) to the closest of the others, (N,)."""
    targets = _signs(*others, space)
    step = max(1, _PRODUCTS // len(targets))
    n_edges = len(space.edges).bit_length() - 1
    parts = []
    for start in range(0, len(these[0]), step):
        near = (_signs(these[0][start : start + step], these[1][start : start + step], space) @ targets.T).max(axis=1)
        parts.append(np.rint(n_edges / 2 + space.inner - near).astype(np.int64))
    return np.concatenate(parts)


def _encodings(space: Graphs, samples: int, rng: np.random.Generator) -> tuple[tuple[Integers, Integers], bool]:
    """Return all encodings if there are at most `samples`, else `samples` uniform draws; and whether they are all."""
    n_labellings = N_OPERATIONS**space.inner
    if len(space.edges) * n_labellings <= samples:
        labels = labellings(space.inner)
        return (np.repeat(np.arange(len(space.edges)), n_labellings), np.tile(labels, (len(space.edges), 1))), True
    matrices = rng.integers(len(space.edges), size=samples)
    return (matrices, rng.integers(N_OPERATIONS, size=(samples, space.inner))), False


def _signs(matrices: Integers, labels: Integers, space: Graphs) -> NDArray[np.float32]:
    """Return encodings as vectors whose product is (equal edges - different edges) / 2 + equal labels."""
    bits = np.arange(len(space.edges).bit_length() - 1)
    edges = np.where(matrices[:, None] >> bits & 1, 1, -1) / np.sqrt(2)
    hot = (labels[:, :, None] == np.arange(N_OPERATIONS)).reshape(len(labels), -1)
    return np.concatenate([edges, hot], axis=1).astype(np.float32)


# Top cells and their encodings ----------------------------------------------------------------------------------------


def top_rows(values: Values, top: int | None) -> tuple[NDArray[np.int64], str]:
    """Return the rows of the best cells, best first, with ties by row, and a description of the selection.

    Args:
        values: the values of a table.
        top: number of cells. Default: the best cell and all whose mean is within two of its standard errors
            (NAS-Bench-101, section 4.3), or the 12 best if the best one has a single repeat.
    """
    order = values.rows[np.argsort(-values.mean[values.rows], kind="stable")]
    of_best = values.repeats[order[0]]
    repeats = len(of_best := of_best[~np.isnan(of_best)])
    if top is None and repeats > 1:
        error = float(of_best.std(ddof=1)) / np.sqrt(repeats)
        within = values.mean[order] >= values.mean[order[0]] - 2 * error
        return order[within], f"the best cell, and all within 2 standard errors of its mean over {repeats} repeats"
    count = WITHOUT_REPEATS if top is None else top
    check_counts(top=count)
    return order[:count], f"the {counted(min(count, len(order)), 'best cell')}"


def copies(codes: Encodings, graphs: Graphs, rule: str = "pruned") -> NDArray[np.int64]:
    """Count the encodings of V vertices that prune to each cell (isomorphic copies), exactly and without listing them.

    For a cell with k inner vertices, the count is a product of three factors: its number of numberings; 3^(V - 2 - k)
    for the labels of dead vertices; and the number of ways to place its vertices and to add edges from and to dead
    vertices that stay dead. Whether they stay dead depends on the positions of the live vertices, not on the edges
    between them. The last factor is therefore the number of matrices with k live vertices divided by the number of
    graphs that they prune to.

    Args:
        codes: (N,) encodings of distinct valid cells, with any numbering.
        graphs: the graphs of V vertices.
        rule: "pruned": at most nine edges in the cell; "raw": at most nine edges including edges of dead vertices.

    Returns:
        (N,) counts; the sum over all 423,624 cells is 373,754,169, or 139,359,042 for "raw".
    """
    n_numberings = np.bincount(numberings(codes)[1], minlength=len(codes))
    extra = graphs.raw_edges.astype(np.int64) - graphs.n_edges
    ways = np.zeros((graphs.vertices + 1, EDGE_BITS + 1), np.int64)  # by vertices of the cell and additional edges
    np.add.at(ways, (graphs.n_vertices, extra), 1)
    for n in range(2, graphs.vertices + 1):
        ways[n] //= len(np.unique(graphs.edges[graphs.n_vertices == n]))
    allowed = ways.cumsum(axis=1)
    n_vertices = (codes >> np.uint64(VERTEX_BIT)).astype(np.int64)
    n_edges = to_arrays(codes)[0].sum(axis=(1, 2))
    most = MAX_EDGES - n_edges if checked_rule(rule) == "raw" else np.full(len(codes), EDGE_BITS)
    dead_labels = N_OPERATIONS ** (graphs.vertices - n_vertices)
    return np.asarray(n_numberings * dead_labels * allowed[n_vertices, most], np.int64)


def encodings(codes: Encodings, graphs: Graphs) -> tuple[Integers, Integers]:
    """Return all encodings of V vertices that prune to one of the given cells.

    Args:
        codes: (N,) encodings of valid cells, with any numbering.
        graphs: the graphs of V vertices.

    Returns:
        (M,) edges as bits and (M, V - 2) operations.

    Raises OutOfDomainError if there are more than two million.
    """
    if (count := int(copies(codes, graphs).sum())) > _MOST:
        raise OutOfDomainError(f"the top cells have {count:,} encodings, more than can be compared: select fewer cells")
    matrices, labels = zip(*_placements(numberings(codes)[0], graphs), strict=True)
    return np.concatenate(matrices), np.concatenate(labels)


def _placements(found: Encodings, graphs: Graphs) -> Iterator[tuple[Integers, Integers]]:
    """Yield matrices and labels for every numbering and every placement of its vertices."""
    _, operations, n_vertices = to_arrays(found)
    edges = (found & np.uint64((1 << EDGE_BITS) - 1)).astype(np.int64)
    for i in range(len(found)):
        matrices = np.flatnonzero((graphs.edges == edges[i]) & (graphs.n_vertices == n_vertices[i]))
        for live in np.unique(graphs.live[matrices]):
            placed = matrices[graphs.live[matrices] == live]
            labels = _labellings(int(live), operations[i], graphs.inner)
            yield np.repeat(placed, len(labels)), np.tile(labels, (len(placed), 1))


def _labellings(live: int, operations: Integers, inner: int) -> Integers:
    """Return all labellings of the inner vertices: the given operations for live vertices, any for dead vertices."""
    of_live = iter(operations.tolist())
    choices = [(next(of_live),) if live >> v & 1 else range(N_OPERATIONS) for v in range(inner)]
    return np.array(list(product(*choices)), np.int64).reshape(-1, inner)
