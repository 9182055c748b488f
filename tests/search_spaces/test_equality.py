"""Equality of spaces, architectures, tables and their answers, also of copies from other processes."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.registry import BUILT_IN, name_of_space
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.nasbench101 import NASBench101Space
from nasbench1shot1.search_spaces.nats_size import NATSSizeSpace

NAMES = list(BUILT_IN["search_spaces"])
OWN = ChoiceBlockSpace(name="equal", id="equal-v1", n_parents=(1, 1, 2))


class Parts(NATSSizeSpace):
    """A space with arguments that its id does not name."""

    def __init__(self, widths: Any, cell: str | None = None) -> None:
        self.widths = widths
        if cell is not None:
            self.cell = cell  # type: ignore[misc]


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301


def copies(value: Any) -> list[Any]:
    return [pickled(value), copy.deepcopy(value), copy.copy(value)]


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_a_space_are_equal_and_one_key(name: str) -> None:
    space = nb.search_space(name)
    for other in copies(space):
        assert other is not space and other == space and hash(other) == hash(space)
        assert other[5] == space[5] and len({space, other}) == 1 and {space: 1}[other] == 1


@pytest.mark.parametrize("name", ["s1", "nb201", "nats-size"])
def test_a_space_does_not_share_what_callers_could_change(name):
    space = nb.search_space(name)
    for shared in (space.search_defaults, space.scale_defaults, *space.scale_defaults.values()):
        with pytest.raises(TypeError):
            shared["epochs"] = 1  # type: ignore[index]
    if isinstance(space, ChoiceBlockSpace):
        space.paper_counts.clear()
        assert space.count("unique", "paper") == space.paper_counts["unique"] == 2685


def test_different_spaces_are_unequal():
    spaces = [nb.search_space(name) for name in NAMES]
    assert len(set(spaces)) == len(NAMES)
    assert NASBench101Space("raw") != nb.search_space("nb101") == NASBench101Space()
    described: dict[str, Any] = {"name": "equal", "id": "equal-v1", "n_parents": (1, 1, 2)}
    assert ChoiceBlockSpace(**described) == OWN
    for changed in ({"name": "other"}, {"id": "equal-v2"}, {"n_parents": (1, 2, 2)}):
        assert ChoiceBlockSpace(**{**described, **changed}) != OWN
    assert OWN != "equal" and OWN != 3


def test_spaces_with_one_id_differ_in_their_class_and_attributes():
    assert Parts(np.arange(3)) == Parts(np.arange(3)) and Parts([1]) != Parts([2]) and Parts((1,)) != NATSSizeSpace()
    assert Parts(1, "a:B") != Parts(1)

    class Redefined(Parts):  # as in a notebook whose cell was changed
        pass

    assert Redefined(1) != Parts(1)


def test_attributes_replaced_by_an_instance_are_copied():
    space = Parts(1, "a:B")
    assert [other.cell for other in copies(space)] == ["a:B"] * 3
    assert all(other == space for other in copies(space))


def test_what_was_computed_does_not_change_equality_or_pickles():
    fresh, used = (pickled(nb.search_space("s1")) for _ in range(2))
    assert used.numbers("unique") is not None and used.with_network(used[5].network_id) and used.table is None
    assert used.cell and used.layer_rows and used.search_defaults is not None
    assert used == fresh and pickle.dumps(used) == pickle.dumps(fresh) and joblib.hash(used) == joblib.hash(fresh)


@pytest.mark.parametrize("name", NAMES)
def test_equal_architectures_have_equal_pickles(name: str) -> None:
    """joblib.Memory recognizes arguments by their pickles."""
    arch = nb.search_space(name)[77]
    read = nb.Architecture.parse(str(arch))
    for name in ("cell", "edges", "live_blocks", "official", "network_id", "__hash__"):
        getattr(read, name, None)
    for other in (read, *copies(read)):
        assert other == arch and hash(other) == hash(arch) and joblib.hash(other) == joblib.hash(arch)


def test_reading_a_cell_does_not_change_its_pickle():
    cell, encoded = nb.search_space("s1")[77].cell, nb.Cell.from_encoding(nb.search_space("s1")[77].cell.encoding)
    before = pickle.dumps(cell)
    assert cell.hash and cell.matrix.any() and cell.encoding and cell.is_valid
    assert pickle.dumps(cell) == before
    for other in (*copies(cell), *copies(encoded)):
        assert other == cell and not other.matrix.flags.writeable


def test_copies_of_spaces_have_the_name_of_the_original():
    assert name_of_space(pickled(nb.search_space("s1"))) == "s1"
    assert name_of_space(pickled(OWN)) == f"{__name__}:OWN"


def received(space: nb.SearchSpace, arch: nb.Architecture, table: nb.Table) -> tuple[Any, ...]:
    """What another process returns."""
    known = nb.search_space(space.name)
    return space == known, hash(space) == hash(known), space[77] == arch, arch in {known[77]}, table, table.query(arch)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_objects_are_equal_in_other_processes(method: str) -> None:
    space, table = nb.search_space("s1"), nb.load_table()
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        *answers, other, metrics = pool.submit(received, space, space[77], table).result()
    assert all(answers) and other == table and metrics == table.query(space[77])


def test_a_table_knows_the_copy_of_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """A space that is sent with every job is enumerated once."""
    table, searched = nb.load_table().of_dataset(), []
    rows_of_space = type(table.keys).rows_of_space

    def count(keys: Any, space: nb.SearchSpace) -> Any:
        searched.append(space)
        return rows_of_space(keys, space)

    monkeypatch.setattr(type(table.keys), "rows_of_space", count)
    regrets = {table.regret(OWN[3], reference=pickled(OWN)) for _ in range(3)}
    assert len(regrets) == len(searched) == 1
    redefined = ChoiceBlockSpace(name="equal", id="equal-v1", n_parents=(1, 2, 2))
    assert table.members(redefined).tolist() != table.members(OWN).tolist() and len(searched) == 2


def test_tables_are_equal_if_their_contents_and_restrictions_are():
    table = nb.load_table()
    for other in (*copies(table), nb.load_table()):
        assert other == table and hash(other) == hash(table) and len({table, other}) == 1
    covering = table.covering(OWN)
    assert covering != table and all(other == covering for other in copies(covering))
    assert not copies(covering)[0].members("equal").flags.writeable
    nb201 = nb.load_table("nb201")
    assert nb201 != table and nb201.of_dataset("cifar100") != nb201 != "nb201"
    assert nb201.of_dataset("cifar100") == nb.load_table("nb201").of_dataset("cifar100")


def test_answers_are_equal_if_the_queries_are():
    table, space = nb.load_table("nb201"), nb.search_space("nb201")

    def ask(which: Any, seed: int = 0, **options: Any) -> nb.Metrics:
        rng = np.random.default_rng(seed)
        return table.query(which, **{"dataset": "cifar100", "run": "random", "rng": rng, **options})

    one, several = space[6111], [space[6111], space[284]]
    for which in (one, several):
        for other in (ask(which), *copies(ask(which))):
            assert other == ask(which) and hash(other) == hash(ask(which))
    assert ask(one) != ask([one]) and ask(one) != ask(space[3]) and ask(one) != ask(one, epochs=12)
    assert ask(one) != ask(one, dataset="cifar10-valid") and ask(one) != ask(one, run="mean") and ask(one) != 3
    values = [ask(several, seed) for seed in range(8)]
    for first in values:
        for second in values:
            drawn = np.array_equal(first.validation_accuracy, second.validation_accuracy)
            assert (first == second) is drawn
    assert len({tuple(of.validation_accuracy) for of in values}) == len(set(values)) > 1
