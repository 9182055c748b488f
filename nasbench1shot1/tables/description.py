"""The description of a table in `meta.json`: validity checks, and a summary of the values' accuracy."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

KEYS = {"nasbench101": ("hash", "cell"), "nasbench201": ("index",)}
"""How rows are identified (`key_kind` in `meta.json`), and the columns that identify them."""
PARAMETERS = "trainable_parameters"
MEMBER = "member_"
METRICS = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time")
OTHER_METRICS = ("validation_loss", "test_loss", "train_loss", "evaluation_time")
"""Metrics that the files of NAS-Bench-101 do not have."""
ALL_METRICS = METRICS + OTHER_METRICS
MEASURED, HALFWAY = "measured_", "halfway_"
INDEX = ("encoding", "encoding_row")
CHECKSUM = "meta_sha256"
"""The field with the description's own SHA-256; tables of older versions lack it."""

_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,49}")
_COLUMN_NAME = re.compile(r"\w[\w.-]{0,99}")
_MOST_IMAGES = 10_000_000


def content_sha256(meta: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a description without its checksum; it does not depend on the JSON formatting."""
    content = json.loads(json.dumps({field: said for field, said in meta.items() if field != CHECKSUM}))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def matches_checksum(meta: Mapping[str, Any]) -> bool:
    """Return whether a description matches its checksum; true if it has none."""
    try:
        return CHECKSUM not in meta or bool(meta[CHECKSUM] == content_sha256(meta))
    except RecursionError:  # JSON that could just be read can be nested too deeply to be written
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


def _is_budgets(value: Any) -> bool:
    """Return whether a value is a non-empty list of counts in ascending order."""
    return isinstance(value, list) and value != [] and all(map(_is_count, value)) and value == sorted(set(value))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_objectives(value: Any) -> bool:
    """Return whether a value is a list of mappings with the fields of `Objective`."""
    fields = {"dataset", "validation", "test"}
    return isinstance(value, list) and all(
        isinstance(one, dict) and set(one) == fields and all(map(_is_text, one.values())) for one in value
    )


_META_FIELDS = {
    "name": _is_text,
    "version": _is_text,
    "rows": _is_count,
    "epochs": _is_budgets,
    "repeats": _is_count,
    "spaces": _is_names,
    "columns": _is_mapping,
}


_OPTIONAL_FIELDS = {
    "fidelity": _is_mapping,
    "keyed_by": lambda value: isinstance(value, str) and value in KEYS,
    "datasets": lambda value: _is_names(value) and value != [] and all(map(_DATASET.fullmatch, value)),
    "objectives": _is_objectives,
    "seeds": _is_budgets,
}


def key_kind(meta: Mapping[str, Any]) -> str:
    """Return how rows are identified: "nasbench101" (cell and hash) or "nasbench201" (official index)."""
    return str(meta.get("keyed_by", "nasbench101"))


def datasets(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the data sets on which networks were trained; NAS-Bench-101 tables, which name none, use CIFAR-10."""
    return tuple(meta.get("datasets", ("cifar10",)))


def column_name(meta: Mapping[str, Any], dataset: str, metric: str) -> str:
    """Return the name of a metric's column, which names the data set if the table has several."""
    return metric if len(datasets(meta)) == 1 else f"{dataset}.{metric}"


class Objective(NamedTuple):
    """The values that score a search on a data set.

    Attributes:
        dataset: the data set, such as "cifar10".
        validation, test: the trainings that have its validation and test values. NAS-Bench-201 validates networks
            trained on half of CIFAR-10 ("cifar10-valid"), and tests networks trained on all of it.
    """

    dataset: str
    validation: str
    test: str


def objectives(meta: Mapping[str, Any]) -> tuple[Objective, ...]:
    """Return the objectives of a table; by default, each data set has its own validation and test values."""
    return tuple(Objective(**one) for one in meta.get("objectives", ())) or tuple(
        Objective(name, name, name) for name in datasets(meta)
    )


def find_problem(meta: dict[str, Any]) -> str | None:
    """Return the fault in a table's description, phrased to follow the file's name; None if there is none."""
    if lacking := [field for field in _META_FIELDS if field not in meta]:
        return f"lacks {lacking[0]}"
    fields = _META_FIELDS | {field: is_right for field, is_right in _OPTIONAL_FIELDS.items() if field in meta}
    if wrong := [field for field, is_right in fields.items() if not is_right(meta[field])]:
        return f"has an invalid value of {wrong[0]}"
    known = datasets(meta)
    if any({one["validation"], one["test"]} - set(known) for one in meta.get("objectives", ())):
        return "has an objective with an unknown data set"
    if "seeds" in meta and len(meta["seeds"]) != meta["repeats"]:
        return f"has {len(meta['seeds'])} seeds for {meta['repeats']} repeats"
    about = meta["columns"]
    parameters = [column_name(meta, dataset, PARAMETERS) for dataset in known]
    needed = (*KEYS[key_kind(meta)], *parameters, *(MEMBER + space for space in meta["spaces"]))
    if lacking := [column for column in needed if column not in about]:
        return f"lacks {lacking[0]}"
    if strange := [column for column in about if not _COLUMN_NAME.fullmatch(column)]:
        return f"has an invalid column name '{strange[0][:100]}'"
    wrong = [column for column, said in about.items() if not _describes_column(said, meta["epochs"])]
    return f"has an invalid value of column {wrong[0]}, or lacks its SHA-256" if wrong else None


def _describes_column(about: Any, epochs: list[int]) -> bool:
    if not isinstance(about, dict) or not isinstance(about.get("sha256"), str):
        return False
    own, images = about.get("epochs", []), about.get("images")
    return (
        (own == [] or (_is_budgets(own) and set(own) <= set(epochs)))
        and (images is None or (_is_count(images) and images <= _MOST_IMAGES))
        and about.get("rounded") in (None, "float32")
        and (images is not None or about.get("rounded") is None)
        and (about.get("fidelity") is None or _is_text(about["fidelity"]))
    )


def is_measured(about: Mapping[str, Any]) -> bool:
    """Return whether a column's description states that its values are measurements, not estimates."""
    return bool(about.get("fidelity") == "measured")


def fidelity(meta: dict[str, Any], dataset: str, epochs: int) -> str:
    """Return which accuracies at a budget are predicted, and how accurately; empty if all are measured."""
    predicted = {
        split: _is_predicted(meta, column_name(meta, dataset, f"{split}_accuracy"), epochs)
        for split in ("validation", "test")
    }
    parts = []
    if predicted["validation"]:
        found = _spearman(meta, epochs)
        parts.append("validation accuracy predicted" + (f", held-out Spearman {found:.3f}" if found else ""))
    if predicted["test"]:
        parts.append("test accuracy predicted" + (" from it" if predicted["validation"] else ""))
    return "; ".join(parts)


def _is_predicted(meta: dict[str, Any], column: str, epochs: int) -> bool:
    about = meta["columns"].get(column, {})
    return epochs in about.get("epochs", []) and not is_measured(about)


def _spearman(meta: dict[str, Any], epochs: int) -> float | None:
    of_budgets = meta.get("fidelity", {}).get("validation_accuracy")
    of_budget = of_budgets.get(str(epochs)) if isinstance(of_budgets, dict) else None
    found = of_budget.get("spearman") if isinstance(of_budget, dict) else None
    return found if isinstance(found, float) else None
