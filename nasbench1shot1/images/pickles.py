"""Reading a batch of the "python version" of CIFAR-10 without unpickling it.

The official files are pickles, and unpickling a file from elsewhere runs whatever it says. `pickletools.genops`
only splits the stream into opcodes. What is wanted, one long string and one list of integers, can be taken from
those, whichever Python and numpy wrote the file. Format: https://www.cs.toronto.edu/~kriz/cifar.html.
"""

import pickletools
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.errors import DamagedFileError

PIXELS = 3 * 32 * 32
_MOST_OPCODES = 300_000  # a batch has some 50,000
_INTEGERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"}
_FLAGS = {"NEWTRUE", "NEWFALSE", *_INTEGERS}
_BOOKKEEPING = {"MARK", "APPEND", "APPENDS", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"}


class _Token(NamedTuple):
    """One opcode, and the value that it carries."""

    name: str
    value: Any


def read_python_batch(content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """The planar pixels uint8 (N, 3072) and the labels int64 (N,) of one pickled batch; nothing in it is executed.

    `where` names the file in errors. Raises DamagedFileError where the stream is cut or holds something else.
    """
    try:
        tokens = list(_tokens(content))
    except (ValueError, IndexError, struct.error, OverflowError, MemoryError) as error:
        raise DamagedFileError(f"{where} is not a whole pickle: download or copy it again") from error
    labels = _labels(tokens)
    pixels = _pixels(tokens, len(labels))
    if pixels is None:
        raise DamagedFileError(f"{where} is not a CIFAR-10 batch (no 'labels' with as many images): check the file")
    return pixels, labels


def _tokens(content: bytes) -> Iterator[_Token]:
    for number, (opcode, value, _) in enumerate(pickletools.genops(content)):
        if number == _MOST_OPCODES:  # 64 MB of them would take a minute and 5 GB
            raise ValueError(f"more than {_MOST_OPCODES} opcodes")
        if opcode.name not in _BOOKKEEPING:
            yield _Token(opcode.name, value)


def _labels(tokens: list[_Token]) -> np.ndarray:
    """The run of integers after the key 'labels'; empty where there is none, or one is out of 0..255."""
    end = len(tokens)
    key = next((i for i in range(end) if _text(tokens[i]) == b"labels"), end)
    start = next((i for i in range(key, end) if tokens[i].name in _INTEGERS), end)
    stop = next((i for i in range(start, end) if tokens[i].name not in _INTEGERS), end)
    values = [int(token.value) for token in tokens[start:stop]]
    return np.array(values if all(0 <= value <= 255 for value in values) else [], dtype=np.int64)


def _pixels(tokens: list[_Token], rows: int) -> np.ndarray | None:
    """The one string of rows × 3072 bytes as an array (rows, 3072); None where there is none."""
    for at, token in enumerate(tokens):
        text = _text(token)
        if text is not None and len(text) == rows * PIXELS > 0:
            array = np.frombuffer(text, dtype=np.uint8)
            return array.reshape(PIXELS, rows).T if _by_columns(tokens, at) else array.reshape(rows, PIXELS)
    return None


def _text(token: _Token) -> bytes | None:
    """The bytes of any kind of string: Python 2's come as latin-1 text, and so do Python 3's in protocols 0 to 2."""
    if isinstance(token.value, str):
        try:
            return token.value.encode("latin-1")
        except UnicodeEncodeError:
            return None
    return bytes(token.value) if isinstance(token.value, bytes | bytearray) else None


def _by_columns(tokens: list[_Token], at: int) -> bool:
    """Whether the array with its bytes at `at` is in Fortran's order.

    numpy says so by a flag before the bytes (ndarray.__setstate__) or, in protocol 5, by "C" or "F" after them.
    """
    before = tokens[:at][::-1]
    words = (token.value for token in before if isinstance(token.value, str))
    maker = next((word for word in words if word.endswith(("_reconstruct", "_frombuffer"))), "")
    if maker.endswith("_frombuffer"):
        return next((token.value for token in tokens[at + 1 :] if token.value in ("C", "F")), "C") == "F"
    flag = next((token for token in before if token.name in _FLAGS), None)
    return flag is not None and (flag.name == "NEWTRUE" or flag.value == 1)
