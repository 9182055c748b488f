"""The bundled table of NATS-Bench's size space: source values, published values and what it lacks."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.conformance.table import TableConformance
from nasbench1shot1.nats_size.embedded_table import MISSING, SHORT, build_nats_size
from nasbench1shot1.tables.table import Table

LARGEST = "64:64:64:64:64"


@pytest.fixture(scope="module")
def table() -> Table:
    return nb.load_table("nats-size")


@pytest.fixture(scope="module")
def source(shared: Path) -> Any:
    with np.load(shared / "nats_sss_test90.npz", allow_pickle=False) as file:
        return dict(file)


class TestConformance(TableConformance):
    @pytest.fixture
    def table(self) -> Table:
        return nb.load_table("nats-size")


def test_the_table_describes_its_contents(table: Table) -> None:
    assert (len(table), table.epochs, table.full_budget, table.seeds) == (32_768, (1, 12, 90), 90, (777,))
    assert table.benchmark.name == "nats_size"
    assert [of.dataset for of in table.objectives] == ["cifar10", "cifar100", "ImageNet16-120"]
    assert table.fidelity() == ""
    assert nb.search_space("nats-size").table == table.name
    table.verify()


@pytest.mark.parametrize("dataset", SHORT)
def test_every_value_equals_its_source(table: Table, source: Any, dataset: str) -> None:
    short, found = SHORT[dataset], table.query(range(32_768), dataset=dataset)
    np.testing.assert_allclose(found.test_accuracy, source[f"{short}_test_e90"] / 100, atol=1e-12)
    assert np.array_equal(found.trainable_parameters, source[f"params_{short}"])
    assert np.array_equal(found.flops, source[f"flops_{short}"])
    assert found.is_measured("test_accuracy").all()


def test_accuracies_equal_official_records(table: Table) -> None:
    """Records 0 and 284 of NATS-Bench's archive at 90 epochs (size_space.md, section 3.2)."""
    for index, percents in ((0, (79.79, 32.30, 15.5333)), (284, (89.51, 62.70, 32.7667))):
        for dataset, percent in zip(SHORT, percents, strict=True):
            assert 100 * table.query(index, dataset=dataset).test_accuracy == pytest.approx(percent, abs=5e-4)


@pytest.mark.parametrize(
    ("dataset", "percent", "best", "of_largest", "better"),
    [  # size_space.md, section 3.3
        ("cifar10", 93.65, ("64:64:56:64:24", "64:64:56:64:64"), 0.25, 22),
        ("cifar100", 71.34, ("64:64:48:48:64",), 0.62, 13),
        ("ImageNet16-120", 47.40, ("64:64:56:64:56",), 0.23, 1),
    ],
)
def test_optima_and_the_largest_network(
    table: Table, dataset: str, percent: float, best: tuple[str, ...], of_largest: float, better: int
) -> None:
    accuracies = table.query(range(len(table)), dataset=dataset).test_accuracy
    found, metrics = table.best("nats-size", "test", dataset=dataset)
    assert found.official == best[0] and round(100 * metrics.test_accuracy, 2) == percent
    assert [table.network(row).official for row in np.flatnonzero(accuracies == accuracies.max())] == list(best)
    assert 100 * table.regret(LARGEST, dataset=dataset) == pytest.approx(of_largest, abs=0.005)
    assert int((accuracies > accuracies[-1]).sum()) == better


def test_the_mean_equals_the_published_one(table: Table) -> None:
    """notebooks/issue-11.ipynb of D-X-Y/NATS-Bench prints 91.08546417236329."""
    mean = 100 * table.query(range(len(table)), dataset="cifar10").test_accuracy.mean()
    assert mean == pytest.approx(91.08546417236, abs=1e-9)


def test_architectures_are_looked_up_by_text_index_and_object(table: Table) -> None:
    arch = nb.Architecture.parse("8:8:40:32:40")
    found = [table.query(x, dataset="cifar10").test_accuracy for x in (arch, 284, "8:8:40:32:40", str(arch))]
    assert found == [0.8951] * 4
    assert table.hashes([284]) == ["8:8:40:32:40"]


# What the table lacks ----------------------------------------------------------------------------------------------


def test_missing_values_are_nan_and_every_answer_says_so(table: Table) -> None:
    metrics = table.query(284, dataset="cifar10")
    for name in ("validation_accuracy", "train_accuracy", "training_time", "evaluation_time", "test_loss"):
        assert math.isnan(metrics[name])
        assert metrics.source(name) == "not in this table"
    for epochs in (1, 12):
        early = table.query(284, epochs, dataset="cifar10")
        assert math.isnan(early.test_accuracy) and early.trainable_parameters == 144_834
        assert early.source("test_accuracy") == f"not at {epochs} epoch{'s' * (epochs > 1)}"
    assert math.isnan(table.query(284, dataset="cifar10-valid").test_accuracy)
    assert metrics.missing == table.missing == MISSING
    assert MISSING in repr(metrics) and MISSING in table.notes()
    assert pickle.loads(pickle.dumps(metrics)).missing == MISSING  # noqa: S301  written here


def test_complete_tables_lack_nothing() -> None:
    other = nb.load_table("nb201")
    assert other.missing == other.query(0, dataset="cifar10").missing == ""
    assert "missing" not in repr(other.query(0, dataset="cifar10"))


@pytest.mark.parametrize(
    "call, kind, values",
    [
        (lambda table: table.query(32_768, dataset="cifar10"), nb.InvalidInputError, "32768 32,767"),
        (lambda table: table.query(-1, dataset="cifar10"), nb.InvalidInputError, "-1 32,767"),
        (lambda table: table.query("8:8:8:8:9", dataset="cifar10"), nb.InvalidInputError, "9 8, 16, 64"),
        (lambda table: table.query(0, epochs=200, dataset="cifar10"), nb.OutOfDomainError, "200 use 90"),
        (lambda table: table.query(0, dataset="cifar11"), nb.InvalidInputError, "cifar11 cifar10"),
        (lambda table: table.query(nb.search_space("nb201")[0], dataset="cifar10"), nb.InvalidInputError, "NATS-Bench"),
        (lambda table: table.best("nats-size", "validation", dataset="cifar10"), nb.OutOfDomainError, "validation"),
        (lambda table: table.regret(0, epochs=12, dataset="cifar10"), nb.OutOfDomainError, "12"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_sentence(
    table: Table, call: Any, kind: type[nb.UserError], values: str
) -> None:
    with refuses(kind, *values.split()):
        call(table)


# The builder -------------------------------------------------------------------------------------------------------


def test_the_builder_reproduces_the_bundled_table(table: Table, shared: Path, tmp_path: Path) -> None:
    build_nats_size(shared / "nats_sss_test90.npz", tmp_path / "table")
    assert nb.load_table(tmp_path / "table").id == table.id
    assert sum(path.stat().st_size for path in (tmp_path / "table").iterdir()) < 1_500_000


@pytest.mark.parametrize("fault", ["order", "accuracy", "column"])
def test_a_wrong_source_is_refused_before_anything_is_written(source: Any, tmp_path: Path, fault: str) -> None:
    wrong = dict(source)
    if fault == "order":
        wrong["widths"] = wrong["widths"][::-1]
    elif fault == "accuracy":
        wrong["c100_test_e90"] = wrong["c100_test_e90"] + 0.01
    else:
        del wrong["in16_test_e90"]
    np.savez(tmp_path / "wrong.npz", **wrong)
    with refuses(nb.DamagedFileError, "wrong.npz"):
        build_nats_size(tmp_path / "wrong.npz", tmp_path / "table")
    assert not (tmp_path / "table").exists()
