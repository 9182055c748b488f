"""Configuration spaces: which hyperparameters a study tunes, and their ranges.

The bundled spaces cs1, cs2 and cs3 have the ranges of NAS-Bench-1Shot1 (Zela, Siems and Hutter, ICLR 2020; published
code, optimizers/bohb_one_shot). A user's space is a JSON or YAML file as ConfigSpace writes it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    UserError,
    alternatives,
    option,
    quote,
    quoted_option,
)
from nasbench1shot1.ground.files import PACKAGE_DATA, as_path, atomic_write, blocked_error, read_json, read_text, reason
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.one_shot_search.options import SearchOptions, search_options
from nasbench1shot1.proposers.configurations import as_python

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

FOLDER = PACKAGE_DATA / "config_spaces"
NOT_TUNABLE = {
    "optimizer", "space", "scale", "preset", "seed", "epochs", "images", "images_per_half", "image_side", "table",
    "device", "threads", "keep_weights_every", "reference", "max_parameters", "max_flops", "max", "format", "style",
    "width",
}  # fmt: skip
"""Options of a search that cannot be hyperparameters: they change the data, the objective, the machine or
only pictures."""
SAMPLES = 50
"""Number of random configurations that are checked before a study starts."""

Check = Callable[[SearchOptions], None]


def bundled_names() -> list[str]:
    """Return the names of the bundled configuration spaces."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def hyperparameter_names(named: str) -> tuple[str, ...]:
    """Return the names of the hyperparameters of a bundled space or a file; raises the errors of `config_space`."""
    return tuple(_open(named))


def config_space(named: str, fixed: Mapping[str, Any]) -> "ConfigurationSpace":
    """Return a configuration space for a study, with the optimizer's defaults.

    A default of the optimizer that is outside the range of the space is replaced by the space's own default.

    Args:
        named: the name of a bundled space, or a JSON or YAML file.
        fixed: the explicitly given options of the study's shortest search, by name, including `epochs`.

    Raises:
        InvalidInputError: there is no such space, the file does not describe a space, a hyperparameter is not an option
            of a search with this optimizer or is given as an option, or values of its range are not valid.
    """
    space = _open(named)
    space = with_defaults(space, search_options(fixed, varied=tuple(space)).as_dict())
    _check_names(named, space, fixed)
    check_searches(named, space, fixed, lambda options: None)
    return space


def check_searches(named: str, space: "ConfigurationSpace", fixed: Mapping[str, Any], check: Check) -> None:
    """Check the ends of every hyperparameter's range, and some random configurations.

    Args:
        named: the name of the space, for messages.
        space: the configuration space.
        fixed: as in `config_space`.
        check: called with the resolved options of each search; raises UserError if they are not valid.

    Raises:
        InvalidInputError: a configuration is not valid; the message has its values.
    """
    for values in _to_check(space):
        try:
            check(search_options({**fixed, **values}, varied=tuple(space)))
        except UserError as error:
            listed = ", ".join(f"{name} {value}" for name, value in values.items())
            raise InvalidInputError(f"configuration space '{named}' contains {listed}: {quote(error)}") from error


def with_defaults(space: "ConfigurationSpace", defaults: Mapping[str, Any]) -> "ConfigurationSpace":
    """Return a copy of a space with other defaults, where they are within the ranges of the space."""
    content = to_json(space)
    for hyperparameter in content["hyperparameters"]:
        value = defaults.get(hyperparameter["name"])
        has_default = "default_value" in hyperparameter  # a constant has none
        if has_default and value is not None and space[hyperparameter["name"]].legal_value(value):
            hyperparameter["default_value"] = value
    with suppress(ValueError):  # together, the defaults may be a forbidden combination
        return _from_json(content)
    return space


def to_json(space: "ConfigurationSpace") -> dict[str, Any]:
    """Return a space as JSON values."""
    return json.loads(json.dumps(space.to_serialized_dict(), default=as_python))  # type: ignore[no-any-return]


def write_config_space(space: "ConfigurationSpace", path: Path) -> None:
    """Write a space to a JSON file that ConfigSpace can read; raises UserError if it cannot be written."""
    with atomic_write(path) as file:
        file.write((json.dumps(to_json(space), indent=2) + "\n").encode())


