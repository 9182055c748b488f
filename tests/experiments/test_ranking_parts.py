"""Parts of a ranking: probabilities, selection, order, options, true values."""

from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from tiny_search import SMALL_SPACE, search

import nasbench1shot1 as nb
from nasbench1shot1.display.charts import draw_panels
from nasbench1shot1.experiments.correlation import expectation
from nasbench1shot1.experiments.correlation.analysis import (
    Predictions,
    correlations,
    log_probabilities,
    logits_of,
    pairings,
)
from nasbench1shot1.experiments.correlation.drawing import (
    by_epoch_caption,
    by_epoch_panel,
    facts_by_budget,
    headline_rows,
    marked_ranks,
    scatter_panel,
    settings_text,
)
from nasbench1shot1.experiments.correlation.evaluation import _block_means, check_preset
from nasbench1shot1.experiments.correlation.expectation import Expectation, timed_architectures
from nasbench1shot1.experiments.correlation.options import chosen_epochs, ranking_options, required_reliability, to_text
from nasbench1shot1.experiments.correlation.record import EpochScores, block_sizes, exact_errors
from nasbench1shot1.experiments.correlation.screen import _duration_text
from nasbench1shot1.experiments.correlation.state import in_sharing_order
from nasbench1shot1.experiments.correlation.truth import (
    Truth,
    headline,
    headline_place,
    place_per_budget,
    true_errors,
    truth_fields,
)
from nasbench1shot1.nasbench101.original_passes import drops_last_edge
from nasbench1shot1.nasbench101.shared_passes import sort_paths
from nasbench1shot1.reading import Reading
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace


