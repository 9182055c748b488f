"""Files of trained networks, CSV or Parquet, which `nb1shot1 table import --space` reads."""

import csv
import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.choices import identifiers
from nasbench1shot1.ground.csv_floats import exact_floats
from nasbench1shot1.ground.errors import InvalidInputError, option, quoted_option, unknown_name
from nasbench1shot1.ground.files import open_regular, reason
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.columns import RESERVED, STANDARD, Column
from nasbench1shot1.tables.description import Meta, is_metric_name
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.formats import TRAININGS_FILE, FileFormat, Progress, Report, Source
from nasbench1shot1.tables.frame_keys import KNOWN_DATASETS
from nasbench1shot1.tables.from_frame import table_from_frame
from nasbench1shot1.tables.to_frame import ARCHITECTURE, DATASET, parse_frame_name

if TYPE_CHECKING:
    import pandas

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
        ignored: columns of a file to leave out.
    """

    space: SearchSpace
    options: Mapping[str, Any] = field(default_factory=dict)
    ignored: Sequence[str] = ()
    example = TRAININGS_FILE

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
        if lacking := [name for name in self.ignored if name not in frame]:
            raise unknown_name("column", lacking[0], list(map(str, frame.columns)))
        frame = frame.drop(columns=list(self.ignored))
        options = {"name": self.table_name(source.path), "source": source.path.name, **self.options}
        table = table_from_frame(frame, space=self.space, **options)
        for name in table.datasets:
            if name not in KNOWN_DATASETS and (likely := get_close_matches(name, KNOWN_DATASETS, 1, 0.85)):
                report(f"note: '{name}' is not a known data set; did you mean '{likely[0]}'?")
        about = {**source.describe(len(frame)), "text": options["source"]}
        return table.columns(), {**table.description, "source": about}

    def table_name(self, path: Path) -> str:
        """Return the file's name without its suffixes."""
        return next(path.name[: -len(suffix)] for suffix in _SUFFIXES if path.name.lower().endswith(suffix))


def is_frame_file(path: Path) -> bool:
    """Return whether a path has the name of a CSV or Parquet file."""
    return path.name.lower().endswith(_SUFFIXES)


def read_frame(path: Path, space: SearchSpace) -> "pandas.DataFrame":
    """Read a CSV or Parquet file with a row for each training of an architecture of a space.

    Texts of architectures and values of hyperparameters are read as they are; "" is a missing value. Numbers are read
    exactly, so that a frame that was written by `DataFrame.to_csv` comes back.

    Raises InvalidInputError if the file cannot be read or has no rows, two columns have one name, or a row has more or
    fewer values than the header has names, as the last row of a file that was not written to its end.
    """
    import pandas

    try:
        if path.name.lower().endswith(".parquet"):
            return _checked(pandas.read_parquet(path), path)
        names, problem = _header(path)
        if len(names) == 1 and (separator := next((mark for mark in ";\t" if mark in names[0]), None)):
            named = "semicolons" if separator == ";" else "tabs"
            raise InvalidInputError(f"{path} separates its columns by {named}: write the file with commas")
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidInputError(f"{path} has two columns '{twice[0]}': rename or remove one of them")
        if problem:
            raise InvalidInputError(f"{path}: {problem}")
        choices = {} if ARCHITECTURE in names else dict.fromkeys(space.configuration_space())
        texts = {ARCHITECTURE, DATASET, *choices, *identifiers(choices)}
        frame: pandas.DataFrame = pandas.read_csv(
            path,
            dtype={name: str for name in names if name in texts},
            na_values={name: [""] if name in texts else _MISSING for name in names},
            keep_default_na=False,
            skip_blank_lines=False,  # rows are counted in messages
            index_col=False,
            **exact_floats(pandas.__version__),
        )
        return _checked(frame, path)
    except InvalidInputError:
        raise
    except ImportError as error:
        raise InvalidInputError(
            f"{path} cannot be read without pyarrow: run pip install pyarrow, or give a CSV file"
        ) from error
    except UnicodeDecodeError as error:  # such as UTF-16, which Excel writes as "Unicode text"
        raise InvalidInputError(f"{path} is not encoded in UTF-8: save it as a CSV file in UTF-8") from error
    except (OSError, ValueError, EOFError, csv.Error, zlib.error) as error:
        raise InvalidInputError(
            f"{path} cannot be read ({_why(error)}): give a CSV file with one header line"
        ) from error


