"""Does one fixed set of hyperparameters rank architectures as hyperparameters tuned for each of them?

    python benchmarks/fixed_hyperparameters.py list --space nb201 --number 30 > architectures.txt
    for rate in 0.02 0.1 0.5; do
      nb1shot1 train --list architectures.txt --seeds 0-2 --scale quick --epochs 4 \\
        --learning-rate $rate --out rate-$rate
    done
    python benchmarks/fixed_hyperparameters.py rank rate-0.02 rate-0.1 rate-0.5 --out study.json

Benchmarks train all architectures with one learning rate. This study trains the same architectures with several rates,
and compares the ranking by test accuracy at each fixed rate with the ranking at the rate that is best for each
architecture. Noise alone makes two rankings differ, so seeds are split: one seed gives the ranking at the fixed rate;
the other seeds choose the rate of each architecture by mean validation accuracy, and give its mean test accuracy.
The reference is the same rate in both parts, so that the two differ only by their seeds. Values are means over the
choices of the seed. Intervals are 95 % percentile intervals over resampled architectures.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.experiments.rank_correlation import kendall, spearman
from nasbench1shot1.ground.bootstrap import draw_resamples, percentile_interval

RESAMPLES = 2_000
MEASURES = {"spearman": spearman, "kendall": kendall}


def sample(space, number):
    """Print distinct architectures of a space, drawn uniformly with seed 0."""
    found = nb.search_space(space)
    print(f"# {number} architectures of {space}, drawn uniformly without replacement with seed 0")
    for index in np.random.default_rng(0).permutation(len(found))[:number]:
        print(f"{found[int(index)]}  # {index}")


def accuracies(folders):
    """Return the rates (L,), and validation and test accuracies (L, architectures, seeds) of finished groups."""
    groups = {group.options["learning_rate"]: group for group in map(nb.open_run, folders)}
    rates = sorted(groups)
    if unfinished := [rate for rate in rates if not groups[rate].is_finished]:
        raise SystemExit(f"the trainings with the learning rate {unfinished[0]} are not finished")
    first, values = groups[rates[0]], {"validation": [], "test": []}
    for rate in rates:
        table = groups[rate].table()
        assert groups[rate].seeds == first.seeds and table.hashes(range(len(table))) == first.table().hashes(
            range(len(table))
        )
        metrics = table.query(table.hashes(range(len(table))), run="all")
        values["validation"].append(metrics.validation_accuracy)
        values["test"].append(metrics.test_accuracy)
    return np.array(rates), np.array(values["validation"]), np.array(values["test"])


def compare(validation, test, measure):
    """Return, for each fixed rate, how its ranking agrees with itself, with tuned rates, and the difference, (L, 3).

    `validation` and `test` are (rates, architectures, seeds).
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


def study(folders):
    """Return the rank correlations with their intervals, and how often each rate is the best."""
    rates, validation, test = accuracies(folders)
    networks = test.shape[1]
    best = validation.mean(axis=2).argmax(axis=0)
    found = {
        "architectures": networks,
        "seeds": test.shape[2],
        "learning_rates": rates.tolist(),
        "mean_test_accuracy": test.mean(axis=(1, 2)).tolist(),
        "share_best": [float((best == rate).mean()) for rate in range(len(rates))],
        "mean_gain_of_tuning": (test.mean(axis=2)[best, np.arange(networks)].mean() - test.mean(axis=(1, 2))).tolist(),
    }
    for name, measure in MEASURES.items():
        value = compare(validation, test, measure)
        rows = draw_resamples(networks, RESAMPLES, np.random.default_rng(0))
        drawn = np.array([compare(validation[:, row], test[:, row], measure) for row in rows])
        low, high = percentile_interval(drawn)
        found[name] = {
            column: [
                {"value": float(value[i, k]), "low": float(low[i, k]), "high": float(high[i, k])}
                for i in range(len(rates))
            ]
            for k, column in enumerate(("same_rate", "tuned_rates", "difference"))
        }
    return found


def show(found):
    """Print a table with a row for each fixed rate."""
    print(f"{found['architectures']} architectures, {found['seeds']} seeds; means, [95 % intervals over architectures]")
    print("| fixed rate | best for | test accuracy | ρ with the same rate | ρ with tuned rates | difference |")
    print("|---|---|---|---|---|---|")
    for i, rate in enumerate(found["learning_rates"]):
        values = [found["spearman"][column][i] for column in ("same_rate", "tuned_rates", "difference")]
        cells = " | ".join(f"{of['value']:.2f} [{of['low']:.2f}, {of['high']:.2f}]" for of in values)
        share, accuracy = found["share_best"][i], found["mean_test_accuracy"][i]
        print(f"| {rate:g} | {100 * share:.0f} % | {100 * accuracy:.1f} % | {cells} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="print a list of architectures")
    listing.add_argument("--space", default="nb201")
    listing.add_argument("--number", type=int, default=30)
    ranking = commands.add_parser("rank", help="print the rank correlations of finished groups of trainings")
    ranking.add_argument("folders", nargs="+", help="one group of trainings per learning rate")
    ranking.add_argument("--out", type=Path, help="JSON file of the results")
    given = parser.parse_args()
    if given.command == "list":
        sample(given.space, given.number)
        return
    found = study(given.folders)
    show(found)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
