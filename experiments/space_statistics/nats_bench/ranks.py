"""Ranks of architectures against each other: on several data sets, after short and long trainings.

- Ranks on data sets: NAS-Bench-201's figure 3 and NATS-Bench's figure 2.
- Ranks after short and long trainings: NAS-Bench-201's figure 5.
- Rank correlations of validation and test accuracies on three data sets, among all architectures and among the best:
  NAS-Bench-201's figure 4 and NATS-Bench's figure 5.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Matrix, Panel, Series
from nasbench1shot1.experiments.rank_correlation import coefficient_text, kendall, spearman
from nasbench1shot1.experiments.space_statistics.nats_bench.measurements import (
    DATASETS,
    FEWEST,
    REFERENCE,
    SHORT,
    Column,
    Measurements,
    drawn_datasets,
    tick_label,
)
from nasbench1shot1.experiments.space_statistics.values import Floats
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.tables.table import Table

SHARES = (1.0, 0.2, 0.05, 0.01)


# Ranks of all architectures -------------------------------------------------------------------------------------------


def dataset_ranks(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return ranks by test accuracy on CIFAR-10 and on each other data set.

    Args:
        table: a table of NAS-Bench-201 or NATS-Bench.
        kind: which architectures are included, a kind of the table's space.

    Returns:
        `index` (official), `x_rank` on CIFAR-10, `dataset` and `y_rank` on it (1 is best, ties share their mean rank),
        and `n`, the number of architectures ranked. `attrs["correlations"]` has the rank correlations.

    Raises:
        InvalidInputError: the table is of another benchmark, or the kind is unknown.
        OutOfDomainError: no other data set has the test accuracy of every architecture.
    """
    found = Measurements(table, kind)
    first = found.reference()
    others = [found.column(dataset, "test") for dataset in found.datasets if dataset != REFERENCE]
    words = f"ranks by test accuracy at {found.full_budget} epochs"
    return _rank_pairs(found, [(first, other) for other in others], words)


def short_training_ranks(table: Table, kind: str = "all") -> pandas.DataFrame:
    """Return ranks by final test accuracy, and by validation accuracy after 12 epochs and at the end.

    The 12 epochs are a separate schedule. NAS-Bench-201 also shows epochs in the middle of the long schedule
    (`learning_curves.ranks_along_training`).

    Arguments and errors are as for `dataset_ranks`.

    Returns:
        `index`, `dataset`, `epochs` of the validation accuracy, `x_rank` by final test accuracy, `y_rank` by validation
        accuracy, and `n`. Columns that only some architectures have are left out.
    """
    found = Measurements(table, kind)
    budgets = [epochs for epochs in (SHORT, found.full_budget) if epochs in table.epochs]
    pairs = [
        (found.column(dataset, "test"), found.column(dataset, "validation", epochs))
        for dataset in found.datasets
        for epochs in budgets
    ]
    listed = " and ".join(map(str, budgets))
    words = f"ranks by test accuracy at {found.full_budget} epochs and by validation accuracy at {listed} epochs"
    middle = "are in ranks-along-training" if table.curves else "need training curves, not in this table"
    return _rank_pairs(found, pairs, words, f"epochs in the middle of a schedule {middle}")


def dataset_rank_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the ranks on each data set against those on CIFAR-10."""
    others = [dataset for dataset in drawn_datasets(frame) if dataset != REFERENCE]
    return [_panel(frame, dataset, "rank on CIFAR-10", f"rank on {DATASETS[dataset]}") for dataset in others]


def short_training_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the ranks by validation accuracy after each budget against those by final test accuracy."""
    labels = "rank by final test accuracy", "rank by validation accuracy"
    return [_panel(frame, dataset, *labels) for dataset in drawn_datasets(frame)]


def _panel(frame: pandas.DataFrame, dataset: str, x: str, y: str) -> Panel:
    """Return the ranks on a data set, one colour for each budget of the y axis, with Spearman's ρ in the title."""
    marks, title, shown = [], [DATASETS[dataset]], frame[frame["dataset"] == dataset]
    for epochs, of_epochs in shown.groupby("epochs"):
        [known] = [c for c in frame.attrs["correlations"] if (c["dataset"], c["epochs"]) == (dataset, epochs)]
        look: dict[str, Any] = {"label": f"{epochs} epochs", "marker": "o", "size": 1.4, "alpha": 0.35}
        title.append(f"{epochs} epochs: ρ = {coefficient_text(known['spearman'], 3)}, n = {known['n']:,}")
        marks.append(Series(of_epochs["x_rank"], of_epochs["y_rank"], **look))
    return Panel("\n".join(title), Axis(x), Axis(y), marks)


def _rank_pairs(found: Measurements, pairs: list[tuple[Column, Column]], words: str, *notes: str) -> pandas.DataFrame:
    """Return the ranks of each pair of columns that every architecture has."""
    whole = [pair for pair in pairs if all(column.n == len(found.rows) for column in pair)]
    if not whole:
        raise OutOfDomainError(
            f"the table {found.table.id} does not have two of these accuracies for all architectures: open another "
            "table"
        )
    frame = pandas.concat([_ranks(found, *pair) for pair in whole], ignore_index=True)
    columns = {(column.dataset, column.split, column.epochs): column for pair in pairs for column in pair}
    correlations = [_correlate(*pair) for pair in whole]
    frame.attrs = found.attributes(words, columns.values(), *notes, correlations=correlations)
    return frame


