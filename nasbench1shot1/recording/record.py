"""The record of your own search loop, which `nb.Recorder` writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.runs.folder import RECORDED
from nasbench1shot1.runs.options import Range
from nasbench1shot1.runs.record import has_type
from nasbench1shot1.tables.references import Reference

if TYPE_CHECKING:
    import pandas

FACTS: dict[str, type] = {"space_id": str, "table_id": str, "dataset": str, "notes": dict}
"""Fields of config.json besides the options, with their types; `notes` are the loop's own settings."""
FIELDS: dict[str, Any] = {
    **SearchRecord.FIELDS,
    "one_shot_validation_error": float | None,
    "numbers": dict,
}
"""Fields of a line of metrics.jsonl: all fields of a search, and `numbers`, the loop's own numbers by name."""


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


@dataclass(frozen=True, eq=False, repr=False)
class RecordedSearch(SearchRecord):
    """Read-only view of the folder of a search that `nb.Recorder` recorded.

    Attributes:
        folder: the folder of the search.
        config: the options that `nb.Recorder` was given, the data, and `notes`, the loop's own settings.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = RECORDED, "", FIELDS, RecorderOptions, FACTS

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if the lines are not valid, else None; the loop's own numbers are also checked."""
        for line in lines:
            for name, value in line["numbers"].items():
                if not has_type(value, float | None):
                    return f"line {line['epoch'] + 1} has an impossible {name}"
        return super().find_problem(lines)

    @classmethod
    def as_frame(cls, lines: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
        """Return lines as a frame, with a column for each of the loop's own numbers; NaN where a line has none."""
        import pandas

        frame = super().as_frame(lines).drop(columns="numbers")
        own = pandas.DataFrame([line["numbers"] for line in lines], index=frame.index, dtype="float64")
        return pandas.concat([frame, own], axis=1)

    def unfinished_error(self) -> UserError:
        """Return the error for reading results of a search that is not finished."""
        return UserError(
            f"'{self.folder}' is not finished: continue with nb.Recorder.resume('{self.folder}'), and call "
            "finish() after the last epoch"
        )
