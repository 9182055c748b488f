"""Random search as a configuration generator."""

import copy
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpbandster.core.dispatcher import Job
from hpbandster.optimizers.config_generators.random_sampling import RandomSampling

from nasbench1shot1.proposers.configurations import ConfigurationId
from nasbench1shot1.proposers.generator import Configured, Proposed, random_configuration, random_state

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


class RandomGenerator(RandomSampling):  # type: ignore[misc]
    """Draws random configurations, as a baseline.

    Args:
        space: the configurations; it is copied.
        seed: seed of all draws.
    """

    def __init__(self, space: "ConfigurationSpace", seed: int) -> None:
        super().__init__(copy.deepcopy(space), logger=logging.getLogger(__name__))
        self.seed = seed

    def get_config(
        self, budget: int, configuration_id: ConfigurationId, pending: Sequence[Configured] = ()
    ) -> Proposed:
        """Return the configuration with a given identity."""
        return random_configuration(self.configspace, random_state(self.seed, *configuration_id))

    def new_result(self, job: Job, update_model: bool = True) -> None:
        """Do nothing: random search ignores results."""
