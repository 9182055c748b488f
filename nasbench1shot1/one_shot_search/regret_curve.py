"""Regret curves of one run or of several seeds: how good is the preferred architecture after every epoch?

The curves are drawn as in figure 2 of NAS-Bench-1Shot1. In spaces with operations on edges, the number of each
operation is drawn below the curves: when DARTS collapses on NAS-Bench-201, the number of skip connections grows (Dong
and Yang 2020, section 5).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import start_at_zero, use_whole_numbers
from nasbench1shot1.display.colours import BLACK, COLOURS, colours
from nasbench1shot1.display.curves import BAND_ALPHA, Spread, describe_band, pool_values
from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.captions import provenance, scale_text, table_text
from nasbench1shot1.one_shot_search.record import SearchRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nasbench1shot1.tables.table import Table

CURVES = ("test_regret", "validation_regret", "one_shot_validation_error")
WIDTH = 1.6
"""Width of all curves, in points."""
SHORT = 20
"""Number of characters from which the provenance in a legend has its own line."""
MEAN_LABEL, MEAN_COLOUR = "mean over the space", "#555555"
ELSEWHERE = "_test_regret"
"""Suffix of the columns with test regrets on other data sets (`Run.as_frame`)."""
OPERATION_COLOURS = {
    "none": "#d9d9d9",
    "skip_connect": "#c0392b",
    "nor_conv_1x1": "#7fb3d5",
    "nor_conv_3x3": "#1b6ca8",
    "avg_pool_3x3": "#e9c46a",
}


def regret_figure(
    runs: Sequence[SearchRecord],
    frames: Sequence[pandas.DataFrame],
    table: "Table",
    note: str = "",
    spread: Spread | None = None,
) -> "Figure":
    """Return the figure of one run or of several seeds of one configuration, with its scale and its table in words.

    The rows of axes share the epochs. They show the regrets and the mean regret of the space, the one-shot validation
    error if it is recorded, and, if architectures count them, the operations of the preferred architecture.

    Args:
        runs: the runs, for their configurations.
        frames: their metrics, perhaps scored on another table than they were searched with.
        table: the table behind `frames`.
        note: further text for the title.
        spread: what the bands show. Default: "ci", the 95 % confidence interval of the mean.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    by_epoch, config = anytime_regret(frames, spread), runs[0].config
    counts = operation_counts([frame["architecture"] for frame in frames])
    has_error = by_epoch["one_shot_validation_error_mean"].notna().any()
    heights = [3.0, *([2.0] if has_error else []), *([] if counts is None else [1.4])]
    figure = Figure(figsize=(7.2, 2.0 + 0.9 * sum(heights)), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    method = config["optimizer"]
    dataset = config.get("dataset")
    draw_anytime_regret(by_epoch, rows[0], method, len(runs), dataset, table)
    space = Architecture.parse(frames[0]["architecture"].iloc[0]).space
    if (mean_regret := mean_regret_of(space, dataset, table)) is not None:
        where = _dataset_text(by_epoch, dataset)
        draw_mean_regret(mean_regret, rows[0], f"{MEAN_LABEL}{where} ({percent(mean_regret)})")
    if has_error:
        draw_one_shot_error(by_epoch, rows[1], method, len(runs))
    if counts is not None:
        draw_operation_counts(counts.loc[by_epoch.index], rows[-1])
    above: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False}
    band = describe_band(spread, len(runs)) or None
    rows[0].legend(ncols=2 if _others(by_epoch) else 3, fontsize=8, handlelength=3, title=band, **above)
    rows[-1].set_xlabel("search epoch (0: before training)")
    figure.suptitle(_title(runs, frames, by_epoch, note, spread), fontsize=9)
    figure.supxlabel(table_text(frames, table.id, table.fidelity()), fontsize=7, color="#444444")
    return figure


def _title(
    runs: Sequence[SearchRecord],
    frames: Sequence[pandas.DataFrame],
    by_epoch: pandas.DataFrame,
    note: str,
    spread: Spread | None,
) -> str:
    config = runs[0].config
    seeds = f"seed {config['seed']}" if len(runs) == 1 else f"{len(runs)} seeds, {describe_band(spread)}"
    seeds += f"; {note}" if note else ""
    if any(len(frame) > len(by_epoch) for frame in frames):
        shortest = [run for run, frame in zip(runs, frames, strict=True) if len(frame) == len(by_epoch)]
        why = "where the first search ended" if all(run.is_finished for run in shortest) else "as some are unfinished"
        seeds += f"\nonly up to epoch {by_epoch.index[-1]}, {why}"
    elif not config.get("early_stopping") and by_epoch.index[-1] < config.get("epochs", 0):
        seeds += f", unfinished: epoch {by_epoch.index[-1]} of {config['epochs']}"
    return f"{config['optimizer']} on {config['space']}, {seeds}\n{scale_text([config])}"


