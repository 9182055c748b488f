"""The quantities that claims compare: a value for each search, and the recorded lines from which it comes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.accuracies import accuracies_of
from nasbench1shot1.experiments.claims.verdicts import Floats
from nasbench1shot1.experiments.reproduction.results.methods import measures
from nasbench1shot1.experiments.rescoring import recorded_table
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.runs.record import RunRecord

Lines = Sequence[Mapping[str, Any]]


def final_lines(run: RunRecord) -> Lines:
    """Return the last line of a one-shot search, or all lines of a black-box study, one per search."""
    return run.shared_lines if isinstance(run, BlackBoxStudy) else run.shared_lines[-1:]


@dataclass(frozen=True)
class Measure:
    """A quantity with a value for each search of a run. Calling a measure returns these values, regrets in percent.

    Attributes:
        values: returns the values of a run.
        lines: returns the lines of the run whose test values `values` reads.
    """

    values: Callable[[RunRecord], Floats]
    lines: Callable[[RunRecord], Lines] = final_lines

    def __call__(self, run: RunRecord) -> Floats:
        """Return the values of a run."""
        return self.values(run)


def regret(kind: Literal["final", "anytime"]) -> Measure:
    """Return the measure of the test regret, as in `methods.measures`."""

    def measure(run: RunRecord) -> Floats:
        if isinstance(run, BlackBoxStudy):
            return 100 * _values("test_regret", run.shared_lines)
        lines = run.shared_lines  # building `run.metrics` takes longer than reading the file
        frame = pandas.DataFrame({name: _values(name, lines) for name in ("test_regret", "validation_regret")})
        return np.array([100 * measures(frame)[kind]])

    return Measure(measure, (lambda run: run.shared_lines) if kind == "anytime" else final_lines)


def _values(name: str, lines: Lines) -> Floats:
    """Return the values of a field in all lines, (N,); null becomes NaN."""
    return np.array([line[name] for line in lines], np.float64)


def regret_on(dataset: str) -> Measure:
    """Return the measure of the final test regret on one data set of the table."""

    def measure(run: RunRecord) -> Floats:
        own = dataset == run.config["dataset"]
        values = [
            line["test_regret"] if own else line["other_datasets"][dataset]["test_regret"] for line in final_lines(run)
        ]
        return 100 * np.array(values, np.float64)

    return Measure(measure)


def accuracy_on(dataset: str, split: str) -> Measure:
    """Return the measure of the final accuracy after full training on a data set and split ("validation", "test").

    The measure raises InvalidInputError if the table that scored the run is not available.
    """

    def measure(run: RunRecord) -> Floats:
        if (table := recorded_table(run)) is None:
            raise InvalidInputError(
                f"the table {run.config['table_id']}, which scored '{run.folder}', is not available: install it, or "
                "remove this record"
            )
        frame = accuracies_of([Architecture.parse(line["architecture"]) for line in final_lines(run)], table)
        own = frame[(frame["dataset"] == dataset) & (frame["split"] == split)]
        return 100 * own["accuracy"].to_numpy(np.float64)

    return Measure(measure)


def rise(share: float) -> Measure:
    """Return the measure of the rise of test regret from the epoch after a share of all epochs to the last epoch."""

    def lines(run: RunRecord) -> Lines:
        return [run.shared_lines[round(share * (len(run.shared_lines) - 1))], run.shared_lines[-1]]

    def measure(run: RunRecord) -> Floats:
        before, after = np.array([line["test_regret"] for line in lines(run)], np.float64)
        return np.array([100 * (after - before)])

    return Measure(measure, lines)
