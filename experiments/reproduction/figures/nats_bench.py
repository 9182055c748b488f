"""Table 4 and figures 6 and 7 of NATS-Bench (Dong et al. 2021, arXiv:2009.00437) as data, for both of its spaces.

Figure 6 shows black-box optimizers over simulated time, figure 7 shows one-shot optimizers over search epochs, and
table 4 shows the final results of both. Time limits, evolution's tournaments, the settings of one-shot searches and the
number of seeds follow the published scripts (AutoDL-Projects, f46486e: exps/NATS-algos/run-all.sh,
exps/NATS-Bench/draw-fig6.py and draw-fig7.py, configs/nas-benchmark/algos/weight-sharing.config). The first preprint
has 20,000 simulated seconds on all data sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nasbench1shot1.experiments.reproduction.figures.black_box import AS_PUBLISHED_201, MULTI_TRIAL, OPTIMIZERS
from nasbench1shot1.experiments.reproduction.figures.methods import OF_WIDTHS
from nasbench1shot1.experiments.reproduction.figures.parts import (
    DATA_SETS,
    NAMES,
    Curve,
    Figure,
    Options,
    Panel,
    Pooling,
    Scale,
    method_curves,
)
from nasbench1shot1.ground.errors import alternatives, flag, option

TOPOLOGY, SIZE = "nb201", "nats-size"
SECONDS: Mapping[str, tuple[float, ...]] = {TOPOLOGY: (2e4, 4e4, 12e4), SIZE: (2e4, 4e4, 6e4)}
"""Simulated seconds of a black-box search on each of `DATA_SETS`, by space."""
EVALUATIONS = 500
"""Number of trainings of a black-box search on a table without training times. About as many trainings of 12 epochs fit
into 20,000 simulated seconds on CIFAR-10: the training of the smallest network takes 42.6 seconds."""
FULL_BUDGET = 90
"""Epochs of the full trainings of the size space."""
ARCHIVES = {TOPOLOGY: "NATS-tss-v1_0-3ffb9-simple", SIZE: "NATS-sss-v1_0-50262-simple"}
"""The official archives, which `nb1shot1 table import` reads."""
TOPOLOGY_METHODS = ("random-ws", "enas", "darts", "darts-second-order", "gdas", "setn")
ONE_SHOT: Mapping[str, tuple[Curve, ...]] = {
    TOPOLOGY: method_curves(TOPOLOGY_METHODS),
    SIZE: tuple(
        Curve(f"{name}{key}", f"{NAMES[name]}{words}", {"optimizer": name, "warm_up_ratio": ratio})
        for ratio, key, words in ((0.3, "", ""), (0.0, "-without-warm-up", ", without warm-up"))
        for name in OF_WIDTHS
    ),
}
"""The one-shot methods of figure 7 and table 4, by space."""


CURVES = tuple(
    replace(curve, options={**curve.options, "tournament": 3}) if curve.key == "regularized-evolution" else curve
    for curve in AS_PUBLISHED_201
)
"""The black-box optimizers. NATS-Bench's evolution has tournaments of 3 on both spaces; NAS-Bench-201's are of 10."""


def _importing(space: str) -> str:
    """Return what users must do to get a complete table of a space."""
    return f"import NATS-Bench's archive {ARCHIVES[space]} with `nb1shot1 table import` and give that table"


# Black-box optimizers: figure 6 and table 4 ---------------------------------------------------------------------------


def _studies(source: str, title: str, drawing: str, space: str) -> Figure:
    """Return a figure of black-box studies on one space, with a panel for each data set.

    BOHB ignores its budgets: the published one observes trainings of at most 12 epochs, so ours only trains for 12. On
    tables with other budgets, it would otherwise also observe the full training.

    full: the paper's 500 searches; quick: 50 searches.
    """
    panels = tuple(
        Panel(key, name, {"space": space, "dataset": key, "seconds": seconds}, CURVES)
        for (key, name), seconds in zip(DATA_SETS.items(), SECONDS[space], strict=True)
    )
    return Figure(
        source=source,
        title=title,
        runs="black-box",
        drawing=f"nats_bench:{drawing}",
        full=Scale(panels, {"repeats": 500}),
        quick=Scale(panels, {"repeats": 50}),
        pooling=Pooling("search"),
        default_curves=MULTI_TRIAL,
        needs_official={space: f"{_importing(space)} with {option('table')}, or remove {option('table')}"},
    )


def _guided_by_test_values(figure: Figure) -> Figure:
    """Return a figure with its variant for tables that have only test accuracies, such as the bundled table."""

    def without_times(scale: Scale) -> Scale:
        panels = tuple(
            replace(
                panel,
                options={name: value for name, value in panel.options.items() if name != "seconds"},
                curves=OPTIMIZERS,  # searches have one budget, so BOHB has none to ignore
            )
            for panel in scale.panels
        )
        options = {**scale.options, "objective": "test_accuracy", "evaluations": EVALUATIONS, "epochs": FULL_BUDGET}
        return replace(scale, panels=panels, options=options)

    limits = sorted({panel.options["seconds"] for panel in figure.full.panels})
    space = figure.full.panels[0].options["space"]
    other = replace(
        figure,
        full=without_times(figure.full),
        quick=without_times(figure.quick),
        setting=f"{figure.full.options['repeats']} searches guided by validation accuracy after 12 epochs, "
        f"{alternatives(f'{limit:,.0f}' for limit in limits)} simulated seconds",
        note=f"The searches therefore observe test accuracy after the full training, so their results are optimistic, "
        f"and the clock counts trainings. To follow the paper, {_importing(space)} with {flag('table')}.",
    )
    return replace(figure, otherwise=other)


_PART = {TOPOLOGY: "topology space", SIZE: "size space"}


def _figure_6(space: str) -> Figure:
    return _studies("figure 6 of NATS-Bench", f"test accuracy over time, {_PART[space]}", "AccuracyOverTime", space)


def _table_4(space: str) -> Figure:
    found = _studies("table 4 of NATS-Bench", f"final accuracies, {_PART[space]}", "FinalAccuracies", space)
    return replace(found, pooling=None, joins="searches")


# One-shot optimizers: figure 7 ----------------------------------------------------------------------------------------

_SHARED: Options = {
    "threads": 1,
    "epochs": 100,
    "batch_size": 64,
    "learning_rate": 0.025,
    "learning_rate_min": 0.001,
    "weight_decay": 5e-4,
}
_QUICK: Mapping[str, Options] = {
    TOPOLOGY: {"image_side": 32, "images_per_half": 320},
    SIZE: {"image_side": 16, "images_per_half": 640},
}
_BATCH_OF_512: Options = {"candidates": 100, "candidate_batches": 8, "finalists": 1}
_FEW: Options = {"candidates": 20, "candidate_batches": 2, "finalists": 1}


def _figure_7(space: str, defaults: Sequence[str]) -> Figure:
    """Return figure 7 on one space, with a panel for each data set.

    full: the paper's settings, for GPUs and the official images. Methods that sample candidates score them on 512
    images. quick: the bundled images of CIFAR-10, minutes on two CPU cores, too small to rank methods.
    """
    panels = tuple(
        Panel(key, name, {"space": space, "images": key}, ONE_SHOT[space]) for key, name in DATA_SETS.items()
    )
    small = (replace(panels[0], options={"space": space, "images": "cifar10-sample"}),)
    quick = {"scale": "quick", "threads": 1, "batch_size": 32, "epochs": 8, **_QUICK[space]}
    samplers = ("random-ws", "enas", "setn")
    return Figure(
        source="figure 7 of NATS-Bench",
        title=f"test accuracy over search epochs, {_PART[space]}",
        runs="search",
        drawing="nats_bench:AccuracyOfDataSets",
        full=Scale(panels, {"scale": "full", **_SHARED}, (0, 1, 2), dict.fromkeys(samplers, _BATCH_OF_512)),
        quick=Scale(small, quick, (0, 1), {**dict.fromkeys(samplers, _FEW), "enas": {**_FEW, "controller_steps": 10}}),
        setting="CIFAR-10, CIFAR-100 and ImageNet16-120, 100 epochs, 3 seeds",
        default_curves=tuple(defaults),
        fixed=frozenset({"images"}),
    )


NATS_BENCH_FIGURES = {
    "nats-figure6": _figure_6(TOPOLOGY),
    "nats-figure6-size": _guided_by_test_values(_figure_6(SIZE)),
    "nats-figure7": _figure_7(TOPOLOGY, TOPOLOGY_METHODS),
    "nats-figure7-size": _figure_7(SIZE, OF_WIDTHS),
    "nats-table4": _table_4(TOPOLOGY),
    "nats-table4-size": _guided_by_test_values(_table_4(SIZE)),
}
"""All figures of NATS-Bench, by name. Names without "-size" refer to the topology space."""
