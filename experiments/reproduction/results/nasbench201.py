"""Tables 5 and 7 and figures 7 and 8 of NAS-Bench-201: one-shot searches on every data set of the table."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import curve_styles
from nasbench1shot1.display.curves import LEVEL_COLOUR
from nasbench1shot1.display.style import AnyStyle, tone, tones
from nasbench1shot1.experiments.accuracies import SHOWN, Accuracies, Published, published_values, title_of
from nasbench1shot1.experiments.correlation.analysis import log_probabilities, logits_of
from nasbench1shot1.experiments.correlation.recomputed import validation_pearson
from nasbench1shot1.experiments.correlation.record import EpochScores, Ranking
from nasbench1shot1.experiments.reproduction.figures.nasbench201 import ANY, BATCH, BLOCKS, NAMES, RUNNING, STATISTICS
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS
from nasbench1shot1.experiments.reproduction.results.base import (
    BELOW,
    OURS,
    THEIRS,
    CurveResults,
    Found,
    SearchResults,
    draw_point,
    in_front,
    with_spread,
)
from nasbench1shot1.ground.text import markdown_table
from nasbench1shot1.one_shot_search.captions import scale_text

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

_COLLAPSED = ((39.77, 0.00), (54.30, 0.00), (15.03, 0.00), (15.61, 0.00), (16.43, 0.00), (16.32, 0.00))
PUBLISHED: Mapping[str, Published] = {
    RUNNING: published_values(
        random_ws=((80.42, 3.58), (84.07, 3.61), (52.12, 5.55), (52.31, 5.77), (27.22, 3.24), (26.28, 3.09)),
        darts=_COLLAPSED,
        darts_second_order=_COLLAPSED,
        gdas=((89.89, 0.08), (93.61, 0.09), (71.34, 0.04), (70.70, 0.30), (41.59, 1.33), (41.71, 0.98)),
        setn=((84.04, 0.28), (87.64, 0.00), (58.86, 0.06), (59.05, 0.24), (33.06, 0.02), (32.52, 0.21)),
        enas=((37.51, 3.19), (53.89, 0.58), (13.37, 2.35), (13.96, 2.33), (15.06, 1.95), (14.84, 2.10)),
    ),
    BATCH: published_values(
        random_ws=((84.16, 1.69), (87.66, 1.69), (59.00, 4.60), (58.33, 4.34), (31.56, 3.28), (31.14, 3.88)),
        darts=_COLLAPSED,
        darts_second_order=_COLLAPSED,
        gdas=((90.00, 0.21), (93.51, 0.13), (71.14, 0.27), (70.61, 0.26), (41.70, 1.26), (41.84, 0.90)),
        setn=((82.25, 5.17), (86.19, 4.63), (56.86, 7.59), (56.87, 7.77), (32.54, 3.63), (31.90, 4.07)),
        enas=_COLLAPSED,
    ),
}
"""Table 5: mean and standard deviation over three searches in percent, by block."""


class _Searches(SearchResults):
    """Searches in the blocks of table 5; searches of the panel "any" belong to both blocks."""

    @cached_property
    def blocks(self) -> dict[str, list[Found]]:
        """The methods of each block with searches of its own, in the order of the table."""
        own = dict.fromkeys(found.panel.key for found in self.found if found.panel.key != ANY)
        planned = {panel.key for panel in self.figure.full.panels}
        keys = [key for key in BLOCKS if key in own] or [key for key in BLOCKS if key in planned]
        order = list(NAMES)
        return {
            key: sorted(
                (found for found in self.found if found.panel.key in (ANY, key)),
                key=lambda found: order.index(found.curve.key),
            )
            for key in keys
        }

    @cached_property
    def accuracies(self) -> dict[str, Accuracies]:
        """The accuracies of each block, by method."""
        return {
            block: Accuracies({found.curve.key: found.runs for found in curves}, self.table, self.spread)
            for block, curves in self.blocks.items()
        }

    def labels_in(self, block: str) -> dict[str, str]:
        """Return the labels of the methods of a block by key."""
        return {found.curve.key: found.curve.label for found in self.blocks[block]}

    def styles(self, colours: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return the line of each method by key."""
        return dict(zip(NAMES, curve_styles(list(NAMES), colours), strict=True))

    def notes(self) -> Sequence[str]:
        """Return which data sets and splits the table lacks, and how far the accuracies are measured."""
        first = next(iter(self.accuracies.values()))
        return [*filter(None, [first.missing_text]), f"accuracies: {first.source}, in percent"]

    @property
    def all_accuracies(self) -> Accuracies:
        """The accuracies of all runs; all blocks have the same data sets and splits."""
        return Accuracies({"all": self.runs}, self.table, self.spread)

    def heading(self) -> str:
        """Return the title of the picture."""
        return self.title(scale_text([run.config for run in self.runs]), self.size_text)

    def text(self, *lines: str) -> str:
        """Return the caption of the picture."""
        same = ", ".join(found.curve.label for found in self.found if found.panel.key == ANY)
        alike = f"searches of {same} do not depend on the statistics of batch-norm" if same else ""
        measured = [pandas.DataFrame({"test_measured": self.all_accuracies.frame["measured"]})]
        missing = next(iter(self.accuracies.values())).missing_text
        return self.caption(*lines, alike, missing, frames=measured)


