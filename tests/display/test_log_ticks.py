"""Ticks of logarithmic axes."""

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
