"""The registry of benchmarks, search spaces and optimizers by name; each is imported only when it is used.

Other packages can add their own through the entry-point groups `nasbench1shot1.benchmarks`,
`nasbench1shot1.search_spaces` and `nasbench1shot1.optimizers`, whose entries have the form `module:attribute`.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.benchmark import BENCHMARKS
from nasbench1shot1.benchmark import benchmark as benchmark
from nasbench1shot1.benchmark import benchmarks as benchmarks
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, either, option
from nasbench1shot1.ground.plugins import IMPORT_ADVICE, Group, check_overrides, imported, imported_module

if TYPE_CHECKING:
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
    from nasbench1shot1.optimizer import OneShotOptimizer
    from nasbench1shot1.space import OneShotSpace, SearchSpace
    from nasbench1shot1.tables.references import Reference
    from nasbench1shot1.tables.table import Table


OWN_OPTIMIZER = "; give your own optimizer as module:Class"
GROUPS = {
    "benchmarks": BENCHMARKS,
    "search_spaces": Group(
        "search space",
        "nasbench1shot1.search_spaces",
        {
            "s1": "nasbench1shot1.search_spaces.search_space_1:SPACE",
            "s2": "nasbench1shot1.search_spaces.search_space_2:SPACE",
            "s3": "nasbench1shot1.search_spaces.search_space_3:SPACE",
            "nb101": "nasbench1shot1.search_spaces.nasbench101:SPACE",
            "nb101-mini": "nasbench1shot1.search_spaces.nasbench101:MINI",
            "nb101-5v": "nasbench1shot1.search_spaces.nasbench101:FIVE_VERTICES",
            "nb201": "nasbench1shot1.search_spaces.nasbench201:SPACE",
            "nats-size": "nasbench1shot1.search_spaces.nats_size:SPACE",
        },
        advice="; give your own space as module:object",
    ),
    "optimizers": Group(
        "optimizer",
        "nasbench1shot1.optimizers",
        {
            "darts": "nasbench1shot1.optimizers.darts:DARTS",
            "darts-second-order": "nasbench1shot1.optimizers.darts:SecondOrderDARTS",
            "gdas": "nasbench1shot1.optimizers.gdas:GDAS",
            "pc-darts": "nasbench1shot1.optimizers.pc_darts:PCDARTS",
            "snas": "nasbench1shot1.optimizers.snas:SNAS",
            "random-ws": "nasbench1shot1.optimizers.random_ws:RandomWS",
            "enas": "nasbench1shot1.optimizers.enas:ENAS",
            "setn": "nasbench1shot1.optimizers.setn:SETN",
            "tas": "nasbench1shot1.optimizers.tas:TAS",
            "fbnetv2": "nasbench1shot1.optimizers.fbnetv2:FBNetV2",
            "tunas": "nasbench1shot1.optimizers.tunas:TuNAS",
            "beta-darts": "nasbench1shot1.optimizers.beta_darts:BetaDARTS",
            "drnas": "nasbench1shot1.optimizers.drnas:DrNAS",
            "gaea": "nasbench1shot1.optimizers.gaea:GAEA",
            "lambda-darts": "nasbench1shot1.optimizers.lambda_darts:LambdaDARTS",
            "darts-pt": "nasbench1shot1.optimizers.darts_pt:DARTSPT",
            "spos": "nasbench1shot1.optimizers.spos:SPOS",
            "fair-darts": "nasbench1shot1.optimizers.fair_darts:FairDARTS",
            "rf-darts": "nasbench1shot1.optimizers.rf_darts:RFDARTS",
            "sdarts-rs": "nasbench1shot1.optimizers.sdarts:RandomSDARTS",
            "sdarts-adv": "nasbench1shot1.optimizers.sdarts:AdversarialSDARTS",
            "darts-minus": "nasbench1shot1.optimizers.darts_minus:DARTSMinus",
            "oles": "nasbench1shot1.optimizers.oles:OLES",
            "idarts": "nasbench1shot1.optimizers.idarts:IDARTS",
            "is-darts": "nasbench1shot1.optimizers.is_darts:ISDARTS",
            "sgas": "nasbench1shot1.optimizers.sgas:SGAS",
            "drnas-progressive": "nasbench1shot1.optimizers.drnas:ProgressiveDrNAS",
        },
        advice=OWN_OPTIMIZER,
        base="nasbench1shot1.optimizer:OneShotOptimizer",
        aliases={"mask-gumbel": "fbnetv2", "mask-rl": "tunas"},  # NATS-Bench's names
    ),
    "black_box_optimizers": Group(
        "black-box optimizer",
        "nasbench1shot1.optimizers",  # one group for both kinds of optimizers
        {
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
        advice=OWN_OPTIMIZER,
        base="nasbench1shot1.black_box_optimizer:BlackBoxOptimizer",
    ),
}
BUILT_IN = {group: found.built_in for group, found in GROUPS.items()}
ASK_TELL = "nasbench1shot1.optimizers.black_box.ask_tell:optimizer_class"
"""What turns a function of an `nb.AskTell` into a class of black-box optimizers; imported when it is needed."""
SCRIPT = "__main__:"
"""Prefix of the names of objects that a script or notebook defines, which other processes cannot import."""


def names(group: str) -> list[str]:
    """Return the names registered in a group, built-in names first."""
    return GROUPS[group].names()


def listed_names(group: str) -> list[str]:
    """Return the names that help lists for an option, without importing objects of other packages.

    Args:
        group: a group of the registry, "one_shot_spaces", or "module:attribute", an object that contains the names.
    """
    from nasbench1shot1.space import OneShotSpace

    if ":" in group:
        return list(imported(group))
    if group != "one_shot_spaces":
        return names(group)
    known, built_in = names("search_spaces"), BUILT_IN["search_spaces"]
    return [name for name in known if name not in built_in or isinstance(search_space(name), OneShotSpace)]


def search_space(name: str) -> "SearchSpace":
    """Return the search space with a name, such as "s1", or a versioned id, such as "nb101-s1-v1".

    Raises InvalidInputError for an unknown name; the message suggests the closest known name.
    """
    return _space(name)


def _space(name: str, listed: Callable[[], Iterable[str]] | None = None) -> "SearchSpace":
    """Return a search space by name or id; `listed` returns the names that the error for an unknown name lists."""
    name = _name_of_id(name)
    return _checked_space(name, GROUPS["search_spaces"].load(name, listed))


def _name_of_id(name: str) -> str:
    """Return the registered name of the space with a versioned id; any other value is returned unchanged."""
    is_reference = not isinstance(name, str) or ":" in name
    if is_reference or GROUPS["search_spaces"].is_built_in(name) or name in (known := names("search_spaces")):
        return name
    for short in known:
        with suppress(Exception):  # another package's space that cannot be imported, or is not a space
            if getattr(_space(short), "id", None) == name:
                return short
    return name


def _checked_space(name: str, found: Any) -> "SearchSpace":
    from nasbench1shot1.space import SearchSpace

    if isinstance(found, SearchSpace):
        check_overrides(type(found))
        return found
    what = "a class: name an instance" if isinstance(found, type) else "not a search space: name an nb.SearchSpace"
    raise InvalidInputError(f"'{name}' is {what}, such as my_module:SPACE")


def name_of_optimizer(optimizer: str | type) -> str:
    """Return the name with which another process can find an optimizer: "module:Class" for a class."""
    return optimizer if isinstance(optimizer, str) else f"{optimizer.__module__}:{optimizer.__qualname__}"


def name_of_space(space: "SearchSpace") -> str:
    """Return the name with which another process can find a space: a registered name, or "module:object".

    Raises InvalidInputError if the space is not an attribute of any module.
    """
    if space.name in names("search_spaces"):
        with suppress(InvalidInputError):  # another package's space that cannot be imported
            if search_space(space.name) == space:  # perhaps its copy from another process
                return space.name
    places = _places_of(lambda value: value is space)
    if not places:  # perhaps a copy from another process
        places = _places_of(lambda value: type(value) is type(space) and value == space)
    if not places:
        raise InvalidInputError(
            f"{space!r} is not an attribute of any module, so a run could not find it again: assign it to a name at "
            "the top level of a module (SPACE = …), or register it (docs/own_space.md)"
        )
    return min(places, key=lambda place: (place.startswith(SCRIPT), place))


def _places_of(is_wanted: Callable[[Any], bool]) -> list[str]:
    """Return the names "module:object" of the attributes of modules that a function accepts."""
    return [
        f"{name}:{attribute}"
        for name, module in list(sys.modules.items())
        if name == "__main__" or getattr(module, "__spec__", None) is not None
        for attribute, value in list(getattr(module, "__dict__", {}).items())
        if is_wanted(value)
    ]


def one_shot(space: "SearchSpace") -> "OneShotSpace":
    """Return the space itself if it has the relaxation that supernets and one-shot searches need.

    Raises InvalidInputError if it does not; the message names the registered spaces that have one.
    """
    from nasbench1shot1.space import OneShotSpace, no_relaxation_error

    if isinstance(space, OneShotSpace):
        return space
    raise no_relaxation_error(space, f"choose {alternatives(_one_shot_names())}")


def one_shot_space(name: str) -> "OneShotSpace":
    """Return the search space with a name, as `search_space`, if `one_shot` accepts it.

    Raises InvalidInputError if not; the message names only spaces that `one_shot` accepts.
    """
    return one_shot(_space(name, _one_shot_names))


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

    Raises InvalidInputError for an unknown name, one of something else, or a class with a method of another signature.
    """
    from nasbench1shot1.optimizer import OneShotOptimizer

    _check_kind(
        name,
        *("optimizers", "black_box_optimizers"),
        f"a black-box optimizer: run it with {either('nb1shot1 blackbox', 'nb.black_box')}",
    )
    found: type[OneShotOptimizer] = _checked_class(
        name, GROUPS["optimizers"].load(name), OneShotOptimizer, "a one-shot optimizer"
    )
    return found


