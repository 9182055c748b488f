"""Counts of a space's architectures by kind, and tables of the sizes of spaces for the terminal.

The kinds of nb201 are explained in docs/nasbench201_space.md. Command line: `nb1shot1 space`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nasbench1shot1 import registry
from nasbench1shot1.experiments.nasbench101_counts import render_nasbench101
from nasbench1shot1.experiments.space_counts import render, space_counts
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.nasbench101 import NASBench101Space
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

DESCRIPTIONS = {
    "nb201": {
        "all": "an operation for every edge",
        "unique_skip_connect": "topologies; skip connections simplified",
        "unique": "topologies; zeroized edges simplified, too",
    }
}
CAPTIONS = {"nb201": "NAS-Bench-201; Dong and Yang 2020 report the same numbers"}


def render_sizes(names: Sequence[str] = ()) -> "list[RenderableType]":
    """Return the sizes of some spaces for the terminal; choice-block spaces share a table, which comes first.

    Args:
        names: registered names; none selects all spaces of this package.

    Raises InvalidInputError for an unknown name.
    """
    spaces = {name: registry.search_space(name) for name in names or registry.BUILT_IN["search_spaces"]}
    choice_blocks = [name for name, space in spaces.items() if isinstance(space, ChoiceBlockSpace)]
    others = [space for space in spaces.values() if not isinstance(space, ChoiceBlockSpace)]
    shared: list[RenderableType] = [render(space_counts(choice_blocks))] if choice_blocks else []
    return shared + [_render_other(space) for space in others]


def kind_counts(space: SearchSpace) -> dict[str, int]:
    """Return the number of architectures of each kind of a space."""
    return {kind: space.count(kind) for kind in space.kinds}


def render_kinds(space: SearchSpace) -> "Table":
    """Return the counts of `kind_counts` for the terminal."""
    from rich.table import Table

    table = Table(title=f"Sizes of {space.name}", caption=CAPTIONS.get(space.name))
    descriptions = DESCRIPTIONS.get(space.name, {})
    for heading in ("kind", "counted"):
        table.add_column(heading)
    table.add_column(space.name, justify="right")
    for kind, count in kind_counts(space).items():
        table.add_row(kind, descriptions.get(kind, ""), f"{count:,}")
    return table


def _render_other(space: SearchSpace) -> "RenderableType":
    if isinstance(space, NASBench101Space):
        return render_nasbench101(space)
    return render_kinds(space)
