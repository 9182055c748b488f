"""The effect of replacing one operation by another. NAS-Bench-101's figure 4."""

from itertools import permutations

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Matrix, Panel
from nasbench1shot1.experiments.space_statistics.values import Floats, accuracy, cells_of, known_values, values_or_nan
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_VERTICES, OPERATIONS, to_arrays
from nasbench1shot1.tables.table import Table

NAMES = ("3×3\nconvolution", "1×1\nconvolution", "3×3\nmax-pooling")


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


def replacement_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the mean changes of accuracy and of training time; rows: replaced operation, columns: replacement."""
    points = f"Change of {frame.attrs['split']} accuracy [percentage points]"
    return [
        _panel(frame, "accuracy_change", "replacements", "{:+.2f}", points),
        _panel(frame, "time_change", "timed", "{:+.1f} %", "Relative change of training time [%]"),
    ]


def _panel(frame: pandas.DataFrame, column: str, counted: str, form: str, title: str) -> Panel:
    wide = (frame.pivot(index="replaced", columns="by", values=name) for name in (column, counted))
    shown, counts = (of.reindex(index=OPERATIONS, columns=OPERATIONS).to_numpy(float) for of in wide)
    texts = [
        ["–" if np.isnan(value) else f"{form.format(100 * value)}\nn = {n:,.0f}" for value, n in zip(*row, strict=True)]
        for row in zip(shown, counts, strict=True)
    ]
    largest = 160 * (np.nanmax(np.abs(shown)) if np.isfinite(shown).any() else 1.0)  # light enough for black text
    matrix = Matrix(100 * shown, texts, NAMES, NAMES, low=-largest, high=largest, cmap="PuOr")
    return Panel(title, Axis("replaced by"), Axis("operation"), [matrix])


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
