"""`nb1shot1 table`: the table that architectures are looked up in."""

import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.ground.errors import option
from nasbench1shot1.ground.terminal import terminal_width
from nasbench1shot1.ground.text import counted, print_to_stdout
from nasbench1shot1.runs.options import Form, TableName

if TYPE_CHECKING:
    from nasbench1shot1.tables.frame_files import FrameFile
    from nasbench1shot1.tables.table import Table


@dataclass(frozen=True)
class Info:
    """Describe a table: rows, columns, which values are measured or predicted, and the accuracy of predictions."""

    table: TableName | None = None
    """Folder or name of the table. Default: the table in use."""
    json: bool = False
    """Print the whole description as JSON."""
    allow_module: str | None = None
    """Module to import for a table of your own benchmark; several are separated by commas. Importing a module runs its
    code."""

    def run(self) -> None:
        """Print the description as tables or JSON."""
        import json

        from nasbench1shot1.registry import import_trusted
        from nasbench1shot1.tables.screen import show_table
        from nasbench1shot1.tables.table import load_table

        import_trusted(self.allow_module)
        table = load_table(self.table)
        if self.json:
            print(json.dumps(table.info(), indent=2))
        else:
            show_table(table)


@dataclass(frozen=True)
class List:
    """List the tables that --table accepts by name: bundled and imported tables."""

    def run(self) -> None:
        """Print one row per table and mark the table in use."""
        from rich.table import Table as Screen

        from nasbench1shot1.ground.errors import UserError
        from nasbench1shot1.ground.text import literal_console
        from nasbench1shot1.tables.names import available_tables, resolve_table_name
        from nasbench1shot1.tables.screen import budgets_text
        from nasbench1shot1.tables.table import load_table

        console, screen, used = literal_console(), Screen(), resolve_table_name(None)
        shown_names = {name: f"{name} (in use)" if name == used else name for name in available_tables()}
        fits = max(map(len, shown_names.values())) <= console.width // 2
        for heading, justify in (("name", "left"), ("id", "left"), ("rows", "right"), ("epochs", "left")):
            whole = heading == "name" and fits  # names are copied; the other columns are folded first
            screen.add_column(heading, justify=justify, overflow="fold", no_wrap=whole)  # type: ignore[arg-type]
        for name, shown in shown_names.items():
            try:
                table = load_table(name)
                screen.add_row(shown, table.id, f"{len(table):,}", budgets_text(table))
            except UserError as error:
                screen.add_row(shown, f"unusable: {error.for_command_line}", "", "")
        console.print(screen, soft_wrap=terminal_width(console.file) is None)  # a script reads whole rows


@dataclass(frozen=True)
class Verify:
    """Verify the SHA-256 of every column of a table and of its description, meta.json."""

    table: TableName | None = None
    """Folder or name of the table. Default: the table in use."""
    hashes: bool = False
    """Also recompute the hash of every cell, which takes half a minute for all of NAS-Bench-101."""
    allow_module: str | None = None
    """Module to import for a table of your own benchmark; several are separated by commas. Importing a module runs its
    code."""

    def run(self) -> None:
        """Verify the table, and print the result."""
        from nasbench1shot1.registry import import_trusted
        from nasbench1shot1.tables.table import load_table

        import_trusted(self.allow_module)
        table = load_table(self.table)
        table.verify()
        print_to_stdout(f"{table.id}: all columns match their checksums")
        if self.hashes:
            _verify_hashes(table)


