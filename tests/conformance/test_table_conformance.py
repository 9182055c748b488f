"""The embedded table, a table of the official shape and incomplete tables pass the bundled conformance suite."""

import numpy as np
import pandas
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.conformance.table import TableConformance

ACCURACIES = ("validation_accuracy", "test_accuracy")


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


@pytest.fixture(
    scope="module",
    params=["whole", "gaps", "unknown cells", "no test accuracies", "only times", "means", "fewer repeats"],
)
def incomplete(request: pytest.FixtureRequest) -> nb.Table:
    frame = trainings()
    if request.param == "gaps":
        frame = with_gaps(frame)
    elif request.param == "unknown cells":  # so the best cell of each reference is unknown
        is_known = frame["architecture"] != frame["architecture"][0]
        frame = frame.assign(**{name: frame[name].where(is_known) for name in ACCURACIES}, training_time=8.0)
    elif request.param == "no test accuracies":
        frame = frame.drop(columns="test_accuracy")
    elif request.param == "only times":
        frame = frame.drop(columns=list(ACCURACIES)).assign(training_time=8.0)
    elif request.param == "means":  # of validation accuracies, beside single repeats of test accuracies
        means = frame.groupby("architecture", as_index=False)["validation_accuracy"].mean().assign(repeat="mean")
        frame = pandas.concat([frame.drop(columns="validation_accuracy"), means.assign(epochs=108)], ignore_index=True)
    elif request.param == "fewer repeats":
        frame = frame.assign(validation_accuracy=frame["validation_accuracy"].where(frame["repeat"] < 2))
    return nb.table_from_frame(frame, space=nb.search_space("s1"))


class TestIncomplete(TableConformance):
    @pytest.fixture
    def table(self, incomplete: nb.Table) -> nb.Table:
        return incomplete


def test_the_suite_finds_a_wrong_regret_of_a_table_with_unknown_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = trainings()
    lacking = frame.assign(**{name: frame[name].where(frame.index > 0) for name in ACCURACIES}).query("repeat == 0")
    table, suite = nb.table_from_frame(lacking, space=nb.search_space("s1")), TableConformance()
    suite.test_regret_is_non_negative_and_zero_for_best_network(table)
    suite.test_regret_is_refused_where_the_best_network_is_unknown(table)
    right = nb.Table.regret
    monkeypatch.setattr(nb.Table, "regret", lambda *asked, **more: right(*asked, **more) + 0.01)
    with pytest.raises(AssertionError):
        suite.test_regret_is_non_negative_and_zero_for_best_network(table)
    monkeypatch.setattr(nb.Table, "best", lambda *asked, **more: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        suite.test_regret_is_refused_where_the_best_network_is_unknown(table)
