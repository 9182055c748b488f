"""Configurations: their identities and values, the interface of their generators, and random configurations."""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from hpbandster.core.dispatcher import Job

Scalar = int | float | str | bool | None
"""Value of a hyperparameter, or of a field of a record."""
ConfigurationId = tuple[int, int, int]
"""hpbandster's identity of a configuration: bracket, stage that drew it, number within the stage."""
Configured = dict[str, Scalar]
"""A configuration: values of the active hyperparameters, by name."""
Proposed = tuple[Configured, dict[str, bool]]
"""A configuration and hpbandster's information about it."""
MODEL_BASED = "model_based_pick"


def format_id(identity: ConfigurationId) -> str:
    """Return a configuration's identity as text: "0-0-3"."""
    return "-".join(map(str, identity))


def parse_id(text: str) -> ConfigurationId:
    """Return the identity that `format_id` wrote; raises ValueError for other text."""
    bracket, stage, number = map(int, text.split("-"))
    return bracket, stage, number


def as_python(value: Any) -> Any:
    """Return a numpy scalar as a Python scalar, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def to_python_scalars(values: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a mapping with Python scalars instead of numpy scalars, which JSON cannot represent.

    Raises:
        InvalidInputError: a value is not a scalar, or is infinite or NaN.
    """
    return {str(name): _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: Any) -> Scalar:
    scalar: Scalar = as_python(value)
    if scalar is not None and not isinstance(scalar, (bool, int, float, str)):
        raise InvalidInputError(f"'{name}' is of type {type(value).__name__}: give a number, a string, or None")
    if isinstance(scalar, float) and not math.isfinite(scalar):
        raise InvalidInputError(f"'{name}' is {scalar}: give a finite number, or None")
    return scalar


class ConfigurationGenerator(Protocol):
    """Proposes configurations. Each proposal must depend only on the seed and the arguments of all calls so far."""

    def get_config(
        self, budget: int, configuration_id: ConfigurationId, pending: Sequence[Configured] = ()
    ) -> Proposed:
        """Return the configuration with a given identity.

        Args:
            budget: number of epochs of the configuration's first trial.
            configuration_id: the configuration's identity.
            pending: configurations of trials that have not ended.
        """

    def new_result(self, job: "Job") -> None:
        """Add an observation: `job.kwargs` has config and budget; `job.result` is None if the trial diverged."""


def random_state(*numbers: int) -> np.random.RandomState:
    """Return a generator seeded by non-negative integers; hpbandster and scipy need this legacy type."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(numbers)))


def random_configuration(space: "ConfigurationSpace", rng: np.random.RandomState) -> Proposed:
    """Seed a space from `rng` and return a random configuration of it."""
    space.seed(rng.randint(2**31))
    return to_python_scalars(dict(space.sample_configuration())), {MODEL_BASED: False}


class RandomGenerator:
    """Draws random configurations, as a baseline.

    Args:
        space: the configurations; it is copied.
        seed: seed of all draws.
    """

    def __init__(self, space: "ConfigurationSpace", seed: int) -> None:
        self.configspace, self.seed = copy.deepcopy(space), seed

    def get_config(
        self, budget: int, configuration_id: ConfigurationId, pending: Sequence[Configured] = ()
    ) -> Proposed:
        """Return the configuration with a given identity."""
        return random_configuration(self.configspace, random_state(self.seed, *configuration_id))

    def new_result(self, job: "Job") -> None:
        """Do nothing: random search ignores results."""


def observations_of_model(space: "ConfigurationSpace") -> int:
    """Return how many observations of one budget the models of BOHB and SMAC need: 2(d + 1).

    d is the number of hyperparameters that vary.
    """
    return 2 * (sum(hyperparameter.size != 1 for hyperparameter in space.values()) + 1)


def is_categorical(space: "ConfigurationSpace") -> bool:
    """Return whether all hyperparameters are categorical with equal weights, without conditions or forbidden values."""
    from ConfigSpace.hyperparameters import CategoricalHyperparameter

    restricted = bool(space.conditions) or bool(space.forbidden_clauses)
    return not restricted and all(
        isinstance(h, CategoricalHyperparameter) and len(set(h.probabilities)) == 1 for h in space.values()
    )


def without_order(space: "ConfigurationSpace") -> "ConfigurationSpace":
    """Return a space whose ordinal hyperparameters are categorical, for methods that do not support an order.

    The space itself is returned if it has no ordinal hyperparameter, or has conditions or forbidden values.
    """
    from ConfigSpace import Categorical, ConfigurationSpace, OrdinalHyperparameter

    is_restricted = bool(space.conditions) or bool(space.forbidden_clauses)
    if is_restricted or not any(isinstance(h, OrdinalHyperparameter) for h in space.values()):
        return space
    unordered = ConfigurationSpace(name=space.name)
    unordered.add(
        Categorical(h.name, list(h.sequence), default=h.default_value) if isinstance(h, OrdinalHyperparameter) else h
        for h in space.values()
    )
    return unordered
