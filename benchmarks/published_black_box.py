"""Why black-box searches of nb201 differ from table 5 of NAS-Bench-201: one change at a time.

    OMP_NUM_THREADS=1 python benchmarks/published_black_box.py [--searches 500] [--only bohb]

The published searches observed the validation accuracy of a single 12-epoch training. Our table has means over two
seeds. The difference between one seed and the mean of two has the same variance as the mean. This variance is estimated
from isomorphic architectures, because their trainings differ only in their random numbers. `--only` selects the
variants whose names contain a word.
"""

import argparse
import datetime
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.black_box_search.simulation import TableTrainings, TrainingResult, simulate
from nasbench1shot1.nasbench201.topology import representatives
from nasbench1shot1.optimizers.black_box.bohb import BOHB
from nasbench1shot1.tables.table import load_table

RESULT = Path(__file__).parent / "results" / "published_black_box.json"
COLUMNS = ("CIFAR-10 validation", "CIFAR-10 test", "CIFAR-100 test", "ImageNet16-120 test")
SCORES = (
    ("validation_accuracy", "cifar10-valid"),
    ("test_accuracy", "cifar10"),
    ("test_accuracy", "cifar100"),
    ("test_accuracy", "ImageNet16-120"),
)
BINS = (0.0, 65.0, 75.0, 80.0, 82.0, 100.0)
"""Edges of the bins of validation accuracy, in percent; each bin has one estimated standard deviation."""
PUBLISHED = {
    "random": ((90.93, 0.36), (93.70, 0.36), (71.04, 1.07), (44.57, 1.25)),
    "regularized-evolution": ((91.19, 0.31), (93.92, 0.30), (71.84, 0.99), (45.54, 1.03)),
    "reinforce": ((91.09, 0.37), (93.85, 0.37), (71.71, 1.09), (45.24, 1.18)),
    "bohb": ((90.82, 0.53), (93.61, 0.52), (70.85, 1.28), (44.42, 1.49)),
}


@dataclass(frozen=True)
class Variant:
    """A study: an optimizer with options, and the feedback that it observes.

    Attributes:
        feedback: mean: the table's mean over two seeds; single: one seed, drawn once per architecture and search;
            either: one of two seeds, redrawn for every training; table N: like single, but all searches of the study
            share the draws with number N.
    """

    optimizer: str
    options: dict = field(default_factory=dict)
    feedback: str = "mean"

    @property
    def name(self) -> str:
        """A unique name of the variant."""
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        return ", ".join(filter(None, (self.optimizer, options, self.feedback)))


FAULT = {"budgets": "ignored"}
DENSITIES = {**FAULT, "densities": "hpbandster"}
VARIANTS = [
    *(Variant("random", {}, feedback) for feedback in ("mean", "single", "either")),
    *(Variant("regularized-evolution", {}, feedback) for feedback in ("mean", "single", "either")),
    *(Variant("regularized-evolution", {}, f"table {number}") for number in range(10)),
    *(Variant("regularized-evolution", {"tournament": size}, kind) for size in (3, 5) for kind in ("mean", "single")),
    *(Variant("reinforce", {"learning_rate": rate}, kind) for rate in (0.01, 0.05) for kind in ("mean", "single")),
    *(Variant("bohb", options, kind) for options in (FAULT, DENSITIES) for kind in ("mean", "single")),
]


class RecordingBOHB(BOHB):
    """BOHB that records the bracket budget of every training."""

    def training(self, trial):
        """Return the training of a proposal."""
        self.__dict__.setdefault("bracket_budgets", []).append(trial.epochs)
        return super().training(trial)


def seed_noise(accuracies):
    """Return the standard deviation over seeds of each architecture's mean accuracy, and the estimates per bin.

    Each estimate is pooled over groups of isomorphic architectures whose mean accuracies lie in the same bin.
    """
    _, group, sizes = np.unique(representatives(zero_rule=False), return_inverse=True, return_counts=True)
    means = np.bincount(group, accuracies) / sizes
    squares = np.bincount(group, (accuracies - means[group]) ** 2)
    noise, estimates = np.zeros(len(accuracies)), []
    for low, high in pairwise(BINS):
        chosen = (means >= low) & (means < high) & (sizes > 1)
        freedom = int((sizes[chosen] - 1).sum())
        deviation = float(np.sqrt(squares[chosen].sum() / freedom))
        noise[(accuracies >= low) & (accuracies < high)] = deviation
        estimates.append({"from": low, "to": high, "degrees_of_freedom": freedom, "deviation": round(deviation, 3)})
    return noise, estimates


