"""Does one fixed set of hyperparameters rank architectures as hyperparameters tuned for each of them?

    python benchmarks/fixed_hyperparameters.py list --space nb201 --number 60 > architectures.txt
    for rate in 0.02 0.1 0.5; do
      nb1shot1 train --list architectures.txt --seeds 0-2 --scale quick --epochs 4 --images IMAGES \\
        --learning-rate $rate --out rate-$rate
    done
    for decay in 0.00005 0.005; do
      nb1shot1 train --list architectures.txt --seeds 0 --scale quick --epochs 4 --images IMAGES \\
        --learning-rate 0.1 --weight-decay $decay --out decay-$decay
    done
    python benchmarks/fixed_hyperparameters.py rank rate-0.02 rate-0.1 rate-0.5 --out ranks.json
    python benchmarks/fixed_hyperparameters.py grid rate-* decay-* --number 50 --out grid.json
    python benchmarks/fixed_hyperparameters.py agree rate-* --out agreement.json

Benchmarks train all architectures with one set of hyperparameters. NAS-Bench-101 chose it by a grid search that
maximised the mean accuracy of 50 random architectures (section 2.2); `grid` applies this criterion to groups of
trainings, one group per setting.

`rank` compares the ranking by test accuracy at each fixed learning rate with the ranking at the rate that is best for
each architecture. Noise alone makes two rankings differ, so seeds are split: one seed gives the ranking at the fixed
rate. The other seeds select the rate of each architecture by mean validation accuracy; the tuned ranking uses the mean
test accuracy at that rate over these seeds. As a reference, the same rate is used in both parts, so that they differ
only in their seeds. Correlations are means over all ways to hold out one seed.

`agree` compares the test accuracies of trainings with the test accuracies of a benchmark's table at its largest budget.
All intervals are 95 % percentile intervals over resampled architectures.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.experiments.rank_correlation import kendall, spearman
from nasbench1shot1.ground.bootstrap import draw_resamples, percentile_interval
from nasbench1shot1.ground.text import counted

RESAMPLES = 2_000
GOOD = 0.7  # accuracy of networks that are not among the very poor ones
MEASURES = {"spearman": spearman, "kendall": kendall}


def sample(space, number):
    """Print distinct architectures of a space, drawn uniformly with seed 0."""
    found = nb.search_space(space)
    print(f"# {number} architectures of {space}, drawn uniformly without replacement with seed 0")
    for index in np.random.default_rng(0).permutation(len(found))[:number]:
        print(f"{found[int(index)]}  # {index}")


def accuracies(folder):
    """Return a group of trainings, and its validation and test accuracies: a row per network, a column per seed."""
    group = nb.open_run(folder)
    if not group.is_finished:
        raise SystemExit(f"the trainings in {folder} are not finished: repeat the command that started them")
    trainings = group.to_frame()
    order = trainings.network.unique()
    return group, *(
        trainings.pivot(index="network", columns="seed", values=f"{split}_accuracy").loc[order]
        for split in ("validation", "test")
    )


def interval(measured, networks):
    """Return a measured value and its 95 % interval over resampled networks, as lists.

    `measured` takes an array of network indices and returns a number or an array.
    """
    drawn = [measured(rows) for rows in draw_resamples(networks, RESAMPLES, np.random.default_rng(0))]
    low, high = percentile_interval(drawn)
    return {"value": np.asarray(measured(np.arange(networks))).tolist(), "low": low.tolist(), "high": high.tolist()}


def split_by_seeds(validation, test, measure):
    """Return the rank correlations of each fixed rate with itself and with tuned rates, and their difference, (L, 3).

    `validation` and `test` are (L rates, architectures, seeds).
    """
    rates, networks, seeds = test.shape
    found = np.zeros((seeds, rates, 3))
    for seed in range(seeds):
        others = [other for other in range(seeds) if other != seed]
        best = validation[:, :, others].mean(axis=2).argmax(axis=0)
        tests = test[:, :, others].mean(axis=2)
        tuned = tests[best, np.arange(networks)]
        for rate in range(rates):
            itself, with_tuned = (measure(test[rate, :, seed], other) for other in (tests[rate], tuned))
            found[seed, rate] = itself, with_tuned, with_tuned - itself
    return found.mean(axis=0)


def rank(folders):
    """Print and return how well rankings at fixed rates agree with tuned ones, and how often each rate is best."""
    groups = sorted(map(accuracies, folders), key=lambda group: group[0].options["learning_rate"])
    for _, _, test in groups[1:]:
        assert test.index.equals(groups[0][2].index) and test.columns.equals(groups[0][2].columns)
    rates = [group.options["learning_rate"] for group, _, _ in groups]
    validation, test = (np.array([group[split] for group in groups]) for split in (1, 2))
    networks, seeds = test.shape[1:]
    best = validation.mean(axis=2).argmax(axis=0)
    tuned = test.mean(axis=2)[best, np.arange(networks)]
    found = {
        "architectures": networks,
        "seeds": seeds,
        "learning_rates": rates,
        "mean_test_accuracy": test.mean(axis=(1, 2)).tolist(),
        "share_best": [float((best == rate).mean()) for rate in range(len(rates))],
        "mean_gain_of_tuning": (tuned.mean() - test.mean(axis=(1, 2))).tolist(),
    }
    for name, measure in MEASURES.items():
        # (L, 3): the same rate, tuned rates, and their difference
        found[name] = interval(lambda rows: split_by_seeds(validation[:, rows], test[:, rows], measure), networks)  # noqa: B023

    print(f"{networks} architectures, {seeds} seeds; means, [95 % intervals over architectures]")
    print("| fixed rate | best for | test accuracy | ρ with the same rate | ρ with tuned rates | difference |")
    print("|---|---|---|---|---|---|")
    ends = np.array([found["spearman"][end] for end in ("value", "low", "high")])
    for i, rate in enumerate(rates):
        cells = " | ".join("{:.2f} [{:.2f}, {:.2f}]".format(*ends[:, i, k]) for k in range(3))
        share, accuracy = found["share_best"][i], found["mean_test_accuracy"][i]
        print(f"| {rate:g} | {100 * share:.0f} % | {100 * accuracy:.1f} % | {cells} |")
    return found


def grid(folders, number):
    """Print and return the mean accuracies of the first `number` networks with each setting, for the first seed.

    All settings use the same networks, so differences from the best setting have narrower intervals than the means.
    """
    groups = sorted(map(accuracies, folders), key=lambda group: -group[1].iloc[:number, 0].mean())
    chosen = groups[0][1].iloc[:number, 0]
    found = []
    for group, validation, test in groups:
        first, tested = (frame.iloc[:number, 0] for frame in (validation, test))
        assert first.index.equals(chosen.index)
        columns = np.stack([first, first - chosen], axis=1)
        found.append(
            {
                "learning_rate": group.options["learning_rate"],
                "weight_decay": group.options["weight_decay"],
                "networks": len(first),
                # the mean, and its difference from the best mean
                "validation_accuracy": interval(lambda rows: columns[rows].mean(axis=0), len(first)),  # noqa: B023
                "test_accuracy": float(tested.mean()),
            }
        )

    print("| learning rate | weight decay | mean validation accuracy | difference from the best | mean test accuracy |")
    print("|---|---|---|---|---|")
    for setting in found:
        ends = 100 * np.array([setting["validation_accuracy"][end] for end in ("value", "low", "high")])
        (value, low, high), between = ends.T
        difference = "best" if setting is found[0] else "{:.1f} % [{:.1f}, {:.1f}]".format(*between)
        print(
            f"| {setting['learning_rate']:g} | {setting['weight_decay']:g} | {value:.1f} % [{low:.1f}, {high:.1f}] "
            f"| {difference} | {100 * setting['test_accuracy']:.1f} % |"
        )
    return found


def agree(folder, table):
    """Print and return the rank correlation between mean test accuracies of trainings and those in a table."""
    group, _, test = accuracies(folder)
    trained = test.mean(axis=1).to_numpy()
    metrics = nb.load_table(table).query(list(test.index), dataset=group.options.get("dataset"))
    known = metrics.test_accuracy
    found = {"networks": len(trained), "seeds": test.shape[1]}
    seeds = counted(test.shape[1], "seed")
    print(f"{folder}: {len(trained)} networks, {seeds}, against the test accuracies of {table}")
    for name, measure in MEASURES.items():
        found[name] = interval(lambda rows: measure(trained[rows], known[rows]), len(trained))  # noqa: B023
        print("{}: {value:.2f} [{low:.2f}, {high:.2f}]".format(name, **found[name]))
    good, best = known > GOOD, int(trained.argmax())
    found["good"] = {"networks": int(good.sum()), "spearman": spearman(trained[good], known[good])}
    found["best"] = {"accuracy": float(trained[best]), "regret": float(known.max() - known[best])}
    print("above {:.0%} in the table: {networks} networks, spearman {spearman:.2f}".format(GOOD, **found["good"]))
    print("best trained network: {accuracy:.1%}; its regret among these networks: {regret:.1%}".format(**found["best"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="print a list of architectures")
    listing.add_argument("--space", default="nb201", help="search space (default: nb201)")
    listing.add_argument("--number", type=int, default=60, help="number of architectures (default: 60)")
    ranking = commands.add_parser("rank", help="compare fixed learning rates with tuned ones")
    ranking.add_argument("folders", nargs="+", help="folders of trainings, one per learning rate")
    settings = commands.add_parser("grid", help="compare settings by mean accuracy")
    settings.add_argument("folders", nargs="+", help="folders of trainings, one per setting")
    settings.add_argument("--number", type=int, default=50, help="number of networks used from each (default: 50)")
    agreement = commands.add_parser("agree", help="compare trainings with a benchmark's table")
    agreement.add_argument("folders", nargs="+", help="folders of trainings, each compared separately")
    agreement.add_argument("--table", default="nb201", help="table to compare with (default: nb201)")
    for command in (ranking, settings, agreement):
        command.add_argument("--out", type=Path, help="write the results to this JSON file, too")
    given = parser.parse_args()
    if given.command == "list":
        sample(given.space, given.number)
        return
    if given.command == "rank":
        found = rank(given.folders)
    elif given.command == "grid":
        found = grid(given.folders, given.number)
    else:
        found = {Path(folder).name: agree(folder, given.table) for folder in given.folders}
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
