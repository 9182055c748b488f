"""BOHB: Hyperband whose configurations come from kernel densities of good and bad ones.

Source: Falkner et al., BOHB: Robust and Efficient Hyperparameter Optimization at Scale (ICML 2018, arXiv:1807.01774);
the generator is hpbandster's with its known faults fixed (`proposers.bohb_generator`) or, with
`densities="hpbandster"`, not fixed (`proposers.hpbandster_generator`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.optimizers.black_box.hyperband import Hyperband, HyperbandHyperparameters
from nasbench1shot1.proposers.brackets import Brackets, EndlessBrackets, Plan
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from nasbench1shot1.proposers.bohb_generator import BohbGenerator


@dataclass(frozen=True, kw_only=True)
class BOHBHyperparameters(HyperbandHyperparameters):
    """The options of BOHB."""

    min_bandwidth: Annotated[float, Range(above=0)] = 0.3
    """Smallest bandwidth of the kernels: the probability of leaving the category of a good configuration."""
    num_samples: Annotated[int, Range(1, 10**6)] = 64
    """Number of candidates, of which the best is proposed (nb201: 4)."""
    random_fraction: Annotated[float, Range(0, 1)] = 0.33
    """Fraction of configurations that are drawn at random (nb201: 0)."""
    budgets: Literal["table", "ignored"] = "table"
    """table: train at the budgets of the table; ignored: every training has the length --epochs, and is paid again at
    each promotion, as in the published script of NAS-Bench-201."""
    densities: Literal["corrected", "hpbandster"] = "corrected"
    """corrected: proper densities of categories; hpbandster: the densities of hpbandster 0.7.4, which can be negative
    or infinite, as in the published searches of NAS-Bench-201."""


class BOHB(Hyperband):
    """BOHB on the budgets of the table, or as published for NAS-Bench-201.

    Each budget with enough observations has two kernel densities, of the best 15 % of the configurations and of the
    others; the largest such budget's densities propose. Enough are 2(d + 1) observations for d choices that vary.

    A configuration that is not in the space gets the error 1 at no cost, as in NAS-Bench-101's published script: it
    takes a place in its bracket, and the model learns to avoid its like.

    With `budgets="ignored"`, brackets are hpbandster's between the table's smallest and largest budget (nb201: 12 and
    200, hence 9, 3 and 1 configurations), but each training has `epochs` epochs. This is the fault of NAS-Bench-201's
    script (exps/NAS-Bench-201-algos/BOHB.py), whose objective does not read its budget. NATS-Bench's script corrects
    it with budgets from 1 to 12 epochs, at points of the 12-epoch learning curve that the table does not have.
    """

    Hyperparameters = BOHBHyperparameters
    # run_bohb.py of NAS-Bench-101's authors and of NAS-Bench-1Shot1; appendix B of NAS-Bench-201.
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nasbench201": {"num_samples": 4, "random_fraction": 0.0}
    }

    def plan(self) -> Plan:
        """Return the brackets."""
        if self.hyperparameters.budgets == "table":
            return super().plan()
        eta = self.hyperparameters.eta
        return EndlessBrackets(Brackets(self.budgets[0], self.budgets[-1], eta).budgets, eta)

    def generator(self) -> "BohbGenerator":
        """Return the generator of the space's configurations."""
        own, space = self.hyperparameters, self.space.configuration_space()
        generator = self._kind(space)(space, int(self.rng.integers(2**63)), own.num_samples)
        generator.random_fraction, generator.min_bandwidth = own.random_fraction, own.min_bandwidth
        return generator

    def _kind(self, space: "ConfigurationSpace") -> "type[BohbGenerator]":
        """Return the class of the generator; raises InvalidInputError if it does not support the space."""
        from nasbench1shot1.proposers.bohb_generator import BohbGenerator
        from nasbench1shot1.proposers.categorical_generator import CategoricalGenerator, is_categorical
        from nasbench1shot1.proposers.hpbandster_generator import HpbandsterGenerator

        categorical, published = is_categorical(space), self.hyperparameters.densities == "hpbandster"
        if published and not categorical:
            raise InvalidInputError(
                f"--densities hpbandster needs independent categorical choices, which {self.space.name} does not have: "
                "choose --densities corrected"
            )
        if published:
            return HpbandsterGenerator
        return CategoricalGenerator if categorical else BohbGenerator

    def architecture(self, configuration: Any) -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is invalid."""
        return self.space.from_configuration(configuration)

    def trained_epochs(self, budget: int) -> int:
        """Return the epochs of a training at a bracket's budget."""
        return budget if self.hyperparameters.budgets == "table" else self.epochs
