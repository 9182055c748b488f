"""What a table says about itself in `meta.json`: whether it can be true, and in words how far to trust the values."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

REQUIRED = ("hash", "cell", "trainable_parameters")
MEMBER = "member_"
METRICS = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time")
MEASURED, HALFWAY = "measured_", "halfway_"
INDEX = ("encoding", "encoding_row")
CHECKSUM = "meta_sha256"
"""The field in which a description has its own SHA-256; tables of older versions lack it."""

_COLUMN_NAME = re.compile(r"\w[\w.-]{0,99}")
_MOST_IMAGES = 10_000_000


def content_sha256(meta: Mapping[str, Any]) -> str:
    """The SHA-256 of all that a description says but its own checksum, however its JSON is laid out."""
    content = json.loads(json.dumps({field: said for field, said in meta.items() if field != CHECKSUM}))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_as_written(meta: Mapping[str, Any]) -> bool:
    """Return whether a description is the one that its checksum was made of; true where it has no checksum."""
    try:
        return CHECKSUM not in meta or bool(meta[CHECKSUM] == content_sha256(meta))
    except RecursionError:  # what was only just read is nested too deeply to be written
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


def _is_budgets(value: Any) -> bool:
    """A list of counts that ascend."""
    return isinstance(value, list) and value != [] and all(map(_is_count, value)) and value == sorted(set(value))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


_META_FIELDS = {
    "name": _is_text,
    "version": _is_text,
    "rows": _is_count,
    "epochs": _is_budgets,
    "repeats": _is_count,
    "spaces": _is_names,
    "columns": _is_mapping,
}


def fault(meta: dict[str, Any]) -> str | None:
    """What is wrong with the description of a table, as words after the name of its file; None if nothing."""
    if lacking := [field for field in _META_FIELDS if field not in meta]:
        return f"lacks {lacking[0]}"
    fields = {**_META_FIELDS, "fidelity": _is_mapping} if "fidelity" in meta else _META_FIELDS
    if wrong := [field for field, is_right in fields.items() if not is_right(meta[field])]:
        return f"has an invalid value of {wrong[0]}"
    about = meta["columns"]
    needed = (*REQUIRED, *(MEMBER + space for space in meta["spaces"]))
    if lacking := [column for column in needed if column not in about]:
        return f"lacks {lacking[0]}"
    if strange := [column for column in about if not _COLUMN_NAME.fullmatch(column)]:
        return f"is invalid: a column cannot be called '{strange[0][:100]}'"
    wrong = [column for column, known in about.items() if not _describes_column(known, meta["epochs"])]
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


def fidelity(meta: dict[str, Any], epochs: int) -> str:
    """Which accuracies at a budget are no measurements, and how good they are; empty where all are measured."""
    predicted = {split: _is_predicted(meta, f"{split}_accuracy", epochs) for split in ("validation", "test")}
    parts = []
    if predicted["validation"]:
        found = _spearman(meta, epochs)
        parts.append("validation accuracy predicted" + (f", held-out Spearman {found:.3f}" if found else ""))
    if predicted["test"]:
        parts.append("test accuracy predicted" + (" from it" if predicted["validation"] else ""))
    return "; ".join(parts)


def _is_predicted(meta: dict[str, Any], column: str, epochs: int) -> bool:
    about = meta["columns"].get(column, {})
    return epochs in about.get("epochs", []) and about.get("fidelity") != "measured"


def _spearman(meta: dict[str, Any], epochs: int) -> float | None:
    of_budgets = meta.get("fidelity", {}).get("validation_accuracy")
    of_budget = of_budgets.get(str(epochs)) if isinstance(of_budgets, dict) else None
    found = of_budget.get("spearman") if isinstance(of_budget, dict) else None
    return found if isinstance(found, float) else None