@dataclass(frozen=True)
class Import:
    """Import an official file of NAS-Bench-101, NAS-Bench-201 or NATS-Bench, or a file of your own trainings.

    The imported table opens in milliseconds. NAS-Bench-101's files need a minute, and every checksum in them is
    verified; TensorFlow is not needed. No code in a file is run, not even in NATS-Bench's pickles. A file of your
    own trainings is a CSV file with a row for each training: its architecture, its epochs and metrics such as
    validation_accuracy (docs/own_table.md).
    """

    file: Annotated[Positional[Path], Form("FILE")]
    """A .tfrecord file of NAS-Bench-101's format, a .pth file of NAS-Bench-201, or an archive of NATS-Bench's topology
    or size space. With --space, a .csv, .csv.gz or .parquet file of trainings."""
    out: Path | None = None
    """Folder of the table. Default: a folder in the data folder, which --table finds by the file's name."""
    epochs: Annotated[tuple[int, ...], Form("INT …", "(default: 4 12 36 108)")] = ()
    """Budgets, in epochs, that a .tfrecord file may have."""
    space: Annotated[str | None, Form("NAME|MODULE:OBJECT")] = None
    """Space of the architectures in a file of trainings, such as s1, or your own space."""
    column: Annotated[tuple[str, ...], Form("NAME:UNIT:DIRECTION …", "(default: none)")] = ()
    """Further metrics in a file of trainings, such as latency_pixel:ms:lower; the direction is higher or lower."""
    dataset: str | None = None
    """Data set of a file of trainings without the column dataset, such as cifar10. Default: the name default."""
    percent: bool = False
    """Read accuracies and other fractions in a file of trainings as percentages."""
    predicted: bool = False
    """Treat metrics in a file of trainings as predictions, not measurements."""
    reference: Literal["all", "present"] = "all"
    """Networks whose best one has zero regret: all networks of the space, which a file of trainings must then contain,
    or only those that are present in the file."""
    ignore: Annotated[tuple[str, ...], Form("NAME …", "(default: none)")] = ()
    """Columns of a file of trainings to leave out, such as notes."""
    source: str | None = None
    """Where the values in a file of trainings come from, for the table's description. Default: the file's name."""
    overwrite: bool = False
    """Replace the table of another file with this name in the data folder."""

    def run(self) -> None:
        """Import the file, and print the folder of the table and how to use it."""
        from rich.console import Console

        from nasbench1shot1.tables.formats import table_name
        from nasbench1shot1.tables.importing import ImportBar, check_own_name, import_table
        from nasbench1shot1.tables.names import tables_folder

        form = self._frame_file()
        out = self.out or tables_folder() / (form.table_name(self.file) if form else table_name(self.file))
        if self.out is None:
            check_own_name(self.file, out, form, self.overwrite)
        before = _id_of_table_in(out)
        with ImportBar(Console()) as bar:
            import_table(
                self.file, out, epochs=self.epochs or None, form=form, report=print_to_stdout, progress=bar.show
            )
        _print_usage_hint(out, before)

    def _frame_file(self) -> "FrameFile | None":
        """Return the format of a file of trainings; None for an official file.

        Raises InvalidInputError for options that do not apply to the file.
        """
        from nasbench1shot1.ground.errors import InvalidInputError
        from nasbench1shot1.registry import search_space
        from nasbench1shot1.tables.formats import format_of
        from nasbench1shot1.tables.frame_files import FrameFile, is_frame_file, parse_columns

        options = {
            "space": self.space,
            "column": self.column,
            "dataset": self.dataset,
            "percent": self.percent,
            "predicted": self.predicted,
            "reference": self.reference != "all",
            "ignore": self.ignore,
            "source": self.source,
        }
        if not is_frame_file(self.file):
            if given := [name for name, value in options.items() if value]:
                if format_of(self.file) is None:
                    what = "is not a CSV or Parquet file" if self.file.exists() else "does not exist"
                    raise InvalidInputError(
                        f"'{self.file}' {what}: give the trainings as a .csv, .csv.gz or .parquet file"
                    )
                raise InvalidInputError(
                    f"{option(given[0])} only applies to a .csv, .csv.gz or .parquet file: remove it"
                )
            return None
        if self.space is None:
            raise InvalidInputError(
                f"the space of the architectures in {self.file} is unknown: add {option('space', 's1')}, or your own "
                f"space, such as {option('space', 'my_space:SPACE')}"
            )
        return FrameFile(
            search_space(self.space),
            {
                "columns": parse_columns(self.column, "predicted" if self.predicted else "measured"),
                "dataset": self.dataset,
                "percent": self.percent,
                "measured": not self.predicted,
                "reference": self.reference,
                **({"source": self.source} if self.source else {}),
            },
            self.ignore,
        )


