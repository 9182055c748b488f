"""Distributions of accuracies and of the noise of trainings. NAS-Bench-101's figure 2."""

from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.values import (
    SPLITS,
    Floats,
    accuracy,
    known_values,
    values_or_nan,
)
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = 2000
"""Maximum number of steps of a curve, more than a figure has pixels."""


def accuracy_distribution(table: Table, epochs: int | None = None, predicted: bool = False) -> pandas.DataFrame:
    """Return the empirical distribution functions of training, validation and test accuracy, means over repeats.

    Returns:
        A data frame with `split`, `accuracy` (fraction, ascending) and `share`, the fraction of cells at or below it,
        thinned to 2,000 steps. `attrs["lacking"]` lists the splits without values, `attrs["medians"]` has the medians
        of the others.

    Raises OutOfDomainError if no split has values.
    """
    epochs = table.full_budget if epochs is None else epochs
    known = {split: values_or_nan(table, accuracy(split), epochs, predicted) for split in SPLITS}
    present = {split: values for split, values in known.items() if len(values.rows)}
    if not present:
        known_values(table, accuracy("validation"), epochs, predicted)  # raises an error with advice
    curves = {split: values.mean[values.rows] for split, values in present.items()}
    fewest = min(present.values(), key=lambda values: len(values.rows))
    lacking, kind = [split for split in SPLITS if split not in present], "" if predicted else "measured "
    frame = _stack(curves, "split", "accuracy")
    frame.attrs = fewest.attributes(
        quantity=f"{', '.join(present)} accuracy at {epochs} epochs",
        predicted=any(values.predicted for values in present.values()),
        lacking=lacking,
        medians={split: float(np.median(curve)) for split, curve in curves.items()},
        notes=[f"the table has no {kind}{' or '.join(lacking)} accuracy at {epochs} epochs"] if lacking else [],
    )
    return frame


def noise_distribution(table: Table, split: str = "test", predicted: bool = False) -> pandas.DataFrame:
    """Return the empirical distribution functions of training noise, the standard deviation over repeats (n - 1).

    Returns:
        A data frame with `epochs`, `noise` (fraction, ascending) and `share`, the fraction of cells at or below it,
        thinned to 2,000 steps. `attrs["medians"]` has the medians by budget.

    Raises OutOfDomainError if the table has no measurements, or only one repeat; estimates have no noise.
    """
    curves, last = {}, None
    for epochs in table.epochs:
        values = values_or_nan(table, accuracy(split), epochs)
        if len(values.rows) and values.repeats.shape[1] > 1:
            curves[epochs], last = values.repeats[values.rows].std(axis=1, ddof=1), values
    if last is None:
        known_values(table, accuracy(split), table.epochs[-1])  # raises if there are no measurements
        raise OutOfDomainError(
            f"the table {table.id} has one repeat of each training, so its noise cannot be estimated: open a table "
            "with several (the official data of NAS-Bench-101 has three)"
        )
    frame = _stack(curves, "epochs", "noise")
    frame.attrs = last.attributes(split=split, medians={epochs: float(np.median(c)) for epochs, c in curves.items()})
    frame.attrs["quantity"] = (
        f"{last.repeats.shape[1]} repeats of {split} accuracy at {_join_budgets(list(curves))} epochs"
    )
    return frame


def plot_accuracy_distribution(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the distribution functions of accuracy, one line for each split."""
    axes = axes_or_new(ax)
    for colour, line, (split, curve) in zip(
        COLOURS, ("-", "--", "-."), frame.groupby("split", sort=False), strict=False
    ):
        median = 100 * frame.attrs["medians"][split]
        label = f"{split}, median {median:.1f} %"
        axes.step(100 * curve["accuracy"], curve["share"], line, where="post", color=colour, label=label)
    axes.set_xlim(max(0, 100 * _quantile(frame, "accuracy", 0.02) - 1), 100 * frame["accuracy"].max() + 0.5)
    axes.set_xlabel("accuracy [%]")
    axes.set_ylabel("share of cells at or below")
    axes.legend(fontsize=8, loc="upper left")
    return finish(axes, frame, "Accuracies")


def plot_noise_distribution(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the distribution functions of noise, one line for each budget."""
    axes = axes_or_new(ax)
    for colour, (epochs, curve) in zip(COLOURS, frame.groupby("epochs", sort=False), strict=False):
        label = f"{epochs} epochs, median {100 * frame.attrs['medians'][epochs]:.2f}"
        axes.step(100 * curve["noise"], curve["share"], where="post", color=colour, label=label)
    lowest = 100 * frame.loc[frame["noise"] > 0, "noise"].quantile(0.01)
    axes.set_xscale("log", nonpositive="clip")
    ticks = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_xlim(left=max(float(lowest), 0.01))
    axes.set_xlabel(f"deviation of {frame.attrs['split']} accuracy over repeats [percentage points, log scale]")
    axes.set_ylabel("share of cells at or below")
    axes.legend(fontsize=8, loc="lower right")
    return finish(axes, frame, "Noise of training")


def _stack(curves: "dict[str, Floats] | dict[int, Floats]", key: str, value: str) -> pandas.DataFrame:
    parts = []
    for name, values in curves.items():
        steps, counts = np.unique(values, return_counts=True)
        share = np.cumsum(counts) / len(values)
        kept = np.unique(np.linspace(0, len(steps) - 1, min(_STEPS, len(steps))).round().astype(int))
        parts.append(pandas.DataFrame({key: name, value: steps[kept], "share": share[kept]}))
    return pandas.concat(parts, ignore_index=True)


def _quantile(frame: pandas.DataFrame, column: str, share: float) -> float:
    return float(frame.loc[frame["share"] >= share, column].min())


def _join_budgets(budgets: list[int]) -> str:
    return ", ".join(map(str, budgets))
