"""The options of a recorded loop, as config.json records them."""

from dataclasses import dataclass
from typing import Annotated

from nasbench1shot1.runs.options import Range
from nasbench1shot1.tables.coverage import Reference


@dataclass(frozen=True, kw_only=True)
class RecorderOptions:
    """The options of a recorded search; named as in searches of this package."""

    optimizer: str
    """Name of the method, for labels and captions."""
    space: str
    """Search space, by its registered name or as module:object."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of the loop."""
    table: str | None = None
    """Folder or name of the table that gives the regret. Default: the table of the space."""
    reference: Reference | None = None
    """present: measure regret from the best networks that the table has. Default: it must have all of the space."""


FACTS: dict[str, type] = {"space_id": str, "table_id": str, "dataset": str, "notes": dict}
"""Fields of config.json besides the options, with their types; `notes` are the loop's own settings."""
