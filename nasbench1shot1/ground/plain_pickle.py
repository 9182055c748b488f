"""Read pickles of plain data from untrusted files, without running any code that they contain.

A pickle is a program that may call any function by its name. Here, only the names of plain data count: containers,
and NumPy's scalars and arrays of numbers and strings. Their constructors are replaced by functions that check what they
receive, whatever version of Python and NumPy wrote the file.
"""

import codecs
import io
import math
import pickle
import pickletools
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import reason

_DTYPE = re.compile(r"[biufcSU][0-9]{1,4}")


def load_plain_pickle(file: IO[bytes], where: str, *, encoding: str = "ASCII", most_opcodes: int | None = None) -> Any:
    """Return the content of a pickle of plain data.

    Args:
        file: the pickle, opened for reading.
        where: name of the file, for messages.
        encoding: encoding of the strings of Python 2, or "bytes".
        most_opcodes: for files whose length is known: longer pickles, which could fill the memory, are refused.

    Raises:
        InvalidInputError: the pickle asks for something that is not plain data; nothing was executed.
        DamagedFileError: it is truncated or damaged.
    """
    try:
        with warnings.catch_warnings():
            # A backslash before an ordinary character: repr, which writes these strings, doubles it.
            warnings.filterwarnings("error", ".*invalid escape sequence", DeprecationWarning)
            if most_opcodes is not None:
                content = file.read()
                _check_length(content, most_opcodes)
                file = io.BytesIO(content)
            return _PlainUnpickler(file, where, encoding).load()
    except (UserError, OSError):
        raise
    except MemoryError as error:
        raise DamagedFileError(f"{where} needs more memory than there is: download or copy it again") from error
    except Exception as error:  # pickle raises any kind of error for damaged bytes
        raise DamagedFileError(
            f"{where} is not a complete pickle ({reason(error)}): download or copy it again"
        ) from error


def _check_length(content: bytes, most_opcodes: int) -> None:
    """Raise ValueError if a pickle has more opcodes, or an index in its memo above this number."""
    for number, (opcode, value, _) in enumerate(pickletools.genops(content)):
        if number == most_opcodes or (opcode.name in ("PUT", "LONG_BINPUT") and int(value or 0) > most_opcodes):
            raise ValueError(f"more than {most_opcodes:,} opcodes")


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that only knows the names of plain data."""

    def __init__(self, file: IO[bytes], where: str, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._where = where

    def find_class(self, module: str, name: str) -> Any:
        """Return the constructor that stands for a name; raises InvalidInputError for names of other things."""
        if (found := _CONSTRUCTORS.get(f"{module}.{name}")) is None:
            raise InvalidInputError(
                f"{self._where} asks for '{module}.{name}', but only containers, numbers, strings and NumPy arrays are "
                "read from pickles: use the official file without trained weights or other objects"
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        """Raise InvalidInputError: the pickle refers to an object outside it."""
        raise InvalidInputError(
            f"{self._where} refers to an object outside the pickle, {pid!r}: use a file that is complete"
        )


class _Constructor:
    """A function that a pickle may call, but not change."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("it changes a function")


class _DType:
    """Stands for `numpy.dtype`, of numbers and strings only."""

    __slots__ = ("_name", "_order")

    def __init__(self, name: str) -> None:
        self._name, self._order = name, "="

    def __setstate__(self, state: Any) -> None:
        _, order, *others = state
        if any(other is not None for other in others[:3]):  # sub-array, names and fields
            raise pickle.UnpicklingError("an array of records")
        self._order = _text(order)

    def real(self) -> np.dtype[Any]:
        """Return the dtype; raises TypeError for an unknown one."""
        return np.dtype(self._name if self._order == "|" else self._order + self._name)


class _Array(np.ndarray[Any, Any]):
    """An array whose content is checked when a pickle gives it."""

    def __setstate__(self, state: Any, /) -> None:
        _, shape, dtype, is_fortran, content = state
        found = _values(content, dtype)
        if not (type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape)):
            raise pickle.UnpicklingError("an array of an impossible shape")
        if found.size != math.prod(shape):
            raise pickle.UnpicklingError("an array with the wrong number of values")
        super().__setstate__((1, shape, found.dtype, cast(Any, bool(is_fortran)), found.tobytes()))


def _dtype(name: Any, *_: Any) -> _DType:
    text = _text(name)
    if not _DTYPE.fullmatch(text):
        raise pickle.UnpicklingError(f"an array of '{text}'")
    return _DType(text)


def _values(content: Any, dtype: Any) -> NDArray[Any]:
    """Return bytes, or a string of Python 2, as an array (N,) of a dtype."""
    if type(dtype) is not _DType or not isinstance(content, bytes | bytearray | str):
        raise pickle.UnpicklingError("an array of objects")
    found = dtype.real()
    return np.frombuffer(content.encode("latin-1") if isinstance(content, str) else content, found)


def _scalar(dtype: Any, content: Any) -> Any:
    [value] = _values(content, dtype)
    return value


def _empty_array(*_: Any) -> _Array:
    return _Array(0, np.uint8)


def _frombuffer(content: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any]:
    return _values(content, dtype).reshape(shape, order="F" if order == "F" else "C")


def _text(value: Any) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


def _encode(text: str, encoding: Any) -> bytes:
    if _text(encoding) not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("a string in another encoding")
    return codecs.encode(text, "latin-1")


_CONSTRUCTORS: dict[str, Any] = {
    "collections.OrderedDict": _Constructor(OrderedDict),
    "_codecs.encode": _Constructor(_encode),  # how protocols 0 to 2 store bytes
    **{
        f"{module}.{make.__name__}": _Constructor(make)
        for module in ("builtins", "__builtin__")
        for make in (set, frozenset)
    },
    **{f"{module}.bytes": _Constructor(lambda: b"") for module in ("builtins", "__builtin__")},
    "numpy.ndarray": "numpy.ndarray",
    "numpy.dtype": _Constructor(_dtype),
    **{
        f"numpy.{core}.{name}": _Constructor(make)
        for core in ("core", "_core")
        for name, make in (
            ("multiarray.scalar", _scalar),
            ("multiarray._reconstruct", _empty_array),
            ("numeric._frombuffer", _frombuffer),
        )
    },
}
"""What the names of plain data mean; an array's class is only a word, because it is never called."""
