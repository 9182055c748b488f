"""Each analysis on the real sample, on tables with known answers, and on invalid input."""

import pickle

import networkx
import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from refusals import refuses
from scipy.stats import kendalltau, spearmanr
from space_statistics_tables import (
    all_cells,
    operation_counts,
    retrained_table,
    small_table,
    synthetic_table,
)

import nasbench1shot1 as nb
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.style import COLUMN_WIDTH
from nasbench1shot1.experiments.rank_correlation import kendall, spearman
from nasbench1shot1.experiments.space_statistics.budget_correlation import budget_correlation
from nasbench1shot1.experiments.space_statistics.cost import cost
from nasbench1shot1.experiments.space_statistics.depth_and_width import depth_and_width, depths_and_widths
from nasbench1shot1.experiments.space_statistics.distributions import (
    accuracy_distribution,
    error_distribution,
    noise_distribution,
)
from nasbench1shot1.experiments.space_statistics.locality import autocorrelation, cell_distances, fitness_distance
from nasbench1shot1.experiments.space_statistics.mini_against_full import expected_minimum, mini_against_full
from nasbench1shot1.experiments.space_statistics.nasbench101 import ANALYSES
from nasbench1shot1.experiments.space_statistics.operation_replacement import operation_replacement
from nasbench1shot1.experiments.space_statistics.top_cells import (
    copies_panels,
    isomorphic_copies,
    top_rows,
    top_volume,
)
from nasbench1shot1.experiments.space_statistics.values import caption, known_values
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import OPERATIONS, VERTEX_BIT
from nasbench1shot1.tables.table import Table, load_table

CONV3, CONV1, POOL = OPERATIONS
NB101_MINI = nb.search_space("nb101-mini")


@pytest.fixture(scope="module")
def sample() -> Table:
    return load_table("nb101-sample")


@pytest.fixture(scope="module")
def retrained() -> Table:
    return retrained_table()


def options(split: str | None, predicted: bool = False) -> dict:
    return {"split": split, "predicted": predicted}


# The real sample --------------------------------------------------------------------------------------------------


def test_correlations_of_budgets_in_the_real_sample_agree_with_published_ones(sample):
    frame = budget_correlation(sample).set_index(["epochs", "and_epochs"])
    found = [frame["spearman"][epochs, 108] for epochs in (4, 12, 36)]
    assert found == pytest.approx([0.4535, 0.6201, 0.8797], abs=5e-5)
    assert [frame["kendall"][epochs, 108] for epochs in (4, 12, 36)] == pytest.approx([0.310, 0.441, 0.696], abs=5e-4)
    assert (frame["cells"] == 27_001).all()
    best = budget_correlation(sample, best=0.1).set_index(["epochs", "and_epochs"])
    assert best["cells"].iloc[0] == pytest.approx(2700, abs=30)
    assert best["spearman"][36, 108] < 0.5


def test_time_parameters_and_accuracy_correlate_in_the_real_sample(sample):
    frame = cost(sample)
    assert len(frame) == 27_001
    assert frame.attrs["spearman"]["training_time, trainable_parameters"] == pytest.approx(0.871, abs=5e-4)
    assert all(value > 0.3 for value in frame.attrs["spearman"].values())
    assert all(value > 0.1 for value in frame.attrs["pearson"].values())
    assert frame["training_time"].idxmax() != frame["accuracy"].idxmax()


def test_replacements_in_the_real_sample_are_close_to_the_printed_times(sample):
    """NAS-Bench-101, section 4: -14.11 %, -9.84 % and +5.04 % of time; -1.16, -1.99 and -0.81 points of accuracy."""
    frame = operation_replacement(sample).set_index(["replaced", "by"])
    pairs = [(CONV3, CONV1), (CONV3, POOL), (CONV1, POOL)]
    assert [frame["time_change"][pair] for pair in pairs] == pytest.approx([-0.1405, -0.0988, 0.0491], abs=5e-5)
    assert [frame["accuracy_change"][pair] for pair in pairs] == pytest.approx([-0.01098, -0.01465, -0.00232], abs=5e-6)
    assert frame["accuracy_error"].max() < 0.001
    assert frame["replacements"].between(2600, 2800).all()


