"""Regret curves of one run or of several seeds: how good is the preferred architecture after every epoch?

The curves are drawn as in figure 2 of NAS-Bench-1Shot1. In spaces with operations on edges, the number of each
operation is drawn below the curves: when DARTS collapses on NAS-Bench-201, the number of skip connections grows (Dong
and Yang 2020, section 5).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import label_epochs, start_at_zero, use_whole_numbers
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import BLACK, Colors, checked_colors, curve_styles, data_set_styles, main_first
from nasbench1shot1.display.curves import OF_A_SHARE, Pooled, describe_band, draw_curve, draw_level, pool_values
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.layout import in_two_lines
from nasbench1shot1.display.marked_networks import draw_marked
from nasbench1shot1.display.style import AnyStyle, Spread, tone, tones
from nasbench1shot1.evaluator import Baseline, mean_regret_of
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.captions import (
    one_shot_error_text,
    provenance,
    regret_caption,
    regret_title,
    source_elsewhere,
)
from nasbench1shot1.one_shot_search.entropy import entropies
from nasbench1shot1.one_shot_search.events import decision_epochs, describe_events, phase_names, phase_starts
from nasbench1shot1.one_shot_search.record import SearchRecord, known_space
from nasbench1shot1.reference_points import Asked, marked_regrets

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure
    from nasbench1shot1.tables.table import Table

TEST, VALIDATION, ERROR = CURVES = ("test_regret", "validation_regret", "one_shot_validation_error")
SHORT = 20
"""Number of characters from which the provenance in a legend has its own line."""
MEAN_LABEL, MEAN_WITHIN, MEAN_COLOUR = "mean over the space", "mean within the bounds", "#555555"
MEAN_IN_TABLE = "mean over the networks in the table"
"""The name of the mean regret if the table lacks networks of the space."""
ENTROPY_TEXT = "entropy of mixing weights: mean over the choices; 1: equal weights, 0: one entry has all the weight"
MEAN_LOOK: dict[str, Any] = {"color": MEAN_COLOUR, "linestyle": (0, (7, 2, 1, 2, 1, 2)), "linewidth": 1.2}
"""Properties of the line of a mean over the space, here and in legends. Nothing else has these dashes."""
ABOVE_EDGE = 0.04
"""Height of triangles, as a share of the height of axes, so that the lower edge does not hide them."""
MAIN_WIDTH, OTHER_WIDTH = 2.2, 1.1
"""Widths of the curve of the search's data set, and of the curves of other data sets, in points."""
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
    style: AnyStyle | None = None,
    mark: Iterable[Asked] | None = None,
) -> "Figure":
    """Return the figure of one run or of several seeds of one configuration, with its scale and its table in words.

    The rows of axes share the epochs. They show the regrets and the mean regret of the space, the one-shot validation
    error if it is recorded, the entropy of the mixing weights if Λ is learned, and, if architectures count them, the
    operations of the preferred architecture. Vertical
    lines show where phases begin, and triangles the epochs with decisions (`draw_events`).

    Args:
        runs: the runs, for their configurations.
        frames: their metrics, perhaps scored on another table than they were searched with.
        table: the table behind `frames`.
        note: further text for the title.
        spread: what the bands show. Default: "ci", the 95 % confidence interval of the mean.
        style: "screen" (default), or as in `style.AnyStyle`.
        mark: networks whose test regret is a horizontal line (`reference_points.reference_points`). Default: none.

    Raises InvalidInputError if `mark` names something that is not a network of the table's benchmark.
    """
    found, config = anytime_regret(frames, spread), runs[0].config
    entropy = entropies(runs, found.frame.index.tolist())
    counts = operation_counts([frame["architecture"] for frame in frames])
    heights = [
        3.0,
        *([2.0] if found.has_error else []),
        *([] if entropy is None else [1.4]),
        *([] if counts is None else [1.4]),
    ]
    panel = (7.2, 0.35 + 0.9 * sum(heights) / len(heights))
    with Canvas(len(heights), panel=panel, heights=heights, style=style, sharex=True) as canvas:
        method, dataset, rows = config["optimizer"], config.get("dataset"), canvas.axes
        draw_anytime_regret(found, rows[0], method, dataset, table)
        baseline = draw_references(runs[0], frames[0], table, rows[0], found.where(dataset))
        regrets = marked_regrets(mark, table, runs[0])
        start_at_zero(draw_marked(rows[0], regrets.levels()))
        if found.has_error:
            draw_one_shot_error(found, rows[1], method, name=one_shot_error_text([run.config for run in runs]))
        if entropy is not None:
            pooled = pool_values(found.frame.index, entropy, spread=spread, limits=OF_A_SHARE)
            draw_entropy(pooled, rows[1 + found.has_error], method)
        if counts is not None:
            draw_operation_counts(counts.loc[found.frame.index], rows[-1])
        draw_events(frames, config, rows[: 1 + found.has_error + (entropy is not None)])
        band = describe_band(spread, len(runs), is_cut=found.is_cut)
        label_epochs(rows[-1])
        sentences = ["" if entropy is None else ENTROPY_TEXT, baseline.sentence if baseline else "", regrets.note]
        caption = regret_caption(runs, frames, len(found.frame), table, sentences)
        return canvas.finish(regret_title(runs, frames, len(found.frame), note), caption, legend=True, band=band)


