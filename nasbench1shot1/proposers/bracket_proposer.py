"""The brackets of hpbandster, without its master; they propose the next trial with any configuration generator."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hpbandster.core.dispatcher import Job  # a plain record, which brackets and generators receive
from hpbandster.optimizers.iterations import SuccessiveHalving

from nasbench1shot1.proposers.brackets import BracketState, Plan
from nasbench1shot1.proposers.configurations import (
    MODEL_BASED,
    ConfigurationGenerator,
    ConfigurationId,
    Configured,
    Proposed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST: ConfigurationId = (0, 0, 0)
"""Identity of the first configuration; every tuner uses the space's default for it."""
RUNNING = "RUNNING"
"""hpbandster's status of a configuration whose trial has not ended."""


@dataclass(frozen=True)
class Proposal:
    """A trial to be evaluated.

    Attributes:
        configuration_id: identity of the configuration.
        configuration: the configuration from the generator: values of the active hyperparameters, by name.
        epochs: budget of the trial.
        model_based: whether a model proposed the configuration.
    """

    configuration_id: ConfigurationId
    configuration: Any
    epochs: int
    model_based: bool


class Bracket(SuccessiveHalving):  # type: ignore[misc]
    """A bracket that passes each configuration's identity to the generator and breaks ties in favour of earlier ones.

    hpbandster's sort is not stable, so its order of ties depends on the processor.
    """

    def add_configuration(self, config: Any = None, config_info: Any = None) -> ConfigurationId:
        """Add a configuration and return its identity. By default, the generator draws the configuration."""
        if config is None:
            identity = (self.HPB_iter, self.stage, self.actual_num_configs[self.stage])
            config, config_info = self.config_sampler(self.budgets[self.stage], identity)
        added: ConfigurationId = super().add_configuration(config, config_info)
        return added

    def _advance_to_next_stage(self, config_ids: Any, losses: "NDArray[np.float64]") -> "NDArray[np.bool_]":
        ranks = np.argsort(np.argsort(losses, kind="stable"), kind="stable")
        return np.asarray(ranks < self.num_configs[self.stage])

    @property
    def state(self) -> BracketState:
        """The numbers of planned and finished trials, for a live view."""
        finished = [sum(budget in datum.results for datum in self.data.values()) for budget in self.budgets]
        return BracketState(self.HPB_iter, tuple(zip(self.budgets, self.num_configs, finished, strict=True)))


class BracketProposer:
    """An ask-and-tell tuner: hpbandster's brackets with any generator. Its seed and its calls determine its proposals.

    hpbandster's `Master` starts the threads of a dispatcher, and its `run` waits on conditions without a time limit.
    This class is not a `Master`. Budgets and numbers of configurations come from a `Plan`.

    Args:
        brackets: the plan.
        generator: proposes configurations.
        default: the first configuration. Default: a proposal of the generator.
    """

    def __init__(self, brackets: Plan, generator: ConfigurationGenerator, default: Configured | None = None) -> None:
        self.brackets, self.config_generator, self._default = brackets, generator, default
        self.iterations: list[Bracket] = []
        self._unfinished: list[Bracket] = []
        self._observed = 0
        self._recorded: Proposal | None = None

    @property
    def is_finished(self) -> bool:
        """Whether every planned trial has been observed. A new configuration replaces each diverged one."""
        return self._observed >= self.brackets.planned

    def _new_bracket(self, iteration: int) -> Bracket:
        budgets, counts = zip(*self.brackets.plan(iteration), strict=True)
        return Bracket(iteration, list(counts), list(budgets), self._draw)

    def _draw(self, budget: int, identity: ConfigurationId) -> Proposed:
        if self._recorded is not None:
            return self._recorded.configuration, {MODEL_BASED: self._recorded.model_based}
        if identity == FIRST and self._default is not None:
            return self._default, {MODEL_BASED: False}
        data = [datum for bracket in self._unfinished for datum in bracket.data.values()]
        pending = [datum.config for datum in data if datum.status == RUNNING]
        proposed: Proposed = self.config_generator.get_config(budget, identity, pending)
        return proposed

    def propose(self) -> Proposal | None:
        """Return the next trial of an active bracket, or the first one of the next bracket."""
        self._unfinished = [bracket for bracket in self._unfinished if not bracket.is_finished]
        for bracket in self._unfinished:
            if (run := bracket.get_next_run()) is not None:
                identity, configuration, epochs = run
                info = bracket.data[identity].config_info
                return Proposal(identity, configuration, epochs, info[MODEL_BASED])
        if len(self.iterations) == self.brackets.iterations:
            return None
        self.iterations.append(self._new_bracket(len(self.iterations)))
        self._unfinished.append(self.iterations[-1])
        return self.propose()

    def repeat(self, recorded: Proposal) -> Proposal | None:
        """Repeat a recorded proposal: a new configuration is taken from the record instead of being drawn."""
        self._recorded = recorded
        try:
            return self.propose()
        finally:
            self._recorded = None

    def observe(self, configuration_id: ConfigurationId, epochs: int, loss: float | None) -> None:
        """Report a loss to the trial's bracket and to the generator; they receive no other result."""
        bracket = self.iterations[configuration_id[0]]
        job = Job(configuration_id, config=bracket.data[configuration_id].config, budget=epochs)
        job.result = None if loss is None else {"loss": loss, "info": {}}
        bracket.register_result(job)
        self.config_generator.new_result(job)
        self._observed += 1

    def started_brackets(self) -> tuple[BracketState, ...]:
        """Return the brackets that have begun."""
        return tuple(bracket.state for bracket in self.iterations)
