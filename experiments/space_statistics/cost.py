"""Training time, parameters and accuracy of cells. NAS-Bench-101's figure 3."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Cloud, Mark, Panel, Series
from nasbench1shot1.display.colours import VERMILION
from nasbench1shot1.display.marked_networks import marked
from nasbench1shot1.experiments.rank_correlation import pearson, spearman
from nasbench1shot1.experiments.space_statistics.locality import cell_distances
from nasbench1shot1.experiments.space_statistics.marked_rows import marked_rows
from nasbench1shot1.experiments.space_statistics.values import Floats, accuracy, cells_of, check_enough, known_values
from nasbench1shot1.ground.text import counted
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.tables.table import Table

COLUMNS = ("training_time", "trainable_parameters", "accuracy")


def cost(
    table: Table,
    cell: Cell | None = None,
    split: str = "validation",
    epochs: int | None = None,
    predicted: bool = False,
    mark: Iterable[Asked] | None = None,
) -> pandas.DataFrame:
    """Return training time, parameters and accuracy of every cell for which all three are known.

    Args:
        table: a table of NAS-Bench-101.
        cell: a cell whose neighbours are marked; it need not be in the table. Default: no marks.
        split: the split of the accuracy.
        epochs: budget. Default: the table's full budget.
        predicted: use estimates if the metric is not measured.
        mark: networks that the figure marks, as in `marked_rows`.

    Returns:
        A data frame with `hash`, `training_time` (s), `trainable_parameters`, `accuracy` (fraction), means over
        repeats, and `distance` from `cell` (differing edges and operations, see `locality`; <NA> without a cell).
        `attrs["pearson"]` and `attrs["spearman"]` have the correlations of all pairs. If the table lacks the cell,
        `attrs["notes"]` states this, and captions repeat it.

    Raises OutOfDomainError if fewer than three cells have all three.
    """
    epochs = table.full_budget if epochs is None else epochs
    values = known_values(table, accuracy(split), epochs, predicted)
    seconds = known_values(table, "training_time", epochs, predicted)
    sizes = known_values(table, "trainable_parameters", epochs, predicted)
    rows = reduce(np.intersect1d, (values.rows, seconds.rows, sizes.rows))
    check_enough(len(rows), 3, f"cells with parameters, time and {values.what}", table)
    columns = {
        "hash": table.hashes(rows),
        "training_time": seconds.mean[rows],
        "trainable_parameters": sizes.mean[rows].astype(np.int64),
        "accuracy": values.mean[rows],
    }
    frame = pandas.DataFrame(columns)
    distance = None if cell is None else cell_distances(cells_of(table)[rows], cell.encoding)
    is_missing = distance is not None and not (distance == 0).any()
    frame["distance"] = pandas.array([pandas.NA] * len(rows) if distance is None else distance, dtype="Int64")
    marks, absent = marked_rows(mark, table, rows)
    notes = [*([_missing_note(cell, int((frame["distance"] == 1).sum()))] if cell and is_missing else []), *absent]
    frame.attrs = values.attributes(
        rows,
        quantity=f"{split} accuracy and training time at {epochs} epochs",
        predicted=values.predicted or seconds.predicted or sizes.predicted,
        split=split,
        pearson=_pairs(frame, pearson),
        spearman=_pairs(frame, spearman),
        marks=[
            {**of, "row": int(np.searchsorted(rows, of["row"])), "source": values.source_of(of["row"])} for of in marks
        ],
        **({"notes": notes} if notes else {}),
    )
    return frame


def _missing_note(cell: Cell, near: int) -> str:
    """Return a sentence about a given cell without time or accuracy in the table, of which `near` neighbours have."""
    marked = f"only {counted(near, 'neighbour')} of it can be marked" if near else "neither it nor neighbours are"
    return f"The given cell {cell.hash} is not among these rows; {marked}."


def cost_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return time against parameters, coloured by accuracy, with the best cell, the given cell and its neighbours."""
    placed = frame.assign(x=frame["trainable_parameters"] / 1e6, y=frame["training_time"], z=100 * frame["accuracy"])
    shown = placed.sort_values("accuracy")
    least = 100 * float(frame["accuracy"].quantile(0.1))
    best, ring = shown.iloc[[-1]], dict[str, Any](color=VERMILION, size=6, hollow=True)
    detail = f" ({best['z'].iloc[0]:.1f} %)"
    cross: dict[str, Any] = {"marker": "X", "size": 9, "framed": True, "color": VERMILION, "detail": detail}
    marks: list[Mark] = [
        Cloud(shown["x"], shown["y"], shown["z"], f"{frame.attrs['split']} accuracy [%]", least),
        Series(best["x"], best["y"], label="most accurate", **cross),
    ]
    for distance, marker, label in ((1, "o", "one edit from the given cell"), (0, "s", "the given cell")):
        near = shown[(shown["distance"] == distance).fillna(False)]
        if len(near):
            marks.append(Series(near["x"], near["y"], label=label, detail=f" ({len(near):,})", marker=marker, **ring))
    for of in frame.attrs["marks"]:
        x, y, accuracy = placed.loc[of["row"], ["x", "y", "z"]]
        marks.append(marked(of["name"], of["place"], float(x), float(y), f"{accuracy:.1f} %, {of['source']}"))
    across, up = Axis("trainable parameters [millions]"), Axis("training time [s]", low=0)
    return [Panel("Time, parameters and accuracy", across, up, marks)]


def _pairs(frame: pandas.DataFrame, coefficient: Callable[[Floats, Floats], float]) -> dict[str, float]:
    return {
        f"{a}, {b}": coefficient(frame[a].to_numpy(float), frame[b].to_numpy(float))
        for i, a in enumerate(COLUMNS)
        for b in COLUMNS[i + 1 :]
    }
