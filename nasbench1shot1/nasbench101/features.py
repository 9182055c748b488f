"""The regression's features of a cell, which do not depend on the numbering of its vertices."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.cell import MAX_VERTICES
from nasbench1shot1.nasbench101.encoding import Encodings, to_arrays
from nasbench1shot1.tables.table import Table

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


# Exact numbers of trainable parameters --------------------------------------------------------------------------------


STEM_CHANNELS, N_CLASSES = 128, 10
STACK_CHANNELS = (128, 256, 512)
CELLS_PER_STACK = 3
IMAGE_SIDE = 32
NORM_NUMBERS = 2
"""Trainable numbers of batch norm for each channel: scale and shift."""
AT_ONCE = 20_000
"""Number of cells whose FLOPs are counted at once, 8 MB of adjacency matrices."""
KERNEL_AREA = np.array([9, 1, 0, 0])  # of conv3x3, conv1x1, maxpool3x3, no vertex


def vertex_channels(cells: CellArrays, out_channels: int) -> Integers:
    """Return the channels of each vertex by NAS-Bench-101's channel inference (its paper, section 2.1 and Figure 1).

    The vertices that feed the output share its channels; if the division leaves a remainder, the first of these
    vertices take one more each. Every other vertex is as wide as the widest vertex that it feeds.

    Returns:
        (N, 7) channels of the inner vertices and the output; 0 for the input and missing vertices.
    """
    feeds = cells.adjacency[:, 1:OUTPUT, OUTPUT]
    n_feeding = np.maximum(feeds.sum(axis=1), 1)
    share, remainder = out_channels // n_feeding, out_channels % n_feeding
    takes_one_more = np.cumsum(feeds, axis=1) <= remainder[:, None]
    channels = np.zeros((len(cells), OUTPUT + 1), np.int64)
    channels[:, 1:OUTPUT] = feeds * (share[:, None] + takes_one_more)
    for v in range(N_INNER, 0, -1):
        widest = (cells.adjacency[:, v, 1:OUTPUT] * channels[:, 1:OUTPUT]).max(axis=1)
        channels[:, v] = np.where(feeds[:, v - 1] > 0, channels[:, v], widest)
    channels[:, OUTPUT] = out_channels
    return channels


def cell_parameters(
    cells: CellArrays, in_channels: int, out_channels: int, norm_numbers: int = NORM_NUMBERS
) -> Integers:
    """Return the parameters of one cell, (N,): its convolutions and the 1 × 1 projections of edges from the input.

    With `norm_numbers` = 0, those of batch norm do not count.
    """
    channels = vertex_channels(cells, out_channels)
    inner = channels[:, 1:OUTPUT]
    convolutions = _convolution(KERNEL_AREA[cells.operations], inner, inner, norm_numbers) * (cells.operations != 2)
    projections = _convolution(np.array(1), np.array(in_channels), channels, norm_numbers) * cells.adjacency[:, 0]
    total: Integers = convolutions.sum(axis=1) + projections.sum(axis=1)
    return total


def trainable_parameters(cells: CellArrays) -> Integers:
    """Return the parameters of the whole network, (N,): stem, three stacks of three cells, dense layer."""
    last = STACK_CHANNELS[-1]
    total = np.full(len(cells), 9 * 3 * STEM_CHANNELS + 2 * STEM_CHANNELS + (last + 1) * N_CLASSES)
    before = STEM_CHANNELS
    for width in STACK_CHANNELS:
        total += cell_parameters(cells, before, width) + (CELLS_PER_STACK - 1) * cell_parameters(cells, width, width)
        before = width
    return total


def flops(codes: Encodings) -> Integers:
    """Return the multiply-add operations of the networks of encoded cells on one image of 32 × 32 pixels, (N,).

    Convolutions and the dense layer count, as in NAS-Bench-201's FLOPs; batch norm, pooling and sums do not.
    """
    parts = [codes[start : start + AT_ONCE] for start in range(0, len(codes), AT_ONCE)]
    return np.concatenate([_flops(CellArrays.from_encodings(part)) for part in parts])


def flops_of_table(table: Table) -> Integers:
    """Return the `flops` of every row of a table of NAS-Bench-101, with the numbering of its cells, (R,)."""
    return flops(np.asarray(table.column("cell")))


def _flops(cells: CellArrays) -> Integers:
    total = np.full(len(cells), 9 * 3 * STEM_CHANNELS * IMAGE_SIDE**2 + STACK_CHANNELS[-1] * N_CLASSES)
    before, pixels = STEM_CHANNELS, IMAGE_SIDE**2
    for width in STACK_CHANNELS:
        first, others = (cell_parameters(cells, inner, width, norm_numbers=0) for inner in (before, width))
        total += pixels * (first + (CELLS_PER_STACK - 1) * others)
        before, pixels = width, pixels // 4
    return total


def _convolution(area: Integers, before: Integers, after: Integers, norm_numbers: int) -> NDArray[np.int64]:
    """Return the parameters of a convolution without bias, and of its batch norm."""
    return area * before * after + norm_numbers * after


# Features, for which vertices have the labels 0 conv3x3, 1 conv1x1, 2 maxpool3x3, 3 input, 4 output, -1 none ----------


Features = dict[str, NDArray[np.float64]]
N_OPS, N_LABELS = 3, 5
_LETTERS = "CcpIO"
WIDTH = STACK_CHANNELS[0]


def features(cells: CellArrays) -> tuple[NDArray[np.float32], list[str]]:
    """Return all features of N cells, (N, F), and their F names."""
    columns: Features = {}
    for group in (
        _vertex_counts,
        _edge_counts,
        _neighbourhoods,
        _paths,
        _path_profile,
        _random_walks,
        _widths,
        _cuts,
    ):
        columns |= group(cells)
    return np.stack(list(columns.values()), axis=1).astype(np.float32), list(columns)


def labels(cells: CellArrays) -> Integers:
    """Return the label of every vertex, (N, 7)."""
    out = np.full((len(cells), OUTPUT + 1), 4)
    out[:, 0] = 3
    out[:, 1:OUTPUT] = cells.operations
    return out


def _one_hot(cells: CellArrays) -> NDArray[np.float64]:
    return np.asarray(labels(cells)[..., None] == np.arange(N_LABELS), np.float64)


def _vertex_counts(cells: CellArrays) -> Features:
    hot = _one_hot(cells)
    ins, outs = cells.adjacency.sum(axis=1), cells.adjacency.sum(axis=2)
    columns: Features = {
        "vertices": cells.n_vertices.astype(float),
        "edges": cells.adjacency.sum(axis=(1, 2)).astype(float),
        "input_degree": outs[:, 0].astype(float),
        "output_degree": ins[:, OUTPUT].astype(float),
        "residual": cells.adjacency[:, 0, OUTPUT].astype(float),
    }
    for op in range(N_OPS):
        columns[f"n_{_LETTERS[op]}"] = hot[:, :, op].sum(axis=1)
        columns[f"indegree_{_LETTERS[op]}"] = (hot[:, :, op] * ins).sum(axis=1)
        columns[f"outdegree_{_LETTERS[op]}"] = (hot[:, :, op] * outs).sum(axis=1)
    return columns


def _edge_counts(cells: CellArrays) -> Features:
    hot = _one_hot(cells)
    pairs = np.einsum("nua,nuv,nvb->nab", hot, cells.adjacency, hot, optimize=True)
    return {f"edge_{_LETTERS[a]}{_LETTERS[b]}": pairs[:, a, b] for a, b in product((3, 0, 1, 2), (0, 1, 2, 4))}


def _neighbourhoods(cells: CellArrays) -> Features:
    """Count chains of operations a → b → c, and vertices with operation c that read from both a and b."""
    hot, adjacency = _one_hot(cells), cells.adjacency
    before = np.einsum("nuv,nua->nva", adjacency, hot)
    after = np.einsum("nvw,nwc->nvc", adjacency, hot)
    chains = np.einsum("nva,nvb,nvc->nabc", before, hot, after, optimize=True)
    columns = {
        f"chain_{_LETTERS[a]}{_LETTERS[b]}{_LETTERS[c]}": chains[:, a, b, c]
        for a, b, c in product((3, 0, 1, 2), (0, 1, 2), (0, 1, 2, 4))
    }
    joined = np.einsum("nva,nvb,nvc->nabc", before, before, hot, optimize=True)
    for a, b, c in product((3, 0, 1, 2), (3, 0, 1, 2), (0, 1, 2, 4)):
        if a >= b:
            columns[f"join_{_LETTERS[a]}{_LETTERS[b]}>{_LETTERS[c]}"] = joined[:, a, b, c]
    return columns


def path_counts(cells: CellArrays) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Count the paths from input to output with each sequence of up to 5 operations."""
    n, hot = len(cells), _one_hot(cells)
    ending: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.zeros((n, OUTPUT + 1))}
    ending[()][:, 0] = 1.0  # (N, 7): paths from the input that end at each vertex, by their operations
    counts = {}
    for length in range(N_INNER + 1):
        of_length = {ops: ends for ops, ends in ending.items() if len(ops) == length}
        for ops, ends in of_length.items():
            forward = np.einsum("nu,nuv->nv", ends, cells.adjacency.astype(float))
            counts[ops] = forward[:, OUTPUT]
            if length < N_INNER:
                for op in range(N_OPS):
                    ending[(*ops, op)] = forward * hot[:, :, op]
    return counts


