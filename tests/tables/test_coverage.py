"""Regret references: spaces covered by a table, and tables with missing networks."""

import pickle
import sys
from typing import Any

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.keys import CellKeys
from nasbench1shot1.nasbench201.keys import EdgeKeys
from nasbench1shot1.nats_size.keys import WidthKeys
from nasbench1shot1.registry import BUILT_IN, search_space
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.tables.table import recorded_name, table_for

OWN = ChoiceBlockSpace("own", "own-v1", n_parents=(1, 1, 2))
PART = ChoiceBlockSpace("part", "part-v1", n_parents=(1, 2, 1, 2, 2))


@pytest.fixture(scope="module")
def table() -> nb.Table:
    return nb.load_table()


def some_of_nb201(rows: int) -> nb.Table:
    """An incomplete import: the first rows of NAS-Bench-201's table."""
    whole = nb.load_table("nb201")
    meta: dict[str, Any] = {**whole._folder.meta, "spaces": []}
    columns = {name: np.asarray(column)[:rows] for name, column in whole._columns.items() if "member" not in name}
    about = {name: about for name, about in meta["columns"].items() if name in columns}
    return nb.Table.from_columns(columns, {**meta, "columns": about})


@pytest.mark.parametrize("keys", [CellKeys, EdgeKeys, WidthKeys])
def test_the_space_ids_in_tables_equal_the_ids_of_the_spaces(keys: Any) -> None:
    assert {name: search_space(name).id for name in keys.SPACES} == dict(keys.SPACES)


def test_every_built_in_space_has_keys_in_tables() -> None:
    assert {*CellKeys.SPACES, *EdgeKeys.SPACES, *WidthKeys.SPACES} == set(BUILT_IN["search_spaces"])
    assert {"nb201": len(search_space("nb201"))} == EdgeKeys.SIZES
    assert {"nats-size": len(search_space("nats-size"))} == WidthKeys.SIZES


def test_regret_is_relative_to_the_best_cell_of_the_space(table: nb.Table) -> None:
    cells = list(OWN.architectures("unique"))
    accuracies = table.query(cells).test_accuracy
    expected = accuracies.max() - accuracies
    covering = table.covering(OWN)
    np.testing.assert_allclose(covering.regret(cells), expected, atol=1e-12)  # by the name of their space
    np.testing.assert_allclose(table.regret(cells, reference=OWN), expected, atol=1e-12)
    assert table.mean_regret(OWN) == covering.mean_regret("own") == pytest.approx(expected.mean())
    assert table.best(OWN, "test")[0] == cells[int(accuracies.argmax())].cell
    assert table.members(OWN).tolist() == sorted(table.rows(cells).tolist())
    assert covering.spaces == (*table.spaces, "own") and covering.id == table.id
    with pytest.raises(nb.InvalidInputError, match="'own'"):
        table.regret(cells)


def test_another_space_with_a_built_in_name_is_kept_apart(table: nb.Table) -> None:
    impostor = ChoiceBlockSpace("s1", "impostor-v1", n_parents=(1, 1, 2))
    assert len(table.members(impostor)) == len(table.covering(impostor).members("s1")) == 27
    assert len(table.members("s1")) == len(table.covering(impostor).covering(search_space("s1")).members("s1")) == 2685


def test_spaces_that_the_table_stores_are_not_looked_up(table: nb.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(table.keys), "rows_of_space", lambda self, space: pytest.fail(space.name))
    for name in table.spaces:
        assert table.covering(search_space(name)) is table
        assert table.members(search_space(name)) is not None


def test_a_space_is_looked_up_once(table: nb.Table) -> None:
    assert table.members(PART_OF_S3) is table.members(PART_OF_S3)
    for rows in (table.members(PART_OF_S3), table.regrets(PART_OF_S3)[0], table.covering(OWN).members("own")):
        with pytest.raises(ValueError, match="read-only"):
            rows[0] = 1


PART_OF_S3 = ChoiceBlockSpace("short", "short-v1", n_parents=(1, 1, 1, 2, 2))


def in_another_process(table: nb.Table) -> nb.Table:
    found: nb.Table = pickle.loads(pickle.dumps(table))  # noqa: S301
    return found


def test_a_covering_table_survives_pickling(table: nb.Table) -> None:
    for before in (table.covering(OWN), table.covering(PART, present=True)):
        after = in_another_process(before)
        assert (after.spaces, after.id, after.is_partial) == (before.spaces, before.id, before.is_partial)
        assert after.partial_note == before.partial_note
        assert after.regret(OWN[0], before.spaces[-1]) == before.regret(OWN[0], before.spaces[-1])
    assert in_another_process(table).spaces == table.spaces