@dataclass(frozen=True)
class Download:
    """Download an official NAS-Bench-101 file, verify its SHA-256, and import it.

    only108 (499 MB) has the trainings of 108 epochs, full (1.95 GB) the trainings of 4, 12, 36 and 108 epochs.
    """

    which: Annotated[Positional[str], Form("{only108,full}")]
    """The file to download."""
    mirror: Annotated[str | None, Form("URL")] = None
    """Address of the file, or of a folder that has the file. Default: the official address."""
    keep: bool = False
    """Keep the downloaded file after the import."""

    def run(self) -> None:
        """Download and import the file, and print the folder of the table and how to use it."""
        from rich.console import Console

        from nasbench1shot1.ground.downloads import DownloadBar
        from nasbench1shot1.tables.importing import ImportBar, download_table

        console = Console()
        with DownloadBar(f"nasbench_{self.which}", console) as bar, ImportBar(console) as second:
            out = download_table(self.which, self.mirror, self.keep, bar, print_to_stdout, second.show)
        _print_usage_hint(out)


@dataclass(frozen=True)
class Build:
    """Rebuild a bundled table of NAS-Bench-101 from the bundled measurements.

    Takes 6 to 10 minutes on one core and needs the extra [table]. The table is bit-identical for equal versions of
    packages and numbers of threads.
    """

    out: Path
    """Folder of the new table."""
    table: TableName = "embedded"
    """The table to build: embedded (cells of s1, s2 and s3) or nb101-5v (all cells with at most five vertices)."""

    def run(self) -> None:
        """Fit, cross-validate, write."""
        from nasbench1shot1.tables.names import build_bundled_table
        from nasbench1shot1.tables.screen import show_table
        from nasbench1shot1.tables.table import load_table

        build_bundled_table(self.table, self.out, print_to_stdout)
        show_table(load_table(self.out))


def _verify_hashes(table: "Table") -> None:
    from rich.console import Console

    from nasbench1shot1.ground.errors import InvalidInputError
    from nasbench1shot1.tables.importing import ImportBar

    if (verify := getattr(table.keys, "verify", None)) is None:  # not every benchmark identifies rows by hashes
        raise InvalidInputError(
            f"{option('hashes')} only applies to tables of NAS-Bench-101, not to the table {table.id}: remove it"
        )
    with ImportBar(Console()) as bar:
        verify(bar.show)
    print_to_stdout(
        f"{table.id}: the hashes of all {len(table):,} cells match their graphs, and no cell has two hashes"
    )


def _id_of_table_in(folder: Path) -> str | None:
    """Return the id of the table in a folder; None if there is none that can be opened."""
    from nasbench1shot1.ground.errors import UserError
    from nasbench1shot1.tables.table import load_table

    with suppress(UserError):
        return load_table(folder.absolute()).id if folder.exists() else None
    return None


def _print_usage_hint(folder: Path, before: str | None = None) -> None:
    """Print what the table in a folder contains, where it is, which table it replaced, and how to use it."""
    from nasbench1shot1.tables.names import name_of_folder
    from nasbench1shot1.tables.table import load_table

    table = load_table(folder)
    *first, last = map(str, table.epochs)
    epochs = f"{', '.join(first)} and {last}" if first else last
    repeats = f"{counted(table.repeats, 'repeat')} each"
    if table.seeds:
        repeats = f"up to {counted(table.repeats, 'repeat')}, seeds {', '.join(map(str, table.seeds))},"
    print_to_stdout(f"{table.id}: {len(table):,} {table.benchmark.networks[1]}; {repeats} at {epochs} epochs")
    print_to_stdout(f"in {folder}{f', where it replaced the table {before}' if before else ''}")
    named = name_of_folder(folder)
    separator = "=" if named.startswith("-") else " "
    print_to_stdout(f"with a command: --table{separator}{shlex.quote(named)}")
    print_to_stdout(f"with all commands: export NB1SHOT1_TABLE={shlex.quote(named)}")
    print_to_stdout(f"in Python: nb.load_table({named!r})")
