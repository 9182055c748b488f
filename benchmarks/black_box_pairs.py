"""Compare the final test regrets of black-box studies by their means and by ranks, and count measured incumbents.

    nb1shot1 reproduce nas201-figure6 --records docs/records/nas201-figure6.tar.xz --draw-only --out figure6
    python benchmarks/black_box_pairs.py figure6/nb201/*/seed-0

For each study, this prints the mean regret and the share of final incumbents whose test error is measured. For each
pair of studies and each data set, it prints by how much the second mean is higher, with Welch's 95 % t interval and
p-value (which claims.md uses), the p-value of the Mann–Whitney test, and the share of pairs of searches in which the
first study has the lower regret; ties count half. The p-values are not corrected for the number of comparisons.
"""

import argparse
from itertools import combinations

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind

import nasbench1shot1 as nb
from nasbench1shot1.ground.intervals import difference_interval


def regrets(study):
    """Return the final test regrets in percent of all searches of a study, by data set."""
    own = study.config["dataset"]
    found = {own: [line["test_regret"] for line in study.lines]}
    for dataset in study.lines[0].get("other_datasets") or {}:
        found[dataset] = [line["other_datasets"][dataset]["test_regret"] for line in study.lines]
    return {dataset: 100 * np.array(values) for dataset, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+", help="folder of a black-box study")
    studies = {run.config["optimizer"]: run for run in map(nb.open_run, parser.parse_args().studies)}
    values = {name: regrets(study) for name, study in studies.items()}
    for name, study in studies.items():
        means = ", ".join(
            f"{dataset} {own.mean():.3f} ± {own.std(ddof=1):.3f}" for dataset, own in values[name].items()
        )
        measured = np.mean([line["test_measured"] for line in study.lines])
        print(f"{name}, {len(study.lines)} searches: {means} %; {measured:.0%} of the incumbents measured")
    for first, second in combinations(studies, 2):
        for dataset, one in values[first].items():
            other = values[second][dataset]
            low, high = difference_interval(one, other)
            test, ranks = ttest_ind(one, other, equal_var=False), mannwhitneyu(other, one)
            print(
                f"{first} against {second}, {dataset}: {other.mean() - one.mean():.3f} [{low:.4f}, {high:.4f}], "
                f"Welch p = {test.pvalue:.2g}; Mann–Whitney p = {ranks.pvalue:.2g}, "
                f"lower in {ranks.statistic / len(one) / len(other):.1%} of pairs"
            )


if __name__ == "__main__":
    main()
