"""Values that objects keep: the attributes that define an object, and copies of cached values for callers."""

from functools import cached_property
from typing import Any, NoReturn, Self, TypeVar, cast, overload

import numpy as np

T = TypeVar("T")


def defining_attributes(instance: object) -> dict[str, Any]:
    """Return the attributes of an object by name, without the values of its cached properties.

    Cached values depend on what was read before, so pickles that contain them differ for equal objects.
    """
    kind = type(instance)
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }


def are_equal(first: object, second: object) -> bool:
    """Return whether two attributes have the same type and are equal; arrays are compared as a whole.

    Values that cannot be compared are different.
    """
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    try:
        return bool(first == second)
    except Exception:  # such as a tuple of arrays
        return False


def independent(value: T) -> T:
    """Return a copy of a value, which callers may change.

    Lists, tuples, dictionaries, arrays, data frames and whatever else has a method `copy` are new, also inside each
    other; all other objects are shared. For the lines of a record, this is several times as fast as `copy.deepcopy`.
    """
    kind, copied = type(value), cast(Any, value)
    if kind is dict:
        copied = {name: of if type(of) in _SCALARS else independent(of) for name, of in copied.items()}
    elif kind is list:
        copied = [of if type(of) in _SCALARS else independent(of) for of in copied]
    elif kind is tuple:
        copied = tuple(map(independent, copied))
    elif kind not in _SCALARS and hasattr(value, "copy"):
        copied = copied.copy()
    return cast(T, copied)


_SCALARS = frozenset({str, int, float, bool, type(None)})


class copied_property(cached_property[T]):
    """A property that is computed once for each object; every read returns a new copy (`independent`) of the value.

    Callers may change what they read, without effect on later reads.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        """Return a copy of the value."""
        if instance is None:
            return self
        return independent(super().__get__(instance, owner))

    def shared(self, instance: object) -> T:
        """Return the value itself, which must not be changed."""
        return super().__get__(instance)

    def __set__(self, instance: object, value: object) -> NoReturn:
        """Raise AttributeError; without this method, the cached value in the object's dictionary would be read."""
        raise AttributeError(f"'{self.attrname}' of {type(instance).__name__} cannot be set")
