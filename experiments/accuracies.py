"""Accuracies of one-shot searches and of any architectures on every data set of a table, beside published ones.

A search records regrets on the other data sets of its table. Accuracies need only the recorded architectures and the
table, so the searches of any run folder can be evaluated without searching again.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from nasbench1shot1.display.curves import OF_A_SHARE, Pooled, draw_curve, pool_values
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.errors import OutOfDomainError, option
from nasbench1shot1.ground.text import markdown_table
from nasbench1shot1.images.data_sets import DATA_SETS
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.tables.columns import source_text
from nasbench1shot1.tables.metrics import Metrics
from nasbench1shot1.tables.table import Table

Place = tuple[str, str]
"""A data set, and a split: "validation" or "test"."""
SPLITS = ("validation", "test")
SHOWN = "accuracy, after full training, of the architecture that each search prefers after an epoch"
"""The first line of captions."""


# Published values -----------------------------------------------------------------------------------------------------

Published = Mapping[tuple[str, str, str], tuple[float, float]]
"""Mean and standard deviation in percent, by method, data set and split."""


def published_values(**rows: tuple[tuple[float, float], ...]) -> Published:
    """Return published values; each keyword is a method with underscores, with a pair for each data set and split."""
    places = list(product(DATA_SETS, SPLITS))
    return {
        (name.replace("_", "-"), *place): pair
        for name, row in rows.items()
        for place, pair in zip(places, row, strict=True)
    }


PUBLISHED = published_values(
    random=((90.93, 0.36), (93.70, 0.36), (70.93, 1.09), (71.04, 1.07), (44.45, 1.10), (44.57, 1.25)),
    regularized_evolution=((91.19, 0.31), (93.92, 0.30), (71.81, 1.12), (71.84, 0.99), (45.15, 0.89), (45.54, 1.03)),
    reinforce=((91.09, 0.37), (93.85, 0.37), (71.61, 1.12), (71.71, 1.09), (45.05, 1.02), (45.24, 1.18)),
    bohb=((90.82, 0.53), (93.61, 0.52), (70.74, 1.29), (70.85, 1.28), (44.26, 1.36), (44.42, 1.49)),
)
"""NAS-Bench-201, table 5: mean and standard deviation over 500 searches, in percent."""

SIZE_PUBLISHED = published_values(
    random=((90.10, 0.26), (93.03, 0.25), (69.57, 0.57), (69.72, 0.61), (45.01, 0.74), (45.42, 0.86)),
    regularized_evolution=((90.37, 0.20), (93.22, 0.16), (70.23, 0.50), (70.11, 0.61), (45.30, 0.69), (45.94, 0.92)),
    reinforce=((90.25, 0.23), (93.16, 0.21), (69.84, 0.59), (69.96, 0.57), (45.06, 0.77), (45.71, 0.93)),
    bohb=((90.07, 0.28), (93.01, 0.24), (69.75, 0.60), (69.90, 0.60), (45.11, 0.69), (45.56, 0.81)),
    tas=((90.71, 0.00), (93.40, 0.00), (70.30, 0.00), (70.72, 0.00), (44.73, 0.00), (47.17, 0.00)),
    fbnetv2=((90.41, 0.10), (93.14, 0.13), (70.30, 0.00), (70.72, 0.00), (45.71, 0.39), (46.38, 0.27)),
    tunas=((89.73, 0.37), (92.78, 0.30), (69.67, 0.22), (70.11, 0.33), (44.70, 0.60), (45.11, 0.76)),
)
"""NATS-Bench, table 4, size space: mean and standard deviation over 500 searches, or 3 one-shot searches, in percent.

EvoPrompting (arXiv:2302.14838, table 4 in appendix A.7) quotes these values.
"""


# Accuracies of any architectures --------------------------------------------------------------------------------------


def answers_by_place(found: Sequence[Architecture], table: Table) -> Iterator[tuple[Place, Metrics]]:
    """Return the table's answers about architectures after full training, for every data set and split."""
    for objective in table.objectives:
        for split, training in zip(SPLITS, (objective.validation, objective.test), strict=True):
            yield (objective.dataset, split), table.query(found, dataset=training)


def accuracies_of(found: Sequence[Architecture], table: Table) -> pandas.DataFrame:
    """Return the accuracies of N architectures after full training: a row for each architecture, data set and split.

    Returns:
        A data frame with the columns dataset, split, rank (1: lowest accuracy of the data set and split) and accuracy
        (fraction). Data sets and splits for which the table lacks the accuracy of an architecture are omitted.
    """
    frames = []
    for (dataset, split), answers in answers_by_place(found, table):
        values = pandas.Series(answers[f"{split}_accuracy"]).sort_values()
        if values.notna().all():
            columns = {"dataset": dataset, "split": split, "rank": range(1, len(values) + 1)}
            frames.append(pandas.DataFrame({**columns, "accuracy": values.to_numpy()}))
    return pandas.concat(frames, ignore_index=True)


def compare_with_published(accuracies: pandas.DataFrame, published: Published = PUBLISHED) -> pandas.DataFrame:
    """Return mean and standard deviation (n - 1) beside published values, all in percent.

    Args:
        accuracies: columns of `accuracies_of` and `curve`, the name of the optimizer.
        published: mean and standard deviation by curve, data set and split. Default: table 5 of NAS-Bench-201.

    Returns:
        A data frame with the columns curve, dataset, split, searches, mean, std, published_mean and published_std. The
        last two are NaN where nothing is published. A single search has no standard deviation (NaN).
    """
    groups = accuracies.groupby(["curve", "dataset", "split"], sort=False)["accuracy"]
    frame = groups.agg(["size", "mean", "std"]).reset_index().rename(columns={"size": "searches"})
    frame[["mean", "std"]] *= 100
    places = zip(frame["curve"], frame["dataset"], frame["split"], strict=True)
    frame[["published_mean", "published_std"]] = [published.get(place, (np.nan, np.nan)) for place in places]
    return frame


# Accuracies of one-shot searches --------------------------------------------------------------------------------------


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
        own, frames = searched.drop(columns="architecture"), []
        for (dataset, split), answers in answers_by_place(found, self.table):
            metric = f"{split}_accuracy"
            values = np.asarray(answers[metric], np.float64)[rows]
            measured = np.asarray(answers.is_measurement(metric))[rows]
            frames.append(own.assign(dataset=dataset, split=split, accuracy=values, measured=measured))
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
                found[str(method), place] = pool_values(values.columns, values, spread=self.spread, limits=OF_A_SHARE)
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

    def draw_by_epoch(self, canvas: Canvas, styles: Mapping[str, Mapping[str, Any]]) -> None:
        """Draw mean and band over epochs on the panels of a canvas: one for each of `places`, in percent."""
        for ax, place in zip(canvas.axes, self.places, strict=True):
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
            accuracies = last["accuracy"].to_numpy(np.float64)
            pooled = pool_values([0], accuracies[:, None], spread=self.spread, limits=OF_A_SHARE)
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
