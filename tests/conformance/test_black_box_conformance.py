"""The conformance suite on built-in and on faulty black-box optimizers."""

import sys
from pathlib import Path

import numpy as np
import pytest
from forked_jobs import fork_jobs

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.conformance.black_box_optimizer import BlackBoxOptimizerConformance
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.optimizers.black_box.random_search import RandomSearch
from nasbench1shot1.registry import BUILT_IN


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a study are forked, which is quick."""
    fork_jobs(monkeypatch)


COSTLY = {"smac", "tpe"}
"""Optimizers that take 10 ms and more to propose an architecture with a model."""


class TestBuiltIn(BlackBoxOptimizerConformance):
    @pytest.fixture(params=[name for name in BUILT_IN["black_box_optimizers"] if name not in COSTLY])
    def optimizer(self, request: pytest.FixtureRequest) -> str | type[nb.BlackBoxOptimizer]:
        return RandomSearch if request.param == "random" else request.param  # a class or a name


class TestWithCostlyModel(BlackBoxOptimizerConformance):
    trainings = 18

    @pytest.fixture(params=sorted(COSTLY))
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return request.param

    @pytest.fixture
    def options(self, optimizer: str) -> dict[str, int]:
        return {"startup_trainings": 14} if optimizer == "tpe" else {}


class Global(nb.BlackBoxOptimizer):
    """Draws from numpy's global generator."""

    def ask(self) -> Query:
        return self.query(self.space[np.random.randint(len(self.space))])  # noqa: NPY002

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        pass


def test_the_suite_detects_a_global_generator(tmp_path: Path) -> None:
    study_options = {"optimizer": f"{__name__}:Global", "evaluations": 5, "repeats": 3}
    sys.modules.setdefault(__name__, sys.modules[Global.__module__])
    with pytest.raises(AssertionError):
        BlackBoxOptimizerConformance().test_generator_determines_search(study_options, "s1")


class Unbounded(nb.BlackBoxOptimizer):
    """Ignores the bounds of a search."""

    def constrain(self, constraint: Constraint, worst_error: float) -> None:
        pass

    def ask(self) -> Query:
        return self.query(self.space.sample(self.rng))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        pass


def test_the_suite_detects_that_bounds_are_ignored() -> None:
    study_options = {"optimizer": f"{__name__}:Unbounded"}
    sys.modules.setdefault(__name__, sys.modules[Unbounded.__module__])
    with pytest.raises(AssertionError, match="outside the bounds"):
        BlackBoxOptimizerConformance().test_searches_stay_within_bounds({**study_options, "evaluations": 40}, "s1")
