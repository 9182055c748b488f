"""Write the tables of all methods into docs/optimizers.md, and their values into docs/reproduce/methods-quick.csv.

    nb1shot1 reproduce methods --scale quick --out FOLDER
    nb1shot1 reproduce methods-nb201 --scale quick --out FOLDER_2
    python benchmarks/methods_table.py FOLDER/methods.csv FOLDER_2/methods-nb201.csv

The script replaces the section between two comments of the page. The studies may be unfinished: the tables state the
number of seeds of each value.
"""

import argparse
from pathlib import Path

import pandas
from page_section import replace_section

from nasbench1shot1.experiments.reproduction.method_tables import BEST, FINAL, RANDOM, with_band

NAME = "methods"
PAGE = Path(__file__).parents[1] / "docs" / "optimizers.md"
VALUES = "reproduce/methods-quick.csv"


def section(values):
    """Return the lines of the section: a table of final test regrets, and one of best-seen test regrets."""
    final = ["**Final test regret:**", "", *table(values, FINAL)]
    return [*final, "", "**Best-seen test regret:**", "", *table(values, BEST)]


def table(values, measure):
    """Return the lines of a table: mean regrets in percent by method and space, with their bands.

    Args:
        values: the rows of the CSV files of all spaces.
        measure: the regret.
    """
    spaces = list(dict.fromkeys(values["panel"]))
    lines = [f"| method | {' | '.join(spaces)} |", "|---" * (1 + len(spaces)) + "|"]
    rows = values.set_index(["curve", "panel"])
    for method in dict.fromkeys(values["curve"]):
        named = method if method == RANDOM else f"`{method}`"
        cells = [
            _cell(rows.loc[(method, space)], measure) if (method, space) in rows.index else "–" for space in spaces
        ]
        lines.append(f"| {named} | {' | '.join(cells)} |")
    return lines


def _cell(row, measure):
    seeds = "" if row.name[0] == RANDOM else f" ({row['seeds']:.0f})"
    return with_band(row, measure) + seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="the CSV files of the studies")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    values = pandas.concat([pandas.read_csv(file) for file in options.files], ignore_index=True).round(8)
    replace_section(options.page, NAME, section(values))
    values.to_csv(options.page.parent / VALUES, index=False)


if __name__ == "__main__":
    main()
