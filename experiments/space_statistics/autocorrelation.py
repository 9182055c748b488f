"""Autocorrelation of accuracies along random walks. NAS-Bench-101's figure 6 (left)."""

from typing import TYPE_CHECKING

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.counts import choice_block_space
from nasbench1shot1.experiments.rank_correlation import pearson
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, GREY, finish
from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, Graphs, Integers, graphs
from nasbench1shot1.experiments.space_statistics.values import (
    Floats,
    accuracy,
    check_counts,
    known_values,
    vertices_of,
)
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.ground.text import percent
from nasbench1shot1.nasbench101.skeleton import as_cell
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELLS = {2: 1, 3: 7, 4: 91, 5: 2532, 6: 64_542, 7: 423_624}
"""Number of cells with at most the given number of vertices."""


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


def plot_autocorrelation(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the autocorrelation against the square root of the shift."""
    axes = axes_or_new(ax)
    axes.plot(frame["distance"], frame["autocorrelation"], "o-", markersize=3, color=COLOURS[0])
    axes.axhline(0, color=GREY, linewidth=1)
    axes.set_xlabel("√shift (about the distance after so many steps)")
    axes.set_ylabel(f"autocorrelation of {frame.attrs['split']} accuracy")
    return finish(axes, frame, f"Random walk over {frame.attrs['where']}")


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
            "space that the table covers, such as --space s1 (the embedded table also needs --predicted)"
        )
    space = graphs(vertices)
    return table.rows_of_encodings(space.cells(*walk(space, steps, rng))), f"encodings of {vertices} vertices"


def _walk_space(
    table: Table, values: Floats, space: ChoiceBlockSpace, steps: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], str]:
    from nasbench1shot1.experiments.space_statistics.distributions import architecture_counts

    rows = table.rows_of_encodings(architecture_counts(space)[0])
    known = int(((rows >= 0) & ~np.isnan(values[rows])).sum())
    if known < len(rows):
        share = percent(known / len(rows), 1)
        raise OutOfDomainError(
            f"a random walk can visit every cell, but the table {table.id} has values for {share} of "
            f"{space.name}: open a table with all its cells (the official data), or add --predicted to use estimates"
        )
    arch: Architecture = space.sample(rng)
    met = np.empty(steps + 1, np.uint64)
    for step in range(steps + 1):
        met[step] = as_cell(arch).encoding
        arch = space.mutate(arch, rng)
    return table.rows_of_encodings(met), space.name
