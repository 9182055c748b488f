"""Fitness-distance correlation: accuracy by distance from the best cell. NAS-Bench-101's figure 6 (left)."""

from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.rank_correlation import pearson, spearman
from nasbench1shot1.experiments.space_statistics.analysis import COLOURS, finish
from nasbench1shot1.experiments.space_statistics.distances import cell_distances
from nasbench1shot1.experiments.space_statistics.values import accuracy, cells_of, check_enough, known_values
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def fitness_distance(
    table: Table, split: str = "test", epochs: int | None = None, predicted: bool = False
) -> pandas.DataFrame:
    """Return the accuracy of known cells by their edit distance from the best known cell.

    Returns:
        A data frame with a row for each distance: `distance` (see `distances.cell_distances`), `cells`, and as
        fractions `accuracy` (mean), `std` (n - 1), `lower`, `median` and `upper` (quartiles). `attrs` has the best
        cell's hash, `best`, and the correlations of accuracy with distance over all other cells, `pearson` and
        `spearman`.

    Raises OutOfDomainError if accuracy is unknown, or known for fewer than three cells.
    """
    values = known_values(table, accuracy(split), epochs, predicted)
    check_enough(len(values.rows), 3, f"cells with {values.what}", table)
    codes, known = cells_of(table)[values.rows], values.mean[values.rows]
    best = int(known.argmax())
    distance = cell_distances(codes, int(codes[best]))
    others = np.arange(len(known)) != best
    groups = pandas.Series(known).groupby(distance)
    quartiles = groups.quantile(np.array([0.25, 0.5, 0.75])).unstack().set_axis(["lower", "median", "upper"], axis=1)
    columns = {"cells": groups.size(), "accuracy": groups.mean(), "std": groups.std()}
    frame = pandas.concat([pandas.DataFrame(columns), quartiles], axis=1).rename_axis("distance").reset_index()
    frame.attrs = values.attributes(
        split=split,
        best=table.hashes(values.rows[best])[0],
        pearson=pearson(known[others], distance[others].astype(float)),
        spearman=spearman(known[others], distance[others].astype(float)),
    )
    return frame


def plot_fitness_distance(frame: pandas.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean accuracy against distance, with the interquartile range."""
    axes = axes_or_new(ax)
    lower, upper = 100 * frame["lower"], 100 * frame["upper"]
    axes.fill_between(frame["distance"], lower, upper, color=COLOURS[0], alpha=0.2, linewidth=0, label="middle half")
    axes.plot(frame["distance"], 100 * frame["accuracy"], "o-", color=COLOURS[0], label="mean")
    axes.plot(frame["distance"], 100 * frame["median"], ":", color=COLOURS[1], label="median")
    axes.set_xlabel("edit distance to the best known cell [edges and operations]")
    axes.set_ylabel(f"{frame.attrs['split']} accuracy [%]")
    axes.legend(fontsize=8, loc="lower left")
    coefficients = f"r = {frame.attrs['pearson']:.2f}, Spearman {frame.attrs['spearman']:.2f}"
    return finish(axes, frame, f"Accuracy by distance to the best cell ({coefficients})")
