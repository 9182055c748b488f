"""Print how often 95 % confidence intervals of few searches are right (docs/compare.md, "Lines and bands").

    python benchmarks/interval_coverage.py

Regrets are drawn from all networks of a space (bundled tables), and from a normal distribution for comparison. "Mean"
and "median" are the shares of samples whose interval contains the mean or median of the space. "False differences" is
the share of pairs of samples of the same space for which the interval of the difference between their means excludes
zero. The package uses Student's intervals of means, Welch's of differences, and order statistics for medians;
percentile bootstrap intervals are shown for comparison. With the default settings, the standard error of a share is at
most 1.3 percentage points.
"""

import argparse

import numpy as np
import pandas

import nasbench1shot1 as nb
from nasbench1shot1.ground.bootstrap import all_resamples, percentile_interval
from nasbench1shot1.ground.intervals import difference_interval, mean_interval, median_interval

RESAMPLES = 1_000
SPACES = {"s1": "embedded", "s2": "embedded", "s3": "embedded", "nb201": "nb201"}


def populations(rng):
    """Return the regrets of all networks of each space, and normal values."""
    found = {}
    for space, name in SPACES.items():
        table = nb.load_table(name)
        objective = table.objective(None)
        found[space] = table.regrets(space, objective.test_metric, objective.test)[1]
    return {**found, "normal": rng.normal(size=100_000)}


def means_in_resamples(sample, rng):
    """Return the means of `RESAMPLES` resamples."""
    return sample[all_resamples(len(sample), RESAMPLES, rng)].mean(axis=1)


def shares(values, n, repetitions, rng):
    """Return in % how often each kind of interval contains its parameter or excludes a difference of zero."""
    mean, median, found = values.mean(), np.median(values), []
    for _ in range(repetitions):
        a, b = values[rng.integers(len(values), size=(2, n))]
        of_a, of_b = means_in_resamples(a, rng), means_in_resamples(b, rng)
        found.append(
            (
                contains(mean_interval(a), mean),
                contains(percentile_interval(of_a), mean),
                contains(median_interval(a), median),
                not contains(difference_interval(a, b), 0),
                not contains(percentile_interval(of_b - of_a), 0),
            )
        )
    return 100 * np.mean(found, axis=0)


def contains(interval, value):
    """Return whether an interval contains a value."""
    low, high = interval
    return low <= value <= high


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=10, help="number of searches of a method (default: 10)")
    parser.add_argument("--repetitions", type=int, default=1_500, help="default: 1,500")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    rows = {}
    for name, values in populations(rng).items():
        rows[name] = shares(values, options.searches, options.repetitions, rng)
    columns = [
        ("coverage [%]", "mean"),
        ("coverage [%]", "mean, bootstrap"),
        ("coverage [%]", "median"),
        ("false differences [%]", "Welch"),
        ("false differences [%]", "bootstrap"),
    ]
    columns = pandas.MultiIndex.from_tuples(columns)
    print(pandas.DataFrame.from_dict(rows, orient="index", columns=columns).round(1).to_string())


if __name__ == "__main__":
    main()