def parameters_of(space, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return {key: scale * rng.normal(size=shape) for key, shape in space.mixing_shapes().items()}


class ForeignSpace(ChoiceBlockSpace):
    cell = "torch.nn:Identity"


def test_the_published_script_knows_only_choice_blocks():
    foreign = ForeignSpace(name="foreign", id="foreign-v1", n_parents=SMALL_SPACE.n_parents)
    check_preset(SMALL_SPACE, "original")
    check_preset(foreign, "corrected")
    with refuses(nb.InvalidInputError, "foreign", options="preset"):
        check_preset(foreign, "original")


@pytest.mark.parametrize("space", [SMALL_SPACE, nb.search_space("s1"), nb.search_space("s2")], ids=lambda s: s.name)
def test_the_probabilities_of_all_live_parts_sum_to_one(space):
    architectures = list(space.architectures("no_loose_ends"))
    found = np.exp(log_probabilities(space, parameters_of(space), architectures))
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert (found > 0).all()


def test_the_probability_is_the_product_over_all_choices():
    """Monte Carlo check: the k largest entries of Λ plus Gumbel noise are the parents, the largest is the operation."""
    parameters, rng = parameters_of(SMALL_SPACE, 3), np.random.default_rng(0)
    draws, counts = 20_000, {}
    for _ in range(draws):
        noisy = {key: value + rng.gumbel(size=value.shape) for key, value in parameters.items()}
        arch = SMALL_SPACE.without_loose_ends(SMALL_SPACE.discretise(noisy))
        counts[arch] = counts.get(arch, 0) + 1
    architectures = list(SMALL_SPACE.architectures("no_loose_ends"))
    expected = np.exp(log_probabilities(SMALL_SPACE, parameters, architectures))
    found = np.array([counts.get(arch, 0) for arch in architectures]) / draws
    assert np.abs(found - expected).max() < 4 * np.sqrt(0.25 / draws)
    assert set(counts) <= set(architectures)


def test_extreme_parameters_have_finite_log_probabilities():
    found = log_probabilities(
        SMALL_SPACE, parameters_of(SMALL_SPACE, 0, 1e4), list(SMALL_SPACE.architectures("no_loose_ends"))
    )
    assert np.isfinite(found).all()
    assert np.exp(found).max() == pytest.approx(1)


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_the_form_without_loose_ends_represents_the_same_network(name):
    space, rng = nb.search_space(name), np.random.default_rng(0)
    free = set(space.numbers("no_loose_ends").tolist())
    for _ in range(200):
        arch = space.sample(rng)
        found = space.without_loose_ends(arch)
        assert space.index(found) in free
        assert found.live_blocks == arch.live_blocks
        assert found.cell == arch.cell
        assert all(found.parents[b - 1] == arch.parents[b - 1] for b in arch.live_blocks)
        assert space.without_loose_ends(found) == found
    with pytest.raises(nb.InvalidInputError):
        space.without_loose_ends(SMALL_SPACE[0])


def test_the_sharing_order_keeps_equal_first_blocks_together():
    architectures = list(nb.search_space("s1").architectures("no_loose_ends"))
    order = in_sharing_order(SMALL_SPACE, architectures)
    assert sorted(order.tolist()) == list(range(len(architectures)))
    first = [
        (architectures[i].operations[0], architectures[i].parents[1], architectures[i].operations[1]) for i in order
    ]
    runs = 1 + sum(a != b for a, b in pairwise(first))
    assert runs == len(set(first))


@pytest.mark.parametrize("name", ["s1", "s2"])
def test_evaluation_and_chunks_have_the_same_order(name):
    """Sorted by parents and operation block by block, ignoring loose ends."""
    space, rng = nb.search_space(name), np.random.default_rng(0)
    architectures = [space[int(n)] for n in rng.permutation(space.numbers("no_loose_ends"))]
    order = in_sharing_order(space, architectures)
    plain = sorted(architectures, key=lambda arch: [*zip(arch.parents, (*arch.operations, 0), strict=True)])
    assert [architectures[i] for i in order] == plain
    assert [path for _, path in sort_paths(architectures[:700])] == [
        arch for arch in plain if arch in architectures[:700]
    ]
    loose = [space.sample(rng) for _ in range(300)]
    live = [space.without_loose_ends(arch) for arch in loose]
    assert in_sharing_order(space, loose).tolist() == in_sharing_order(space, live).tolist()


def test_numbers_and_sequences_are_converted_to_text():
    assert [to_text(value) for value in (5, (5, 10), [4], np.array([1, 2]), range(3), "all", None)] == [
        "5", "5,10", "4", "1,2", "0,1,2", "all", None,
    ]  # fmt: skip
    assert ranking_options({"budgets": (4, 108), "images": 50}).budgets == "4,108"
    numbers = np.array([4, 108, 50])
    found = ranking_options({"budgets": numbers[:2], "images": numbers[2], "architectures": np.array(20)})
    assert (found.budgets, found.images, found.architectures) == ("4,108", "50", "20")


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12, unique=True), st.integers(1, 12))
@settings(max_examples=50)
def test_every_nth_epoch_can_be_selected(kept, step):
    kept = sorted(kept)
    expected = [epoch for epoch in kept if epoch % step == 0]
    if expected:
        assert chosen_epochs(f"every:{step}", kept, "run") == expected
    else:
        with refuses(nb.InvalidInputError, options="epochs"):
            chosen_epochs(f"every:{step}", kept, "run")


@pytest.mark.parametrize(("text", "wanted"), [("auto", 0.95), ("auto:0.9", 0.9), ("auto:.5", 0.5), ("all", None)])
def test_a_precision_can_be_requested(text, wanted):
    assert required_reliability(text) == wanted


def test_the_published_script_loses_an_edge_in_cells_of_four_blocks():
    assert [drops_last_edge(len(nb.search_space(name)[0].operations)) for name in ("s1", "s2", "s3")] == [
        True,
        True,
        False,
    ]


def test_measured_and_estimated_values_are_distinguished():
    table, space = nb.load_table(), nb.search_space("s1")
    architectures = [space[int(n)] for n in space.numbers("unique")]
    found = {(truth.budget, truth.split): truth for truth in true_errors(table, architectures, table.epochs)}
    assert set(found) == {(budget, "validation") for budget in (4, 12, 36, 108)} | {(108, "test")}
    truth, metrics = found[108, "validation"], table.query(architectures)
    assert np.array_equal(truth.has_measurement, metrics.is_measured("validation_accuracy"))
    assert 0 < truth.has_measurement.mean() < 0.5
    raw = 1 - metrics.measured_validation_accuracy[truth.has_measurement]
    assert np.allclose(truth.measurements[truth.has_measurement], raw)
    assert not truth.measured.any() and truth.measured_share == 0, "estimates that are shrunk toward measurements"
    assert np.allclose(truth.errors, 1 - metrics.validation_accuracy)
    assert found[108, "test"].measured.sum() == 273, "the mean test accuracies that are known in s1"
    assert headline(list(found.values())) is found[108, "test"]


