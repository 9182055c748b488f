"""How many encodings and cells NAS-Bench-101 and NAS-Bench-Mini have, by both readings of "valid" (docs/spaces.md)."""

from typing import TYPE_CHECKING

import numpy as np

from nasbench1shot1.nasbench101.encoding import VERTEX_BIT
from nasbench1shot1.search_spaces.nasbench101 import SPACE, NASBench101Space

if TYPE_CHECKING:
    from rich.console import Group

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
    """Return how many distinct cells have each number of vertices, input and output among them; ascending."""
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
    histogram = ", ".join(f"{size}: {count:,}" for size, count in nasbench101_cells_by_vertices(space).items())
    return Group(table, f"{space.name}: distinct cells by number of vertices {histogram}")
