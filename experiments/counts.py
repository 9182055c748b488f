"""Sizes of search spaces, by every counting rule, next to published numbers. Command line: `nb1shot1 space`.

The rules are explained in docs/spaces.md, the kinds of nb201 in docs/nasbench201_space.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.benchmark import load
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import live_blocks
from nasbench1shot1.nasbench101.cell import OPERATIONS
from nasbench1shot1.nasbench101.encoding import VERTEX_BIT
from nasbench1shot1.registry import BUILT_IN, search_space
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.nasbench101 import SPACE, NASBench101Space
from nasbench1shot1.search_spaces.wirings import pruned_matrix
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType
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
NASBENCH101_ROWS = {
    ("Encodings", "all: possible edges and operations"): ("loose_ends", "all"),
    ("", "a path, at most 9 edges after pruning"): ("loose_ends", "pruned"),
    ("", "a path, at most 9 edges before pruning"): ("loose_ends", "raw"),
    ("Without loose ends", "each pruned labelled graph once"): ("no_loose_ends", None),
    ("Distinct cells", "each cell once"): ("unique", None),
}
NASBENCH101_CAPTIONS = {
    "nb101": ("NAS-Bench-101", "Ying et al. 2019: about 510M encodings, 423k cells"),
    "nb101-mini": ("NAS-Bench-Mini", "Ying et al. 2019: 64.5k cells of at most six vertices"),
    "nb101-5v": ("NAS-Bench-101, five vertices", "2,532 cells of at most five vertices"),
}


def render_sizes(names: Sequence[str] = ()) -> "list[RenderableType]":
    """Return the sizes of some spaces for the terminal; spaces with the same counting rules share a table.

    Args:
        names: registered names; none selects all spaces of this package.

    Raises InvalidInputError for an unknown name.
    """
    alike: dict[str, list[SearchSpace]] = {}
    for name in dict.fromkeys(names or BUILT_IN["search_spaces"]):
        space = search_space(name)
        alike.setdefault(space.sizes, []).append(space)
    screens = (load(sizes, f"the sizes of {spaces[0].name}")(spaces) for sizes, spaces in alike.items())
    return [screen for of_spaces in screens for screen in of_spaces]


def kind_counts(space: SearchSpace) -> dict[str, int]:
    """Return the number of architectures of each kind of a space."""
    return {kind: space.count(kind) for kind in space.kinds}


def render_kinds(spaces: Iterable[SearchSpace]) -> "Iterator[Table]":
    """Yield the counts of `kind_counts` of each space for the terminal."""
    for space in spaces:
        table = _empty_table(f"Sizes of {space.name}", ["kind", "counted"], [space.name], space.sizes_caption)
        for kind, count in kind_counts(space).items():
            table.add_row(kind, space.kind_descriptions.get(kind, ""), f"{count:,}")
        yield table


def _empty_table(title: str, texts: Sequence[str], numbers: Iterable[str], caption: str | None = None) -> "Table":
    """Return a table for the terminal without rows, given the headings of its columns of texts and of numbers."""
    from rich.table import Column, Table

    return Table(*texts, *(Column(name, justify="right") for name in numbers), title=title, caption=caption)


# Choice-block spaces --------------------------------------------------------------------------------------------------


def choice_block_space(space: str | ChoiceBlockSpace) -> ChoiceBlockSpace:
    """Return a space, given by name or as an object; raises InvalidInputError if it is not made of choice blocks."""
    found = search_space(space) if isinstance(space, str) else space
    if not isinstance(found, ChoiceBlockSpace):
        raise InvalidInputError(f"{space} is not made of choice blocks: give s1, s2, s3 or a space of that kind")
    return found


def space_counts(spaces: Sequence[str | ChoiceBlockSpace] = NAMES) -> "pd.DataFrame":
    """Return the counts of some choice-block spaces; "distinct cells" are enumerated, or read from the cache.

    Returns:
        One column per space, one row per (quantity, rule), as in `TITLES` and `RULES`; integers, or <NA> where the
        paper prints no number.

    Raises:
        InvalidInputError: a name is unknown, or the space is not made of choice blocks.
    """
    import pandas as pd

    found = map(choice_block_space, spaces)
    frame = pd.DataFrame({space.name: _counts(space) for space in found}, dtype="Int64")
    return frame.rename_axis(index=["quantity", "rule"])


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


def cells_by_vertices(space: str | ChoiceBlockSpace) -> dict[int, int]:
    """Return the number of distinct cells of a space by number of vertices, including input and output; ascending."""
    space = choice_block_space(space)
    sizes = np.array([len(live_blocks(wiring)) + 2 for wiring in space.wirings])
    wiring_of_cell = space.distinct_cells.indices // len(OPERATIONS) ** space.n_blocks
    return dict(sorted(Counter(sizes[wiring_of_cell].tolist()).items()))


def shared_cells(spaces: Sequence[str | ChoiceBlockSpace] = NAMES) -> "pd.DataFrame":
    """Return the number of distinct cells that each pair of S spaces shares, (S, S); on the diagonal, all cells."""
    import pandas as pd

    hashes = {space.name: _hashes(space) for space in map(choice_block_space, spaces)}
    shared = [[len(a & b) for b in hashes.values()] for a in hashes.values()]
    return pd.DataFrame(shared, index=list(hashes), columns=list(hashes))


def union_size(spaces: Sequence[str | ChoiceBlockSpace] = NAMES) -> int:
    """Return the number of distinct cells in the union of some spaces."""
    return len(set().union(*map(_hashes, map(choice_block_space, spaces))))


def _hashes(space: ChoiceBlockSpace) -> set[bytes]:
    return {row.tobytes() for row in space.distinct_cells.hashes}


def render_choice_blocks(spaces: Sequence[ChoiceBlockSpace]) -> "Iterator[RenderableType]":
    """Yield the counts of `space_counts` for the terminal, the sizes of the cells, and the cells that spaces share."""
    yield _table(space_counts(spaces))
    yield render_vertices({space.name: cells_by_vertices(space) for space in spaces})
    if spaces[1:]:
        yield f"Shared distinct cells: {_pairs(spaces)}."
        yield f"Together, these spaces have {union_size(spaces):,} distinct cells."


def _table(counts: "pd.DataFrame") -> "Table":
    caption = "≠ differs from NAS-Bench-1Shot1 (Table 1)"
    table = _empty_table("Sizes of the search spaces", ["quantity", "counted"], counts.columns, caption)
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


def _pairs(spaces: Sequence[ChoiceBlockSpace]) -> str:
    shared: dict[Any, Any] = shared_cells(spaces).to_dict()
    return ", ".join(f"{a} and {b}: {shared[a][b]:,}" for a, b in combinations(shared, 2))


# NAS-Bench-101 and NAS-Bench-Mini, by both readings of "valid" --------------------------------------------------------


def nasbench101_counts(space: NASBench101Space = SPACE) -> dict[tuple[str, str | None], int]:
    """Return the count for every (kind, rule) of `NASBENCH101_ROWS`; nothing is hashed, so it takes about a second."""
    return {which: space.count(*which) for which in NASBENCH101_ROWS.values()}


def nasbench101_cells_by_vertices(space: NASBench101Space = SPACE) -> dict[int, int]:
    """Return the number of distinct cells by number of vertices, including input and output; ascending."""
    sizes, counts = np.unique(space.encodings() >> np.uint64(VERTEX_BIT), return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def render_nasbench101(spaces: Iterable[NASBench101Space] = (SPACE,)) -> "Iterator[RenderableType]":
    """Yield the counts of each space for the terminal, and the sizes of its cells."""
    for space in spaces:
        benchmark, caption = NASBENCH101_CAPTIONS.get(space.name, ("NAS-Bench-101", ""))
        table = _empty_table(f"{benchmark}, {space.name}", ["quantity", "counted"], [space.name], caption)
        counts = nasbench101_counts(space)
        for (quantity, counted), which in NASBENCH101_ROWS.items():
            table.add_row(quantity, counted, f"{counts[which]:,}")
        yield table
        yield render_vertices({space.name: nasbench101_cells_by_vertices(space)})


def render_vertices(counts: Mapping[str, Mapping[int, int]]) -> "Table":
    """Return the number of distinct cells of each number of vertices for the terminal, with a row for each space."""
    sizes = sorted({size for of_space in counts.values() for size in of_space})
    table = _empty_table("Distinct cells by number of vertices", ["vertices"], map(str, sizes))
    for name, of_space in counts.items():
        table.add_row(name, *(f"{of_space.get(size, 0):,}" for size in sizes))
    return table