@dataclass(frozen=True, eq=False)
class AnytimeRegret:
    """The regrets and errors of several runs of one configuration, after every epoch that all of them have.

    Attributes:
        curves: the pooled values, as fractions: of each of `CURVES`, and of the test regret on every other data set.
            Where a run has no value, the curve has a gap.
        measured: for both regrets, the share of runs with a measured value behind each epoch.
    """

    curves: Mapping[str, Pooled]
    measured: "Mapping[str, pandas.Series[float]]"

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.curves[TEST].runs

    @property
    def is_cut(self) -> bool:
        """Whether a band of the picture would reach below zero and was cut there."""
        return any(curve.is_cut for name, curve in self.curves.items() if name != VALIDATION)  # which is not drawn

    @property
    def has_error(self) -> bool:
        """Whether one-shot errors are recorded."""
        return bool(np.isfinite(self.curves[ERROR].centre).any())

    @property
    def has_validation(self) -> bool:
        """Whether validation regrets are known."""
        return bool(np.isfinite(self.curves[VALIDATION].centre).any())

    @property
    def others(self) -> list[str]:
        """The other data sets with test regrets."""
        return [name.removesuffix(ELSEWHERE) for name in self.curves if name.endswith(ELSEWHERE)]

    def where(self, dataset: str | None) -> str:
        """Return the search's data set for labels; empty if no other data set has a curve."""
        return f" on {dataset}" if dataset and self.others else ""

    @property
    def frame(self) -> pandas.DataFrame:
        """A data frame indexed by epoch.

        For each curve, it has the columns `<curve>_mean`, `<curve>_std` (of a sample, n - 1; 0 for one run),
        `<curve>_low` and `<curve>_high` (the band); for both regrets, `<curve>_measured`.
        """
        columns: dict[str, Any] = {}
        for name, curve in self.curves.items():
            found = curve.frame if curve.has_band else curve.frame.fillna({"std": 0.0})
            columns |= {f"{name}_{of}": found[of].to_numpy() for of in ("mean", "std", "low", "high")}
        frame = pandas.DataFrame(columns, pandas.Index(self.curves[TEST].at.astype(int), name="epoch"))
        return frame.assign(**{f"{name}_measured": share for name, share in self.measured.items()})


def anytime_regret(frames: Sequence[pandas.DataFrame], spread: Spread | None = None) -> AnytimeRegret:
    """Pool the metrics of several runs.

    Args:
        frames: `Run.metrics` of each run.
        spread: what the bands show. Default: "ci", the 95 % confidence interval of the mean.

    Raises InvalidInputError if there is no run.
    """
    if not frames:
        raise InvalidInputError("no run is given: give at least one")
    last = min(frame["epoch"].max() for frame in frames)
    kept = [frame[frame["epoch"] <= last] for frame in frames]
    names = [*CURVES, *other_regrets(kept[0])]
    values = {name: np.stack([frame[name].to_numpy(np.float64) for frame in kept]) for name in names}
    epochs = kept[0]["epoch"]
    curves = {name: pool_values(epochs, found, spread=spread, limits=OF_A_SHARE) for name, found in values.items()}
    stacked = pandas.concat(kept)
    known = {name: stacked[name.replace("regret", "measured")].astype(float) for name in (TEST, VALIDATION)}
    shares = {name: flags.where(stacked[name].notna()) for name, flags in known.items()}
    return AnytimeRegret(curves, {name: flags.groupby(stacked["epoch"]).mean() for name, flags in shares.items()})


def other_regrets(frame: pandas.DataFrame) -> list[str]:
    """Return the columns with test regrets on other data sets than the search's."""
    return [name for name in frame.columns if name.endswith(ELSEWHERE)]


