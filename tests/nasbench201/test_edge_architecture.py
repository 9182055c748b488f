"""Architectures of NAS-Bench-201: values with a text form, six integers and an official string."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.architecture import EDGE_NAMES, EDGES, OPERATIONS
from nasbench1shot1.nasbench201.numbering import ORDER_FILE, all_operations, index_of, read_order
from nasbench1shot1.nasbench201.topology import representatives, unique_string

OFFICIAL = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
OF_EACH_EDGE = "|none~0|+|skip_connect~0|nor_conv_1x1~1|+|nor_conv_3x3~0|avg_pool_3x3~1|none~2|"

six_operations = st.tuples(*[st.integers(0, 4)] * 6)


@given(six_operations)
def test_an_architecture_is_connected_if_a_path_leads_from_the_input_to_the_output(operations: tuple[int, ...]) -> None:
    arch: Any = nb.Architecture.parse(f"nb201:{OF_EACH_EDGE}")
    arch = type(arch)("nb201", operations)
    assert arch.is_connected == networkx.has_path(arch.drawn_graph(), 0, 3)


def test_operations_and_edges_have_the_official_order() -> None:
    """The list NAS_BENCH_201 of AutoDL-Projects, and the edges as its genotypes list them."""
    assert OPERATIONS == ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    assert EDGES == ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
    assert EDGE_NAMES == ("1<-0", "2<-0", "2<-1", "3<-0", "3<-1", "3<-2")


def test_the_text_consists_of_the_space_and_the_official_string() -> None:
    arch = nb.EdgeArchitecture("nb201", (3, 3, 3, 1, 3, 3))
    assert str(arch) == f"nb201:{OFFICIAL}"
    assert arch.official == arch.network_id == OFFICIAL
    assert nb.EdgeArchitecture("nb201", (0, 1, 2, 3, 4, 0)).official == OF_EACH_EDGE


@pytest.mark.parametrize("text", [OFFICIAL, f"nb201:{OFFICIAL}", f" nb201:{OFFICIAL}\n"])
@pytest.mark.parametrize("form", [nb.Architecture, nb.EdgeArchitecture])
def test_both_forms_of_the_text_are_read(form: type[nb.Architecture], text: str) -> None:
    assert form.parse(text) == nb.EdgeArchitecture("nb201", (3, 3, 3, 1, 3, 3))


def test_a_text_of_another_space_keeps_its_name() -> None:
    arch = nb.Architecture.parse(f"my-space:{OFFICIAL}")
    assert arch.space == "my-space"
    assert arch != nb.Architecture.parse(OFFICIAL)
    assert str(arch) == f"my-space:{OFFICIAL}"


@given(six_operations)
def test_text_string_and_integers_are_inverse(operations: tuple[int, ...]) -> None:
    arch = nb.EdgeArchitecture("nb201", operations)
    assert nb.Architecture.parse(str(arch)) == nb.Architecture.parse(arch.official) == arch
    assert arch == nb.EdgeArchitecture.unchecked("nb201", operations)


@given(st.text(alphabet="nb201:none~0123|+skip_connect", max_size=70))
def test_parsed_text_is_written_back_unchanged_or_refused(text: str) -> None:
    try:
        arch = nb.Architecture.parse(text)
    except nb.InvalidInputError:
        return
    assert nb.Architecture.parse(str(arch)) == arch


@pytest.mark.parametrize(
    "text, values",
    [
        (OFFICIAL.replace("skip_connect", "skip_conect"), "skip_conect skip_connect"),
        (OFFICIAL.replace("skip_connect", ""), "''"),
        (OFFICIAL.replace("|skip_connect~0", ""), "1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2"),
        (OFFICIAL + "+|none~0|", "3<-2"),
        (OFFICIAL[:-1], "3<-2"),
        (OFFICIAL.replace("~2", "~٢"), "3<-2"),
        (OFFICIAL.replace("+", "|"), "3<-2"),
        (f":{OFFICIAL}", "space:parents:operations"),
        (f"s 1:{OFFICIAL}", "space:parents:operations"),
        (OFFICIAL.replace("~", "-"), "space:|operation~source|+… nb201:|nor_conv_3x3~0|+|"),
        ("~" * 5000, "architecture"),
        ("|" + "~" * 5000, "3<-2"),
    ],
)
def test_text_that_is_not_an_architecture_is_refused_in_one_sentence(text: str, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        nb.Architecture.parse(text)


def test_each_form_refuses_the_text_of_the_other() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"space:\|operation~source\|"):
        nb.EdgeArchitecture.parse(str(nb.search_space("s1")[0]))
    with pytest.raises(nb.InvalidInputError, match="space:parents:operations"):
        nb.CellArchitecture.parse(OFFICIAL)


def test_lists_and_numpy_integers_become_a_tuple_of_python_integers() -> None:
    given_operations: list[Any] = [[np.int8(3), 3, 3, True, 3, 3], np.array([3, 3, 3, 1, 3, 3], np.uint8)]
    for operations in given_operations:
        arch = nb.EdgeArchitecture("nb201", operations)
        assert arch == nb.Architecture.parse(OFFICIAL)
        assert hash(arch) == hash(nb.Architecture.parse(OFFICIAL))
        assert type(arch.operations) is tuple
        assert {type(operation) for operation in arch.operations} == {int}


@pytest.mark.parametrize(
    "operations, values",
    [
        ((0,) * 5, "6 5 1<-0, 2<-0"),
        ((), "6 0"),
        ((0, 0, 0, 0, 0, 5), "5 0 none 1"),
        ((0, 0, 0, 0, 0, -1), "-1) 4"),
        ((0, 0, 0, 0, 0, 1.5), "six 1.5"),
        ("333133", "six 333133"),
        (None, "six None"),
        (np.zeros((2, 6), int), "six"),
        (7, "six 7"),
    ],
)
def test_invalid_operations_are_refused_in_one_sentence(operations: Any, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        nb.EdgeArchitecture("nb201", operations)


@pytest.mark.parametrize("space", ["", "nb201:", "nb 201", None])
def test_a_space_name_that_text_cannot_contain_is_refused(space: Any) -> None:
    with pytest.raises(nb.InvalidInputError, match="name"):
        nb.EdgeArchitecture(space, (0,) * 6)


def test_architectures_are_immutable_values() -> None:
    arch = nb.EdgeArchitecture("nb201", (3, 3, 3, 1, 3, 3))
    assert pickle.loads(pickle.dumps(arch)) == copy.deepcopy(arch) == arch  # noqa: S301  written here
    assert {arch: 1}[nb.EdgeArchitecture("nb201", (3, 3, 3, 1, 3, 3))] == 1
    assert arch != nb.EdgeArchitecture("nb201", (3, 3, 3, 1, 3, 2))
    with pytest.raises(FrozenInstanceError):
        arch.operations = (0,) * 6  # type: ignore[misc]


# The official order ---------------------------------------------------------------------------------------------------


def test_every_official_index_agrees_with_the_data(shared: Path) -> None:
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        official, accuracy = data["ops"], data["c10_test_e200"]
    assert np.array_equal(all_operations(), official)
    assert [index_of(operations) for operations in official] == list(range(15_625))
    assert int(np.nanargmax(accuracy)) == 6111
    assert accuracy[6111] == pytest.approx(94.3733, abs=1e-4)


def test_every_string_round_trips(shared: Path) -> None:
    """Compare with a plain formatter of official strings, applied to the integers of the data."""
    names = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        rows = data["ops"].tolist()
    for row in rows:
        a, b, c, d, e, f = (names[operation] for operation in row)
        official = f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"
        arch = nb.EdgeArchitecture("nb201", row)
        assert arch.official == official
        assert nb.EdgeArchitecture.parse(official) == arch


def test_the_best_architecture_of_cifar10() -> None:
    best = nb.EdgeArchitecture("nb201", all_operations()[6111].tolist())
    assert best.official == (
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"
    )


def test_the_order_is_read_only_and_contains_every_architecture_once() -> None:
    operations = all_operations()
    assert (operations.shape, operations.dtype) == ((15_625, 6), np.int8)
    assert len(np.unique(operations, axis=0)) == 15_625
    assert (operations.min(), operations.max()) == (0, 4)
    with pytest.raises(ValueError, match="read-only"):
        operations[0, 0] = 0


def test_operations_that_are_not_a_cell_have_no_index() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"6 operations.*\b5\b"):
        index_of((0,) * 5)
    with pytest.raises(nb.InvalidInputError, match="operation"):
        index_of((0, 0, 0, 0, 0, 5))


def damaged(folder: Path) -> dict[str, Path]:
    order = read_order(ORDER_FILE)
    doubled = order.copy()
    doubled[0] = doubled[1]
    for name, array in {"doubled": doubled, "short": order[:-1], "wide": order.astype(np.int64)}.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    whole = ORDER_FILE.read_bytes()
    (folder / "cut.npy").write_bytes(whole[:20_000])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_bytes(b"no array")
    (folder / "archive.npy").write_bytes(b"PK\x03\x04" + whole)
    return {path.stem: path for path in [*folder.iterdir(), folder / "missing.npy"]}


@pytest.mark.parametrize("name", ["doubled", "short", "wide", "objects", "cut", "empty", "text", "archive", "missing"])
def test_a_damaged_order_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    path = damaged(tmp_path)[name]
    with pytest.raises(nb.DamagedFileError, match="^" + re.escape(str(path))) as caught:
        read_order(path)
    assert str(caught.value).endswith(": reinstall the package")
    assert "\n" not in str(caught.value)


# Topologies -----------------------------------------------------------------------------------------------------------

ALL_SKIP = (1,) * 6


@pytest.mark.parametrize("zero_rule, count", [(False, 12_751), (True, 6_466)])
def test_golden_counts(zero_rule: bool, count: int) -> None:
    lowest = representatives(zero_rule)
    assert lowest.shape == (15_625,)
    assert len(np.unique(lowest)) == count
    assert (lowest <= np.arange(15_625)).all()
    assert np.array_equal(lowest[lowest], lowest)
    with pytest.raises(ValueError, match="read-only"):
        lowest[0] = 0


def test_classes_agree_with_the_data(shared: Path) -> None:
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        classes = data["iso_class"]
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    assert np.array_equal(representatives(True), first[inverse])


def test_classes_without_the_zero_rule_are_not_a_refinement() -> None:
    """Two orders of terms: of the second architecture's equal terms, a string that holds "#" is sorted otherwise."""
    without, under = representatives(False), representatives(True)
    assert int((under[without] != under).sum()) == 109
    pair = (1, 0, 1, 1, 4, 1), (1, 1, 1, 0, 4, 1)
    assert {unique_string(operations, zero_rule=False) for operations in pair} == {"(0)@avg_pool_3x3+(0)@none+0+0"}
    assert [unique_string(operations, zero_rule=True) for operations in pair] == [
        "#+0+(0)@avg_pool_3x3+0",
        "#+(0)@avg_pool_3x3+0+0",
    ]


