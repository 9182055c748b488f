"""Pickles of plain data are read whatever wrote them; other pickles are refused, and nothing in them is executed."""

import bz2
import datetime
import io
import os
import pickle
import pickletools
import shutil
import struct
from collections import OrderedDict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.plain_pickle import load_plain_pickle

RNG = np.random.default_rng(0)
PLAIN: dict[str, Any] = {
    "containers": [{"a": (1, 2, {3})}, frozenset([4]), OrderedDict(b=1), (), [], {}, set()],
    "numbers": [0, -1, 2**70, 1.5, float("inf"), True, None],
    "strings": ["text", "Λ", b"bytes", b"\xff\x00", b"", ""],
    "scalars": [
        np.float64(0.1),
        np.float32(0.5),
        np.int64(-3),
        np.bool_(True),
        np.uint8(7),
        np.str_("x"),
        np.complex64(1j),
    ],
}
ARRAYS = [
    RNG.random((3, 4)),
    np.asfortranarray(RNG.random((3, 4)).astype(np.float32)),
    np.arange(6, dtype=">i8").reshape(2, 3),
    np.zeros((0, 5), np.uint16),
    np.array(3.0),
    np.array(["a", "bcd"]),
    np.array([b"a", b"bcd"]),
    RNG.random(10) > 0.5,
]


def load(content: bytes, **options: Any) -> Any:
    return load_plain_pickle(io.BytesIO(content), "file", **options)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", PLAIN)
def test_plain_data_are_read(kind: str, protocol: int) -> None:
    found = load(pickle.dumps(PLAIN[kind], protocol))
    assert found == PLAIN[kind]
    assert [type(value) for value in found] == [type(value) for value in PLAIN[kind]]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("number", range(len(ARRAYS)))
@pytest.mark.parametrize("module", [b"numpy.core", b"numpy._core"])
def test_arrays_are_read(number: int, protocol: int, module: bytes) -> None:
    content = pickle.dumps(ARRAYS[number], protocol)
    if protocol < 4:  # later protocols store the length of the name
        content = content.replace(b"numpy._core", module)
    found = load(content)
    assert found.dtype.newbyteorder("=") == ARRAYS[number].dtype.newbyteorder("=")
    assert np.array_equal(found, ARRAYS[number])


class Call:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = function, arguments

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("function", [os.system, shutil.rmtree, eval, getattr, __import__, np.load])
def test_a_forged_pickle_is_refused_with_the_name_of_what_it_asks_for(function: Any, protocol: int) -> None:
    trap = Path("/nowhere") / "touched"
    name = f"{function.__module__}.{getattr(function, '__qualname__', function.__name__)}"
    content = pickle.dumps({"ok": [1, Call(function, f"touch {trap}")]}, protocol)
    with pytest.raises(InvalidInputError) as caught:
        load(content)
    asked = name.replace("builtins", "__builtin__") if protocol < 3 else name
    assert f"'{asked}'" in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.array([None]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        np.datetime64("2026-01-01"),
        datetime.datetime(2026, 1, 1),
        Fraction(1, 2),
        np.ma.array([1, 2], mask=[0, 1]),
        pickle.PickleBuffer,
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises((InvalidInputError, DamagedFileError)):
        load(pickle.dumps(value))


def changed(function: bytes) -> bytes:
    """A pickle that sets an attribute of the function that it named."""
    return b"\x80\x02c" + function + b"\n}X\x0b\x00\x00\x00__defaults__K\x01sb."


@pytest.mark.parametrize(
    "content",
    [
        changed(b"numpy\ndtype"),
        changed(b"numpy\nndarray"),
        changed(b"collections\nOrderedDict"),
        b"\x80\x02cnumpy\nndarray\n(J\xff\xff\xff\x7ftR.",  # calls it
        b"\x80\x02cnumpy\nndarray\n)\x81.",  # creates one
        b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00O8\x85R.",
        b"\x80\x02cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\x00\x00\x00f8\x85RC\x04abcd\x86R.",
        b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x8c\x05numpy\x8c\x07ndarray00\x93\x8c\x04true\x85R.",
        b"Pname\n.",  # an object outside
        b"\x82\x01.",  # an extension
        b"\x8e" + b"\xff" * 8,
        b"",
    ],
)
def test_tricks_are_refused(content: bytes) -> None:
    with pytest.raises((InvalidInputError, DamagedFileError)):
        load(content)


def test_a_limit_of_opcodes_is_kept() -> None:
    content = pickle.dumps(list(range(1000)))
    assert load(content, most_opcodes=2000) == list(range(1000))
    for long in (content, b"\x80\x02K\x01r" + struct.pack("<I", 2**31) + b"."):
        with pytest.raises(DamagedFileError):
            load(long, most_opcodes=900)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_is_read_with_as_many_opcodes_as_it_has(protocol: int) -> None:
    content = pickle.dumps([PLAIN, "ä\n" * 200, b"x" * 300, 2**3000, list(range(-300, 300))], protocol)
    number = len(list(pickletools.genops(content)))
    load(content, most_opcodes=number)
    with pytest.raises(DamagedFileError, match=f"more than {number - 1:,} opcodes"):
        load(content, most_opcodes=number - 1)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02K\x01r" + struct.pack("<I", 2**31) + b".",
        b"I1\np4000000000\n.",
        b"\x8e" + struct.pack("<Q", 2**60) + b".",
        b"X\xff\xff\xff\x7fabc.",
        b"cnumpy\nndarray",
        b"K\x01\xff.",
    ],
)
def test_places_in_the_memo_and_lengths_that_would_fill_the_memory_are_refused(content: bytes) -> None:
    with pytest.raises(DamagedFileError):
        load(content, most_opcodes=1_000_000)


def test_a_flipped_byte_gives_plain_data_or_one_error() -> None:
    content = pickle.dumps([PLAIN, ARRAYS], 4)
    for at in range(len(content)):
        for flip in (0x01, 0x80, int(RNG.integers(1, 256))):
            damaged = bytearray(content)
            damaged[at] ^= flip
            try:
                load(bytes(damaged), most_opcodes=100_000)
            except UserError as error:
                assert "file" in str(error)


def test_genuine_records_of_nats_bench_are_read(shared: Path) -> None:
    files = sorted((shared / "nats_fake").glob("*/*.pbz2"))
    assert len(files) == 8
    for file in files:
        content = bz2.decompress(file.read_bytes())
        found, expected = load(content), pickle.loads(content)  # noqa: S301  a trusted file
        assert found == expected and repr(found) == repr(expected)
