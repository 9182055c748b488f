"""Python batches are read independently of their writer and never executed."""

import os
import pickle
import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_builders import made_images, planar, python2_batch, python3_batch

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.images.pickles import read_python_batch

IMAGES, LABELS = made_images(2_100)  # more than two pickle chunks of 1,000 items


def assert_read(content: bytes) -> None:
    pixels, labels = read_python_batch(content, "batch")
    assert np.array_equal(pixels, planar(IMAGES))
    assert np.array_equal(labels, LABELS)
    assert (pixels.dtype, labels.dtype) == (np.uint8, np.int64)


def test_pickles_written_by_python_2_are_read() -> None:
    content = python2_batch(IMAGES, LABELS)
    assert_read(content)
    loaded = pickle.loads(content, encoding="latin1")  # noqa: S301  that what we built is what Python reads
    assert np.array_equal(loaded["data"], planar(IMAGES))
    assert loaded["labels"] == LABELS.tolist()


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("text", [False, True])
def test_pickles_written_by_python_3_are_read(protocol: int, order: str, text: bool) -> None:
    assert_read(python3_batch(IMAGES, LABELS, protocol, order, text))


@pytest.mark.parametrize("module", [b"numpy.core", b"numpy._core"])
def test_pickles_with_either_module_path_of_numpy_are_read(module: bytes) -> None:
    assert_read(python2_batch(IMAGES, LABELS).replace(b"numpy.core", module))


def test_pickles_are_not_executed(tmp_path: Path) -> None:
    trap = tmp_path / "executed"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(trap),)

    content = {b"trap": Trap(), b"labels": LABELS.tolist(), b"data": planar(IMAGES)}
    assert_read(pickle.dumps(content))
    assert not trap.exists()


@pytest.mark.parametrize(
    "content",
    [
        {b"data": planar(IMAGES)},
        {b"labels": LABELS.tolist()},
        {b"labels": [], b"data": planar(IMAGES[:0])},
        {b"labels": LABELS.tolist()[:-1], b"data": planar(IMAGES)},
        {b"labels": [*LABELS.tolist()[:-1], -1], b"data": planar(IMAGES)},
        {b"fine_labels": LABELS.tolist(), b"data": planar(IMAGES)},
        {b"labels": ["cat"] * len(LABELS), b"data": planar(IMAGES)},
    ],
)
def test_other_pickles_are_refused(content: dict[bytes, object]) -> None:
    with pytest.raises(DamagedFileError, match="not a CIFAR-10 batch"):
        read_python_batch(pickle.dumps(content), "batch")


@pytest.mark.parametrize("content", [b"c\\\x00\n", b"S'\\d'\np0\n."])
@pytest.mark.parametrize("action", ["error", "ignore"])
def test_invalid_escape_sequences_are_damage_under_any_warning_filter(
    content: bytes, action: Literal["error", "ignore"]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        with pytest.raises(DamagedFileError, match=r"^batch .*pickle"):
            read_python_batch(content, "batch")


SMALL = made_images(3)


@settings(max_examples=200)
@given(
    st.binary(max_size=200) | st.integers(0, len(python2_batch(*SMALL)) - 1).map(lambda n: python2_batch(*SMALL)[:n])
)
def test_broken_streams_are_reported_in_one_sentence(content: bytes) -> None:
    with pytest.raises(DamagedFileError, match="batch"):
        read_python_batch(content, "batch")


@settings(max_examples=200)
@given(at=st.integers(0, 400), byte=st.integers(0, 255), protocol=st.integers(2, 4))
def test_a_flipped_byte_never_raises_another_error(at: int, byte: int, protocol: int) -> None:
    content = bytearray(python3_batch(*SMALL, protocol))
    content[at] = byte
    try:
        pixels, labels = read_python_batch(bytes(content), "batch")
    except DamagedFileError:
        return
    assert len(pixels) == len(labels)