def draw_anytime_regret(
    found: AnytimeRegret,
    axes: "Axes",
    method: str,
    dataset: str | None = None,
    table: "Table | None" = None,
    *,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
) -> "Axes":
    """Draw regrets in percent: on the search's test data, on those of other data sets, and on its validation data.

    The test regret has the method's colour, dashes and marker. Test regrets on other data sets have thinner lines, and
    colours that no method has. The validation regret is dashed and black, because the two often
    coincide. It has no band, and is left out if the table has no validation accuracies.

    Args:
        found: the regrets.
        axes: the axes to draw on.
        method: name of the optimizer.
        dataset: the data set of the search, named in the legend if there are others.
        table: the table behind the regrets, which tells whether those on other data sets are measured.
        colors: the colour of the test regret, a colour per curve, or colours by label, by `method`, by data set, or
            for "validation". Default: see above.
        labels: the label of the test regret, or a label per curve.

    Returns:
        The axes.
    """
    where = found.where(dataset)
    default = [_label(found, TEST, where)]
    default += [f"test regret on {other}{source_elsewhere(table, other)}" for other in found.others]
    drawn = [TEST, *(f"{other}{ELSEWHERE}" for other in found.others)]
    if found.has_validation:
        default.append(_label(found, VALIDATION, where))
        drawn.append(VALIDATION)
    shown = main_first(labels, default)
    for name, label, style in zip(drawn, shown, _styles(found, method, colors, shown), strict=True):
        draw_curve(axes, found.curves[name], label=label, style=style, has_band=name != VALIDATION)
    axes.set_ylabel("regret [%]")
    return start_at_zero(_over_epochs(axes))


