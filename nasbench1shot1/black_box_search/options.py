"""The options of a black-box study: common options, and the optimizer's own options."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.display.options import PictureOptions
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.hyperparameters import Methods, RunOptions, changed_options, check_used, options_of
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.registry import black_box_optimizer, names, search_space
from nasbench1shot1.runs.folder import COMMON, OWN
from nasbench1shot1.runs.options import (
    Form,
    Names,
    Range,
    TableName,
    check_effects,
    check_ranges,
    make_options,
    option_names,
    recorded_options,
)
from nasbench1shot1.tables.bounds import BoundOptions
from nasbench1shot1.tables.names import resolve_table_name
from nasbench1shot1.tables.references import Reference

if TYPE_CHECKING:
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer
    from nasbench1shot1.hyperparameters import Hyperparameters
    from nasbench1shot1.space import SearchSpace

DEFAULT_OBJECTIVE = "validation_accuracy"
EVALUATIONS = 500
"""Default number of trainings per search on a table without training times."""
FACTS: dict[str, type] = {"space_id": str, "table_id": str}
"""Fields of config.json that identify the data of a study, with their types."""


@dataclass(frozen=True, kw_only=True)
class BlackBoxConfig(PictureOptions, BoundOptions):
    """The options of every black-box study."""

    optimizer: Annotated[str, Names("black_box_optimizers", "your own as module:Class")] = "regularized-evolution"
    """Black-box optimizer."""
    space: Annotated[str, Names("search_spaces", "your own as module:object")] = "s1"
    """Search space (docs/spaces.md, docs/own_space.md)."""
    repeats: Annotated[int, Range(1, 10**6)] = 500
    """Number of independent searches."""
    first_repeat: Annotated[int, Range(0, 10**9)] = 0
    """Number of the first search. Several machines can run parts of a study, for example searches 0 to 249 and 250 to
    499 (docs/black_box.md)."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of the study. Search r is seeded with (seed, r)."""
    seconds: Annotated[float | None, Range(above=0)] = None
    """Time limit of a search in simulated seconds; trainings that end later do not count. Cannot be combined with
    --evaluations."""
    evaluations: Annotated[int | None, Range(1)] = None
    """Number of trainings per search, instead of --seconds (NAS-Bench-1Shot1: 280); the clock of the study then counts
    trainings. Default: no limit, or 500 if the table has no training times."""
    epochs: Annotated[int | None, Range(1)] = None
    """Training epochs, for methods with a single budget. Hyperband, and BOHB without --budgets ignored, do not accept
    it. Default: the table's full budget."""
    dataset: str | None = None
    """Data set of the search, if the table has several: cifar10, cifar100 or ImageNet16-120. Default: the first."""
    objective: Annotated[str, Form("METRIC")] | None = None
    """Metric of the table that the search optimizes, such as validation_loss or trainable_parameters. Either higher or
    lower values must be better. Default: validation_accuracy."""
    deduplicate: bool = False
    """Train a cell only once per budget: repeated queries return the first result at no cost."""
    continuation: bool = False
    """Let a training continue the longest finished training of its cell that has fewer epochs, and cost only the
    difference in time. By default, every training starts from scratch, as in NAS-Bench-101."""
    simulated_workers: Annotated[int, Range(1, 10**6)] = 1
    """Number of trainings that run in parallel on the simulated clock."""
    decision_seconds: Annotated[float, Range(0)] = 0.0
    """Cost of each decision of the optimizer in simulated seconds, in addition to the training."""
    table: TableName | None = None
    """Folder or name of the table. Default: $NB1SHOT1_TABLE, or else embedded."""
    reference: Reference | None = None
    """Reference of the regret. present: the best network in the table, even if the table lacks part of the space.
    Default: the best network of the space, whose networks must all be in the table."""
    spread: Spread | None = None
    """What the band over the searches shows. ci: 95 % confidence interval of the mean, or the range of
    fewer than six searches; std: standard deviation. Default: ci."""


RESERVED = frozenset(
    {"out", "resume", "allow_module", "console", "help", "named", "kind", COMMON, OWN, *FACTS}
    | set(option_names(WorkerOptions))
)
"""Names that an optimizer's own options must not have; `nb.black_box`, the command line or config.json use them."""
METHODS = Methods(lambda: names("black_box_optimizers"), black_box_optimizer, BlackBoxConfig, RESERVED)
"""All black-box optimizers."""


