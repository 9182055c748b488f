"""The interface of configuration generators, and their shared random draws and seeds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from hpbandster.core.dispatcher import Job

from nasbench1shot1.proposers.configurations import ConfigurationId, Scalar, to_python_scalars

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Configured = dict[str, Scalar]
"""A configuration: values of the active hyperparameters, by name."""
Proposed = tuple[Configured, dict[str, bool]]
"""A configuration and hpbandster's information about it."""

MODEL_BASED = "model_based_pick"


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

    def new_result(self, job: Job) -> None:
        """Add an observation: `job.kwargs` has config and budget; `job.result` is None if the trial diverged."""


def random_state(*numbers: int) -> np.random.RandomState:
    """Return a generator seeded by non-negative integers; hpbandster and scipy need this legacy type."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(numbers)))


def random_configuration(space: "ConfigurationSpace", rng: np.random.RandomState) -> Proposed:
    """Seed a space from `rng` and return a random configuration of it."""
    space.seed(rng.randint(2**31))
    return to_python_scalars(dict(space.sample_configuration())), {MODEL_BASED: False}
