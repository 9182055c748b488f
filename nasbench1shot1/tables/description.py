"""The description of a table in `meta.json`: its fields, checks of their validity, and a summary of their accuracy."""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Container, Mapping
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from nasbench1shot1.benchmark import BENCHMARKS, Benchmark, benchmark
from nasbench1shot1.ground.errors import alternatives, shorten
from nasbench1shot1.tables.columns import ESTIMATED, PARTLY_MEASURED, RESERVED, Column, Moment

Meta = dict[str, Any]
MEMBER = "member_"
"""Prefix of the columns with the rows of a search space."""
MEASURED = "measured_"
"""Prefix of the columns with the measurements of metrics that have estimates."""
CHECKSUM = "meta_sha256"
"""The field with the description's own SHA-256."""

DATASET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,49}")
UNNAMED_DATASET = "default"
"""The data set of trainings that do not name one."""
_COLUMN_NAME = re.compile(r"\w[\w.-]{0,99}")
_METRIC_NAME = re.compile(r"[A-Za-z]\w{0,99}")
_MOST_IMAGES = 10_000_000


class Objective(NamedTuple):
    """The values that score a search on a data set.

    Attributes:
        dataset: the data set, such as "cifar10".
        validation, test: the trainings that have its validation and test values. NAS-Bench-201 validates networks
            trained on half of CIFAR-10 ("cifar10-valid"), and tests networks trained on all of it.
        validation_metric, test_metric: the metrics that guide and judge a search.
    """

    dataset: str
    validation: str
    test: str
    validation_metric: str = "validation_accuracy"
    test_metric: str = "test_accuracy"


def is_metric_name(name: str) -> bool:
    """Return whether a metric can have a name: letters, digits and _, but not one of `columns.RESERVED`."""
    return _METRIC_NAME.fullmatch(name) is not None and name not in RESERVED


def objectives(meta: Meta) -> tuple[Objective, ...]:
    """Return the objectives of a table; by default, each data set has its own validation and test values."""
    return tuple(Objective(**one) for one in meta.get("objectives", ())) or tuple(
        Objective(name, name, name) for name in meta["datasets"]
    )


def exact_entry(method: str, *sources: str) -> dict[str, Any]:
    """Return the entry of a column with exact values, such as row keys, given how they are derived and the sources."""
    return {"fidelity": "exact", "sources": list(sources), "method": method}


_CONTENT = frozenset({CHECKSUM, "columns", "format", "id", "folder", "bytes", "keyed_by", "rows", "spaces"})


def without_content(meta: Meta) -> Meta:
    """Return the fields of a description that do not follow from the table's rows and columns."""
    return {field: said for field, said in meta.items() if field not in _CONTENT}


def benchmark_of(meta: Meta) -> Benchmark:
    """Return the record of the benchmark that a table belongs to."""
    return benchmark(meta["keyed_by"])


class MetricNames:
    """Which columns of a table have the values and the measurements of its metrics.

    Attributes:
        about: the description of each column of a metric, by the column's name.
        values: the name of the column that has the values of a metric, by metric, data set and moment.
        measurements: the name of the column that has its measurements, if there is one.
        curves: the budgets whose trainings have learning curves, ascending.
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.about = {name: Column.from_entry(entry) for name, entry in entries.items() if "metric" in entry}
        self.values: dict[tuple[str, str, Moment], str] = {}
        self.measurements: dict[tuple[str, str, Moment], str] = {}
        self.curves = tuple(sorted({column.moment for column in self.about.values() if isinstance(column.moment, int)}))
        for name, column in self.about.items():
            for dataset, moment in product((column.dataset, *column.also_of), self._moments(column)):
                key = column.metric, dataset, moment
                if column.is_measured:
                    self.measurements[key] = name
                if column.fidelity != "measured" or key not in self.values:
                    self.values[key] = name

    def _moments(self, column: Column) -> tuple[Moment, ...]:
        """Return the moments whose values a column has, or determines if each epoch adds the same amount."""
        if not column.epochs:
            return ("end", "halfway", *self.curves)
        within = [budget for budget in self.curves if column.accumulates and budget in column.epochs]
        return (column.moment, *(budget for budget in within if column.moment == "end"))

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics, in the order of the columns."""
        return tuple(dict.fromkeys(column.metric for column in self.about.values()))

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The budgets at which a metric has values, ascending; the table's benchmark can have further ones."""
        known = {epochs for column in self.about.values() if column.moment == "end" for epochs in column.epochs}
        return tuple(sorted(known))

    def is_companion(self, name: str) -> bool:
        """Return whether a column has the measurements that accompany another column's estimates (a single repeat)."""
        column = self.about[name]
        return self.values[column.metric, column.dataset, column.moment] != name


