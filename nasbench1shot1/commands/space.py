"""`nb1shot1 space`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Space:
    """Print the sizes of the search spaces under consistent counting rules, and compare them with the paper's."""

    def run(self) -> None:
        """Count and print."""
        from rich.console import Console

        from nasbench1shot1.experiments.nasbench101_counts import nasbench101_counts, render_nasbench101
        from nasbench1shot1.experiments.space_counts import render, space_counts

        Console().print(render(space_counts()))
        Console().print(render_nasbench101(nasbench101_counts()))
