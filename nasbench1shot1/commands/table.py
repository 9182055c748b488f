"""`nb1shot1 table`: the table that architectures are looked up in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Info:
    """Say what the table in use is: its rows, columns, what is measured and predicted, and its fidelity."""

    table: str | None = None
    """Folder of the table; the one in use if not given."""
    json: bool = False
    """Print all that is known of it, as JSON."""

    def run(self) -> None:
        """Print a screen, or JSON."""
        import json

        from nasbench1shot1.table import load_table

        info = load_table(self.table).info()
        if self.json:
            print(json.dumps(info, indent=2))
        else:
            _show(info)


@dataclass(frozen=True)
class Verify:
    """Check every column of a table against its recorded SHA-256."""

    table: str | None = None
    """Folder of the table; the one in use if not given."""

    def run(self) -> None:
        """Check, and say that all is well."""
        from nasbench1shot1.table import load_table

        table = load_table(self.table)
        table.verify()
        print(f"{table.id}: every column is as it was written")


@dataclass(frozen=True)
class Build:
    """Fit the table of estimates that the package carries anew, from the real samples beside it.

    Takes about eight minutes on one core and needs the extra [table]. The same versions and threads give the same bits.
    """

    out: Path
    """Folder of the new table."""

    def run(self) -> None:
        """Fit, cross-validate, write."""
        from nasbench1shot1.registry import search_space
        from nasbench1shot1.table import load_table
        from nasbench1shot1.table_building import build
        from nasbench1shot1.table_folder import check_target

        check_target(self.out)  # before the spaces are enumerated
        spaces = [search_space(name) for name in ("s1", "s2", "s3")]
        build(
            {space.name: [arch.cell for arch in space.architectures("unique")] for space in spaces},
            self.out,
            report=print,
        )
        _show(load_table(self.out).info())


_IN_WORDS = {"estimated": "predicted, drawn towards the measurement where there is one"}


def _show(info: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table as Screen

    console = Console(highlight=False, soft_wrap=True)
    epochs = ", ".join(map(str, info["epochs"]))
    console.print(f"Table {info['id']}: {info['rows']:,} cells, budgets of {epochs} epochs")
    console.print("; ".join(f"{space}: {count:,} cells" for space, count in info["spaces"].items()))
    console.print(f"In {info['folder']}")
    screen = Screen("column", "epochs", "what it is")
    for name, about in info["columns"].items():
        if "fidelity" in about:
            fidelity = _IN_WORDS.get(about["fidelity"], about["fidelity"])
            screen.add_row(name, ", ".join(map(str, about.get("epochs", ()))), fidelity)
    console.print(screen)
    for column, about in info.get("fidelity", {}).items():
        if isinstance(about, dict) and (figures := about.get("108", about)) and "spearman" in figures:
            console.print(f"Cross-validated, {column} at 108 epochs: Spearman {figures['spearman']:.3f}", end="")
            top = figures.get("spearman_above_0.9")
            console.print(f", {top:.3f} among cells measured above 90 %" if top else "")
