"""`nb1shot1 query`."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tyro

if TYPE_CHECKING:
    from nasbench1shot1.tables.table import Table


@dataclass(frozen=True)
class Query:
    """Look up an architecture or a cell's hash. The output tells whether each value is measured or predicted."""

    what: tyro.conf.Positional[str]
    """An architecture such as "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3", or a hash."""
    epochs: int = 108
    """Training budget in epochs: 4, 12, 36 or 108."""
    table: str | None = None
    """Folder or name of the table. Default: the table in use."""

    def run(self) -> None:
        """Print a row for every column."""
        from rich.table import Table as Screen

        from nasbench1shot1.architecture import Architecture
        from nasbench1shot1.registry import search_space
        from nasbench1shot1.tables.table import load_table
        from nasbench1shot1.wording import counted, literal_console

        table = load_table(self.table)
        item: Any = Architecture.parse(self.what) if ":" in self.what else self.what
        if isinstance(item, Architecture):
            search_space(item.space).index(item)
        metrics = table.query(item, epochs=self.epochs)
        title = f"{metrics.hash} after {counted(self.epochs, 'epoch')}\ntable {table.id}"
        screen = Screen(title=title, title_justify="left")
        for heading in ("column", "value", "source"):
            screen.add_column(heading)
        names = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time", "trainable_parameters")
        columns = table.info()["columns"]
        for name in names:
            is_estimate = columns.get(name, {}).get("fidelity") != "measured"
            shown = _value_and_source(name, getattr(metrics, name), metrics.is_measured(name), is_estimate)
            screen.add_row(name, *shown)
        for row in _regrets(table, item, self.epochs):
            screen.add_row(*row)
        console = literal_console()
        console.print(screen)
        if metrics.fidelity:
            console.print(metrics.fidelity, soft_wrap=True)


def _regrets(table: "Table", item: Any, epochs: int) -> list[tuple[str, str, str]]:
    """Return a row for the regret in every space that has the cell, on the splits that the table has."""
    from nasbench1shot1.errors import OutOfDomainError
    from nasbench1shot1.wording import percent

    rows, splits = [], ("test", "validation")
    for space in (space for space in table.spaces if int(table.rows(item)) in table.members(space)):
        for split in splits:
            try:
                regret = table.regret(item, space, split, epochs)  # type: ignore[arg-type]
            except OutOfDomainError:
                continue
            measured = table.info()["columns"][f"{split}_accuracy"].get("fidelity") == "measured"
            rows.append((f"{split} regret in {space}", percent(regret), "measured" if measured else "predicted"))
    return rows


def _value_and_source(name: str, value: float, measured: bool, is_estimate: bool) -> tuple[str, str]:
    if math.isnan(value):
        return "–", "not in this table"
    text = {"training_time": f"{value:,.0f} s", "trainable_parameters": f"{value:,}"}.get(name, f"{value:.4f}")
    if name == "trainable_parameters":
        return text, "exact"
    if not is_estimate:
        return text, "measured"
    return text, "predicted, drawn towards a measurement" if measured else "predicted"
