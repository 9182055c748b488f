"""The options of a study: the tuner's options, and the options that all searches of the study share."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from nasbench1shot1.ground.errors import InvalidInputError, option, unknown_name
from nasbench1shot1.one_shot_search.options import (
    METHODS,
    SearchConfig,
    SearchOptions,
    search_options,
    threads_per_search,
)
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.registry import optimizer
from nasbench1shot1.runs.options import (
    IF_GIVEN,
    MOST_EPOCHS,
    Form,
    Names,
    OptionRecord,
    Range,
    absolute_file,
    check_ranges,
    make_options,
    option_names,
    options_to_record,
)
from nasbench1shot1.tuning.config_spaces import hyperparameter_names

Tuner = Literal["bohb", "smac", "random"]
"""The algorithm that proposes configurations."""
TUNERS: dict[Tuner, str] = {"bohb": "BOHB", "smac": "SMAC", "random": "random search"}
"""Display names of the tuners."""

SET_BY_THE_STUDY = {
    "optimizer": "it is an option of the study",
    "space": "it is an option of the study",
    "seed": "it is an option of the study",
    "epochs": f"the budgets of a study are numbers of epochs, set by {option('min_budget')} and {option('max_budget')}",
    "keep_weights_every": "a study does not save weights; repeat its best search with nb1shot1 search",
}
"""Options of a search that a study sets itself, and why they cannot be given."""


@dataclass(frozen=True, kw_only=True)
class TuningOptions:
    """The options of a study, which are recorded. A resumed study may have more iterations."""

    optimizer: Annotated[str, Names("optimizers", "your own as module:Class")] = "darts"
    """One-shot optimizer to tune."""
    space: Annotated[str, Names("one_shot_spaces", "your own as module:object")] = "s1"
    """Search space (docs/spaces.md, docs/own_space.md)."""
    config_space: Annotated[str, Form("{cs1,cs2,cs3}|FILE")] = "cs2"
    """Hyperparameters and their ranges: a predefined space, or a ConfigSpace file (.json, .yaml)."""
    tuner: Tuner = "bohb"
    """Tuning algorithm. smac: SMAC3's model in BOHB's brackets; random: random configurations at the maximum budget."""
    min_budget: Annotated[int, Range(1, MOST_EPOCHS)] = 25
    """Minimum budget: number of search epochs of the shortest searches."""
    max_budget: Annotated[int, Range(1, MOST_EPOCHS)] = 100
    """Maximum budget: number of search epochs of the longest searches."""
    eta: Annotated[int, Range(2, 100)] = 2
    """Ratio of successive budgets; one in eta configurations advances to the next budget."""
    iterations: Annotated[int, Range(1, 10**6)] = 64
    """Number of successive-halving brackets. With --tuner random, a bracket has as many configurations as there are
    budgets."""
    seed: Annotated[int, Range(0, 2**32 - 1)] = 0
    """Random seed of the tuner and of every search."""
    continuation: Literal["restart", "continue"] = "restart"
    """At a larger budget, restart the search, as in the paper, or continue from the shorter search's checkpoint."""
    repeat: Literal["mean", "random"] = "mean"
    """Objective: mean over the table's training repeats, or one random repeat, as in the published code."""
    objective: Annotated[Literal["validation_accuracy", "test_accuracy"] | None, IF_GIVEN] = None
    """Accuracy of the table whose error the study minimizes. test_accuracy, for tables without validation accuracy:
    test values then guide the study, and its record and figures state this. Default: validation_accuracy."""

    @property
    def brackets(self) -> Brackets:
        """The brackets of the study; raises InvalidInputError for budgets that contradict each other."""
        return Brackets(
            self.min_budget, self.max_budget, self.eta, self.iterations, only_maximum=self.tuner == "random"
        )


@dataclass(frozen=True)
class StudyOptions(OptionRecord):
    """All options of a study.

    Attributes:
        tuning: the options of the study.
        fixed: options of its shortest search, by name: those that the study sets, and those that are given.
        tuned: the names of the hyperparameters.
    """

    tuning: TuningOptions
    fixed: Mapping[str, Any]
    tuned: Collection[str]

    threads = None
    """The process of the study does not compute with PyTorch."""

    def as_dict(self) -> dict[str, Any]:
        """Return the options of the study by name."""
        return options_to_record(self.tuning)

    @property
    def device(self) -> str:
        """The resolved device of the searches."""
        return self.search.common.device

    @property
    def search(self) -> SearchOptions:
        """The options of the shortest search with the optimizer's default hyperparameters, resolved."""
        return search_options(self.fixed, varied=self.tuned)

    def shared(self, tuned: Iterable[str]) -> dict[str, Any]:
        """Return the options of every search in one flat mapping, except hyperparameters and options that the study
        sets.

        Args:
            tuned: the names of the hyperparameters.
        """
        left_out = {*SET_BY_THE_STUDY, *tuned}
        return {name: value for name, value in self.search.as_dict().items() if name not in left_out}


def recorded_form(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a study as config.json records them: an absolute path, and None for the default objective."""
    found = dict(options)
    if "config_space" in found:
        found["config_space"] = absolute_file(found["config_space"], "config_space", suffix=None)
    if found.get("objective") == "validation_accuracy":
        found["objective"] = None
    return found


def study_options(given: Mapping[str, Any], workers: int = 1, tuned: Collection[str] | None = None) -> StudyOptions:
    """Return all options of a study from named options, flat; options that are missing or None take their defaults.

    Args:
        given: options by name.
        workers: number of parallel searches on this machine, among which the CPU cores are divided.
        tuned: the names of the hyperparameters. Default: the names in the configuration space, whose file is read.

    Raises:
        InvalidInputError: an option is unknown, belongs to another optimizer or is set by the study itself, a value has
            a wrong type or is out of range, or the configuration space cannot be opened.
    """
    own = {name: value for name, value in given.items() if name in option_names(TuningOptions)}
    others = {name: value for name, value in given.items() if name not in own and value is not None}
    tuning = make_options(TuningOptions, own, {})
    check_ranges(tuning)
    check_not_set(others)
    _check_known(tuning.optimizer, others)
    tuning = replace(tuning, **recorded_form({name: getattr(tuning, name) for name in ("config_space", "objective")}))
    fixed = {**study_settings(tuning, tuning.brackets.budgets[0]), **others}
    tuned = hyperparameter_names(tuning.config_space) if tuned is None else tuned
    resolved = search_options(fixed, varied=tuned).common
    if resolved.device == "cpu" and "threads" not in others:
        fixed["threads"] = threads_per_search(resolved, workers)
    return StudyOptions(tuning, fixed, tuned)


def _check_known(method: str, names: Iterable[str]) -> None:
    """Raise InvalidInputError for an option that neither studies nor searches with the optimizer have."""
    own = optimizer(method)
    METHODS.check_options(own, names)
    searches = {*option_names(SearchConfig), *option_names(own.Hyperparameters)} - set(SET_BY_THE_STUDY)
    for name in names:
        if name not in searches:
            raise unknown_name("option", name, {*option_names(TuningOptions), *searches})


def check_not_set(names: Iterable[str]) -> None:
    """Raise InvalidInputError for an option of a search that the study sets itself."""
    for name in names:
        if name in SET_BY_THE_STUDY:
            raise InvalidInputError(f"remove {option(name)}: {SET_BY_THE_STUDY[name]}")


def study_settings(tuning: TuningOptions, epochs: int) -> dict[str, Any]:
    """Return the options of a search that the study sets itself."""
    return {"optimizer": tuning.optimizer, "space": tuning.space, "seed": tuning.seed, "epochs": epochs}
