"""New columns, a latency and an energy: all that a table does with them follows from their descriptions."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.tables.columns import Column, standard
from nasbench1shot1.tables.description import Objective

LATENCY = np.array([5.632, 2.5, 7.25, 2.5])
"""Milliseconds of the first four architectures of NAS-Bench-201."""
ENERGY = np.array([[[3.0, 5.0], [30.0, 50.0]], [[1.0, np.nan], [20.0, 10.0]], [[9.0, 7.0]] * 2, [[2.0, 2.0]] * 2])
"""Millijoules: architecture, budget, repeat."""
EDGE_GPU = Column(
    metric="latency_edgegpu", quantity="latency", dataset="cifar10", unit="ms", direction="lower", device="Jetson TX2"
)
POWER = Column(metric="energy", quantity="energy", dataset="cifar10", unit="mJ", direction="lower", epochs=(12, 200))
SHAPE = Column(metric="shape_score", quantity="score", dataset="cifar10", fidelity="predicted")


@pytest.fixture(params=["memory", "folder"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> nb.Table:
    """A table with standard columns and three others, in memory, or saved and opened again."""
    accuracy = np.array([0.7, 0.9, 0.8, 0.6])[:, None, None] * np.ones((4, 1, 2))
    columns = {
        "index": np.arange(4, dtype=np.uint16),
        "validation_accuracy": accuracy,
        "latency_edgegpu": LATENCY,
        "energy": ENERGY,
        "shape_score": np.arange(4),
    }
    entries: dict[str, Any] = {
        "validation_accuracy": standard("validation_accuracy", "cifar10", epochs=(200,)).entry(),
        "latency_edgegpu": EDGE_GPU.entry(method="one run of 100 images"),
        "energy": POWER.entry(),
        "shape_score": SHAPE.entry(),
    }
    meta = {"name": "costs", "version": "1", "keyed_by": "nasbench201", "datasets": ["cifar10"], "epochs": [12, 200]}
    made = nb.Table.from_columns(columns, {**meta, "repeats": 2, "spaces": [], "columns": entries})
    if request.param == "memory":
        return made
    made.save(tmp_path / "costs")
    opened = nb.load_table(tmp_path / "costs")
    assert opened.id == made.id
    opened.verify()
    return opened


def test_any_metric_is_an_item_and_an_attribute_of_a_query(table: nb.Table) -> None:
    one = table.query(0, epochs=12)
    assert one["latency_edgegpu"] == one.latency_edgegpu == 5.632
    assert (one.energy, table.query(0).energy, table.query(0, run=1).energy) == (4.0, 40.0, 50.0)
    assert table.query(1, epochs=12).energy == 1.0  # the other repeat is missing
    many = table.query(range(4), run="all")
    assert many["latency_edgegpu"].tolist() == LATENCY.tolist()
    np.testing.assert_array_equal(many["energy"], ENERGY[:, 1])
    assert np.isnan(one.test_accuracy) and np.isnan(one["flops"]) and np.isnan(one.validation_accuracy)
    assert one.names == table.metrics == ("validation_accuracy", "latency_edgegpu", "energy", "shape_score")


def test_an_unknown_metric_is_refused(table: nb.Table) -> None:
    with pytest.raises(nb.InvalidInputError, match="mean 'latency_edgegpu'"):
        table.query(0)["latency_edgegup"]
    with pytest.raises(AttributeError, match="metric"):
        _ = table.query(0).latency
    for ask in (table.values, table.measured, table.reader, table.about, table.epochs_of):
        with pytest.raises(nb.InvalidInputError, match="'latency'"):
            ask("latency")


def test_whether_a_value_is_measured_follows_from_the_description(table: nb.Table) -> None:
    metrics = table.query([0, 1], epochs=12, run="all")
    assert metrics.is_measured("latency_edgegpu").tolist() == [True, True]
    assert metrics.is_measured("energy").tolist() == [[True, True], [True, False]]
    assert not metrics.is_measured("shape_score").any()
    assert (table.is_measured("energy"), table.is_measured("shape_score")) == (True, False)


def test_whole_columns_single_values_and_readers_agree(table: nb.Table) -> None:
    assert table.values("latency_edgegpu", 12)[:, 0].tolist() == LATENCY.tolist()
    np.testing.assert_array_equal(table.measured("energy"), ENERGY[:, 1])
    assert table.epochs_of("latency_edgegpu") == table.epochs_of("energy") == (12, 200)
    for metric in ("latency_edgegpu", "energy"):
        read = table.reader(metric)
        for row, epochs in ((0, 12), (3, 200)):
            value = table.query(row, epochs)[metric]
            assert read(row, epochs, "mean") == table.value(metric, row, epochs) == value


def test_regrets_and_ranks_follow_the_direction(table: nb.Table) -> None:
    assert table.regret(range(4), "nb201", metric="latency_edgegpu").tolist() == (LATENCY - 2.5).tolist()
    assert table.regret([1, 3], "nb201", epochs=12, metric="energy").tolist() == [0.0, 1.0]
    network, metrics = table.best("nb201", metric="latency_edgegpu")  # ties go to the first row
    assert (table.row_of(network), metrics.latency_edgegpu) == (1, 2.5)
    assert table.best("nb201", "validation")[1].validation_accuracy == 0.9
    assert table.mean_regret("nb201", metric="latency_edgegpu") == pytest.approx(np.mean(LATENCY) - 2.5)
    with pytest.raises(nb.InvalidInputError, match="shape_score"):
        table.best("nb201", metric="shape_score")
    with pytest.raises(nb.OutOfDomainError, match=r"loss.*200"):
        table.regret(0, "nb201", metric="test_loss")


def test_any_metric_is_an_objective(table: nb.Table) -> None:
    objective = table.objective("cifar10", "latency_edgegpu")
    assert objective == Objective("cifar10", "cifar10", "cifar10", "latency_edgegpu", "latency_edgegpu")
    about = table.about("latency_edgegpu")
    assert (about.unit, about.device, about.cost(2.5)) == ("ms", "Jetson TX2", 2.5)
    assert table.about("validation_accuracy").cost(0.9) == 1 - 0.9
    with pytest.raises(nb.InvalidInputError, match="'latency'"):
        table.objective("cifar10", "latency")


def test_answers_are_printed_with_units_and_survive_pickling(table: nb.Table) -> None:
    metrics = table.query(0)
    assert "latency_edgegpu 5.632 ms (measured), energy 40 mJ (measured)" in repr(metrics)
    assert "latency_edgegpu 2.5 to 7.25 ms (measured)" in repr(table.query(range(4)))
    again = pickle.loads(pickle.dumps(metrics))  # noqa: S301
    assert (repr(again), again["energy"], again.is_measured("energy")) == (repr(metrics), 40.0, True)


def test_commands_list_and_look_up_new_columns(table: nb.Table, capsys: pytest.CaptureFixture[str]) -> None:
    described = table.info()["columns"]["latency_edgegpu"]
    assert (described["unit"], described["device"], described["direction"]) == ("ms", "Jetson TX2", "lower")
    if table.folder:
        main(["table", "info", "--table", str(table.folder)])
        assert "latency_edgegpu" in capsys.readouterr().out
        main(["query", "0", "--table", str(table.folder)])
        assert "5.632 ms" in capsys.readouterr().out


def test_two_columns_of_one_metric_are_refused(table: nb.Table) -> None:
    columns = {**{name: np.array(table.column(name)) for name in ("index", "energy")}, "power": np.array(ENERGY)}
    meta = {"name": "twice", "version": "1", "keyed_by": "nasbench201", "datasets": ["cifar10"], "epochs": [12, 200]}
    meta |= {"repeats": 2, "spaces": [], "columns": {"energy": POWER.entry(), "power": POWER.entry()}}
    with pytest.raises(nb.InvalidInputError, match=r"energy.*power"):
        nb.Table.from_columns(columns, meta)
