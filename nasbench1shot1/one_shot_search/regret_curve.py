"""How good is the architecture that a search prefers, epoch by epoch? Regret curves of one run or of several seeds.

The question of NAS-Bench-1Shot1's figure 2.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.one_shot_search.operation_counts import draw_operation_counts, operation_counts
from nasbench1shot1.one_shot_search.options import non_default_options
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.runs.options import flag
from nasbench1shot1.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 100  # characters that fit a title's width
CURVES = ("test_regret", "validation_regret", "one_shot_validation_error")
_STYLE = {
    "test_regret": ("test regret", "#1b6ca8", "-", 3.2),  # wide: validation regret often runs along it
    "validation_regret": ("validation regret", "#e07b39", "-", 1.3),
    "one_shot_validation_error": ("one-shot validation error", "#6b6b6b", "--", 1.5),
}
ELSEWHERE = "_test_regret"
"""Suffix of the columns with test regrets on other data sets (`Run.as_frame`)."""
_ELSEWHERE_COLOURS = ("#2a9d6f", "#8e5ea2", "#b8860b")


def anytime_regret(frames: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    """Mean and standard deviation over runs, for every epoch that all of them have.

    Args:
        frames: `Run.metrics` of each run.

    Returns:
        Indexed by epoch; for each of `CURVES` the columns `<curve>_mean` and `<curve>_std` (of a sample, n - 1; 0 for
        one run), fractions; for both regrets `<curve>_measured`, the share of runs with a measured value behind it;
        for every other data set `<data set>_test_regret_mean`. Runs whose architecture has no value do not count.
    """
    if not frames:
        raise InvalidInputError("there is no run to draw: give at least one")
    epochs = min(frame["epoch"].max() for frame in frames)
    stacked = pandas.concat([frame[frame["epoch"] <= epochs] for frame in frames])
    by_epoch = stacked.groupby("epoch")
    columns = {}
    for curve in CURVES:
        columns[f"{curve}_mean"] = by_epoch[curve].mean()
        columns[f"{curve}_std"] = by_epoch[curve].std(ddof=1).fillna(0.0)
    for name in other_regrets(stacked):
        columns[f"{name}_mean"] = by_epoch[name].mean()
    for split in ("test", "valid"):
        known = stacked[f"{split}_measured"].astype(float).where(stacked[f"{split}_regret"].notna())
        columns[f"{split}_regret_measured"] = known.groupby(stacked["epoch"]).mean()
    return pandas.DataFrame(columns)


def other_regrets(frame: pandas.DataFrame) -> list[str]:
    """Return the columns with test regrets on other data sets than the search's."""
    return [name for name in frame.columns if name.endswith(ELSEWHERE)]


def draw_anytime_regret(frame: pandas.DataFrame, axes: "Axes", runs: int = 1) -> "Axes":
    """Draw what `anytime_regret` gave: regrets in percent on the left axis, one-shot error dashed on the right."""
    from matplotlib.ticker import MaxNLocator

    right = axes.twinx()
    drawn = [_draw(frame, curve, right if curve == "one_shot_validation_error" else axes, runs) for curve in CURVES]
    for name, colour in zip(_others(frame), _ELSEWHERE_COLOURS, strict=False):
        label = f"test regret on {name.removesuffix(f'{ELSEWHERE}_mean')}"
        drawn += axes.plot(frame.index, 100 * frame[name], color=colour, linewidth=1.3, label=label)
    axes.set_xlabel("search epoch (0: before training)")
    axes.set_ylabel("regret [%]")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    right.set_ylabel("one-shot validation error [%]", color=_STYLE["one_shot_validation_error"][1])
    axes.legend(handles=drawn, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False, fontsize=8)
    return axes


def _others(by_epoch: pandas.DataFrame) -> list[str]:
    """Return the columns of `anytime_regret` with test regrets on other data sets."""
    return [name for name in by_epoch.columns if name.endswith(f"{ELSEWHERE}_mean")]


