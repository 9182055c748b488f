"""Which tables a search takes: one that lacks cells of the space is refused before anything is trained."""

from types import SimpleNamespace

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.one_shot_search.searching import check_covers
from nasbench1shot1.tables.table import Table


def table_of(cells: list[nb.Cell]) -> Table:
    """A table of some cells that lists no space."""
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
            "epochs": [108],
            "repeats": 1,
            "spaces": [],
            "columns": {"validation_accuracy": {"epochs": [108], "fidelity": "measured"}},
        },
    )


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_a_table_that_lists_the_space_is_taken(space: str) -> None:
    check_covers(nb.load_table(), space)


def test_what_is_listed_is_not_looked_up() -> None:
    def rows(items: object) -> None:
        raise AssertionError(items)

    check_covers(SimpleNamespace(spaces=("s1",), rows=rows), "s1")  # type: ignore[arg-type]


def test_a_table_that_holds_the_space_unlisted_is_taken() -> None:
    table = table_of([arch.cell for arch in nb.search_space("s1").architectures("unique")])
    assert table.spaces == ()
    check_covers(table, "s1")


def test_a_table_that_lacks_cells_of_the_space_is_refused_with_what_to_do() -> None:
    cells = [arch.cell for arch in nb.search_space("s1").architectures("unique")]
    some = table_of(cells[::2])
    with pytest.raises(InvalidInputError, match=f"the table {some.id} does not hold all of s1: search on") as caught:
        check_covers(some, "s1")
    assert isinstance(caught.value.__cause__, OutOfDomainError)
    with pytest.raises(InvalidInputError, match="does not hold all of s3"):
        check_covers(table_of(cells), "s3")


def test_a_space_without_relaxation_is_refused_whatever_the_table_holds() -> None:
    with pytest.raises(InvalidInputError, match="nb101 has no mixing weights"):
        check_covers(SimpleNamespace(spaces=("nb101",)), "nb101")  # type: ignore[arg-type]
