"""Configurations that no model proposes: the default one, and random ones."""

import copy
import logging
from typing import TYPE_CHECKING, Protocol

import numpy as np
from hpbandster.core.dispatcher import Job
from hpbandster.optimizers.config_generators.random_sampling import RandomSampling

from nasbench1shot1.tuning.engine.trial import ConfigurationId, Scalar, plain

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Proposed = tuple[dict[str, Scalar], dict[str, bool]]
"""A configuration, and hpbandster's information about it."""

FIRST: ConfigurationId = (0, 0, 0)
"""The configuration that is the space's default."""
MODEL_BASED = "model_based_pick"


class ConfigurationGenerator(Protocol):
    """Proposes configurations. Its seed, an identity and the observations before it determine a proposal."""

    def get_config(self, budget: int, configuration_id: ConfigurationId) -> Proposed:
        """Return the configuration with an identity; the first one is the space's default."""

    def new_result(self, job: Job) -> None:
        """Add an observation: `job.kwargs` has config and budget; a result of None is a diverged trial's."""


class RandomGenerator(RandomSampling):  # type: ignore[misc]
    """Samples configurations at random: the baseline.

    Args:
        space: the configurations; it is copied.
        seed: seed of all draws.
    """

    def __init__(self, space: "ConfigurationSpace", seed: int) -> None:
        super().__init__(copy.deepcopy(space), logger=logging.getLogger(__name__))
        self.seed = seed

    def get_config(self, budget: int, configuration_id: ConfigurationId) -> Proposed:
        """Return the configuration with an identity; the first one is the space's default."""
        if configuration_id == FIRST:
            return default_configuration(self.configspace)
        return random_configuration(self.configspace, random_state(self.seed, *configuration_id))

    def new_result(self, job: Job, update_model: bool = True) -> None:
        """Do nothing: random search learns nothing."""


def random_state(*numbers: int) -> np.random.RandomState:
    """Return a generator seeded by non-negative integers; hpbandster and scipy need this legacy type."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(numbers)))


def default_configuration(space: "ConfigurationSpace") -> Proposed:
    """Return a space's default configuration."""
    return plain(dict(space.get_default_configuration())), {MODEL_BASED: False}


def random_configuration(space: "ConfigurationSpace", rng: np.random.RandomState) -> Proposed:
    """Return a random configuration of a space, which it seeds."""
    space.seed(rng.randint(2**31))
    return plain(dict(space.sample_configuration())), {MODEL_BASED: False}