def _paths(cells: CellArrays) -> Features:
    counts = path_counts(cells)
    return {"path_" + "".join(_LETTERS[op] for op in ops): of_path for ops, of_path in counts.items()}


def _path_profile(cells: CellArrays) -> Features:
    """Return extremes and means, over the paths, of their lengths and numbers of each operation."""
    counts = path_counts(cells)
    multiplicity = np.stack(list(counts.values()), axis=1)
    total = multiplicity.sum(axis=1)
    columns: Features = {"paths": total, "distinct_paths": (multiplicity > 0).sum(axis=1).astype(float)}
    measures = {"length": (0, 1, 2), "C": (0,), "c": (1,), "p": (2,), "conv": (0, 1)}
    for name, counted in measures.items():
        value = np.array([sum(op in counted for op in ops) for ops in counts], float)
        columns[f"max_{name}"] = np.where(multiplicity > 0, value, -1).max(axis=1)
        columns[f"min_{name}"] = np.where(multiplicity > 0, value, 9).min(axis=1)
        columns[f"mean_{name}"] = multiplicity @ value / total
    for length in range(N_INNER + 1):
        of_length = np.array([len(ops) == length for ops in counts])
        columns[f"paths_{length}"] = multiplicity[:, of_length].sum(axis=1)
    return columns


