"""Print the numbers of docs/ranking.md, "What we found in s1", from the folders of rankings.

    python benchmarks/ranking_study.py RANKING …

The rankings must evaluate the same architectures at the same, last epoch. For each, this prints Spearman's ρ of
error, loss and probability, the partial rank correlation of the loss given the number of parameters, and the regrets of
the first-ranked architecture. It also prints ρ of the number of parameters, and of the losses of every two rankings.
"""

import argparse
from itertools import combinations

import numpy as np
from scipy.stats import rankdata, spearmanr

import nasbench1shot1 as nb


def rho(x, y):
    return float(spearmanr(x, y).statistic)


def partial(x, y, given):
    """Return the partial rank correlation of x and y with a third variable held constant."""
    (_, xy, xz), (_, _, yz), _ = np.corrcoef([rankdata(values) for values in (x, y, given)])
    return (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))


def name(ranking):
    return f"{ranking.config['optimizer']} seed {ranking.config['run_seed']}"


def last(ranking):
    return ranking.scores(max(ranking.config["evaluated_epochs"]))


def headline(ranking):
    """Print the rows of correlations.csv for test errors after the largest budget, and for measured errors."""
    rows = ranking.correlations
    rows = rows[(rows["epoch"] == rows["epoch"].max()) & (rows["budget"] == rows["budget"].max())]
    for scope in ("all", "top-1000", "top-10%"):
        of = rows[(rows["split"] == "test") & (rows["scope"] == scope)]
        of = of[of["n"] == of["n"].max()].set_index("criterion")
        found = of[of.index.str.startswith("spearman") | (of.index.str.startswith("regret") & (scope == "all"))]
        print(f"  {scope}:", "; ".join(f"{c} {r.value:.4f} [{r.low:.2f}, {r.high:.2f}]" for c, r in found.iterrows()))
    measured = rows[(rows["split"] == "validation") & (rows["scope"] == "all") & (rows["measured"] == 1)]
    of = measured[measured["criterion"].str.startswith("spearman")][["criterion", "value", "n"]]
    print("  measured:", "; ".join(f"{criterion} {value:.2f} (n {n})" for criterion, value, n in of.to_numpy()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rankings", nargs="+")
    options = parser.parse_args()
    rankings, table = [nb.open_run(folder) for folder in options.rankings], nb.load_table()
    space, numbers = rankings[0].space, last(rankings[0]).numbers
    answers = table.query([space[int(number)] for number in numbers])
    true, size = 1 - np.asarray(answers.test_accuracy), np.asarray(answers.trainable_parameters)
    regrets, order = true - true.min(), np.argsort(true)
    print(f"{len(true)} architectures; mean regret {regrets.mean():.4f}; below 0.0075: {(regrets < 0.0075).mean():.2f}")
    print(f"parameters: ρ {rho(-size, true):.2f}; best 1,000: {rho(-size[order[:1000]], true[order[:1000]]):.2f}")
    is_measured = np.asarray(answers.is_measured("validation_accuracy"))
    if is_measured.any():
        sample = nb.load_table("nb101-sample").query([space[int(number)] for number in numbers[is_measured]])
        print(f"parameters, measured: ρ {rho(size[is_measured], np.asarray(sample.validation_accuracy)):.2f}")
    for ranking in rankings:
        scores = last(ranking)
        held = partial(scores.losses, true, -size)
        print(f"{name(ranking)}: mean error {scores.errors.mean():.3f}; loss given parameters {held:.2f}")
        headline(ranking)
    for one, two in combinations(rankings, 2):
        print(f"losses of {name(one)} and {name(two)}: ρ {rho(last(one).losses, last(two).losses):.2f}")


if __name__ == "__main__":
    main()
