"""The embedded table and a table of the official shape pass the bundled conformance suite."""

import pytest

import nasbench1shot1 as nb
from nasbench1shot1.conformance.table import TableConformance


class TestEmbedded(TableConformance):
    @pytest.fixture
    def table(self) -> nb.Table:
        return nb.load_table()


class TestMeasured(TableConformance):
    @pytest.fixture
    def table(self, measured_table: nb.Table) -> nb.Table:
        return measured_table


class TestNASBench201(TableConformance):
    @pytest.fixture
    def table(self) -> nb.Table:
        return nb.load_table("nb201")