def _styles(
    found: AnytimeRegret, method: str, colors: Colors | None, labels: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the styles of the curves on the search's test data, on other data sets and on its validation data."""
    main = {**curve_styles([method])[0], "linewidth": MAIN_WIDTH}
    others = [{**look, "linewidth": OTHER_WIDTH} for look in data_set_styles(found.others)]
    styles, names = [main, *others], [method, *found.others]
    if found.has_validation:
        styles.append({"color": BLACK, "linestyle": "--"})
        names.append("validation")
    given = checked_colors({method: colors} if isinstance(colors, str) else colors, names, labels)
    return [{**style, "color": colour or style["color"]} for style, colour in zip(styles, given, strict=True)]


def draw_one_shot_error(
    found: AnytimeRegret,
    axes: "Axes",
    method: str,
    *,
    colors: Colors | None = None,
    labels: Sequence[str] | None = None,
    name: str = "one-shot validation error",
) -> "Axes":
    """Draw the one-shot error in percent; other arguments as in `draw_anytime_regret`.

    `name` describes the error (`captions.one_shot_error_text`).
    """
    draw_curve(axes, found.curves[ERROR], label="", style=_styles(found, method, colors, labels)[0])
    axes.set_ylabel(in_two_lines(f"{name} [%]"))
    return _over_epochs(axes)


def draw_entropy(entropy: Pooled, axes: "Axes", method: str) -> "Axes":
    """Draw the relative entropy of the mixing weights (`entropy.relative_entropy`) over the epochs, from 0 to 1."""
    draw_curve(axes, entropy, label="", style=curve_styles([method])[0], scale=1)
    axes.set_ylabel("entropy of\nweights")
    axes.set_ylim(0, 1.04)
    return _over_epochs(axes)


def draw_events(frames: Sequence[pandas.DataFrame], config: Mapping[str, Any], rows: "Sequence[Axes]") -> None:
    """Mark where phases begin, with vertical lines, and epochs with decisions, with triangles at the lower edge.

    A line precedes every phase except the first, whose name is written without a line. A triangle is at the first
    epoch whose architecture takes a decision into account. The decisions of several runs are drawn together. Their
    label names what happened: decisions, exclusions or frozen operations.

    Args:
        frames: the metrics of the runs.
        config: the configuration of one of them.
        rows: axes over epochs; the first one gets the names of phases, the triangles, and their label in its legend.
    """
    last = min(int(frame["epoch"].max()) for frame in frames)
    longest = max(frames, key=len)
    starts = phase_starts(phase_names(longest, config.get("warm_start_epochs") or 0))
    for epoch, name in starts.items():
        if epoch > last:
            continue
        for axes in rows if epoch > 1 else ():
            axes.axvline(epoch - 0.5, color=tone(MEAN_COLOUR), linewidth=0.8, zorder=0.5)
        place: dict[str, Any] = {
            "xy": (epoch - 0.5, 1),
            "xycoords": rows[0].get_xaxis_transform(),
            "textcoords": "offset points",
        }
        style: dict[str, Any] = {"rotation": 90, "va": "top", "ha": "left", "fontsize": "x-small"}
        style["color"] = tone(MEAN_COLOUR)
        style["bbox"] = {"facecolor": tone("white"), "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
        rows[0].annotate(name, xytext=(2, -3), **place, **style)
    decided = sorted({epoch for frame in frames for epoch in decision_epochs(frame) if epoch <= last})
    if decided:
        look: dict[str, Any] = {"marker": "^", "linestyle": "", "color": tone(MEAN_COLOUR), "markersize": 6}
        across = rows[0].get_xaxis_transform()
        heights, label = [ABOVE_EDGE] * len(decided), describe_events(frames, known_space(config["space"]))
        rows[0].plot(decided, heights, transform=across, label=label, zorder=3, **look)
        note_drawn(rows[0], "points", label, x=decided)


def _over_epochs(axes: "Axes") -> "Axes":
    axes.grid(alpha=0.25)
    use_whole_numbers(axes.xaxis)
    return axes


def draw_mean_regret(mean: float, axes: "Axes", label: str = MEAN_LABEL) -> "Axes":
    """Draw the mean regret of a space, a fraction, as a dash-dot-dot horizontal line; axes start at zero."""
    return start_at_zero(draw_mean(axes, 100 * mean, label))


def mean_name(baseline: Baseline | None, is_partial: bool) -> str:
    """Return the name of the mean regret in legends: of a space, of its networks in the table, or within bounds.

    Args:
        baseline: the baseline of the runs.
        is_partial: whether the table may lack networks of the space.
    """
    if baseline is not None and baseline.bounds is not None:
        return MEAN_WITHIN
    return MEAN_IN_TABLE if is_partial else MEAN_LABEL


def draw_mean(axes: "Axes", value: float, label: str) -> "Axes":
    """Draw a mean over a space, in the unit of the axes, as a horizontal line; return the axes."""
    axes.axhline(value, **tones(MEAN_LOOK), label=label, zorder=1)
    note_drawn(axes, "level", label, y=value)
    return axes


def draw_references(
    run: SearchRecord, frame: pandas.DataFrame, table: "Table", axes: "Axes", where: str = ""
) -> Baseline | None:
    """Draw the mean test regret of the space, within the bounds of a search if it has any, and its baseline.

    Args:
        run: the search.
        frame: its metrics.
        table: the table behind `frame`; without the mean, only the baseline is drawn.
        axes: the axes to draw on.
        where: as in `Baseline.label`.

    Returns:
        The baseline, if the search has one.
    """
    space = Architecture.parse(frame["architecture"].iloc[0]).space
    baseline = baseline_of(run.baseline, run.config, table, space)
    within = None if baseline is None else baseline.bounds
    if (mean := mean_regret_of(space, run.config.get("dataset"), table, within)) is not None:
        draw_mean_regret(mean, axes, f"{mean_name(baseline, table.is_partial)}{where} ({percent(mean)})")
    draw_largest(baseline, axes, where)
    return baseline


def draw_largest(baseline: Baseline | None, axes: "Axes", where: str = "") -> "Axes":
    """Draw the test regret of a run's baseline in percent, if it has one that is known; return the axes.

    `where` is as in `Baseline.label`.
    """
    if baseline is None or baseline.test_regret is None:
        return axes
    label = baseline.label(percent(baseline.test_regret), baseline.source, where)
    draw_level(axes, 100 * baseline.test_regret, label)
    return start_at_zero(axes)


def baseline_of(recorded: Baseline | None, config: Mapping[str, Any], table: "Table", space: str) -> Baseline | None:
    """Return the baseline of a search or study on a table: the recorded one, unless the run had another table.

    None if the run has none, or as in `Baseline.of`.

    Args:
        recorded: the run's baseline.
        config: the run's configuration.
        table: the table that scores it.
        space: the name of the space, as in the text of its architectures.

    Raises UserError if the table does not have the costs of the run's bounds.
    """
    if recorded is None or config["table_id"] == table.id:
        return recorded
    return Baseline.of(space, table, recorded.bounds, config["dataset"])


def _label(found: AnytimeRegret, regret: str, where: str) -> str:
    source = provenance(found.measured[regret])
    gap = "\n" if len(source) > SHORT else " "  # a legend of long lines is wider than the axes
    return f"{regret.replace('_', ' ')}{where}{gap}({source})"


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
    bottom = pandas.Series(0.0, counts.index)
    for name in sorted(counts, key=lambda name: name != "skip_connect"):
        colour = OPERATION_COLOURS.get(str(name))  # None: the next colour of the axes
        axes.bar(counts.index, counts[name], 1.0, bottom, color=colour and tone(colour), label=str(name))
        note_drawn(axes, "bars", str(name), x=counts.index, y=counts[name])
        bottom += counts[name]
    label_epochs(axes)
    axes.set_ylabel("edges")
    axes.set_xlim(counts.index.min() - 0.5, counts.index.max() + 0.5)
    axes.set_ylim(0, bottom.max())
    use_whole_numbers(axes.yaxis)
    return axes
