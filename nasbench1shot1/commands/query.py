"""`nb1shot1 query`."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.display.options import PictureOptions
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.ground.errors import flag, option
from nasbench1shot1.ground.files import PictureFormat
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.runs.options import Form, TableName

if TYPE_CHECKING:
    from nasbench1shot1.architecture import Architecture
    from nasbench1shot1.nasbench101.cell import Cell
    from nasbench1shot1.space import SearchSpace
    from nasbench1shot1.tables.table import Metrics, Table


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(PictureOptions):
    """The options of pictures, with a file whose name has the format."""

    format: PictureFormat | None = None
    """File format of the drawing, which replaces the suffix of --draw. Default: the suffix of --draw."""


@dataclass(frozen=True)
class Query:
    """Look up an architecture or the hash of a cell. The output shows whether each value is measured or predicted.

    nb1shot1 query "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
    """

    what: Annotated[Positional[str], Form("ARCHITECTURE")]
    """An architecture, or the hash of a cell. With --table nb201 or nats-size, also an official index. The text of an
    architecture, such as s1:0|0,1|0,2|1,3|2,4:conv3x3,…, consists of its space, the parents of each block and of the
    output, and the operation of each block (docs/spaces.md)."""
    epochs: int | None = None
    """Training budget in epochs. Default: the full budget, 108 for NAS-Bench-101, 200 for NAS-Bench-201 and 90
    for NATS-Bench's size space."""
    budget: int | None = None
    """Length of the trainings in which --epochs lies, if the table has their learning curves. Default: --epochs."""
    dataset: str | None = None
    """Data set of the training, in tables with several: cifar10-valid, cifar10, cifar100 or ImageNet16-120.
    Default: all."""
    space: Annotated[str | None, Form("MODULE:OBJECT")] = None
    """Your own search space (docs/own_space.md), to look up its architectures and the regret in it."""
    table: TableName | None = None
    """Folder or name of the table. Default: the table in use; for architectures of nb201 and nats-size, their own
    tables."""
    draw: Path | None = None
    """Draw the cell into this file; the format follows from the name, as in cell.png, cell.svg or cell.pdf."""
    pictures: DrawingOptions = DrawingOptions()
    """How the drawing looks."""

    def run(self) -> None:
        """Print the values of the table, and draw the cell if requested."""
        from rich.table import Table as Screen

        from nasbench1shot1.architecture import Architecture, parsed
        from nasbench1shot1.commands.arguments import check_not_truncated
        from nasbench1shot1.ground.text import counted, literal_console, print_table
        from nasbench1shot1.registry import BUILT_IN, search_space
        from nasbench1shot1.tables.table import load_table

        picture = self._picture()
        style = self.pictures.figure_style
        if self.space is not None:
            search_space(self.space)  # whose module may define another form of architectures
        check_not_truncated(self.what, self.space is not None)
        item: Any = parsed(self.what)
        space = self._space(item)
        if space is not None and isinstance(item, Architecture):
            space.index(item)
        table, note = with_space(load_table(self.table or (space.table if space else None)), space)
        if not isinstance(item, Architecture):
            item = table.keys.item_of(self.what)
        console, seen = literal_console(), set[str]()
        with_accuracy_first = sorted(table.datasets, key=lambda name: table.stored("test_accuracy", name) is None)
        datasets = [self.dataset] if self.dataset else with_accuracy_first
        for dataset in datasets:
            metrics = table.query(item, self.epochs, dataset=dataset, budget=self.budget)
            trained = f" on {dataset}" if len(table.datasets) > 1 else ""
            name = f"'{metrics.hash}'" if "|" in metrics.hash else metrics.hash  # to be copied into a shell
            whole = f" of {metrics.budget}" if metrics.budget != metrics.epochs else ""
            title = f"{name} after {counted(metrics.epochs, 'epoch')}{whole}{trained}\ntable {table.id}"
            print_to_stdout(title)  # not a title of the table, which would be broken at its width
            screen = Screen("column", "value", "source")
            for row in (*_values(table, metrics, seen), *_regrets(table, item, metrics)):
                screen.add_row(*row)
            print_table(screen, console)
            if metrics.fidelity:
                print_to_stdout(metrics.fidelity)
        for sentence in filter(None, (table.partial_note, table.missing)):
            print_to_stdout(sentence)
        if note and space and space.name not in BUILT_IN["search_spaces"]:
            print_to_stdout(note)
        if len(datasets) > 1:
            print_to_stdout(
                f"To show a single data set, add {flag('dataset')}, as in {flag('dataset')} {datasets[-1]}."
            )
        if picture is not None:
            _draw(item if isinstance(item, Architecture) else table.network(table.row_of(item)), picture, style)
            print_to_stdout(f"Picture: {picture}")

    def _picture(self) -> Path | None:
        """Return the path of the drawing.

        Raises UserError for drawing options without --draw, and for a path that cannot be written.
        """
        from nasbench1shot1.ground.errors import InvalidInputError
        from nasbench1shot1.ground.files import check_picture, check_writable_file

        if self.draw is None:
            if given := [name for name, value in vars(self.pictures).items() if value is not None]:
                raise InvalidInputError(
                    f"{option(given[0])} applies only to a drawing: add {option('draw')}, or remove {option(given[0])}"
                )
            return None
        format, path = self.pictures.format, self.draw
        path = path.with_suffix(f".{format}") if format and path.name else path  # "." has no name
        check_writable_file(path, "draw")
        check_picture(path)
        return path

    def _space(self, item: Any) -> "SearchSpace | None":
        """Return the space of an architecture, or the given one; None for a hash without --space."""
        from nasbench1shot1.architecture import Architecture
        from nasbench1shot1.commands.arguments import check_registered
        from nasbench1shot1.registry import search_space

        if self.space is not None:
            return search_space(self.space)
        if not isinstance(item, Architecture):
            return None
        check_registered(item.space)
        return search_space(item.space)


