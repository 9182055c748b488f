"""The metrics of a data frame: their numbers, and the columns of a table that they become."""

import math
import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.choices import as_float
from nasbench1shot1.ground.errors import InvalidInputError, either, flag, shorten, switch
from nasbench1shot1.tables.columns import STANDARD, Column, Floats
from nasbench1shot1.tables.description import MEASURED, is_metric_name
from nasbench1shot1.tables.frame_keys import cell_error, plain_name
from nasbench1shot1.tables.to_frame import parse_frame_name

if TYPE_CHECKING:
    import pandas

_INDEX = re.compile(r"Unnamed: \d+|index|level_\d+|__index_level_\d+__")
"""Names under which files have the index of a data frame."""
_LOOKED_AT = 100
"""Number of values of an unknown column that decide whether it has texts."""
_POSITIVE = ("ns", "us", "µs", "ms", "s", "min", "h")
"""Units of times, which are not negative."""
_DESCRIBED = frozenset(field.name for field in fields(Column))


@dataclass(frozen=True)
class NewColumn:
    """A column of the table to be made.

    Attributes:
        source: the name of the frame's column; empty if only `curves` have its values.
        about: its description. Without `epochs`, the budgets are those with a value.
        facts: further facts of its entry, such as the number of images.
        has_budgets: whether it has a value for each training, not for each network; None if the values decide.
        curves: learning curves, the last values of which are its values at budgets at which it has no others.
        stored: its name in the table that the frame comes from; None for a new column.
        dtype: the type of the stored numbers in that table.
        repeats: the number of repeats in that table.
        empty: the budgets at which that table has no value, or the epochs of learning curves.
    """

    source: str
    about: Column
    facts: Mapping[str, Any] = field(default_factory=dict)
    has_budgets: bool | None = True
    curves: "tuple[NewColumn, ...]" = ()
    stored: str | None = None
    dtype: str | None = None
    repeats: int | None = None
    empty: tuple[int, ...] = ()

    @property
    def datasets(self) -> tuple[str, ...]:
        """All data sets whose trainings have its values."""
        return (self.about.dataset, *self.about.also_of)

    @property
    def origin(self) -> str:
        """The name of the frame's column for messages: of the first learning curve, if only `curves` have values."""
        return self.source or self.curves[0].source

    @property
    def may_be_empty(self) -> bool:
        """Whether the column is kept without a value: the table that the frame comes from had none, or no budgets."""
        return self.stored is not None and set(self.about.epochs) <= set(self.empty)

    def on(self, datasets: Container[str]) -> "NewColumn | None":
        """Return the column restricted to some data sets; None if it has none of them."""
        if not (here := [name for name in self.datasets if name in datasets]):
            return None
        return replace(self, about=replace(self.about, dataset=here[0], also_of=tuple(here[1:])))

    def is_end_of(self, curve: "NewColumn") -> bool:
        """Return whether the column has the end of a learning curve: values of equal metric and fidelity."""
        own, other = self.about, curve.about
        is_on_data_set = not set(self.datasets).isdisjoint(curve.datasets)
        return own.moment == "end" and (own.metric, own.fidelity) == (other.metric, other.fidelity) and is_on_data_set

    def with_curves(self, curves: "Iterable[NewColumn]") -> "NewColumn":
        """Return the column, with the learning curves that can provide its values at the end of trainings."""
        about = self.about
        fitting = [
            curve
            for curve in curves
            if self.is_end_of(curve)
            and (not about.epochs or curve.about.moment in about.epochs)
            and not about.is_same_for_repeats
        ]
        return replace(self, curves=tuple(fitting))


