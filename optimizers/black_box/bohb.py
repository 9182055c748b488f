"""BOHB: Hyperband with configurations proposed by kernel densities of good and bad configurations.

Source: Falkner et al., BOHB: Robust and Efficient Hyperparameter Optimization at Scale (ICML 2018, arXiv:1807.01774).
The generator is hpbandster's with its known faults fixed (`proposers.bohb`). `densities="hpbandster"` keeps
the faults of its densities (`proposers.categorical_bohb`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.black_box.hyperband import Hyperband, HyperbandHyperparameters
from nasbench1shot1.optimizers.black_box.trials import EncodedHyperparameters
from nasbench1shot1.proposers.brackets import Brackets, EndlessBrackets, Plan
from nasbench1shot1.proposers.configurations import is_categorical
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from nasbench1shot1.proposers.bohb import BohbGenerator


@dataclass(frozen=True, kw_only=True)
class BOHBHyperparameters(EncodedHyperparameters, HyperbandHyperparameters):
    """The options of BOHB."""

    min_bandwidth: Annotated[float, Range(above=0)] = 0.3
    """Minimum bandwidth of the kernels: the probability of redrawing a good configuration's category."""
    num_samples: Annotated[int, Range(1, 10**6)] = 64
    """Number of candidates per proposal; the best one is proposed."""
    random_fraction: Annotated[float, Range(0, 1)] = 0.33
    """Probability of drawing a configuration at random."""
    budgets: Literal["table", "ignored"] = "table"
    """table: train at the table's budgets; ignored: every training has --epochs epochs and is paid again at each
    promotion, as in the published script of NAS-Bench-201."""
    densities: Literal["corrected", "hpbandster"] = "corrected"
    """corrected: valid densities of categories; hpbandster: the densities of hpbandster 0.7.4, as in the published
    searches of NAS-Bench-201, which can be negative or infinite."""


class BOHB(Hyperband):
    """BOHB on the budgets of the table, or as published for NAS-Bench-201.

    A budget with at least 2(d + 1) observations, where d is the number of choices that vary, has two kernel densities:
    one of the best 15 % of the configurations and one of the others. Proposals come from the largest of these budgets.
    With `densities="hpbandster"`, d is the number of all choices.

    A configuration outside the space gets the error 1 at no cost, as in NAS-Bench-101's published script. It takes a
    slot of its bracket, and the model learns to avoid similar configurations. The same applies to a configuration
    outside the bounds of a search.

    Ordinal choices, as in nats-size, are treated as categorical, as in NATS-Bench's script.

    With `budgets="ignored"`, the brackets are hpbandster's for the table's smallest and largest budgets (nb201: 12 and
    200, hence 9, 3 and 1 configurations), but each training has `epochs` epochs. NAS-Bench-201's script
    (exps/NAS-Bench-201-algos/BOHB.py) has this fault: its objective ignores the budget. NATS-Bench's script
    (exps/NATS-algos/bohb.py) corrects it: it has budgets of 1, 4 and 12 epochs along the 12-epoch learning curve, which
    this class does not use. Its brackets also have 9, 3 and 1 configurations. On nats-size, they replace the
    brackets of the table.
    """

    Hyperparameters = BOHBHyperparameters
    # Defaults: run_bohb.py of NAS-Bench-101's authors and of NAS-Bench-1Shot1. nb201: appendix B of NAS-Bench-201.
    # nats-size: exps/NATS-algos/run-all.sh of AutoDL-Projects.
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nasbench201": {"num_samples": 4, "random_fraction": 0.0},
        "nats_size": {"num_samples": 4, "random_fraction": 0.0},
    }
    ignored_budgets: ClassVar[Mapping[str, tuple[int, int]]] = {"nats_size": (1, 12)}
    """By benchmark: the smallest and the largest budget of the published script, where tables have other budgets."""

    @classmethod
    def unused_options(cls, hyperparameters: BOHBHyperparameters) -> Mapping[str, str]:
        """Return `epochs` as unused, unless the budgets of the brackets are ignored."""
        return {} if hyperparameters.budgets == "ignored" else super().unused_options(hyperparameters)

    def plan(self) -> Plan:
        """Return the brackets."""
        if self.hyperparameters.budgets == "table":
            return super().plan()
        eta, of_table = self.hyperparameters.eta, (self.budgets[0], self.budgets[-1])
        smallest, largest = self.ignored_budgets.get(self.space.benchmark.name, of_table)
        return EndlessBrackets(Brackets(smallest, largest, eta).budgets, eta)

    def generator(self) -> "BohbGenerator":
        """Return the generator of the space's configurations."""
        from nasbench1shot1.proposers.configurations import without_order

        own = self.hyperparameters
        space = without_order(self.space.encoding(own.encoding).configuration_space())
        generator = self._kind(space)(space, int(self.rng.integers(2**63)), own.num_samples)
        generator.random_fraction, generator.min_bandwidth = own.random_fraction, own.min_bandwidth
        return generator

    def _kind(self, space: "ConfigurationSpace") -> "type[BohbGenerator]":
        """Return the class of the generator; raises InvalidInputError if it does not support the space."""
        from nasbench1shot1.proposers.bohb import BohbGenerator
        from nasbench1shot1.proposers.categorical_bohb import CategoricalGenerator, HpbandsterGenerator

        categorical, published = is_categorical(space), self.hyperparameters.densities == "hpbandster"
        if published and not categorical:
            raise InvalidInputError(
                f"{option('densities', 'hpbandster')} requires independent categorical choices, which "
                f"{self.space.name} lacks: choose {option('densities', 'corrected')}"
            )
        if published:
            return HpbandsterGenerator
        return CategoricalGenerator if categorical else BohbGenerator

    def architecture(self, configuration: Any) -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is invalid."""
        return self.space.encoding(self.hyperparameters.encoding).from_configuration(configuration)

    def trained_epochs(self, budget: int) -> int:
        """Return the number of epochs to train at a bracket's budget."""
        return budget if self.hyperparameters.budgets == "table" else self.epochs