@pytest.mark.parametrize(
    "operations, without, with_rule",
    [
        (ALL_SKIP, "0+0+0+0", "0+0+0+0"),
        ((0,) * 6, "(((0)@none)@none+(0)@none)@none+((0)@none)@none+(0)@none", "#+#+#"),
        ((3, 0, 1, 1, 0, 1), "((0)@nor_conv_3x3)@none+(0)@none+(0)@nor_conv_3x3+0", "#+#+(0)@nor_conv_3x3+0"),
        ((0, 1, 3, 1, 3, 1), "((0)@none)@nor_conv_3x3+((0)@none)@nor_conv_3x3+0+0", "#+#+0+0"),
        ((1, 0, 2, 0, 0, 1), "(0)@none+(0)@none+(0)@none+(0)@nor_conv_1x1", "#+#+#+(0)@nor_conv_1x1"),
    ],
)
def test_strings_of_worked_examples(operations: tuple[int, ...], without: str, with_rule: str) -> None:
    assert unique_string(operations, zero_rule=False) == without
    assert unique_string(operations, zero_rule=True) == with_rule


@given(six_operations, st.booleans())
def test_equal_strings_have_one_representative(operations: tuple[int, ...], zero_rule: bool) -> None:
    lowest = int(representatives(zero_rule)[index_of(operations)])
    assert unique_string(all_operations()[lowest], zero_rule) == unique_string(operations, zero_rule)


def test_operations_that_are_not_a_cell_are_refused() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"6 operations.*\b3\b"):
        unique_string((0, 0, 0), zero_rule=True)