def predictions(errors, groups=None, **more):
    values = {"error": np.asarray(errors, np.float64), "loss": np.asarray(errors, np.float64) ** 2}
    return Predictions(7, values, np.arange(len(errors)) if groups is None else groups, more)


def test_measured_architectures_have_separate_rows():
    rng = np.random.default_rng(0)
    true = rng.random(40)
    measurements = np.where(np.arange(40) < 12, true + 0.01 * rng.random(40), np.nan)
    frame, undefined = correlations(predictions(true), [Truth(108, "test", true, measurements)], 0, 10)
    rows = frame.query("criterion == 'spearman_error' and scope == 'all'")
    assert not undefined
    assert rows[["n", "measured"]].to_numpy().tolist() == [[40, 0.3], [12, 1.0]]
    assert rows["value"].iloc[0] == pytest.approx(1)
    best = np.argmin(true[:12])
    assert rows["value"].iloc[1] > 0.9
    regret = frame.query("criterion == 'regret_error' and scope == 'all'")["value"].tolist()
    assert regret == pytest.approx([0, measurements[best] - measurements[:12].min()])


def test_each_scope_has_its_own_share_of_measurements():
    true = np.linspace(0.05, 0.3, 40)
    best, measured = np.arange(40) < 4, np.arange(40) % 4 == 0
    truth = Truth(108, "test", true, np.where(measured, true, np.nan))
    frame, _ = correlations(predictions(true, best=best), [truth], 0, 5)
    rows = frame.query("criterion == 'spearman_error' and scope in ('all', 'best', 'top-10%')")
    shares = dict(zip(zip(rows["scope"], rows["n"], strict=True), rows["measured"], strict=True))
    assert shares == {("all", 40): 0.25, ("best", 4): 0.25, ("top-10%", 4): 0.25, ("all", 10): 1.0}
    tenth = truth.measurements.copy()
    tenth[4:8] = true[4:8]  # outside the best tenth
    frame, _ = correlations(predictions(true, best=best), [Truth(108, "test", true, tenth)], 0, 5)
    rows = frame.query("criterion == 'spearman_error' and n in (4, 40)").set_index("scope")
    assert rows.loc[["all", "top-10%"], "measured"].tolist() == [13 / 40, 1 / 4]


def test_the_caption_states_the_source_of_the_true_errors_at_each_drawn_budget():
    """Only the largest budget has measured test errors, and each budget has its own predictions."""
    true, nothing, table = np.linspace(0, 1, 20), np.full(20, np.nan), nb.load_table()
    largest = Truth(108, "test", true, np.where(np.arange(20) < 5, true, np.nan))
    found = [Truth(4, "validation", true, nothing), Truth(108, "validation", true, nothing), largest]
    frame, facts = correlations(predictions(true), found, 0, 5)[0], truth_fields(largest, table)
    config = {"image_count": 40, "batch_norm": "running", "preset": "corrected"}
    ranking = SimpleNamespace(config=config, options=SimpleNamespace(bounds=None))
    text = settings_text(ranking, facts_by_budget(frame, ["error", "loss"], facts, table))
    of_test = f"108 epochs: 25.0 % measured, else predicted ({table.fidelity(108)})."
    assert "4 epochs: predicted (validation accuracy predicted, held-out Spearman 0.903); 108 epochs: " in text
    assert text.endswith(of_test) and "held-out Spearman 0.985" in of_test
    without = settings_text(ranking, facts_by_budget(frame, ["error"], facts, None))
    assert "4 epochs: predicted; 108 epochs: " in without and without.endswith(of_test)
    of_one = facts_by_budget(frame[frame["budget"] == 108], ["error"], facts, table)
    assert "side by side" not in by_epoch_caption(ranking, of_one)
    assert "side by side. " in by_epoch_caption(ranking, facts_by_budget(frame, ["error"], facts, table))
    only = settings_text(ranking, of_one)
    assert only.endswith(f"True errors: 25.0 % measured, else predicted, table {table.id} ({facts['fidelity']}).")


