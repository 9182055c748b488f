"""Distribution of errors in each space, with and without loose ends. NAS-Bench-1Shot1's figure 6."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.counts import choice_block_space
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.values import accuracy, check_enough, known_values
from nasbench1shot1.nasbench101.architecture import live_blocks
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, VERTEX_BIT, edge_bit
from nasbench1shot1.search_spaces.choice_blocks import N_OPERATIONS, ChoiceBlockSpace
from nasbench1shot1.search_spaces.wirings import labellings, pruned_matrix
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPACES = ("s1", "s2", "s3")
KINDS = {"loose_ends": ("with loose ends", "-"), "no_loose_ends": ("without", "--")}


def error_distribution(
    table: Table,
    spaces: Sequence[str | ChoiceBlockSpace] = SPACES,
    split: str = "test",
    epochs: int | None = None,
    predicted: bool = False,
) -> pandas.DataFrame:
    """Return the error of every distinct cell of spaces, and the number of architectures of each kind with this cell.

    Args:
        table: a table of NAS-Bench-101; cells without a value are dropped.
        spaces: choice-block spaces, or their names.
        split: "test", "validation" or "train".
        epochs: budget. Default: the table's full budget.
        predicted: use estimates if the metric is not measured.

    Returns:
        A data frame with a row for every known cell: `space`, `hash`, `error` (fraction, mean over repeats), and the
        weights `loose_ends` (number of architectures, counting every operation) and `no_loose_ends` (number of distinct
        live parts in place). `attrs["sizes"]` has the number of architectures of each kind in each space.

    Raises:
        OutOfDomainError: no row has a value, or no row in these spaces.
        InvalidInputError: a space or the split is unknown, or a space does not consist of choice blocks.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    found, cells = [], np.zeros(len(table), bool)
    for space in map(choice_block_space, spaces):
        frame = _space_rows(table, space)
        cells[frame["row"]] = True
        frame["error"] = 1 - values.mean[frame.pop("row")]
        found.append(frame)
    frame = pandas.concat(found, ignore_index=True).dropna(subset=["error"], ignore_index=True)
    check_enough(len(frame), 1, f"cells of {', '.join(map(str, spaces))} with {values.what}", table)
    known = int((cells & ~np.isnan(values.mean)).sum())
    sizes = {space.name: {kind: space.count(kind) for kind in KINDS} for space in map(choice_block_space, spaces)}
    note = f"cells of {', '.join(sizes)}, weighted by the number of architectures that they represent"
    of_spaces = {"rows": known, "dropped": len(table) - known}
    if not predicted:
        of_spaces["measured_rows"] = known
    frame.attrs = values.attributes(split=split, sizes=sizes, distinct_cells=known, notes=[note], **of_spaces)
    return frame[["space", "hash", "error", *KINDS]]


def plot_error_distribution(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the distribution functions of error for each space, with loose ends (solid) and without (dashed)."""
    axes = axes_or_new(ax)
    for colour, (space, of_space) in zip(COLOURS, frame.groupby("space", sort=False), strict=False):
        ordered = of_space.sort_values("error")
        for kind, (words, line) in KINDS.items():
            share = ordered[kind].cumsum() / ordered[kind].sum()
            label = f"{space} {words}: {ordered[kind].sum():,} of {frame.attrs['sizes'][space][kind]:,} known"
            axes.step(100 * ordered["error"], share, line, where="post", color=colour, linewidth=1.4, label=label)
    axes.set_xscale("log")
    ticks = [tick for tick in (5, 6, 7, 8, 10, 15, 20, 30, 50, 90) if tick >= 100 * frame["error"].min() - 1]
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_xlabel(f"{frame.attrs['split']} error [%] (log scale)")
    axes.set_ylabel("share of architectures at or below")
    axes.legend(fontsize=7, loc="lower right")
    return finish(axes, frame, "Errors in each space")


def architecture_counts(space: ChoiceBlockSpace) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all pruned cells of a space, numbered as in its architectures, and the numbers of these architectures.

    Returns:
        (N,) encodings, some of isomorphic cells; (N,) numbers of architectures with loose ends, whose sum is
        `space.count("loose_ends")`; (N,) numbers of distinct live parts in place, whose sum is
        `space.count("no_loose_ends")`.
    """
    with_loose_ends, without, graphs = Counter[bytes](), Counter[bytes](), {}
    loose_end_free = set(space.loose_end_free_wirings)
    for i, wiring in enumerate(space.wirings):
        matrix = pruned_matrix(wiring)
        key = matrix.tobytes()
        graphs[key] = matrix
        with_loose_ends[key] += N_OPERATIONS ** (space.n_blocks - len(live_blocks(wiring)))
        without[key] += i in loose_end_free
    codes = [_all_labelled(matrix) for matrix in graphs.values()]
    sizes = [len(of_graph) for of_graph in codes]
    weights = [np.repeat([counts[key] for key in graphs], sizes) for counts in (with_loose_ends, without)]
    return np.concatenate(codes), weights[0], weights[1]


def _space_rows(table: Table, space: ChoiceBlockSpace) -> pandas.DataFrame:
    """Return a row for every distinct cell in the table."""
    codes, loose_ends, no_loose_ends = architecture_counts(space)
    rows = table.rows_of_encodings(codes)
    known = rows >= 0
    weights = [np.bincount(rows[known], w[known], len(table)).astype(np.int64) for w in (loose_ends, no_loose_ends)]
    kept = np.flatnonzero(weights[0])
    columns = dict(zip(KINDS, (w[kept] for w in weights), strict=True))
    return pandas.DataFrame(
        {"space": space.name, "hash": table.hashes(kept) if len(kept) else [], "row": kept} | columns
    )


def _all_labelled(matrix: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Return the encodings of a pruned graph with all its labellings."""
    n = len(matrix)
    edges = sum(1 << edge_bit(int(x), int(y)) for x, y in zip(*np.nonzero(matrix), strict=True))
    labels = labellings(n - 2)
    operations: NDArray[np.int64] = (labels << EDGE_BITS + 2 * np.arange(n - 2)).sum(axis=1)
    return np.asarray(operations + (edges | n << VERTEX_BIT), np.uint64)
