"""Rank correlations between validation and test accuracies of three data sets.

NAS-Bench-201's figure 4 and NATS-Bench's figure 5: all architectures, and only the best.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.experiments.rank_correlation import kendall, spearman
from nasbench1shot1.experiments.space_statistics.analysis import finish
from nasbench1shot1.experiments.space_statistics.nasbench201.measurements import Column, Measurements, tick_label
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES = (1.0, 0.2, 0.05, 0.01)
_FEWEST = 3
"""Two architectures correlate perfectly."""


def correlation_matrix(table: Table, shares: Sequence[float] = SHARES, kind: str = "all") -> pandas.DataFrame:
    """Return rank correlations of validation and test accuracies at the full budget, in subsets of the best networks.

    Args:
        table: a table of NAS-Bench-201.
        shares: sizes of the subsets, as fractions of all architectures; the best by CIFAR-10 test accuracy are
            selected, and 1 selects all.
        kind: which architectures are included, a kind of the space nb201.

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
    columns, order = found.columns(), _best_first(found.reference())
    subsets = {share: order[: max(round(share * len(order)), _FEWEST)] for share in shares}
    pairs = list(combinations_with_replacement(columns, 2))
    rows = [_row(share, places, *pair) for share, places in subsets.items() for pair in pairs]
    frame = pandas.DataFrame(rows)
    words = f"rank correlation of accuracies at {found.full_budget} epochs"
    frame.attrs = found.attributes(words, columns, "best: by CIFAR-10 test accuracy", kept=[c.name for c in columns])
    return frame


def plot_correlation_matrix(frame: pandas.DataFrame, ax: "Axes | None" = None, *, share: float = 1.0) -> "Axes":
    """Draw a matrix: Spearman's ρ above the diagonal, Kendall's τ-b below it, and n in every cell."""
    axes, shown = axes_or_new(ax), frame[frame["share"] == share]
    names = frame.attrs["kept"]
    place = {name: i for i, name in enumerate(names)}
    grid = np.full((len(names), len(names)), np.nan)
    counts = np.zeros_like(grid, dtype=int)
    for row in shown.itertuples():
        i, j = place[row.a], place[row.b]
        grid[i, j], grid[j, i] = row.spearman, (row.kendall if i != j else row.spearman)
        counts[i, j] = counts[j, i] = row.n
    image = axes.imshow(grid, cmap="cividis", vmin=min(0.0, float(np.nanmin(frame["kendall"]))), vmax=1)
    axes.figure.colorbar(image, ax=axes, shrink=0.8)
    for (i, j), value in np.ndenumerate(grid):
        text = f"{value:.2f}\n{counts[i, j]:,}" if np.isfinite(value) else f"–\n{counts[i, j]:,}"
        dark = np.isfinite(value) and value < 0.5
        axes.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    labels = [tick_label(*name.rsplit(" ", 1)) for name in names]
    axes.set_xticks(range(len(names)), labels, fontsize=7)
    axes.set_yticks(range(len(names)), labels, fontsize=7)
    architectures = int(shown["architectures"].iloc[0])
    what = "all" if share == 1 else f"best {100 * share:g} %"
    finish(axes, frame, f"{what}: {architectures:,} architectures\nρ above the diagonal, τ-b below it, n in each cell")
    axes.grid(visible=False)
    return axes


def _best_first(column: Column) -> NDArray[np.int64]:
    """Return the places of the architectures that have a value, most accurate first, ties by index."""
    order = np.argsort(-column.accuracy, kind="stable")
    return order[: column.n]  # NaN comes last


def _row(share: float, places: NDArray[np.int64], a: Column, b: Column) -> dict[str, Any]:
    both = places[(a.known & b.known)[places]]
    x, y = a.accuracy[both], b.accuracy[both]
    enough = len(both) >= _FEWEST
    return {
        "share": share,
        "architectures": len(places),
        "a": a.name,
        "b": b.name,
        "spearman": spearman(x, y) if enough else float("nan"),
        "kendall": kendall(x, y) if enough else float("nan"),
        "n": len(both),
    }
