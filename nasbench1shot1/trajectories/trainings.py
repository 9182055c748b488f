"""The trainings of a frame: what another program trained, in which run and order, and the incumbents of each run."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.black_box_search.simulation import Incumbent, SearchResult
from nasbench1shot1.choices import as_float, snap
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, shorten
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.frame_keys import cell_error, plain_name, read_architectures, similar_name
from nasbench1shot1.tables.to_frame import ARCHITECTURE

if TYPE_CHECKING:
    import pandas

RUN, SECONDS, EVALUATION, EPOCHS, LOSS = "run", "seconds", "evaluation", "epochs", "validation_error"
OPTIONAL = (SECONDS, EVALUATION, EPOCHS, LOSS)
_ACCURACIES = tuple(f"{split}_{what}" for split in ("val", "valid", "validation") for what in ("acc", "accuracy"))
OTHER_NAMES = {
    RUN: ("search", "seed", "repeat"),
    EPOCHS: ("epoch", "budget", "budgets"),
    LOSS: ("val_error", "valid_error", *_ACCURACIES),
}
"""Names that other programs give to columns without which other values are assumed."""
_MOST_EVALUATIONS = 2**31 - 1
_MOST_SECONDS = 1e20
"""Times and their ratios far above this cannot be drawn: the transforms of axes overflow."""
_RANGES = {EVALUATION: (1.0, _MOST_EVALUATIONS), SECONDS: (0.0, _MOST_SECONDS)}
"""The least and the largest value of columns that are axes of figures."""
ROUNDING = 1e-5
"""Largest difference between a recorded validation error and the table's, for files with rounded values."""


class Training(NamedTuple):
    """A training that another program recorded.

    Attributes:
        place: its row in the frame, from 0.
        seconds: the clock at its end; None if the frame has no clock.
        number: its number in its run, from 1.
        architecture: the architecture.
        epochs: the number of epochs, which may be a fraction; None without the column.
        loss: the recorded validation error; None without the column.
    """

    place: int
    seconds: float | None
    number: int
    architecture: Architecture
    epochs: float | None
    loss: float | None


@dataclass(frozen=True)
class Trainings:
    """The trainings of all runs of a frame.

    Attributes:
        runs: the trainings of each run by its name, in the order of the frame; none is empty.
        has_seconds: whether the frame has a clock.
        has_losses: whether the frame has validation errors.
    """

    runs: dict[str, list[Training]]
    has_seconds: bool
    has_losses: bool

    @classmethod
    def of_frame(cls, frame: "pandas.DataFrame", space: SearchSpace) -> "Trainings":
        """Read a frame with a row for each training.

        Raises InvalidInputError, which names the row and the column, for a missing or repeated column, a missing or
        impossible value, an unknown architecture, a decreasing clock, or two rows of one training.
        """
        import pandas

        if not isinstance(frame, pandas.DataFrame):
            raise InvalidInputError(f"{shorten(repr(frame))} is not a data frame: give a pandas.DataFrame")
        _check_columns(frame)
        named = frame[RUN].tolist() if RUN in frame else [0] * len(frame)
        runs = [_name(value, place) for place, value in enumerate(named)]
        found = {name: _numbers(frame, name) for name in OPTIONAL}
        architectures = read_architectures(frame, space)
        numbers = _evaluations(found[EVALUATION], runs)
        several = "" if RUN in frame else f", or add the column '{RUN}' if there are several searches"
        by_run: dict[str, list[Training]] = {}
        for place, run in enumerate(runs):
            seconds, epochs, loss = (_entry(found[name], place) for name in (SECONDS, EPOCHS, LOSS))
            training = Training(place, seconds, numbers[place], architectures[place], epochs, loss)
            by_run.setdefault(run, []).append(training)
        for run, trainings in by_run.items():
            _check_distinct(run, trainings, found[EVALUATION] is not None, several)
            _check_clock(run, trainings, several)
        return cls(by_run, found[SECONDS] is not None, found[LOSS] is not None)

    @property
    def last(self) -> float:
        """The end of the longest run: seconds, or a number of trainings without a clock."""
        of_runs = (trainings[-1] for trainings in self.runs.values())
        return max(float(one.number) if one.seconds is None else one.seconds for one in of_runs)

    @property
    def most(self) -> int:
        """The number of trainings of the longest run."""
        return max(trainings[-1].number for trainings in self.runs.values())