def regret_figure(
    runs: Sequence[Run], frames: Sequence[pandas.DataFrame], table_id: str, fidelity: str = ""
) -> "Figure":
    """The figure of one run or of several seeds of one configuration, with its scale and its table in words.

    Args:
        runs: the runs, for their configurations.
        frames: their metrics, perhaps scored on another table than they were searched with.
        table_id: the table behind `frames`.
        fidelity: what `Table.fidelity` says of it, for the caption.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    by_epoch, config = anytime_regret(frames), runs[0].config
    counts = operation_counts([frame["architecture"] for frame in frames])
    figure = Figure(figsize=(7.2, 4.8 if counts is None else 6.6), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    grid = figure.subplots(1 if counts is None else 2, squeeze=False, height_ratios=None if counts is None else [3, 1])
    axes = draw_anytime_regret(by_epoch, grid[0, 0], len(runs))
    if counts is not None:
        lower = draw_operation_counts(counts.loc[by_epoch.index], grid[1, 0])
        axes.set_xlim(lower.get_xlim())
    seeds = f"seed {config['seed']}"
    if len(runs) > 1:
        seeds = f"{len(runs)} seeds, mean ± standard deviation (validation: dotted)"
    if any(len(frame) > len(by_epoch) for frame in frames):
        seeds += f"\nonly up to epoch {by_epoch.index[-1]}, where the first of them ended"
    axes.set_title(f"{config['optimizer']} on {config['space']}, {seeds}\n{scale_text([config])}", fontsize=9)
    figure.supxlabel(table_text(frames, table_id, fidelity), fontsize=7, color="#444444")
    return figure


def _draw(frame: pandas.DataFrame, curve: str, axes: "Axes", runs: int) -> Any:
    name, colour, line, width = _STYLE[curve]
    mean, spread = 100 * frame[f"{curve}_mean"], 100 * frame[f"{curve}_std"]
    if runs > 1 and curve == "validation_regret":  # a second area over the test regret's would be unreadable
        for bound in (mean - spread, mean + spread):
            axes.plot(frame.index, bound, ":", color=colour, linewidth=1)
    elif runs > 1:
        axes.fill_between(frame.index, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
    label = name if curve == "one_shot_validation_error" else f"{name} ({provenance(frame[f'{curve}_measured'])})"
    return axes.plot(frame.index, mean, line, color=colour, label=label, linewidth=width)[0]


def provenance(measured: "pandas.Series[float]") -> str:
    """How far a curve is measured, in words, from the share of measured values in each of its points; NaN: no value."""
    share = float(measured.mean())
    if math.isnan(share):
        return "not in the table"
    if share == 0:
        return "predicted"
    return "measured" if share == 1 else f"{100 * share:.0f} % measured, else predicted"


def scale_text(configs: Sequence[Mapping[str, Any]]) -> str:
    """How large searches were, from their runs' configurations, and what departs in all of them, for captions."""
    config, *others = configs
    shrunk = f" at {side} × {side} pixels" if (side := config.get("image_side")) else ""
    size = (
        f"{config['scale']} scale: {counted(config['channels'], 'channel')} × {counted(config['cells'], 'cell')}, "
        f"{config['weight_images']:,} + {config['architecture_images']:,} images of {config['images']}{shrunk}, "
        f"preset {config['preset']}"
    )
    common = [
        (name, value)
        for name, value in non_default_options(config).items()
        if all(c.get(name) == value for c in others)
    ]
    options = ", ".join(f"{flag(name)}\N{NO-BREAK SPACE}{value}" for name, value in common)
    return "\n".join([size, *textwrap.wrap(options, LINE, break_on_hyphens=False)])


def table_text(frames: Sequence[pandas.DataFrame], table_id: str, fidelity: str = "") -> str:
    """What the values are worth, for captions; arguments as in `regret_figure`."""
    known = list(map(_in_table, frames))
    measured = all(frame["test_measured"].all() for frame in known)
    said = f"table {table_id}" + ("" if measured else "; values called predicted are estimates, not measurements")
    if missing := sum(map(len, frames)) - sum(map(len, known)):
        said += f"; {missing:,} of {sum(map(len, frames)):,} architectures are not in it"
    return f"{said}\n{fidelity}" if fidelity else said  # on one line both are wider than the figure


def _in_table(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the epochs whose architecture the table has: it knows one of its errors."""
    errors = frame.columns.intersection(["table_validation_error", "table_test_error"])
    return frame[frame[errors].notna().any(axis=1)] if len(errors) else frame