def test_cells_of_depth_3_and_width_5_are_best_in_the_real_sample(sample):
    frame = depth_and_width(sample)
    depth, width = (frame[frame["measure"] == name].set_index("value") for name in ("depth", "width"))
    assert (depth["accuracy"].idxmax(), width["accuracy"].idxmax()) == (3, 5)
    assert list(depth.index) == [1, 2, 3, 4, 5, 6]
    assert list(width.index) == [1, 2, 3, 4, 5]
    assert depth["cells"].sum() == width["cells"].sum() == 27_001
    assert (depth["training_time"].diff().dropna() > 0).all()
    assert width["training_time"].idxmax() == 1


def test_distributions_of_the_real_sample_are_as_known(sample):
    frame = accuracy_distribution(sample)
    assert frame.attrs["medians"] == {"validation": pytest.approx(0.9162, abs=5e-5)}
    assert frame.attrs["lacking"] == ["train", "test"]
    assert frame.attrs["notes"] == ["the table has no measured train or test accuracy at 108 epochs"]
    assert frame["share"].iloc[-1] == 1
    values = np.sort(sample.measured("validation_accuracy")[:, 0])
    for row in frame.iloc[::200].itertuples():
        assert row.share == np.searchsorted(values, row.accuracy, "right") / len(values)


def test_good_cells_of_the_real_sample_are_close_to_the_best(sample):
    frame = fitness_distance(sample, "validation")
    assert frame["cells"].sum() == 27_001
    assert frame.attrs["spearman"] == pytest.approx(-0.30, abs=0.005)
    assert (frame["median"].iloc[:12].diff().dropna() < 0.001).all()


# Tables with known answers ----------------------------------------------------------------------------------------


def test_noise_is_the_standard_deviation_over_repeats(retrained):
    frame = noise_distribution(retrained)
    for epochs in retrained.epochs:
        noise = np.sort(retrained.measured("test_accuracy", epochs).std(axis=1, ddof=1))
        part = frame[frame["epochs"] == epochs]
        assert part["noise"].tolist() == np.unique(noise).tolist()
        assert part["share"].iloc[-1] == 1
        assert frame.attrs["medians"][epochs] == np.median(noise)
    medians = list(frame.attrs["medians"].values())
    assert medians == sorted(medians, reverse=True), "noise decreases with longer training"


def test_all_splits_of_the_retrained_cells_exist(retrained):
    frame = accuracy_distribution(retrained, epochs=36)
    assert list(frame.attrs["medians"]) == ["train", "validation", "test"]
    assert frame.attrs["lacking"] == []


def additive(codes: np.ndarray) -> np.ndarray:
    return operation_counts(codes) @ np.array([0.05, 0.03, 0.01]) + 0.5


def multiplicative(codes: np.ndarray) -> np.ndarray:
    return 100 * np.prod(np.array([2.0, 1.5, 1.0]) ** operation_counts(codes), axis=1)


@pytest.mark.parametrize("every", [1, 3])
def test_replacements_are_exact_for_additive_effects_on_complete_and_partial_tables(every):
    codes = all_cells(5)[::every]
    table = synthetic_table(codes, {"validation_accuracy": additive(codes), "training_time": multiplicative(codes)})
    frame = operation_replacement(table).set_index(["replaced", "by"])
    for (old, a), (new, b) in ((x, y) for x in enumerate(OPERATIONS) for y in enumerate(OPERATIONS) if x != y):
        assert frame["accuracy_change"][a, b] == pytest.approx([0.05, 0.03, 0.01][new] - [0.05, 0.03, 0.01][old])
        assert frame["time_change"][a, b] == pytest.approx([2, 1.5, 1][new] / [2, 1.5, 1][old] - 1)
        assert frame["accuracy_error"][a, b] == pytest.approx(0, abs=1e-9)
    if every == 1:
        assert frame["replacements"].tolist() == np.repeat(operation_counts(codes).sum(axis=0), 2).tolist()


def test_replacements_agree_with_lookup_by_hash(retrained):
    known = {retrained.cell(row).hash: row for row in range(len(retrained))}
    accuracy = retrained.measured("validation_accuracy").mean(axis=1)
    changes = []
    for row in range(len(retrained)):
        cell = retrained.cell(row)
        for vertex in (v for v, op in enumerate(cell.ops) if op == CONV3):
            changed = Cell(cell.matrix, [CONV1 if v == vertex else op for v, op in enumerate(cell.ops)])
            changes.append(accuracy[known[changed.hash]] - accuracy[row])
    found = operation_replacement(retrained).iloc[0]
    assert (found["replaced"], found["by"], found["replacements"]) == (CONV3, CONV1, len(changes))
    assert found["accuracy_change"] == pytest.approx(np.mean(changes))
    assert found["accuracy_error"] == pytest.approx(np.std(changes, ddof=1) / np.sqrt(len(changes)))


