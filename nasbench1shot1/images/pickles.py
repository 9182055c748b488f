"""Reading pickled batches of CIFAR-10, CIFAR-100 and ImageNet16 without unpickling them.

The official files are pickles, and unpickling an untrusted file can run any code. `pickletools.genops` only splits the
stream into opcodes. They contain all that is needed, one long string and one list of integers, for any version of
Python and NumPy that wrote the file. Formats: https://www.cs.toronto.edu/~kriz/cifar.html and
image2numpy_imagenet_train.py in github.com/PatrykChrabaszcz/Imagenet32_Scripts.
"""

import pickletools
import struct
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError

_MOST_OPCODES = 300_000  # a batch of CIFAR-100 has some 200,000
_INTEGERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"}
_FLAGS = {"NEWTRUE", "NEWFALSE", *_INTEGERS}
_PUT, _GET = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}, {"GET", "BINGET", "LONG_BINGET"}
_BOOKKEEPING = {"MARK", "APPEND", "APPENDS", "FRAME"}
_STRINGS = {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_BYTES = {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
_CONTAINERS = {"EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST"}
_TUPLES = {"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
_BUILDING = {"PROTO", "NONE", "GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "STOP"}
_ALLOWED = {*_FLAGS, *_GET, *_STRINGS, *_BYTES, *_CONTAINERS, *_TUPLES, *_BUILDING}
_ALLOWED_GLOBALS = {
    *(f"numpy.{core}.multiarray _reconstruct" for core in ("core", "_core")),
    *(f"numpy.{core}.numeric _frombuffer" for core in ("core", "_core")),
    *("numpy ndarray", "numpy dtype", "_codecs encode"),
}


class BatchFormat(NamedTuple):
    """The format of a pickled batch: a dictionary with the array "data" and a list of labels.

    Attributes:
        title: name of a batch, for messages.
        labels: key of the list of labels.
        pixels: number of bytes of an image.
        lowest: the smallest possible label.
        highest: the largest possible label.
        is_strict: whether to refuse a batch with opcodes or names that a dictionary of arrays and lists does not need.
            In CIFAR-10 batches, other objects are skipped. Objects are never created.
    """

    title: str
    labels: bytes
    pixels: int
    lowest: int
    highest: int
    is_strict: bool = True


CIFAR10_BATCH = BatchFormat("a CIFAR-10 batch", b"labels", 3 * 32 * 32, 0, 255, is_strict=False)


class _Token(NamedTuple):
    """An opcode and its value."""

    name: str
    value: Any


def read_python_batch(content: bytes, where: str, form: BatchFormat = CIFAR10_BATCH) -> tuple[np.ndarray, np.ndarray]:
    """Return the planar pixels uint8 (N, pixels) and labels int64 (N,) of a pickled batch, without executing any code.

    `where` names the file in errors; `form` is the data set's format. Raises DamagedFileError if the stream is
    truncated, has other content, or refers to something that a batch of images does not need.
    """
    try:
        with warnings.catch_warnings():
            # A backslash before an ordinary character: repr, which writes these strings, doubles it.
            warnings.filterwarnings("error", "invalid escape sequence", DeprecationWarning)
            tokens = list(_tokens(content))
    except (ValueError, IndexError, struct.error, OverflowError, MemoryError, DeprecationWarning) as error:
        raise DamagedFileError(f"{where} is not a complete pickle: download or copy it again") from error
    if form.is_strict and (foreign := _foreign(tokens)):
        raise DamagedFileError(f"{where} has {foreign}, which a batch of images does not need: download it again")
    labels = _labels(tokens, form)
    pixels = _pixels(tokens, len(labels), form.pixels)
    if pixels is None:
        wanted = f"it lacks '{form.labels.decode()}' with an equal number of images"
        raise DamagedFileError(f"{where} is not {form.title} ({wanted}): check the file")
    return pixels, labels


def _tokens(content: bytes) -> Iterator[_Token]:
    """Yield the opcodes with values; for an opcode that fetches a string from the memo, the string's opcode."""
    memo: dict[Any, _Token] = {}  # by index
    last = _Token("PROTO", None)
    for number, (opcode, value, _) in enumerate(pickletools.genops(content)):
        if number == _MOST_OPCODES:  # 64 MB of opcodes would take a minute and 5 GB of memory
            raise ValueError(f"more than {_MOST_OPCODES} opcodes")
        if opcode.name in _PUT:
            place = len(memo) if value is None else value
            memo[place] = last if isinstance(last.value, str) and last.name in _STRINGS else _Token("GET", None)
        elif opcode.name not in _BOOKKEEPING:
            last = memo.get(value, _Token("GET", None)) if opcode.name in _GET else _Token(opcode.name, value)
            yield last


def _foreign(tokens: list[_Token]) -> str | None:
    """Return the first opcode or name that a dictionary of NumPy arrays and lists does not need; None without one."""
    for at, token in enumerate(tokens):
        if token.name not in _ALLOWED:
            return f"the opcode {token.name}"
        if token.name in ("GLOBAL", "STACK_GLOBAL"):
            words = [str(t.value) for t in tokens[max(at - 2, 0) : at]]
            name = str(token.value) if token.name == "GLOBAL" else " ".join(words)
            if name not in _ALLOWED_GLOBALS:
                return f"the name '{name.replace(' ', '.')}'"
    return None


def _labels(tokens: list[_Token], form: BatchFormat) -> np.ndarray:
    """Return the integers after the labels' key; empty if there are none, or if one is out of range."""
    end = len(tokens)
    key = next((i for i in range(end) if _is_key(tokens[i], form.labels)), end)
    start = next((i for i in range(key, end) if tokens[i].name in _INTEGERS), end)
    stop = next((i for i in range(start, end) if tokens[i].name not in _INTEGERS), end)
    values = [int(token.value) for token in tokens[start:stop]]
    in_range = all(form.lowest <= value <= form.highest for value in values)
    return np.array(values if in_range else [], dtype=np.int64)


def _pixels(tokens: list[_Token], rows: int, pixels: int) -> np.ndarray | None:
    """Return the first string of rows × pixels bytes after the key "data", as (rows, pixels); None without one."""
    key = next((i for i, token in enumerate(tokens) if _is_key(token, b"data")), len(tokens))
    for at, token in enumerate(tokens[key:], start=key):
        text = _text(token)
        if text is not None and len(text) == rows * pixels > 0:
            array = np.frombuffer(text, dtype=np.uint8)
            return array.reshape(pixels, rows).T if _by_columns(tokens, at) else array.reshape(rows, pixels)
    return None


def _is_key(token: _Token, key: bytes) -> bool:
    is_as_long = isinstance(token.value, str | bytes | bytearray) and len(token.value) == len(key)
    return is_as_long and _text(token) == key


def _text(token: _Token) -> bytes | None:
    """Return the bytes of a string token; Python 2, and Python 3 in protocols 0 to 2, store them as latin-1 text."""
    if isinstance(token.value, str):
        try:
            return token.value.encode("latin-1")
        except UnicodeEncodeError:
            return None
    return bytes(token.value) if isinstance(token.value, bytes | bytearray) else None


def _by_columns(tokens: list[_Token], at: int) -> bool:
    """Return whether the array whose bytes are at `at` is in Fortran order.

    NumPy stores this as a flag before the bytes (ndarray.__setstate__) or, in protocol 5, as "C" or "F" after them.
    """
    before = tokens[:at][::-1]
    words = (token.value for token in before if isinstance(token.value, str))
    maker = next((word for word in words if word.endswith(("_reconstruct", "_frombuffer"))), "")
    if maker.endswith("_frombuffer"):
        return next((token.value for token in tokens[at + 1 :] if token.value in ("C", "F")), "C") == "F"
    flag = next((token for token in before if token.name in _FLAGS), None)
    return flag is not None and (flag.name == "NEWTRUE" or flag.value == 1)