class Incumbents:
    """Chooses the incumbents of runs by the validation errors of a table.

    Args:
        repeats: the searches; their table answers.

    Attributes:
        budgets: the budgets of the trainings so far, in epochs.
    """

    def __init__(self, repeats: Repeats) -> None:
        self._repeats, self.budgets = repeats, set[int]()
        guide, training = repeats.objective.validation_metric, repeats.objective.validation
        self._about, self._read = repeats.table.about(guide, training), repeats.table.reader(guide, training)
        self._known: dict[tuple[int, int], tuple[float, list[float]]] = {}

    def of_run(self, run: str, trainings: Sequence[Training]) -> SearchResult:
        """Return the result of a run; raises InvalidInputError if a recorded error differs from the table's.

        The incumbent is the architecture with the lowest validation error so far. This is the error of the repeat of
        the table that the run recorded, or the mean over repeats if the run recorded none.
        """
        incumbents, lowest = [], math.inf
        for training in trainings:
            error = self._error(training)
            if error is not None and error < lowest:
                lowest = error
                at = float(training.number) if training.seconds is None else training.seconds
                incumbents.append(Incumbent(at, training.number, training.architecture, error))
        if not incumbents:
            raise InvalidInputError(
                f"the table {self._repeats.table.id} has none of the architectures of run '{run}': remove the run"
            )
        last = trainings[-1]
        end = float(last.number) if last.seconds is None else last.seconds
        return SearchResult(tuple(incumbents), last.number, end, len(trainings))

    def _error(self, training: Training) -> float | None:
        """Return the validation error of a training; None for an architecture that a partial table lacks."""
        table, epochs = self._repeats.table, self._budget(training)
        self.budgets.add(epochs)
        if table.is_partial and training.architecture not in table:
            return None
        row = table.row_of(training.architecture)
        if (row, epochs) not in self._known:
            self._known[row, epochs] = self._errors(row, epochs)
        mean, every = self._known[row, epochs]
        if mean != mean:  # NaN
            raise cell_error(
                training.place,
                ARCHITECTURE,
                f"the table {table.id} lacks the {self._about.words} of '{training.architecture}' at "
                f"{counted(epochs, 'epoch')}: remove the row, or choose another table",
            )
        if training.loss is None:
            return mean
        nearest = min(every, key=lambda error: abs(error - training.loss))  # type: ignore[operator]
        if abs(nearest - training.loss) > ROUNDING:
            if abs(training.loss - self._repeats.worst_error) <= ROUNDING:
                raise cell_error(
                    training.place,
                    LOSS,
                    f"{training.loss:.6g} is the cost that nb.objective gives proposals outside its bounds, which it "
                    "does not train: give nb.objective a folder for its record, and read that record, or remove the "
                    "rows of these proposals",
                )
            raise cell_error(
                training.place,
                LOSS,
                f"{training.loss:.6g} differs from the table {table.id}, which has "
                f"{alternatives(f'{error:.6g}' for error in dict.fromkeys(every))} at {counted(epochs, 'epoch')}: "
                "correct it or the number of epochs, or leave all validation errors out",
            )
        return nearest

    def _errors(self, row: int, epochs: int) -> tuple[float, list[float]]:
        """Return the mean error of a network, and all its known errors."""
        mean = self._about.cost(self._read(row, epochs, "mean"))
        only_mean = epochs in self._about.means
        repeats = [] if only_mean else range(self._repeats.table.repeats)
        every = [self._about.cost(self._read(row, epochs, repeat)) for repeat in repeats]
        return float(mean), [float(error) for error in (*every, mean) if error == error]

    def _budget(self, training: Training) -> int:
        if training.epochs is None:
            return self._repeats.epochs
        return snap(training.epochs, self._repeats.budgets)


# Columns --------------------------------------------------------------------------------------------------------------