def with_space(table: "Table", space: "SearchSpace | None") -> "tuple[Table, str]":
    """Return a table with a space as reference; if it lacks networks of the space, the unchanged table and a
    sentence."""
    from nasbench1shot1.ground.errors import OutOfDomainError

    try:
        return (table if space is None else table.covering(space)), ""
    except OutOfDomainError as error:
        return table, f"No regret in {space.name if space else ''}: {error.for_command_line.partition(':')[0]}."


def _draw(network: "Architecture | Cell", path: Path, style: AnyStyle) -> None:
    from nasbench1shot1.display.axes import save_figure
    from nasbench1shot1.display.cells import draw_cell

    if figure := draw_cell(network, style=style).get_figure(root=True):
        save_figure(figure, path, data=False)  # the architecture itself is the data


def _values(table: "Table", metrics: "Metrics", seen: set[str]) -> list[tuple[str, str, str]]:
    """Return a row for each metric that has a value; the accuracies and the training time always have a row.

    Latencies of a device that several data sets share are only shown for the first of them, and then noted in `seen`.
    """
    from nasbench1shot1.tables.columns import STANDARD

    rows = []
    for name in dict.fromkeys((*STANDARD, *metrics.names)):
        value, about = metrics[name], table.about(name, metrics.dataset)
        if about.device and (shared := f"{name} {value}") in seen:
            continue
        if about.device:
            seen.add(shared)
        if not math.isnan(value) or about.quantity in ("accuracy", "training time"):
            rows.append((name, "–" if math.isnan(value) else about.text(value), metrics.source(name)))
    return rows


def _regrets(table: "Table", item: Any, metrics: "Metrics") -> list[tuple[str, str, str]]:
    """Return a row for the regret in each space that contains the cell, for each split in the table.

    For a table of a part of a space, the regret refers to the networks of the table (`Table.partial_note`).
    """
    from nasbench1shot1.ground.errors import OutOfDomainError
    from nasbench1shot1.ground.text import percent
    from nasbench1shot1.tables.references import PRESENT

    if metrics.epochs != metrics.budget:
        return []  # regrets refer to the end of trainings
    row, rows = int(table.rows(item)), []
    spaces = [space for space in table.spaces if row in table.members(space)]
    part = {PRESENT: next(iter(spaces), table.keys.WHOLE)} if table.is_part else {}
    for reference, space in (part or dict(zip(spaces, spaces, strict=True))).items():
        for split in ("test", "validation"):
            try:
                regret = table.regret(item, reference, split, metrics.epochs, metrics.dataset)
            except OutOfDomainError:
                continue
            best = table.best(reference, split, metrics.epochs, metrics.dataset)[1]
            sources = {of.source(f"{split}_accuracy") for of in (metrics, best)}
            source = "measured" if sources == {"measured"} else "predicted"
            rows.append((f"{split} regret in {space}", percent(regret), source))
    return rows
