"""Incumbents of black-box studies in the format of tuning curves over simulated time."""

from collections.abc import Iterator
from typing import Any

import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import INCUMBENT, BlackBoxStudy
from nasbench1shot1.evaluator import Score, score
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tables.table import Table


def repetitions(study: BlackBoxStudy, table: Table) -> list[pandas.DataFrame]:
    """Return the incumbents of every search as repetitions of a `tuning.trajectory.Curve`.

    Args:
        study: a study with recorded searches.
        table: the table of the study.

    Returns:
        One data frame per search with the columns seconds, test_regret and validation_regret (fractions). Each
        incumbent has a row, and a last row repeats the final incumbent at the end of the search.

    Raises:
        InvalidInputError: the study searched another table.
    """
    if study.config["table_id"] != table.id:
        raise InvalidInputError(
            f"{study.folder} searched the table {study.config['table_id']}, but the figure is scored on {table.id}: "
            "select the study's table with --table or repeat the study"
        )
    scored: dict[str, Score] = {}
    return [pandas.DataFrame(_incumbent_rows(line, table, study.config["dataset"], scored)) for line in study.lines]


def _incumbent_rows(
    line: dict[str, Any], table: Table, dataset: str, scored: dict[str, Score]
) -> Iterator[dict[str, Any]]:
    entries = [dict(zip(INCUMBENT, entry, strict=True)) for entry in line["incumbents"]]
    end = {**entries[-1], "simulated_seconds": line["simulated_seconds"]}
    for entry in [*entries, end]:
        if (text := entry["architecture"]) not in scored:
            scored[text] = score(Architecture.parse(text), table, dataset)
        regrets = {"test_regret": scored[text].test_regret, "validation_regret": scored[text].validation_regret}
        yield {"seconds": entry["simulated_seconds"], **regrets}
