"""The values of a table that the searches of a figure observe, and which of them the table lacks."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nasbench1shot1.black_box_search.simulation import has_times
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, option
from nasbench1shot1.registry import search_space
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.names import resolve_table_name
from nasbench1shot1.tables.table import Table, load_table


class Lacking(NamedTuple):
    """What a table lacks of the values that searches observe.

    Attributes:
        table: the identity of the table.
        values: the missing values in words; empty if none is missing.
    """

    table: str
    values: tuple[str, ...]


def table_of(space: SearchSpace, name: str | None) -> Table:
    """Open the table of searches on a space: the given table, or else the default table of the space.

    Raises InvalidInputError if the table belongs to another benchmark, and the errors of `load_table`.
    """
    table = load_table(resolve_table_name(name or space.table))
    if table.benchmark.name != space.benchmark.name:
        raise InvalidInputError(
            f"the table {table.id} belongs to {table.benchmark.title}, but the figure searches {space.name}: give a "
            f"table of {space.benchmark.title} with {option('table')}"
        )
    return table


def lacking(searches: Iterable[tuple[str, str]], name: str | None, epochs: int | None) -> Lacking:
    """Return which values that guide black-box searches a table lacks: validation accuracies and training times.

    Args:
        searches: at least one space and data set; all spaces belong to one benchmark.
        name: name or folder of the table; None: the default table of the space.
        epochs: the budget of the trainings; None: the benchmark's default.

    Raises the errors of `table_of`, and OutOfDomainError if the table lacks a data set.
    """
    without = dict[str, list[str]]()
    searched = list(searches)
    for of_space, dataset in searched:
        space = search_space(of_space)
        table = table_of(space, name)
        budget = epochs or space.benchmark.black_box_defaults["epochs"]
        objective = table.objective(dataset)
        guide = f"validation accuracies after {budget} epochs"
        if not _has_all(table, space, objective.validation_metric, objective.validation, budget):
            without.setdefault(guide, []).append(dataset)
        if not has_times(table, objective):
            without.setdefault("training times", []).append(dataset)
    words = [
        found if len(datasets) == len(searched) else f"{found} on {', '.join(datasets)}"
        for found, datasets in without.items()
    ]
    return Lacking(table.id, tuple(words))


def _has_all(table: Table, space: SearchSpace, metric: str, dataset: str, epochs: int) -> bool:
    """Return whether a table has a metric of all networks of a space at a budget."""
    if table.stored(metric, dataset) is None or epochs not in table.epochs:
        return False
    try:
        rows = table.members(space.name)
    except OutOfDomainError:  # the table has only a part of the space, which is reported elsewhere
        rows = np.arange(len(table))
    return bool(np.isfinite(table.values(metric, epochs, dataset)[rows]).any(axis=-1).all())