def anytime_regret(frames: Sequence[pandas.DataFrame], spread: Spread | None = None) -> pandas.DataFrame:
    """Return mean and spread over runs, for every epoch that all runs have.

    Args:
        frames: `Run.metrics` of each run.
        spread: what the bands show. Default: "ci", the 95 % confidence interval of the mean.

    Returns:
        Indexed by epoch; for each of `CURVES`, and for the test regret of every other data set, the columns
        `<curve>_mean`, `<curve>_std` (of a sample, n - 1; 0 for one run), `<curve>_low` and `<curve>_high` (the band),
        as fractions; for both regrets `<curve>_measured`, the share of runs with a measured value behind it. Where a
        run has no value, the curve has a gap.
    """
    if not frames:
        raise InvalidInputError("no run is given: give at least one")
    epochs = min(frame["epoch"].max() for frame in frames)
    kept = [frame[frame["epoch"] <= epochs] for frame in frames]
    index = pandas.Index(kept[0]["epoch"], name="epoch")
    columns: dict[str, Any] = {}
    for curve in (*CURVES, *other_regrets(kept[0])):
        pooled = pool_values(index, np.stack([frame[curve].to_numpy(np.float64) for frame in kept]), spread=spread)
        found = pooled.frame
        deviation = found["std"] if pooled.has_band else found["std"].fillna(0.0)
        edges = {"mean": found["mean"], "std": deviation, "low": found["low"], "high": found["high"]}
        columns |= {f"{curve}_{name}": values.to_numpy() for name, values in edges.items()}
    frame, stacked = pandas.DataFrame(columns, index), pandas.concat(kept)
    for split in ("test", "validation"):
        known = stacked[f"{split}_measured"].astype(float).where(stacked[f"{split}_regret"].notna())
        frame[f"{split}_regret_measured"] = known.groupby(stacked["epoch"]).mean()
    return frame


def other_regrets(frame: pandas.DataFrame) -> list[str]:
    """Return the columns with test regrets on other data sets than the search's."""
    return [name for name in frame.columns if name.endswith(ELSEWHERE)]


def draw_anytime_regret(
    frame: pandas.DataFrame,
    axes: "Axes",
    method: str,
    runs: int = 1,
    dataset: str | None = None,
    table: "Table | None" = None,
) -> "Axes":
    """Draw the regrets that `anytime_regret` returned, in percent.

    The test regret has the method's colour. The validation regret is dashed and black, because the two often coincide.

    Args:
        frame: the return value of `anytime_regret`.
        axes: the axes to draw on.
        method: name of the optimizer.
        runs: number of runs; the bands of the test regrets are drawn if there are several.
        dataset: the data set of the search, named in the legend if the frame also has others.
        table: the table behind the regrets, which tells whether those on other data sets are measured.

    Returns:
        The axes.
    """
    colour = colours([method])[0]
    where = _dataset_text(frame, dataset)
    label = _label(frame, "test_regret", where)
    _draw(frame, "test_regret", axes, label, colour, has_band=runs > 1)
    free = [each for each in COLOURS if each not in (colour, BLACK)]
    for name, other in zip(_others(frame), free, strict=False):
        elsewhere = name.removesuffix(f"{ELSEWHERE}_mean")
        label = f"test regret on {elsewhere}{_source_elsewhere(table, elsewhere)}"
        _draw(frame, name.removesuffix("_mean"), axes, label, other, has_band=runs > 1)
    _draw(frame, "validation_regret", axes, _label(frame, "validation_regret", where), BLACK, linestyle="--")
    axes.set_ylabel("regret [%]")
    axes.grid(alpha=0.25)
    use_whole_numbers(axes.xaxis)
    return start_at_zero(axes)


def draw_one_shot_error(frame: pandas.DataFrame, axes: "Axes", method: str, runs: int = 1) -> "Axes":
    """Draw the one-shot validation error that `anytime_regret` returned, in percent; as in `draw_anytime_regret`."""
    _draw(frame, "one_shot_validation_error", axes, "", colours([method])[0], has_band=runs > 1)
    axes.set_ylabel("one-shot validation\nerror [%]")
    axes.grid(alpha=0.25)
    use_whole_numbers(axes.xaxis)
    return axes