def test_errors_about_missing_cells_name_them_and_the_option(table: nb.Table) -> None:
    sentence = r'lacks 1,296 of the 3,042 cells of part, .*add reference="present" .* best of the 1,746 that it has'
    with pytest.raises(nb.OutOfDomainError, match=r"lacks 1,296 of the 3,042 cells of part") as refused:
        table.covering(PART)  # it has no option of that name
    assert "reference" not in refused.value.options
    for question in (lambda: table_for(PART), lambda: table.regret(PART[0], PART), lambda: table.best(PART)):
        with pytest.raises(nb.OutOfDomainError, match=sentence):
            question()
    none = ChoiceBlockSpace("none", "none-v1", n_parents=(1, 1, 1, 1, 1))
    with pytest.raises(nb.OutOfDomainError, match=r"lacks 121.*121 cells.*NAS-Bench-101\)$"):
        table.covering(none, present=True)


def test_with_a_partial_table_regret_is_relative_to_its_best_cell(table: nb.Table) -> None:
    partial = table.covering(PART, present=True)
    assert partial.is_partial and len(partial.members("part")) == 1746
    architectures = list(PART.architectures("unique"))
    missing = [arch for arch in architectures if arch not in partial]
    assert len(missing) == 1296
    present = next(arch for arch in architectures if arch in partial)
    best = partial.query([arch for arch in architectures if arch in partial]).test_accuracy.max()
    assert partial.regret(present) == pytest.approx(best - partial.query(present).test_accuracy)
    empty = nb.score(missing[0], partial)
    assert empty.cell_hash == missing[0].cell.hash
    for same in (str(missing[0]), missing[0].cell, missing[0].cell.hash):
        assert nb.score(same, partial) == empty
    values = (empty.table_validation_error, empty.table_test_error, empty.validation_regret, empty.test_regret)
    assert values == (None, None, None, None) and not (empty.test_measured or empty.validation_measured)
    assert empty.fields(3.0)["simulated_seconds"] is None
    with pytest.raises(nb.OutOfDomainError, match="cell"):
        nb.score(missing[0], table)


def test_an_incomplete_import_of_nb201_is_handled_as_a_partial_table() -> None:
    some, space = some_of_nb201(100), search_space("nb201")
    with pytest.raises(nb.OutOfDomainError, match=r"lacks 15,525.*15,625 architectures.*nb201"):
        some.covering(space)
    partial = some.covering(space, present=True)
    assert partial.is_partial and space[200] not in partial
    assert nb.score(space[200], partial).test_regret is None
    assert nb.score(space[3], partial).test_regret == partial.regret(3, "nb201", dataset="cifar10")
    whole = nb.load_table("nb201")
    assert whole.covering(space) is whole
    with pytest.raises(nb.OutOfDomainError, match=r"lacks 15,525.*reference=.nb201"):
        some.regret(space[3], dataset="cifar10")
    assert some.regret(space[3], "nb201", dataset="cifar10") == partial.regret(space[3], dataset="cifar10")


def test_errors_about_large_spaces_count_the_missing_cells(table: nb.Table) -> None:
    for name, missing in (("nb101", "357,513 of the 423,624"), ("nb101-mini", "47,463 of the 64,542")):
        with pytest.raises(nb.OutOfDomainError, match=f"{missing}.*{name}"):
            table.covering(search_space(name))


def test_a_record_names_its_table_so_that_it_can_be_reopened(table: nb.Table, tmp_path: Any) -> None:
    for name in ("embedded", "nb101-sample", "nb201"):
        assert recorded_name(nb.load_table(name)) == name
    small = some_of_nb201(10)
    with pytest.raises(nb.InvalidInputError, match=r"table.save\('my-table'\)"):
        recorded_name(small)
    small.save(tmp_path / "small")
    saved = nb.load_table(tmp_path / "small")
    assert recorded_name(saved) == str(tmp_path / "small")
    assert table_for(search_space("nb201"), recorded_name(saved), "present").id == saved.id


def test_the_space_name_comes_from_its_module() -> None:
    from nasbench1shot1.registry import name_of_space

    assert name_of_space(search_space("s1")) == "s1"
    assert search_space(name_of_space(OWN)) is OWN
    assert name_of_space(OWN).partition(":")[0] in sys.modules
    with pytest.raises(nb.InvalidInputError, match=r"docs/own_space\.md"):
        name_of_space(ChoiceBlockSpace("nowhere", "nowhere-v1", n_parents=(1, 1, 2)))
    with pytest.raises(nb.InvalidInputError, match=r"'own'.*module:object"):
        search_space("own")
    with pytest.raises(nb.InvalidInputError, match="'sys:path'"):
        search_space("sys:path")
