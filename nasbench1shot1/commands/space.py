"""`nb1shot1 space`."""

from dataclasses import dataclass
from typing import Annotated

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.runs.options import Form


@dataclass(frozen=True)
class Space:
    """Print the sizes of search spaces under consistent counting rules, and compare them with the papers."""

    names: Annotated[
        Positional[tuple[str, ...]],
        Form("[SPACE …]", "(default: all spaces of this package)"),
    ] = ()
    """Names of the spaces, such as s1 or nb201."""

    def run(self) -> None:
        """Count and print; raises InvalidInputError for an unknown name."""
        from rich.console import Console
        from rich.table import Table

        from nasbench1shot1.experiments.counts import render_sizes
        from nasbench1shot1.ground.text import print_table

        console = Console()
        for sizes in render_sizes(self.names):
            if isinstance(sizes, Table):
                print_table(sizes, console)
            else:
                console.print(sizes)
