"""Searches for the channel widths of nats-size: collect the study of docs/nats_size.md, and print its table.

    python benchmarks/size_study.py collect FOLDER --out benchmarks/results/size_study.json
    python benchmarks/size_study.py table benchmarks/results/size_study.json
    python benchmarks/size_study.py draw benchmarks/results/size_study.json --out docs/nats_size/study.png
    python benchmarks/size_study.py rules

FOLDER holds a group of searches or a black-box study per method and bound, such as `tas-free` and `random-half`, which
the commands in docs/nats_size.md make. The collected file has every epoch of every search: the architecture and its
test regrets on three data sets. `rules` compares two rules that choose a network without a search, at several bounds.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

import nasbench1shot1 as nb
from nasbench1shot1.display.colours import curve_styles
from nasbench1shot1.display.curves import Trace, describe_band, draw_curve, draw_level, pool, pool_values
from nasbench1shot1.evaluator import Baseline
from nasbench1shot1.experiments.comparison.rank_tests import holm
from nasbench1shot1.tables.bounds import Bounds

ONE_SHOT, BLACK_BOX = ("tas", "fbnetv2", "tunas"), ("random", "reinforce")
BOUNDS = {"free": "no bound", "half": "at most half of the largest network's FLOPs"}
DATASETS = ("cifar10", "cifar100", "ImageNet16-120")
WITHIN = {
    "free": None,
    "half": Bounds.parse("flops@cifar10=137199941"),
}  # also for the regrets on the other two data sets
ALL_FLOPS = 274_399_882
"""FLOPs of the largest network on CIFAR-10."""


def regrets(line):
    """Return the test regrets of a recorded line on the three data sets, fractions."""
    return [line["test_regret"], *(line["other_datasets"][name]["test_regret"] for name in DATASETS[1:])]


def one_shot(folder):
    """Return, for each seed, the architecture and the regrets of every epoch."""
    runs = sorted(folder.glob("seed-*/summary.json"), key=lambda path: int(path.parent.name.split("-")[1]))
    found = {}
    for run in map(nb.open_run, [path.parent for path in runs]):
        found[str(run.config["seed"])] = [[line["architecture"], *regrets(line)] for line in run.lines]
    return found


def black_box(folder):
    """Return, for each repeat, the incumbents (evaluation, architecture, regret) and the final regrets."""
    study = nb.open_run(folder)
    return {
        str(line["repeat"]): {
            "incumbents": [[row[1], row[2], row[5]] for row in line["incumbents"]],
            "final": [line["architecture"], *regrets(line)],
        }
        for line in study.lines
    }


def collect(folder):
    """Return everything that the table and the pictures need, from the folders of a study."""
    collected = {"runs": {}, "table_id": nb.load_table("nats-size").id}
    for bound in BOUNDS:
        for method in (*ONE_SHOT, *BLACK_BOX):
            read = one_shot if method in ONE_SHOT else black_box
            collected["runs"][f"{method}-{bound}"] = read(folder / f"{method}-{bound}")
    return collected


def interval(values):
    """Return a mean with its 95 % confidence interval, cut at 0, in %."""
    curve = pool_values([0], 100 * np.asarray(values)[:, None])
    return f"{curve.centre[0]:.2f} [{curve.low[0]:.2f}, {curve.high[0]:.2f}]"


def baseline(bound):
    """Return the baseline of searches within a bound: always the largest network."""
    return Baseline.of("nats-size", nb.load_table("nats-size"), WITHIN[bound], DATASETS[0])


def table(collected):
    """Print a row per method and bound: final regrets on three data sets.

    A search without validation accuracies cannot choose the best of its epochs, so there is no best-seen regret.
    """
    heads = ["n", "final, CIFAR-10", "CIFAR-100", "ImageNet16-120", "better than the baseline"]
    print(f"| bound | method | {' | '.join(heads)} |")
    print("|---|---|" + "---:|" * len(heads))
    for bound in BOUNDS:
        largest = baseline(bound)
        for method in (*ONE_SHOT, *BLACK_BOX):
            runs = list(collected["runs"][f"{method}-{bound}"].values())
            final = [run[-1][1:] if method in ONE_SHOT else run["final"][1:] for run in runs]
            columns = " | ".join(interval([row[place] for row in final]) for place in range(len(DATASETS)))
            better = sum(row[0] < largest.test_regret for row in final)
            print(f"| {bound} | {method} | {len(runs)} | {columns} | {better} of {len(runs)} |")
        known, within = nb.load_table("nats-size"), WITHIN[bound]
        known_regrets = [known.regret(largest.network, dataset=name, within=within) for name in DATASETS]
        columns = " | ".join(f"{100 * regret:.2f}" for regret in known_regrets)
        print(f"| {bound} | {largest.words}, {largest.network} | | {columns} | of {largest.networks:,} networks |")
    for method in BLACK_BOX:
        for bound in BOUNDS:
            after = [
                [row[2] for row in run["incumbents"] if row[0] <= 9][-1]
                for run in collected["runs"][f"{method}-{bound}"].values()
            ]
            print(f"{method}, {bound}, after 9 evaluations: {interval(after)}")
    tests = {}
    for bound in BOUNDS:
        tests |= describe(collected["runs"], bound)
    for (bound, first, second), p, corrected in zip(tests, tests.values(), holm([*tests.values()]), strict=True):
        print(f"{first} and {second}, {bound}, Wilcoxon test of final regrets: p = {p:.3f}, corrected {corrected:.3f}")


def describe(runs, bound):
    """Print the lowest final regrets and the mean regrets of every epoch; return the p-values of Wilcoxon tests."""
    finals = [run["final"][1:] for method in BLACK_BOX for run in runs[f"{method}-{bound}"].values()]
    finals += [run[-1][1:] for method in ONE_SHOT for run in runs[f"{method}-{bound}"].values()]
    lowest = ", ".join(f"{100 * value:.2f}" for value in np.min(finals, axis=0))
    print(f"{bound}: lowest final regrets of {len(finals)} searches {lowest}")
    regrets = {
        method: 100 * np.array([[line[1] for line in run] for _, run in sorted(runs[f"{method}-{bound}"].items())])
        for method in ONE_SHOT
    }
    for method, of_seeds in regrets.items():
        print(f"{method}, {bound}, mean regret of every epoch: {', '.join(f'{v:.2f}' for v in of_seeds.mean(axis=0))}")
    pairs = list(combinations(ONE_SHOT, 2))
    return {(bound, *pair): wilcoxon(*(regrets[method][:, -1] for method in pair)).pvalue for pair in pairs}


def draw(collected, path):
    """Draw the test regret on CIFAR-10: searches over epochs on the left, studies over evaluations on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    rows = figure.subplots(2, 2, sharey=True)
    for (bound, words), panels in zip(BOUNDS.items(), rows, strict=True):
        largest = baseline(bound)
        for axes, methods in zip(panels, (ONE_SHOT, BLACK_BOX), strict=True):
            is_cut = False
            for method, style in zip(methods, curve_styles(methods), strict=True):
                runs = collected["runs"][f"{method}-{bound}"].values()
                traces = [_trace(run) for run in runs]
                label = f"{method}, n = {len(traces)}"
                is_study = methods is BLACK_BOX
                curve = pool(traces, whole=not is_study)
                is_cut |= curve.is_cut
                draw_curve(axes, curve, label=label, style=style, steps=is_study)
            draw_level(axes, 100 * largest.test_regret, largest.words)
            kind = "One-shot searches" if methods is ONE_SHOT else "Black-box searches on test accuracy"
            axes.set_title(f"{kind}:\n{words}", fontsize=8)
            axes.set_xlabel("epoch" if methods is ONE_SHOT else "evaluated architectures")
            axes.legend(fontsize=7, title=describe_band("ci", is_cut=is_cut), title_fontsize=7)
        panels[0].set_ylabel("test regret on CIFAR-10 (%)")
    rows[0][0].set_ylim(-0.1, 4)  # the baseline with a bound is 0
    figure.savefig(path, dpi=110)


