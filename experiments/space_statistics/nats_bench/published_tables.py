"""Tables 5 and 6 of NAS-Bench-201 (Dong and Yang 2020), computed from a table and compared with the published values.

Published numbers are by data set and split, in the order of the paper's tables.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Bars, Panel, Series
from nasbench1shot1.display.colours import BLUE, ORANGE
from nasbench1shot1.experiments.rank_correlation import kendall, pearson, spearman
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import (
    DATASETS,
    FEWEST,
    REFERENCE,
    SPLITS,
    Column,
    Measurements,
    tick_label,
)
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.nasbench201.benchmark import BENCHMARK
from nasbench1shot1.tables.table import Table

COLUMNS = tuple(product(DATASETS, SPLITS))
TABLE_5 = {
    "optimal": (91.61, 94.37, 73.49, 73.51, 46.77, 47.31),
    "ResNet": (90.83, 93.97, 70.42, 70.86, 44.53, 43.63),
    "all skip": (39.77, 54.30, 15.03, 15.61, 16.43, 16.32),
}
"""Accuracies in percent of table 5. "optimal" is the best of each column; "all skip" is the row of DARTS."""
TABLE_6 = {
    (6, 12): (0.7767, 0.7627, 0.8086, 0.8095, 0.8052, 0.7941),
    (12, 12): (0.9110, 0.8983, 0.9361, 0.9368, 0.9062, 0.8952),
    (12, 200): (0.7520, 0.7396, 0.8071, 0.8080, 0.8167, 0.8092),
    (24, 200): (0.7705, 0.7594, 0.8280, 0.8290, 0.8286, 0.8217),
    (100, 200): (0.7938, 0.7900, 0.8529, 0.8540, 0.8262, 0.8211),
    (150, 200): (0.8955, 0.8926, 0.9239, 0.9246, 0.8506, 0.8425),
    (175, 200): (0.9834, 0.9782, 0.9743, 0.9744, 0.8539, 0.8423),
    (200, 200): (0.9993, 0.9937, 0.9672, 0.9671, 0.8259, 0.8124),
}
"""Rows of table 6, by (epoch, epochs of the schedule). Only tables with learning curves have epochs within a
schedule."""
CELLS = dict(zip(("ResNet", "all skip"), BENCHMARK.reference_points.values(), strict=True))
COEFFICIENTS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def published_value(row: tuple[float, ...], dataset: str, split: str) -> float:
    """Return the number of a row in the column of a data set and split; NaN if the paper has no such column."""
    return row[COLUMNS.index((dataset, split))] if (dataset, split) in COLUMNS else float("nan")


# Table 5: the optima and two known cells ------------------------------------------------------------------------------


def known_cells(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return the best architecture of each column, the ResNet cell and the all-skip cell, with published accuracies.

    DARTS's cell in NAS-Bench-201's table 5 has skip connections only.

    Args:
        table: a table of NAS-Bench-201.
        kind: architectures among which the best is sought, a kind of the space nb201.

    Returns:
        `cell` ("optimal", "ResNet" or "all skip"), `dataset`, `split`, `index` and `architecture` (official),
        `accuracy` (fraction, at the full budget), `published` and `difference` (fractions), and `n`, the number of
        architectures with a value in the column. If only some architectures have a value, the optimum can be lower than
        the true one.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has none of the values.
    """
    found = Measurements(table, kind, BENCHMARK)
    columns = found.columns()
    attributes = found.attributes(f"accuracy at {found.full_budget} epochs", columns)
    rows = [
        _accuracy_row(found, column, "optimal", int(np.nanargmax(column.accuracy))) for column in columns if column.n
    ]
    for cell, architecture in CELLS.items():
        place = found.place(architecture)
        rows += [
            _accuracy_row(found, column, cell, place) for column in columns if place is not None and column.known[place]
        ]
    frame = pandas.DataFrame(rows)
    frame["difference"] = frame["accuracy"] - frame["published"]
    frame.attrs = attributes
    return frame


