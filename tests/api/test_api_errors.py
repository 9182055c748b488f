"""Errors of the drop-in for `nasbench.api`, and specs changed after construction."""

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_official import INCEPTION

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT, Cell

CONV3, CONV1, POOL = OPERATIONS
CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def dense(n: int) -> list[list[int]]:
    return [[int(x < y) for y in range(n)] for x in range(n)]


def chain(n: int) -> list[list[int]]:
    return [[int(y == x + 1) for y in range(n)] for x in range(n)]


NOT_IN_THE_SPACE = {
    "no path": (([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [INPUT, CONV3, OUTPUT]), "no path leads"),
    "eight vertices": ((chain(8), [INPUT, *[CONV3] * 6, OUTPUT]), "8 vertices after pruning: at most 7"),
    "ten edges": ((dense(5), [INPUT, *[CONV3] * 3, OUTPUT]), "10 edges after pruning: at most 9"),
    "eleven vertices and many edges": ((dense(11), [INPUT, *[CONV3] * 9, OUTPUT]), "11 vertices"),
    "first op": ((CHAIN, [CONV3, CONV3, OUTPUT]), "the first op must be 'input'"),
    "last op": ((CHAIN, [INPUT, CONV3, POOL]), "the last 'output'"),
    "op": ((CHAIN, [INPUT, "conv5x5-bn-relu", OUTPUT]), "unknown op 'conv5x5-bn-relu': use one of"),
    "input inside": ((CHAIN, [INPUT, INPUT, OUTPUT]), "unknown op 'input'"),
    "a number as op": ((CHAIN, [INPUT, 1, OUTPUT]), "unknown op 1"),
    "a list as op": ((CHAIN, [INPUT, [CONV3], OUTPUT]), "unknown op"),
}


@pytest.mark.parametrize("case", NOT_IN_THE_SPACE)
def test_a_spec_outside_the_space_is_out_of_domain(nasbench, case) -> None:
    arguments, message = NOT_IN_THE_SPACE[case]
    spec = api.ModelSpec(*arguments)
    assert not nasbench.is_valid(spec)
    for ask in (nasbench.query, nasbench.get_metrics_from_spec):
        with pytest.raises(api.OutOfDomainError, match=message) as caught:
            ask(spec)
        assert not isinstance(caught.value, KeyError)
    assert nasbench.get_budget_counters() == (0.0, 0)


def test_pruning_comes_before_the_limits(nasbench) -> None:
    """Eleven vertices of which pruning keeps three; a removed vertex has an unknown label."""
    matrix = np.zeros((11, 11), int)
    matrix[0, 4] = matrix[4, 10] = matrix[0, 1] = matrix[1, 2] = matrix[5, 10] = 1
    spec = api.ModelSpec(matrix, [INPUT, "a", "b", "c", CONV1, *"defgh", OUTPUT])
    assert nasbench.is_valid(spec)
    assert nasbench.query(spec)["module_operations"] == [INPUT, CONV1, OUTPUT]


def test_missing_half_way_values_are_blamed_on_the_cell_that_lacks_them() -> None:
    """The first cell of s1 lacks them, the second one has them in one of two repeats, and no cell at 4 epochs."""
    space = nb.search_space("s1")
    frame = pd.DataFrame({"architecture": [str(arch) for arch in space.architectures("unique")], "epochs": 108})
    frame = pd.concat([frame.assign(repeat=0), frame.assign(repeat=1), frame.assign(repeat=0, epochs=4)])
    texts = list(dict.fromkeys(frame["architecture"]))
    is_known = (frame["epochs"] == 108) & (frame["architecture"] != texts[0])
    is_known &= (frame["architecture"] != texts[1]) | (frame["repeat"] == 1)
    frame = frame.assign(
        test_accuracy=0.9, halfway_test_accuracy=np.where(is_known, 0.5 + 0.1 * frame["repeat"], np.nan)
    )
    table = nb.table_from_frame(frame.reset_index(drop=True), space=space)
    first, second = (table.network(int(row)) for row in table.rows(texts[:2]))
    specs = [api.ModelSpec(cell.matrix, list(cell.ops)) for cell in (first, second)]
    asked = api.NASBench(table, seed=0)
    with refuses(nb.OutOfDomainError, table.id, first.hash, "half-way", 108, "stop_halfway=False"):
        asked.query(specs[0], stop_halfway=True)
    assert {asked.query(specs[1], stop_halfway=True)["test_accuracy"] for _ in range(20)} == {0.6}
    with refuses(nb.OutOfDomainError, table.id, "half-way", "4 epochs") as caught:
        asked.query(specs[1], epochs=4, stop_halfway=True)
    assert second.hash not in str(caught.value)


@pytest.mark.parametrize("epochs", [0, 5, 107, -4, "108", None, 108.5])
def test_an_unknown_budget_is_out_of_domain(nasbench, epochs) -> None:
    with pytest.raises(nb.OutOfDomainError, match=r"\[4, 12, 36, 108\]"):
        nasbench.query(api.ModelSpec(*INCEPTION), epochs=epochs)


def test_a_cell_missing_from_the_table_raises_key_error(nasbench) -> None:
    spec = api.ModelSpec(chain(5), [INPUT, *[CONV3] * 3, OUTPUT])
    assert Cell(chain(5), spec.original_ops).is_valid
    assert not nasbench.is_valid(spec)
    hash_ = spec.hash_spec(OPERATIONS)
    for ask, given in ((nasbench.query, spec), (nasbench.get_metrics_from_spec, spec)):
        with pytest.raises(api.OutOfDomainError, match=hash_) as caught:
            ask(given)
        assert isinstance(caught.value, KeyError)
    for given in (hash_, "no hash", "", None, 3, hash_.upper()):
        with pytest.raises(KeyError) as error:
            nasbench.get_metrics_from_hash(given)
        assert isinstance(error.value, nb.OutOfDomainError)
        assert str(error.value) == error.value.args[0]  # a plain KeyError would quote the message


def test_invalid_specs_and_seeds_are_refused_in_one_sentence(nasbench, official_table) -> None:
    with pytest.raises(nb.InvalidInputError, match="ModelSpec"):
        nasbench.query("28cfc7874f6d200472e1a9dcd8650aa0")
    with pytest.raises(nb.InvalidInputError, match=r"^seed\b.*\[\]"):
        api.NASBench(official_table, seed=[])


def test_the_limits_in_config_are_enforced(nasbench) -> None:
    inception = api.ModelSpec(*INCEPTION)
    nasbench.config["max_edges"] = 8
    with pytest.raises(api.OutOfDomainError, match=r"9 edges.*most 8"):
        nasbench.query(inception)
    nasbench.config.update(max_edges=9, module_vertices=6)
    assert not nasbench.is_valid(inception)
    nasbench.config.update(module_vertices=7, available_ops=[CONV1, CONV3])
    assert not nasbench.is_valid(inception)
    assert nasbench.is_valid(api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT]))
    nasbench.config.update(available_ops=list(OPERATIONS), num_repeats=1)
    first = nasbench.get_metrics_from_spec(inception)[1][108][0]["final_test_accuracy"]
    assert {nasbench.query(inception)["test_accuracy"] for _ in range(10)} == {first}