@dataclass(frozen=True)
class BlackBoxOptions(RunOptions):
    """The options of one study.

    Attributes:
        common: the options that all studies share.
        own: the optimizer's own options.
        method: the class of the optimizer.
    """

    common: BlackBoxConfig
    method: "type[BlackBoxOptimizer]"


def black_box_options(
    given: Mapping[str, Any],
    method: "type[BlackBoxOptimizer] | None" = None,
    kept: Mapping[str, Any] = MappingProxyType({}),
) -> BlackBoxOptions:
    """Return the two records of options for given names and values. Missing options and None take the defaults.

    Args:
        given: the options by name.
        method: the class of the optimizer, if the option `optimizer` is only a label. Default: the class that the
            option names.
        kept: the recorded options of a study that is resumed, which `given` overrides. They were accepted when the
            study was started, or depend on its table, so they are not refused for having no effect.

    Raises:
        InvalidInputError: an option is unknown or belongs to another optimizer, a value has the wrong type or is out of
            range, the method does not use a given option, or not exactly one of seconds and evaluations limits the
            search.
    """
    changed, given = changed_options(given, kept), {**kept, **given}
    method = method or black_box_optimizer(given.get("optimizer") or BlackBoxConfig.optimizer)
    check_method(method)
    METHODS.check_known(method, given)
    space = search_space(given.get("space") or BlackBoxConfig.space)
    common, own = (options_of(record, given) for record in (BlackBoxConfig, method.Hyperparameters))
    if given.get("seconds") is not None and given.get("evaluations") is not None:
        raise InvalidInputError(
            f"{option('seconds')} and {option('evaluations')} both limit a search: give only one of them"
        )
    usual, usual_own = _common_defaults(space, given), own_defaults(method, space)
    resolved = _resolve(make_options(BlackBoxConfig, common, usual))
    hyperparameters = make_options(method.Hyperparameters, own, usual_own)
    hyperparameters.check()
    options = BlackBoxOptions(resolved, hyperparameters, method)
    check_used(options, changed, usual_own)  # not `usual`: the budget of a benchmark also has no effect
    check_effects((resolved, hyperparameters), changed, usual_own)
    return options


def _common_defaults(space: "SearchSpace", given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the benchmark's defaults of common options; without a time limit if evaluations are limited."""
    usual = dict(space.benchmark.black_box_defaults)
    if given.get("evaluations") is not None:
        usual.pop("seconds", None)
    return usual


def _resolve(config: BlackBoxConfig) -> BlackBoxConfig:
    check_ranges(config)
    config.check_bounds()
    if config.seconds is None and config.evaluations is None:
        raise InvalidInputError(
            f"a search on {config.space} has no limit: give {option('seconds')} or {option('evaluations')}"
        )
    objective = None if config.objective == DEFAULT_OBJECTIVE else config.objective
    table = resolve_table_name(config.table or search_space(config.space).table)
    return replace(config.with_checked_pictures(), objective=objective, table=table)


def own_defaults(method: "type[BlackBoxOptimizer]", space: "SearchSpace") -> dict[str, Any]:
    """Return the defaults of own options that a method declares for a space or its benchmark."""
    return {**method.family_defaults.get(space.benchmark.name, {}), **method.space_defaults.get(space.name, {})}


def recorded_study(
    recorded: Mapping[str, Any], where: Path, method: "type[BlackBoxOptimizer] | None" = None
) -> BlackBoxOptions:
    """Read the options of a recorded study.

    Args:
        recorded: all options in one flat dictionary, keyed by name.
        where: path of the file, for error messages.
        method: the class of the optimizer, as in `black_box_options`.

    Raises:
        DamagedFileError: an option is missing or damaged.
        InvalidInputError: the optimizer is not installed.
    """
    common = recorded_options(BlackBoxConfig, recorded, where)
    method = method or black_box_optimizer(common.optimizer)
    check_method(method)
    return BlackBoxOptions(common, recorded_options(method.Hyperparameters, recorded, where), method)


def help_defaults(
    method: "type[BlackBoxOptimizer]", name: str, setting: Mapping[str, str]
) -> "tuple[BlackBoxConfig, Hyperparameters]":
    """Return an optimizer's defaults on the default space or another one (`setting`), as shown by --help."""
    check_method(method)
    options = black_box_options({"optimizer": name, **setting})
    return replace(options.common, table=search_space(options.common.space).table), options.own


def check_method(method: "type[BlackBoxOptimizer]") -> None:
    """Check an optimizer's declaration of its own options; raises the errors of `Methods.check_method`."""
    METHODS.check_method(method, chain(*method.family_defaults.values(), *method.space_defaults.values()))