def test_estimates_are_not_measured_even_if_every_network_has_a_measurement():
    true = np.linspace(0.05, 0.3, 8)
    frame, _ = correlations(predictions(true), [Truth(108, "validation", true, true[::-1], False)], 0, 5)
    rows = frame.query("criterion == 'spearman_error' and scope == 'all'")
    assert rows[["n", "measured", "value"]].to_numpy().tolist() == [[8, 0.0, 1.0], [8, 1.0, -1.0]]


def test_the_scatter_plot_calls_estimates_predicted():
    errors = np.linspace(0.1, 0.2, 6)
    [axes] = draw_panels([scatter_panel(errors, Truth(108, "validation", errors, errors, False), None, "error")])
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["predicted by the table (6)"]


def test_undefined_criteria_are_listed_and_the_rest_is_kept():
    true = np.array([0.1001, 0.1002, 0.1003, 0.1004])  # all round to 10.0 %
    frame, undefined = correlations(predictions([1, 2, 3, 4]), [Truth(4, "test", true, np.full(4, np.nan))], 0, 5)
    assert {of.place for of in undefined} == {(7, 4, "test", f"sparse-kendall_{of}", "all") for of in ("error", "loss")}
    assert all("rounded test errors after 4 epochs are equal" in of.cause for of in undefined)
    assert set(frame.query("criterion == 'kendall_error'")["value"]) == {1.0}


