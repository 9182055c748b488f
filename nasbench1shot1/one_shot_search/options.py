"""The options of a search in two typed records: options that all searches share, and options of its optimizer.

`nb.search(…)` and the command line accept both in one flat namespace; config.json has a section for each.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.hyperparameters import Methods, RunOptions, options_of
from nasbench1shot1.jobs.process import usable_cores
from nasbench1shot1.one_shot_search.config import FACTS, SCALES, SearchConfig
from nasbench1shot1.registry import is_trusted, names, one_shot, optimizer, search_space
from nasbench1shot1.runs.folder import COMMON, OWN
from nasbench1shot1.runs.options import check_ranges, make_options, recorded_options
from nasbench1shot1.supernets.presets import PRESETS

if TYPE_CHECKING:
    from nasbench1shot1.optimizer import Hyperparameters, OneShotOptimizer
    from nasbench1shot1.space import OneShotSpace

RESERVED = frozenset(
    {"out", "resume", "overwrite", "seeds", "workers", "tensorboard", "callbacks", "allow_module", "console", "help"}
    | {"named", "kind", "grown", COMMON, OWN, *FACTS}
)
"""Names that no option of an optimizer can have: `nb.search`, the command line or config.json use them otherwise."""
METHODS = Methods(lambda: names("optimizers"), optimizer, SearchConfig, RESERVED)
"""All one-shot optimizers."""


@dataclass(frozen=True)
class SearchOptions(RunOptions):
    """The options of one search.

    Attributes:
        common: the options that all searches share.
        own: the options of the optimizer.
        method: the class of the optimizer.
    """

    common: SearchConfig
    method: "type[OneShotOptimizer]"

    def resolved(self) -> "SearchOptions":
        """Fill in the values that preset, data and machine decide, and check every value; raises InvalidInputError."""
        check_ranges(self.own)
        self.own.check()
        return replace(self, common=self.common.resolved())


def search_options(given: Mapping[str, Any]) -> SearchOptions:
    """Return the two records for named options; options that are missing or None take the values of `defaults`.

    Raises:
        InvalidInputError: an option is unknown (the closest known one is suggested) or belongs to another optimizer, or
            a value has a wrong type or is out of range.
    """
    method = optimizer(given.get("optimizer") or SearchConfig.optimizer)
    check_method(method)
    METHODS.check_known(method, given)
    options = _with_defaults(method, given)
    if given.get("image_side") is None:
        options = replace(options, common=_with_fitting_side(options.common))
    return options.resolved()


def _with_fitting_side(common: SearchConfig) -> SearchConfig:
    """Return options in which the images can be shrunk to the scale's side."""
    from nasbench1shot1.images.image_set import quick_side

    return replace(common, image_side=common.image_side and quick_side(common.images, common.image_side))


def _with_defaults(method: "type[OneShotOptimizer]", given: Mapping[str, Any]) -> SearchOptions:
    common, own = (options_of(record, given) for record in (SearchConfig, method.Hyperparameters))
    asked = make_options(SearchConfig, common, {})  # for its scale and preset, which decide about the rest
    usual = defaults(method, one_shot(search_space(asked.space)), asked.scale, asked.preset)
    return SearchOptions(
        make_options(SearchConfig, common, usual), make_options(method.Hyperparameters, own, usual), method
    )


def recorded_search(recorded: Mapping[str, Any], where: Path) -> SearchOptions:
    """Read the options of a recorded search.

    Args:
        recorded: all options by name, flat.
        where: the file, for messages.

    Raises:
        DamagedFileError: an option is missing or damaged.
        InvalidInputError: the optimizer is not installed.
    """
    common = recorded_options(SearchConfig, recorded, where)
    method = optimizer(common.optimizer)
    check_method(method)
    return SearchOptions(common, recorded_options(method.Hyperparameters, recorded, where), method).resolved()


def defaults(method: "type[OneShotOptimizer]", space: "OneShotSpace", scale: str, preset: str) -> dict[str, Any]:
    """Return the values that replace the fields' own defaults.

    Later sources override earlier ones: the optimizer's settings, the space's settings, the optimizer's settings for
    the space's family, the optimizer's published settings under the preset "original", the scale's settings, and
    at the quick scale the space's settings and the optimizer's settings.
    """
    return {
        **method.defaults,
        **space.search_defaults,
        **method.family_defaults.get(space.family, {}),
        **(method.original_defaults if preset == "original" else {}),
        **SCALES.get(scale, {}),
        **(space.quick_defaults if scale == "quick" else {}),
        **(method.quick_defaults if scale == "quick" else {}),
    }


def threads_per_search(common: SearchConfig, workers: int) -> int:
    """Return the CPU threads of each search if several run at once: what the scale sets, or the cores over workers.

    Args:
        common: resolved options of one of the searches.
        workers: number of processes.
    """
    return SCALES[common.scale].get("threads") or max(usable_cores() // max(workers, 1), 1)


def help_defaults(
    method: "type[OneShotOptimizer]", name: str, setting: Mapping[str, str]
) -> tuple[SearchConfig, "Hyperparameters"]:
    """Return the defaults of an optimizer, for help; what only the machine or the images decide stays None.

    Args:
        method: the class of the optimizer.
        name: its name.
        setting: scale, preset and space, where they are not the usual ones.
    """
    check_method(method)
    options = _with_defaults(method, {"optimizer": name, **setting})
    common, preset = options.common, PRESETS[options.common.preset]
    decided: dict[str, Any] = {
        "table": search_space(common.space).table,
        "nesterov": bool(common.nesterov),
        "cutout_schedule": "linear" if preset.cutout_ramp else "constant",
        "evaluation_batch_norm": preset.evaluation_batch_norm,
    }
    return replace(common, **decided), options.own


def check_options(method: "type[OneShotOptimizer]", given: Iterable[str]) -> None:
    """Raise InvalidInputError for an option that only other optimizers have, and name these optimizers."""
    METHODS.check_options(method, given)


def check_method(method: "type[OneShotOptimizer]") -> None:
    """Check an optimizer's declaration of its own options; raises as `hyperparameters.Methods.check_method` does."""
    of_families = chain.from_iterable(method.family_defaults.values())
    defaults = (*method.defaults, *method.original_defaults, *method.quick_defaults, *of_families)
    METHODS.check_method(method, defaults)


_OF_A_RUN = {
    "seed", "space", "epochs", "images", "images_per_half", "image_side", "channels", "cells", "batch_size", "table",
    "device", "threads", "precision", "compile", "keep_weights_every", "hessian_eigenvalue", "format",
}  # fmt: skip


def non_default_options(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in which a recorded search differs from its optimizer's defaults.

    Size, images and device are left out. The result is empty if the optimizer is not registered: no module is imported
    only because a record names it.
    """
    with suppress(UserError):
        if is_trusted("optimizers", recorded["optimizer"]) and is_trusted("search_spaces", recorded["space"]):
            asked = {name: recorded[name] for name in ("optimizer", "space", "scale", "preset") if name in recorded}
            usual = search_options(asked).as_dict()
            return {n: recorded[n] for n in usual if n not in _OF_A_RUN and n in recorded and recorded[n] != usual[n]}
    return {}