def black_box_optimizer(name: str) -> "type[BlackBoxOptimizer]":
    """Return the class of the black-box optimizer with a name, such as "regularized-evolution".

    Raises InvalidInputError for an unknown name, one of something else, or a class with a method of another signature.
    """
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer

    _check_kind(
        name,
        *("black_box_optimizers", "optimizers"),
        f"a one-shot optimizer: run it with {either('nb1shot1 search', 'nb.search')}",
    )
    loaded = GROUPS["black_box_optimizers"].load(name)
    if _makes_optimizers(loaded) and not (isinstance(loaded, type) and issubclass(loaded, BlackBoxOptimizer)):
        loaded = imported(ASK_TELL)(loaded)
    found: type[BlackBoxOptimizer] = _checked_class(name, loaded, BlackBoxOptimizer, "a black-box optimizer")
    return found


def _makes_optimizers(found: Any) -> bool:
    """Return whether an object can be the `make` of an `nb.AskTell`: a function, or a class with ask and tell."""
    return isfunction(found) or (isinstance(found, type) and all(hasattr(found, name) for name in ("ask", "tell")))


def _check_kind(name: str, group: str, other: str, what: str) -> None:
    """Raise InvalidInputError for the name of an optimizer of another group; `what` describes that group."""
    if not GROUPS[group].is_built_in(name) and name not in names(group) and name in names(other):
        raise InvalidInputError(f"'{name}' is {what}")