def _random_walks(cells: CellArrays) -> Features:
    """Return each operation's expected visits in a random walk from the output back to the input.

    The first step is weighted by channels; later steps choose parents uniformly.
    """
    share = vertex_channels(cells, WIDTH)[:, 1:OUTPUT] * cells.adjacency[:, 1:OUTPUT, OUTPUT]
    visits = np.zeros((len(cells), OUTPUT + 1))
    visits[:, 1:OUTPUT] = share / np.maximum(share.sum(axis=1, keepdims=True), 1)
    parents = cells.adjacency / np.maximum(cells.adjacency.sum(axis=1, keepdims=True), 1)
    for v in range(N_INNER, 0, -1):
        visits[:, :v] += visits[:, v, None] * parents[:, :v, v]
    hot = _one_hot(cells)
    return {f"walk_{_LETTERS[op]}": (visits * hot[:, :, op]).sum(axis=1) for op in range(N_OPS)}


def _widths(cells: CellArrays) -> Features:
    """Return channels and multiply-adds of a cell of width 128, by operation, and the exact parameter count."""
    channels, hot = vertex_channels(cells, WIDTH)[:, :OUTPUT] / WIDTH, _one_hot(cells)[:, :OUTPUT]
    feeding = channels * cells.adjacency[:, :OUTPUT, OUTPUT]
    ins = cells.adjacency.sum(axis=1)[:, :OUTPUT]
    columns: Features = {"log_parameters": np.log(trainable_parameters(cells).astype(float))}
    for op in range(N_OPS):
        of_op, letter = hot[:, :, op], _LETTERS[op]
        columns[f"width_{letter}"] = (channels * of_op).sum(axis=1)
        columns[f"square_{letter}"] = (channels**2 * of_op).sum(axis=1)
        columns[f"sum_{letter}"] = (channels * np.maximum(ins - 1, 0) * of_op).sum(axis=1)
        columns[f"max_{letter}"] = (channels * of_op).max(axis=1)
        columns[f"out_{letter}"] = (feeding * of_op).sum(axis=1)
        columns[f"projected_{letter}"] = (channels * of_op * cells.adjacency[:, 0, :OUTPUT]).sum(axis=1)
    columns["projected"] = (channels * cells.adjacency[:, 0, :OUTPUT]).sum(axis=1) + cells.adjacency[:, 0, OUTPUT]
    area = KERNEL_AREA[cells.operations] * channels[:, 1:] ** 2
    columns["multiply_adds"] = area.sum(axis=1) + columns["projected"]
    return columns


def _cuts(cells: CellArrays) -> Features:
    """Return the largest and the smallest number of edges over all cuts between input and output."""
    adjacency = cells.adjacency.astype(float)
    widest, narrowest = np.zeros(len(cells)), np.full(len(cells), 99.0)
    for side in product((1, 0), repeat=N_INNER):
        with_input = np.array([1, *side, 0])
        forward = np.einsum("u,nuv,v->n", with_input, adjacency, 1 - with_input, optimize=True)
        backward = np.einsum("u,nuv,v->n", 1 - with_input, adjacency, with_input, optimize=True)
        allowed = backward == 0
        widest = np.where(allowed, np.maximum(widest, forward), widest)
        narrowest = np.where(allowed, np.minimum(narrowest, forward), narrowest)
    return {"widest_cut": widest, "narrowest_cut": narrowest}
