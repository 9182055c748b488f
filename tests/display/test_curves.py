"""Pooling of runs into a curve with a band."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.display.axes import EPOCH_LABEL
from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import curve_styles, from_legend, in_legend
from nasbench1shot1.display.curves import (
    MOST_MARKERS,
    MOST_POINTS,
    OF_A_SHARE,
    SPREADS,
    UNLIMITED,
    Trace,
    band,
    describe_band,
    draw_curve,
    draw_level,
    log_floor,
    pool,
    pool_values,
)
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL, mean_interval, median_interval

spreads = st.sampled_from(list(SPREADS))
statistics = st.sampled_from(["mean", "median"])
values = st.tuples(st.integers(1, 8), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 1))
)


def steps(*pairs: tuple[float, float], **more: float) -> Trace:
    at, found = np.array(pairs, dtype=np.float64).T
    return Trace(at=at, values=found, **more)


def test_the_arrays_of_a_trace_are_read_only_and_the_given_ones_stay_writable():
    given_values = np.array([0.5, 0.25])
    trace = Trace(at=np.arange(2.0), values=given_values)
    for shared in (trace.at, trace.values):
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1.0
    given_values[0] = 0.5


@given(values, spreads, statistics)
def test_the_curve_lies_within_its_band_and_the_runs(found, spread, statistic):
    curve = pool_values(range(found.shape[1]), found, spread=spread, statistic=statistic)
    low, high = found.min(axis=0) - 1e-12, found.max(axis=0) + 1e-12
    assert ((low <= curve.centre) & (curve.centre <= high)).all()
    assert (curve.low >= 0).all(), "no regret is negative"
    if spread != "quartiles":  # the mean of a few outliers can lie outside of the quartiles
        assert ((curve.low <= curve.centre) & (curve.centre <= curve.high)).all()
    if spread in ("quartiles", "range") or (spread == "ci" and statistic == "median"):
        assert ((low <= curve.low) & (curve.high <= high)).all()


@given(values, spreads, statistics, st.randoms(use_true_random=False))
def test_the_order_of_the_runs_does_not_matter(found, spread, statistic, random):
    order = list(range(len(found)))
    random.shuffle(order)
    one, other = (
        pool_values(range(found.shape[1]), of, spread=spread, statistic=statistic) for of in (found, found[order])
    )
    for name in ("centre", "low", "high"):
        assert (getattr(one, name) == getattr(other, name)).all()


@given(st.floats(0, 1), st.integers(2, 20), spreads, statistics)
def test_equal_runs_have_a_band_of_zero_width(value, runs, spread, statistic):
    curve = pool_values([0, 1], np.full((runs, 2), value), spread=spread, statistic=statistic)
    assert np.allclose(curve.high - curve.low, 0, rtol=0, atol=1e-15)
    assert np.allclose(curve.centre, value, rtol=0, atol=1e-15)


@given(arrays(np.float64, (1, 4), elements=st.floats(0, 1)), spreads)
def test_a_single_run_has_no_band(found, spread):
    curve = pool_values(range(4), found, spread=spread)
    assert not curve.has_band
    assert (curve.low == curve.high).all() and (curve.centre == found[0]).all()
    assert describe_band(spread, 1) == ""
    assert np.isnan(curve.frame["std"]).all()


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_band_of_enough_runs_is_their_confidence_interval(statistic):
    found = np.random.default_rng(0).normal(5, 1, size=(FEWEST_FOR_INTERVAL, 3))
    interval = mean_interval if statistic == "mean" else median_interval
    low, high = band(found, "ci", statistic)
    assert (low, high) == (pytest.approx(interval(found)[0]), pytest.approx(interval(found)[1]))
    for runs in (2, FEWEST_FOR_INTERVAL - 1):
        low, high = band(found[:runs], "ci", statistic)
        assert (low == found[:runs].min(axis=0)).all() and (high == found[:runs].max(axis=0)).all()


def test_the_interval_of_a_mean_regret_is_cut_at_zero():
    found = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.9]])
    assert mean_interval(found)[0] < 0
    curve = pool_values([0], found)
    assert curve.low == 0 and curve.is_cut and curve.high == mean_interval(found)[1] > found.mean()


def test_a_band_is_cut_at_the_limits_of_possible_values_unless_a_value_lies_beyond_them():
    found = np.array([[0.0, 0.9], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.9, 0.2]])
    low, high = mean_interval(found)
    assert low[0] < 0 and high[1] > 1
    curve = pool_values([0, 1], found, limits=OF_A_SHARE)
    assert (curve.low[0], curve.high[1]) == (0, 1) and curve.is_cut
    assert not pool_values([0, 1], found[:, 1:], limits=OF_A_SHARE).is_cut, "only cuts at the lower limit are named"
    assert pool_values([0, 1], found, limits=UNLIMITED).low[0] == low[0]
    for spread in ("ci", "range", "std"):
        beyond = pool_values([0], found[:, :1] - 0.5, spread=spread)
        assert beyond.low < -0.4 <= beyond.high and not beyond.is_cut


def test_the_interval_of_many_normal_values_has_its_known_width():
    found = np.random.default_rng(0).normal(5, 1, (400, 50))
    curve = pool_values(range(50), found)
    assert np.mean(curve.high - curve.low) == pytest.approx(2 * 1.96 / np.sqrt(400), rel=0.1)
    assert pool_values(range(50), found).low.tolist() == curve.low.tolist(), "deterministic"


def test_each_spread_has_its_definition():
    found = np.array([[0.0], [0.1], [0.2], [0.7]])
    expected = {
        "std": (max(0.25 - np.std(found, ddof=1), 0), 0.25 + np.std(found, ddof=1)),
        "quartiles": (0.075, 0.325),
        "range": (0.0, 0.7),
    }
    for spread, edges in expected.items():
        curve = pool_values([0], found, spread=spread)
        assert (curve.low[0], curve.high[0]) == pytest.approx(edges), spread
        assert curve.is_cut == (spread == "std")
    assert not pool_values([0], found, spread="std", limits=UNLIMITED).is_cut
    with refuses(nb.InvalidInputError, "'sem'", "ci, quartiles, range, std"):
        pool_values([0], found, spread="sem")
    with refuses(nb.InvalidInputError, "run"):
        pool([])


def test_finished_runs_hold_their_result_and_running_ones_end_the_curve():
    fast, slow = steps((1, 0.4), (3, 0.2)), steps((2, 0.6), (8, 0.0))
    curve = pool([fast, slow])
    assert curve.at.tolist() == [2, 3, 8]
    assert curve.centre.tolist() == pytest.approx([0.5, 0.4, 0.1])
    running = Trace(at=fast.at, values=fast.values, end=5.0, final=0.2, holds=False)
    assert pool([running, slow]).at.tolist() == [2, 3, 5]
    stopped = Trace(at=fast.at, values=fast.values, end=5.0, final=0.3)  # early stopping returned to a worse result
    assert pool([stopped], at=[0, 1, 4, 6]).centre.tolist() == pytest.approx([np.nan, 0.4, 0.2, 0.3], nan_ok=True)


def test_an_unknown_value_leaves_a_gap():
    curve = pool([steps((0, 0.1), (1, np.nan), (2, 0.3)), steps((0, 0.3), (1, 0.3), (2, 0.5))], whole=True)
    for values in (curve.centre, curve.low, curve.high):
        assert np.isnan(values).tolist() == [False, True, False]


def test_curves_with_many_changes_are_thinned_on_a_logarithmic_axis():
    rng = np.random.default_rng(0)
    traces = [Trace(at=np.sort(rng.uniform(1, 1e4, 2000)), values=rng.random(2000)) for _ in range(2)]
    found = pool(traces).at
    assert len(found) == MOST_POINTS
    assert np.ptp(np.diff(np.log(found[:-1]))) < 1e-9
    first, last = max(trace.at[0] for trace in traces), max(trace.at[-1] for trace in traces)
    assert (found[0], found[-1]) == (first, last)


def test_bands_are_named():
    assert describe_band(None, 6) == "mean and 95 % confidence interval, 6 seeds"
    assert describe_band(None, 5) == "mean and range of 5 seeds"
    assert describe_band(None, [1, 5, 6]) == "mean and 95 % confidence interval (n < 6: range), 1 to 6 seeds"
    assert describe_band(None, [1, 5], None) == "mean and range"
    assert describe_band(None, 2) == describe_band("ci", 2, is_cut=True) == "mean and range of 2 seeds"
    low, high = band(np.array([[0.2, 0.5], [0.4, 0.1]]), "ci")  # which is what their interval is
    assert (low == [0.2, 0.1]).all() and (high == [0.4, 0.5]).all()
    assert describe_band(None, 7, is_cut=True) == "mean and 95 % confidence interval (cut at 0), 7 seeds"
    few_and_cut = "mean and 95 % confidence interval (cut at 0; n < 6: range), 3 to 10 seeds"
    assert describe_band(None, [3, 10], is_cut=True) == few_and_cut
    assert describe_band(None, [10, 7, 10]) == "mean and 95 % confidence interval, 7 to 10 seeds"
    assert describe_band(None, {1, 2}) == "mean and range of 1 to 2 seeds"
    assert describe_band(None, [1, 1]) == ""
    assert describe_band("std", 2, "search") == "mean ± standard deviation, 2 searches"
    assert describe_band("std", 2, is_cut=True) == "mean ± standard deviation (cut at 0), 2 seeds"
    assert describe_band("quartiles", statistic="median") == "median and 25 % to 75 % quantiles"
    assert describe_band("range") == "mean and minimum to maximum"


def test_a_drawn_curve_has_the_pooled_values():
    canvas = Canvas()
    (axes,) = canvas.axes
    curve = pool([steps((0, 0.0), (1, 0.1)), steps((0, 0.2), (1, 0.3))], spread="range")
    draw_curve(axes, curve, label="darts", style={"color": "red"}, steps=True, floor=0.05)
    (line,), (band,) = axes.get_lines(), axes.collections
    assert line.get_ydata().tolist() == pytest.approx([10, 20])
    drawn = band.get_paths()[0].vertices[:, 1]
    assert (drawn.min(), drawn.max()) == pytest.approx((5, 30))
    draw_curve(axes, pool([steps((3, 0.1))]), label="one", style={"color": "red", "marker": "", "markevery": 0.1})
    assert axes.get_lines()[1].get_marker() == "o", "a line with a single point is invisible"
    assert len(axes.collections) == 1 and EPOCH_LABEL.startswith("search epoch")


@pytest.mark.parametrize("epochs", [1, 7, 12, 13, 50, 100])
def test_markers_over_epochs_are_at_every_kth_recorded_epoch_and_the_last(epochs):
    traces = [Trace(at=np.arange(epochs + 1.0), values=np.linspace(0.9, 0.1, epochs + 1))]
    for style in curve_styles(["darts", "gdas"]):
        axes = Figure().subplots()
        draw_curve(axes, pool(traces, whole=True), label="a", style=style)
        *regular, last = axes.lines[0].get_markevery()
        step = -(-(epochs + 1) // MOST_MARKERS)
        assert last == epochs and regular[0] < step and len(regular) < MOST_MARKERS
        assert set(np.diff(regular)) <= {step} and step / 2 < last - regular[-1] <= 1.5 * step
        draw_curve(axes, pool(traces), label="b", style=style, steps=True)
        assert axes.lines[1].get_markevery() == style["markevery"]  # by distance


def test_a_logarithmic_axis_ends_just_below_its_curves():
    high, free = pool_values([0, 1], [[0.08, 0.05]]), pool_values([0, 1], [[0.08, 0.0]])
    assert log_floor([high]) == pytest.approx(0.045)
    assert log_floor([high, free]) == pytest.approx(0.025)
    assert log_floor([pool_values([0], [[0.0]])]) > 0


def test_a_label_that_starts_with_an_underscore_is_in_the_legend():
    labels = ["_mine", "mine", "__own", "my_own", "_", "___"]
    with Canvas() as canvas:
        axes = canvas.axes[0]
        for label in [*labels, ""]:
            draw_curve(axes, pool([steps((0, 0.1), (1, 0.2))]), label=label, style={"color": "red"})
        assert legend_of(axes.legend()) == labels
        figure = canvas.finish("title", "caption", legend=True)
    assert legend_of(figure.legends[0]) == labels
    assert list(figure.data["label"].unique()) == [*labels, ""]  # as given, without the space that matplotlib needs
    assert [from_legend(in_legend(label)) for label in labels] == labels


def test_dollar_signs_are_drawn_and_not_read_as_formulas():
    texts = [r"$\lamda$-DARTS", "cost $5 to $10", r"\$1 to \$2", "a $", "p$x_$q"]
    with Canvas(columns=2) as canvas:
        axes = canvas.axes[0]
        for text in texts:
            draw_curve(axes, pool([steps((0, 0.1), (1, 0.2))]), label=text, style={"color": "red"})
        axes.set_title(texts[0])
        Axis(texts[1], ticks=dict(enumerate(texts))).apply(axes, "x")
        figure = canvas.finish(texts[1], texts[4], legend=True, legend_title=texts[4])
    figure.savefig(BytesIO())  # raises for what is not a formula
    shown = [text._preprocess_math(text.get_text()) for text in figure.findobj(Text)]
    assert {text for text, _ in shown} >= {*texts[:2], *texts[3:], "$1 to $2"} and not any(math for _, math in shown)
    assert list(figure.data["label"].unique()) == texts and set(figure.data["panel"]) == {texts[0]}
    assert set(figure.data["x_axis"]) == {texts[1]} and (figure.title, figure.caption) == (texts[1], texts[4])
    assert [from_legend(in_legend(text)) for text in texts] == [*texts[:2], "$1 to $2", *texts[3:]]


def test_a_legend_without_curves_shows_labels_that_start_with_an_underscore():
    with Canvas() as canvas:
        figure = canvas.finish("title", "caption", legend={"_": {"color": "red"}, "_a": {}, "b": {}})
    assert legend_of(figure.legends[0]) == ["_", "_a", "b"]
    assert all(not text.get_text().startswith("_") for text in figure.legends[0].get_texts())  # matplotlib 3.8 hides it


def legend_of(legend: Legend) -> list[str]:
    return [text.get_text().strip() for text in legend.get_texts()]


def test_values_below_a_logarithmic_axis_are_drawn_at_its_edge_and_recorded_as_they_are():
    curve = pool_values([1, 2], [[0.08, 0.0], [0.04, 0.0]])
    with Canvas() as canvas:
        draw_curve(canvas.axes[0], curve, label="a", style={"color": "red"}, floor=0.05)
        (line,) = canvas.axes[0].get_lines()
        figure = canvas.finish("title", "caption")
    assert list(line.get_ydata()) == pytest.approx([6, 5])
    for name, expected in (("y", [6, 0]), ("low", [4, 0]), ("high", [8, 0])):
        assert figure.data[name].tolist() == pytest.approx(expected)


def test_a_level_below_the_axis_is_drawn_at_its_edge_and_recorded_with_its_value():
    with Canvas() as canvas:
        (line,) = draw_level(canvas.axes[0], 0.2, "baseline", floor=0.5).get_lines()
        figure = canvas.finish("title", "caption")
    assert list(line.get_ydata()) == [0.5, 0.5]
    (row,) = figure.data.to_dict("records")
    assert (row["kind"], row["label"], row["y"]) == ("level", "baseline", 0.2)