def draw_mean_regret(mean: float, axes: "Axes", label: str = MEAN_LABEL) -> "Axes":
    """Draw the mean regret of a space, a fraction, as a dotted horizontal line; return the axes."""
    axes.axhline(100 * mean, color=MEAN_COLOUR, linestyle=":", linewidth=WIDTH, label=label, zorder=1)
    return start_at_zero(axes)


def mean_regret_of(space: str, dataset: str | None, table: "Table") -> float | None:
    """Return the mean test regret of the networks of a space, a fraction; None if the table does not have it.

    Args:
        space: the name of the space, as in the text of its architectures.
        dataset: the data set of the search. Default: the table's only one.
        table: the table that scores the search.
    """
    try:
        return table.mean_regret(space, dataset=table.objective(dataset).test)
    except UserError:  # a table without test accuracy, or of another space
        return None


def _draw(
    frame: pandas.DataFrame,
    curve: str,
    axes: "Axes",
    label: str,
    color: str,
    linestyle: str = "-",
    has_band: bool = False,
) -> None:
    mean = 100 * frame[f"{curve}_mean"]
    marker = "o" if mean.count() == 1 else ""  # a line with a single point would be invisible
    axes.plot(frame.index, mean, linestyle, color=color, label=label, linewidth=WIDTH, marker=marker)
    if has_band:
        low, high = (100 * frame[f"{curve}_{edge}"] for edge in ("low", "high"))
        axes.fill_between(frame.index, low, high, color=color, alpha=BAND_ALPHA, linewidth=0)


def _source_elsewhere(table: "Table | None", dataset: str) -> str:
    """Return in brackets whether the test regrets on another data set are measured; empty if that is unknown."""
    if table is None or dataset not in table.datasets:
        return ""
    objective = table.objective(dataset)
    return " (measured)" if table.is_measured(objective.test_metric, objective.test) else " (predicted)"


def _label(frame: pandas.DataFrame, regret: str, where: str) -> str:
    name = {"test_regret": "test regret", "validation_regret": "validation regret"}[regret] + where
    source = provenance(frame[f"{regret}_measured"])
    gap = "\n" if len(source) > SHORT else " "  # a legend of long lines is wider than the axes
    return f"{name}{gap}({source})"


def _others(by_epoch: pandas.DataFrame) -> list[str]:
    """Return the columns of `anytime_regret` with test regrets on other data sets."""
    return [name for name in by_epoch.columns if name.endswith(f"{ELSEWHERE}_mean")]


def _dataset_text(by_epoch: pandas.DataFrame, dataset: str | None) -> str:
    """Return the search's data set for labels; empty if no other data set has a curve."""
    return f" on {dataset}" if dataset and _others(by_epoch) else ""


def operation_counts(runs: Sequence[Iterable[str]]) -> pandas.DataFrame | None:
    """Return the mean number of edges with each operation, by epoch.

    Args:
        runs: for each run, the texts of its architectures, epoch 0 first.

    Returns:
        A frame with a row for every epoch that all runs have, and a column for each operation; None if the
        architectures do not count their operations.
    """
    counts = [[Architecture.parse(text).operation_counts() for text in texts] for texts in runs]
    if any(of_arch is None for of_run in counts for of_arch in of_run):
        return None
    epochs = min(map(len, counts))
    frames = [pandas.DataFrame(of_run[:epochs]) for of_run in counts]
    return sum(frames) / len(frames)  # type: ignore[return-value]


def draw_operation_counts(counts: pandas.DataFrame, axes: "Axes") -> "Axes":
    """Draw what `operation_counts` returned as stacked bars, with skip connections at the bottom."""
    from matplotlib.ticker import MaxNLocator

    bottom = pandas.Series(0.0, counts.index)
    for name in sorted(counts, key=lambda name: name != "skip_connect"):
        colour = OPERATION_COLOURS.get(str(name))  # None: the next colour of the axes
        axes.bar(counts.index, counts[name], 1.0, bottom, color=colour, label=str(name))
        bottom += counts[name]
    axes.set_xlabel("search epoch (0: before training)")
    axes.set_ylabel("edges")
    axes.set_xlim(counts.index.min() - 0.5, counts.index.max() + 0.5)
    axes.set_ylim(0, bottom.max())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.42), ncols=5, frameon=False, fontsize=7)
    return axes