def _checked(frame: "pandas.DataFrame", path: Path) -> "pandas.DataFrame":
    if not len(frame):
        raise InvalidInputError(f"{path} has no rows: give a file with a row for each training")
    return frame


def _header(path: Path) -> tuple[list[str], str]:
    """Return the names of a CSV file's columns, and the problem of the first row of another length; "" without one.

    pandas would fill a short row with missing values, and cut a long one off.
    """
    is_packed = path.name.lower().endswith(".gz")
    with open_regular(path) as plain, gzip.GzipFile(fileobj=plain) if is_packed else plain as file:
        rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
        names = next(rows, [])
        for number, row in enumerate(rows, start=1):
            if len(row) < len(names) and row:  # an empty line is a row of missing values
                advice = "complete the row, with an empty value for each unknown one"
            elif any(row[len(names) :]):
                advice = "quote texts with commas, and write numbers with a decimal point"
            else:
                continue
            counts = f"{counted(len(row), 'value')} for {counted(len(names), 'column')}"
            return names, f"row {number} has {counts}: {advice}"
    return names, ""


def _why(error: Exception) -> str:
    return reason(error) if isinstance(error, OSError) else " ".join(str(error).split()) or type(error).__name__


def parse_columns(texts: Sequence[str], fidelity: str = "measured") -> dict[str, Column]:
    """Return the descriptions of columns, by name, from texts "NAME:UNIT:DIRECTION" of the option `column`.

    The unit may be empty, and so may the direction, if neither high nor low values are better. A name consists of the
    metric and the prefixes of the names of standard metrics: "halfway_f1" and "curve200_f1" are half-way values and
    learning curves of f1. A metric such as "latency_pixel" also contains the device.

    Args:
        texts: the texts.
        fidelity: how the values were obtained. A column with the prefix "measured_" always has measurements.

    Raises InvalidInputError for another text.
    """
    found: dict[str, Column] = {}
    for text in texts:
        if text.count(":") != 2 or text.startswith(":"):
            raise InvalidInputError(
                f"{quoted_option('column', text)} is not a description: write NAME:UNIT:DIRECTION, such as "
                "latency_pixel:ms:lower"
            )
        name, unit, direction = text.split(":")
        metric, moment, is_measured = parse_frame_name(name)
        if not is_metric_name(metric):
            raise InvalidInputError(
                f"{quoted_option('column', text)} gives a metric the name '{metric}': rename the column of the file; "
                f"use letters, digits and _, but not one of {', '.join(sorted(RESERVED))}"
            )
        if metric in STANDARD:
            raise InvalidInputError(
                f"{quoted_option('column', text)} describes a standard metric, whose unit and direction are known: "
                "remove it"
            )
        if direction not in ("higher", "lower", ""):
            raise unknown_name("direction", direction, ("higher", "lower"))
        if name in found:
            raise InvalidInputError(f"{option('column')} describes '{name}' twice: give one description")
        quantity, _, device = metric.partition("_")
        names_device = quantity in _WITH_DEVICE and device != ""
        found[name] = Column(
            metric=metric,
            quantity=quantity if names_device else metric.replace("_", " "),
            unit=unit,
            direction=direction or None,  # type: ignore[arg-type]
            moment=moment,
            fidelity="measured" if is_measured else fidelity,
            device=device.replace("_", " ") if names_device else None,
        )
    return found