def test_drawing_a_repeat_that_the_file_lacks_is_refused_and_costs_nothing(official_table) -> None:
    nasbench, inception = api.NASBench(official_table, seed=0), api.ModelSpec(*INCEPTION)
    repeats, nasbench.config["num_repeats"] = nasbench.config["num_repeats"], 100
    with refuses(api.OutOfDomainError, "config['num_repeats']", 100, nasbench.table.id, repeats) as caught:
        nasbench.query(inception)
    assert isinstance(caught.value, IndexError)
    assert nasbench.get_budget_counters() == (0.0, 0)


# A spec that is changed ------------------------------------------------------------------------------------------


def test_a_changed_spec_is_checked_in_its_current_state(nasbench) -> None:
    def found(spec: api.ModelSpec) -> list[str]:
        return nasbench.get_metrics_from_spec(spec)[0]["module_operations"]

    spec = api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT])
    assert found(spec) == [INPUT, CONV3, OUTPUT]
    spec.ops[1] = POOL
    assert found(spec) == [INPUT, POOL, OUTPUT]
    spec.ops = [INPUT, CONV1, OUTPUT]
    assert found(spec) == [INPUT, CONV1, OUTPUT]
    spec.matrix, spec.ops = np.array([[0, 1], [0, 0]]), [INPUT, OUTPUT]
    assert found(spec) == [INPUT, OUTPUT]
    assert spec.original_ops == [INPUT, CONV3, OUTPUT]
    spec.matrix[0, 1] = 0  # not pruned again: still valid, but in no table
    with pytest.raises(KeyError):
        found(spec)
    spec.valid_spec = False
    with pytest.raises(api.OutOfDomainError, match="path"):
        found(spec)


def test_a_changed_spec_is_not_pruned_again_for_lookup(nasbench) -> None:
    spec = api.ModelSpec([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], [INPUT, CONV3, POOL, OUTPUT])
    spec.matrix[0, 1] = 0
    with pytest.raises(KeyError):
        nasbench.query(spec)


def test_a_spec_with_invalid_matrix_entries_is_refused_on_lookup(nasbench) -> None:
    spec = api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT])
    spec.matrix[0, 1] = 2
    assert not nasbench.is_valid(spec)
    with pytest.raises(api.OutOfDomainError, match="0 and 1"):
        nasbench.query(spec)
