"""Claims of NATS-Bench (Dong et al., arXiv:2009.00437, first version), which prints its results as curves."""

from functools import partial
from typing import Any

from nasbench1shot1.experiments.claims.claim import COUNTS, Claim
from nasbench1shot1.experiments.claims.runs import Ordering, pairs
from nasbench1shot1.experiments.claims.tables import (
    FALL_AMONG_BEST,
    TableTest,
    bigger_is_better,
    consistency,
    counts,
    top_correlations,
)
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS

STATISTICS = "nb1shot1 statistics {} --table nats-size"
FIGURE_6 = "nb1shot1 reproduce nats-figure6 --seconds 20000 --pack records/nats-figure6.tar.xz"
SECONDS = {"seconds": 20_000.0}
BOHB = {"bohb": {"budgets": "ignored"}}
BUDGETS = (
    "The paper's BOHB also observes trainings of fewer than 12 epochs, which the table does not have. Here, all of its "
    "trainings have 12 epochs, so its searches cannot refute the claim."
)
SEARCHES = (
    "The mean final test regrets of searches of 20,000 simulated seconds are compared by Welch's t interval of their "
    "difference."
)


def _claim(key: str, place: str, statement: str, evidence: Any, note: str = "") -> Claim:
    return Claim(key=f"nats-{key}", paper="NATS-Bench", place=place, statement=statement, evidence=evidence, note=note)


CLAIMS = (
    _claim(
        "sizes",
        "text",
        "The size space has 32,768 architectures.",
        TableTest(
            compute=partial(counts, {"nats-size": 32_768}, "all"),
            subject=COUNTS,
            command="nb1shot1 space nats-size",
            how="The architectures are enumerated.",
        ),
    ),
    _claim(
        "figure2",
        "figure 2",
        "Data sets rank architectures consistently in the topology space, but quite differently in the size space.",
        TableTest(
            compute=partial(consistency, "nb201", "nats-size"),
            command="nb1shot1 statistics dataset-ranks --table nats-size, and the same with the table nb201",
            how="The values are Spearman's ρ of test accuracies in the topology space, minus Spearman's ρ in the size "
            "space.",
        ),
        '"Quite differently" is not tested: a lower correlation confirms the claim.',
    ),
    _claim(
        "figure3",
        "figure 3",
        "In the size space, larger networks tend to be better.",
        TableTest(
            compute=partial(bigger_is_better, "nats-size"),
            command=STATISTICS.format("accuracy-by-parameters"),
            how="The values are Spearman's ρ of the number of parameters and test accuracy, with a bootstrap over the "
            "architectures.",
        ),
    ),
    _claim(
        "figure5",
        "figure 5",
        "In the size space, the correlation of accuracies on two data sets falls sharply among the top architectures.",
        TableTest(
            compute=partial(top_correlations, "nats-size"),
            command=STATISTICS.format("correlation-matrix"),
            how=FALL_AMONG_BEST,
        ),
    ),
    _claim(
        "figure6-cifar100",
        "figure 6",
        "In the topology space on CIFAR-100, evolution and BOHB are better than REINFORCE, which is better than random "
        "search.",
        Ordering(
            figures=("nats-figure6",),
            paper=SECONDS,
            by_optimizer=BOHB,
            only_confirming=frozenset(BOHB),
            command=FIGURE_6,
            how=SEARCHES,
            pairs=(
                *pairs(["cifar100"], "regularized-evolution", ["reinforce"]),
                *pairs(["cifar100"], "bohb", ["reinforce"]),
                *pairs(["cifar100"], "reinforce", ["random"]),
            ),
        ),
        BUDGETS,
    ),
    _claim(
        "figure6-imagenet",
        "figure 6",
        "In the topology space on ImageNet16-120, BOHB is clearly the best of the four multi-trial methods.",
        Ordering(
            figures=("nats-figure6",),
            paper=SECONDS,
            by_optimizer=BOHB,
            only_confirming=frozenset(BOHB),
            command=FIGURE_6,
            how=SEARCHES,
            pairs=pairs(["ImageNet16-120"], "bohb", ("regularized-evolution", "reinforce", "random")),
        ),
        BUDGETS,
    ),
    _claim(
        "figure6-size",
        "figure 6",
        "In the size space, regularized evolution is clearly the best of the four multi-trial methods on all data "
        "sets.",
        Ordering(
            figures=("nats-figure6-size",),
            paper={**SECONDS, "objective": None},
            command="nb1shot1 reproduce nats-figure6-size --table ARCHIVE --seconds 20000 --pack "
            "records/nats-figure6-size.tar.xz",
            how="The mean final test regrets are compared by Welch's t interval of their difference.",
            pairs=pairs(DATA_SETS, "regularized-evolution", ("random", "reinforce", "bohb")),
        ),
        "The bundled table of the size space has only test accuracies, which guided the recorded searches. They "
        "therefore do not follow the paper's protocol, and can neither confirm nor refute the claim.",
    ),
    _claim(
        "figure7-darts",
        "figure 7",
        "In the topology space, DARTS performs poorly on CIFAR-10.",
        Ordering(
            figures=("nats-figure7",),
            paper={"scale": "full", "epochs": 100},
            command="nb1shot1 reproduce nats-figure7 --only cifar10 --pack records/nats-figure7.tar.xz",
            how="The mean final test regret of DARTS is compared with the regrets of RSPS (Random WS in this package), "
            "ENAS, GDAS and SETN, by Welch's t interval of the difference.",
            pairs=tuple(
                pair
                for method in ("random-ws", "enas", "gdas", "setn")
                for pair in pairs(["cifar10"], method, ["darts"])
            ),
        ),
    ),
    _claim(
        "figure7-size",
        "figure 7",
        "In the size space, TAS finds good architectures clearly faster than FBNetV2 and TuNAS.",
        Ordering(
            figures=("methods-size",),
            paper={"scale": "full", "epochs": 100},
            command="nb1shot1 reproduce methods-size --only tas,fbnetv2,tunas --epochs 100 --pack "
            "records/methods-size.tar.xz",
            how="The mean test regrets over all epochs are compared by Welch's t interval of their difference.",
            pairs=pairs(["nats-size"], "tas", ("fbnetv2", "tunas"), "anytime"),
        ),
    ),
)
"""The claims, in the order of the paper."""
