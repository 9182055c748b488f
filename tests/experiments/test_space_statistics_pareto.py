"""Pareto fronts of any metrics in tables of any benchmark, and the analyses that a table offers."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from refusals import missing, refuses
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.benchmark import benchmark
from nasbench1shot1.cli import main
from nasbench1shot1.experiments.space_statistics.catalogue import analyses_of, offered
from nasbench1shot1.experiments.space_statistics.pareto import (
    PARETO_FRONTS,
    cost_metrics,
    pareto_fronts,
)
from nasbench1shot1.nasbench101.features import flops_of_table
from nasbench1shot1.nasbench201.benchmark import BENCHMARK as NASBENCH201
from nasbench1shot1.networks import build_network
from nasbench1shot1.tables.columns import Column, standard

PHONE = Column(
    metric="latency_phone", quantity="latency", dataset="cifar10", unit="ms", direction="lower", device="phone"
)
N = 200


def made_table(columns: dict[str, tuple[np.ndarray, Column]], keyed_by: str = "nasbench201", **more: Any) -> nb.Table:
    """A table in memory of the first architectures of NAS-Bench-201; each column has values and a description."""
    rows = len(next(iter(columns.values()))[0])
    meta: dict[str, Any] = {"name": "made", "version": "1", "keyed_by": keyed_by, "datasets": ["cifar10"]}
    meta |= {"epochs": [12, 200], "repeats": 2, "spaces": [], **more}
    meta["columns"] = {name: about.entry() for name, (_, about) in columns.items()}
    values = {name: values for name, (values, _) in columns.items()}
    return nb.Table.from_columns({"index": np.arange(rows, dtype=np.uint16), **values}, meta)


def toy_columns(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, Column]]:
    """Accuracies with missing repeats, and costs with ties and missing values."""
    accuracy = rng.integers(50, 90, (N, 2, 2)) / 100
    accuracy[rng.random((N, 2, 2)) < 0.2] = np.nan
    latency = rng.integers(10, 60, N) / 4
    latency[rng.random(N) < 0.1] = np.nan
    return {
        "test_accuracy": (accuracy, standard("test_accuracy", "cifar10", epochs=(12, 200))),
        "training_time": (rng.random((N, 2, 2)), standard("training_time", "cifar10", epochs=(12, 200))),
        "trainable_parameters": (rng.integers(1, 30, N) * 100_000, standard("trainable_parameters", "cifar10")),
        "latency_phone": (latency, PHONE),
    }


@pytest.fixture
def toy_benchmark(monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark without statistics of its own, from outside the package."""
    module = ModuleType("toy_benchmark")
    module.__dict__["BENCHMARK"] = replace(NASBENCH201, name="toy", title="Toy", statistics=None, tables={}, files=())
    monkeypatch.setitem(sys.modules, "toy_benchmark", module)
    return "toy_benchmark:BENCHMARK"


def front(frame: pandas.DataFrame, cost: str) -> pandas.DataFrame:
    return frame[(frame["cost"] == cost) & frame["on_front"]]


# Fronts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cost", ["latency_phone", "trainable_parameters", "training_time"])
def test_a_front_has_exactly_the_networks_that_none_dominates(seed: int, cost: str) -> None:
    table = made_table(toy_columns(np.random.default_rng(seed)))
    frame = pareto_fronts(table, costs=(cost,))
    metrics = table.query(range(N))
    points = np.stack([metrics[cost], 1 - metrics.test_accuracy], axis=1)
    known = np.isfinite(points).all(axis=1)
    better = (points[:, None] <= points).all(axis=2) & (points[:, None] < points).any(axis=2)
    expected = np.unique(points[known & ~better.any(axis=0)], axis=0)
    found = front(frame, cost)
    np.testing.assert_allclose(found[["value", "error"]].to_numpy(float), expected)
    assert (frame["of"] == known.sum()).all()
    assert frame["n"].sum() == known.sum()
    for row in found.itertuples():
        same = np.flatnonzero((np.abs(points - (row.value, row.error)) < 1e-9).all(axis=1))
        assert table.row_of(row.architecture) == same[0], "ties go to the first row"
    median = np.median(points[known & (points[:, 0] == frame["value"][0]), 1])
    assert frame["median_error"][0] == pytest.approx(median)


