"""Ticks of logarithmic axes."""

from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from nasbench1shot1.display.axes import label_log_axis


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (5_000, 7_000, ["5,000", "5,500", "6,000", "6,500", "7,000"]),
        (0.11, 0.19, ["0.12", "0.14", "0.16", "0.18"]),
        (9.5, 71, ["10", "15", "20", "30", "40", "50", "70"]),  # even steps would leave the lower half without a label
        (2.1, 6.4, ["3", "4", "5"]),
        (0.31, 0.94, ["0.4", "0.5", "0.7"]),
        (900, 21_000, ["1,000", "2,000", "5,000", "10,000", "20,000"]),
        (1.1e5, 1.9e5, [rf"${factor}\cdot 10^{{5}}$" for factor in (1.2, 1.4, 1.6, 1.8)]),
        (1.1e5, 1.101e5, [rf"${factor}\cdot 10^{{5}}$" for factor in (1.1, 1.1002, 1.1004, 1.1006, 1.1008, 1.101)]),
        (99_990, 99_990.5, ["99,990", "99,990.1", "99,990.2", "99,990.3", "99,990.4"]),
        (900, 1.1e6, ["$10^{3}$", r"$3\cdot 10^{3}$", "$10^{4}$", r"$3\cdot 10^{4}$", "$10^{5}$"]),
        (90, 1.1e7, [f"$10^{{{power}}}$" for power in range(2, 8)]),
    ],
)
def test_every_range_has_labelled_ticks(low, high, labels):
    axes = Figure().add_subplot(xscale="log", xlim=(low, high))
    label_log_axis(axes.xaxis)
    shown = [
        label for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True) if low <= tick <= high
    ]
    assert [label.get_text() for label in shown][: len(labels)] == labels
    assert len(shown) <= 10


@pytest.mark.parametrize("width", [1.5, 2.0, 3.0, 6.4])
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1_100, 9_900), (0.11, 0.95), (3.05, 9.9), (9.5, 71), (900, 21_000)])
def test_labels_of_narrow_axes_do_not_overlap(width, is_reversed, low, high):
    figure = Figure(figsize=(width, 2))
    axes = figure.add_axes((0.1, 0.3, 0.8, 0.6), xscale="log", xlim=(high, low) if is_reversed else (low, high))
    label_log_axis(axes.xaxis)
    figure.draw_without_rendering()
    shown = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
    boxes = sorted((label.get_window_extent() for label in shown), key=lambda box: box.x0)
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
