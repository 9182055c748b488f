"""How options without a default value are parsed: `X | None` has the metavar and the choices of X in messages."""

from dataclasses import replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NONE = "None"
"""The text for None on the command line."""
YES, NO = ("yes", "true"), ("no", "false")


def with_optional_values() -> ConstructorRegistry:
    """Return a registry for `tyro.cli` in which `X | None` has the metavar and the choices of X."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_optional)
    return registry


def _optional(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    if get_origin(info.type) not in (Union, UnionType) or NoneType not in get_args(info.type):
        return None
    kinds = [kind for kind in get_args(info.type) if kind is not NoneType]
    if len(kinds) > 1:
        return None
    if kinds[0] is bool:
        return _yes_or_no()
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kinds[0], info.markers))
    if not isinstance(spec, PrimitiveConstructorSpec) or spec.nargs != 1:
        return None
    return replace(
        spec,
        instance_from_str=lambda given: None if given == [NONE] else spec.instance_from_str(given),
        is_instance=lambda value: value is None or spec.is_instance(value),
        str_from_instance=lambda value: [NONE] if value is None else spec.str_from_instance(value),
        choices=spec.choices and (*spec.choices, NONE),
    )


def _yes_or_no() -> PrimitiveConstructorSpec[Any]:
    """Return how `bool | None` is parsed: yes and no as in help, or Python's words, as in earlier versions."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="{yes,no}",
        instance_from_str=lambda given: None if given == [NONE] else _as_bool(given[0]),
        is_instance=lambda value: value is None or isinstance(value, bool),
        str_from_instance=lambda value: [NONE] if value is None else ["yes" if value else "no"],
    )


def _as_bool(word: str) -> bool:
    if word.lower() not in {*YES, *NO}:
        raise ValueError(f"'{word}' is neither yes nor no")
    return word.lower() in YES