@dataclass(frozen=True)
class Metrics:
    """How the columns of a frame are described: by the caller, by the table that it comes from, or as standard metrics.

    Attributes:
        frame: the frame.
        datasets: the data sets of its rows.
        given: descriptions by the names of the frame's columns.
        described: the entries of the table that the frame comes from, by the names of the table's columns.
        measured: whether values of standard metrics are measurements.
        percent: whether all fractions are given in percent.
        sources: where the values come from.
    """

    frame: "pandas.DataFrame"
    datasets: tuple[str, ...]
    given: Mapping[str, Column]
    described: Mapping[str, Any]
    measured: bool
    percent: bool
    sources: tuple[str, ...]

    # Descriptions ----------------------------------------------------------------------------------------------

    def new_columns(self, sources: Iterable[str]) -> list[NewColumn]:
        """Return the columns of the table that columns of the frame become, usually one for each data set.

        New learning curves also become the values at the end of their trainings, if the frame has no others.

        Raises InvalidInputError for an unknown column.
        """
        found = [new for source in sources for new in self._new_columns(source)]
        curves = [new for new in found if new.stored is None and isinstance(new.about.moment, int)]
        ends: dict[tuple[str, str, tuple[str, ...]], NewColumn] = {}
        for curve in curves:
            if not any(new.is_end_of(curve) for new in found):
                about = replace(curve.about, moment="end", epochs=())
                end = replace(curve, source="", about=about)
                ends.setdefault((about.metric, about.fidelity, curve.datasets), end)
        return [new.with_curves(curves) for new in (*found, *ends.values())]

    def _new_columns(self, source: str) -> Iterator[NewColumn]:
        described = [] if source in self.given else list(self._described_columns(source))
        here = [column for new in described if (column := new.on(self.datasets))]
        yield from here
        done = {dataset for new in here for dataset in new.datasets}
        if not (rest := [dataset for dataset in self.datasets if dataset not in done]):
            return
        if described:  # a metric that the other table has on other data sets
            first = (here or described)[0]
            about, has_budgets = replace(first.about, dataset="", also_of=(), epochs=(), means=()), first.has_budgets
        else:
            about, has_budgets = self._about(source)
        for dataset in rest if about.dataset == "" else [about.dataset]:
            yield NewColumn(source, replace(about, dataset=dataset), {"sources": list(self.sources)}, has_budgets)

    def _described_columns(self, source: str) -> Iterator[NewColumn]:
        """Yield the columns of the other table that a column of the frame comes from, on all of their data sets."""
        for stored, described in self.described.items():
            if described["name"] != source:
                continue
            about, entry = Column.from_entry(described["entry"]), described["entry"]
            if not self.measured and about.fidelity == "measured" and not parse_frame_name(source).is_measured:
                about = replace(about, fidelity="predicted")
            facts = {name: said for name, said in entry.items() if name not in _DESCRIBED}
            if self.sources:
                facts["sources"] = list(self.sources)
            yield NewColumn(
                source,
                about,
                facts,
                has_budgets=bool(about.epochs),
                stored=stored,
                dtype=described["dtype"],
                repeats=described["repeats"],
                empty=tuple(described.get("empty", ())),
            )

    def _about(self, source: str) -> tuple[Column, bool | None]:
        """Return the description of a column, and whether it has budgets; None if the values decide."""
        if source in self.given:
            about = self.given[source]
            is_within = any(of.metric == about.metric and of.moment != "end" for of in self.given.values())
            return about, True if about.epochs or is_within else None
        metric, moment, is_measured = parse_frame_name(source)
        is_needless = is_measured and (self.measured or source.removeprefix(MEASURED) not in self.frame)
        if metric not in STANDARD or is_needless:
            raise self._unknown_column_error(source)
        about = STANDARD[metric]
        if about.fidelity == "exact":
            return about, False
        fidelity = "measured" if self.measured or is_measured else "predicted"
        return replace(about, fidelity=fidelity, moment=moment), True

    def _unknown_column_error(self, source: str) -> InvalidInputError:
        """Return the error for a column that is neither described nor a standard metric."""
        name = shorten(source)
        leave_out = either(
            f"leave it out with {flag('ignore')} {shlex.quote(name)}", f"leave it out with frame.drop(columns={name!r})"
        )
        if _INDEX.fullmatch(source):
            return InvalidInputError(
                f"unknown column '{name}', which is probably the index of a data frame: write the file with "
                f"index=False, or {leave_out}"
            )
        plain, metric = plain_name(source), parse_frame_name(source).metric
        is_standard = parse_frame_name(plain).metric in STANDARD
        if is_standard and plain not in self.frame:
            return InvalidInputError(f"unknown column '{name}', which is probably '{plain}': rename it, or {leave_out}")
        if metric in STANDARD:
            return InvalidInputError(f"unknown column '{name}', {self._advice_on_measurements(source)}, or {leave_out}")
        values = self.frame[source].dropna()
        if values.dtype.kind not in "iufb" and any(_is_text(value) for value in values.head(_LOOKED_AT)):
            return InvalidInputError(f"unknown column '{name}', which does not have numbers: {leave_out}")
        on_command_line, metric_named = f"describe it with {flag('column')} {source}:UNIT:DIRECTION", ""
        if not is_metric_name(metric):
            is_free = is_metric_name(parse_frame_name(plain).metric) and not is_standard and plain not in self.frame
            other = plain if is_free else "NAME"
            on_command_line = f"rename it and describe it with {flag('column')} {other}:UNIT:DIRECTION"
            metric_named = f'metric="{other}", '
        describe = either(on_command_line, f'describe it with columns={{"{source}": nb.Column({metric_named}…)}}')
        return InvalidInputError(
            f"unknown column '{name}': {describe}, {leave_out}, or rename it to one of {', '.join(STANDARD)}"
        )

    def _advice_on_measurements(self, source: str) -> str:
        """Return why measurements of a standard metric are not accepted, and what to do."""
        estimates = source.removeprefix(MEASURED)
        if estimates in self.frame:
            predicted = either(flag("predicted"), "measured=False")
            return f"because '{estimates}' is measured, too: add {predicted} if '{estimates}' is predicted"
        add = f"rename it to '{estimates}'" if self.measured else f"add '{estimates}'"
        return f"because there are no estimates '{estimates}': {add}"

    # Numbers ---------------------------------------------------------------------------------------------------

    def numbers(self, source: str) -> Floats:
        """Return a column of metrics as floats (N,), fractions as fractions.

        The text of a number is accepted: one text in a file makes the whole column of its frame texts.

        Raises InvalidInputError for a value that is not a number, infinite, or impossible for the unit.
        """
        column = self.frame[source]
        if column.dtype.kind in "iuf":
            values = column.to_numpy("float64", copy=True, na_value=np.nan)
        else:
            given, known = column.tolist(), column.notna().tolist()
            read = [_number(one, place, source) if known[place] else math.nan for place, one in enumerate(given)]
            values = np.array(read, np.float64)
        if (infinite := np.isinf(values)).any():
            raise cell_error(int(np.argmax(infinite)), source, "the value is infinite: leave it empty if it is unknown")
        unit, quantity = self._unit_and_quantity(source)
        if unit == "fraction":
            return self._fractions(source, values, "accuracy" in quantity)
        standard = None if source in self.given else STANDARD.get(parse_frame_name(source).metric)
        if (standard or unit in _POSITIVE) and (wrong := values < 0).any():
            place = int(np.argmax(wrong))
            raise cell_error(place, source, f"'{values[place]:g}' is negative: correct it, or leave it empty")
        if standard and standard.fidelity == "exact" and (wrong := values % 1 > 0).any():
            place = int(np.argmax(wrong))
            what = f"'{values[place]:g}' is not a whole number: give the number of {quantity}, not of millions"
            raise cell_error(place, source, what)
        return values

    def _unit_and_quantity(self, source: str) -> tuple[str, str]:
        if source in self.given:
            return self.given[source].unit, self.given[source].quantity
        entries = [of["entry"] for of in self.described.values() if of["name"] == source]
        if entries:
            return entries[0].get("unit", ""), entries[0].get("quantity", "")
        standard = STANDARD.get(parse_frame_name(source).metric)
        return (standard.unit, standard.quantity) if standard else ("", "")

    def _fractions(self, source: str, values: Floats, is_accuracy: bool) -> Floats:
        most = 100.0 if self.percent else 1.0
        if self.percent and is_accuracy and 0 < np.max(values, initial=0, where=~np.isnan(values)) <= 1:
            raise InvalidInputError(
                f"no value of the column '{shorten(source)}' is above 1, although {switch('percent')} states that "
                "accuracies are given in percent: multiply the column by 100, or divide the others by 100 and leave "
                f"{switch('percent')} out"
            )
        wrong = (values < 0) | (values > most)
        if not wrong.any():
            return values / 100 if self.percent else values
        place = int(np.argmax(wrong))
        if self.percent or not 1 < values[place] <= 100:
            what = f"'{values[place]:g}' is not between 0 and {most:g}: correct it, or leave it empty"
        else:
            what = (
                f"'{values[place]:g}' is not a fraction from 0 to 1: divide the column by 100, or add "
                f"{switch('percent')} if all fractions are given in percent"
            )
        raise cell_error(place, source, what)


def _is_text(value: Any) -> bool:
    """Return whether a value is a text that is not a number."""
    try:
        float(value)  # `1_000` is meant as a number, too; _number refuses it and names the row
    except (TypeError, ValueError):
        return True
    return False


def _number(value: Any, place: int, source: str) -> float:
    """Return a known value of a column as a float; raises InvalidInputError if it is not a number."""
    try:
        number = math.nan if isinstance(value, bool | np.bool_) else as_float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise cell_error(place, source, f"'{shorten(str(value))}' is not a number: correct it, or leave it empty")
    return number
