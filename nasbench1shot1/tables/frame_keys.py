"""The trainings of a data frame: which architecture, data set, budget and repeat each of its rows belongs to."""

import difflib
import re
from collections.abc import Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.choices import architecture_in, as_number, identifiers
from nasbench1shot1.configurable import values_of_hyperparameters
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, quote, shorten
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.description import DATASET_NAME
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.keys import RowKeys
from nasbench1shot1.tables.stored_columns import Rows
from nasbench1shot1.tables.to_frame import ARCHITECTURE, DATASET, EPOCHS, MEAN, REPEAT, SEED

if TYPE_CHECKING:
    import pandas

KNOWN_DATASETS = ("cifar10", "cifar10-valid", "cifar100", "ImageNet16-120")
"""Names of data sets by which runs and tables are compared, as in NAS-Bench-201."""
OF_MEANS = -1
"""The repeat of a row that has means over repeats."""
_MOST_EPOCHS, _MOST_REPEATS = 2**31 - 1, 100_000
_LIKELY = 0.85
"""Similarity of two names (`difflib`) from which one is probably a misspelling of the other."""


@dataclass(frozen=True)
class Trainings:
    """The keys of the N rows of a frame.

    Attributes:
        names: the frame's columns that contain keys.
        identity: the columns of the new table that identify its rows.
        rows: the row of the new table for each row of the frame, (N,).
        datasets: the names of the data sets, in the order of their first rows.
        dataset: the position of each row's data set, (N,).
        epochs: the budget, or the epoch of values of learning curves, (N,).
        repeat: the number of the repeat, or `OF_MEANS`, (N,).
        seeds: the seed of each repeat; empty if the frame numbers them.
    """

    names: tuple[str, ...]
    identity: Columns
    rows: Rows
    datasets: tuple[str, ...]
    dataset: NDArray[np.int64]
    epochs: NDArray[np.int64]
    repeat: NDArray[np.int64]
    seeds: tuple[int, ...]

    @classmethod
    def of_frame(cls, frame: "pandas.DataFrame", space: SearchSpace, keys: type[RowKeys], default: str) -> "Trainings":
        """Read the keys of a frame; `default` is the data set of a frame without the column.

        Raises InvalidInputError, which names the row and the column, for a missing column, a missing or invalid key, an
        unknown architecture, or two rows with equal keys.
        """
        for key, alternative in ((DATASET, DATASET), (REPEAT, SEED), (SEED, REPEAT)):
            meant = [name for name in frame.columns if plain_name(name) == key]
            if meant and key not in frame and alternative not in frame:
                raise InvalidInputError(f"the column '{shorten(meant[0])}' is probably '{key}': rename it")
        named = _architecture_columns(frame, space)
        rows, identity = _rows(frame, space, keys, named)
        datasets, dataset = _datasets(frame, default)
        if EPOCHS not in frame:
            if likely := similar_name(EPOCHS, frame.columns, ("epoch", "budget")):
                raise InvalidInputError(f"the column '{shorten(likely)}' is probably '{EPOCHS}': rename it")
            raise InvalidInputError(
                f"the column '{EPOCHS}' is missing: add it, with the number of epochs of each training"
            )
        epochs = _whole_numbers(frame, EPOCHS, 1, _MOST_EPOCHS)
        if REPEAT in frame and SEED in frame:
            raise InvalidInputError(f"the columns '{REPEAT}' and '{SEED}' cannot be combined: remove one of them")
        repeat, seeds = _repeats(frame)
        others = [name for name in (DATASET, EPOCHS, REPEAT, SEED) if name in frame]
        found = cls((*named, *others), identity, rows, datasets, dataset, epochs, repeat, seeds)
        found._check_distinct(frame, named)
        return found

    def are_on(self, datasets: Container[str]) -> NDArray[np.bool_]:
        """Return which rows belong to one of the data sets, (N,)."""
        return np.isin(self.dataset, [place for place, name in enumerate(self.datasets) if name in datasets])

    def _check_distinct(self, frame: "pandas.DataFrame", named: tuple[str, ...]) -> None:
        """Raise InvalidInputError if two rows have equal keys."""
        every = np.stack([self.rows, self.dataset, self.epochs, self.repeat], axis=1)
        _, first, place = np.unique(every, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(every):
            return
        later = int(np.flatnonzero(first[place.reshape(-1)] != np.arange(len(every)))[0])
        earlier = int(first[place.reshape(-1)[later]])
        text = ", ".join(shorten(str(frame[name].iloc[later])) for name in named)
        other = ", ".join(shorten(str(frame[name].iloc[earlier])) for name in named)
        same = f"of '{text}'" if text == other else f"of one network, '{other}' and '{text}',"
        numbered = next((name for name in (SEED, REPEAT) if name in frame), None)
        which = f"add the column '{REPEAT}' or '{SEED}' to keep both"
        if numbered:
            which = f"give them different values of '{numbered}'"
        raise InvalidInputError(
            f"rows {earlier + 1} and {later + 1} are both trainings {same} with {self.epochs[later]} epochs and the "
            f"same repeat: remove one, or {which}"
        )


def check_spelling(name: str) -> None:
    """Raise InvalidInputError if the name of a data set differs from a known one only in its spelling."""
    known = {_letters(one): one for one in KNOWN_DATASETS}
    if name not in KNOWN_DATASETS and (one := known.get(_letters(name))):
        raise InvalidInputError(f"the data set '{name}' is named '{one}' in tables: write {one}")


def _letters(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub("[^a-z0-9]", "", name.lower())


def cell_error(place: int, column: object, what: str) -> InvalidInputError:
    """Return the error for a value in a row and a column of a frame."""
    return InvalidInputError(f"row {place + 1}, column '{column}': {what}")


def check_no_gaps(frame: "pandas.DataFrame", column: str) -> None:
    """Raise InvalidInputError if a value of a key is missing."""
    if (gaps := frame[column].isna().to_numpy()).any():
        raise cell_error(int(np.argmax(gaps)), column, "the value is missing: fill it in, or remove the row")


def similar_name(wanted: str, names: Iterable[object], others: Iterable[str] = ()) -> str | None:
    """Return the name that probably means a wanted column: in capitals, misspelled, or one of other programs' names."""
    by_plain = {plain_name(name): str(name) for name in names}
    known = [name for name in (wanted, *others) if name in by_plain]
    found = known or difflib.get_close_matches(wanted, by_plain, 1, _LIKELY)
    return by_plain[found[0]] if found else None


def plain_name(name: object) -> str:
    """Return the name of a column in lower case, with _ between its words."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


# Architectures --------------------------------------------------------------------------------------------------------


def read_architectures(frame: "pandas.DataFrame", space: SearchSpace) -> list[Architecture]:
    """Return the architecture of each row of a frame.

    Raises InvalidInputError, which names the row and the column, for a missing column or an unknown architecture.
    """
    groups, found = _grouped(frame, space, _architecture_columns(frame, space))
    return [found[group] for group in groups.tolist()]


def _architecture_columns(frame: "pandas.DataFrame", space: SearchSpace) -> tuple[str, ...]:
    """Return the column of architectures, or the column of each hyperparameter, as far as it is in the frame."""
    if ARCHITECTURE in frame:
        return (ARCHITECTURE,)
    columns = _columns_of_choices(frame, space)
    choices = values_of_hyperparameters(space.configuration_space())
    names = tuple(name for name in columns.values() if name in frame)
    lacking = [columns[name] for name, of in choices.items() if columns[name] not in frame and not _is_fixed(of)]
    if lacking or not names:
        if likely := similar_name(ARCHITECTURE, frame.columns, ("arch",)):
            raise InvalidInputError(f"the column '{shorten(likely)}' is probably '{ARCHITECTURE}': rename it")
        raise InvalidInputError(
            f"the column '{ARCHITECTURE}' is missing: add it, or a column for each hyperparameter of {space.name} "
            f"(missing: {', '.join(lacking or columns.values())})"
        )
    return names


def _columns_of_choices(frame: "pandas.DataFrame", space: SearchSpace) -> dict[str, str]:
    """Return the column of each hyperparameter: its own name, or the name of an objective's choice, an identifier."""
    originals = list(space.configuration_space())
    renamed = zip(originals, identifiers(dict.fromkeys(originals)), strict=True)
    return {name: name if name in frame or other not in frame else other for name, other in renamed}


def _is_fixed(choices: Mapping[str, Any] | None) -> bool:
    """Return whether a hyperparameter has a single value. Some optimizers refuse it, so their files lack it."""
    return choices is not None and len(choices) == 1


def _rows(
    frame: "pandas.DataFrame", space: SearchSpace, keys: type[RowKeys], named: tuple[str, ...]
) -> tuple[Rows, Columns]:
    """Return the rows of the new table, and the columns that identify them."""
    groups, found = _grouped(frame, space, named)
    identity, rows = keys.columns_of(found)
    return rows[groups], identity


def _grouped(
    frame: "pandas.DataFrame", space: SearchSpace, named: tuple[str, ...]
) -> tuple[NDArray[np.int64], list[Architecture]]:
    """Return the position of each row's architecture, and the architectures; each one is read once."""
    if named == (ARCHITECTURE,):
        check_no_gaps(frame, ARCHITECTURE)
    try:
        groups = frame.groupby(list(named), sort=False, dropna=False).ngroup().to_numpy().astype(np.int64)
    except TypeError as error:  # lists
        raise InvalidInputError(
            f"the column '{named[0]}' has values that are not texts or numbers ({error}): convert them"
        ) from error
    _, first = np.unique(groups, return_index=True)
    values = {}
    for name in named:
        of_name = frame[name].iloc[first]
        values[name] = of_name.astype(object).where(of_name.notna(), None).tolist()
    if named == (ARCHITECTURE,):
        found = [_architecture(space, value, int(at)) for value, at in zip(values[ARCHITECTURE], first, strict=True)]
    else:
        choices = values_of_hyperparameters(space.configuration_space())
        columns = _columns_of_choices(frame, space)
        fixed = {name: next(iter(of.values())) for name, of in choices.items() if of and columns[name] not in frame}
        given = {name: choices[name] for name in choices if name not in fixed}
        picked = [dict(zip(named, of_row, strict=True)) for of_row in zip(*values.values(), strict=True)]
        found = [_configured(space, given, fixed, one, int(at)) for one, at in zip(picked, first, strict=True)]
    return groups, found


def _architecture(space: SearchSpace, value: Any, place: int) -> Architecture:
    """Return the architecture that a value means (`architecture_in`)."""
    try:
        return architecture_in(space, value)
    except InvalidInputError as error:
        raise cell_error(place, ARCHITECTURE, quote(error)) from error


def _configured(
    space: SearchSpace,
    choices: Mapping[str, Mapping[str, Any] | None],
    fixed: Mapping[str, Any],
    given: Mapping[str, Any],
    place: int,
) -> Architecture:
    """Return the architecture of one row's hyperparameters, in the order of `choices`, and of the `fixed` ones.

    An inactive hyperparameter has no value.
    """
    values = dict(fixed)
    for original, (name, value) in zip(choices, given.items(), strict=True):
        if value is None:
            continue
        known, number = choices[original], as_number(value)
        text = str(value) if number is None else str(number)
        if known is not None and text not in known and str(value) not in known:
            raise cell_error(place, name, f"'{shorten(str(value))}' is not a choice: give {alternatives(known)}")
        values[original] = value if known is None else known.get(str(value), known.get(text))
    try:
        return space.from_configuration(values)
    except InvalidInputError as error:
        raise cell_error(place, ", ".join(given), quote(error)) from error


# Other keys -----------------------------------------------------------------------------------------------------------


def _datasets(frame: "pandas.DataFrame", default: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the data sets, and the position of each row's."""
    if DATASET not in frame:
        return (default,), np.zeros(len(frame), np.int64)
    check_no_gaps(frame, DATASET)
    given = frame[DATASET].tolist()
    places: dict[Hashable, int] = {}
    for row, name in enumerate(given):
        if name not in places and not (isinstance(name, str) and DATASET_NAME.fullmatch(name)):
            raise cell_error(
                row,
                DATASET,
                f"'{shorten(str(name))}' cannot be the name of a data set: use at most 50 letters, digits and -",
            )
        places.setdefault(name, len(places))
    return tuple(map(str, places)), np.array([places[name] for name in given], np.int64)


def _repeats(frame: "pandas.DataFrame") -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return the number of each row's repeat, and the seeds of the repeats."""
    name = SEED if SEED in frame else REPEAT
    if name not in frame:
        return np.zeros(len(frame), np.int64), ()
    check_no_gaps(frame, name)
    is_mean = (frame[name].astype(object) == MEAN).to_numpy()
    numbers = _whole_numbers(frame, name, 0, 2**31 - 1 if name == SEED else _MOST_REPEATS, is_mean)
    if name == SEED:
        seeds = np.unique(numbers[~is_mean])
        numbers = np.searchsorted(seeds, numbers)
        return np.where(is_mean, OF_MEANS, numbers), tuple(seeds.tolist())
    if not is_mean.all() and numbers[~is_mean].min() > 0:
        first = int(np.flatnonzero(~is_mean)[0])
        raise cell_error(
            first, name, f"no row has the repeat 0: count repeats from 0, or rename the column to '{SEED}'"
        )
    return np.where(is_mean, OF_MEANS, numbers), ()


def _whole_numbers(
    frame: "pandas.DataFrame", name: str, least: int, most: int, skipped: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Return the numbers of a column of keys; `skipped` rows are 0."""
    check_no_gaps(frame, name)
    values = frame[name]
    skipped = np.zeros(len(values), bool) if skipped is None else skipped
    if values.dtype.kind in "iu":
        numbers = values.to_numpy().astype(np.int64)
    else:
        read = [0 if skip else as_number(value) for value, skip in zip(values.tolist(), skipped, strict=True)]
        numbers = np.array([-1 if number is None or number > most else number for number in read], np.int64)
    wrong = ((numbers < least) | (numbers > most)) & ~skipped
    if wrong.any():
        place = int(np.argmax(wrong))
        mean = f", or write '{MEAN}' for a mean over repeats" if name in (REPEAT, SEED) else ""
        raise cell_error(
            place,
            name,
            f"'{shorten(str(values.iloc[place]))}' is not a whole number from {least} to {most}: correct it{mean}",
        )
    return numbers
