"""Print the numbers in docs/tuning_study.md from folders of studies, such as those that `reproduce tuners` writes.

    nb1shot1 reproduce tuners --scale quick --only s1 --seeds 0-9 --draw-only --out tuners \\
      --records docs/records/tuners-s1.tar.xz
    python benchmarks/tuning_study.py tuners/s1/*/seed-*

Studies that differ only in their tuner and their seed are compared at the end of the shortest one, on two clocks:
simulated time (searches and one training of each architecture), and search epochs. "Sampling" is a baseline without
searches: for the same simulated time, architectures are drawn at random from the space and trained once each. Its
values are means over 1,000 repetitions.
"""

import argparse

import numpy as np
import pandas
from scipy.stats import spearmanr, ttest_ind, wilcoxon

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.rank_tests import holm
from nasbench1shot1.experiments.tuning.importance import importances
from nasbench1shot1.experiments.tuning.trajectory import costs
from nasbench1shot1.tuning.options import TUNERS

REPETITIONS = 1000
GOOD = 0.0075


def spread(values):
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values, ddof=1) if len(values) > 1 else np.nan:.2f}"


def epochs(frame):
    """Return the epochs of every search, as `costs` returns simulated seconds."""
    return frame["budget"].to_numpy(float)


def incumbents(study, clock, end):
    """Return the observation with the lowest loss up to a point on a clock."""
    frame = study.observations
    within = frame[np.cumsum(clock(frame)) <= end]
    return within.loc[within["loss"].idxmin()]


def compare(groups, clock, unit):
    """Print the incumbents of every tuner at the end of the shortest study."""
    end = min(np.cumsum(clock(study.observations))[-1] for studies in groups.values() for study in studies)
    print(f"\nAfter {end:,.0f} {unit}:")
    for tuner, studies in groups.items():
        found = pandas.DataFrame([incumbents(study, clock, end) for study in studies])
        searches = [int((np.cumsum(clock(study.observations)) <= end).sum()) for study in studies]
        regrets = "; ".join(f"{name} {spread(found[name])}" for name in ("validation_regret", "test_regret"))
        each = ", ".join(f"{100 * value:.2f}" for value in found["test_regret"])
        print(
            f"  {TUNERS[tuner]}: {regrets} % (test, each: {each}); searches {searches}; budgets {list(found['budget'])}"
        )
    return end


def against_random(groups, clock, end):
    """Compare the incumbents of each tuner with those of random search, seed by seed, and print the results."""
    if "random" not in groups:
        return
    found = {
        tuner: {study.config["seed"]: incumbents(study, clock, end)["validation_regret"] for study in studies}
        for tuner, studies in groups.items()
    }
    for tuner in (name for name in found if name != "random"):
        seeds = sorted(found[tuner].keys() & found["random"].keys())
        gains = np.array([found["random"][seed] - found[tuner][seed] for seed in seeds])
        counts = ", ".join(
            f"{name} {count}"
            for name, count in zip(
                ("lower", "higher", "equal"), ((gains > 0).sum(), (gains < 0).sum(), (gains == 0).sum()), strict=True
            )
        )
        p = wilcoxon(gains[gains != 0], method="exact").pvalue if gains.any() else 1.0
        print(f"  {TUNERS[tuner]} against random search, validation regret: {counts}; Wilcoxon p = {p:.2f}")


def sampling(space, table, seconds, groups):
    """Print the regret of training random architectures for a simulated time, and compare the tuners with it."""
    rng, archs = np.random.default_rng(0), nb.search_space(space)
    answers = table.query([archs[number] for number in range(len(archs))])
    times, valid, test = (
        np.asarray(values) for values in (answers.training_time, answers.validation_accuracy, answers.test_accuracy)
    )
    found = []
    for _ in range(REPETITIONS):
        order = rng.permutation(len(archs))
        trained = order[np.cumsum(times[order]) <= seconds]
        best = trained[np.argmax(valid[trained])]
        found.append((valid.max() - valid[best], test.max() - test[best], len(trained)))
    validation_regrets, test_regrets, counts = np.array(found).T
    print(f"  sampling: validation_regret {spread(validation_regrets)}; test_regret {spread(test_regrets)} %", end="; ")
    print(f"{counts.mean():.0f} architectures; mean of the space {100 * (test.max() - test.mean()):.2f} %")
    p_values = [
        ttest_ind(
            [incumbents(study, costs, seconds)["test_regret"] for study in studies], test_regrets, equal_var=False
        ).pvalue
        for studies in groups.values()
    ]
    for tuner, p, corrected in zip(groups, p_values, holm(np.array(p_values)), strict=True):
        print(
            f"  {TUNERS[tuner]} against sampling, test regret: Welch's t-test, p = {p:.3f}, "
            f"{corrected:.3f} with Holm's correction"
        )


