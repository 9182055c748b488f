"""Write the results of the study of DARTS's collapse into docs/nasbench201_search.md, with its picture.

    nb1shot1 reproduce nas201-collapse --scale quick --out FOLDER
    python benchmarks/nasbench201_collapse.py FOLDER

The script replaces the section between two comments of the page: the picture, and a table with the values after the
last epoch. The study may be unfinished; the table states the number of seeds of each row. For the text of the page, it
prints the final regrets of all searches, their median, and the epoch with the lowest mean regret.
"""

import argparse
import shutil
from pathlib import Path

import pandas
from page_section import replace_section

import nasbench1shot1 as nb
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.collapse import BASE

NAME = "nas201-collapse"
PAGE = Path(__file__).parents[1] / "docs" / "nasbench201_search.md"
PICTURE = "nasbench201_search/collapse.png"
LABELS = {curve.key: curve.label for _, curve in FIGURES[NAME].full.pairs()}
PICTURE_TEXT = (
    "Test regret, skip connections, zeroized edges and the Hessian's eigenvalue over the epochs, for every setting"
)
HEADINGS = (
    *("epochs", "setting", "seeds", "final test regret [%]", "skip connections", "zeroized edges"),
    *("all skips", "zeroized paths", "weight of `none`", "weight of `skip_connect`", "one-shot error [%]"),
    *("error of the preferred cell [%]", "eigenvalue", "alignment", "p (regret)"),
)


def with_interval(row, name, scale=1.0, digits=2):
    """Return the mean of a quantity with its 95 % confidence interval; the mean alone for one seed."""
    mean, low, high = (scale * row[f"{name}_{of}"] for of in ("mean", "low", "high"))
    if pandas.isna(mean):
        return "–"
    return f"{mean:.{digits}f}" + (f" [{low:.{digits}f}, {high:.{digits}f}]" if row["seeds"] > 1 else "")


def table(ends, tests):
    """Return the lines of the table.

    Args:
        ends, tests: the files nas201-collapse-ends.csv and nas201-collapse-rank-tests.csv.
    """
    of_regret = tests[tests["quantity"] == "test_regret"]
    holm = {}
    for _, test in of_regret.iterrows():
        other = test["second"] if test["first"] == BASE else test["first"]
        holm[test["panel"], other] = f"{test['p_holm']:.3f}"
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for _, row in ends.iterrows():
        shares = [f"{row[name] * row['seeds']:.0f} of {row['seeds']}" for name in ("all_skips", "no_path")]
        weights = [f"{row[f'{name}_mean']:.2f}".replace("nan", "–") for name in ("none_weight", "skip_weight")]
        errors = [
            with_interval(row, name, 100, 1) for name in ("one_shot_validation_error", "preferred_one_shot_error")
        ]
        cells = [
            *(row["panel"].removesuffix("-epochs"), LABELS[row["curve"]], str(row["seeds"])),
            with_interval(row, "test_regret", 100),
            *(with_interval(row, name, digits=1) for name in ("skips", "zeroized")),
            *shares,
            *weights,
            *errors,
            *(with_interval(row, name) for name in ("hessian_eigenvalue", "cell_alignment")),
            holm.get((row["panel"], row["curve"]), "–"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def print_regrets(folder):
    """Print the final test regrets of every setting, their median, and the lowest mean over the epochs, in percent."""
    frame = pandas.read_csv(folder / f"{NAME}.csv").set_index("epoch")
    for (panel, curve), of in frame.groupby(["panel", "curve"], sort=False):
        means = 100 * of["test_regret_mean"]
        runs = [nb.open_run(path.parent) for path in sorted((folder / panel / curve).glob("seed-*/summary.json"))]
        final = 100 * pandas.Series([run.summary["test_regret"] for run in runs])
        lowest = f"lowest mean {means.min():.2f} after epoch {means.idxmin()}"
        print(f"{panel}, {curve}: median {final.median():.2f} of {final.round(2).tolist()}; {lowest}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    ends, tests = (pandas.read_csv(options.folder / f"{NAME}-{of}.csv") for of in ("ends", "rank-tests"))
    replace_section(options.page, NAME, [f"![{PICTURE_TEXT}]({PICTURE})", "", *table(ends, tests)])
    shutil.copy(options.folder / f"{NAME}.png", options.page.parent / PICTURE)
    print_regrets(options.folder)


if __name__ == "__main__":
    main()
