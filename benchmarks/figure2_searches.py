r"""Print the numbers of docs/reproduced.md about the searches of figure 2 and `longer-searches`, from one panel.

    nb1shot1 reproduce figure2 --scale medium --only s1 --records docs/records/figure3-s1-medium.tar.xz --draw-only \
        --images cifar10-22500 --out figure2
    python benchmarks/figure2_searches.py figure2/s1

The folder of a panel of `reproduce longer-searches`, such as longer/darts-s1, has a group of searches for each length
instead of each method. For each group, this prints the row of the page's table: the final test regrets in percent by
seed, their mean, and how many epochs changed the preferred cell. Further lines state, by seed, the regrets after each
quarter of the search and the last change of the preferred cell, and for the whole group, the minutes of a search, how
many final regrets are predicted, the most frequent final cell and its operations, how many distinct cells a search
preferred, the mean regrets in the last ten epochs with their largest change, and the one-shot errors.
"""

import argparse
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb

METHODS = ("darts", "gdas", "pc-darts", "enas", "random-ws")
"""The order of the methods; other groups of searches follow by name."""
LAST = 10
"""Number of epochs at the end of a search whose means are compared."""


def percents(runs, key):
    """Return a recorded value in percent, of shape (runs, epochs)."""
    return 100 * np.array([[line[key] for line in run.lines] for run in runs])


def trace(run):
    """Return the regrets in percent after each quarter of a search, and the last change of its preferred cell."""
    last = max((after["epoch"] for before, after in pairwise(run.lines) if changed(before, after)), default=0)
    quarters = [run.lines[round(share * (len(run.lines) - 1) / 4)] for share in range(5)]
    regrets = ", ".join(
        f"{100 * line['test_regret']:.2f} ({'measured' if line['test_measured'] else 'predicted'})" for line in quarters
    )
    return f"regrets after epochs {', '.join(str(line['epoch']) for line in quarters)}: {regrets}; last change: {last}"


def changed(before, after):
    """Return whether the preferred cell changed between two epochs."""
    return before["cell_hash"] != after["cell_hash"]


def describe(method, runs):
    """Print the numbers of a group of searches."""
    regrets, errors = percents(runs, "test_regret"), percents(runs, "one_shot_validation_error")
    hashes = [[line["cell_hash"] for line in run.lines] for run in runs]
    changes = [sum(changed(*lines) for lines in pairwise(run.lines)) for run in runs]
    minutes = [run.lines[-1]["search_seconds"] / 60 for run in runs]
    predicted = sum(not run.lines[-1]["test_measured"] for run in runs)
    seeds = " | ".join(f"{regret:.2f}" for regret in regrets[:, -1])
    print(f"| {method} | {seeds} | {regrets[:, -1].mean():.2f} | {min(changes)} to {max(changes)} |")
    quarters = [round(share * (regrets.shape[1] - 1) / 4) for share in range(5)]
    means = ", ".join(f"{mean:.2f}" for mean in regrets[:, quarters].mean(axis=0))
    print(f"  mean regrets after epochs {', '.join(map(str, quarters))}: {means}")
    for run in runs:
        print(f"  seed {run.config['seed']}: {trace(run)}")
    ((frequent, times),) = Counter(own[-1] for own in hashes).most_common(1)
    example = next(run for run, own in zip(runs, hashes, strict=True) if own[-1] == frequent)
    operations = nb.Architecture.parse(example.lines[-1]["architecture"]).cell.ops[1:-1]
    distinct = [len(set(own)) for own in hashes]
    print(f"  {min(minutes):.1f} to {max(minutes):.1f} minutes; {predicted} of {len(runs)} final regrets predicted")
    print(f"  {times} of {len(runs)} searches end with one cell, of {', '.join(operations) or 'no operation'}")
    print(f"  {min(distinct)} to {max(distinct)} distinct preferred cells per search")
    means = regrets.mean(axis=0)
    last = means[-LAST:]
    step = abs(np.diff(last)).max()
    print(f"  mean regret over all epochs: {means.mean():.2f} %, last {LAST}: {last.min():.2f} to {last.max():.2f} %")
    print(f"  largest change of the mean regret from one of the last {LAST} epochs to the next: {step:.3f}")
    lowest = errors.mean(axis=0).argmin()
    print(
        f"  one-shot error at the end: {errors[:, -1].min():.1f} to {errors[:, -1].max():.1f} %, mean "
        f"{errors[:, -1].mean():.1f} %; lowest mean {errors[:, lowest].mean():.1f} % after epoch {lowest}; higher at "
        f"the end than after that epoch with {(errors[:, -1] > errors[:, lowest]).sum()} of {len(runs)} seeds"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of one panel")
    folder = parser.parse_args().folder
    groups = {path.parent.name for path in folder.glob("*/seed-*/")}
    if not groups:
        parser.error(f"{folder} has no searches: give the folder of a panel, such as reproduce/figure2-medium/s1")
    for group in [*(of for of in METHODS if of in groups), *sorted(groups - {*METHODS})]:
        runs = [nb.open_run(path) for path in sorted(folder.glob(f"{group}/seed-*/"))]
        if finished := [run for run in runs if run.is_finished]:
            describe(group, finished)


if __name__ == "__main__":
    main()
