"""Upper bounds on costs of networks, such as parameters or FLOPs: their options, their text, and what they compare.

A search with bounds looks for the best network within them. Its regrets are relative to the best network within the
bounds, and "always the largest network that fits" is a baseline (`Table.largest`).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from nasbench1shot1.ground.errors import InvalidInputError, option, options, quoted_option, shorten
from nasbench1shot1.runs.options import IF_GIVEN, Form, Range

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nasbench1shot1.tables.keys import Item

SIZE = "trainable_parameters"
"""The metric that defines the largest network, if the table has it."""
OPTIONS = {"max_parameters": SIZE, "max_flops": "flops"}
"""The metrics that have an option of their own."""
NAMES = (*OPTIONS, "max")
"""The names of all options of bounds."""
_LIMIT = re.compile(r"([A-Za-z]\w*)(?:@([A-Za-z0-9][A-Za-z0-9-]*))?=(\S+)")
_COLUMN = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)\.([A-Za-z]\w*)=(\S+)")
"""A limit with the name of the column that stores the metric of a data set, such as "cifar10.flops=4e7"."""
_NO_COST = re.compile(r"(^|_)(accuracy|loss)$")


@dataclass(frozen=True, order=True)
class Limit:
    """The largest allowed value of one metric.

    Attributes:
        metric: a metric of the table, such as "flops".
        most: the largest allowed value, in the unit of the metric.
        dataset: the data set whose column is compared; "" for the data set of the search or query.
    """

    metric: str
    most: float
    dataset: str = ""

    def __str__(self) -> str:
        return f"{self.metric}{f'@{self.dataset}' if self.dataset else ''}={_digits(self.most)}"

    @property
    def words(self) -> str:
        """The limit in captions and sentences, such as "trainable parameters ≤ 300,000"."""
        where = f" on {self.dataset}" if self.dataset else ""
        name = "FLOPs" if self.metric == "flops" else self.metric.replace("_", " ")
        return f"{name}{where} ≤ {_digits(self.most, grouped=True)}"

    @property
    def option(self) -> str:
        """The option that sets this limit, for messages."""
        own = next((name for name, metric in OPTIONS.items() if metric == self.metric), None)
        return options({own: _number(self.most)}) if own else quoted_option("max", str(self))


@dataclass(frozen=True)
class Bounds:
    """Upper bounds on costs. A network is within them if each of its costs is known and at most its limit.

    Attributes:
        limits: at least one limit, with different metrics, in ascending order of metrics.

    Raises:
        InvalidInputError: there is no limit, a limit is not a finite number, a metric is bounded twice, or it is an
            accuracy or a loss, whose values are not costs.
    """

    limits: tuple[Limit, ...]

    def __post_init__(self) -> None:
        if not self.limits:
            raise InvalidInputError("bounds without a limit: give at least one, such as flops=1e8")
        for limit in self.limits:
            if _NO_COST.search(limit.metric):
                raise not_a_cost_error(limit)
            if not math.isfinite(limit.most):
                raise InvalidInputError(f"{limit.metric} must be at most a finite number, not {limit.most}")
        object.__setattr__(self, "limits", tuple(sorted(self.limits)))
        for limit, again in pairwise(sorted(self.limits, key=lambda of: (of.metric, of.dataset))):
            if (limit.metric, limit.dataset) == (again.metric, again.dataset):
                raise InvalidInputError(f"{limit.metric} has two bounds, {limit} and {again}: give only one of them")

    @classmethod
    def of(cls, **limits: float) -> "Bounds":
        """Return bounds given by keyword, such as `Bounds.of(trainable_parameters=300_000)`.

        Raises InvalidInputError if a limit is not a finite number, or not a limit of a cost.
        """
        return cls.parse(",".join(f"{metric}={most}" for metric, most in limits.items())) if limits else cls(())

    @classmethod
    def parse(cls, text: str, name: str = "max") -> "Bounds":
        """Return the bounds of a text, such as "flops=1e8,latency_pixel3=5"; `str(bounds)` is the inverse.

        METRIC@DATASET=VALUE compares the column of this data set. Raises InvalidInputError for any other text; `name`
        is the option that the message names.
        """
        return cls(tuple(_parse_limit(one, name) for one in text.split(",")))

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> "Bounds | None":
        """Return the bounds among options or in a run's config.json; None without any.

        Raises InvalidInputError if the option `max` cannot be read, or a metric is bounded twice.
        """
        own = [(metric, given.get(name)) for name, metric in OPTIONS.items()]
        limits = [Limit(metric, float(most)) for metric, most in own if most is not None]
        if (text := given.get("max")) is not None:
            limits += cls.parse(text).limits
        return cls(tuple(limits)) if limits else None

    def __str__(self) -> str:
        return ",".join(map(str, self.limits))

    @property
    def limits_by_size(self) -> tuple[Limit, ...]:
        """The limits, in the order in which their costs define the largest network: parameters, FLOPs, others."""
        own = list(OPTIONS.values())
        return tuple(
            sorted(self.limits, key=lambda limit: own.index(limit.metric) if limit.metric in own else len(own))
        )

    @property
    def words(self) -> str:
        """The bounds in captions and sentences, such as "trainable parameters ≤ 300,000"."""
        return " and ".join(limit.words for limit in self.limits)

    @property
    def option(self) -> str:
        """The options that set these bounds, for messages."""
        return ", ".join(limit.option for limit in self.limits)

    def on(self, datasets: Mapping[str, str]) -> "Bounds":
        """Return bounds in which limits without a data set have one, by metric."""
        return Bounds(tuple(replace(of, dataset=of.dataset or datasets.get(of.metric, "")) for of in self.limits))

    def allows(self, table: "HasCosts", item: "Item") -> bool:
        """Return whether an architecture, cell or hash is within the bounds, by the costs of a `Table`.

        Raises the errors of `Table.allowed` and, for an item that the table lacks, OutOfDomainError.
        """
        return bool(table.allowed(self)[table.row_of(item)])


GivenBounds = Bounds | str | Mapping[str, float]
"""Bounds as they are given in Python: an object, a text such as "flops=1e8", or a mapping from metrics to limits."""


class HasCosts(Protocol):
    """The part of a table's interface that bounds need."""

    def allowed(self, bounds: Bounds) -> "NDArray[np.bool_]":
        """Return which rows are within bounds, (R,)."""

    def row_of(self, x: "Item") -> int:
        """Return the row of an architecture, cell or hash."""