def read_config_space(path: Path) -> "ConfigurationSpace":
    """Read the space that `write_config_space` wrote; raises DamagedFileError if the file is damaged."""
    try:
        return _from_json(read_json(path))
    except UserError:
        raise
    except Exception as error:  # ConfigSpace reports a malformed description in many ways
        raise DamagedFileError(f"{path} is damaged ({reason(error)}): restore it, or start a new study") from error


def _open(named: str) -> "ConfigurationSpace":
    if named in bundled_names():
        return _from_json(read_json(FOLDER / f"{named}.json"))
    path = as_path(named, "config_space", is_option=True)
    if not path.is_file():
        raise InvalidInputError(
            f"{quoted_option('config_space', named)} does not exist: give "
            f"{alternatives([*bundled_names(), 'a ConfigSpace file'])}"
        )
    content = _read_yaml(path) if path.suffix in (".yaml", ".yml") else read_json(path)
    try:
        return _from_json(content)
    except Exception as error:  # as above
        raise InvalidInputError(
            f"{quoted_option('config_space', named)} is not a ConfigSpace file ({reason(error)}): write it with "
            "ConfigurationSpace.to_json or to_yaml"
        ) from error


def _read_yaml(path: Path) -> Any:
    require_package("yaml", f"reading {path}", install="run pip install pyyaml, or use a JSON file")
    import yaml

    try:
        return yaml.safe_load(read_text(path))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} cannot be read as YAML ({reason(error)}): correct it"
        ) from error


def _from_json(content: Any) -> "ConfigurationSpace":
    from ConfigSpace import ConfigurationSpace

    if not isinstance(content, dict):
        raise ValueError("it is not a mapping")
    if "hyperparameters" not in content:
        raise ValueError("it has no key 'hyperparameters'")
    space: ConfigurationSpace = ConfigurationSpace.from_serialized_dict(content)
    return space


def _check_names(named: str, space: "ConfigurationSpace", fixed: Mapping[str, Any]) -> None:
    if not len(space):
        raise InvalidInputError(f"configuration space '{named}' has no hyperparameters: add at least one")
    for name in space:
        if name in NOT_TUNABLE:
            raise InvalidInputError(
                f"configuration space '{named}' has a hyperparameter '{name}', which a study cannot tune: remove it"
            )
        if name in fixed:
            raise InvalidInputError(
                f"{option(name)} is a hyperparameter of the configuration space '{named}': remove the option, or use a "
                "space without it"
            )


def _to_check(space: "ConfigurationSpace") -> Iterator[dict[str, Any]]:
    """Yield the ends of every range, with the defaults of all other hyperparameters, then random configurations.

    If the defaults make a hyperparameter inactive, those on which it depends have the values of the first random
    configuration in which it is active. Inactive hyperparameters are left out, and so are combinations that the space
    forbids.
    """
    from ConfigSpace.exceptions import ForbiddenValueError
    from ConfigSpace.util import deactivate_inactive_hyperparameters

    copy = _from_json(to_json(space))
    usual = {name: hyperparameter.default_value for name, hyperparameter in copy.items()}
    copy.seed(0)
    samples = [dict(copy.sample_configuration()) for _ in range(SAMPLES)]
    for name, hyperparameter in space.items():
        active = next((sample for sample in samples if name in sample), {})
        needed = {other: active[other] for other in _ancestors(copy, name) if other in active}
        for value in _ends(hyperparameter):
            with suppress(ForbiddenValueError):
                found = deactivate_inactive_hyperparameters({**usual, name: value}, copy)
                if name not in dict(found):
                    found = deactivate_inactive_hyperparameters({**usual, **needed, name: value}, copy)
                yield _as_python(found)
    yield from map(_as_python, samples)


def _ancestors(space: "ConfigurationSpace", name: str) -> set[str]:
    """Return the names of the hyperparameters whose values decide whether a hyperparameter is active."""
    parents = {parent.name for parent in space.parents_of[name]}
    return parents.union(*(_ancestors(space, parent) for parent in parents))


def _as_python(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: as_python(value) for name, value in values.items()}


def _ends(hyperparameter: Any) -> list[Any]:
    """Return the bounds of a number, or all values of a hyperparameter that has finitely many."""
    for attribute in ("choices", "sequence"):
        if hasattr(hyperparameter, attribute):
            return list(getattr(hyperparameter, attribute))
    if hasattr(hyperparameter, "lower"):
        return [hyperparameter.lower, hyperparameter.upper]
    return [hyperparameter.value]
