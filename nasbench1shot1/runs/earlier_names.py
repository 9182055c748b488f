"""Names that fields of run folders had in earlier versions, which abbreviated "validation"."""

from typing import Any

CURRENT = {
    "one_shot_valid_error": "one_shot_validation_error",
    "table_valid_error": "table_validation_error",
    "valid_regret": "validation_regret",
    "valid_measured": "validation_measured",
    "valid_errors": "validation_errors",
    "best_valid_error": "best_validation_error",
    "mean_valid_error": "mean_validation_error",
}
"""Current names by earlier names."""
USERS = ("numbers", "notes", "configuration")
"""Fields whose content has names that users choose."""
_EARLIER = {current: earlier for earlier, current in CURRENT.items()}


def with_current_names(content: Any) -> Any:
    """Return the content of a JSON file with the current names of all fields."""
    return _rename_fields(content, CURRENT)


def with_earlier_names(content: Any) -> Any:
    """Return the content with earlier names, as in the files whose checksums earlier versions recorded."""
    return _rename_fields(content, _EARLIER)


def _rename_fields(content: Any, names: dict[str, str]) -> Any:
    if isinstance(content, dict):
        return {
            names.get(name, name): value if name in USERS else _rename_fields(value, names)
            for name, value in content.items()
        }
    return [_rename_fields(each, names) for each in content] if isinstance(content, list) else content
