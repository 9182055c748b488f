"""Statistics of learning curves, on the tables of genuine records of both spaces."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import pearsonr, spearmanr

import nasbench1shot1 as nb
from nasbench1shot1.experiments.space_statistics.catalogue import offered
from nasbench1shot1.experiments.space_statistics.nats_bench.learning_curves import (
    known_curves,
    rank_panels,
    ranks_along_training,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.published_tables import TABLE_6, schedule_correlation
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import Table, load_table

FOLDERS = {"tss": "NATS-tss-v1_0-3ffb9-simple", "sss": "NATS-sss-v1_0-50262-simple"}
SPLITS = {"tss": ["validation", "valtest", "valtest"], "sss": ["validation"] * 3}


@pytest.fixture(scope="module", params=["tss", "sss"])
def imported(
    request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Table]:
    folder = tmp_path_factory.mktemp("imported") / "table"
    import_table(shared / "nats_fake" / FOLDERS[request.param], folder, report=lambda line: None)
    return request.param, load_table(folder)


def test_ranks_are_correlated_after_every_epoch(imported: tuple[str, Table]) -> None:
    space, table = imported
    frame = ranks_along_training(table)
    assert len(frame) == 3 * table.full_budget
    assert frame.groupby("dataset", sort=False)["split"].first().tolist() == SPLITS[space]
    assert (frame["n"] == 3).all()
    indices, last = table.column("index").tolist(), table.full_budget
    for row in frame[frame["epochs"].isin([1, 20, last - 1, last])].itertuples():
        training = table.objective(row.dataset).validation
        within = table.query(indices, row.epochs, dataset=training, budget=last)[f"{row.split}_accuracy"]
        final = table.query(indices, dataset=row.dataset).test_accuracy
        assert row.spearman == pytest.approx(spearmanr(within, final).statistic)


def test_the_published_schedules_use_every_epoch_that_a_table_has(imported: tuple[str, Table]) -> None:
    space, table = imported
    if space == "sss":
        with refuses(nb.InvalidInputError, "NAS-Bench-201"):
            schedule_correlation(table)
        return
    frame = schedule_correlation(table)
    moments = list(dict.fromkeys(zip(frame["epochs"], frame["budget"], strict=True)))
    assert moments == [moment for moment in TABLE_6 if list(moment) not in frame.attrs["lacking"]]
    assert {(12, 200), (24, 200), (100, 200), (150, 200), (175, 200), (200, 200)} <= set(moments)
    indices = table.column("index").tolist()
    within = table.query(indices, 24, dataset="cifar10-valid", budget=200).validation_accuracy
    final = table.query(indices, dataset="cifar10").test_accuracy
    [row] = frame.query("epochs == 24 and budget == 200 and dataset == 'cifar10' and split == 'test'").itertuples()
    assert (row.pearson, row.published) == (pytest.approx(pearsonr(within, final).statistic), 0.7594)
    axes = nb.draw_statistics("schedule-correlation", frame)
    titles = [ax.get_title() for ax in (axes if isinstance(axes, list) else [axes])]
    assert titles == [f"CIFAR-10 validation after {epochs} of {budget} epochs" for epochs, budget in moments]
    bundled = schedule_correlation(load_table("nb201"))
    assert set(zip(bundled["epochs"], bundled["budget"], strict=True)) == {(12, 12), (200, 200)}
    assert len(bundled.attrs["lacking"]) == 6


def test_curves_of_the_best_and_of_known_architectures(imported: tuple[str, Table]) -> None:
    space, table = imported
    frame, last = known_curves(table), table.full_budget
    names = {"best", *(name for name, text in table.benchmark.reference_points.items() if text in table)}
    assert set(frame["network"]) == names
    final = frame[(frame["epochs"] == last) & (frame["network"] == "best") & (frame["dataset"] == "cifar10")]
    assert (
        final["accuracy"].iloc[0]
        == table.query({"tss": 11, "sss": 284}[space], dataset="cifar10-valid").validation_accuracy
    )
    assert frame["accuracy"].between(0, 1).all()


def test_both_analyses_are_offered_and_drawn(imported: tuple[str, Table]) -> None:
    _, table = imported
    for name, panels in (("ranks-along-training", 1), ("learning-curves", 3)):
        analysis = offered(table.benchmark)[name]
        frame = analysis.run(table)
        assert len(analysis.panels(frame)) == panels
        assert f"of {table.full_budget} epochs" in analysis.headline(
            frame
        ) or f"to {table.full_budget}" in analysis.headline(frame)


def without_tests(table: Table, *datasets: str) -> Table:
    """The table without test accuracies on some data sets."""
    names = {f"{table.objective(dataset).test}.test_accuracy" for dataset in datasets}
    columns = {name: np.full_like(of, np.nan) if name in names else of for name, of in table.columns().items()}
    return Table.from_columns(columns, {**table.description, "name": "partial"})


def test_data_sets_without_final_test_accuracies_are_left_out(imported: tuple[str, Table]) -> None:
    partial = without_tests(imported[1], "cifar100")
    analysis = offered(partial.benchmark)["learning-curves"]
    frame = analysis.run(partial)
    assert set(frame["dataset"]) == {"cifar10", "ImageNet16-120"} and len(analysis.panels(frame)) == 2
    assert "CIFAR-10 " in analysis.headline(frame) and "CIFAR-100" not in analysis.headline(frame)
    assert any(note.startswith("not in this table: CIFAR-100 test") for note in frame.attrs["notes"])
    with refuses(OutOfDomainError, "partial", "CIFAR-100 test"):
        known_curves(without_tests(partial, *(of.dataset for of in partial.objectives)))


def test_the_legend_states_the_range_of_n(imported: tuple[str, Table]) -> None:
    frame = ranks_along_training(imported[1])
    own = frame["dataset"] == "cifar10"
    frame.loc[own & (frame["epochs"] > 5), "n"] = 1_234
    details = [mark.detail for mark in rank_panels(frame)[0].marks]
    assert details == [", n = 3 to 1,234", ", n = 3", ", n = 3"]


@pytest.mark.parametrize("table", ["nb201", "nats-size"])
def test_tables_without_learning_curves_are_refused(table: str) -> None:
    for analysis in (ranks_along_training, known_curves):
        with refuses(OutOfDomainError, table, "learning curves"):
            analysis(nb.load_table(table))
