"""Figures of regret per search epoch.

Colours and line styles are safe for colour-blind readers:

- Curves of several methods have the methods' colours and lines (`display.colours`), which are equal in all figures.
- Two variants of one method, such as without and with cutout, both have the method's colour: the first is solid, the
  second dashed.
- More variants of one method are values of one option in ascending order, such as weight decays. They have the colours
  of a sequential colour map in that order, in all panels, because shades of the method's colour are too similar. Their
  lines differ, too, because these curves often coincide.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.display.axes import label_epochs, start_at_zero
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import LINES, METHODS, MOST_BANDS, curve_styles
from nasbench1shot1.display.curves import draw_curve
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.experiments.reproduction.figures.parts import Curve, Figure, Panel
from nasbench1shot1.experiments.reproduction.results.base import (
    Place,
    SearchResults,
    in_front,
    with_spread,
)
from nasbench1shot1.one_shot_search.captions import one_shot_error_text, provenance, scale_text
from nasbench1shot1.one_shot_search.regret_curve import (
    CURVES,
    MEAN_LABEL,
    MEAN_LOOK,
    AnytimeRegret,
    anytime_regret,
    draw_mean_regret,
)

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

REGRET, ERROR = "test_regret", "one_shot_validation_error"
Style = dict[str, Any]


class RegretCurves(SearchResults):
    """Mean and spread of test regret and one-shot error over seeds, for every curve and epoch."""

    HEADINGS = ("panel", "curve", "seeds", "final test regret", "one-shot error")

    @cached_property
    def curves(self) -> dict[Place, AnytimeRegret]:
        """The pooled regrets and errors of all curves."""
        return {place: anytime_regret(frames, self.spread) for place, frames in self.frames.items()}

    @cached_property
    def by_epoch(self) -> dict[Place, pandas.DataFrame]:
        """The drawn values: columns as in `AnytimeRegret.frame`, but without a standard deviation of one seed."""
        found = {place: curves.frame for place, curves in self.curves.items()}
        single = [frame for place, frame in found.items() if self.curves[place].runs == 1]
        for frame in single:
            frame[[f"{curve}_std" for curve in CURVES]] = float("nan")
        return found

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A row for every panel, curve and epoch: `seeds`, then the columns of `AnytimeRegret.frame`."""
        frames = [
            in_front(frame.reset_index(), panel=panel, curve=curve, seeds=len(self.frames[panel, curve]))
            for (panel, curve), frame in self.by_epoch.items()
        ]
        return pandas.concat(frames, ignore_index=True)

    def rows(self) -> list[list[str]]:
        """Return the last epoch of every curve: mean and standard deviation over its seeds."""
        found = []
        for place, frame in self.by_epoch.items():
            last = frame.iloc[-1]
            source = {0.0: " (predicted)", 1.0: ""}.get(float(last[f"{REGRET}_measured"]), " (partly predicted)")
            regret, error = (with_spread(last[f"{c}_mean"], last[f"{c}_std"]) for c in (REGRET, ERROR))
            found.append([*place, str(len(self.frames[place])), regret + source, error])
        return found

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: a column per panel, test regret in the upper row, one-shot error in the lower row.

        Panels share their axes. A dash-dot-dot line shows the mean regret of the space.
        """
        styles, is_cut = variant_styles(self.figure, colours), False
        columns, heights = len(self.by_panel), (3, 2)
        with Canvas(
            2, columns, panel=(max(3.6, 8 / columns), 2.8), heights=heights, sharex=True, sharey="row", style=style
        ) as canvas:
            for (panel, curves), column in zip(self.by_panel, canvas.grid.T, strict=True):
                column[0].set_title(panel.title)
                has_band = len(curves) <= MOST_BANDS
                for ax, quantity in zip(column, (REGRET, ERROR), strict=True):
                    for found in curves:
                        curve, line = self.curves[found.place].curves[quantity], styles[found.place]
                        draw_curve(ax, curve, label=found.curve.label, style=line, has_band=has_band)
                        is_cut |= curve.is_cut and has_band
                if (mean := self.mean_regret(curves)) is not None:
                    draw_mean_regret(mean, column[0])
            self._label(canvas)
            legend = legend_styles([(found.panel, found.curve) for found in self.found], styles)
            has_mean = any(line.get_label() == MEAN_LABEL for line in canvas.axes[0].get_lines())
            handles = {**legend, **({MEAN_LABEL: MEAN_LOOK} if has_mean else {})}
            band = self.band([len(curves) for _, curves in self.by_panel], is_cut)
            return canvas.finish(self._title(), self._caption(), legend=handles, band=band)

    def _label(self, canvas: Canvas) -> None:
        for ax in canvas.axes:
            ax.grid(alpha=0.25)
        for ax in canvas.grid[-1]:
            label_epochs(ax)
        start_at_zero(canvas.axes[0])
        measured = provenance(pandas.concat([frame[f"{REGRET}_measured"] for frame in self.by_epoch.values()]))
        canvas.grid[0, 0].set_ylabel(f"test regret [%]\n({measured})")
        canvas.grid[1, 0].set_ylabel(f"{one_shot_error_text([run.config for run in self.runs])} [%]")

    def _title(self) -> str:
        drawn = {found.curve.key: found.curve.label for found in self.found}
        part = "" if len(drawn) == len({c.key for _, c in self.figure.full.pairs()}) else ", ".join(drawn.values())
        return self.title(part, scale_text([run.config for run in self.runs]), self.size_text)

    def _caption(self) -> str:
        return self.caption(frames=self.all_frames)


# Colours and line styles ----------------------------------------------------------------------------------------------

MOST_OF_ONE_COLOUR = 2
"""Maximum number of variants that only differ in their lines."""
ORDERED = ("#440154", "#3f4889", "#27808e", "#2eb37c", "#a2da37")
"""Colours of ordered variants: the part of matplotlib's map viridis that is dark enough for lines on white."""
NEUTRAL = "#222222"
"""Colour in the legend of curves whose colours differ between panels."""


