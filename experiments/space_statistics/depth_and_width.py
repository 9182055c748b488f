"""Accuracy and training time by depth and by width of a cell. NAS-Bench-101's figure 5."""

from itertools import product

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Panel, Series
from nasbench1shot1.experiments.space_statistics.values import NORMAL, accuracy, cells_of, known_values, values_or_nan
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_VERTICES, VERTEX_BIT, Encodings, to_arrays
from nasbench1shot1.tables.table import Table

MEASURES = {"depth": "longest path from input to output", "width": "maximum directed cut"}


def depth_and_width(
    table: Table, split: str = "validation", epochs: int | None = None, predicted: bool = False
) -> pandas.DataFrame:
    """Return the mean accuracy and training time of cells by depth and by width.

    Returns:
        A data frame with `measure` ("depth" or "width"), `value`, `cells`, `accuracy` and `training_time` (means, a
        fraction and seconds; time is NaN if unknown), `accuracy_error` and `time_error` (their standard errors, NaN for
        a single cell).

    Raises OutOfDomainError if accuracy is unknown.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    seconds = values_or_nan(table, "training_time", epochs, predicted)
    known = values.rows
    columns = {"accuracy": values.mean[known], "training_time": seconds.mean[known]}
    frame = pandas.DataFrame(columns)
    parts = []
    for measure, of_cell in zip(MEASURES, depths_and_widths(cells_of(table)[known]), strict=True):
        groups = frame.groupby(of_cell)
        means, errors = groups.mean(), groups.sem()
        errors.columns = pandas.Index(["accuracy_error", "time_error"])
        part = pandas.concat([groups.size().rename("cells"), means, errors], axis=1).rename_axis("value").reset_index()
        part.insert(0, "measure", measure)
        parts.append(part)
    found = pandas.concat(parts, ignore_index=True)
    found.attrs = values.attributes(split=split)
    return found


def depths_and_widths(codes: Encodings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the depth and width of pruned cells (NAS-Bench-101, section 4).

    Depth is the number of edges on the longest path from input to output. Width is the maximum directed cut: the
    largest number of edges from a set of vertices with the input to the other vertices with the output, if no edge
    leads back. A direct edge from input to output is removed first, because the largest width is then 5, as in the
    paper; with this edge, four graphs have width 6. The cell that consists only of this edge has width 1, like a chain.

    Args:
        codes: (N,) encodings.

    Returns:
        (N,) depths, 1…6, and (N,) widths, 1…5.
    """
    of_vertices = np.uint64(7 << VERTEX_BIT)
    graphs, graph = np.unique(codes & (np.uint64((1 << EDGE_BITS) - 1) | of_vertices), return_inverse=True)
    adjacency, _, n_vertices = to_arrays(graphs)
    return _depth(adjacency, n_vertices)[graph], _width(adjacency, n_vertices)[graph]


def depth_and_width_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the mean accuracy (left axis) and training time (right axis) by depth and by width."""
    return [_panel(frame[frame["measure"] == measure], measure, frame.attrs["split"]) for measure in MEASURES]


def _panel(part: pandas.DataFrame, measure: str, split: str) -> Panel:
    left, right = f"mean {split} accuracy [%]", "mean training time [s]"
    mean, error = 100 * part["accuracy"], 100 * NORMAL * part["accuracy_error"]
    seconds, seconds_error = part["training_time"], NORMAL * part["time_error"]
    low, high = seconds - seconds_error, seconds + seconds_error
    marks = [
        Series(part["value"], mean, label="accuracy (left)", line="-", marker="o", low=mean - error, high=mean + error),
        Series(part["value"], seconds, label="time (right)", line="--", marker="s", low=low, high=high, right=right),
    ]
    ticks = {value: f"{value}\n{cells:,}" for value, cells in zip(part["value"], part["cells"], strict=True)}
    across = Axis(f"{measure}: {MEASURES[measure]} [edges]\n(second line: number of cells)", ticks=ticks)
    shown = marks if seconds.notna().any() else marks[:1]
    return Panel(f"Accuracy and time by {measure} (bars: 95 % intervals)", across, Axis(left), shown)


def _depth(adjacency: NDArray[np.int64], n_vertices: NDArray[np.int64]) -> NDArray[np.int64]:
    length = np.zeros((len(adjacency), MAX_VERTICES), np.int64)
    for y in range(1, MAX_VERTICES):
        length[:, y] = (adjacency[:, :, y] * (length + 1)).max(axis=1)
    depth: NDArray[np.int64] = length[np.arange(len(adjacency)), n_vertices - 1]
    return depth


def _width(adjacency: NDArray[np.int64], n_vertices: NDArray[np.int64]) -> NDArray[np.int64]:
    rows, last = np.arange(len(adjacency)), n_vertices - 1
    adjacency = adjacency.copy()
    adjacency[rows, 0, last] = 0
    widest = np.ones(len(adjacency), np.int64)
    for side in product((True, False), repeat=MAX_VERTICES - 1):
        from_input = np.broadcast_to([True, *side], (len(adjacency), MAX_VERTICES)).copy()
        from_input[rows, last] = False
        forward = (adjacency * (from_input[:, :, None] & ~from_input[:, None, :])).sum(axis=(1, 2))
        backward = (adjacency * (~from_input[:, :, None] & from_input[:, None, :])).any(axis=(1, 2))
        widest = np.where(backward, widest, np.maximum(widest, forward))
    return widest