def _ranks(found: Measurements, x: Column, y: Column) -> pandas.DataFrame:
    ranks = {"x_rank": _rank(x.accuracy), "y_rank": _rank(y.accuracy)}
    return pandas.DataFrame({"index": found.indices, "dataset": y.dataset, "epochs": y.epochs, **ranks, "n": y.n})


def _correlate(x: Column, y: Column) -> dict[str, Any]:
    values = {"spearman": spearman(x.accuracy, y.accuracy), "kendall": kendall(x.accuracy, y.accuracy)}
    return {"dataset": y.dataset, "epochs": y.epochs, **values, "n": y.n}


def _rank(accuracy: Floats) -> Floats:
    """Return ranks (N,), 1 for the highest accuracy; equal accuracies share the mean of their ranks."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-accuracy))


# Rank correlations among all and among the best architectures ---------------------------------------------------------


def correlation_matrix(table: Table, shares: Sequence[float] = SHARES, kind: str = "all") -> pandas.DataFrame:
    """Return rank correlations of validation and test accuracies at the full budget, in subsets of the best networks.

    Args:
        table: a table of NAS-Bench-201 or NATS-Bench.
        shares: sizes of the subsets, as fractions of all architectures; the best by CIFAR-10 test accuracy are
            selected, and 1 selects all.
        kind: which architectures are included, a kind of the table's space.

    Accuracies that the table lacks entirely are left out.

    Returns:
        `share`, `architectures` in the subset, `a` and `b` (data set and split), `spearman`, `kendall` (τ-b), and `n`,
        how many of the subset have both accuracies. Coefficients are NaN where n is below 3.

    Raises:
        InvalidInputError: another benchmark's table, an unknown kind, or a share that is not above 0 and up to 1.
        OutOfDomainError: the table has no CIFAR-10 test accuracy.
    """
    if not shares or not all(0 < share <= 1 for share in shares):
        raise InvalidInputError(f"shares cannot be {tuple(shares)!r}: give shares above 0 and up to 1")
    found = Measurements(table, kind)
    every, order = found.columns(), _best_first(found.reference())
    columns = [column for column in every if column.n]
    subsets = {share: order[: max(round(share * len(order)), FEWEST)] for share in shares}
    pairs = list(combinations_with_replacement(columns, 2))
    rows = [_row(share, places, *pair) for share, places in subsets.items() for pair in pairs]
    frame = pandas.DataFrame(rows)
    words = f"rank correlation of accuracies at {found.full_budget} epochs"
    frame.attrs = found.attributes(words, every, "best: by CIFAR-10 test accuracy", kept=[c.name for c in columns])
    return frame


def matrix_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return a matrix for each share: Spearman's ρ above the diagonal, Kendall's τ-b below it, and n in every cell."""
    shares = frame.drop_duplicates("architectures")["share"]  # in a tiny table, several shares select the same subset
    return [_matrix(frame[frame["share"] == share], share, frame.attrs["kept"]) for share in shares]


def _matrix(shown: pandas.DataFrame, share: float, names: list[str]) -> Panel:
    grid = np.full((len(names), len(names)), np.nan)
    counts = np.zeros_like(grid, dtype=int)
    for row in shown.itertuples():
        i, j = names.index(str(row.a)), names.index(str(row.b))
        grid[i, j], grid[j, i] = row.spearman, (row.kendall if i != j else row.spearman)
        counts[i, j] = counts[j, i] = row.n
    texts = [
        [f"{coefficient_text(value)}\n{n:,}" for value, n in zip(*of, strict=True)]
        for of in zip(grid, counts, strict=True)
    ]
    labels = [tick_label(*name.rsplit(" ", 1)) for name in names]
    low = float(np.nanmin(grid, initial=0.0))
    matrix = Matrix(grid, texts, labels, labels, low=low, high=1, bar="rank correlation")
    what = "all" if share == 1 else f"best {100 * share:g} %"
    number = f"{what}: {shown['architectures'].iloc[0]:,} architectures"
    axis = Axis("")
    return Panel(f"{number}\nρ above the diagonal, τ-b below it, n in each cell", axis, axis, [matrix])


def _best_first(column: Column) -> NDArray[np.int64]:
    """Return the places of the architectures that have a value, most accurate first, ties by index."""
    order = np.argsort(-column.accuracy, kind="stable")
    return order[: column.n]  # NaN comes last


def _row(share: float, places: NDArray[np.int64], a: Column, b: Column) -> dict[str, Any]:
    both = places[(a.known & b.known)[places]]
    x, y = a.accuracy[both], b.accuracy[both]
    enough = len(both) >= FEWEST
    return {
        "share": share,
        "architectures": len(places),
        "a": a.name,
        "b": b.name,
        "spearman": spearman(x, y) if enough else float("nan"),
        "kendall": kendall(x, y) if enough else float("nan"),
        "n": len(both),
    }
