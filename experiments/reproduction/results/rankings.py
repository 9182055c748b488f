"""Figure 3 of NAS-Bench-1Shot1: rank correlation of one-shot and true errors by search epoch."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.display.axes import label_epochs
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.charts import shifts
from nasbench1shot1.display.colours import curve_styles
from nasbench1shot1.display.curves import OF_A_CORRELATION, Pooled, describe_band, pool_values
from nasbench1shot1.display.style import AnyStyle, tone, tones
from nasbench1shot1.experiments.correlation.recomputed import spearman_by_epoch
from nasbench1shot1.experiments.correlation.truth import headline_place, places, rows_at
from nasbench1shot1.experiments.reproduction.results.base import CurveResults, Found, with_spread
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.captions import scale_text
from nasbench1shot1.one_shot_search.record import open_search
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

LABELS = {"error": "ρ of one-shot error", "loss": "ρ of one-shot loss"}
KEYS, GROUP = ["epoch", "budget", "split"], ["panel", "curve", "budget", "split"]
OF_CURVE = ("mean", "std", "low", "high")
"""Columns of `Pooled.frame` that the CSV file has."""
Group = tuple[str, str, int, str]
"""Values of the columns `GROUP`."""


class RankingCurves(CurveResults):
    """Spearman's ρ of all finished rankings, scored on one table."""

    HEADINGS = ("panel", "curve", "seeds", "epoch", *(f"ρ of {name}" for name in LABELS))
    SMALL = "so small searches and samples only demonstrate the study; they do not show which method ranks better"

    @cached_property
    def correlations(self) -> pandas.DataFrame:
        """Spearman's ρ of every run: panel, curve, run, then the columns of `spearman_by_epoch`."""
        frames = {
            (*found.place, number): spearman_by_epoch(run, self.table)
            for found in self.found
            for number, run in enumerate(found.runs)
        }
        return pandas.concat(frames, names=["panel", "curve", "run"]).reset_index(["panel", "curve", "run"])

    @cached_property
    def curves(self) -> dict[Group, dict[str, Pooled]]:
        """Spearman's ρ over the epochs, pooled over seeds: by the keys of `LABELS`, for each panel, curve and place."""
        found = dict[Group, dict[str, Pooled]]()
        for group, own in self._groups():
            by_name = {name: own.pivot(index="run", columns="epoch", values=f"spearman_{name}") for name in LABELS}
            found[group] = {
                name: pool_values(values.columns, values, spread=self.spread, limits=OF_A_CORRELATION)
                for name, values in by_name.items()
            }
        return found

    def _groups(self) -> Iterator[tuple[Group, pandas.DataFrame]]:
        """Yield the correlations of each panel, curve and place."""
        for key, own in self.correlations.groupby(GROUP, sort=False):
            panel, curve, budget, split = map(str, key)
            yield (panel, curve, int(budget), split), own

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row per panel, curve, epoch, budget and split.

        Further columns: number of `seeds`; `n`, the number of architectures; `measured`, the fraction of their true
        errors that are measured; and, for Spearman's ρ of error and of loss, mean, standard deviation (NaN for one
        seed) and both ends of the band over seeds. All four are NaN if the correlation of a seed is undefined.
        """
        frames = []
        for group, own in self._groups():
            panel, curve_key, budget, split = group
            groups = own.groupby("epoch")
            columns = {"seeds": groups["run"].nunique(), "n": groups["n"].mean(), "measured": groups["measured"].mean()}
            frame = pandas.DataFrame(columns).reset_index()
            frame = frame.assign(panel=panel, curve=curve_key, budget=budget, split=split)
            for name, curve in self.curves[group].items():
                frame[[f"spearman_{name}_{of}" for of in OF_CURVE]] = curve.frame[list(OF_CURVE)]
            frames.append(frame)
        stacked, order = pandas.concat(frames), [found.place for found in self.found]
        places = [order.index(place) for place in zip(stacked["panel"], stacked["curve"], strict=True)]
        stacked = stacked.assign(place=places).sort_values(["place", *KEYS]).reset_index(drop=True)
        values = [f"spearman_{name}_{of}" for name in LABELS for of in OF_CURVE]
        return stacked[["panel", "curve", "seeds", *KEYS, "n", "measured", *values]]

    @property
    def headline(self) -> pandas.DataFrame:
        """The rows at `headline_place`."""
        return rows_at(self.frame, headline_place(places(self.frame)))

    def rows(self) -> list[list[str]]:
        """Return the correlations at the last epoch."""
        found = []
        for (panel, curve), own in self.headline.groupby(["panel", "curve"], sort=False):
            last = own.iloc[-1]
            names = (f"spearman_{name}" for name in LABELS)
            values = [with_spread(last[f"{n}_mean"], last[f"{n}_std"], 3, 1, "") for n in names]
            found.append([str(panel), str(curve), str(last["seeds"]), str(last["epoch"]), *values])
        return found

    def notes(self) -> list[str]:
        """Return the meaning of ρ."""
        row, source = self.headline.iloc[0], source_text(float(self.headline["measured"].mean()), digits=1)
        return [f"ρ: Spearman's ρ with true {row['split']} errors after {row['budget']} epochs, {source}"]

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: one column per space, one line per optimizer; errors in the upper row, losses below."""
        styles = dict(zip(self.labels, curve_styles(list(self.labels), colours), strict=True))
        legend = {label: {**styles[key], **MARKS} for key, label in self.labels.items()}
        columns, ranked = len(self.by_panel), np.unique(self.frame["epoch"])
        with Canvas(
            len(LABELS), columns, panel=(max(3.4, 7.6 / columns), 2.7), sharex=True, sharey=True, style=style
        ) as canvas:
            for line, predictor in zip(canvas.grid, LABELS, strict=True):
                for ax, (_, own) in zip(line, self.by_panel, strict=True):
                    self._draw_panel(ax, own, predictor, styles)
                line[0].set_ylabel(LABELS[predictor])
            for ax, (panel, _) in zip(canvas.grid[0], self.by_panel, strict=True):
                ax.set_title(panel.title)
            for ax in canvas.grid[-1]:
                label_epochs(ax)
                ax.set_xlabel("search epoch")
                ax.set_xticks(ranked[:: -max(1, -(-len(ranked) // MOST_TICKS))][::-1])
            band = describe_band(self.spread, self.numbers_of_runs, self.pooling.over)
            return canvas.finish(self._title(), self._caption(), legend=legend, band=band)

    def _draw_panel(
        self, ax: "axes.Axes", curves: Sequence[Found], predictor: str, styles: Mapping[str, dict[str, Any]]
    ) -> None:
        place = headline_place(places(self.frame))
        drawn = [self.curves[(*found.place, *place)][predictor] for found in curves]
        epochs = np.concatenate([curve.at for curve in drawn])
        for found, curve, shift in zip(curves, drawn, shifts(epochs, len(curves)), strict=True):
            style = {**styles[found.curve.key], **MARKS}
            ax.plot(curve.at + shift, curve.centre, **tones(style))
            if curve.has_band:
                ax.vlines(curve.at + shift, curve.low, curve.high, color=tone(style["color"]), alpha=0.5)
        ax.axhline(0, color=tone("black"), linewidth=0.6)
        ax.grid(alpha=0.25)

    def _title(self) -> str:
        configs = [open_search(run.folder.parents[2] / run.searched_job).config for run in self.runs]
        size = f"{counted(configs[0]['epochs'], 'epoch')}, {self.seeds_text}"
        return self.title(scale_text(configs), size)

    def _caption(self) -> str:
        rows, images = self.headline, self.runs[0].config["image_count"]
        counts = sorted({round(n) for n in rows["n"]})
        many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        budget, split = int(rows["budget"].iloc[0]), rows["split"].iloc[0]
        text = (
            f"Spearman's ρ over {many} architectures, {images:,} images; true {split} errors after {budget} epochs, "
            f"{source_text(float(rows['measured'].mean()), digits=1)}"
        )
        fidelity = self.table.fidelity(budget)
        if len(self.labels) > 1:
            text += "; points of an epoch are drawn side by side"
        return self.caption(text, table=f"table {self.table.id}{fidelity and f': {fidelity}'}")


MOST_TICKS = 12
MARKS: dict[str, Any] = {"markersize": 4, "markevery": None}
"""Every ranked epoch is marked."""
