"""The descriptions of an imported table's columns in `meta.json`."""

from collections.abc import Mapping
from typing import Any

from nasbench1shot1.tables.description import MEMBER
from nasbench1shot1.tables.folder import HALFWAY, Columns

_METHODS = {
    "hash": "as the file names its cells",
    "cell": "as the file numbers it",
    "trainable_parameters": "as the file counts them",
    "order": "rows in the order in which the file first names them",
}


def describe_imported_columns(
    columns: Columns, stored: Mapping[str, dict[str, Any]], halfway_epochs: Mapping[int, float]
) -> dict[str, dict[str, Any]]:
    """Return fidelity, sources, method, budgets and storage of every column.

    Args:
        columns: columns of the table.
        stored: storage of each column of accuracies or seconds.
        halfway_epochs: the epoch of the half-way evaluation, by budget.
    """
    epochs = sorted(halfway_epochs)
    half = ", ".join(f"{halfway_epochs[e]:g} of {e}" for e in epochs)
    about: dict[str, dict[str, Any]] = {}
    for name in columns:
        method = (
            f"rows of {name.removeprefix(MEMBER)}'s distinct cells" if name.startswith(MEMBER) else _METHODS.get(name)
        )
        if name in stored:
            method = f"second evaluation, after epoch {half}" if name.startswith(HALFWAY) else "at the end of training"
        about[name] = {"fidelity": "measured" if name in stored else "exact", "sources": [], "method": method}
        if name in stored:
            about[name] |= {"epochs": epochs, **stored[name]}
    return about


def budgets_off_halfway(halfway_epochs: Mapping[int, float]) -> list[int]:
    """Return the budgets whose half-way evaluation is more than a twentieth of the training away from its middle."""
    return [epochs for epochs, at in sorted(halfway_epochs.items()) if not abs(2 * at - epochs) <= epochs / 10]
