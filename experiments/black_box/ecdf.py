"""Distribution of the final regrets of repeated searches. NAS-Bench-101 (Ying et al. 2019), figure 7, right."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


def ecdf(values: Any) -> "pandas.DataFrame":
    """Return the empirical cumulative distribution function (ECDF) of N values.

    The columns are `value` (ascending) and `fraction`, the fraction of values up to and including `value`. Of rows with
    equal values, the last row has the correct fraction.
    """
    import pandas

    ascending = np.sort(np.asarray(values, np.float64))
    return pandas.DataFrame({"value": ascending, "fraction": np.arange(1, len(ascending) + 1) / len(ascending)})


def draw_ecdf(axes: "Axes", regrets: Any, *, floor: float, label: str, color: str) -> "Axes":
    """Draw the ECDF of final test regrets, given as fractions, in percent on a logarithmic axis; return the axes.

    Regrets below `floor`, a fraction, are drawn at `floor`, because a logarithmic axis cannot show zero.
    """
    from nasbench1shot1.display.axes import label_log_axis

    frame = ecdf(np.maximum(regrets, floor))
    axes.step(100 * frame["value"], frame["fraction"], where="post", color=color, linewidth=1.6, label=label)
    axes.set_xscale("log")
    label_log_axis(axes.xaxis)
    axes.set_xlabel("final test regret [%]")
    axes.set_ylabel("fraction of searches")
    axes.grid(alpha=0.25)
    return axes
