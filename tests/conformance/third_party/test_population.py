"""Run the conformance suite of nasbench1shot1 on the method."""

import pytest
from population import Population

from nasbench1shot1.conformance.optimizer import OptimizerConformance


class TestPopulation(OptimizerConformance):
    @pytest.fixture
    def optimizer(self) -> type[Population]:
        return Population

    @pytest.fixture
    def options(self) -> dict[str, int]:
        return {"population": 6, "replaced": 2}
