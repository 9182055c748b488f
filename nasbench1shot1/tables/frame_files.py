"""Files of trained networks, CSV or Parquet, which `nb1shot1 table import --space` reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.columns import Column
from nasbench1shot1.tables.description import Meta
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.formats import FileFormat, Progress, Report, Source
from nasbench1shot1.tables.from_frame import table_from_frame

if TYPE_CHECKING:
    pass

_SUFFIXES = (".csv", ".csv.gz", ".parquet")
_MISSING = ["", "nan", "NaN", "NA", "N/A", "null", "None"]
"""Texts that mean a missing value in columns of numbers; texts such as "none" can be values of hyperparameters."""
_WITH_DEVICE = ("latency", "energy")
"""Quantities whose metrics name the device, as in "latency_pixel"."""


@dataclass(frozen=True)
class FrameFile(FileFormat):
    """The format of files with a row for each training.

    Attributes:
        space: the space of the architectures.
        options: further arguments of `table_from_frame`.
    """

    space: SearchSpace
    options: Mapping[str, Any] = field(default_factory=dict)
    example = "a CSV or Parquet file with a row for each training"

    def recognises(self, path: Path) -> bool:
        """Return whether a file has the name of a CSV or Parquet file."""
        return is_frame_file(path)

    def read(
        self, source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress
    ) -> tuple[Columns, Meta]:
        """Read a file; see `FileFormat.read`. `epochs` does not apply, because the file names its budgets."""
        if epochs is not None:
            raise InvalidInputError(f"{option('epochs')} does not apply to {self.example}: remove it")
        source.hash_all(progress)
        progress("reading its rows", None)
        frame = read_frame(source.path, self.space)
        options = {"name": self.table_name(source.path), "source": source.path.name, **self.options}
        table = table_from_frame(frame, space=self.space, **options)
        names_device = quantity in _WITH_DEVICE and device != ""
        found[name] = Column(
            metric=name,
            quantity=quantity if names_device else name.replace("_", " "),
            unit=unit,
            direction=direction or None,  # type: ignore[arg-type]
            device=device.replace("_", " ") if names_device else None,
        )

    return found