def variant_styles(figure: Figure, colours: Mapping[str, str] | None = None) -> dict[Place, Style]:
    """Return the arguments of `Axes.plot` for every curve of a whole figure, by the keys of panel and curve.

    Args:
        figure: the figure.
        colours: colours by the keys of curves, which replace the usual ones.
    """
    given = {key: {"color": colour} for key, colour in (colours or {}).items()}
    usual = _usual_styles(figure)
    return {(panel, curve): {**style, **given.get(curve, {})} for (panel, curve), style in usual.items()}


def _usual_styles(figure: Figure) -> dict[Place, Style]:
    pairs = figure.full.pairs()
    curves = {curve.key: curve for _, curve in pairs}
    order = list(curves)
    if all("optimizer" in curve.options for curve in curves.values()):
        methods = curve_styles([str(curve.options["optimizer"]) for curve in curves.values()])
        return {(panel.key, curve.key): methods[order.index(curve.key)] for panel, curve in pairs}
    return {(panel.key, curve.key): _variant(panel, order.index(curve.key), len(order)) for panel, curve in pairs}


def _variant(panel: Panel, rank: int, number: int) -> Style:
    """Return the style of a variant of a panel's method, by its rank among a number of variants."""
    if number <= MOST_OF_ONE_COLOUR:
        return {"color": METHODS[panel.options["optimizer"]], "linestyle": LINES[rank]}
    return {"color": ORDERED[rank], "linestyle": LINES[rank]}


def legend_styles(places: Sequence[tuple[Panel, Curve]], by_place: Mapping[Place, Style]) -> dict[str, Style]:
    """Return the style of every curve in a common legend of all panels, by the label of the curve."""
    found = dict[str, list[Style]]()
    for panel, curve in places:
        found.setdefault(curve.label, []).append(by_place[panel.key, curve.key])
    is_neutral = any(len({style["color"] for style in own}) > 1 for own in found.values())
    return {label: {**own[0], "color": NEUTRAL} if is_neutral else own[0] for label, own in found.items()}