def _checked_class(name: str, found: Any, base: type[Any], what: str) -> Any:
    if not (isinstance(found, type) and issubclass(found, base)):
        raise InvalidInputError(f"'{name}' is not {what}: name a subclass of nb.{base.__name__}")
    if lacking := sorted(getattr(found, "__abstractmethods__", ())):
        raise InvalidInputError(f"'{name}' lacks {', '.join(lacking)}: implement them, or name another optimizer")
    check_overrides(found)
    return found


def is_trusted(group: str, name: str) -> bool:
    """Return whether a name can be used without importing a module only because it is named.

    This is true for registered names, and for a "module:attribute" whose module is already imported. A name in
    `__main__` is trusted only if the current script or notebook defines it, because the record may come from another.
    """
    module, colon, attribute = str(name).partition(":")
    if colon and module == "__main__":
        return hasattr(sys.modules[module], attribute)
    return module in sys.modules if colon else GROUPS[group].is_built_in(name) or name in names(group)


def import_trusted(modules: str | None) -> None:
    """Import modules that the user trusts, separated by commas, so that names in run folders may refer to them.

    Raises InvalidInputError if one cannot be imported, UserError if one exits Python.
    """
    try:
        for module in modules.split(",") if modules else ():
            imported_module(module.partition(":")[0])
    except (ImportError, ValueError) as error:
        raise InvalidInputError(
            f"{option('allow_module', modules)} cannot be imported ({error}): {IMPORT_ADVICE}"
        ) from error