@pytest.mark.parametrize("copies", ["all", "mean"])
def test_marked_networks_of_a_ranking_are_points_if_they_were_evaluated(copies):
    table = nb.load_table()
    resnet = nb.Architecture.parse(table.benchmark.reference_points["ResNet-like cell"])
    best, _ = table.best("s1")
    rows = np.array([7, table.row_of(resnet), 9, table.row_of(resnet)])
    found = predictions([0.5, 0.25, 0.75, 0.25], rows)
    found = found.mean_over_copies()[0] if copies == "mean" else found
    marks, absent = marked_ranks(["resnet-like-cell", ("best", best), "inception-like-cell"], table, found)
    assert absent == ["Not evaluated, so not marked: best, Inception-like cell."]
    errors = np.full(len(found.groups), 0.5)
    errors[marks[0].at] = 0.125
    truth = Truth(108, "test", errors, np.where(errors < 0.5, errors, np.nan))
    [axes] = draw_panels([scatter_panel(found.values["error"], truth, None, "error", marks)])
    [point] = [line for line in axes.get_lines() if line.get_marker() == "*"]
    assert point.get_xydata().tolist() == [[25.0, 12.5]]
    assert "ResNet-like cell (measured)" in [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_the_mean_over_copies_counts_each_cell_once():
    copies = predictions([0.1, 0.3, 0.5, 0.2], np.array([5, 5, 9, 2]), drawn=np.array([False, True, False, False]))
    means, first = copies.mean_over_copies()
    assert first.tolist() == [3, 0, 2]
    assert means.values["error"].tolist() == pytest.approx([0.2, 0.2, 0.5])
    assert means.subsets["drawn"].tolist() == [False, True, False]


def test_equal_means_of_different_copies_are_tied():
    """Errors on 1,000 images, which float32 stores inexactly."""
    groups, wrong = np.repeat(np.arange(50), 3), np.random.default_rng(0).integers(0, 1000, (50, 3))
    wrong[25:] = (wrong[:25] + np.array([7, -4, -3])) % 1000
    sums = wrong.sum(axis=1)
    scores = EpochScores(np.arange(150), np.float32(wrong.ravel() / 1000), np.zeros(150, np.float32), np.arange(1000))
    assert scores.exact_errors.tolist() == (wrong.ravel() / 1000).tolist()
    exact, recorded = (
        predictions(errors, groups).mean_over_copies()[0].values["error"]
        for errors in (scores.exact_errors, scores.errors)
    )
    assert len(set(exact)) == len(set(sums.tolist())) < 45 < len(set(recorded))
    assert exact.tolist() == pytest.approx(sums / 3000)


@pytest.mark.parametrize("images", [64, 200, 1000])
def test_errors_on_blocks_of_images_are_exact(images):
    wrong = np.random.default_rng(0).random((9, images)) < 0.3
    parts = np.array_split(wrong, 64, axis=1)
    sizes = block_sizes(images, 64)
    assert sizes.tolist() == [part.shape[1] for part in parts]
    exact = np.stack([part.mean(axis=1) for part in parts], axis=1)
    assert np.array_equal(exact_errors(_block_means(wrong, 64), sizes), exact)


def test_a_subset_is_a_scope():
    true = np.linspace(0, 1, 20)
    few = np.arange(20) < 5
    frame, _ = correlations(predictions(true, controller=few), [Truth(4, "test", true, np.full(20, np.nan))], 0, 5)
    assert set(frame.query("scope == 'controller'")["n"]) == {5}


def test_the_picture_has_a_line_per_budget_on_given_axes():
    from matplotlib.figure import Figure

    true, frames = np.linspace(0, 1, 20), []
    for epoch in (1, 2):
        of = Predictions(epoch, predictions(true).values, np.arange(20), {})
        nothing = np.full(20, np.nan)
        found = [Truth(4, "validation", true, nothing), Truth(108, "validation", true[::-1], nothing)]
        frames.append(correlations(of, [*found, Truth(108, "test", true, nothing)], 0, 5)[0])
    frame = pandas.concat(frames, ignore_index=True)
    axes = Figure().add_subplot()
    assert draw_panels([by_epoch_panel(frame)], ax=axes) == [axes]
    assert [line.get_label() for line in axes.lines[:2]] == ["4 epochs (validation)", "108 epochs (test)"]
    assert [line.get_xdata().tolist() for line in axes.lines[:2]] == [[0.95, 1.95], [1.05, 2.05]]  # side by side
    bars = [np.array([segment[:, 1] for segment in bar.get_segments()]) for bar in axes.collections]
    rows = headline_rows(frame, "spearman_error")
    assert np.allclose(bars, [rows.loc[rows["budget"] == budget, ["low", "high"]] for budget in (4, 108)])
    assert rows[["epoch", "budget", "split"]].to_numpy().tolist() == [
        [1, 4, "validation"], [1, 108, "test"], [2, 4, "validation"], [2, 108, "test"],
    ]  # fmt: skip
    assert np.allclose(rows["value"], 1)


def test_the_duration_is_announced_in_parts():
    assert (
        _duration_text(Expectation(0.0, 700))
        == "All architectures are evaluated; the statistics will take about 12 min."
    )
    assert _duration_text(Expectation(20, 30)) == "This will take less than a minute."
    assert _duration_text(Expectation(7200, 50)) == (
        "This will take about 2 h: about 2 h for the evaluation and less than a minute for the statistics."
    )


def test_the_duration_of_the_statistics_is_estimated_from_a_few_resamples(monkeypatch):
    """With a clock of 1 s per comparison and 2 s per resample: 10 comparisons, 2.7 predictors."""
    clock, space = [0.0], nb.search_space("s1")

    def compare(part, seed, resamples):
        clock[0] += 1 + 2 * resamples

    monkeypatch.setattr(expectation, "compare", compare)
    monkeypatch.setattr(expectation.time, "perf_counter", lambda: clock[0])
    architectures = [space[int(number)] for number in space.numbers("unique")]
    options = ranking_options({"resamples": 100})
    found = expectation.statistics_seconds(architectures, nb.load_table(), options, learns_parameters=True)
    assert found == pytest.approx(10 * (1 + 2 * 100) * 2.7)


def test_all_shares_of_the_statistics_of_an_epoch_sum_to_one():
    true, shares = np.linspace(0, 1, 20), []
    some = np.where(np.arange(20) < 5, true, np.nan)
    correlations(predictions(true), [Truth(4, "test", true, some)], 0, 2, shares.append)
    assert shares == pytest.approx([20 / 50, 5 / 50, 20 / 50, 5 / 50])


def test_summaries_and_plots_show_the_largest_budget_and_test_first():
    assert headline_place([(4, "test"), (108, "validation"), (12, "test")]) == (108, "validation")
    assert headline_place([(108, "test"), (108, "validation"), (4, "test")]) == (108, "test")
    rows = [
        (epoch, budget, split, criterion, scope, n)
        for epoch, (budget, split), criterion, (scope, n) in product(
            (1, 2),
            ((12, "validation"), (4, "validation"), (4, "test")),
            ("spearman_error", "regret_loss"),
            (("all", 9), ("all", 5), ("top-1000", 9)),
        )
    ]
    frame = pandas.DataFrame(rows, columns=["epoch", "budget", "split", "criterion", "scope", "n"])
    assert place_per_budget(frame) == [(4, "test"), (12, "validation")]
    found = headline_rows(frame, "regret_loss")
    assert found.to_numpy().tolist() == [
        [epoch, budget, split, "regret_loss", "all", 9]
        for epoch, (budget, split) in product((1, 2), ((4, "test"), (12, "validation")))
    ]
    assert headline_rows(frame, "kendall_error").empty


def test_architectures_without_shared_passes_are_timed_over_the_whole_space():
    space = nb.search_space("nats-size")
    everything = [space[number] for number in range(0, len(space), 100)]
    timed = timed_architectures(space, everything)
    assert timed[0] == everything[0] and timed[-1] == everything[-1] and len(set(timed)) == 24
    assert timed_architectures(space, everything[:3]) == everything[:3]
    cells = list(map(nb.search_space("s1").__getitem__, range(600)))
    assert set(timed_architectures(nb.search_space("s1"), cells)) <= set(cells[:512])


# Probabilities under mixing weights that are not the softmax of Λ -----------------------------------------------------

REST = {"epochs": 2, "images_per_half": 20, "batch_size": 20, "space": "nb201"}
SEARCHES = [
    {"optimizer": "darts"},
    {"optimizer": "sgas", "decision_start": 1, "decision_interval": 1, "batch_increase": 0},
    {"optimizer": "drnas"},
    {"optimizer": "drnas-progressive", "channels": 4, "warm_start_epochs": 0},
    {"optimizer": "darts", "exclude_none": True},
    {"optimizer": "darts", "temperature_max": 4.0, "temperature_min": 2.0},
]


@pytest.mark.parametrize("options", SEARCHES, ids=lambda options: "-".join(map(str, options.values())))
def test_probabilities_are_products_of_mixing_weights(options, tmp_path):
    run, space = search(tmp_path / "run", **{**REST, **options}), nb.search_space("nb201")
    weights = np.nan_to_num(run.mixing_weights(2)["operations"])
    assert run.reading(2).has_probabilities
    numbers = np.random.default_rng(0).integers(len(space), size=200)
    wanted = [np.prod(weights[range(6), space[int(number)].operations]) for number in numbers]
    found = np.exp(log_probabilities(space, logits_of(run, space, 2), [space[int(number)] for number in numbers]))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-300)
    assert (found == 0).any() == ("structure" in run.lines[2])


