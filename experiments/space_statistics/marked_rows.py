"""The networks that figures of analyses mark, found in the rows of an analysis."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.reference_points import Asked, ReferencePoint, default_points, missing_note, reference_points
from nasbench1shot1.tables.table import Table


def points_to_mark(mark: Iterable[Asked] | None, table: Table) -> list[ReferencePoint]:
    """Return the networks to mark; by default the first reference point of the benchmark."""
    return default_points(table) if mark is None else reference_points(mark, table)


def absence_notes(points: Sequence[ReferencePoint], are_marked: Sequence[bool], table: Table) -> list[str]:
    """Return sentences about networks that cannot be marked: those the table lacks, and those without values."""
    others = [point for point, is_marked in zip(points, are_marked, strict=True) if not is_marked]
    without = [point.name for point in others if point.network in table]
    unknown = f"Without a value in this analysis, so not marked: {', '.join(without)}." if without else ""
    return [*filter(None, (missing_note(points, table), unknown))]


def marked_rows(
    mark: Iterable[Asked] | None, table: Table, rows: NDArray[np.int64]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the networks to mark that are among the rows of an analysis, and sentences about the others.

    Args:
        mark: the networks, as in `reference_points.reference_points`. Default: the first reference point of the
            benchmark; no sentence reports its absence.
        table: the table of the analysis.
        rows: the rows that the analysis uses.

    Returns:
        A dictionary for each network, with `name`, `place` among the networks and `row`; and the sentences.
    """
    points = points_to_mark(mark, table)
    found = [table.row_of(point.network) if point.network in table else -1 for point in points]
    are_marked = np.isin(found, rows)
    marks = [
        {"name": point.name, "place": place, "row": row}
        for place, (point, row) in enumerate(zip(points, found, strict=True))
        if are_marked[place]
    ]
    return marks, [] if mark is None else absence_notes(points, list(are_marked), table)
