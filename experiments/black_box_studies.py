"""Analyses of finished black-box studies: final regrets, final accuracies on all data sets, incumbents over time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import INCUMBENT, BlackBoxStudy
from nasbench1shot1.display.style import tones
from nasbench1shot1.evaluator import Judge, Score
from nasbench1shot1.experiments.accuracies import accuracies_of
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes


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
