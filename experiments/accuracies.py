"""Accuracies of the architectures that one-shot searches prefer, on every data set of a table.

A search records regrets on the other data sets of its table. Accuracies need only the recorded architectures and the
table, so the searches of any run folder can be evaluated without searching again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import label_epochs
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS
from nasbench1shot1.display.curves import Pooled, draw_curve, pool_values
from nasbench1shot1.display.style import Spread
from nasbench1shot1.experiments.black_box_studies import SPLITS, Published
from nasbench1shot1.ground.errors import OutOfDomainError, option
from nasbench1shot1.ground.text import markdown_table
from nasbench1shot1.images.data_sets import DATA_SETS
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.tables.columns import source_text
from nasbench1shot1.tables.table import Table

Place = tuple[str, str]
"""A data set, and a split: "validation" or "test"."""
SHOWN = "accuracy, after full training, of the architecture that each search prefers after an epoch"
"""The first line of captions."""


def title_of(place: Place) -> str:
    """Return the name of a data set and a split in texts, such as "CIFAR-100 test"."""
    found = DATA_SETS.get(place[0])
    return f"{place[0] if found is None else found.title} {place[1]}"


@dataclass(frozen=True, eq=False)
class Accuracies:
    """The accuracies of several methods after full training, scored on one table.

    Attributes:
        runs: at least one search of each method, by the key of the method.
        table: the table, with the data sets.
        spread: what bands show. Default: "ci".
    """

    runs: Mapping[str, Sequence[SearchRecord]]
    table: Table
    spread: Spread | None = None

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The accuracies as fractions: method, run, epoch, dataset, split, accuracy, measured.

        `run` counts the searches of a method from 0. `measured` is false for estimates, even those that are shrunk
        toward a measurement. Values that the table lacks are NaN. Raises OutOfDomainError if the table lacks an
        architecture.
        """
        lines = [
            (method, number, line["epoch"], line["architecture"])
            for method, runs in self.runs.items()
            for number, run in enumerate(runs)
            for line in run.lines
        ]
        searched = pandas.DataFrame(lines, columns=["method", "run", "epoch", "architecture"])
        texts, rows = np.unique(searched["architecture"].to_numpy(str), return_inverse=True)
        found = [Architecture.parse(text) for text in texts]
        frames = []
        for objective in self.table.objectives:
            for split, training in zip(SPLITS, (objective.validation, objective.test), strict=True):
                answers, metric = self.table.query(found, dataset=training), f"{split}_accuracy"
                values = np.asarray(answers[metric], np.float64)[rows]
                measured = np.asarray(answers.is_measurement(metric))[rows]
                own = searched.drop(columns="architecture")
                frames.append(own.assign(dataset=objective.dataset, split=split, accuracy=values, measured=measured))
        return pandas.concat(frames, ignore_index=True)

    @cached_property
    def places(self) -> list[Place]:
        """The data sets and splits on which the table has the accuracies of all architectures.

        Raises OutOfDomainError if there are none.
        """
        known = self.frame.groupby(["dataset", "split"])["accuracy"].apply(lambda values: bool(values.notna().all()))
        found = [place for place in self._possible if known[place]]
        if not found:
            raise OutOfDomainError(
                f"the table {self.table.id} has no accuracies of these architectures: give another {option('table')}"
            )
        return found

    @property
    def _possible(self) -> list[Place]:
        return list(product((objective.dataset for objective in self.table.objectives), SPLITS))

    @property
    def missing_text(self) -> str:
        """A sentence about the data sets and splits that are left out; empty if there are none."""
        left_out = [title_of(place) for place in self._possible if place not in self.places]
        if not left_out:
            return ""
        return f"The table {self.table.id} does not have all accuracies for {', '.join(left_out)}."

    def at(self, place: Place) -> pandas.DataFrame:
        """Return the rows of `frame` for a data set and a split."""
        return self.frame[(self.frame["dataset"] == place[0]) & (self.frame["split"] == place[1])]

    @property
    def final_source(self) -> str:
        """A text that states which part of the final accuracies in `places` is measured."""
        found = self.final()
        return source_text(float(np.average(found["measured"], weights=found["runs"])))

    @property
    def source(self) -> str:
        """A text that states which part of the accuracies in `places` is measured, over all epochs."""
        return source_text(float(pandas.concat([self.at(place)["measured"] for place in self.places]).mean()))

    # Over epochs

    @cached_property
    def curves(self) -> dict[tuple[str, Place], Pooled]:
        """The accuracies over epochs, pooled over searches: up to the last epoch that all searches of a method have."""
        found = {}
        for place in self.places:
            for method, own in self.at(place).groupby("method", sort=False):
                values = own.pivot(index="run", columns="epoch", values="accuracy").dropna(axis=1)
                found[str(method), place] = pool_values(values.columns, values, spread=self.spread)
        return found

    def by_epoch(self) -> pandas.DataFrame:
        """Return a row for every method, data set, split and epoch, with accuracies as fractions.

        Columns: method, dataset, split, epoch, runs, mean, std (n - 1), low, high (the band) and measured.
        """
        frames = []
        for (method, place), curve in self.curves.items():
            frame = curve.frame.rename(columns={"at": "epoch"})
            frame["epoch"] = frame["epoch"].astype(int)
            own = self.at(place)
            measured = own[own["method"] == method].groupby("epoch")["measured"].mean()
            frame["measured"] = measured.reindex(frame["epoch"]).to_numpy(np.float64)
            columns = ["epoch", "runs", "mean", "std", "low", "high", "measured"]
            frames.append(frame[columns].assign(method=method, dataset=place[0], split=place[1]))
        stacked = pandas.concat(frames, ignore_index=True)
        return stacked[["method", "dataset", "split", *columns]]

    def draw_by_epoch(
        self, canvas: Canvas, styles: Mapping[str, Mapping[str, Any]], places: Sequence[Place] | None = None
    ) -> None:
        """Draw mean and band over epochs on the panels of a canvas: one for each of `places`, in percent."""
        for ax, place in zip(canvas.axes, places or self.places, strict=True):
            for method in self.runs:
                has_band = len(self.runs) <= MOST_BANDS
                draw_curve(ax, self.curves[method, place], label="", style=dict(styles[method]), has_band=has_band)
            ax.set_title(title_of(place))
            label_epochs(ax)
            ax.grid(alpha=0.25)
        canvas.axes[0].set_ylabel(f"mean accuracy [%]\n({self.source})")

    # Final architectures

    def final(self, published: Published | None = None) -> pandas.DataFrame:
        """Return mean and standard deviation of final architectures, in percent: a row for every method and place.

        The final architecture of a search is the one after its last epoch so far or, if the search stopped early, the
        one to which it went back.

        Columns: method, dataset, split, runs, mean, std (n - 1), low, high (the band), measured (a fraction),
        published_mean and published_std.

        Args:
            published: published means and standard deviations, by method, data set and split. Default: none.
        """
        rows = []
        for method, place in product(self.runs, self.places):
            own = self.at(place)
            ends = dict(enumerate(run.final_epoch for run in self.runs[method]))
            last = own[(own["method"] == method) & (own["epoch"] == own["run"].map(ends))]
            pooled = pool_values([0], last["accuracy"].to_numpy(np.float64)[:, None], spread=self.spread)
            values = {name: 100 * float(pooled.frame[name].iloc[0]) for name in ("mean", "std", "low", "high")}
            mean, std = (published or {}).get((method, *place), (np.nan, np.nan))
            row = {"method": method, "dataset": place[0], "split": place[1], "runs": len(last), **values}
            rows.append({**row, "measured": last["measured"].mean(), "published_mean": mean, "published_std": std})
        return pandas.DataFrame(rows)

    def final_rows(self, labels: Mapping[str, str], published: Published | None = None) -> list[list[str]]:
        """Return a row of texts for every method: label, number of searches, and an accuracy for each of `places`.

        Args:
            labels: names of the methods.
            published: published values, which are shown in brackets, as in `final`.
        """
        frame, rows = self.final(published), []
        for method, label in labels.items():
            own = frame[frame["method"] == method]
            rows.append([label, str(own["runs"].iloc[0]), *map(_with_published, own.to_dict("records"))])
        return rows

    def headings(self) -> list[str]:
        """Return the headings of `final_rows`."""
        return ["method", "searches", *(f"{title_of(place)} [%]" for place in self.places)]

    HEADINGS = ("data set", "method (searches)", *(f"{split} [%]" for split in SPLITS))
    """Headings of `screen_rows`."""

    def screen_rows(self, labels: Mapping[str, str], published: Published | None = None) -> list[list[str]]:
        """Return a row of texts for every data set and method, with columns for the splits; for narrow screens.

        Arguments are as in `final_rows`. Splits that the table lacks have dashes.
        """
        found, rows = self.final(published).to_dict("records"), []
        for dataset, method in product(dict.fromkeys(place[0] for place in self.places), labels):
            own = {row["split"]: row for row in found if (row["dataset"], row["method"]) == (dataset, method)}
            texts = [_with_published(own[split]) if split in own else "–" for split in SPLITS]
            many = next(iter(own.values()))["runs"]
            rows.append([title_of((dataset, "")).strip(), f"{labels[method]} ({many})", *texts])
        return rows

    def markdown(self, labels: Mapping[str, str], note: str = "") -> str:
        """Return the table of the final architectures in Markdown: mean ± standard deviation (n - 1), in percent.

        Args:
            labels: names of the methods.
            note: a line below the table. Default: none.
        """
        said = "mean ± standard deviation (n - 1) of the final architectures"
        lines = [f"Accuracy in percent, {said}; table {self.table.id}, {self.final_source}.", self.missing_text, note]
        return "\n".join([markdown_table(self.headings(), self.final_rows(labels)), *filter(None, lines)]) + "\n"


def spread_text(row: Mapping[Any, Any], prefix: str = "") -> str:
    """Return mean and standard deviation of a row in words: "93.02 ± 0.25", "93.02" without a deviation, or "–"."""
    mean, std = row[f"{prefix}mean"], row[f"{prefix}std"]
    if np.isnan(mean):
        return "–"
    return f"{mean:.2f}" if np.isnan(std) else f"{mean:.2f} ± {std:.2f}"


def _with_published(row: Mapping[Any, Any]) -> str:
    published = spread_text(row, "published_")
    return spread_text(row) if published == "–" else f"{spread_text(row)} ({published})"
