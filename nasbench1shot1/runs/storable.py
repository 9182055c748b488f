"""Checks that the files of runs can hold the values that a user's class returns, before these are written."""

import io
import json
from collections.abc import Callable
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, shorten


def check_checkpoint_values(name: str, state: Any) -> None:
    """Raise InvalidInputError, which names the place, if a checkpoint with a state could not be read back.

    Args:
        name: the method that returned the state, such as "Mine.state_dict".
        state: the state.
    """
    _check(state, f"{name}()", _is_loadable, "use tensors and plain Python values, such as float(…) or str(…)")


def check_json_values(name: str, value: Any) -> None:
    """Raise InvalidInputError, which names the place, if a value cannot be written as JSON.

    Args:
        name: the method that returned the value, such as "Mine.structure".
        value: the value.
    """
    _check(value, f"{name}()", _is_json, "use plain Python values, such as float(…) or a list, but not NaN or infinity")


def _check(value: Any, place: str, fits: Callable[[Any], bool], advice: str) -> None:
    """Raise InvalidInputError unless `fits` accepts a value, and every entry of plain dicts, lists and tuples in it."""
    if type(value) is dict:
        for key, entry in value.items():
            if not (fits(key) and (type(key) is str or fits({key: None}))):  # tuples fit as values, but not as keys
                raise InvalidInputError(f"{place} has the key {_text(key)}, which a run cannot record: {advice}")
            _check(entry, f"{place}[{key!r}]", fits, advice)
    elif type(value) in (list, tuple):
        for number, entry in enumerate(value):
            _check(entry, f"{place}[{number}]", fits, advice)
    elif not fits(value):
        raise InvalidInputError(f"{place} is {_text(value)}, which a run cannot record: {advice}")


def _text(value: Any) -> str:
    return shorten(" ".join(repr(value).split()))


def _is_loadable(value: Any) -> bool:
    """Return whether `load_checkpoint` reads a value back, which it does without running code from the file."""
    import torch

    if value is None or type(value) in (bool, int, float, str, torch.Tensor, torch.nn.Parameter):
        return True
    try:
        torch.save(value, buffer := io.BytesIO())
        buffer.seek(0)
        torch.load(buffer, map_location="cpu", weights_only=True)
    except Exception:  # pickling and unpickling can fail in any way
        return False
    return True


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
