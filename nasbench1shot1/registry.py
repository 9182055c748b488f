"""The registry of search spaces and optimizers by name; each is imported only when it is used.

Other packages can add their own through the entry-point groups `nasbench1shot1.search_spaces` and
`nasbench1shot1.optimizers`, whose entries have the form `module:attribute`.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, alternatives, unknown_name

if TYPE_CHECKING:
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
    from nasbench1shot1.optimizer import OneShotOptimizer
    from nasbench1shot1.space import OneShotSpace, SearchSpace

BUILT_IN = {
    "search_spaces": {
        "s1": "nasbench1shot1.search_spaces.search_space_1:SPACE",
        "s2": "nasbench1shot1.search_spaces.search_space_2:SPACE",
        "s3": "nasbench1shot1.search_spaces.search_space_3:SPACE",
        "nb101": "nasbench1shot1.search_spaces.nasbench101:SPACE",
        "nb101-mini": "nasbench1shot1.search_spaces.nasbench101:MINI",
        "nb201": "nasbench1shot1.search_spaces.nasbench201:SPACE",
    },
    "optimizers": {
        "darts": "nasbench1shot1.optimizers.darts:DARTS",
        "darts-second-order": "nasbench1shot1.optimizers.darts:SecondOrderDARTS",
        "gdas": "nasbench1shot1.optimizers.gdas:GDAS",
        "pc-darts": "nasbench1shot1.optimizers.pc_darts:PCDARTS",
        "snas": "nasbench1shot1.optimizers.snas:SNAS",
        "random-ws": "nasbench1shot1.optimizers.random_ws:RandomWS",
        "enas": "nasbench1shot1.optimizers.enas:ENAS",
        "setn": "nasbench1shot1.optimizers.setn:SETN",
    },
    "black_box_optimizers": {
        "random": "nasbench1shot1.optimizers.black_box.random_search:RandomSearch",
        "regularized-evolution": "nasbench1shot1.optimizers.black_box.evolution:RegularizedEvolution",
        "non-regularized-evolution": "nasbench1shot1.optimizers.black_box.evolution:NonRegularizedEvolution",
        "reinforce": "nasbench1shot1.optimizers.black_box.reinforce:REINFORCE",
        "local-search": "nasbench1shot1.optimizers.black_box.local_search:LocalSearch",
        "tpe": "nasbench1shot1.optimizers.black_box.tpe:TPE",
        "smac": "nasbench1shot1.optimizers.black_box.smac:SMAC",
        "hyperband": "nasbench1shot1.optimizers.black_box.hyperband:Hyperband",
        "bohb": "nasbench1shot1.optimizers.black_box.bohb:BOHB",
    },
}
ENTRY_POINTS = {"black_box_optimizers": "optimizers"}
"""Groups that share the entry points of another group."""


def names(group: str) -> list[str]:
    """Return the names registered in a group, built-in names first."""
    return list(_references(group))


def listed_names(group: str) -> list[str]:
    """Return the names that help lists for an option, without importing objects of other packages.

    Args:
        group: a group of the registry, "one_shot_spaces", or "module:attribute", an object that contains the names.
    """
    from nasbench1shot1.space import OneShotSpace

    module, colon, attribute = group.partition(":")
    if colon:
        return list(getattr(import_module(module), attribute))
    if group != "one_shot_spaces":
        return names(group)
    known, built_in = names("search_spaces"), BUILT_IN["search_spaces"]
    return [name for name in known if name not in built_in or isinstance(search_space(name), OneShotSpace)]


def _is_builtin_name(group: str, name: object) -> bool:
    """Return whether a name of a group is built in, without listing the installed packages, which takes 10 ms."""
    return name in list(BUILT_IN[group])  # a list, because `name` may not be hashable


def search_space(name: str) -> "SearchSpace":
    """Return the search space with a name, such as "s1", or a versioned id, such as "nb101-s1-v1".

    Raises InvalidInputError for an unknown name; the message suggests the closest known name.
    """
    if not _is_builtin_name("search_spaces", name) and name not in (known := names("search_spaces")):
        for short in known:
            found = _load("search_spaces", "search space", short)
            if found.id == name:
                return _checked_space(short, found)
    found = _load("search_spaces", "search space", name)
    return _checked_space(name, found)


def _checked_space(name: str, found: Any) -> "SearchSpace":
    from nasbench1shot1.space import SearchSpace

    if isinstance(found, SearchSpace):
        return found
    what = "a class: name an instance" if isinstance(found, type) else "not a search space: name an nb.SearchSpace"
    raise InvalidInputError(f"'{name}' is {what}, such as my_module:SPACE")


def name_of_space(space: "SearchSpace") -> str:
    """Return the name with which another process can find a space: a registered name, or "module:object".

    Raises InvalidInputError if the space is not an attribute of any module.
    """
    if space.name in names("search_spaces"):
        with suppress(InvalidInputError):  # another package's space that cannot be imported
            if search_space(space.name) is space:
                return space.name
    places = [f"{module}:{attribute}" for module, attribute in _places_of(space)]
    if not places:
        raise InvalidInputError(
            f"{space!r} is not an attribute of any module, so a run could not find it again: assign it to a name at "
            "the top level of a module (SPACE = …), or register it (docs/own_space.md)"
        )
    return min(places, key=lambda place: (place.startswith("__main__:"), place))


def _places_of(space: "SearchSpace") -> Iterator[tuple[str, str]]:
    """Yield the modules and attributes that refer to a space."""
    for name, module in list(sys.modules.items()):
        if name == "__main__" or getattr(module, "__spec__", None) is not None:
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if value is space:
                    yield name, attribute


def one_shot(space: "SearchSpace") -> "OneShotSpace":
    """Return the space itself if it has the relaxation that supernets and one-shot searches need.

    Raises InvalidInputError if it does not; the message names the registered spaces that have one.
    """
    from nasbench1shot1.space import OneShotSpace, no_relaxation_error

    if isinstance(space, OneShotSpace):
        return space
    raise no_relaxation_error(space, f"choose {alternatives(_one_shot_names())}")


def _one_shot_names() -> list[str]:
    from nasbench1shot1.space import OneShotSpace

    found = []
    for name in names("search_spaces"):
        with suppress(InvalidInputError):  # another package's space that cannot be imported is not a suggestion
            if isinstance(search_space(name), OneShotSpace):
                found.append(name)
    return found


def optimizer(name: str) -> "type[OneShotOptimizer]":
    """Return the class of the one-shot optimizer with a name, such as "darts".

    Raises InvalidInputError for an unknown name, or one of something else.
    """
    from nasbench1shot1.optimizer import OneShotOptimizer

    found: type[OneShotOptimizer] = _checked_class(
        name, _load("optimizers", "optimizer", name), OneShotOptimizer, "a one-shot optimizer"
    )
    return found


def black_box_optimizer(name: str) -> "type[BlackBoxOptimizer]":
    """Return the class of the black-box optimizer with a name, such as "regularized-evolution".

    Raises InvalidInputError for an unknown name, or one of something else.
    """
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer

    found: type[BlackBoxOptimizer] = _checked_class(
        name, _load("black_box_optimizers", "black-box optimizer", name), BlackBoxOptimizer, "a black-box optimizer"
    )
    return found


def _checked_class(name: str, found: Any, base: type, what: str) -> Any:
    if not (isinstance(found, type) and issubclass(found, base)):
        raise InvalidInputError(f"'{name}' is not {what}: name a subclass of nb.{base.__name__}")
    if lacking := sorted(getattr(found, "__abstractmethods__", ())):
        raise InvalidInputError(f"'{name}' lacks {', '.join(lacking)}: implement them, or name another optimizer")
    return found


def is_trusted(group: str, name: str) -> bool:
    """Return whether a name can be used without importing a module only because it is named.

    This is true for registered names, and for a "module:attribute" whose module is already imported.
    """
    module, colon, _ = str(name).partition(":")
    return module in sys.modules if colon else _is_builtin_name(group, name) or name in names(group)


def import_trusted(modules: str | None) -> None:
    """Import modules that the user trusts, separated by commas, so that names in run folders may refer to them.

    Raises InvalidInputError if one cannot be imported.
    """
    try:
        for module in modules.split(",") if modules else ():
            import_module(module)
    except (ImportError, ValueError) as error:
        raise InvalidInputError(
            f"--allow-module {modules} cannot be imported ({error}): install it, set PYTHONPATH, or correct its name"
        ) from error


def table_of(space: str) -> str | None:
    """Return the name of a space's own table; None if it has none, or if using the space would import a module."""
    return search_space(space).table if is_trusted("search_spaces", space) else None


