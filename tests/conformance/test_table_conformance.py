"""The embedded table, a table of the official shape and incomplete tables pass the bundled conformance suite."""

import numpy as np
import pandas
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


def trainings() -> pandas.DataFrame:
    """Three repeats for every cell of s1, without parameters and training times."""
    archs = [str(arch) for arch in nb.search_space("s1").architectures("unique")]
    frame = pandas.DataFrame(
        {"architecture": np.tile(archs, 3), "epochs": 108, "repeat": np.repeat(range(3), len(archs))}
    )
    accuracies = np.random.default_rng(0).uniform(0.5, 1, (2, len(frame)))
    return frame.assign(validation_accuracy=accuracies[0], test_accuracy=accuracies[1])


def with_gaps(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Every cell lacks the validation accuracy of one repeat, and the test accuracy of another one."""
    place = (frame.index + frame["repeat"]) % 3
    gaps = {"validation_accuracy": 0, "test_accuracy": 1}
    return frame.assign(**{name: frame[name].where(place != lacking) for name, lacking in gaps.items()})


@pytest.fixture(scope="module", params=["whole", "gaps", "no test accuracies"])
def incomplete(request: pytest.FixtureRequest) -> nb.Table:
    frame = trainings()
    if request.param == "gaps":
        frame = with_gaps(frame)
    elif request.param == "no test accuracies":
        frame = frame.drop(columns="test_accuracy")
    return nb.table_from_frame(frame, space=nb.search_space("s1"))


class TestIncomplete(TableConformance):
    @pytest.fixture
    def table(self, incomplete: nb.Table) -> nb.Table:
        return incomplete
