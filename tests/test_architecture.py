"""Architectures: values with a text form, and their cells in NAS-Bench-101."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.cell import Cell

TEXT = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"


def test_parse_gives_parents_per_node_and_operations() -> None:
    arch = Architecture.parse(TEXT)
    assert arch == Architecture("s1", ((0,), (0, 1), (0, 2), (1, 3), (2, 4)), (0, 1, 2, 0))
    assert str(arch) == TEXT
    assert repr(arch) == f"CellArchitecture('{TEXT}')"
    assert Architecture.parse(f"  {TEXT}\n") == arch


@given(st.sampled_from(["s1", "s2", "s3"]), st.integers(0, 2**40))
def test_text_and_parse_are_inverse(name: str, number: int) -> None:
    space = nb.search_space(name)
    arch = space[number % len(space)]
    assert Architecture.parse(str(arch)) == arch


@pytest.mark.parametrize(
    "text, values",
    [
        ("", "'' space:parents:operations"),
        ("s1", "'s1'"),
        ("s1:0|0,1", "'s1:0|0,1'"),
        (TEXT + ":conv3x3", f"{TEXT}:conv3x3"),
        (TEXT.replace("s1:", ":"), f"'{TEXT[2:]}'"),
        (TEXT.replace("conv1x1", "conv1x2"), "conv1x2 conv1x1"),
        (TEXT.replace("conv1x1", ""), "operation ''"),
        (TEXT + ",conv3x3", "blocks 5"),
        (TEXT.replace("|2,4", ""), "blocks 4"),
        (TEXT.replace("0,2", "0,"), "comma"),
        (TEXT.replace("0,2", ","), "comma"),
        ("nb101:0||0:", "operation ''"),
        (TEXT.replace("0,2", "2,0"), "ascending"),
        (TEXT.replace("0,2", "2,2"), "ascending"),
        (TEXT.replace("0,2", "0,3"), "parent 3 0 2"),
        (TEXT.replace("2,4", "2,5"), "parent 5"),
        (TEXT.replace("s1:0|", "s1:٠|"), "s1:٠|0,1|0,2|1,3|2,4"),
        (TEXT.replace("s1:0|", "s1:00|"), "leading"),
        (TEXT.replace("2,4", "2,04"), "leading"),
        (TEXT.replace("2,4", "2," + 5000 * "9"), "digits"),
        (None, "None"),
    ],
)
def test_malformed_text_is_refused_in_one_sentence(text: Any, values: str) -> None:
    with refuses(InvalidInputError, *values.split()):
        Architecture.parse(text)


def test_an_error_describes_only_the_form_that_was_meant() -> None:
    cases = (("s1:0|0,1", True, False), ("s1:", True, False), ("nb201:|x", False, True), ("s1", True, False))
    for text, of_cells, of_edges in (*cases, ("x", True, True)):
        with pytest.raises(InvalidInputError) as caught:
            Architecture.parse(text)
        assert ("space:parents:operations" in str(caught.value)) == of_cells, text
        assert ("nor_conv_3x3~0" in str(caught.value)) == of_edges, text


PARENTS = ((0,), (0, 1), (0, 2), (1, 3), (2, 4))


def test_lists_and_numpy_integers_become_tuples_of_python_integers() -> None:
    parents: Any = [np.array(of_node) for of_node in PARENTS]
    arch = Architecture("s1", parents, [np.int64(0), np.uint8(1), 2, False])  # type: ignore[arg-type]
    assert arch == Architecture.parse(TEXT)
    assert hash(arch) == hash(Architecture.parse(TEXT))
    assert {type(op) for op in arch.operations} == {type(p) for of_node in arch.parents for p in of_node} == {int}
    assert nb.search_space("s1").index(arch) == nb.search_space("s1").index(Architecture.parse(TEXT))


@pytest.mark.parametrize(
    "parents, operations, values",
    [
        (PARENTS, (0, 0, -1, 0), "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv3x3,-1,conv3x3"),
        (PARENTS, (0, 0, 7, 0), "0 conv3x3 1 conv1x1 2 maxpool3x3"),
        (PARENTS, (0, 0, 0), "blocks 5 3"),
        (((0,),), (), "blocks 1 0"),
        (((0,), (1, 0), (0,)), (0, 0), "ascending"),
        (((0,), (1, 1), (0,)), (0, 0), "ascending"),
        (((0,), (0, 2), (0,)), (0, 0), "parent 2"),
        (((-1,), (0, 1), (0,)), (0, 0), "parent 1 -1"),
        (PARENTS, (0, 0, 1.5, 0), "integers"),
        (PARENTS, "0000", "integers"),
        (PARENTS, None, "integers"),
        ((0, 1, 2, 3, 4), (0, 0, 0, 0), "integers"),
    ],
)
def test_invalid_architectures_are_refused_on_construction(parents: Any, operations: Any, values: str) -> None:
    with refuses(InvalidInputError, *values.split()) as caught:
        Architecture("s1", parents, operations)
    assert "Architecture(" not in str(caught.value)


def test_a_node_without_parents_has_an_empty_field() -> None:
    text = TEXT.replace("0,2", "")
    arch = Architecture.parse(text)
    assert arch == Architecture("s1", ((0,), (0, 1), (), (1, 3), (2, 4)), (0, 1, 2, 0))
    assert str(arch) == text
    assert arch.cell == Cell(
        [[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0] * 5],
        ["input", "conv3x3-bn-relu", "conv1x1-bn-relu", "conv3x3-bn-relu", "output"],
    )


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_spaces_that_require_parents_refuse_a_node_without_one(name: str) -> None:
    arch = nb.search_space(name)[0]
    orphaned = Architecture(name, ((), *arch.parents[1:]), arch.operations)
    with refuses(InvalidInputError, name):
        nb.search_space(name).index(orphaned)


def test_a_cell_without_a_path_is_not_valid() -> None:
    assert not Architecture("x", ((0,), ()), (0,)).cell.is_valid


@pytest.mark.parametrize("space", ["", "s1:", "s 1", None])
def test_a_space_name_that_text_cannot_contain_is_refused(space: Any) -> None:
    with refuses(InvalidInputError, repr(space)):
        Architecture(space, PARENTS, (0, 0, 0, 0))


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_architectures_built_unchecked_by_spaces_are_valid(name: str) -> None:
    space, rng = nb.search_space(name), np.random.default_rng(0)
    for arch in (space.sample(rng) for _ in range(20)):
        for built in (arch, *space.neighbours(arch)):
            assert Architecture(built.space, built.parents, built.operations) == built


@given(st.text(alphabet="s1:0,2|conv3x maxpol-", max_size=60))
def test_parsed_text_is_written_back_unchanged_or_refused(text: str) -> None:
    try:
        arch = Architecture.parse(text)
    except InvalidInputError:
        return
    assert Architecture.parse(str(arch)) == arch


def test_architectures_are_immutable_values() -> None:
    arch = Architecture.parse(TEXT)
    assert {arch: 1}[Architecture.parse(TEXT)] == 1
    assert arch != Architecture.parse(TEXT.replace("s1", "s2"))
    with pytest.raises(FrozenInstanceError):
        arch.space = "s2"  # type: ignore[misc]


def test_the_cell_of_an_architecture() -> None:
    cell = Architecture.parse(TEXT).cell
    assert cell.matrix.tolist() == [
        [0, 1, 1, 1, 0, 0],
        [0, 0, 1, 0, 1, 0],
        [0, 0, 0, 1, 0, 1],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],
    ]
    assert cell.ops == ("input", "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3", "conv3x3-bn-relu", "output")


def test_architectures_that_differ_in_loose_ends_have_equal_cells() -> None:
    read = "s1:0|0,1|0,1|{}|0,3:conv3x3,conv1x1,maxpool3x3,{}"
    variants = [Architecture.parse(read.format(*loose)) for loose in (("0,1", "conv3x3"), ("2,3", "maxpool3x3"))]
    assert variants[0] != variants[1]
    assert variants[0].cell == variants[1].cell
    assert len(variants[0].cell.ops) == 4  # input, block 1, block 3, output: blocks 2 and 4 are loose ends


def test_the_seven_by_seven_matrix_of_the_published_code_is_an_equal_cell() -> None:
    """Output moved from index 5 to 6, an isolated dummy labelled conv1x1 put at 5 (original.md B1)."""
    rng = np.random.default_rng(0)
    for name in ("s1", "s2"):
        space = nb.search_space(name)
        for arch in (space.sample(rng) for _ in range(20)):
            six = np.zeros((6, 6), int)
            for node, parents in enumerate(arch.parents, start=1):
                six[list(parents), node] = 1
            seven = np.insert(np.insert(six, 5, 0, axis=1), 5, 0, axis=0)
            ops = ["conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"]
            labels = ["input", *(ops[op] for op in arch.operations), "conv1x1-bn-relu", "output"]
            assert Cell(seven, labels) == arch.cell


def test_the_base_class_builds_architectures_of_cells() -> None:
    arch = Architecture("s1", PARENTS, (0, 1, 2, 0))
    assert type(arch) is CellArchitecture and arch == CellArchitecture.parse(str(arch))
    assert arch.network_id == arch.cell.hash
    assert pickle.loads(pickle.dumps(arch)) == copy.deepcopy(arch) == arch  # noqa: S301  written a line above
