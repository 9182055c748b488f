"""Numbers of architectures of each choice-block space, by every counting rule, next to the paper's numbers.

The rules are explained in docs/spaces.md. Command line: `nb1shot1 space`.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.experiments.nasbench101_counts import render_vertices
from nasbench1shot1.experiments.spaces import choice_block_space
from nasbench1shot1.nasbench101.architecture import live_blocks
from nasbench1shot1.nasbench101.cell import OPERATIONS
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.wirings import pruned_matrix

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group
    from rich.table import Table

NAMES = ("s1", "s2", "s3")

PRINTED = "printed in the paper"
TITLES = {
    "wirings": "Wirings",
    "loose_ends": "With loose ends",
    "no_loose_ends": "Without loose ends",
    "unique": "Distinct cells",
}
RULES = {
    "all": "every choice of parents",
    "all-live": "every block live",
    "in-place": "live part, blocks in place",
    "renumbered": "live part, blocks renumbered",
    "encodings": "an operation for every block",
    "read-blocks": "an operation for every read block",
    "live-part": "each live part once",
    "paper": "live parts and read dead blocks",
    "cell": "each cell of NAS-Bench-101 once",
    PRINTED: PRINTED,
}


def space_counts(names: Sequence[str] = NAMES) -> "pd.DataFrame":
    """Return the counts of some choice-block spaces; "distinct cells" are enumerated, or read from the cache.

    Returns:
        One column per space, one row per (quantity, rule), as in `TITLES` and `RULES`; integers, or <NA> where the
        paper prints no number.

    Raises:
        InvalidInputError: a name is unknown, or the space is not made of choice blocks.
    """
    import pandas as pd

    frame = pd.DataFrame({name: _counts(choice_block_space(name)) for name in names}, dtype="Int64")
    return frame.rename_axis(index=["quantity", "rule"])


def cells_by_vertices(name: str) -> dict[int, int]:
    """Return the number of distinct cells of a space by number of vertices, including input and output; ascending."""
    space = choice_block_space(name)
    sizes = np.array([len(live_blocks(wiring)) + 2 for wiring in space.wirings])
    wiring_of_cell = space.distinct_cells.indices // len(OPERATIONS) ** space.n_blocks
    return dict(sorted(Counter(sizes[wiring_of_cell].tolist()).items()))


def shared_cells(names: Sequence[str] = NAMES) -> "pd.DataFrame":
    """Return the number of distinct cells that each pair of spaces shares, (len(names), len(names)); diagonal: all
    cells."""
    import pandas as pd

    hashes = [_hashes(name) for name in names]
    return pd.DataFrame([[len(a & b) for b in hashes] for a in hashes], index=list(names), columns=list(names))


def union_size(names: Sequence[str] = NAMES) -> int:
    """Return the number of distinct cells in the union of some spaces."""
    return len(set().union(*map(_hashes, names)))


def render(counts: "pd.DataFrame") -> "Group":
    """Return the frame of `space_counts` for the terminal, with the sizes of the cells and the shared cells below
    it."""
    from rich.console import Group

    names = list(counts.columns)
    by_vertices = render_vertices({name: cells_by_vertices(name) for name in names})
    if len(names) == 1:
        return Group(_table(counts), by_vertices)
    together = f"Together, these spaces have {union_size(names):,} distinct cells."
    return Group(_table(counts), by_vertices, f"Shared distinct cells: {_pairs(names)}.", together)


def _table(counts: "pd.DataFrame") -> "Table":
    from rich.table import Table

    table = Table(title="Sizes of the search spaces", caption="≠ differs from NAS-Bench-1Shot1 (Table 1)")
    table.add_column("quantity")
    table.add_column("counted")
    for name in counts.columns:
        table.add_column(name, justify="right")
    for quantity, title in TITLES.items():
        rules: list[str] = counts.loc[quantity].index.tolist()
        for rule in rules:
            cells = [_cell(counts, quantity, rule, name) for name in counts.columns]
            style = "bold" if rule == PRINTED else None
            table.add_row(title if rule == rules[0] else "", RULES[rule], *cells, style=style)
        table.add_section()
    return table


def _cell(counts: "pd.DataFrame", quantity: str, rule: str, name: str) -> str:
    """Return a number in words; it is marked if the paper prints a different one."""
    import pandas as pd

    numbers: dict[Any, Any] = counts[name].to_dict()
    value, printed = numbers[quantity, rule], numbers.get((quantity, PRINTED), pd.NA)
    if pd.isna(value):
        return "-  "
    return f"{value:,}  " if pd.isna(printed) or value == printed else f"[yellow]{value:,} ≠[/yellow]"


def _pairs(names: Sequence[str]) -> str:
    shared: dict[Any, Any] = shared_cells(names).to_dict()
    return ", ".join(f"{a} and {b}: {shared[a][b]:,}" for a, b in combinations(names, 2))


def _counts(space: ChoiceBlockSpace) -> dict[tuple[str, str], int | None]:
    wirings = space.wirings
    return {
        ("wirings", "all"): len(wirings),
        ("wirings", "all-live"): sum(len(live_blocks(wiring)) == space.n_blocks for wiring in wirings),
        ("wirings", "in-place"): len(space.loose_end_free_wirings),
        ("wirings", "renumbered"): len({pruned_matrix(wiring).tobytes() for wiring in wirings}),
        ("loose_ends", "encodings"): space.count("loose_ends", "encodings"),
        ("loose_ends", "read-blocks"): space.count("loose_ends", "read-blocks"),
        ("loose_ends", PRINTED): space.paper_counts.get("loose_ends"),
        ("no_loose_ends", "live-part"): space.count("no_loose_ends"),
        ("no_loose_ends", "paper"): space.count("no_loose_ends", "paper"),
        ("no_loose_ends", PRINTED): space.paper_counts.get("no_loose_ends"),
        ("unique", "cell"): space.count("unique"),
        ("unique", PRINTED): space.paper_counts.get("unique"),
    }


def _hashes(name: str) -> set[bytes]:
    return {row.tobytes() for row in choice_block_space(name).distinct_cells.hashes}