def width_by_brute_force(graph: "networkx.DiGraph[int]", last: int) -> int:
    graph = graph.copy()
    graph.remove_edges_from([(0, last)])
    inner, widest = range(1, last), 1
    for chosen in range(2 ** (last - 1)):
        source = {0} | {v for v in inner if chosen >> v - 1 & 1}
        if not any(b in source and a not in source for a, b in graph.edges):
            widest = max(widest, sum(a in source and b not in source for a, b in graph.edges))
    return widest


def test_depth_and_width_agree_with_brute_force(sample):
    codes = np.concatenate([all_cells(4), np.asarray(sample.column("cell"))[::150]])
    depths, widths = depths_and_widths(codes)
    for code, depth, width in zip(codes.tolist(), depths.tolist(), widths.tolist(), strict=True):
        graph = Cell.from_encoding(code).to_networkx()
        assert depth == networkx.dag_longest_path_length(graph)
        assert width == width_by_brute_force(graph, len(graph) - 1)


def test_the_full_space_has_depths_1_to_6_and_widths_1_to_5():
    depths, widths = depths_and_widths(all_cells(7))
    assert (sorted(set(depths.tolist())), sorted(set(widths.tolist()))) == ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5])


def test_accuracy_as_a_function_of_depth_is_recovered_exactly():
    table = small_table(
        lambda codes: depths_and_widths(codes)[0] / 10, seconds=lambda codes: depths_and_widths(codes)[1] * 60
    )
    frame = depth_and_width(table)
    depth, width = (frame[frame["measure"] == name] for name in ("depth", "width"))
    assert depth["accuracy"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert width["training_time"].tolist() == pytest.approx([60, 120, 180, 240, 300])
    assert depth["accuracy_error"].fillna(0).tolist() == pytest.approx([0] * 4, abs=1e-12)


def distance_by_brute_force(a: Cell, b: Cell) -> int:
    """Minimum over all matchings of inner vertices; missing vertices are isolated."""
    from itertools import permutations

    best = 99
    sizes = [max(len(a.ops), len(b.ops))] * 2
    matrices, labels = [], []
    for cell, size in zip((a, b), sizes, strict=True):
        order = [*range(len(cell.ops) - 1), size - 1]
        matrix = np.zeros((size, size), int)
        matrix[np.ix_(order, order)] = cell.matrix
        matrices.append(matrix)
        labels.append([*cell.ops[1:-1], *[None] * (size - len(cell.ops))])
    for inner in permutations(range(sizes[0] - 2)):
        order = [0, *(v + 1 for v in inner), sizes[0] - 1]
        edges = int((matrices[0][np.ix_(order, order)] != matrices[1]).sum())
        pairs = zip((labels[0][v] for v in inner), labels[1], strict=True)
        best = min(best, edges + sum(x != y for x, y in pairs if x and y))
    return best


def test_distances_agree_with_brute_force(sample):
    codes = np.concatenate([all_cells(4)[::6], np.asarray(sample.column("cell"))[::5000]])
    cells = [Cell.from_encoding(int(code)) for code in codes]
    table = np.array([cell_distances(codes, int(code)) for code in codes])
    assert (table == table.T).all()
    assert (np.diag(table) == 0).all()
    assert ((table > 0) | np.eye(len(codes), dtype=bool)).all()
    for i, a in enumerate(cells):
        for j in range(i, len(cells), 4):
            assert table[i, j] == distance_by_brute_force(a, cells[j])


def test_distance_does_not_depend_on_numbering():
    ops = ["input", CONV3, POOL, "output"]
    one = Cell([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], ops)
    other = Cell([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], ["input", POOL, CONV3, "output"])
    assert cell_distances(np.array([other.encoding], np.uint64), one.encoding).tolist() == [0]


def test_accuracy_that_falls_with_distance_has_correlation_minus_one():
    codes = all_cells(5)
    distance = cell_distances(codes, int(codes[1234]))
    table = synthetic_table(codes, {"test_accuracy": 0.9 - distance / 100})
    frame = fitness_distance(table)
    assert frame.attrs["best"] == table.hashes(1234)[0]
    assert frame.attrs["pearson"] == pytest.approx(-1)
    assert frame["accuracy"].tolist() == pytest.approx((0.9 - frame["distance"] / 100).tolist())
    assert frame["cells"].tolist() == np.bincount(distance).tolist()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40))