def check_trusted(group: str, kind: str, name: str, where: object, allowed: str | None = None) -> None:
    """Raise InvalidInputError if a file's name would import a module that is not allowed.

    Args:
        group: "optimizers" or "search_spaces".
        kind: the noun for the group's members, for the message.
        name: the name in the file.
        where: path of the file.
        allowed: a module that the user allows, or several, separated by commas.

    Raises:
        InvalidInputError: the name is a "module:attribute" whose module is neither imported nor allowed.
    """
    module, colon, _ = str(name).partition(":")
    if colon and module not in (allowed or "").split(",") and not is_trusted(group, name):
        raise InvalidInputError(
            f"{where} names '{name}' as its {kind}, but importing a module runs its code: if you trust it, add "
            f"--allow-module {module}, or import the module in Python first"
        )


def _references(group: str) -> dict[str, str]:
    from importlib.metadata import entry_points  # slow to import, and only needed for names that are not built in

    points = entry_points(group=f"nasbench1shot1.{ENTRY_POINTS.get(group, group)}")
    plugins = {entry.name: entry.value for entry in points}
    return BUILT_IN[group] | {name: value for name, value in plugins.items() if name not in BUILT_IN[group]}


def _load(group: str, kind: str, name: str) -> Any:
    is_reference = isinstance(name, str) and ":" in name
    known = BUILT_IN[group] if is_reference or _is_builtin_name(group, name) else _references(group)
    if name not in list(known) and not is_reference:  # a list, because `name` may not be hashable
        advice = "; write your own space as module:object" if group == "search_spaces" else ""
        raise InvalidInputError(f"{unknown_name(kind, name, known)}{advice}")
    module, _, attribute = (name if is_reference else known[name]).partition(":")
    advice = "install it, set PYTHONPATH, or correct its name"
    try:
        imported = import_module(module)
        advice = "correct its name"
        return getattr(imported, attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        if module == "__main__":
            raise InvalidInputError(
                f"the {kind} '{name}' belongs to the script or notebook that started this run: resume it from there"
            ) from error
        raise InvalidInputError(f"the {kind} '{name}' cannot be imported ({error}): {advice}") from error
