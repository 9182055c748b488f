"""Defaults that depend on another option, such as the scale, computed for help from the tables that set them."""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

from nasbench1shot1.runs.options import flag

Setting = tuple[str, str]
"""The name and the value of an option on which defaults depend."""


def default_variants(
    defaults: Callable[[Mapping[str, str]], Mapping[str, Any]], settings: Iterable[Setting]
) -> dict[str, dict[str, Any]]:
    """Return the defaults that differ in other settings.

    Args:
        defaults: returns the defaults of all options under given settings, by name.
        settings: settings to try alone and in pairs.

    Returns:
        For each setting as on the command line, as "--scale quick", the differing defaults by name. A pair of settings
        only has defaults that neither of the two has alone.
    """
    usual, alone = defaults({}), {setting: defaults(dict([setting])) for setting in settings}
    alone = {setting: values for setting, values in alone.items() if values != usual}
    found = {_written(setting): _differing(values, usual) for setting, values in alone.items()}
    for pair in combinations(alone, 2):
        if pair[0][0] != pair[1][0]:
            values = _differing(defaults(dict(pair)), usual, *(alone[setting] for setting in pair))
            found[_written(*pair)] = values
    return found


def _differing(values: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in [other[name] for other in others]}


def _written(*settings: Setting) -> str:
    return " ".join(f"{flag(name)} {value}" for name, value in settings)
