"""The share of the space near a top cell. NAS-Bench-101's figure 6 (right)."""

from typing import TYPE_CHECKING

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, Graphs, Integers, graphs
from nasbench1shot1.experiments.space_statistics.top_cells import encodings, top_rows
from nasbench1shot1.experiments.space_statistics.values import (
    accuracy,
    cells_of,
    check_counts,
    known_values,
    vertices_of,
)
from nasbench1shot1.ground.text import percent
from nasbench1shot1.search_spaces.wirings import labellings
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRODUCTS = 20_000_000
"""Number of distances computed at a time, which take 80 MB."""


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
    how = "all" if is_all else "uniformly drawn"
    frame.attrs = values.attributes(
        split=split,
        top_cells=len(rows),
        copies=len(tops[0]),
        samples=len(distance),
        notes=[f"{which}, {len(tops[0]):,} encodings in all; distances from {len(distance):,} encodings, {how}"],
    )
    return frame


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


def plot_top_volume(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of encodings against distance."""
    axes = axes_or_new(ax)
    axes.errorbar(frame["distance"], 100 * frame["share"], 200 * frame["error"], fmt="o-", color=COLOURS[0], capsize=3)
    if (frame["distance"] == 6).any():
        share = float(frame.loc[frame["distance"] == 6, "share"].iloc[0])
        axes.axvline(6, color=COLOURS[1], linestyle="--", linewidth=1)
        axes.annotate(
            f"{percent(share, 1)} within 6 edits", (6, 100 * share), (8, -14), textcoords="offset points", fontsize=8
        )
    axes.set_xlabel("distance to the closest top cell [edits of an encoding]")
    axes.set_ylabel("share of all encodings within it [%]")
    axes.set_ylim(-2, 102)
    return finish(axes, frame, "Volume near the top cells (bars: 2 standard errors)")


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
