"""Analyses of the bundled NAS-Bench-201 table, compared with numbers computed from its columns."""

import numpy as np
import pandas
import pytest
from matplotlib.text import Text
from refusals import missing, refuses
from scipy.stats import kendalltau, pearsonr, spearmanr

import nasbench1shot1 as nb
from nasbench1shot1.display.charts import Series
from nasbench1shot1.experiments.space_statistics.nats_bench.accuracy_and_cost import (
    accuracy_by_cost,
    accuracy_panels,
    pareto_fronts,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.latencies import LATENCIES, latency_fronts, latency_panels
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import Measurements
from nasbench1shot1.experiments.space_statistics.nats_bench.published_tables import (
    CELLS,
    known_cells,
    known_cells_panels,
    schedule_correlation,
    schedule_panels,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.ranks import (
    correlation_matrix,
    dataset_ranks,
    short_training_ranks,
)
from nasbench1shot1.experiments.space_statistics.nats_bench.topology import ANALYSES
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.table import Table, load_table

N = 15_625
OWN = ("short-training-ranks", "correlation-matrix", "known-cells", "schedule-correlation")
"""Analyses of a table of accuracies only."""
RESNET, ALL_SKIP = CELLS.values()
SHORT_NAMES = {"cifar10": "c10", "cifar100": "c100", "ImageNet16-120": "in16"}


@pytest.fixture(scope="module")
def table() -> Table:
    return load_table("nb201")


@pytest.fixture(scope="module")
def gathered(shared) -> dict[str, np.ndarray]:
    """The source columns of the table, in percent, by official index."""
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as columns:
        return dict(columns)


@pytest.fixture(scope="module")
def without_tests(table) -> Table:
    """Ten architectures of which only CIFAR-10's validation accuracy at 12 epochs is known."""
    values = np.linspace(0.1, 0.9, 10, dtype=np.float32).reshape(10, 1, 1)
    costs = {f"cifar10{tail}.trainable_parameters": np.arange(10, dtype=np.int32) for tail in ("", "-valid")}
    columns = {"index": np.arange(10, dtype=np.uint16), "cifar10-valid.validation_accuracy": values, **costs}
    described = {
        "cifar10-valid.validation_accuracy": standard("validation_accuracy", "cifar10-valid", epochs=(12,)).entry(),
        **{name: standard("trainable_parameters", name.partition(".")[0]).entry() for name in costs},
    }
    objective = {"dataset": "cifar10", "validation": "cifar10-valid", "test": "cifar10"}
    meta = {"name": "few", "version": "1", "keyed_by": "nasbench201", "datasets": ["cifar10-valid", "cifar10"]}
    meta |= {"epochs": [12, 200], "repeats": 1, "spaces": [], "columns": described, "objectives": [objective]}
    return Table.from_columns(columns, meta)


@pytest.fixture(scope="module")
def incomplete(table) -> Table:
    """The table with the validation accuracies after 200 epochs on CIFAR-100 of the first 1,374 architectures only."""
    name = "cifar100.validation_accuracy"
    values = np.array(table.columns()[name])
    values[1374:, 1] = np.nan
    return Table.from_columns({**table.columns(), name: values}, {**table.description, "name": "incomplete"})


# Golden numbers ----------------------------------------------------------------------------------------------------


def test_validation_predicts_test_after_200_epochs_better_than_after_12(table, gathered):
    known = {(c["dataset"], c["epochs"]): c for c in short_training_ranks(table).attrs["correlations"]}
    assert known["cifar10", 200]["spearman"] == pytest.approx(0.984, abs=5e-4)
    assert known["cifar10", 12]["spearman"] == pytest.approx(0.772, abs=5e-4)
    for dataset, short in SHORT_NAMES.items():
        expected = spearmanr(gathered[f"{short}_valid_e12"], gathered[f"{short}_test_e200"]).statistic
        assert known[dataset, 12]["spearman"] == pytest.approx(expected, abs=1e-4)
    assert set(known) == {(dataset, epochs) for dataset in SHORT_NAMES for epochs in (12, 200)}
    assert known["cifar100", 200]["spearman"] == pytest.approx(0.993, abs=5e-4)
    assert known["ImageNet16-120", 200]["spearman"] == pytest.approx(0.995, abs=5e-4)


def test_ranks_agree_with_the_accuracies(table, gathered):
    frame = dataset_ranks(table).set_index(["dataset", "index"])
    assert (frame["n"] == N).all()
    assert frame["x_rank"]["cifar100", 6111] == 1.5, "two architectures are best on CIFAR-10"
    assert frame["y_rank"]["cifar100", 9930] == 1
    assert frame["y_rank"]["ImageNet16-120", 857] == 1
    better = (gathered["c100_test_e200"] > gathered["c100_test_e200"][6111] + 1e-6).sum()
    assert frame["y_rank"]["cifar100", 6111] == better + 1


def test_optima_and_known_cells_are_close_to_published_values(table):
    frame = known_cells(table).set_index(["cell", "dataset", "split"])
    optima = frame.loc["optimal"]
    assert optima.loc[("cifar10", "test"), "index"] == optima.loc[("cifar10", "validation"), "index"] == 6111
    assert optima.loc[("cifar100", "test"), "index"] == optima.loc[("cifar100", "validation"), "index"] == 9930
    assert optima.loc[("ImageNet16-120", "test"), "index"] == 857
    assert optima["difference"].abs().drop(("ImageNet16-120", "validation")).max() < 5.1e-5
    assert optima.loc[("ImageNet16-120", "validation"), "accuracy"] == pytest.approx(0.467333, abs=1e-6)  # NATS-Bench's
    assert (frame["n"] == N).all()
    assert frame.loc["all skip"]["difference"].abs().max() < 5.1e-5, "DARTS's row of table 5"
    assert (frame.loc["all skip"]["architecture"] == ALL_SKIP).all()
    assert frame.loc["ResNet"]["difference"].abs().max() < 0.0061, "print has other seeds"


def test_table_6_uses_pearsons_coefficient(table, gathered):
    frame = schedule_correlation(table).set_index(["epochs", "dataset", "split"])
    first = frame.loc[12]
    expected = pearsonr(gathered["c10_valid_e12"], gathered["in16_test_e200"]).statistic
    assert first.loc[("ImageNet16-120", "test"), "pearson"] == pytest.approx(expected, abs=1e-6)
    whole = frame[frame["n"] == N]
    assert (whole["pearson"] - whole["published"]).abs().max() < 0.004
    assert (whole.loc[12]["spearman"] - whole.loc[12]["published"]).abs().min() > 0.07
    assert frame.loc[(200, "cifar10", "test"), "spearman"] == pytest.approx(0.984, abs=5e-4)
    assert [6, 12] in frame.attrs["lacking"]
    assert any("learning curves" in note for note in frame.attrs["notes"])


def test_correlations_of_the_best_count_only_known_values(table, gathered, incomplete):
    frame = correlation_matrix(table).set_index(["share", "a", "b"])
    test, other = (np.round(gathered[f"{short}_test_e200"], 4) for short in ("c10", "in16"))  # ties differ by 1e-8
    for share, count in ((1.0, N), (0.2, 3125), (0.05, 781), (0.01, 156)):
        best = np.argsort(-test, kind="stable")[:count]
        row = frame.loc[(share, "CIFAR-10 test", "ImageNet16-120 test")]
        assert row["n"] == row["architectures"] == count
        assert row["spearman"] == pytest.approx(spearmanr(test[best], other[best]).statistic, abs=1e-4)
        assert row["kendall"] == pytest.approx(kendalltau(test[best], other[best]).statistic, abs=1e-4)
    assert len(frame.loc[1.0]) == 21
    assert (frame["n"][1.0, "CIFAR-10 test", "CIFAR-100 validation"], frame.attrs["missing"]) == (N, [])
    part = correlation_matrix(incomplete).set_index(["share", "a", "b"])
    assert part["n"][1.0, "CIFAR-10 test", "CIFAR-100 validation"] == 1374
    assert "biased subset" in part.attrs["missing"][0]


def test_resnet_is_compared_with_the_best(table, gathered):
    frame = accuracy_by_cost(table)
    [star] = [row for row in frame.attrs["compared"] if row["dataset"] == "cifar100"]
    params, accuracy = gathered["params_M_c100"], gathered["c100_test_e200"] / 100
    index = table.row_of(RESNET)
    equal = accuracy[np.isclose(params, params[index])].max()
    assert (star["accuracy"], star["best_of_equal_cost"]) == pytest.approx((accuracy[index], equal), abs=1e-6)
    assert star["best"] == pytest.approx(0.735133, abs=1e-6)
    counts = frame.groupby(["dataset", "split"])["n"].first()
    assert counts["cifar10"].to_dict() == {"train": N, "validation": N, "test": N}
    assert counts["cifar100"].to_dict() == {"validation": N, "test": N}
    assert frame.attrs["missing"][0].startswith("not in this table: CIFAR-100 train")


def test_latency_fronts_have_the_architectures_that_none_dominates(table):
    frame = latency_fronts(table)
    assert frame["cost"].unique().tolist() == list(LATENCIES)
    assert sorted(frame["dataset"].unique()) == ["cifar10", "cifar100"]
    errors = 1 - table.measured("test_accuracy", 200, "cifar10")[:, 0]
    for metric in ("latency_pixel2", "latency_titan_rtx_256", "latency_fpga"):
        part = frame[(frame["dataset"] == "cifar10") & (frame["cost"] == metric)]
        front, latency = part["index"].to_numpy(), table.values(metric, dataset="cifar10")[:, 0]
        assert (errors[front] == part["error"]).all() and (latency[front] == part["value"]).all()
        at_most = (latency[:, None] <= latency[front]) & (errors[:, None] <= errors[front])
        equal = (latency[:, None] == latency[front]) & (errors[:, None] == errors[front])
        assert (at_most == equal).all(), "an architecture dominates one on the front"
        assert ((latency[front] <= latency[:, None]) & (errors[front] <= errors[:, None])).any(axis=1).all()
    found = frame.attrs["correlations"]
    flops = table.values("flops", dataset="cifar10")[:, 0]
    expected = spearmanr(table.values("latency_gold_6226", dataset="cifar10")[:, 0], flops).statistic
    assert found["latency_gold_6226"] == pytest.approx(expected, abs=1e-9)
    panels = latency_panels(frame)
    assert (len(panels), panels[0].title, panels[-1].title) == (17, "GeForce GTX 1080 Ti", "FPGA (modelled)")
    looks = {(mark.label, mark.color) for of in panels for mark in of.marks if isinstance(mark, Series)}
    assert len(looks) == len({label for label, _ in looks}) == len({color for _, color in looks}) == 4
    assert not missing(" ".join(frame.attrs["notes"]), "Eyeriss and FPGA", "Pixel 3", "Raspberry Pi 4")
    assert frame.attrs["predicted"] is False


def test_a_table_without_latencies_is_refused(table):
    kept = {name: values for name, values in table.columns().items() if "latency" not in name}
    entries = {name: entry for name, entry in table.description["columns"].items() if name in kept}
    plain = Table.from_columns(kept, {**table.description, "name": "plain", "columns": entries})
    with refuses(OutOfDomainError, plain.id, "latencies", "nb201"):
        latency_fronts(plain)
    assert "latency" not in pareto_fronts(plain)["cost"].unique()


# Properties --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fronts(table) -> pandas.DataFrame:
    return pareto_fronts(table)


@pytest.mark.parametrize("cost", ["trainable_parameters", "flops"])
@pytest.mark.parametrize("dataset", list(SHORT_NAMES))
def test_no_architecture_dominates_one_on_the_front_and_all_others_are_dominated(fronts, gathered, dataset, cost):
    short = SHORT_NAMES[dataset]
    n1, n3 = ((gathered["ops"] == operation).sum(axis=1) for operation in (2, 3))
    # the source includes FLOPs of batch-norm and pooling; the official files do not
    costs = np.round(gathered[f"params_M_{short}"], 6) if cost == "trainable_parameters" else n1 + 9 * n3
    errors = np.round(100 - gathered[f"{short}_test_e200"], 4)
    part = fronts[(fronts["dataset"] == dataset) & (fronts["cost"] == cost)]
    assert part["n"].sum() == part["of"].iloc[0] == N
    front = part.loc[part["on_front"], "index"].to_numpy()
    by_cost = costs[:, None] <= costs[front]
    dominates = by_cost & (errors[:, None] <= errors[front])
    strictly = (costs[:, None] < costs[front]) | (errors[:, None] < errors[front])
    assert not (dominates & strictly).any()
    covered = (costs[front] <= costs[:, None]) & (errors[front] <= errors[:, None])
    assert covered.any(axis=1).all(), "the front is complete"


def test_one_architecture_for_each_topology(table):
    frame = dataset_ranks(table, kind="unique")
    assert len(frame) == 2 * 6466
    assert frame["y_rank"].max() <= 6466
    assert "kind unique" in frame.attrs["notes"][0]


# Figures and refusals ----------------------------------------------------------------------------------------------


def test_every_figure_states_its_table_counts_and_missing_values(table, incomplete):
    frame = accuracy_by_cost(incomplete, cost="flops")
    axes = nb.draw_statistics("accuracy-by-flops", frame)
    empty = accuracy_panels(frame)[3]
    assert (empty.title, empty.marks) == ("CIFAR-100, train: n = 0", [])
    assert len(axes[3].texts) == 1
    assert not missing(axes[0].figure.caption, incomplete.id, "15,625 of 15,625", "1,374 of 15,625")
    analysis = ANALYSES["known-cells"]
    figure = analysis.draw(analysis.ask(table)).figure
    assert len(figure.axes) == 3
    assert table.id in figure.get_supxlabel()


@pytest.mark.parametrize("name", list(ANALYSES))
def test_tables_of_the_other_benchmark_are_refused(name):
    with refuses(InvalidInputError, load_table("nb101-sample").id, "NAS-Bench-201"):
        ANALYSES[name].ask(load_table("nb101-sample"))


@pytest.mark.parametrize("name", list(ANALYSES))
def test_analyses_without_values_are_refused_in_one_sentence(name, without_tests):
    with refuses(OutOfDomainError, without_tests.id):
        ANALYSES[name].ask(without_tests)


@pytest.mark.parametrize("number", [1, 2])
def test_schedules_of_fewer_than_three_architectures_are_refused(table, number):
    strings, accuracy = table.hashes(range(number)), np.linspace(0.5, 0.6, number)
    frame = pandas.DataFrame({"architecture": strings, "epochs": 200, "validation_accuracy": accuracy})
    few = nb.table_from_frame(frame, space=nb.search_space("nb201"), reference="present", dataset="cifar10")
    with refuses(OutOfDomainError, few.id, "fewer than three", options=""):
        schedule_correlation(few)


def test_wrong_arguments_are_refused(table):
    with refuses(InvalidInputError, "shares"):
        correlation_matrix(table, shares=(0.0,))
    with pytest.raises(InvalidInputError, match="kind"):
        Measurements(table, "both")
    assert Measurements(table).place(nb.search_space("nb201")[6111].official) == 6111


def own_table(accuracies: np.ndarray, datasets: tuple[str, ...]) -> Table:
    """A table of the first N architectures with equal accuracies, shape (N,), on all data sets and at both budgets."""
    strings = load_table("nb201").hashes(range(len(accuracies)))
    parts = [
        pandas.DataFrame({"architecture": strings, "epochs": epochs, "dataset": dataset, "test_accuracy": accuracies})
        for epochs in (12, 200)
        for dataset in datasets
    ]
    frame = pandas.concat(parts)
    frame["validation_accuracy"] = np.where(frame["epochs"] == 12, accuracies[0], frame["test_accuracy"])
    frame.loc[frame["epochs"] == 12, "validation_accuracy"] = np.tile(accuracies[::-1], len(datasets))
    return nb.table_from_frame(frame, space=nb.search_space("nb201"), reference="present")


def test_data_sets_without_printed_values_have_none_in_figures_and_headlines():
    own = own_table(np.linspace(0.5, 0.8, 10), ("cifar10", "mnist"))
    frame = known_cells(own)
    optimal, *others = known_cells_panels(frame)
    assert [(mark.label, mark.texts) for mark in optimal.marks] == [
        ("this table", ["80.00"] * 4),
        ("printed in table 5", ["91.61", "94.37"]),
    ]
    assert [panel.marks for panel in others] == [[], []], "so that they say: not in this table"
    assert ANALYSES["known-cells"].draw(frame)[1].texts[0].get_text() == "not in this table"
    headlines = {name: ANALYSES[name].headline(ANALYSES[name].run(own)) for name in OWN}
    assert headlines["known-cells"].endswith("CIFAR-10 test 80.00 (94.37), mnist validation 80.00, mnist test 80.00")
    assert headlines["schedule-correlation"].endswith("mnist validation -1.000, mnist test -1.000")
    assert headlines["correlation-matrix"] == "the table does not have test accuracies of both CIFAR-10 and CIFAR-100"


def test_low_coefficients_of_schedules_are_within_the_axes():
    for panel in schedule_panels(schedule_correlation(own_table(np.linspace(0.5, 0.8, 10), ("cifar10",)))):
        assert panel.y.low == pytest.approx(-1.03) and panel.y.high == 1.03
    assert {panel.y.low for panel in schedule_panels(schedule_correlation(load_table("nb201")))} == {0.4}


def test_equal_accuracies_have_dashes_instead_of_correlations():
    own = own_table(np.full(10, 0.8), ("cifar10", "cifar100"))
    for name in ("dataset-ranks", *OWN):
        frame = ANALYSES[name].run(own)
        figure = ANALYSES[name].draw(frame)[0].figure
        shown = [ANALYSES[name].headline(frame), *(text.get_text() for text in figure.findobj(Text))]
        assert not any("nan" in text for text in shown)


def test_accuracy_by_cost_leaves_out_architectures_without_a_cost():
    strings = load_table("nb201").hashes(range(6))
    frame = pandas.DataFrame({"architecture": strings, "epochs": 200, "test_accuracy": np.linspace(0.1, 0.6, 6)})
    frame["trainable_parameters"] = [5, 4, np.nan, 3, 2, np.nan]
    space = nb.search_space("nb201")
    own = nb.table_from_frame(frame, space=space, reference="present", dataset="mine")
    found = accuracy_by_cost(own, splits=("test",))
    assert found["index"].tolist() == [0, 1, 3, 4] and found["trainable_parameters"].tolist() == [5, 4, 3, 2]
    assert set(found["n"]) == {4} and found.attrs["correlations"] == [{"dataset": "mine", "spearman": -1, "n": 4}]
    panels = accuracy_panels(found)
    assert [panel.title for panel in panels] == ["mine, test: n = 4"] * 2, "by index and by parameters"
    without = nb.table_from_frame(frame.drop(columns="trainable_parameters"), space=space, reference="present")
    with refuses(OutOfDomainError, without.id, "parameters", options=""):
        accuracy_by_cost(without)
