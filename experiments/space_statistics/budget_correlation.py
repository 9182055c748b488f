"""Rank correlation of accuracies between training budgets. NAS-Bench-101's supplement, figure 7."""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.rank_correlation import kendall, spearman
from nasbench1shot1.experiments.space_statistics.analysis import finish
from nasbench1shot1.experiments.space_statistics.values import accuracy, check_enough, known_values, values_or_nan
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import percent
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def budget_correlation(
    table: Table, split: str = "validation", best: float = 1.0, predicted: bool = False
) -> pandas.DataFrame:
    """Return the rank correlations of accuracies, means over repeats, between all pairs of budgets.

    Args:
        table: a table of NAS-Bench-101.
        split: the split of the accuracy.
        best: use only this share of the cells, the best ones at the largest budget.
        predicted: use estimates if the metric is not measured.

    Returns:
        A data frame with `epochs`, `and_epochs` (the larger of the two budgets), `spearman`, `kendall` (τ-b), and the
        number of `cells`, which are the same for all pairs.

    Raises:
        OutOfDomainError: fewer than two budgets have values, or fewer than three cells have values at all of them.
        InvalidInputError: `best` is not above 0 and up to 1.
    """
    if not 0 < best <= 1:
        raise InvalidInputError(f"best cannot be {best!r}: give a share above 0 and up to 1")
    of_budget = {epochs: values_or_nan(table, accuracy(split), epochs, predicted) for epochs in table.epochs}
    of_budget = {epochs: values for epochs, values in of_budget.items() if len(values.rows)}
    if not of_budget:
        known_values(table, accuracy(split), table.epochs[-1], predicted)  # raises an error with advice
    check_enough(len(of_budget), 2, f"budgets with {split} accuracy", table)
    means = np.stack([values.mean for values in of_budget.values()])
    rows = np.flatnonzero(~np.isnan(means).any(axis=0))
    last = means[-1, rows]
    rows = rows[last >= np.quantile(last, 1 - best)] if len(rows) else rows
    check_enough(len(rows), 3, f"cells with {split} accuracy at every budget", table)
    budgets = list(of_budget)
    parts = [
        {
            "epochs": budgets[i],
            "and_epochs": budgets[j],
            "spearman": spearman(means[i, rows], means[j, rows]),
            "kendall": kendall(means[i, rows], means[j, rows]),
            "cells": len(rows),
        }
        for i, j in combinations(range(len(budgets)), 2)
    ]
    frame = pandas.DataFrame(parts)
    frame.attrs = of_budget[budgets[-1]].attributes(
        quantity=f"{split} accuracy at {', '.join(map(str, budgets))} epochs",
        predicted=any(values.predicted for values in of_budget.values()),
        rows=len(rows),
        dropped=len(table) - len(rows),
        notes=[f"only the best {percent(best, 0)} at {budgets[-1]} epochs"] if best < 1 else [],
    )
    return frame


def plot_budget_correlation(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw a matrix with Spearman's ρ above the diagonal and Kendall's τ below it."""
    axes = axes_or_new(ax)
    budgets = sorted({*frame["epochs"], *frame["and_epochs"]})
    place = {epochs: i for i, epochs in enumerate(budgets)}
    grid = np.full((len(budgets), len(budgets)), np.nan)
    for row in frame.itertuples():
        i, j = place[row.epochs], place[row.and_epochs]
        grid[i, j], grid[j, i] = row.spearman, row.kendall
    image = axes.imshow(grid, cmap="cividis", vmin=min(0.0, float(np.nanmin(grid))), vmax=1)
    axes.figure.colorbar(image, ax=axes, label="rank correlation")
    for (i, j), value in np.ndenumerate(grid):
        text = f"{'ρ' if i < j else 'τ'} = {value:.2f}" if i != j else "–"
        axes.text(j, i, text, ha="center", va="center", color="black" if i == j or value > 0.55 else "white")
    axes.set_xticks(range(len(budgets)), list(map(str, budgets)))
    axes.set_yticks(range(len(budgets)), list(map(str, budgets)))
    axes.set_xlabel("training budget [epochs]")
    axes.set_ylabel("training budget [epochs]")
    finish(axes, frame, "Rank correlation between budgets\nabove the diagonal Spearman's ρ, below it Kendall's τ-b")
    axes.grid(visible=False)
    return axes