def rules():
    """Print the test regrets on CIFAR-10 of networks that are chosen by size, for bounds on FLOPs."""
    known, space = nb.load_table("nats-size"), "nats-size"
    flops = known.costs("flops@cifar10=1")[0]
    columns = {"bound": [], "most parameters": [], "most FLOPs": [], "mean of the networks within the bound": []}
    for share in range(10, 100, 10):
        most = share / 100 * ALL_FLOPS
        within = {"flops@cifar10": most}
        by_flops = known.network(int(np.argmax(np.where(flops <= most, flops, 0))))
        by_parameters = known.largest(space, within, DATASETS[0])
        chosen = [known.regret(network, dataset=DATASETS[0], within=within) for network in (by_parameters, by_flops)]
        regrets = [*chosen, known.mean_regret(space, dataset=DATASETS[0], within=within)]
        row = [f"{share} %", *(f"{100 * regret:.2f}" for regret in regrets)]
        for column, text in zip(columns.values(), row, strict=True):
            column.append(text)
    for name, texts in columns.items():
        print(f"| {name} | {' | '.join(texts)} |")


def _trace(run):
    """Return the regret of a search over epochs, or of the incumbent of a study over evaluations."""
    if isinstance(run, list):
        return Trace(at=np.arange(len(run), dtype=float), values=np.array([line[1] for line in run]))
    rows = run["incumbents"]
    at, values = np.array([row[0] for row in rows], float), np.array([row[2] for row in rows])
    return Trace(at=at, values=values, end=100.0, final=values[-1], holds=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["collect", "table", "draw", "rules"])
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.task == "rules":
        rules()
        return
    if options.task == "collect":
        options.out.write_text(json.dumps(collect(options.path), separators=(",", ":")) + "\n")
        return
    collected = json.loads(options.path.read_text())
    if options.task == "draw":
        draw(collected, options.out)
    else:
        table(collected)


if __name__ == "__main__":
    main()