# Checksum -------------------------------------------------------------------------------------------------------------


def content_sha256(meta: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a description without its checksum; it does not depend on the JSON formatting."""
    content = json.loads(json.dumps({field: said for field, said in meta.items() if field != CHECKSUM}))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def matches_checksum(meta: Mapping[str, Any]) -> bool:
    """Return whether a description matches its recorded checksum."""
    try:
        return bool(meta.get(CHECKSUM) == content_sha256(meta))
    except RecursionError:  # JSON that could just be read can be nested too deeply to be written
        return False


# Validity -------------------------------------------------------------------------------------------------------------


def find_problem(meta: Meta) -> str | None:
    """Return the fault in a table's description, phrased to follow the file's name; None if there is none."""
    if lacking := [field for field in _META_FIELDS if field not in meta]:
        return f"lacks {lacking[0]}"
    fields = _META_FIELDS | {field: is_right for field, is_right in _OPTIONAL_FIELDS.items() if field in meta}
    if wrong := [field for field, is_right in fields.items() if not is_right(meta[field])]:
        return f"has an invalid value of {wrong[0]}"
    known = set(meta["datasets"])
    if any({one["validation"], one["test"]} - known for one in meta.get("objectives", ())):
        return "has an objective with an unknown data set"
    if "seeds" in meta and len(meta["seeds"]) != meta["repeats"]:
        return f"has {len(meta['seeds'])} seeds for {meta['repeats']} repeats"
    entries, keys = meta["columns"], benchmark_of(meta).load("keys")
    needed = (*keys.COLUMNS, *keys.DERIVED, *(MEMBER + space for space in meta["spaces"]))
    if lacking := [column for column in needed if column not in entries]:
        return f"lacks {lacking[0]}"
    if strange := [column for column in entries if not _COLUMN_NAME.fullmatch(column)]:
        return f"has an invalid column name '{strange[0][:100]}' (letters, digits, _, - and . are allowed)"
    for column, entry in entries.items():
        if problem := find_problem_of_column(column, entry, meta) or _find_wrong_sha256(column, entry):
            return problem
    return _find_duplicate(entries)


def _find_duplicate(entries: Mapping[str, Any]) -> str | None:
    """Return the fault if two columns have values of a metric, data set and moment, or both have measurements."""
    found: dict[tuple[Any, ...], str] = {}
    for name, column in MetricNames(entries).about.items():
        for dataset in (column.dataset, *column.also_of):
            key = column.metric, dataset, column.moment, column.fidelity == "measured"
            if key in found:
                return f"describes the columns {found[key]} and {name} alike"
            found[key] = name
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


def _is_budgets(value: Any) -> bool:
    """Return whether a value is a non-empty list of counts in ascending order."""
    return isinstance(value, list) and value != [] and all(map(_is_count, value)) and value == sorted(set(value))


def _is_seeds(value: Any) -> bool:
    """Return whether a value is a non-empty list of whole numbers from 0 in ascending order."""
    is_list = isinstance(value, list) and all(type(one) is int and 0 <= one < 2**63 for one in value)
    return is_list and value != [] and value == sorted(set(value))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_objectives(value: Any) -> bool:
    """Return whether a value is a list of mappings with the first three fields of `Objective`."""
    fields = {"dataset", "validation", "test"}
    return isinstance(value, list) and all(
        isinstance(one, dict) and set(one) == fields and all(map(_is_text, one.values())) for one in value
    )


def module_to_import(meta: Meta) -> str:
    """Return the module of a table's benchmark that is named as "module:attribute", if it is not imported; else ""."""
    module, colon, _ = str(meta.get("keyed_by", "")).partition(":")
    return module if colon and module not in sys.modules else ""


def _is_benchmark(value: Any) -> bool:
    """Return whether a value names a registered benchmark, or a "module:attribute" whose module is imported."""
    if not _is_text(value):
        return False
    module, colon, _ = value.partition(":")
    return module in sys.modules if colon else BENCHMARKS.is_built_in(value) or value in BENCHMARKS.names()


_META_FIELDS = {
    "name": _is_text,
    "version": _is_text,
    "keyed_by": _is_benchmark,
    "datasets": lambda value: _is_names(value) and value != [] and all(map(DATASET_NAME.fullmatch, value)),
    "rows": _is_count,
    "epochs": _is_budgets,
    "repeats": _is_count,
    "spaces": _is_names,
    "columns": _is_mapping,
}

_OPTIONAL_FIELDS = {
    "fidelity": _is_mapping,
    "missing": _is_text,
    "objectives": _is_objectives,
    "seeds": _is_seeds,
    "reference": lambda value: value == "present",
}


def find_problem_of_column(name: str, entry: Any, meta: Meta) -> str | None:
    """Return the fault in a column's entry, phrased as in `find_problem`; None if there is none."""
    if not isinstance(entry, dict):
        return f"describes column {name} with {_shown(entry)}, which must be a mapping"
    rules = {**_ENTRY_FIELDS, **(_METRIC_FIELDS if "metric" in entry else {})}
    for field, (is_right, allowed) in rules.items():
        value = entry.get(field, _DEFAULTS.get(field))
        if not is_right(value, meta):
            choice = allowed if isinstance(allowed, str) else allowed(meta)
            return f"describes column {name} with {field}={_shown(value)}, which must be {choice}"
    if isinstance(entry.get("moment"), int) and ("metric" not in entry or entry.get("repeats") is None):
        return f"describes the learning curves {name} without repeats"
    if entry.get("rounded") is not None and entry.get("images") is None:
        return f"describes column {name} with rounded={_shown(entry['rounded'])}, but without images"
    if "metric" in entry and (unknown := set(entry.get("means", ())) - set(entry.get("epochs", ()))):
        return f"describes column {name} with means at {min(unknown)} epochs, which is not one of its budgets"
    return None


def _find_wrong_sha256(name: str, entry: Mapping[str, Any]) -> str | None:
    return None if isinstance(entry.get("sha256"), str) else f"lacks the SHA-256 of column {name}"


def _shown(value: Any) -> str:
    return shorten(repr(value))


Rule = tuple[Callable[[Any, Meta], Any], str | Callable[[Meta], str]]
"""A check of a value in a table's description, and the allowed values in words."""


def _is_moment(value: Any, meta: Meta) -> bool:
    return value in ("end", "halfway") if isinstance(value, str) else type(value) is int and value in meta["epochs"]


def _are_repeats(value: Any, meta: Meta) -> bool:
    """Return whether a value is an ascending list of repeats of the table."""
    is_list = isinstance(value, list) and all(type(one) is int and 0 <= one < meta["repeats"] for one in value)
    return value is None or (is_list and value != [] and value == sorted(set(value)))


def _one_of(*allowed: str | None) -> Rule:
    names = [f"'{name}'" if name else "omitted" for name in allowed]
    return lambda value, meta: value in allowed, alternatives(names)


def _are_budgets_of(value: Any, meta: Meta) -> bool:
    return value == [] or (_is_budgets(value) and set(value) <= set(meta["epochs"]))


_ENTRY_FIELDS: dict[str, Rule] = {
    "epochs": (_are_budgets_of, lambda meta: f"an ascending list of the table's budgets {meta['epochs']}"),
    "images": (
        lambda value, meta: value is None or (_is_count(value) and value <= _MOST_IMAGES),
        f"a number from 1 to {_MOST_IMAGES:,}",
    ),
    "rounded": _one_of("float32", None),
    "fidelity": (lambda value, meta: value is None or _is_text(value), "text, such as 'measured' or 'predicted'"),
}

_DEFAULTS = {"epochs": [], "unit": "", "moment": "end", "means": [], "is_same_for_repeats": False, "also_of": []}

_METRIC_FIELDS: dict[str, Rule] = {
    "metric": (
        lambda value, meta: isinstance(value, str) and is_metric_name(value),
        f"a name of letters, digits and _, other than {', '.join(sorted(RESERVED))}",
    ),
    "quantity": (lambda value, meta: _is_text(value), "text, such as 'accuracy' or 'latency'"),
    "dataset": (
        lambda value, meta: value in meta["datasets"],
        lambda meta: alternatives(f"'{name}'" for name in meta["datasets"]),
    ),
    "fidelity": (lambda value, meta: _is_text(value), "text, such as 'measured' or 'predicted'"),
    "unit": (lambda value, meta: isinstance(value, str), "text, such as 'ms'"),
    "split": _one_of("train", "validation", "test", "valtest", None),
    "direction": _one_of("higher", "lower", None),
    "moment": (_is_moment, lambda meta: f"'end', 'halfway' or a budget {alternatives(meta['epochs'])}"),
    "accumulates": _one_of("evenly", None),
    "repeats": (_are_repeats, lambda meta: f"an ascending list of numbers below {meta['repeats']}"),
    "device": (lambda value, meta: value is None or _is_text(value), "text, or omitted"),
    "means": (_are_budgets_of, lambda meta: f"an ascending list of the table's budgets {meta['epochs']}"),
    "is_same_for_repeats": (lambda value, meta: isinstance(value, bool), "true, false or omitted"),
    "also_of": (
        lambda value, meta: _is_names(value) and set(value) <= set(meta["datasets"]),
        lambda meta: f"a list of data sets among {', '.join(meta['datasets'])}",
    ),
    "caveat": (lambda value, meta: value is None or _is_text(value), "text, or omitted"),
}


# Fidelity -------------------------------------------------------------------------------------------------------------


def fidelity(meta: Meta, names: MetricNames, dataset: str, epochs: int) -> str:
    """Return which accuracies at a budget are predicted, and how accurately; empty if all are measured."""
    predicted = {
        column.split: column
        for column in map(names.about.__getitem__, names.values.values())
        if (column.quantity, column.moment) == ("accuracy", "end")
        and dataset in (column.dataset, *column.also_of)
        and epochs in column.epochs
        and not column.is_measured
    }
    return "; ".join(
        f"{split} accuracy {_in_words(column, _spearman(meta, column.metric, epochs), split, predicted)}"
        for split in ("validation", "test")
        if (column := predicted.get(split)) is not None
    )


def _in_words(column: Column, spearman: float | None, split: str, predicted: Container[str | None]) -> str:
    """Return how far an accuracy is predicted, and the rank correlation of held-out predictions, if known."""
    kind = column.fidelity if column.fidelity == PARTLY_MEASURED else "predicted"
    if spearman is not None:
        return f"{kind}, held-out Spearman {spearman:.3f}"
    is_from_it = column.fidelity == ESTIMATED and split == "test" and "validation" in predicted
    return f"{kind} from it" if is_from_it else kind


def _spearman(meta: Meta, metric: str, epochs: int) -> float | None:
    of_budgets = meta.get("fidelity", {}).get(metric)
    of_budget = of_budgets.get(str(epochs)) if isinstance(of_budgets, dict) else None
    found = of_budget.get("spearman") if isinstance(of_budget, dict) else None
    return found if isinstance(found, float) else None