@dataclass(frozen=True, kw_only=True)
class BoundOptions:
    """The options of bounds, which all kinds of search have. config.json has those that are given."""

    max_parameters: Annotated[float | None, Range(above=0), Form("NUMBER"), IF_GIVEN] = None
    """Largest number of trainable parameters: only networks within this bound are considered, and regret is relative
    to the best of them (docs/bounds.md). Default: no bound."""
    max_flops: Annotated[float | None, Range(above=0), Form("NUMBER"), IF_GIVEN] = None
    """Largest number of FLOPs, as the benchmark counts them. Default: no bound."""
    max: Annotated[str | None, Form("COLUMN=VALUE", repeats=True), IF_GIVEN] = None
    """Upper bound on a cost in the table, such as latency_pixel3=20. Separate several bounds by commas. Default: no
    bound."""

    @property
    def bounds(self) -> Bounds | None:
        """The bounds; None without any. Raises the errors of `Bounds.from_options`."""
        return Bounds.from_options({name: getattr(self, name) for name in NAMES})

    def check_bounds(self) -> None:
        """Raise the errors of `bounds`, for example for a text that is not a bound."""
        _ = self.bounds


def as_bounds(given: Any, name: str) -> Bounds:
    """Return bounds that are given in Python (`GivenBounds`).

    Raises InvalidInputError for anything else; `name` is the argument that the message names.
    """
    if isinstance(given, Bounds):
        return given
    if isinstance(given, Mapping):
        given = ",".join(f"{metric}={most}" for metric, most in given.items())
    if isinstance(given, str):
        return Bounds.parse(given, name)
    raise InvalidInputError(f"{option(name, 'flops=1e8')} sets a bound, but {shorten(repr(given))} does not")


def as_options(bounds: Any) -> dict[str, Any]:
    """Return the options of bounds that are given in Python (`GivenBounds`); none for None.

    Raises InvalidInputError for anything else.
    """
    if bounds is None:
        return {}
    checked = as_bounds(bounds, "bounds")
    return {"max": bounds if isinstance(bounds, str) else str(checked)}  # a text is recorded as it was given


def not_a_cost_error(limit: Limit) -> InvalidInputError:
    """Return the error for a limit of a metric that is not a cost."""
    words = limit.metric.replace("_", " ")
    return InvalidInputError(
        f"{limit.option} bounds {words}, which is not a cost: bound a cost, such as trainable_parameters"
    )


def _parse_limit(text: str, name: str) -> Limit:
    if column := _COLUMN.fullmatch(text.strip()):
        dataset, metric, value = column.groups()
        raise InvalidInputError(
            f"{quoted_option(name, shorten(text))} is not a bound: write {metric}@{dataset}={value}"
        )
    match, most = _LIMIT.fullmatch(text.strip()), math.nan
    if match is not None:
        try:
            most = float(match[3].replace("_", ""))
        except ValueError:
            match = None
    if match is None or not math.isfinite(most):
        raise InvalidInputError(
            f"{quoted_option(name, shorten(text))} is not a bound: write COLUMN=VALUE, such as flops=1e8"
        )
    return Limit(match[1], most, match[2] or "")


def _number(value: float) -> int | float:
    """Return a number as an integer if it is whole."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _digits(value: float, grouped: bool = False) -> str:
    """Return a number without needless digits, which `float` reads back if it is not grouped."""
    number = _number(value)
    return f"{number:,}" if grouped and isinstance(number, int) else repr(number)
