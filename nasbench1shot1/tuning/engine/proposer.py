"""The tuner of a study: `Proposer`, the interface that a study needs, and its construction."""

from typing import TYPE_CHECKING, Protocol

from nasbench1shot1.proposers.bohb import BohbGenerator
from nasbench1shot1.proposers.bracket_proposer import BracketProposer, Proposal
from nasbench1shot1.proposers.brackets import Brackets, BracketState
from nasbench1shot1.proposers.configurations import (
    ConfigurationGenerator,
    ConfigurationId,
    RandomGenerator,
    require_extra,
    to_python_scalars,
)
from nasbench1shot1.tuning.engine.interfaces import Tuner

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


class Proposer(Protocol):
    """An ask-and-tell tuner. Its seed and the preceding calls must determine its proposals."""

    @property
    def is_finished(self) -> bool:
        """Whether every trial has been observed."""

    def propose(self) -> Proposal | None:
        """Return the next trial; None if nothing can be proposed before another observation."""

    def repeat(self, recorded: Proposal) -> Proposal | None:
        """Propose as when `recorded` was proposed; a configuration that would be drawn is taken from it."""

    def observe(self, configuration_id: ConfigurationId, epochs: int, loss: float | None) -> None:
        """Register the loss of a proposed trial; None if it diverged."""

    def started_brackets(self) -> tuple[BracketState, ...]:
        """Return the brackets that have begun, for a live view."""


def make_proposer(tuner: Tuner, space: "ConfigurationSpace", brackets: Brackets, seed: int) -> Proposer:
    """Return the proposer of a study; the first configuration that it proposes is the space's default.

    Raises:
        InvalidInputError: the tuner does not support the space.
        UserError: a package that the tuner needs is not installed.
    """
    default = to_python_scalars(dict(space.get_default_configuration()))
    return BracketProposer(brackets, _generator(tuner, space, seed), default)


def _generator(tuner: Tuner, space: "ConfigurationSpace", seed: int) -> ConfigurationGenerator:
    if tuner == "random":
        return RandomGenerator(space, seed)
    if tuner == "bohb":
        return BohbGenerator(space, seed)
    require_extra("smac")
    from nasbench1shot1.proposers.smac import SmacGenerator

    return SmacGenerator(space, seed)
