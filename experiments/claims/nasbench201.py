"""Claims of NAS-Bench-201 (Dong and Yang, ICLR 2020) and of its first version, AA-NAS-Bench."""

from functools import partial
from itertools import product
from math import nan
from typing import Any

from nasbench1shot1.experiments.accuracies import PUBLISHED, SPLITS
from nasbench1shot1.experiments.claims.claim import COUNTS, Claim, Paper
from nasbench1shot1.experiments.claims.further_runs import final_pearson
from nasbench1shot1.experiments.claims.measures import Measure, accuracy_on
from nasbench1shot1.experiments.claims.runs import (
    Mean,
    Ordering,
    Published,
    Share,
    ends_at,
    pairs,
    pairs_on,
)
from nasbench1shot1.experiments.claims.tables import (
    FALL_AMONG_BEST,
    TableTest,
    accuracies,
    below_best,
    counts,
    counts_by_kind,
    schedule,
    top_correlations,
)
from nasbench1shot1.experiments.reproduction.figures.nasbench201 import ANY, BATCH, EPOCHS, LEARNED, RUNNING
from nasbench1shot1.experiments.reproduction.figures.nasbench201 import NAMES as EVERY
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS
from nasbench1shot1.experiments.reproduction.results.nasbench201 import PUBLISHED as PUBLISHED_ONE_SHOT
from nasbench1shot1.experiments.space_statistics.nats_bench.published_tables import CELLS, COLUMNS

STATISTICS = "nb1shot1 statistics {} --table nb201"
FIGURE_6 = "nb1shot1 reproduce nas201-figure6 --pack records/nas201-figure6.tar.xz"
METHODS = "nb1shot1 reproduce nas201-table5 --pack records/nas201-table5.tar.xz"
ORIGINAL = {"scale": "full", "preset": "original"}
FEEDBACK = (
    "The published searches observed single trainings, which are noisier than the means of the table, so these "
    "searches cannot refute the claim."
)
RANK_TESTS = (
    "By Mann–Whitney tests without correction, REINFORCE and random search do not differ significantly on CIFAR-10 "
    "(p = 0.17), but do on CIFAR-100 (0.036) and ImageNet16-120 (0.006). For regularized evolution and REINFORCE, p is "
    "below 1e-22. `benchmarks/black_box_pairs.py` prints these values."
)
VERSIONS = (
    "The paper's values come from version 1.0 of the benchmark. The bundled table has the values that NATS-Bench "
    "released later."
)
SEARCHES = ((ANY, "gdas"), *product((RUNNING, BATCH), ("random-ws", "setn", "enas")))
"""The searches of table 5, by panel and method. Searches with GDAS do not depend on the statistics of batch-norm."""
LENGTHS = {curve: {"epochs": EPOCHS.get(curve, 250)} for curve in EVERY}
"""The published epochs."""


def _claim(
    key: str,
    place: str,
    statement: str,
    evidence: Any,
    note: str = "",
    paper: Paper = "NAS-Bench-201",
    earlier_release: bool = False,
) -> Claim:
    """Return a claim; one about an earlier release has the note `VERSIONS`."""
    note = VERSIONS if earlier_release else note
    return Claim(
        key=key,
        paper=paper,
        place=place,
        statement=statement,
        evidence=evidence,
        note=note,
        earlier_release=earlier_release,
    )


def _means() -> tuple[Published, ...]:
    """Return the published CIFAR-10 test accuracies; GDAS has the values of the first block."""
    return tuple(
        Published(
            panel,
            curve,
            f"CIFAR-10 test, {_BLOCKS[panel]}",
            accuracy_on("cifar10", "test"),
            *PUBLISHED_ONE_SHOT[block][at],
        )
        for panel, curve in SEARCHES
        for block, at in [(RUNNING if panel == ANY else panel, (curve, "cifar10", "test"))]
    )


_BLOCKS = {ANY: "running statistics", RUNNING: "running statistics", BATCH: "batch statistics"}


def _black_box(curve: str, name: str, note: str = "") -> Claim:
    """Return the claim about the means of a black-box optimizer, with a note about its searches."""
    return _claim(
        f"201-table5-{curve}",
        "table 5",
        f"{name} reaches the printed mean accuracies in percent in 500 searches of 12,000 simulated seconds.",
        Mean(
            figures=("nas201-figure6",),
            paper={"seconds": 12_000.0, "dataset": "cifar10"},
            by_optimizer={"bohb": {"budgets": "ignored"}},
            only_confirming=frozenset({curve}),
            command=FIGURE_6,
            how="Our mean over the searches is compared with the published mean; both standard errors are taken into "
            "account.",
            means=tuple(
                Published("nb201", curve, f"{DATA_SETS[dataset]} {split}", accuracy_on(dataset, split), *numbers)
                for dataset, split in product(DATA_SETS, SPLITS)
                for numbers in [PUBLISHED[curve, dataset, split]]
            ),
            published_runs=500,
        ),
        f"{FEEDBACK} {note}".strip(),
    )