def test_unknown_errors_do_not_count_as_predicted():
    errors = np.array([0.1, 0.2, np.nan, 0.3, np.nan])
    truth = Truth(108, "test", errors, errors)
    assert truth_fields(truth, nb.load_table())["measured"] == truth.measured_share == 1
    partly = Truth(108, "test", errors, np.where(errors == 0.1, errors, np.nan))
    assert partly.measured_share == pytest.approx(1 / 3)


def test_sigmoids_have_no_probabilities():
    assert not Reading("sigmoid", "softmax").has_probabilities
    assert not Reading("equal", "equal").has_probabilities


def test_architectures_that_cannot_be_drawn_take_no_part_in_comparisons_of_probabilities():
    errors = np.linspace(0.1, 0.3, 6)
    values = {"error": errors, "probability": np.array([1.0, np.inf, 2.0, 3.0, np.inf, 4.0])}
    truth = Truth(108, "test", errors, np.full(6, np.nan))
    parts = {part.predictor: part for part in pairings(Predictions(1, values, np.arange(6), {}), [truth])}
    assert parts["error"].errors.tolist() == errors.tolist()
    assert parts["probability"].errors.tolist() == errors[[0, 2, 3, 5]].tolist()
    values["probability"][:4] = np.inf
    assert {part.predictor for part in pairings(Predictions(1, values, np.arange(6), {}), [truth])} == {"error"}