def test_costs_are_metrics_of_which_lower_is_better_but_not_losses() -> None:
    columns = toy_columns(np.random.default_rng(0))
    columns["score"] = (np.arange(N), Column(metric="score", quantity="score", dataset="cifar10", direction="higher"))
    loss = standard("test_loss", "cifar10", epochs=(12, 200))
    columns["test_loss"] = (np.ones((N, 2, 2)), loss)
    columns["shape"] = (np.arange(N), Column(metric="shape", quantity="shape", dataset="cifar10"))
    table = made_table(columns)
    assert cost_metrics(table) == ["trainable_parameters", "latency_phone", "training_time"], "budgets last"
    assert pareto_fronts(table)["cost"].unique().tolist() == cost_metrics(table)
    with refuses(nb.InvalidInputError, "shape"):
        pareto_fronts(table, costs=("shape",))
    with refuses(nb.InvalidInputError, "latency_fone", "latency_phone"):
        pareto_fronts(table, costs=("latency_fone",))


def test_any_two_metrics_in_both_directions() -> None:
    table = made_table(toy_columns(np.random.default_rng(0)))
    frame = pareto_fronts(table, metric="latency_phone", costs=("test_accuracy",), epochs=12)
    best = front(frame, "test_accuracy")
    assert best["value"].is_monotonic_decreasing
    assert best["error"].is_monotonic_decreasing
    assert best["value"].iloc[0] == table.query(range(N), epochs=12).test_accuracy[table.rows(best["architecture"])[0]]
    axes = nb.draw_statistics("pareto-fronts", frame)
    assert axes.get_xlabel() == "test accuracy [%]"
    assert axes.get_ylabel() == "latency phone [ms, log scale]"
    some = pareto_fronts(table, rows=np.arange(10))
    assert some["of"].max() <= 10
    assert some.attrs["dropped"] == 10 - some.attrs["rows"]


def test_estimates_are_used_only_on_request_and_named() -> None:
    columns = toy_columns(np.random.default_rng(0))
    columns["latency_phone"] = (columns["latency_phone"][0], replace(PHONE, fidelity="predicted", device="Pixel 9"))
    table = made_table(columns)
    frame = pareto_fronts(table)
    assert (frame["cost"].unique().tolist(), frame.attrs["predicted"]) == (
        ["trainable_parameters", "training_time"],
        False,
    )
    left_out = "left out, because this table has no measured values: latency phone on Pixel 9"
    assert left_out in PARETO_FRONTS.draw(frame).figure.get_supxlabel()
    frame = pareto_fronts(table, predicted=True)
    said = PARETO_FRONTS.draw(frame).figure.get_supxlabel()
    assert "PREDICTED" in said
    parts = "test error (measured), trainable parameters (exact), latency phone on Pixel 9 (predicted), training time"
    assert parts in " ".join(said.split())
    with refuses(nb.OutOfDomainError, table.id, 200, options="predicted"):
        pareto_fronts(table, costs=("latency_phone",))


def test_tables_without_the_metric_or_without_costs_are_refused() -> None:
    columns = toy_columns(np.random.default_rng(0))
    with refuses(nb.OutOfDomainError, "costs"):
        pareto_fronts(made_table({"test_accuracy": columns["test_accuracy"]}))
    table = made_table({name: columns[name] for name in ("test_accuracy", "training_time")})
    times = pareto_fronts(table)["value"]
    assert set(times) <= set(table.query(range(N)).training_time), "at the budget of the accuracy"
    with refuses(nb.OutOfDomainError, table.id, "validation", 200):
        pareto_fronts(table, metric="validation_accuracy")
    with refuses(nb.OutOfDomainError, table.id, 13):
        pareto_fronts(table, epochs=13, costs=("training_time",))


def test_real_cells_of_nasbench101() -> None:
    table = nb.load_table("nb101-sample")
    with refuses(nb.OutOfDomainError, table.id, 108):
        pareto_fronts(table)
    frame = pareto_fronts(table, metric="validation_accuracy")
    best = front(frame, "trainable_parameters")
    errors = 1 - table.measured("validation_accuracy")[:, 0]
    assert best["error"].iloc[-1] == errors.min()
    assert (errors[np.asarray(table.column("trainable_parameters")) < best["value"].iloc[-1]] > errors.min()).all()
    assert len(table.rows(best["architecture"])) == len(best)


def multiply_adds(arch: nb.Architecture) -> int:
    """The multiply-adds of a network's convolutions and its dense layer on an image, counted in a pass."""
    net, counted = build_network(arch).eval(), list[int]()
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(lambda layer, _, out: counted.append(out[0].numel() * layer.weight[0].numel()))
    with torch.no_grad():
        net(torch.zeros(1, 3, 32, 32))
    return sum(counted)


def test_flops_of_cells_of_nasbench101_are_counted_in_their_networks() -> None:
    table = nb.load_table("nb101-5v")
    rows = [0, 100, 2000]
    found = flops_of_table(table)[rows].tolist()
    assert found == [multiply_adds(table.cell(row)) for row in rows]


