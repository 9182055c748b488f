"""Numbers of encodings and cells of NAS-Bench-101 and NAS-Bench-Mini, by both readings of "valid" (docs/spaces.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.nasbench101.encoding import VERTEX_BIT
from nasbench1shot1.search_spaces.nasbench101 import SPACE, NASBench101Space

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

ROWS = {
    ("Encodings", "all: possible edges and operations"): ("loose_ends", "all"),
    ("", "a path, at most 9 edges after pruning"): ("loose_ends", "pruned"),
    ("", "a path, at most 9 edges before pruning"): ("loose_ends", "raw"),
    ("Without loose ends", "each pruned labelled graph once"): ("no_loose_ends", None),
    ("Distinct cells", "each cell once"): ("unique", None),
}


CAPTIONS = {
    "nb101": ("NAS-Bench-101", "Ying et al. 2019: about 510M encodings, 423k cells"),
    "nb101-mini": ("NAS-Bench-Mini", "Ying et al. 2019: 64.5k cells of at most six vertices"),
}


def nasbench101_counts(space: NASBench101Space = SPACE) -> dict[tuple[str, str | None], int]:
    """Return the count for every (kind, rule) of `ROWS`; nothing is hashed, so it takes about a second."""
    return {which: space.count(*which) for which in ROWS.values()}


def nasbench101_cells_by_vertices(space: NASBench101Space = SPACE) -> dict[int, int]:
    """Return the number of distinct cells by number of vertices, including input and output; ascending."""
    sizes, counts = np.unique(space.encodings() >> np.uint64(VERTEX_BIT), return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def render_nasbench101(space: NASBench101Space = SPACE) -> "Group":
    """Return the counts for the terminal, with the sizes of the cells below."""
    from rich.console import Group
    from rich.table import Table

    benchmark, caption = CAPTIONS.get(space.name, ("NAS-Bench-101", ""))
    table = Table(title=f"{benchmark}, {space.name}", caption=caption)
    table.add_column("quantity")
    table.add_column("counted")
    table.add_column(space.name, justify="right")
    counts = nasbench101_counts(space)
    for (quantity, counted), which in ROWS.items():
        table.add_row(quantity, counted, f"{counts[which]:,}")
    return Group(table, render_vertices({space.name: nasbench101_cells_by_vertices(space)}))


def render_vertices(counts: Mapping[str, Mapping[int, int]]) -> "Table":
    """Return the number of distinct cells of each number of vertices for the terminal, with a row for each space."""
    from rich.table import Table

    sizes = sorted({size for of_space in counts.values() for size in of_space})
    table = Table(title="Distinct cells by number of vertices")
    table.add_column("vertices")
    for size in sizes:
        table.add_column(str(size), justify="right")
    for name, of_space in counts.items():
        table.add_row(name, *(f"{of_space.get(size, 0):,}" for size in sizes))
    return table
