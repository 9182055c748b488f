"""The effect of replacing one operation by another. NAS-Bench-101's figure 4."""

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import finish
from nasbench1shot1.experiments.space_statistics.values import Floats, accuracy, cells_of, known_values, values_or_nan
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_VERTICES, OPERATIONS, to_arrays
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("3×3 convolution", "1×1 convolution", "3×3 max-pooling")


def operation_replacement(
    table: Table, split: str = "validation", epochs: int | None = None, predicted: bool = False
) -> pandas.DataFrame:
    """Return the mean effects of replacing one operation, over all vertices for which the changed cell is known.

    Returns:
        A data frame with a row for each ordered pair: `replaced`, `by`; `replacements` (number of vertices),
        `accuracy_change` (mean difference, a fraction) and `accuracy_error` (its standard error, assuming independent
        replacements); `time_change` (mean of new time / old time - 1, NaN if no times are known) and `timed` (number
        of replacements with known times).

    Raises OutOfDomainError if accuracy is unknown, or no two known cells differ in one operation.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    seconds = values_or_nan(table, "training_time", epochs, predicted)
    codes = cells_of(table)
    operations = to_arrays(codes)[1]
    parts = []
    for old, new in permutations(range(len(OPERATIONS)), 2):
        before, after = [], []
        for vertex in range(MAX_VERTICES - 2):
            rows = np.flatnonzero((operations[:, vertex] == old) & ~np.isnan(values.mean))
            place = np.uint64(EDGE_BITS + 2 * vertex)
            changed = codes[rows] + np.uint64(new << int(place)) - np.uint64(old << int(place))
            others = table.rows_of_encodings(changed)
            before.append(rows[others >= 0])
            after.append(others[others >= 0])
        effect = _effect(values.mean, seconds.mean, np.concatenate(before), np.concatenate(after))
        parts.append({"replaced": OPERATIONS[old], "by": OPERATIONS[new], **effect})
    frame = pandas.DataFrame(parts)
    if not frame["replacements"].sum():
        raise OutOfDomainError(
            f"the table {table.id} has no two known cells that differ in one operation: open a larger table"
        )
    frame.attrs = values.attributes(
        split=split,
        notes=[f"{frame['replacements'].sum():,} replacements between known cells, counted in both directions"],
    )
    return frame


def plot_accuracy_change(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean change of accuracy in percentage points; rows: replaced operation, columns: replacement."""
    title = f"Change of {frame.attrs['split']} accuracy [percentage points]"
    return _draw(frame, "accuracy_change", "replacements", "{:+.2f}", title, ax)


def plot_time_change(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean relative change of training time in percent; rows: replaced operation, columns: replacement."""
    return _draw(frame, "time_change", "timed", "{:+.1f} %", "Relative change of training time [%]", ax)


def _effect(values: Floats, seconds: Floats, before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    change = values[after] - values[before]
    change = change[~np.isnan(change)]
    ratio = seconds[after] / seconds[before] - 1
    ratio = ratio[~np.isnan(ratio)]
    return {
        "replacements": len(change),
        "accuracy_change": change.mean() if len(change) else np.nan,
        "accuracy_error": change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan,
        "time_change": ratio.mean() if len(ratio) else np.nan,
        "timed": len(ratio),
    }


def _draw(frame: pandas.DataFrame, column: str, counted: str, form: str, title: str, ax: "Axes | None") -> "Axes":
    axes = axes_or_new(ax)
    grid = frame.pivot(index="replaced", columns="by", values=column).reindex(index=OPERATIONS, columns=OPERATIONS)
    counts = frame.pivot(index="replaced", columns="by", values=counted).reindex(index=OPERATIONS, columns=OPERATIONS)
    shown = 100 * grid.to_numpy(float)
    largest = np.nanmax(np.abs(shown)) if not np.isnan(shown).all() else 1.0
    axes.imshow(shown, cmap="PuOr", vmin=-1.6 * largest, vmax=1.6 * largest)  # light enough for black text
    for (i, j), value in np.ndenumerate(shown):
        text = "–" if np.isnan(value) else f"{form.format(value)}\nn = {counts.to_numpy()[i, j]:,.0f}"
        axes.text(j, i, text.replace("-", "−"), ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(NAMES)), [name.replace(" ", "\n") for name in NAMES], fontsize=8)
    axes.set_yticks(range(len(NAMES)), [name.replace(" ", "\n") for name in NAMES], fontsize=8)
    axes.set_xlabel("replaced by")
    axes.set_ylabel("operation")
    finish(axes, frame, title)
    axes.grid(visible=False)
    return axes
