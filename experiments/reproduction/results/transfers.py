"""Table 2 of NAS-Bench-1Shot1: the best configuration of s3 on s1 and s2, beside the default configuration."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import METHODS
from nasbench1shot1.display.curves import Pooled, pool_values
from nasbench1shot1.display.style import AnyStyle, tones
from nasbench1shot1.experiments.reproduction.figures.nasbench_1shot1 import TRANSFERRED
from nasbench1shot1.experiments.reproduction.results.base import Place, SearchResults, with_spread
from nasbench1shot1.experiments.tuning.best import transfer_table
from nasbench1shot1.one_shot_search.captions import provenance, scale_text
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from nasbench1shot1.display import axes


class Transfers(SearchResults):
    """The final test regrets of all finished searches, scored on one table."""

    HEADINGS = ("panel", "curve", "searches", "test regret")
    SMALL = "searches this small show that the transfer runs; they do not show whether it helps"

    @cached_property
    def pooled(self) -> dict[Place, Pooled]:
        """The final test regret of every panel and curve with its band."""
        regrets = {place: rows["test_regret"].to_numpy() for place, rows in self.final_rows.items()}
        return {place: pool_values([0], values[:, None], spread=self.spread) for place, values in regrets.items()}

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row per panel and curve, as `best.transfer_table` returns them, with the band and the measured share."""
        frame = transfer_table({place: list(rows["test_regret"]) for place, rows in self.final_rows.items()})
        frame["test_regret_low"] = [float(of.low[0]) for of in self.pooled.values()]
        frame["test_regret_high"] = [float(of.high[0]) for of in self.pooled.values()]
        frame["test_regret_measured"] = [rows["test_measured"].mean() for rows in self.final_rows.values()]
        return frame

    def rows(self) -> list[list[str]]:
        """Return the table."""
        return [
            [panel, curve, str(runs), with_spread(mean, std, 3)]
            for panel, curve, runs, mean, std, *_ in self.frame.itertuples(index=False)
        ]

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: mean and band of the final test regret, with mean and standard deviation in numbers.

        Points of default configurations are hollow.
        """
        columns, source, is_cut = len(self.by_panel), provenance(self.frame["test_regret_measured"]), False
        with Canvas(1, columns, panel=(max(4.4, 8 / columns), 3.4), style=style) as canvas:
            for ax, (panel, curves) in zip(canvas.axes, self.by_panel, strict=True):
                for height, found in enumerate(curves):
                    pooled = self.pooled[found.place]
                    mean, low, high = (100 * float(values[0]) for values in (pooled.centre, pooled.low, pooled.high))
                    is_cut |= pooled.is_cut
                    colour = colours.get(found.curve.key, METHODS[found.curve.options["optimizer"]])
                    fill = colour if found.curve.key.endswith(TRANSFERRED) else "white"
                    look: dict[str, Any] = {"fmt": "o", "color": colour, "markerfacecolor": fill, "capsize": 3}
                    ax.errorbar(mean, height, xerr=[[mean - low], [high - mean]], **tones(look))
                    std = float(pooled.frame["std"].iloc[0])
                    place: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": "small"}
                    ax.annotate(with_spread(mean / 100, std, 3), (mean, height), (0, 6), **place)
                ax.set_yticks(range(len(curves)), [found.curve.label for found in curves])
                ax.set_ylim(len(curves) - 0.5, -0.7)
                ax.margins(x=0.2)  # for the texts
                ax.grid(alpha=0.25, axis="x")
                ax.set_title(panel.title)
                ax.set_xlabel(f"test regret after the last epoch [%]\n({source})")
            title = self.title(scale_text([run.config for run in self.runs]).splitlines()[0], self.size_text)
            return canvas.finish(title, self._caption(), band=self.band([1], is_cut))

    def _caption(self) -> str:
        studies = [job.record() for job in self.jobs if job.kind == "study" and job.is_finished]
        of_studies = []
        if studies and isinstance(studies[0], Study):
            of_studies = [
                "transferred: the configuration of cs2 with the lowest validation error among the searches of as many "
                f"epochs in one study of {studies[0].options.brackets.planned} searches on s3; default: the "
                "optimizer's default configuration"
            ]
        numbers = "numbers: mean ± standard deviation" if self.seeds > 1 else ""
        return self.caption(numbers, *of_studies, frames=list(self.final_rows.values()))
