"""What proposes configurations, and what all such generators share: the default, random draws, and their seeds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from hpbandster.core.dispatcher import Job

from nasbench1shot1.tuning.engine.trial import ConfigurationId, Scalar, plain

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Configured = dict[str, Scalar]
"""A configuration."""
Proposed = tuple[Configured, dict[str, bool]]
"""A configuration, and hpbandster's information about it."""

FIRST: ConfigurationId = (0, 0, 0)
"""The configuration that is the space's default."""
MODEL_BASED = "model_based_pick"


class ConfigurationGenerator(Protocol):
    """Proposes configurations. Its seed and the arguments of all calls determine a proposal."""

    def get_config(
        self, budget: int, configuration_id: ConfigurationId, pending: Sequence[Configured] = ()
    ) -> Proposed:
        """Return the configuration with an identity; the first one is the space's default.

        Args:
            budget: the epochs of its first trial.
            configuration_id: its identity.
            pending: configurations of trials that have not ended.
        """

    def new_result(self, job: Job) -> None:
        """Add an observation: `job.kwargs` has config and budget; a result of None is a diverged trial's."""


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
