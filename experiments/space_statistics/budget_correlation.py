"""Rank correlation of accuracies between training budgets. NAS-Bench-101's supplement, figure 7."""

from itertools import combinations

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Matrix, Panel
from nasbench1shot1.experiments.rank_correlation import coefficient_text, kendall, spearman
from nasbench1shot1.experiments.space_statistics.values import accuracy, check_enough, no_values_error, values_or_nan
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import percent
from nasbench1shot1.tables.table import Table


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
        raise no_values_error(table, accuracy(split), table.epochs[-1], predicted)
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
        rows,
        quantity=f"{split} accuracy at {', '.join(map(str, budgets))} epochs",
        predicted=any(values.predicted for values in of_budget.values()),
        notes=[f"only the best {percent(best, 0)} at {budgets[-1]} epochs"] if best < 1 else [],
    )
    return frame


def budget_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return a matrix with Spearman's ρ above the diagonal and Kendall's τ-b below it."""
    budgets = sorted({*frame["epochs"], *frame["and_epochs"]})
    grid = np.full((len(budgets), len(budgets)), np.nan)
    for row in frame.itertuples():
        i, j = budgets.index(row.epochs), budgets.index(row.and_epochs)
        grid[i, j], grid[j, i] = row.spearman, row.kendall
    texts = np.full(grid.shape, "–", object)
    for (i, j), value in np.ndenumerate(grid):
        texts[i, j] = f"{'ρ' if i < j else 'τ'} = {coefficient_text(value)}" if i != j else "–"
    names, low = list(map(str, budgets)), float(np.nanmin(grid, initial=0.0))
    matrix = Matrix(grid, texts.tolist(), names, names, low=low, high=1, bar="rank correlation")
    axis = Axis("training budget [epochs]")
    title = "Rank correlation between budgets\nabove the diagonal Spearman's ρ, below it Kendall's τ-b"
    return [Panel(title, axis, axis, [matrix])]
