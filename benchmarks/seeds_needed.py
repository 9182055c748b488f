"""Write how many seeds a comparison of one-shot methods needs into docs/scales.md, from the shipped values of searches.

    python benchmarks/seeds_needed.py

The script reads the standard deviations of the final test regrets from docs/reproduce/methods-quick.csv and
docs/reproduce/figure2-SPACE-medium.csv. The table also has the smallest difference of two mean regrets that Student's
t-test detects, and the numbers of seeds that detect a given difference, all for two methods with the median standard
deviation. A sentence below the table states which differences ten seeds detect at the medium scale at the corrected
levels of the pages.
"""

import argparse
import math
import textwrap
from itertools import count
from pathlib import Path

import pandas
from page_section import replace_section
from scipy.optimize import brentq
from scipy.stats import nct, t

NAME = "seeds"
PAGE = Path(__file__).parents[1] / "docs" / "scales.md"
METHODS = {"darts": "DARTS", "gdas": "GDAS", "pc-darts": "PC-DARTS", "enas": "ENAS", "random-ws": "Random WS"}
SPACES = ("s1", "s2", "s3")
SEEDS, LEVEL, POWER, DIFFERENCE = 10, 0.05, 0.8, 0.5
"""Seeds per method, level and power of the test, and the difference of two mean regrets in percentage points."""
PAIRS = len(METHODS) * (len(METHODS) - 1) // 2
"""Pairs of methods. Holm's correction tests the most significant pair at `LEVEL / PAIRS`."""
FAMILIES = {"figure 2": 15, "all 24 methods": 300}
"""Tests that pages correct together on one space: pairs of methods, and each method against random sampling."""


def deviations(docs):
    """Return the standard deviation of the final test regret in percent, by space and scale, and by method.

    Args:
        docs: the folder of the pages.

    Raises SystemExit if a value does not come from `SEEDS` seeds.
    """
    quick = pandas.read_csv(docs / "reproduce" / "methods-quick.csv").rename(columns={"final_std": "std"})
    found = {"quick": quick}
    medium = pandas.concat(pandas.read_csv(docs / "reproduce" / f"figure2-{space}-medium.csv") for space in SPACES)
    found["medium"] = medium[medium["epoch"] == medium["epoch"].max()].rename(columns={"test_regret_std": "std"})
    frame = pandas.concat([of.assign(scale=scale) for scale, of in found.items()])
    frame = frame[frame["panel"].isin(SPACES) & frame["curve"].isin(METHODS)]
    if set(frame["seeds"]) != {SEEDS}:
        raise SystemExit(f"values of {SEEDS} seeds are needed")
    return 100 * frame.set_index(["panel", "scale", "curve"])["std"].unstack()


def power(effect, seeds, level=LEVEL):
    """Return the probability with which Student's two-sided t-test of two means detects a difference.

    The probability of a significant difference in the wrong direction is negligible, and left out. At low levels, the
    power of statsmodels 0.15 is wrong.

    Args:
        effect: the difference in units of the standard deviation of each of the two methods.
        seeds: seeds of each method.
        level: level of the test.
    """
    freedom = 2 * (seeds - 1)
    return nct.sf(t.ppf(1 - level / 2, freedom), freedom, effect * math.sqrt(seeds / 2))


def detected(deviation, seeds=SEEDS, level=LEVEL):
    """Return the smallest difference of two means that the test detects with a probability of `POWER`.

    Args:
        deviation: the standard deviation of each of the two methods.
        seeds: seeds of each method.
        level: level of the test.
    """
    return float(deviation * brentq(lambda effect: power(effect, seeds, level) - POWER, 0, 5))


def needed(deviation, difference=DIFFERENCE, level=LEVEL):
    """Return the number of seeds of each of two methods with which the test detects a difference of their means."""
    return next(seeds for seeds in count(2) if power(difference / deviation, seeds, level) >= POWER)


def section(found):
    """Return the lines of the table, from `deviations`."""
    goal = f"seeds for {DIFFERENCE:g} points"
    names = ("space", "scale", *METHODS.values(), "median", "detected difference", goal, f"{goal}, {PAIRS} pairs")
    lines = [f"| {' | '.join(names)} |", "|---|---|" + "---:|" * (len(names) - 2)]
    for space in SPACES:
        for scale in ("quick", "medium"):
            own = found.loc[(space, scale)]
            median = own.median()
            numbers = " | ".join(f"{value:.2f}" for value in [*own[[*METHODS]], median, detected(median)])
            counts = needed(median), needed(median, level=LEVEL / PAIRS)
            lines.append(f"| {space} | {scale} | {numbers} | {counts[0]} | {counts[1]} |")
    return [*lines, "", *textwrap.wrap(corrected(found), 120)]


def corrected(found):
    """Return a sentence on the differences that the most significant test detects at the medium scale, by family."""
    medians = {space: found.loc[(space, "medium")].median() for space in SPACES}
    least, most = (pick(SPACES, key=medians.__getitem__) for pick in (min, max))
    ranges = {
        name: [detected(medians[space], level=LEVEL / tests) for space in (least, most)]
        for name, tests in FAMILIES.items()
    }
    texts = [
        f"{low:.1f} ({least}) to {high:.1f} points ({most}) with the {FAMILIES[name]} tests of {name}"
        for name, (low, high) in ranges.items()
    ]
    return (
        f"The pages correct for more tests. At the corrected level of the most significant test and at the medium "
        f"scale, {SEEDS} seeds detect differences of {', and '.join(texts)}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=PAGE)
    page = parser.parse_args().page
    replace_section(page, NAME, section(deviations(PAGE.parent)))


if __name__ == "__main__":
    main()