class AccuracyByEpoch(_Searches):
    """Figures 7 and 8: accuracies of the preferred architectures after every epoch, on every data set and split."""

    @property
    def of_block(self) -> Accuracies:
        """The accuracies of the block that the figure shows."""
        return next(iter(self.accuracies.values()))

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The plotted values: the columns of `Accuracies.by_epoch`, with `curve` for the method."""
        return self.of_block.by_epoch().rename(columns={"method": "curve", "runs": "seeds"})

    HEADINGS = Accuracies.HEADINGS

    def rows(self) -> list[list[str]]:
        """Return the accuracies after the last epoch."""
        return self.of_block.screen_rows(self.labels_in(next(iter(self.blocks))))

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: a panel for every data set and split."""
        found, styles = self.of_block, self.styles(colours)
        columns = len(found.places)
        with Canvas(1, columns, panel=(max(3.0, 8 / columns), 3.4), style=style, wraps=True) as canvas:
            found.draw_by_epoch(canvas, styles)
            legend = {label: styles[key] for key, label in self.labels_in(next(iter(self.blocks))).items()}
            band = self.band([len(found.runs)])
            return canvas.finish(self.heading(), self.text(SHOWN), legend=legend, band=band)


class OneShotTable(_Searches):
    """Table 5: mean and standard deviation of the final accuracies, beside the published values."""

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A row for every block, method, data set and split: `block`, then the columns of `Accuracies.final`."""
        frames = [
            in_front(found.final(PUBLISHED[block]), block=block).rename(columns={"method": "curve", "runs": "seeds"})
            for block, found in self.accuracies.items()
        ]
        return pandas.concat(frames, ignore_index=True)

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the accuracies after every epoch, by block."""
        frames = [in_front(found.by_epoch(), block=block) for block, found in self.accuracies.items()]
        return {"by-epoch": pandas.concat(frames, ignore_index=True).rename(columns={"method": "curve"})}

    HEADINGS = ("block", *Accuracies.HEADINGS)

    def rows(self) -> list[list[str]]:
        """Return mean and standard deviation of each method on each data set, beside the published values."""
        return [
            [BLOCKS[block], *row]
            for block, found in self.accuracies.items()
            for row in found.screen_rows(self.labels_in(block), PUBLISHED[block])
        ]

    def notes(self) -> Sequence[str]:
        """Return what the values in brackets are, and how far the accuracies are measured."""
        return ["in brackets: the published values", *super().notes()]

    def markdown(self) -> str:
        """Return a table with a row for every block and method, and a column for every data set and split."""
        first = next(iter(self.accuracies.values()))
        rows = [
            [BLOCKS[block], *row]
            for block, found in self.accuracies.items()
            for row in found.final_rows(self.labels_in(block), PUBLISHED[block])
        ]
        table = markdown_table(["block", *first.headings()], rows)
        return "\n\n".join([table.rstrip(), *self.notes(), f"Table {self.table.id}"]) + "\n"

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: mean and standard deviation of each method, ours and published, by block.

        There is a panel for every data set and split.
        """
        frame, places = self.frame, self.all_accuracies.places
        lines = [(block, found) for block, curves in self.blocks.items() for found in curves]
        usual = self.styles(colours)
        panel = (max(3.0, 8 / len(places)), 0.9 + 0.34 * len(lines))
        with Canvas(1, len(places), panel=panel, style=style, sharey=True, wraps=True) as canvas:
            for ax, (dataset, split) in zip(canvas.axes, places, strict=True):
                own = frame[(frame["dataset"] == dataset) & (frame["split"] == split)].set_index(["block", "curve"])
                values = own.to_dict("index")
                for height, (block, found) in enumerate(lines):
                    row = values[block, found.curve.key]
                    look = {**OURS, "color": usual[found.curve.key]["color"]}
                    if block == BATCH:
                        look["markerfacecolor"] = "white"
                    draw_point(ax, row, "", height, **look)
                    draw_point(ax, row, "published_", height + BELOW, **THEIRS)
                ax.set_title(title_of((dataset, split)))
                ax.set_xlabel("accuracy [%]")
                ax.grid(alpha=0.25, axis="x")
            mark = {RUNNING: "", BATCH: " †"}
            labels = [f"{found.curve.label}{mark[block]}" for block, found in lines]
            canvas.axes[0].set_yticks(range(len(lines)), labels)
            canvas.axes[0].set_ylim(len(lines) - 0.4, -0.6)
            ours: dict[str, Any] = {**OURS, "color": LEVEL_COLOUR, "linestyle": ""}
            legend = {
                BLOCKS[RUNNING]: ours,
                BLOCKS[BATCH]: {**ours, "markerfacecolor": "white"},
                "published": {**THEIRS, "linestyle": ""},
            }
            said = "mean and standard deviation of the accuracy of the final architectures, after full training"
            return canvas.finish(self.heading(), self.text(said), legend=legend)


# Table 7 --------------------------------------------------------------------------------------------------------------

PROBABILITY, TRAIN, EVAL = "probability", *STATISTICS
COLUMNS = {
    PROBABILITY: "encoded probability",
    TRAIN: "one-shot accuracy, mini-batch statistics",
    EVAL: "one-shot accuracy, accumulated statistics",
}
"""The columns of table 7."""
PUBLISHED_CORRELATIONS = {
    "darts": (0.0779, 0.0039, -0.0071),
    "darts-second-order": (0.0862, 0.0355, 0.0109),
    "setn": (0.0682, 0.9049, 0.0862),
    "gdas": (0.2714, 0.8141, 0.2466),
}
"""Table 7: means over three searches, by method, with the columns `COLUMNS`."""


def _encoded_probabilities(ranking: Ranking, scores: EpochScores) -> NDArray[np.float64]:
    """Return minus the log-probabilities (A,) of ranked architectures under Λ, at the last ranked epoch."""
    space = ranking.space
    parameters = logits_of(ranking.run, space, ranking.config["evaluated_epochs"][-1])
    return -log_probabilities(space, parameters, [space[int(number)] for number in scores.numbers])


class ProxyTable(CurveResults):
    """Table 7: correlation of encoded probability and one-shot accuracy with the true validation accuracy."""

    HEADINGS = ("method", "searches", *(f"{title} (paper)" for title in COLUMNS.values()))
    SMALL = "searches and samples this small only demonstrate the study; they do not show which criterion is better"

    @cached_property
    def correlations(self) -> pandas.DataFrame:
        """Pearson's r of every search: curve, column, seed, pearson.

        As in the published code, r is positive if large predictors mean high accuracies.
        """
        rows = []
        for found in self.found:
            for run in found.runs:
                place = {"curve": found.curve.key, "seed": run.config["run_seed"]}
                rows.append({**place, "column": found.panel.key, "pearson": validation_pearson(run, self.table)})
                if found.panel.key == TRAIN:  # the probability is the same in both panels
                    r = validation_pearson(run, self.table, partial(_encoded_probabilities, run))
                    rows.append({**place, "column": PROBABILITY, "pearson": r})
        return pandas.DataFrame(rows)

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A row for every method and column: curve, column, seeds, mean, std (n - 1), published."""
        rows = [
            {"curve": curve, "column": column, "seeds": len(own), "mean": own.mean(skipna=False), "std": own.std()}
            for (curve, column), own in self.correlations.groupby(["curve", "column"], sort=False)["pearson"]
        ]
        frame = pandas.DataFrame(rows)
        order = list(COLUMNS)
        frame["published"] = [
            PUBLISHED_CORRELATIONS[curve][order.index(column)]
            for curve, column in zip(frame["curve"], frame["column"], strict=True)
        ]
        return frame

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the correlations of every search."""
        return {"searches": self.correlations}

    def rows(self) -> list[list[str]]:
        """Return the mean of each method and column, beside the published mean."""
        found = {(row["curve"], row["column"]): row for row in self.frame.to_dict("records")}
        rows = []
        for key, label in self.labels.items():
            texts = [_correlation_text(found[key, name]) if (key, name) in found else "–" for name in COLUMNS]
            seeds = max(row["seeds"] for (curve, _), row in found.items() if curve == key)
            rows.append([label, str(seeds), *texts])
        return rows

    def notes(self) -> Sequence[str]:
        """Return what is correlated."""
        return [self._subject]

    @property
    def _subject(self) -> str:
        ranking = self.runs[0]
        dataset = self.table.objective(ranking.dataset).dataset
        images = f"{ranking.config['image_count']:,} images"
        many = f"{len(ranking.scores(ranking.config['evaluated_epochs'][-1]).numbers):,} architectures"
        named = DATA_SETS.get(dataset, dataset)
        return (
            f"Pearson's r with the {named} validation accuracy after 200 epochs, over {many}; all are "
            f"scored on the same {images}; the paper scores each on its own mini-batch"
        )

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: the correlations of every search and their mean, with a panel for every column."""
        frame, keys = self.correlations, list(self.labels)
        usual = dict(zip(keys, curve_styles(keys, colours), strict=True))
        published = self.frame.set_index(["curve", "column"])["published"]
        with Canvas(1, len(COLUMNS), panel=(3.0, 0.9 + 0.4 * len(keys)), style=style, sharey=True) as canvas:
            for ax, (column, title) in zip(canvas.axes, COLUMNS.items(), strict=True):
                for height, key in enumerate(keys):
                    own = frame[(frame["curve"] == key) & (frame["column"] == column)]["pearson"].dropna()
                    colour = usual[key]["color"]
                    ax.plot(own, [height] * len(own), linestyle="", marker="|", color=tone(colour), markersize=8)
                    if len(own):
                        ax.plot([own.mean()], [height], **tones({**OURS, "color": colour, "linestyle": ""}))
                    if (key, column) in published.index:
                        ax.plot([published[key, column]], [height + BELOW], **tones({**THEIRS, "linestyle": ""}))
                ax.axvline(0, color=tone("black"), linewidth=0.6)
                ax.set_title(title.replace(", ", ",\n"))
                ax.set_xlabel("Pearson's r")
                ax.grid(alpha=0.25, axis="x")
            canvas.axes[0].set_yticks(range(len(keys)), list(self.labels.values()))
            canvas.axes[0].set_ylim(len(keys) - 0.4, -0.6)
            ours: dict[str, Any] = {**OURS, "color": LEVEL_COLOUR, "linestyle": ""}
            legend = {
                "mean": ours,
                "one search": {**ours, "marker": "|", "markersize": 8},
                "published": {**THEIRS, "linestyle": ""},
            }
            configs = [job.search for job in self.shown if job.search]
            size = f"{configs[0]['scale']} scale, {self.seeds_text}"
            return canvas.finish(self.title(size), self._caption(), legend=legend)

    def _caption(self) -> str:
        return self.caption(self._subject, table=f"table {self.table.id}")


def _correlation_text(row: Mapping[Any, Any]) -> str:
    return f"{with_spread(row['mean'], row['std'], 3, 1, '')} ({row['published']:.3f})"