def describe(groups):
    """Print the results of each budget and kind of proposal, and rank correlations of losses."""
    for tuner, studies in groups.items():
        frame = pandas.concat([study.observations.assign(study=number) for number, study in enumerate(studies)])
        print(
            f"\n{TUNERS[tuner]}: {len(studies)} studies, {len(frame)} searches, {int(frame['budget'].sum()):,} epochs"
        )
        for (budget, model), own in frame.groupby(["budget", "model_based"]):
            kind = "model-based" if model else "random or default"
            print(f"  {budget} epochs, {kind}: n {len(own)}, validation regret {spread(own['validation_regret'])} %")
        wide = frame.pivot_table(index=["study", "configuration_id"], columns="budget", values="loss")
        for low, high in zip(wide.columns, wide.columns[1:], strict=False):
            both = wide[[low, high]].dropna()
            if len(both) > 4:
                rho = spearmanr(both[low], both[high]).statistic
                print(f"  losses after {low} and {high} epochs: Spearman {rho:.2f}, n {len(both)}")
        for budget, own in frame.groupby("budget"):  # losses of different budgets are not comparable
            for name in studies[0].config_space:
                rho = spearmanr(own[name], own["loss"], nan_policy="omit").statistic
                print(f"  {name} and loss after {budget} epochs: Spearman {rho:.2f}, n {len(own)}")


def describe_each(studies):
    """Print each study's final incumbent, and the share of its searches that find a good architecture."""
    print()
    for study in studies:
        frame, config = study.observations, study.config
        best = frame.loc[frame["loss"].idxmin()]
        found = f"{best['architecture']}, configuration {best['configuration_id']}"
        how = f"{found}, search {best['number'] + 1}, {best['budget']} epochs, model-based: {best['model_based']}"
        share = (frame["validation_regret"] < GOOD).mean()
        print(f"{TUNERS[config['tuner']]}, seed {config['seed']}: {how}; validation regret below {GOOD}: {share:.2f}")


def check_comparable(studies):
    """Raise SystemExit if studies differ in more than their tuner, seed and number of brackets."""
    free = {"tuner", "seed", "iterations", "created"}
    kept = [{name: value for name, value in study.config.items() if name not in free} for study in studies]
    for study, config in zip(studies, kept, strict=True):
        for name in config.keys() | kept[0].keys():
            if config.get(name) != kept[0].get(name):
                raise SystemExit(f"{study.folder} differs from {studies[0].folder} in {name}: compare equal studies")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+", help="folder of a finished study")
    options = parser.parse_args()
    opened, groups = [nb.open_run(folder) for folder in options.studies], {}
    check_comparable(opened)
    for study in opened:
        groups.setdefault(study.config["tuner"], []).append(study)
    first, table = opened[0], nb.load_table()
    if table.id != first.config["table_id"]:
        raise SystemExit(f"the studies used the table {first.config['table_id']}: open it with NB1SHOT1_TABLE")
    seconds = compare(groups, costs, "simulated seconds")
    against_random(groups, costs, seconds)
    sampling(first.config["space"], table, seconds, groups)
    against_random(groups, epochs, compare(groups, epochs, "search epochs"))
    describe(groups)
    describe_each(opened)
    print(f"\nfANOVA, all studies:\n{importances(opened).to_string(index=False)}")


if __name__ == "__main__":
    main()