CLAIMS = (
    _claim(
        "201-cells",
        "text",
        "The search space has 15,625 cells. 12,751 topologies are distinct if equivalences due to skip connections are "
        "identified, and 6,466 if those due to zeroized edges are identified, too.",
        TableTest(
            compute=partial(counts_by_kind, "nb201", {"all": 15_625, "unique_skip_connect": 12_751, "unique": 6_466}),
            subject=COUNTS,
            command="nb1shot1 space nb201",
            how="The cells and topologies are enumerated.",
        ),
    ),
    _claim(
        "201-optimal",
        "table 5",
        "The best accuracies of the six columns are 91.61, 94.37, 73.49, 73.51, 46.77 and 47.31 %.",
        TableTest(
            compute=partial(accuracies, "optimal"),
            command=STATISTICS.format("known-cells"),
            how="The values are the maxima of the columns of the table.",
        ),
        earlier_release=True,
    ),
    _claim(
        "201-all-skip",
        "table 5",
        "The cell with skip connections on all edges, at which DARTS ends, has the printed accuracies.",
        TableTest(
            compute=partial(accuracies, "all skip"),
            command=STATISTICS.format("known-cells"),
            how="The cell is looked up in the table.",
        ),
    ),
    _claim(
        "201-resnet",
        "table 5",
        "The ResNet cell has the printed accuracies.",
        TableTest(
            compute=partial(accuracies, "ResNet"),
            command=STATISTICS.format("known-cells"),
            how="The cell is looked up in the table.",
        ),
        earlier_release=True,
    ),
    _claim(
        "201-figure2",
        "figure 2",
        "On CIFAR-100 and ImageNet16-120, the ResNet cell is about 2 % below the best architecture, and about 1 % "
        "below the best one with as many parameters.",
        TableTest(
            compute=partial(below_best, ("cifar100", "ImageNet16-120"), {"all": 2.0, "as many parameters": 1.0}),
            command=STATISTICS.format("accuracy-by-parameters"),
            how="The values are differences of test accuracies in percentage points; 'about' allows a deviation of "
            "0.5.",
        ),
        earlier_release=True,
    ),
    _claim(
        "201-figure4",
        "figure 4",
        "The correlation of accuracies on two data sets falls sharply among the top architectures.",
        TableTest(
            compute=partial(top_correlations, "nb201"),
            command=STATISTICS.format("correlation-matrix"),
            how=FALL_AMONG_BEST,
        ),
    ),
    _claim(
        "201-table6",
        "table 6",
        "CIFAR-10 validation accuracies at the end of the 12-epoch and of the 200-epoch schedule have the printed "
        "correlations with final accuracies.",
        TableTest(
            compute=partial(schedule, {(12, 12): COLUMNS, (200, 200): COLUMNS[1:]}),
            command=STATISTICS.format("schedule-correlation"),
            how="The values are Pearson's r, as in the published code, with a bootstrap over the architectures.",
        ),
        earlier_release=True,
    ),
    _black_box("random", "Random search"),
    _black_box(
        "regularized-evolution",
        "Regularized evolution",
        "docs/reproduced_black_box.md discusses the differences.",
    ),
    _black_box(
        "reinforce",
        "REINFORCE",
        "The paper does not state the learning rate, which is 0.01 here. "
        "With a rate of 0.05, the values are closer to the published ones (docs/reproduced_black_box.md).",
    ),
    _black_box(
        "bohb",
        "BOHB",
        "The published script and its library have faults that lower the values; with them, the published values are "
        "reproduced (docs/reproduced_black_box.md).",
    ),
    _claim(
        "201-ranking",
        "table 5",
        "Regularized evolution is better than REINFORCE, and REINFORCE is better than random search.",
        Ordering(
            figures=("nas201-figure6",),
            paper={"seconds": 12_000.0, "dataset": "cifar10"},
            command=FIGURE_6,
            how="The mean final test regrets on each data set are compared by Welch's t interval of their difference.",
            only_confirming=frozenset({"regularized-evolution", "reinforce", "random"}),
            pairs=(
                *pairs_on(DATA_SETS, "nb201", "regularized-evolution", "reinforce"),
                *pairs_on(DATA_SETS, "nb201", "reinforce", "random"),
            ),
        ),
        f"{FEEDBACK} {RANK_TESTS}",
    ),
    _claim(
        "201-collapse",
        "table 5",
        "First-order and second-order DARTS collapse: in all three runs, they end with skip connections on all edges.",
        Share(
            figures=("nas201-table5", "methods-nb201", "nas201-collapse"),
            renamed={
                ("nas201-table5", ("nb201", "darts")): ((ANY, "darts"),),
                ("nas201-table5", ("nb201", "darts-second-order")): ((ANY, "darts-second-order"),),
                ("nas201-collapse", ("nb201", "darts")): (("50-epochs", "augmented"), ("100-epochs", "augmented")),
            },
            paper={**ORIGINAL, "epochs": 50},
            command=METHODS,
            how="The value is the share of seeds that end at this cell, with its exact 95 % interval. A part "
            "is confirmed if its whole interval is above one half.",
            curves=(("nb201", "darts"), ("nb201", "darts-second-order")),
            ends=ends_at(str(CELLS["all skip"])),
            claimed="3 of 3 runs",
        ),
        "The searches of 50 and 100 epochs at the quick scale augment the images of Λ, as published. They belong to a "
        "study that varies settings on which the collapse may depend (docs/nasbench201_search.md). In 50 epochs, "
        "rate × steps of Λ is the same as in the paper's searches.",
    ),
    _claim(
        "201-table5-one-shot",
        "table 5",
        "Searches of RSPS, GDAS, SETN and ENAS end with the printed mean CIFAR-10 test accuracies after 250 epochs.",
        Mean(
            figures=("nas201-table5",),
            paper={**ORIGINAL, "epochs": 250},
            command=METHODS,
            how="Our means over the seeds are compared with the published means over 3 runs. RSPS is Random WS in this "
            "package.",
            means=_means(),
            published_runs=3,
        ),
    ),
    _claim(
        "201-gdas",
        "table 5",
        "GDAS is the best of the six weight-sharing methods.",
        Ordering(
            figures=("nas201-table5", "methods-nb201"),
            renamed={
                ("nas201-table5", ("nb201", curve)): ((ANY if curve in LEARNED else BATCH, curve),) for curve in EVERY
            },
            paper=ORIGINAL,
            by_optimizer=LENGTHS,
            any_length=True,
            command=METHODS,
            how="The mean final test regrets on CIFAR-10 are compared by Welch's t interval of their difference.",
            pairs=pairs(["nb201"], "gdas", [curve for curve in EVERY if curve != "gdas"]),
        ),
        "In records of nas201-table5, searches that score candidates use batch statistics (rows marked † in the "
        "paper). Records of methods-nb201 use recalibrated statistics.",
    ),
    _claim(
        "201-table7",
        "table 7",
        "With batch statistics, the one-shot accuracies of SETN and GDAS have correlations of 0.90 and 0.81 with true "
        "accuracies.",
        Mean(
            figures=("nas201-table7",),
            paper={**ORIGINAL, "epochs": 250, "architectures": "all"},
            command="nb1shot1 reproduce nas201-table7 --pack records/nas201-table7.tar.xz",
            how="The mean of Pearson's r over the seeds is compared with the published mean over 3 runs, whose "
            "standard deviation is not printed.",
            means=tuple(
                Published("osva-train", curve, "one-shot accuracy", Measure(final_pearson), mean, nan)
                for curve, mean in (("setn", 0.9049), ("gdas", 0.8141))
            ),
            published_runs=3,
            digits=4,
        ),
        "A smaller study found Spearman correlations of 0.18 and -0.09 (docs/nasbench201_search.md).",
    ),
    _claim(
        "aa-cells",
        "table 3",
        "NAS-Bench-101 has 423,624 distinct cells.",
        TableTest(
            compute=partial(counts, {"nb101": 423_624}, "unique"),
            subject=COUNTS,
            command="nb1shot1 space nb101",
            how="The cells are enumerated. The NAS-Bench-101 paper states 423 thousand.",
        ),
        paper="AA-NAS-Bench",
    ),
    _claim(
        "aa-optimal",
        "table 4",
        "The best test accuracy on CIFAR-10 and the best accuracies of the four other columns are 94.37, 73.49, 73.51, "
        "46.77 and 47.31 %.",
        TableTest(
            compute=partial(accuracies, "optimal", COLUMNS[1:]),
            command=STATISTICS.format("known-cells"),
            how="The values are the maxima of the columns of the table.",
        ),
        earlier_release=True,
        paper="AA-NAS-Bench",
    ),
)
"""The claims, in the order of the papers."""