def _check_columns(frame: "pandas.DataFrame") -> None:
    names = [str(name) for name in frame.columns]
    for name in (RUN, ARCHITECTURE, *OPTIONAL):
        if names.count(name) > 1:
            raise InvalidInputError(f"there are two columns '{name}': remove one of them")
    for wanted in (RUN, *OPTIONAL):
        others = [name for name in names if name not in (RUN, *OPTIONAL)]
        if wanted not in names and (likely := similar_name(wanted, others, OTHER_NAMES.get(wanted, ()))):
            advice = "rename or remove it"
            if plain_name(likely) in _ACCURACIES:
                advice = "replace each accuracy by 1 - accuracy and rename the column, or remove it"
            raise InvalidInputError(f"the column '{shorten(likely)}' is probably '{wanted}': {advice}")
    if SECONDS not in names and EVALUATION not in names:
        raise InvalidInputError(
            f"the columns '{SECONDS}' and '{EVALUATION}' are missing: add the clock at the end of each training in "
            "seconds, or its number"
        )
    if not len(frame):
        raise InvalidInputError("the frame has no rows: give a row for each training")


def _name(value: Any, place: int) -> str:
    """Return the name of a run, 2.0 as "2"."""
    if not isinstance(value, Hashable) or _is_missing(value) or not str(value).strip():
        raise cell_error(place, RUN, "the value is missing: fill it in, or remove the row")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _is_missing(value: Any) -> bool:
    """Return whether a scalar is None, NaN or pandas.NA."""
    import pandas

    return value is None or bool(pandas.isna(value))


def _numbers(frame: "pandas.DataFrame", name: str) -> list[float] | None:
    """Return the numbers of a column; None without the column."""
    if name not in frame:
        return None
    found = []
    for place, value in enumerate(frame[name].tolist()):
        try:
            number = math.nan if value is None or isinstance(value, bool) else as_float(value)
        except (TypeError, ValueError):
            number = math.nan
        least, most = _RANGES.get(name, (-math.inf, math.inf))
        is_fit = math.isfinite(number) and least <= number <= most and (name != EVALUATION or number.is_integer())
        if not is_fit or (name == EPOCHS and number <= 0):
            wanted = {
                EVALUATION: f"a whole number from 1 to {_MOST_EVALUATIONS}",
                SECONDS: f"a number of seconds from 0 to {_MOST_SECONDS:g}",
                EPOCHS: "a positive number",
            }.get(name, "a number")
            advice = "correct it, or remove the row"
            if name == EVALUATION and number == 0:
                advice = "add 1 to all values"
            raise cell_error(place, name, f"'{shorten(str(value))}' is not {wanted}: {advice}")
        if name == LOSS and 1 < number <= 100:
            raise cell_error(
                place, name, f"'{shorten(str(value))}' is not a fraction from 0 to 1: divide the column by 100"
            )
        found.append(number)
    return found


def _entry(column: list[float] | None, place: int) -> float | None:
    return None if column is None else column[place]


def _evaluations(column: list[float] | None, runs: Sequence[str]) -> list[int]:
    """Return the number of each row's training in its run; without the column, rows are counted."""
    if column is not None:
        return list(map(int, column))
    counts: dict[str, int] = {}
    numbers = []
    for run in runs:
        counts[run] = counts.get(run, 0) + 1
        numbers.append(counts[run])
    return numbers


def _check_distinct(run: str, trainings: Sequence[Training], is_numbered: bool, advice: str) -> None:
    """Raise InvalidInputError, with further advice, if two rows of a run are the same training."""
    seen: dict[Hashable, int] = {}
    for one in trainings:
        key: Hashable = one.number if is_numbered else (one.seconds, one.architecture, one.epochs)
        if key in seen:
            what = f"training {one.number}" if is_numbered else f"'{one.architecture}' at {one.seconds:,.10g} s"
            more = "" if is_numbered else f", or number the trainings in the column '{EVALUATION}'"
            column = EVALUATION if is_numbered else SECONDS
            raise InvalidInputError(
                f"rows {seen[key] + 1} and {one.place + 1}, column '{column}': both are {what} of run '{run}': remove "
                f"one{more}{advice}"
            )
        seen[key] = one.place


def _check_clock(run: str, trainings: Sequence[Training], advice: str) -> None:
    """Raise InvalidInputError, with further advice, if a clock or the number of the training decreases in a run."""
    for before, one in pairwise(trainings):
        decreases = one.seconds is not None and before.seconds is not None and one.seconds < before.seconds
        if decreases or one.number < before.number:
            column, now, then = (
                (SECONDS, one.seconds, before.seconds) if decreases else (EVALUATION, one.number, before.number)
            )
            raise cell_error(
                one.place,
                column,
                f"{now:,.10g} is less than {then:,.10g} in row {before.place + 1} of run '{run}': sort the rows of "
                f"each run by the ends of their trainings{advice}",
            )