def test_rank_correlations_agree_with_scipy(pairs):
    a, b = np.array(pairs, float).T
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert kendall(a, b) == pytest.approx(kendalltau(a, b).statistic)
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
    else:
        assert np.isnan([kendall(a, b), spearman(a, b)]).all()


def test_rank_correlations_of_two_values_are_one_or_minus_one():
    a, b = np.array([0.1, 0.2]), np.array([3.0, 4.0])
    for function in (kendall, spearman):
        assert (function(a, b), function(a, b[::-1])) == pytest.approx((1, -1))
        assert np.isnan(function(a, np.ones(2)))


def test_neighbours_of_a_cell_are_marked(retrained):
    cell = retrained.cell(40)
    frame = cost(retrained, cell).set_index("hash")
    assert frame["distance"][cell.hash] == 0
    assert (frame["distance"] == 1).sum() > 3
    assert cost(retrained)["distance"].isna().all()
    assert "notes" not in cost(retrained, cell).attrs
    shown = nb.draw_statistics("cost", cost(retrained, cell)).figure.legends[0].get_texts()
    assert [text.get_text().split(" (")[0] for text in shown] == [
        "most accurate",
        "one edit from the given cell",
        "the given cell",
        "ResNet-like cell",
    ]


@pytest.fixture(scope="module")
def constant() -> Table:
    """Some cells with equal accuracies in all repeats at two budgets."""
    drawn = [NB101_MINI.sample(np.random.default_rng(seed)) for seed in range(50)]
    names = [str(arch) for arch in {arch.network_id: arch for arch in drawn}.values()]
    trainings = [(name, epochs, repeat) for name in names for epochs in (4, 108) for repeat in range(3)]
    frame = pandas.DataFrame(trainings, columns=["architecture", "epochs", "repeat"])
    frame[["validation_accuracy", "test_accuracy", "training_time"]] = 0.8, 0.8, 100.0
    frame["trainable_parameters"] = frame["architecture"].map({name: number for number, name in enumerate(names)})
    return nb.table_from_frame(frame, space=NB101_MINI, reference="present", dataset="cifar10")


@pytest.mark.parametrize("name", ["accuracy-distribution", "error-distribution", "noise-distribution"])
def test_distributions_of_equal_values_rise_from_0_to_1(constant, name):
    frame = ANALYSES[name].run(constant)
    axes = ANALYSES[name].draw(frame)[0]
    value = {"accuracy-distribution": 80, "error-distribution": 20, "noise-distribution": 0}[name]
    assert len(axes.lines) > 1
    for line in axes.lines:
        assert line.get_xdata() == pytest.approx(value) and (line.get_ydata()[0], line.get_ydata()[-1]) == (0, 1)
    low, high = axes.get_xlim()
    assert low < value < high and (axes.get_xscale() == "log") == (name == "error-distribution")


@pytest.mark.parametrize("name", ["budget-correlation", "mini-against-full", "fitness-distance", "cost"])
def test_undefined_correlations_are_dashes(constant, name):
    frame = ANALYSES[name].run(constant, split="validation")
    figure = ANALYSES[name].draw(frame)[0].figure
    shown = [ANALYSES[name].headline(frame), texts(figure), *(text.get_text() for text in figure.findobj(Text))]
    assert not any("nan" in text for text in shown)
    assert name == "mini-against-full" or any("–" in text for text in shown)


def test_the_axis_of_accuracies_reaches_to_marked_networks(sample):
    worst = int(np.nanargmin(sample.values("validation_accuracy", 108).mean(axis=1)))
    axes = nb.draw_statistics("accuracy-distribution", sample, mark=[("worst", sample.hashes(worst)[0])])
    [line] = [line for line in axes.lines if line.get_label().startswith("worst")]
    assert axes.get_xlim()[0] < line.get_xdata()[0] < 20
    assert nb.draw_statistics("accuracy-distribution", sample).get_xlim()[0] > 80


def test_a_single_cell_and_a_single_encoding_are_in_the_singular():
    codes = all_cells(3)
    table = synthetic_table(codes, {"test_accuracy": np.arange(len(codes)) / 10})
    frame = isomorphic_copies(table, top=1)
    (panel,) = copies_panels(frame)
    assert panel.title == "Isomorphic copies: 1 encoding of 1 top cell"
    assert frame.attrs["notes"][0].startswith("the 1 best cell: 1 of ")
    near = top_volume(table, np.random.default_rng(0), top=1)
    assert near.attrs["notes"][0].startswith("the 1 best cell, 1 encoding in all; ")
    assert ANALYSES["top-volume"].headline(near).endswith(" edits of 1 cell")


