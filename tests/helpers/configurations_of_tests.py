"""Configuration spaces and observations for tests of configuration generators."""

from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, Constant, EqualsCondition, Float, Integer
from hpbandster.core.dispatcher import Job


def job(configuration, loss, budget=1):
    made = Job((0, 0, 0), config=dict(configuration), budget=budget)
    made.result = None if loss is None else {"loss": loss, "info": {}}
    return made


def continuous_space():
    space = ConfigurationSpace(seed=1)
    space.add(Float("rate", (1e-3, 1), log=True), Integer("width", (2, 32)), Float("momentum", (0, 0.99)))
    return space


def mixed_space(first_is_conditional=False):
    """A space with a categorical, a conditional and a constant hyperparameter."""
    space = ConfigurationSpace(seed=1)
    kind = CategoricalHyperparameter("kind", ["a", "b", "c", "d"])
    depth = Integer("a depth" if first_is_conditional else "z depth", (1, 9))  # hyperparameters are sorted by name
    space.add(kind, depth, Float("rate", (1e-3, 1), log=True), Constant("fixed", 7), Categorical_bool("flag"))
    space.add(CategoricalHyperparameter("only", ["one"]))
    space.add(EqualsCondition(depth, kind, "b"))
    return space


def Categorical_bool(name):
    return CategoricalHyperparameter(name, [True, False])