def check_trusted(group: str, kind: str, name: str, where: object, allowed: str | None = None) -> None:
    """Raise InvalidInputError if a file's name would import a module that is not allowed.

    Args:
        group: "optimizers" or "search_spaces".
        kind: the noun for the group's members, for the message.
        name: the name in the file.
        where: path of the file.
        allowed: a module that the user allows, or several, separated by commas.

    Raises:
        InvalidInputError: the name is a "module:attribute" whose module is neither imported nor allowed, unless it
            belongs to another script or notebook, which no import can find.
    """
    module, colon, _ = str(name).partition(":")
    trusted = {reference.partition(":")[0] for reference in (allowed or "").split(",")}
    if colon and module not in ("__main__", *trusted) and not is_trusted(group, name):
        raise InvalidInputError(
            f"{where} names '{name}' as its {kind}, but importing a module runs its code: if you trust it, add "
            f"{option('allow_module', module)}, or import the module in Python first"
        )


def check_recorded_names(
    group: str, recorded: Mapping[str, Any], given: Mapping[str, Any], where: object, allowed: str | None
) -> None:
    """Raise InvalidInputError if a record's optimizer or space would import a module that is not allowed.

    Args:
        group: "optimizers" or "black_box_optimizers".
        recorded: the recorded options, with `optimizer` and `space`.
        given: options given on resuming; giving a name also permits its import.
        where, allowed: as in `check_trusted`.
    """
    for named, of_group, kind in (("optimizer", group, "optimizer"), ("space", "search_spaces", "space")):
        if given.get(named) != (name := recorded.get(named, "")):
            check_trusted(of_group, kind, name, where, allowed)


def with_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which objects are names, with which another process can open the same objects.

    Args:
        options: options by name; `space` and `table` may be objects, `optimizer` a class. `bounds` is a `Bounds`, a
            text such as "flops=1e8" or a mapping from metrics to limits, and becomes the option `max`.

    Raises InvalidInputError for a space that is not an attribute of any module, or a table that is only in memory.
    """
    from nasbench1shot1.space import SearchSpace
    from nasbench1shot1.tables.bounds import as_options
    from nasbench1shot1.tables.table import Table, recorded_name

    found = dict(options)
    if isinstance(method := found.get("optimizer"), type):  # perhaps a notebook's own
        found["optimizer"] = name_of_optimizer(method)
    elif method is not None:
        named = getattr(method, "reference", method)  # an nb.AskTell is recorded by the name of its function
        found["optimizer"] = GROUPS["optimizers"].listed_name(named)
    if isinstance(space := found.get("space"), SearchSpace):
        found["space"] = name_of_space(space)
    elif isinstance(space, type):
        raise InvalidInputError(f"space={space.__name__} is a class: give an instance of it, or a name")
    if isinstance(table := found.get("table"), Table):
        found["table"] = recorded_name(table)
    if (bounds := found.pop("bounds", None)) is not None:
        if found.get("max") is not None:
            raise InvalidInputError("bounds and max are the same option: give only one of them")
        found |= as_options(bounds)
    return found


def table_of_run(
    config: Mapping[str, Any],
    where: Path,
    table: str | Path | None = None,
    reference: "Reference | None" = None,
) -> "Table":
    """Open the table for scoring a run, with the networks of the run's space as a reference.

    Args:
        config: the run's configuration: its `space`, and `table` and `reference` if the run has these options.
        where: path of the configuration's file, for messages.
        table: folder or name of the table. Default: as `default_table`.
        reference: as in `tables.table.table_for`. Default: the run's reference.

    Raises InvalidInputError if using the space would import a module that is not allowed, and errors of `table_for`.
    """
    from nasbench1shot1.tables.table import table_for

    check_trusted("search_spaces", "space", config["space"], where)
    space = search_space(config["space"])
    return table_for(space, table or default_table(config), reference or config.get("reference"))


def default_table(config: Mapping[str, Any]) -> str | None:
    """Return the name of the table on which a run is scored by default; None means the table in $NB1SHOT1_TABLE.

    The variable applies only to spaces without a table of their own. If it does not apply or is not set, the default is
    the table that the run recorded, or else the table of its space.

    Args:
        config: the run's configuration, as for `table_of_run`. If its space belongs to a module that is not imported,
            the space counts as one without a table of its own.
    """
    name = config["space"]
    own = search_space(name).table if is_trusted("search_spaces", name) else None
    if own is None and os.environ.get("NB1SHOT1_TABLE"):
        return None
    return config.get("table") or own


def check_importable(name: str, what: str) -> None:
    """Raise InvalidInputError for a name of a script or notebook, which other processes cannot import."""
    if name.startswith(SCRIPT):
        raise InvalidInputError(
            f"the {what} '{name.removeprefix(SCRIPT)}' is part of this script or notebook, which other processes "
            "cannot import: move it into a module"
        )