def test_marked_networks_of_distributions_are_vertical_lines_at_their_values():
    table, mark = load_table(), ["ResNet-like cell", "Inception-like cell"]
    for name, accuracy in (("accuracy-distribution", True), ("error-distribution", False)):
        axes = nb.draw_statistics(name, table, predicted=True, mark=mark)
        label = f"ResNet-like cell ({93.18 if accuracy else 6.82} %, measured)"
        [line] = [line for line in axes.get_lines() if line.get_label() == label]
        assert line.get_xdata()[0] == pytest.approx(93.182 if accuracy else 6.818, abs=1e-3)
        assert "so not marked: Inception-like cell." in axes.figure.get_supxlabel()
        assert not any("ResNet" in line.get_label() for line in nb.draw_statistics(name, table, predicted=True).lines)
    frame = cost(table, predicted=True)
    assert frame.attrs["marks"][0]["source"] == "predicted, shrunk toward a measurement", "on validation"
    with refuses(nb.InvalidInputError, "mark"):
        nb.draw_statistics("depth-and-width", table, mark=mark)


# Spaces -----------------------------------------------------------------------------------------------------------


def test_every_architecture_of_the_spaces_is_counted_once():
    frame = error_distribution(load_table(), predicted=True)
    counts = frame.groupby("space")[["loose_ends", "no_loose_ends"]].sum()
    assert counts["loose_ends"].to_dict() == {"s1": 14_580, "s2": 29_160, "s3": 1_312_200}
    assert counts["no_loose_ends"].to_dict() == {"s1": 3702, "s2": 12_474, "s3": 135_900}
    assert frame["space"].value_counts().to_dict() == {"s1": 2685, "s2": 7773, "s3": 55_854}
    assert frame.attrs["distinct_cells"] == 66_111
    table, space = load_table(), nb.search_space("s1")
    errors = 1 - np.asarray(table.query([*space.architectures("no_loose_ends")]).test_accuracy)
    of_s1 = frame[frame["space"] == "s1"]
    assert np.sort(errors) == pytest.approx(np.sort(np.repeat(of_s1["error"], of_s1["no_loose_ends"])))
    for arch in (space.sample(np.random.default_rng(seed)) for seed in range(5)):
        row = of_s1[of_s1["hash"] == arch.cell.hash].iloc[0]
        assert row["error"] == pytest.approx(1 - table.query(arch).test_accuracy)
        assert row["loose_ends"] >= row["no_loose_ends"] >= 1


def test_errors_of_the_spaces_in_the_real_sample(sample):
    frame = error_distribution(sample, split="validation")
    assert frame.attrs["distinct_cells"] == 4270, "as many as the embedded table has measurements"
    assert frame["space"].value_counts().to_dict() == {"s1": 173, "s2": 515, "s3": 3596}, "14 of them in s1 and s3"
    assert frame.attrs["sizes"]["s1"] == {"loose_ends": 14_580, "no_loose_ends": 3702}
    with refuses(OutOfDomainError, 0, "s1", "test"):
        error_distribution(
            synthetic_table(np.array([sample.cell(2).encoding], np.uint64), {"test_accuracy": np.ones(1)}), ["s1"]
        )


# Measured or predicted --------------------------------------------------------------------------------------------


def test_captions_count_measurements_among_the_rows_that_they_are_about():
    """Of the 66,111 rows of the bundled table, 4,361 validation accuracies are based on a measurement."""
    table = load_table()
    best = budget_correlation(table, best=0.01, predicted=True).attrs
    values = known_values(table, "validation_accuracy", predicted=True)
    order = np.argsort(-values.mean, kind="stable")[: best["rows"]]
    assert best["rows"] == 662 and best["measured_rows"] == values.measured[order].sum() < 662
    assert f"; {best['measured_rows']:,} of them based on a measurement" in caption(best)
    of_s1 = error_distribution(table, ["s1"], split="validation", predicted=True).attrs
    measured = table.query(table.hashes(table.members("s1"))).is_measured("validation_accuracy")
    assert (of_s1["rows"], of_s1["measured_rows"]) == (2685, measured.sum())


def texts(figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))).replace(
        "\n", " "
    )