def known_cells_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the accuracies of each cell in the table and in the paper, with both numbers at the bars."""
    titles = {cell: "optimal: the best of each column" if cell == "optimal" else cell for cell in TABLE_5}
    return [_panel(frame[frame["cell"] == cell], title) for cell, title in titles.items()]


def _panel(shown: pandas.DataFrame, title: str) -> Panel:
    places, marks = np.arange(len(shown)), []
    for offset, column, label, colour in (
        (-0.2, "accuracy", "this table", BLUE), (0.2, "published", "printed in table 5", ORANGE),
    ):  # fmt: skip
        known = shown[column].notna()  # the paper has no numbers for further data sets
        if known.any():
            percent = 100 * shown[column][known]
            look: dict[str, Any] = {"color": colour, "width": 0.38, "upright": True}
            look["texts"] = [f"{value:.2f}" for value in percent]
            marks.append(Bars(places[known] + offset, percent, label=label, **look))
    return Panel(title, _columns(shown), Axis("accuracy [%]", low=0, high=118), marks)


def _columns(shown: pandas.DataFrame) -> Axis:
    """Return an axis with a place for each data set and split, and the number of architectures."""
    columns = zip(shown["dataset"], shown["split"], shown["n"], strict=True)
    names = {place: f"{tick_label(dataset, split)}\nn = {n:,}" for place, (dataset, split, n) in enumerate(columns)}
    return Axis("", low=-0.5, high=len(shown) - 0.5, ticks=names)


def _accuracy_row(found: Measurements, column: Column, cell: str, place: int) -> dict[str, Any]:
    return {
        "cell": cell,
        "dataset": column.dataset,
        "split": column.split,
        "index": int(found.indices[place]),
        "architecture": found.table.hashes(found.rows[place])[0],
        "accuracy": float(column.accuracy[place]),
        "published": published_value(TABLE_5[cell], column.dataset, column.split) / 100,
        "n": column.n,
    }


# Table 6: how well CIFAR-10 validation accuracy predicts final accuracies ---------------------------------------------


def schedule_correlation(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return the correlation of CIFAR-10 validation accuracy along two schedules with all final accuracies.

    The moments are those of NAS-Bench-201's table 6. A table without learning curves only has the ends of schedules;
    `attrs["lacking"]` lists the others.

    Args:
        table: a table of NAS-Bench-201.
        kind: which architectures are included, a kind of the space nb201.

    Returns:
        `epochs` (of the validation accuracy), `budget` (of the schedule), `dataset` and `split` of the final accuracy,
        `pearson`, `spearman`, `kendall` (τ-b), `published` (the paper does not name its coefficient), and `n`, the
        number of architectures with both accuracies.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: the table has no validation accuracy on CIFAR-10, or has it and an accuracy at the full budget
            for fewer than three architectures.
    """
    found, rows = Measurements(table, kind, BENCHMARK), []
    finals = found.columns()
    moments = [moment for moment in TABLE_6 if moment[1] in table.epochs]
    columns = {moment: found.column(REFERENCE, "validation", *moment) for moment in moments}
    starts = [column for column in columns.values() if column.n]
    for start in starts:
        rows += [_correlation_row(start, final) for final in finals if (start.known & final.known).sum() >= FEWEST]
    if not starts:
        raise OutOfDomainError(f"the table {table.id} has no CIFAR-10 validation accuracy: open another table")
    if not rows:
        raise OutOfDomainError(
            f"the table {table.id} has two accuracies of fewer than three architectures: open a larger table"
        )
    frame = pandas.DataFrame(rows)
    lacking = [moment for moment in TABLE_6 if moment not in columns or not columns[moment].n]
    listed = ", ".join(f"{epochs} of {budget}" for epochs, budget in lacking)
    note = f"not in this table, which lacks learning curves: table 6's epochs {listed}"
    words = f"CIFAR-10 validation accuracy and accuracies at {found.full_budget} epochs"
    frame.attrs = found.attributes(
        words, [*starts, *finals], *([note] if lacking else []), lacking=[*map(list, lacking)]
    )
    return frame


def schedule_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the coefficients of each schedule with every final accuracy, and the published coefficients."""
    panels, drawn = [], {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ-b"}
    low = frame[[*drawn, "published"]].min().min() - 0.03
    up = Axis("correlation", low=min(0.4, low), high=1.03)
    for (epochs, budget), shown in frame.groupby(["epochs", "budget"], sort=False):
        places = np.arange(len(shown))
        marks = [
            Series(places, shown[column], label=label, marker=marker, size=6)
            for marker, (column, label) in zip("os^", drawn.items(), strict=True)
        ]
        if shown["published"].notna().any():
            marks.append(Series(places, shown["published"], label="printed", marker="*", size=11, hollow=True))
        title = f"CIFAR-10 validation after {epochs} of {budget} epochs"
        panels.append(Panel(title, _columns(shown), up, marks))
    return panels


def _correlation_row(start: Column, final: Column) -> dict[str, Any]:
    both = start.known & final.known
    values = {name: of(start.accuracy[both], final.accuracy[both]) for name, of in COEFFICIENTS.items()}
    published = published_value(TABLE_6[start.epochs, start.budget], final.dataset, final.split)
    place = {"epochs": start.epochs, "budget": start.budget, "dataset": final.dataset, "split": final.split}
    return {**place, **values, "published": published, "n": int(both.sum())}
