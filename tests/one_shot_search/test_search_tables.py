"""Tables accepted by a search: missing cells are reported before training."""

from unittest.mock import patch

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.one_shot_search.options import SearchConfig, table_of_search
from nasbench1shot1.tables.references import Reference
from nasbench1shot1.tables.table import Table


def table_of(cells: list[nb.Cell]) -> Table:
    """A table of some cells without a list of spaces."""
    columns = {
        "hash": np.array([list(bytes.fromhex(cell.hash)) for cell in cells], np.uint8),
        "cell": np.array([cell.encoding for cell in cells], np.uint64),
        "trainable_parameters": np.ones(len(cells), np.int64),
        "validation_accuracy": np.full((len(cells), 1, 1), 0.9),
    }
    order = np.lexsort(columns["hash"].T[::-1])
    return nb.Table.from_columns(
        {name: column[order] for name, column in columns.items()},
        {
            "name": "own",
            "version": "1",
            "keyed_by": "nasbench101",
            "datasets": ["cifar10"],
            "epochs": [108],
            "repeats": 1,
            "spaces": [],
            "columns": {"validation_accuracy": {"epochs": [108], "fidelity": "measured"}},
        },
    )


def opened(table: Table, space: str, reference: Reference | None = None) -> Table:
    """Open this table as a search on a space does."""
    with patch("nasbench1shot1.tables.table.load_table", lambda path: table):
        return table_of_search(SearchConfig(space=space, reference=reference))


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_a_table_that_lists_the_space_is_used_directly(space: str) -> None:
    table = nb.load_table()
    assert opened(table, space) is table


def test_listed_spaces_are_not_looked_up() -> None:
    table = nb.load_table()
    with patch.object(table.keys, "rows_of_space", side_effect=AssertionError):
        assert opened(table, "s1") is table


def test_a_table_that_contains_the_space_unlisted_is_accepted() -> None:
    table = table_of([arch.cell for arch in nb.search_space("s1").architectures("unique")])
    assert table.spaces == ()
    found = opened(table, "s1")
    assert found.spaces == ("s1",) and not found.is_partial
    assert len(found.members("s1")) == 2685


def test_the_refusal_of_a_table_with_missing_cells_explains_what_to_do() -> None:
    cells = [arch.cell for arch in nb.search_space("s1").architectures("unique")]
    some = table_of(cells[::2])
    sentence = f"the table {some.id} lacks 1,342 of the 2,685 cells of s1, .*reference=.present. .* the 1,343 that it"
    with pytest.raises(OutOfDomainError, match=sentence):
        opened(some, "s1")
    with pytest.raises(OutOfDomainError, match=r"[\d,]+.*55,854 cells.*s3"):
        opened(table_of(cells), "s3")
    found = opened(some, "s1", "present")
    assert found.is_partial and len(found.members("s1")) == 1343
    assert found.partial_note.startswith("The table has 1,343 of the 2,685 cells of s1:")


def test_a_table_of_another_benchmark_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="nb201"):
        opened(nb.load_table(), "nb201")


def test_a_space_without_relaxation_is_refused_with_every_table() -> None:
    with pytest.raises(InvalidInputError, match="nb101"):
        opened(nb.load_table(), "nb101")
