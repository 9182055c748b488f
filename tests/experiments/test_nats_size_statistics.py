"""Analyses of the bundled table of NATS-Bench's size space: golden numbers of size_space.md, section 3.3."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from refusals import missing, refuses
from scipy.stats import spearmanr

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.experiments.space_statistics.nats_bench.accuracy_and_cost import accuracy_by_cost
from nasbench1shot1.experiments.space_statistics.nats_bench.published_tables import known_cells
from nasbench1shot1.experiments.space_statistics.nats_bench.ranks import (
    correlation_matrix,
    dataset_ranks,
    matrix_panels,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.size import ANALYSES
from nasbench1shot1.experiments.space_statistics.nats_bench.widths import (
    accuracy_by_width,
    known_architectures,
    known_headline,
    width_panels,
)
from nasbench1shot1.tables.table import Table

SHORT = {"cifar10": "c10", "cifar100": "c100", "ImageNet16-120": "in16"}


@pytest.fixture(scope="module")
def table() -> Table:
    return nb.load_table("nats-size")


@pytest.fixture(scope="module")
def known(table: Table) -> pandas.DataFrame:
    return known_architectures(table).set_index(["dataset", "network"])


@pytest.mark.parametrize(
    ("dataset", "mean", "median", "worst", "best", "regret", "better"),
    [
        ("cifar10", 91.085, 91.31, (79.79, 0), (93.65, 32_698), 0.25, 22),
        ("cifar100", 62.639, 64.20, (32.30, 0), (71.34, 32_623), 0.62, 13),
        ("ImageNet16-120", 37.086, 37.83, (15.50, 1024), (47.40, 32_702), 0.23, 1),
    ],
)
def test_the_space_in_numbers(
    known: pandas.DataFrame,
    dataset: str,
    mean: float,
    median: float,
    worst: tuple[float, int],
    best: tuple[float, int],
    regret: float,
    better: int,
) -> None:
    percent = (100 * known.loc[dataset]["accuracy"]).round(3)
    assert percent["mean"] == mean
    assert percent["median"] == pytest.approx(median, abs=0.005)
    for network, (value, index) in {"worst": worst, "best": best}.items():
        found = known.loc[[(dataset, network)]].iloc[0]
        assert (round(100 * found["accuracy"], 2), found["index"]) == (value, index)
    largest = known.loc[(dataset, "largest network")]
    assert (round(100 * largest["regret"], 2), largest["better"]) == (regret, better)
    assert largest["architecture"] == "64:64:64:64:64"


def test_the_tie_of_the_best_has_two_rows(known: pandas.DataFrame) -> None:
    assert known.loc[[("cifar10", "best")], "index"].tolist() == [32_698, 32_703]
    assert known.loc[("cifar10", "mean"), ["architecture", "index"]].isna().all()


@pytest.mark.parametrize(("cost", "expected"), [("trainable_parameters", 0.872), ("flops", 0.609)])
def test_rank_correlations_with_costs(table: Table, shared: Path, cost: Any, expected: float) -> None:
    frame = accuracy_by_cost(table, cost, splits=("test",))
    found = {c["dataset"]: c["spearman"] for c in frame.attrs["correlations"]}
    assert found["cifar10"] == pytest.approx(expected, abs=5e-4)
    with np.load(shared / "nats_sss_test90.npz", allow_pickle=False) as data:
        for dataset, short in SHORT.items():
            costs = data[f"{'params' if cost == 'trainable_parameters' else 'flops'}_{short}"]
            reference = spearmanr(np.round(data[f"{short}_test_e90"], 4), costs).statistic
            assert found[dataset] == pytest.approx(reference, abs=1e-6)


def test_rank_correlations_between_data_sets(table: Table) -> None:
    found = {c["dataset"]: c["spearman"] for c in dataset_ranks(table).attrs["correlations"]}
    assert found["cifar100"] == pytest.approx(0.735, abs=5e-4)
    assert found["ImageNet16-120"] == pytest.approx(0.878, abs=5e-4)


def test_mean_accuracy_by_the_last_width(table: Table) -> None:
    frame = accuracy_by_width(table)
    assert len(frame) == 3 * 5 * 8
    assert (frame["n"] == 4096).all()
    last = frame[frame["layer"] == "cell 3"].set_index(["dataset", "width"])["mean"]
    found = {dataset: tuple((100 * last[dataset][[8, 64]]).round(2)) for dataset in SHORT}
    assert found == {"cifar10": (90.22, 91.61), "cifar100": (51.82, 67.32), "ImageNet16-120": (29.90, 40.18)}
    accuracies = table.query(range(len(table)), dataset="cifar10").test_accuracy
    first = frame[(frame["layer"] == "stem and cell 1") & (frame["dataset"] == "cifar10")].set_index("width")
    assert first.loc[16, "mean"] == pytest.approx(accuracies[4096:8192].mean())
    assert (first.loc[8, "low"], first.loc[8, "high"]) == (accuracies[:4096].min(), accuracies[:4096].max())


def test_titles_state_the_range_of_n(table: Table) -> None:
    frame = pandas.DataFrame({"architecture": table.hashes([0, 1, 2, 9]), "epochs": 90, "test_accuracy": 0.5})
    own = nb.table_from_frame(frame, space=nb.search_space("nats-size"), reference="present", dataset="mnist")
    assert [panel.title for panel in width_panels(accuracy_by_width(own))] == ["mnist: n = 1 to 4 per point"]
    assert {panel.title.partition(": ")[2] for panel in width_panels(accuracy_by_width(table))} == {
        "n = 4,096 per point"
    }


def test_the_command_writes_every_analysis_that_the_table_can_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["statistics", "accuracy-by-width", "known-architectures", "short-training-ranks", "--table=nats-size",
              f"--out={tmp_path / 'found'}"])  # fmt: skip
    names = {path.name for path in (tmp_path / "found").iterdir()}
    pairs = {f"{name}.{kind}" for name in ("accuracy-by-width", "known-architectures") for kind in ("csv", "png")}
    assert names == pairs | {"summary.json"}
    summary = json.loads((tmp_path / "found" / "summary.json").read_text())
    assert list(summary["refusals"]) == ["short-training-ranks"]
    printed = " ".join(capsys.readouterr().out.split())
    assert not missing(printed, "51.82 to", "67.32", "0.62 (13 better)")


def test_figures_state_their_table_and_counts(table: Table) -> None:
    for name in ("accuracy-by-width", "known-architectures"):
        figure = ANALYSES[name].draw(ANALYSES[name].ask(table)).figure
        assert len(figure.axes) == 3
        assert not missing(figure.get_supxlabel(), table.id, "32,768 of 32,768")


@pytest.mark.parametrize("name", ["accuracy-by-width", "known-architectures"])
def test_tables_of_other_benchmarks_are_refused(name: str) -> None:
    for other in ("nb101-sample", "nb201"):
        with refuses(nb.InvalidInputError, nb.load_table(other).id, "NATS-Bench"):
            ANALYSES[name].ask(nb.load_table(other))


def test_analyses_of_published_cells_are_refused(table: Table) -> None:
    with refuses(nb.InvalidInputError, table.id, "NAS-Bench-201"):
        known_cells(table)


def test_the_correlation_matrix_has_only_accuracies_with_values(table: Table) -> None:
    frame = correlation_matrix(table, shares=(1e-5, 2e-5))
    assert frame.attrs["kept"] == ["CIFAR-10 test", "CIFAR-100 test", "ImageNet16-120 test"]
    assert frame["spearman"].notna().all() and "CIFAR-10 validation" in " ".join(frame.attrs["notes"])
    assert len(matrix_panels(frame)) == 1, "both shares are the best three"
    assert ANALYSES["correlation-matrix"].headline(frame).count("3: ") == 1


def test_a_table_without_the_largest_network_says_so(known: pandas.DataFrame) -> None:
    frame = known.reset_index()
    assert known_headline(frame[frame["network"] != "largest network"]).startswith("the largest network is not among")


def test_an_axis_of_a_single_value_has_no_warning() -> None:
    with Canvas() as canvas:
        Axis("error", low=2.0, high=2.0).apply(canvas.axes[0], "x")
