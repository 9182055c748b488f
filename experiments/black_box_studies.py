"""Analyses of finished black-box studies: final regrets, final accuracies on all data sets, incumbents over time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import INCUMBENT, BlackBoxStudy
from nasbench1shot1.display.style import tones
from nasbench1shot1.evaluator import Judge, Score
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes

SPLITS = ("validation", "test")
Published = Mapping[tuple[str, str, str], tuple[float, float]]
"""Mean and standard deviation in percent, by method, data set and split."""


def published_values(**rows: tuple[tuple[float, float], ...]) -> Published:
    """Return published values by method, whose name has underscores here: six pairs, by data set and split."""
    places = list(product(("cifar10", "cifar100", "ImageNet16-120"), SPLITS))
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


# Final regrets: NAS-Bench-101 (Ying et al. 2019), figure 7, right -----------------------------------------------------


def ecdf(values: Any) -> pandas.DataFrame:
    """Return the empirical cumulative distribution function (ECDF) of N values.

    The columns are `value` (ascending) and `fraction`, the fraction of values up to and including `value`.
    """
    ascending = np.sort(np.asarray(values, np.float64))
    fraction = np.searchsorted(ascending, ascending, side="right") / ascending.size
    return pandas.DataFrame({"value": ascending, "fraction": fraction})


def draw_ecdf(axes: "Axes", regrets: Any, *, floor: float, label: str, style: dict[str, Any]) -> "Axes":
    """Draw the ECDF of final test regrets, given as fractions, in percent on a logarithmic axis; return the axes.

    Regrets below `floor`, a fraction, are drawn at `floor`, because a logarithmic axis cannot show zero.
    """
    from nasbench1shot1.display.axes import label_log_axis

    frame = ecdf(np.maximum(regrets, floor))
    at, fraction = 100 * frame["value"], np.r_[0.0, frame["fraction"]]
    axes.step(np.r_[at[0], at], fraction, where="post", label=label, **tones(style))
    axes.set_xscale("log")
    label_log_axis(axes.xaxis)
    axes.set_xlabel("final test regret [%]")
    axes.set_ylabel("fraction of searches")
    axes.grid(alpha=0.25)
    return axes


# Final accuracies on every data set: NAS-Bench-201 (Dong and Yang 2020), figure 6 -------------------------------------


def final_accuracies(study: BlackBoxStudy, table: Table) -> pandas.DataFrame:
    """Return the accuracies of the final incumbents, one row per search, data set and split.

    Returns:
        A data frame with the columns dataset, split, rank (1: lowest accuracy of the data set and split) and accuracy
        (fraction). Data sets and splits for which the table lacks the accuracy of a final incumbent are omitted.
    """
    return accuracies_of([Architecture.parse(line["architecture"]) for line in study.lines], table)


def accuracies_of(found: Sequence[Architecture], table: Table) -> pandas.DataFrame:
    """Return the accuracies of N architectures after full training, as `final_accuracies` does for searches."""
    frames = []
    for objective in table.objectives:
        for split, training in zip(SPLITS, (objective.validation, objective.test), strict=True):
            answers = table.query(found, dataset=training)
            values = pandas.Series(getattr(answers, f"{split}_accuracy")).sort_values()
            places = {"dataset": objective.dataset, "split": split, "rank": range(1, len(values) + 1)}
            if values.notna().all():
                frames.append(pandas.DataFrame({**places, "accuracy": values.to_numpy()}))
    return pandas.concat(frames, ignore_index=True)


def compare_with_published(accuracies: pandas.DataFrame, published: Published = PUBLISHED) -> pandas.DataFrame:
    """Return mean and standard deviation (n - 1) beside published values, all in percent.

    Args:
        accuracies: columns of `final_accuracies` and `curve`, the name of the optimizer.
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


def draw_sorted(axes: "Axes", accuracies: pandas.DataFrame, *, label: str, style: dict[str, Any]) -> "Axes":
    """Draw the sorted accuracies of one study on one data set and split, in percent; return the axes."""
    from nasbench1shot1.display.axes import use_whole_numbers

    axes.plot(accuracies["rank"], 100 * accuracies["accuracy"], label=label, **tones(style))
    axes.set_xlabel("search, sorted by accuracy")
    use_whole_numbers(axes.xaxis)
    axes.grid(alpha=0.25)
    return axes


# Incumbents over simulated time ---------------------------------------------------------------------------------------


def repetitions(study: BlackBoxStudy, table: Table) -> list[pandas.DataFrame]:
    """Return the incumbents of every search as repetitions of an `experiments.tuning.trajectory.Curve`.

    Args:
        study: a study with recorded searches.
        table: the table of the study.

    Returns:
        One data frame per search with the columns seconds, test_regret and validation_regret (fractions), and
        test_measured. Each incumbent has a row, and a last row repeats the final incumbent at the end of the search.

    Raises:
        InvalidInputError: the study searched another table.
    """
    if study.config["table_id"] != table.id:
        raise InvalidInputError(
            f"{study.folder} searched the table {study.config['table_id']}, but the figure is scored on {table.id}: "
            f"select the study's table with {option('table')} or repeat the study"
        )
    scored: dict[str, Score] = {}
    judge = Judge.from_config(study.config, study.folder / CONFIG)
    return [pandas.DataFrame(_incumbent_rows(line, table, judge, scored)) for line in study.lines]


def _incumbent_rows(
    line: dict[str, Any], table: Table, judge: Judge, scored: dict[str, Score]
) -> Iterator[dict[str, Any]]:
    entries = [dict(zip(INCUMBENT, entry, strict=True)) for entry in line["incumbents"]]
    end = {**entries[-1], "simulated_seconds": line["simulated_seconds"]}
    for entry in [*entries, end]:
        if (text := entry["architecture"]) not in scored:
            scored[text] = judge.score(Architecture.parse(text), table)
        found = scored[text]
        regrets = {"test_regret": found.test_regret, "validation_regret": found.validation_regret}
        yield {"seconds": entry["simulated_seconds"], **regrets, "test_measured": found.test_measured}