@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in ("noise-distribution", "autocorrelation")])
def test_every_analysis_of_the_embedded_table_uses_measurements_or_is_marked_predicted(name, tmp_path):
    table, analysis = load_table(), ANALYSES[name]
    measured = analysis.run(table, **options("validation"))
    assert not measured.attrs["predicted"]
    rows = {"accuracy-distribution": 3001, "cost": 4270, "budget-correlation": 4270, "mini-against-full": 4270}
    known = rows.get(name, 4361)
    assert measured.attrs["rows"] == known  # cells with a test accuracy, a training time, all budgets, 108 epochs
    assert measured.attrs["rows"] + measured.attrs["dropped"] == len(table)
    said = texts(analysis.draw(measured).figure)
    assert f"measured: {known:,} of 66,111 rows" in said
    assert table.id in said
    assert "PREDICTED" not in said
    estimated = analysis.run(table, **options(analysis.split or "test", predicted=True))
    assert estimated.attrs["predicted"]
    assert estimated.attrs["rows"] == 66_111
    figure = analysis.draw(estimated).figure
    said = texts(figure)
    assert "PREDICTED, not measured: 66,111 of 66,111 rows" in said
    assert said.count("(PREDICTED)") == len(analysis.panels(estimated))
    save_figure(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 15_000


@pytest.mark.parametrize("name", [name for name in ANALYSES if ANALYSES[name].split is not None])
def test_no_prediction_is_presented_as_a_measurement(name):
    """Without `predicted`, only the 3,001 measured test accuracies of the bundled table count."""
    if name in ("noise-distribution", "budget-correlation", "autocorrelation"):
        with refuses(OutOfDomainError, load_table().id):
            ANALYSES[name].run(load_table(), **options("test"))
    else:
        frame = ANALYSES[name].run(load_table(), **options("test"))
        assert 0 < frame.attrs["rows"] <= 3_001 and not frame.attrs["predicted"]


def test_a_measured_table_stays_measured_when_predictions_are_allowed(retrained):
    for name, analysis in ANALYSES.items():
        frame = analysis.run(retrained, **options(analysis.split, predicted=True))
        assert not frame.attrs["predicted"], name
        assert frame.attrs["rows"] == (69 if name == "error-distribution" else 91)  # 22 cells are in none of the spaces


def test_rows_without_a_value_are_dropped_and_counted(retrained):
    codes = np.asarray(retrained.column("cell"))
    accuracy, seconds = (retrained.measured(name) for name in ("validation_accuracy", "training_time"))
    accuracy, seconds = accuracy.copy(), seconds.copy()
    accuracy[3], accuracy[7, 1], seconds[5] = np.nan, np.nan, np.nan  # one repeat of row 7 is enough
    table = synthetic_table(codes, {"validation_accuracy": accuracy, "training_time": seconds})
    assert [cost(table).attrs[name] for name in ("rows", "dropped")] == [89, 2]
    assert [depth_and_width(table).attrs[name] for name in ("rows", "dropped")] == [90, 1]
    assert fitness_distance(table, "validation")["cells"].sum() == 90
    assert accuracy_distribution(table).attrs["dropped"] == 1
    kept = np.delete(np.arange(91), 3)
    degree = int((retrained.cell(3).matrix.shape[0] - 2) * 2)
    lost = operation_replacement(retrained)["replacements"].sum() - operation_replacement(table)["replacements"].sum()
    assert lost == 2 * degree, "all replacements from and to the removed row"
    found = accuracy_distribution(table)["accuracy"].to_numpy()
    assert found == pytest.approx(np.unique(np.nanmean(accuracy[kept], axis=1)), abs=1e-12)


def test_means_are_over_the_repeats_that_each_cell_has(retrained):
    codes, accuracy = np.asarray(retrained.column("cell")), retrained.measured("test_accuracy").copy()
    repeats = accuracy.shape[1]
    accuracy[10:, 1:] = np.nan
    table = synthetic_table(codes, {"test_accuracy": accuracy})
    values = known_values(table, "test_accuracy")
    wanted = [table.query(table.hashes(row)[0]).test_accuracy for row in range(len(codes))]
    assert values.rows.tolist() == list(range(len(codes))) and values.mean == pytest.approx(wanted, abs=1e-12)
    noise = noise_distribution(table)
    assert noise.attrs["rows"] == 10 and noise.attrs["dropped"] == len(codes) - 10
    assert noise.attrs["quantity"].startswith(f"{repeats} repeats of test accuracy")
    assert noise.attrs["medians"][108] == pytest.approx(np.median(accuracy[:10].std(axis=1, ddof=1)))
    best = int(np.argmax(values.mean))
    rows, words = top_rows(values, None)
    assert rows[0] == best and ("repeats" in words) == (best < 10)


def test_times_may_be_missing():
    table = small_table(additive)
    frame = operation_replacement(table)
    assert frame["time_change"].isna().all()
    assert (frame["timed"] == 0).all()
    assert depth_and_width(table)["training_time"].isna().all()
    for name in ("operation-replacement", "depth-and-width"):
        frame = ANALYSES[name].run(table, **options("validation"))
        ANALYSES[name].draw(frame).figure.draw_without_rendering()
        assert "nan" not in ANALYSES[name].headline(frame)
    with refuses(OutOfDomainError, table.id, 108):
        cost(table)


def test_refusals_are_single_sentences(sample, retrained):
    with refuses(OutOfDomainError, sample.id, "repeat"):
        noise_distribution(sample, "validation")
    with refuses(OutOfDomainError, sample.id, 7):
        depth_and_width(sample, epochs=7)
    with refuses(InvalidInputError, "tset", "test"):
        fitness_distance(sample, "tset")
    with refuses(InvalidInputError, "best", 0):
        budget_correlation(sample, best=0)
    with refuses(OutOfDomainError, 1, 2, "budgets"):
        budget_correlation(small_table(additive))
    with refuses(OutOfDomainError, "two"):
        operation_replacement(synthetic_table(all_cells(2), {"validation_accuracy": np.ones(1)}))
    with refuses(OutOfDomainError, 3, 4, "cells"):
        fitness_distance(synthetic_table(all_cells(3)[:3], {"test_accuracy": np.arange(3) / 3}))
    with refuses(InvalidInputError, "s9"):
        error_distribution(retrained, ["s9"])
    with refuses(OutOfDomainError, 108, "measured"):
        fitness_distance(small_table(additive, split="train"))
    with refuses(InvalidInputError, "steps", 0):
        autocorrelation(retrained, np.random.default_rng(0), steps=0)


def test_every_picture_of_a_complete_measured_table_is_drawn(retrained, tmp_path):
    for name, analysis in ANALYSES.items():
        frame = analysis.run(retrained, **options(analysis.split))
        figure = analysis.draw(frame).figure
        assert "of 91 rows of table ecnas-4v" in texts(figure), name
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes[: len(analysis.panels(frame))]), name
        save_figure(figure, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 15_000
        assert analysis.headline(frame)


def test_a_panel_draws_on_given_axes(retrained):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert nb.draw_statistics("fitness-distance", fitness_distance(retrained), axes) is axes


def test_a_drawing_takes_the_options_of_its_analysis(retrained):
    axes = nb.draw_statistics("accuracy-distribution", retrained, labels=["A", "B", "C"], style="paper")
    assert [text.get_text().split(",")[0] for text in axes.figure.legends[0].get_texts()] == ["A", "B", "C"]
    assert (axes.figure.get_figwidth(), axes.figure.get_supxlabel()) == (COLUMN_WIDTH, "")
    walks = [nb.draw_statistics("autocorrelation", retrained, seed=seed).lines[0].get_ydata() for seed in (0, 0, 1)]
    assert np.array_equal(walks[0], walks[1]) and not np.array_equal(walks[0], walks[2])
    assert len(nb.draw_statistics("operation-replacement", retrained)) == 2
    for wrong, field in (
        (("accuracy-distribution", retrained, {"split": "test"}), "split"),
        (("cost", cost(retrained), {"predicted": True}), "predicted"),
        (("known-cells", retrained, {}), "known-cells"),
        (("accuracy-distributions", cost(retrained), {}), "accuracy-distribution"),
        (("depth-and-width", retrained, {"colors": {"speed": "red"}}), "speed"),
    ):
        name, data, options = wrong
        with pytest.raises(InvalidInputError, match=field):
            nb.draw_statistics(name, data, **options)


@pytest.fixture(scope="module")
def on_two_data_sets(retrained):
    cifar10 = retrained.to_frame()
    birds = cifar10.assign(dataset="birds", train_accuracy=np.nan)
    for metric in ("validation_accuracy", "test_accuracy"):
        birds[metric] **= 2
    frame = pandas.concat([cifar10, birds], ignore_index=True)
    frame.attrs = {}
    return nb.table_from_frame(frame, space=nb.search_space("nb101"), reference="present")


@pytest.mark.parametrize("name", sorted(ANALYSES))
def test_an_analysis_of_one_of_two_data_sets_is_that_of_its_table(name, retrained, on_two_data_sets):
    found, alone = ANALYSES[name].run(on_two_data_sets, dataset="cifar10"), ANALYSES[name].run(retrained)
    pandas.testing.assert_frame_equal(found, alone)
    assert found.attrs["quantity"] == f"{alone.attrs['quantity']} on cifar10"
    assert found.attrs["table"] == on_two_data_sets.id
    frame = ANALYSES[name].run(on_two_data_sets, dataset="birds")
    assert not frame.equals(found) or name == "top-volume"
    assert "on birds, measured:" in " ".join(caption(frame.attrs).split())
    with refuses(InvalidInputError, "birds", options="dataset"):
        nb.draw_statistics(name, on_two_data_sets)


def test_a_table_of_one_data_set_keeps_it(on_two_data_sets):
    birds = on_two_data_sets.of_dataset("birds")
    copied = pickle.loads(pickle.dumps(birds))  # noqa: S301
    for table in (birds, copied, copied.covering(nb.search_space("nb101-5v"), present=True)):
        assert (table.id, table.datasets) == (on_two_data_sets.id, ("birds",))
        assert np.array_equal(table.values("test_accuracy"), on_two_data_sets.values("test_accuracy", None, "birds"))
    assert set(on_two_data_sets.datasets) == {"birds", "cifar10"}
    with refuses(InvalidInputError, "bird", "birds"):
        nb.draw_statistics("cost", on_two_data_sets, dataset="bird")


@pytest.mark.parametrize("name", ["cost", "mini-against-full"])
def test_sizes_of_cells_may_be_missing(name, retrained):
    frame = retrained.to_frame().drop(columns="trainable_parameters")
    frame.attrs = {}
    without = nb.table_from_frame(frame, space=nb.search_space("nb101"), reference="present")
    with refuses(OutOfDomainError, without.id):
        nb.draw_statistics(name, without)


def test_a_distance_with_a_single_cell_says_so(retrained):
    axes = nb.draw_statistics("fitness-distance", retrained)
    assert [(text.get_text(), text.xy[0]) for text in axes.texts if text.get_text()] == [("n = 1", 0)]


def test_a_given_cell_that_the_table_lacks_is_mentioned(retrained):
    frame = cost(retrained, nb.search_space("s3")[40_000].cell)  # seven vertices: more than the table's cells have
    assert not (frame["distance"] == 0).any()
    [note] = frame.attrs["notes"]
    assert nb.search_space("s3")[40_000].cell.hash in note
    assert note in nb.draw_statistics("cost", frame).figure.caption


# mini-against-full ----------------------------------------------------------------------------------------------------


def test_the_expected_minimum_is_that_of_repeated_draws():
    values, times = np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.0, 3.0])
    assert expected_minimum(values, np.ones(3), 1) == pytest.approx(values.mean())
    assert expected_minimum(values, times, 2) == pytest.approx(3 * (3 / 4) ** 2)


