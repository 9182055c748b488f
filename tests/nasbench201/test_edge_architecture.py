"""Architectures of NAS-Bench-201: values with a text form, six integers and an official string."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.architecture import EDGE_NAMES, EDGES, OPERATIONS

OFFICIAL = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
OF_EACH_EDGE = "|none~0|+|skip_connect~0|nor_conv_1x1~1|+|nor_conv_3x3~0|avg_pool_3x3~1|none~2|"

six_operations = st.tuples(*[st.integers(0, 4)] * 6)


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
    "text, message",
    [
        (
            OFFICIAL.replace("skip_connect", "skip_conect"),
            "unknown operation 'skip_conect'; did you mean 'skip_conn",
        ),
        (OFFICIAL.replace("skip_connect", ""), "unknown operation ''"),
        (OFFICIAL.replace("|skip_connect~0", ""), "does not list the edges 1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2 in this"),
        (OFFICIAL + "+|none~0|", "does not list the edges"),
        (OFFICIAL[:-1], "does not list the edges"),
        (OFFICIAL.replace("~2", "~٢"), "does not list the edges"),
        (OFFICIAL.replace("+", "|"), "in this order: write |nor_conv_3x3~0|+|nor_conv_3x3~0|"),
        (f":{OFFICIAL}", "is not an architecture: write space:parents:operations"),
        (f"s 1:{OFFICIAL}", "is not an architecture"),
        (OFFICIAL.replace("~", "-"), "or space:|operation~source|+…, for example nb201:|nor_conv_3x3~0|+|"),
        ("~" * 5000, "is not an architecture"),
        ("|" + "~" * 5000, "does not list the edges"),
    ],
)
def test_text_that_is_not_an_architecture_is_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(nb.InvalidInputError) as caught:
        nb.Architecture.parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


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
    "operations, message",
    [
        ((0,) * 5, "has 6 operations, not 5: give one for each of the edges 1<-0, 2<-0"),
        ((), "has 6 operations, not 0"),
        (
            (0, 0, 0, 0, 0, 5),
            "(0, 0, 0, 0, 0, 5) has an operation that does not exist: give 0 (none), 1 (skip_",
        ),
        ((0, 0, 0, 0, 0, -1), "has an operation that does not exist"),
        ((0, 0, 0, 0, 0, 1.5), "are six integers, such as (3, 3, 3, 1, 3, 3), not (0, 0, 0, 0, 0, 1.5)"),
        ("333133", "are six integers"),
        (None, "are six integers"),
        (np.zeros((2, 6), int), "are six integers"),
        (7, "are six integers"),
    ],
)
def test_invalid_operations_are_refused_in_one_sentence(operations: Any, message: str) -> None:
    with pytest.raises(nb.InvalidInputError) as caught:
        nb.EdgeArchitecture("nb201", operations)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


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
