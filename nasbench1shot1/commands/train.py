"""`nb1shot1 train`."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from nasbench1shot1.cell_training.config import OPTIONS, TrainingConfig

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.cell_training.record import Training
    from nasbench1shot1.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class Train(TrainingConfig):
    """Train the network of one cell by NAS-Bench-101's protocol, and compare the result with the table."""

    what: tyro.conf.Positional[str | None] = None
    """An architecture such as "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3", or a cell's hash."""
    out: Path | None = None
    """Folder of the new training; it must not exist. Default: runs/cell-HASH-EPOCHS-SEED, with 8 digits of the hash."""
    resume: Path | None = None
    """Folder of a stopped training to resume. Cannot be combined with other options."""
    table: str | None = None
    """Folder or name of the table to compare with, and to look up a hash. Default: the table in use."""

    named: tyro.conf.Suppress[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`; on resuming, their values are compared with the recorded ones."""

    def run(self) -> None:
        """Train."""
        from nasbench1shot1.cell_training.training import train_cell
        from nasbench1shot1.tables.table import load_table
        from nasbench1shot1.wording import literal_console

        given = {name: getattr(self, name) for name in OPTIONS if name in self.named}
        table, console = load_table(self.table), literal_console()
        training = train_cell(self.what, out=self.out, resume=self.resume, table=table, console=console, **given)
        compare(training, table, console)


COLUMNS = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time", "trainable_parameters")


def compare(training: "Training", table: "Table", console: "Console") -> None:
    """Print a training's metrics and the table's metrics for the cell and budget, and explain each of them."""
    from rich.table import Table as Screen

    from nasbench1shot1.errors import OutOfDomainError
    from nasbench1shot1.wording import counted, sayer

    say, epochs = sayer(console), training.config["epochs"]
    rows = [[name, _text(name, training.summary[name])] for name in COLUMNS]
    title = f"{training.config['cell_hash']} after {counted(epochs, 'epoch')}\ntable {table.id}"
    screen = Screen(title=title, title_justify="left")
    headings, fidelity, why_not = ["", "trained here"], "", ""
    try:
        metrics = table.query(training.cell, epochs=epochs)
        headings, fidelity = [*headings, "in the table", "which is"], metrics.fidelity
        columns = table.info()["columns"]
        for name, row in zip(COLUMNS, rows, strict=True):
            value, fitted = getattr(metrics, name), columns.get(name, {}).get("fidelity") != "measured"
            row += [_text(name, value), _source(name, value, metrics.is_measured(name), fitted)]
    except OutOfDomainError as error:
        why_not = str(error)
    for heading in headings:
        screen.add_column(heading)
    for row in rows:
        screen.add_row(*row)
    console.print(screen)
    say(_what_it_is(training))
    for text in (fidelity, why_not and f"Nothing to compare with: {why_not}"):
        if text:
            say(text)


def _what_it_is(training: "Training") -> str:
    if training.config["is_protocol"]:
        return "Trained here: NAS-Bench-101's network, images and protocol, in PyTorch (docs/training.md)."
    return (
        "Trained here: another network, other images or another protocol than NAS-Bench-101's, so accuracies and "
        f"times are not comparable. {training.config['parts']}."
    )


def _text(name: str, value: float) -> str:
    if math.isnan(value):
        return "–"
    if name == "training_time":
        return f"{value:,.1f} s"
    return f"{value:,}" if name == "trainable_parameters" else f"{value:.4f}"


def _source(name: str, value: float, measured: bool, fitted: bool) -> str:
    if math.isnan(value):
        return "not in this table"
    if name == "trainable_parameters":
        return "exact"
    if not fitted:
        return "measured"
    return "predicted, drawn towards a measurement" if measured else "predicted"
