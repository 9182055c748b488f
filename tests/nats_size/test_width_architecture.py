"""Architectures of NATS-Bench's size space: values with a text form, five widths and an official index."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.nats_size.architecture import LAYERS, WIDTHS
from nasbench1shot1.nats_size.numbering import all_widths, index_of, widths_of

five_widths = st.tuples(*[st.sampled_from(WIDTHS)] * 5)


def test_the_text_consists_of_the_space_and_the_official_text() -> None:
    arch = nb.WidthArchitecture("nats-size", (64, 48, 32, 16, 8))
    assert str(arch) == "nats-size:64:48:32:16:8"
    assert arch.official == arch.network_id == "64:48:32:16:8"
    assert arch.positions == (7, 5, 3, 1, 0)
    assert WIDTHS == (8, 16, 24, 32, 40, 48, 56, 64)
    assert len(LAYERS) == 5


@pytest.mark.parametrize("text", ["64:48:32:16:8", "nats-size:64:48:32:16:8", " nats-size:64:48:32:16:8\n"])
@pytest.mark.parametrize("form", [nb.Architecture, nb.WidthArchitecture])
def test_both_forms_of_the_text_are_read(form: type[nb.Architecture], text: str) -> None:
    assert form.parse(text) == nb.WidthArchitecture("nats-size", (64, 48, 32, 16, 8))


@pytest.mark.parametrize("space", ["my-space", "8x"])
def test_a_text_of_another_space_keeps_its_name(space: str) -> None:
    arch = nb.Architecture.parse(f"{space}:64:48:32:16:8")
    assert arch.space == space
    assert arch != nb.Architecture.parse("64:48:32:16:8")
    assert str(arch) == f"{space}:64:48:32:16:8"


@given(five_widths)
def test_text_widths_and_index_are_inverse(widths: tuple[int, ...]) -> None:
    arch = nb.WidthArchitecture("nats-size", widths)
    assert nb.Architecture.parse(str(arch)) == nb.Architecture.parse(arch.official) == arch
    assert arch == nb.WidthArchitecture.unchecked("nats-size", widths)
    assert tuple(WIDTHS[position] for position in arch.positions) == widths == widths_of(index_of(widths))


@given(st.text(alphabet="nats-size:0123468", max_size=30))
def test_parsed_text_is_written_back_unchanged_or_refused(text: str) -> None:
    try:
        arch = nb.Architecture.parse(text)
    except nb.InvalidInputError:
        return
    assert str(arch).removeprefix("nats-size:") == text.removeprefix("nats-size:")


@pytest.mark.parametrize(
    "text, values",
    [
        ("64:48:33:16:8", "33 64:48:33:16:8 8, 16, 24, 32, 40, 48, 56, 64"),
        ("nats-size:64:48:32:16:0", "0 64:48:32:16:0 8, 64"),
        ("64:48:32:16:800", "800"),
        ("64:48:32:16", "'64:48:32:16' nats-size:64:48:32:16:8"),
        ("nats-size:64:48", "'nats-size:64:48' nats-size:64:48:32:16:8"),
        ("nats-size:64:48:32:16:8:8", "nats-size:64:48:32:16:8"),
        ("64:48:32:16:8:8", "'64:48:32:16:8:8' nats-size:64:48:32:16:8"),
        ("64:48:32:16:08", "nats-size:64:48:32:16:8"),
        ("9" * 5000 + ":8:8:8:8", "nats-size:64:48:32:16:8"),
        ("64:48:32:16:٨", "architecture"),
        ("64:48:32:-16:8", "architecture"),
        ("64:48:32::8", "architecture"),
        ("nats size:64:48:32:16:8", "architecture"),
    ],
)
def test_text_that_is_not_an_architecture_is_refused_in_one_sentence(text: str, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        nb.Architecture.parse(text)


def test_incomplete_text_of_the_space_is_explained_in_its_own_form_only() -> None:
    for text in ("nats-size:64:48", "64:48:32:16", "nats-size:64"):
        with refuses(nb.InvalidInputError, "space:width:width") as caught:
            nb.Architecture.parse(text)
        assert "parents" not in str(caught.value)


def test_each_form_refuses_the_text_of_the_others() -> None:
    with pytest.raises(nb.InvalidInputError, match="space:width:width"):
        nb.WidthArchitecture.parse(str(nb.search_space("s1")[0]))
    with pytest.raises(nb.InvalidInputError, match="space:parents:operations"):
        nb.CellArchitecture.parse("64:48:32:16:8")
    with pytest.raises(nb.InvalidInputError, match=r"space:\|operation~source\|"):
        nb.EdgeArchitecture.parse("64:48:32:16:8")


def test_lists_and_numpy_integers_become_a_tuple_of_python_integers() -> None:
    given_widths: list[Any] = [[np.int8(64), 48, 32, 16, 8], np.array([64, 48, 32, 16, 8], np.uint8)]
    for widths in given_widths:
        arch = nb.WidthArchitecture("nats-size", widths)
        assert arch == nb.Architecture.parse("64:48:32:16:8")
        assert type(arch.widths) is tuple
        assert {type(width) for width in arch.widths} == {int}


@pytest.mark.parametrize(
    "widths, values",
    [
        ((8,) * 4, "5 4 stem and cell 1, reduction 1"),
        ((), "5 0"),
        ((8, 8, 8, 8, 9), "9 (cell 3 8:8:8:8:9"),
        ((8, -8, 8, 8, 8), "-8 (reduction 1"),
        ((8, 8, 8, 8, 8.5), "5 8.5"),
        ("8:8:8:8:8", "5 8:8"),
        (None, "5 None"),
        (np.full((2, 5), 8), "5"),
        (8, "5 8"),
    ],
)
def test_invalid_widths_are_refused_in_one_sentence(widths: Any, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        nb.WidthArchitecture("nats-size", widths)


def test_architectures_are_immutable_values() -> None:
    arch = nb.WidthArchitecture("nats-size", (64, 48, 32, 16, 8))
    assert pickle.loads(pickle.dumps(arch)) == copy.deepcopy(arch) == arch  # noqa: S301  written here
    assert {arch: 1}[nb.WidthArchitecture("nats-size", (64, 48, 32, 16, 8))] == 1
    assert arch != nb.WidthArchitecture("nats-size", (64, 48, 32, 16, 16))
    with pytest.raises(FrozenInstanceError):
        arch.widths = (8,) * 5  # type: ignore[misc]


# The official order ---------------------------------------------------------------------------------------------------


def test_every_official_index_agrees_with_the_data(shared: Path) -> None:
    with np.load(shared / "nats_sss_test90.npz", allow_pickle=False) as data:
        official = data["widths"]
    assert np.array_equal(all_widths(), official)
    assert [index_of(widths) for widths in official] == list(range(32_768))
    assert [widths_of(index) for index in range(32_768)] == [tuple(widths) for widths in official.tolist()]


@pytest.mark.parametrize(
    "text, index",
    [("8:8:8:8:8", 0), ("8:8:8:16:32", 11), ("8:8:40:32:40", 284), ("8:24:8:8:8", 1024), ("64:64:64:64:64", 32_767)],
)
def test_known_architectures_have_their_official_index(text: str, index: int) -> None:
    """Official records (fake_torch_dir of D-X-Y/NATS-Bench), and the worst architecture on ImageNet16-120."""
    assert index_of(nb.WidthArchitecture.parse(text).widths) == index


def test_the_order_is_read_only_and_contains_every_architecture_once() -> None:
    widths = all_widths()
    assert (widths.shape, widths.dtype) == ((32_768, 5), np.uint8)
    assert len(np.unique(widths, axis=0)) == 32_768
    with pytest.raises(ValueError, match="read-only"):
        widths[0, 0] = 0