def test_conclusions_from_small_cells_and_from_all_cells():
    table = load_table("nb101-sample")
    frame = mini_against_full(table)
    own = frame.set_index(["benchmark", "quantity"])
    small = (np.asarray(table.column("cell")) >> np.uint64(VERTEX_BIT)) <= 6
    assert (
        own.loc[("mini", "parameters"), "cells"] == small.sum() < len(table) == own.loc[("full", "parameters"), "cells"]
    )
    accuracies = table.values("validation_accuracy", 108).mean(axis=1)
    parameters = np.asarray(table.column("trainable_parameters"))
    expected = spearmanr(parameters[small], accuracies[small]).statistic
    assert own.loc[("mini", "parameters"), "value"] == pytest.approx(expected)
    drawn = np.random.default_rng(1).choice(accuracies, (2000, 100)).max(axis=1)
    assert own.loc[("full", "100 draws"), "value"] == pytest.approx(accuracies.max() - drawn.mean(), rel=0.05)
    rng, of_small = np.random.default_rng(2), accuracies[small]
    resampled = [rng.choice(of_small, len(of_small)) for _ in range(200)]
    regrets = [again.max() - np.mean(rng.choice(again, (100, 1000)).max(axis=1)) for again in resampled]
    assert own.loc[("mini", "1,000 draws"), "high"] == pytest.approx(np.quantile(regrets, 0.975), rel=0.15)
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all()
    assert not frame.attrs["predicted"] and len(nb.draw_statistics("mini-against-full", frame)) == 2