def test_cells_of_nasbench101_against_time_parameters_and_flops() -> None:
    table = nb.load_table()
    frame = pareto_fronts(table, predicted=True, mark=["resnet-like cell", "inception-like cell"])
    assert frame["cost"].unique().tolist() == ["trainable_parameters", "flops", "training_time"]
    [of] = frame.attrs["marks"]
    assert of["flops"] == multiply_adds(nb.Architecture.parse(table.benchmark.reference_points["ResNet-like cell"]))
    found = table.query(nb.Architecture.parse(table.benchmark.reference_points["ResNet-like cell"]))
    assert (of["training_time"], of["trainable_parameters"]) == (found.training_time, found.trainable_parameters)
    assert (of["error"], of["source"]) == (pytest.approx(1 - found.test_accuracy), "measured")
    assert frame.attrs["notes"][-1] == f"Not in the table {table.id}, so not marked: Inception-like cell."
    labels = [text.get_text() for text in PARETO_FRONTS.draw(frame).figure.legends[0].get_texts()]
    assert labels[-1] == "ResNet-like cell (measured)"
    assert pareto_fronts(table, mark=()).attrs["marks"] == []


# A new column ---------------------------------------------------------------------------------------------------------


def test_a_new_column_of_nasbench201_has_a_front(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = nb.load_table("nb201")
    latency = 1 + np.random.default_rng(0).random(len(known))
    meta = {**known._folder.meta, "name": "nb201-phone"}
    meta["columns"] = {**meta["columns"], "cifar10.latency_phone": PHONE.entry(sources=["one phone"])}
    columns = {**known._folder.columns, "cifar10.latency_phone": latency}
    nb.Table.from_columns(columns, meta).save(tmp_path / "table")
    main(["statistics", "pareto-fronts", "--table", str(tmp_path / "table"), "--out", str(tmp_path / "out")])
    assert "CIFAR-10, latency phone: " in " ".join(capsys.readouterr().out.replace("│", " ").split())
    frame = pandas.read_csv(tmp_path / "out" / "pareto-fronts.csv")
    own = frame[frame["cost"] == "latency_phone"]
    assert own["dataset"].unique().tolist() == ["cifar10"]
    assert own["index"].tolist() == known.rows(own["architecture"]).tolist()
    assert own["error"][own["on_front"]].min() == 1 - known.best("nb201", dataset="cifar10")[1].test_accuracy
    assert frame.groupby("cost")["dataset"].nunique().to_dict() == {
        "trainable_parameters": 3,
        "flops": 3,
        "latency": 3,
        "latency_phone": 1,
        "training_time": 3,
        "evaluation_time": 3,
    }
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())["answers"]["pareto-fronts"]
    assert summary["metrics"]["latency_phone"]["unit"] == "ms"
    assert summary["marks"][0]["latency_phone"] == latency[11472]
    assert not missing(str(summary), "(measured), trainable", "FLOPs (exact), latency")


# Benchmarks without statistics of their own ---------------------------------------------------------------------------


def test_a_benchmark_without_statistics_has_the_generic_analyses(
    toy_benchmark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = toy_columns(np.random.default_rng(0))
    accuracy = replace(columns["test_accuracy"][1], metric="validation_accuracy", split="validation", dataset="b")
    columns |= {"validation_accuracy": (columns.pop("test_accuracy")[0], accuracy)}
    columns |= {"trainable_parameters": (np.arange(N), standard("trainable_parameters", "b"))}
    table = made_table(columns, toy_benchmark, datasets=["cifar10", "b"])
    assert list(offered(table.benchmark)) == list(analyses_of(table)) == ["pareto-fronts"]
    table.save(tmp_path / "table")
    main(["statistics", "--table", str(tmp_path / "table"), "--out", str(tmp_path / "out")])
    assert "architectures on the front: b, trainable parameters: " in capsys.readouterr().out.replace("│", " ")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"pareto-fronts.csv", "pareto-fronts.png", "summary.json"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("known-cells", "'known-cells' Toy"),
        ("budget-correlation", "'budget-correlation' Toy"),
        ("paretofront", "paretofront pareto-fronts"),
    ],
)
def test_analyses_of_other_benchmarks_and_unknown_ones_are_refused(toy_benchmark: str, name: str, values: str) -> None:
    table = made_table(toy_columns(np.random.default_rng(0)), toy_benchmark)
    with refuses(nb.InvalidInputError, *values.split()):
        analyses_of(table, ["pareto-fronts", name])


@pytest.mark.parametrize("name", ["nasbench101", "nasbench201"])
def test_other_benchmarks_add_their_own_analyses(name: str) -> None:
    own = benchmark(name).load("statistics")
    assert own.items() <= offered(benchmark(name)).items()
    assert "pareto-fronts" in offered(benchmark(name))
