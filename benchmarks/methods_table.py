"""Write the tables of all methods into docs/optimizers.md, and their values into CSV files in docs/reproduce.

    nb1shot1 reproduce methods --scale quick --out FOLDER
    nb1shot1 reproduce methods-nb201 --scale quick --out FOLDER_2
    nb1shot1 reproduce methods-size --scale quick --out FOLDER_3
    python benchmarks/methods_table.py FOLDER/methods.csv FOLDER_2/methods-nb201.csv FOLDER_3/methods-size.csv

The script also reads the `…-searches.csv` file that `reproduce` writes beside each of these files. It replaces
the section between two comments of the page. The studies may be unfinished: the tables state the number of seeds of
each value.
"""

import argparse
from collections import Counter
from pathlib import Path

import pandas
from page_section import replace_section

from nasbench1shot1 import Architecture
from nasbench1shot1.experiments.reproduction.results.methods import BEST, FINAL, with_band
from nasbench1shot1.nasbench101.cell import Cell

NAME = "methods"
PAGE = Path(__file__).parents[1] / "docs" / "optimizers.md"
VALUES, CELLS = "reproduce/methods-quick.csv", "reproduce/methods-quick-cells.csv"
FREQUENT_SHARE = 0.04
"""A final cell is frequent if this share of the searches of its space end at it."""


def section(values, cells):
    """Return the lines of the section: final test regrets, best-seen test regrets, and frequent final cells."""
    return [
        *("**Final test regret:**", "", *table(values, FINAL), ""),
        *("**Best-seen test regret:**", "", *table(values, BEST), ""),
        *(
            f"**Final cells shared by at least {100 * FREQUENT_SHARE:.0f} % of a space's searches (of all methods):**",
            "",
            *cell_table(cells),
        ),
    ]


def frequent_cells(searches):
    """Return a row for each frequent final cell: space, edges, final test regret, and searches, in all and by method.

    Args:
        searches: the rows of the searches of all spaces.
    """
    rows = []
    for space, of_space in searches.groupby("panel", sort=False):
        for cell, number in Counter(of_space["final_cell_hash"]).most_common():
            if number >= FREQUENT_SHARE * len(of_space):
                own = of_space[of_space["final_cell_hash"] == cell]
                by_method = ", ".join(f"{method} {n}" for method, n in Counter(own["curve"]).most_common())
                first = own.iloc[0]
                row = {"panel": space, "cell": edges(first["final_architecture"]), FINAL: first[FINAL]}
                rows.append({**row, "searches": number, "of": len(of_space), "methods": by_method})
    return pandas.DataFrame(rows, columns=["panel", "cell", FINAL, "searches", "of", "methods"])


def edges(architecture):
    """Return the edges of a cell of NAS-Bench-101 after pruning; repeated operations have the number of their vertex.

    For spaces of other benchmarks, return the architecture.
    """
    cell = getattr(Architecture.parse(architecture), "cell", None)
    if not isinstance(cell, Cell):
        return f"`{architecture}`"
    graph = cell.drawn_graph()
    labels = dict(graph.nodes(data="label"))
    numbers = Counter(labels.values())
    names = {node: f"{label} ({node})" if numbers[label] > 1 else label for node, label in labels.items()}
    return ", ".join(f"{names[source]} → {names[target]}" for source, target in graph.edges)


def cell_table(cells):
    """Return the lines of the table of frequent final cells."""
    lines = ["| space | cell | final test regret [%] | searches | searches by method |", "|---|---|---:|---:|---|"]
    for row in cells.itertuples():
        cell = row.cell.replace("|", r"\|")  # which ends a column even within code
        lines.append(f"| {row.panel} | {cell} | {100 * row.final:.2f} | {row.searches} of {row.of} | {row.methods} |")
    return lines


def table(values, measure):
    """Return the lines of a table: mean regrets in percent by method and space, with their bands.

    Spaces and methods without the regret are left out.

    Args:
        values: the rows of the CSV files of all spaces.
        measure: the regret.
    """
    known = values[values[f"{measure}_mean"].notna()]
    spaces = list(dict.fromkeys(known["panel"]))
    lines = [f"| method | {' | '.join(spaces)} |", "|---" * (1 + len(spaces)) + "|"]
    rows = known.set_index(["curve", "panel"])
    baselines = set(known["curve"][known["seeds"] == 0])
    methods = dict.fromkeys(known["curve"])
    for method in sorted(methods, key=baselines.__contains__):  # baselines last, otherwise in the order of the files
        named = method if method in baselines else f"`{method}`"
        cells = [
            _cell(rows.loc[(method, space)], measure) if (method, space) in rows.index else "–" for space in spaces
        ]
        lines.append(f"| {named} | {' | '.join(cells)} |")
    return lines


def _cell(row, measure):
    seeds = f" ({row['seeds']:.0f})" if row["seeds"] else ""
    return with_band(row, measure) + seeds


def mean_widths(searches):
    """Return the mean number of channels of the final architectures in the size space, by method."""
    own = searches[searches["panel"] == "nats-size"]
    widths = own["final_architecture"].map(lambda text: sum(Architecture.parse(text).widths) / 5)
    return widths.astype(float).groupby(own["curve"]).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="the CSV files of the studies")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    beside = [file.with_name(f"{file.stem}-searches.csv") for file in options.files]
    values, searches = (
        pandas.concat([pandas.read_csv(file) for file in files], ignore_index=True).round(8)
        for files in (options.files, beside)
    )
    cells = frequent_cells(searches)
    replace_section(options.page, NAME, section(values, cells))
    values.to_csv(options.page.parent / VALUES, index=False)
    cells.to_csv(options.page.parent / CELLS, index=False)
    for method, width in mean_widths(searches).items():
        print(f"{method}: mean final width {width:.1f}")
    for space, distinct in searches.groupby("panel", sort=False):
        means = distinct.groupby("curve")["distinct_networks"].mean().sort_values()
        print(f"{space}: mean number of distinct networks that a search prefers:")
        print(", ".join(f"{method} {mean:.1f}" for method, mean in means.items()))


if __name__ == "__main__":
    main()