def different_searches(searches, sequences=400, seeds=100_000):
    """Simulate how many of the published searches are distinct, and the standard error of their mean.

    Each published search draws the seed of the next one, from 1 to 100,000, with its own seeded generator. Once a seed
    recurs, the sequence of searches repeats. The model is a random mapping of seeds.

    Returns:
        The mean and the 5 % and 95 % quantiles of the number of distinct searches, and the root mean square of the
        standard error in units of the standard deviation.
    """
    rng, counts = np.random.default_rng(0), []
    for _ in range(sequences):
        following, seed, sequence = {}, int(rng.integers(seeds)), []
        for _ in range(searches):
            sequence.append(seed)
            seed = following.setdefault(seed, int(rng.integers(seeds)))
        counts.append(np.unique(sequence, return_counts=True)[1])
    different = np.array([len(count) for count in counts])
    error = np.sqrt(np.mean([np.square(count / searches).sum() for count in counts]))
    low, high = np.quantile(different, (0.05, 0.95))
    return {"mean": float(different.mean()), "5 %": low, "95 %": high, "standard_error": round(float(error), 4)}


class Bench:
    """The table's values by architecture number, in percent and seconds."""

    def __init__(self):
        self.table = load_table("nb201")
        repeats = Repeats(black_box_options({"optimizer": "random", "space": "nb201"}), self.table)
        self.space, rng = repeats.space, np.random.default_rng(0)
        train, method = TableTrainings(self.space, self.table, None, rng), repeats.method(rng)
        trained = [train(method.query(self.space[number])) for number in range(len(self.space))]
        self.seconds = np.array([result.seconds for result in trained])
        self.accuracies = np.array([100 * (1 - result.validation_error) for result in trained])
        self.noise, self.estimates = seed_noise(self.accuracies)
        readers = [self.table.reader(metric, training) for metric, training in SCORES]
        self.scores = np.array([[100 * read(row, 200, "mean") for read in readers] for row in range(len(self.space))])

    def feedback(self, kind, rng) -> Callable[[int], float]:
        """Return a function from an architecture's number to the accuracy that a search observes."""
        drawn = np.random.default_rng(int(kind.split()[1])) if kind.startswith("table") else rng
        shift = np.zeros(len(self.noise)) if kind == "mean" else drawn.standard_normal(len(self.noise)) * self.noise
        if kind == "either":
            return lambda number: self.accuracies[number] + shift[number] * rng.choice((-1, 1))
        return lambda number: self.accuracies[number] + shift[number]


def searched(bench, variant, repeats, number):
    """Return the final incumbent of a search under each selection rule, and the number of its trainings."""
    own, drawn = (np.random.default_rng(stream) for stream in np.random.SeedSequence((0, number)).spawn(2))
    method, see = repeats.method(own), bench.feedback(variant.feedback, drawn)
    seen = []

    def train(query, now):
        place = bench.space.index(query.architecture)
        seen.append((see(place), place))
        return TrainingResult(1 - seen[-1][0] / 100, bench.seconds[place])

    ended = simulate(method, train, repeats.limits).evaluations
    candidates = {"any training": range(ended)}
    if variant.optimizer == "bohb":  # hpbandster's `Result.get_incumbent_id`
        last = method.budgets[-1]
        candidates["largest budget"] = [place for place in range(ended) if method.bracket_budgets[place] == last]
    best = {rule: max(places, key=lambda place: seen[place][0]) for rule, places in candidates.items()}
    return {rule: seen[place][1] for rule, place in best.items()}, ended


def study(bench, variant, searches):
    """Run a variant; print and return one row per selection rule of incumbents."""
    options = black_box_options({"optimizer": variant.optimizer, "space": "nb201", **variant.options})
    if variant.optimizer == "bohb":
        options = replace(options, method=RecordingBOHB)
    repeats = Repeats(options, bench.table)
    found = [searched(bench, variant, repeats, number) for number in range(searches)]
    trainings = round(float(np.mean([ended for _, ended in found])), 1)
    rows = []
    for rule in found[0][0]:
        scores = bench.scores[[incumbents[rule] for incumbents, _ in found]]
        values = np.round(np.column_stack([scores.mean(axis=0), scores.std(axis=0, ddof=1)]), 3).tolist()
        texts = "  ".join(f"{mean:.2f} ± {deviation:.2f}" for mean, deviation in values)
        print(f"{variant.name:54} {rule:15} {trainings:6.1f} {texts}", flush=True)
        rows.append({"variant": variant.name, "incumbent": rule, "trainings": trainings, "mean_and_deviation": values})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    bench = Bench()
    chosen = [variant for variant in VARIANTS if given.only in variant.name]
    rows = [row for variant in chosen for row in study(bench, variant, given.searches)]
    about = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "table": bench.table.id,
        "searches": given.searches,
        "columns": COLUMNS,
        "published": PUBLISHED,
        "seed_noise": bench.estimates,
        "different_published_searches": different_searches(given.searches),
    }
    given.out.write_text(json.dumps({**about, "studies": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
