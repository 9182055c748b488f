"""How many encodings and cells the whole of NAS-Bench-101 has, under both readings of "valid" (docs/spaces.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.nasbench101.encoding import VERTEX_BIT
from nasbench1shot1.search_spaces.nasbench101 import SPACE

if TYPE_CHECKING:
    from rich.console import Group

ROWS = {
    ("Encodings", "all: 21 possible edges, five operations"): ("loose_ends", "all"),
    ("", "a path, at most 9 edges after pruning"): ("loose_ends", "pruned"),
    ("", "a path, at most 9 edges before pruning"): ("loose_ends", "raw"),
    ("Without loose ends", "each pruned labelled graph once"): ("no_loose_ends", None),
    ("Distinct cells", "each cell once"): ("unique", None),
}


def nasbench101_counts() -> dict[tuple[str, str | None], int]:
    """The count for every (kind, rule) of `ROWS`; nothing is hashed, so it takes about a second."""
    return {which: SPACE.count(*which) for which in ROWS.values()}


def nasbench101_cells_by_vertices() -> dict[int, int]:
    """How many distinct cells have so many vertices, input and output among them; ascending."""
    sizes, counts = np.unique(SPACE.encodings() >> np.uint64(VERTEX_BIT), return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def render_nasbench101(counts: Mapping[tuple[str, str | None], int]) -> "Group":
    """The counts for the terminal, with the sizes of the cells below."""
    from rich.console import Group
    from rich.table import Table

    table = Table(title="NAS-Bench-101, nb101", caption="Ying et al. 2019: about 510M encodings, 423k cells")
    table.add_column("quantity")
    table.add_column("counted")
    table.add_column("nb101", justify="right")
    for (quantity, counted), which in ROWS.items():
        table.add_row(quantity, counted, f"{counts[which]:,}")
    histogram = ", ".join(f"{size}: {count:,}" for size, count in nasbench101_cells_by_vertices().items())
    return Group(table, f"nb101: distinct cells by number of vertices {histogram}")
