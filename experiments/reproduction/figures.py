"""The figures and tables of the papers as data: each is a list of runs, a pooling and a drawing.

NAS-Bench-1Shot1: methods, spaces, epochs and seeds follow the paper's section 5 and appendix. The paper does not print
the values of weight decay, nor cutout's size (16 pixels) and probability (1): they follow the scripts of the published
code. The scripts apply cutout with probability 1 in every epoch, although the code intends the probability to grow.
For figure 17, the paper samples 150 architectures of space 3 and trains each alone in the fixed-width network of the
supernet. It states neither the number of epochs nor the optimizer; this package uses the settings of a search.

Black-box optimizers: figures 7 and 8 of NAS-Bench-101, 6 of NAS-Bench-201 and 6 of NATS-Bench.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nasbench1shot1.ground.errors import option
from nasbench1shot1.registry import BUILT_IN

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """One setting, which is run once for every seed.

    Attributes:
        key: the name of its folder, and its name in `--only`.
        label: its name in the legend.
        options: options of its runs, in addition to the options of the panel and of the scale.
    """

    key: str
    label: str
    options: Options


@dataclass(frozen=True)
class Panel:
    """The curves that are drawn together; `options` apply to all of them."""

    key: str
    title: str
    options: Options
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Scale:
    """The runs of a figure at one scale: every curve of every panel under every seed.

    Attributes:
        panels: panels from left to right.
        options: options of all runs.
        seeds: seeds of every curve.
        by_optimizer: options for the runs of one optimizer, by its name.
    """

    panels: tuple[Panel, ...]
    options: Options
    seeds: tuple[int, ...] = (0,)
    by_optimizer: Mapping[str, Options] = field(default_factory=dict)

    def pairs(self) -> list[tuple[Panel, Curve]]:
        """Return every curve with its panel."""
        return [(panel, curve) for panel in self.panels for curve in panel.curves]


@dataclass(frozen=True)
class Pooling:
    """How the runs of a curve become one curve; `--spread` selects its band, as in all pictures of several runs.

    Attributes:
        over: the noun for the pooled runs.
        statistic: what the curve shows.
    """

    over: str = "seed"
    statistic: Literal["mean", "median"] = "mean"


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    Attributes:
        source: its name in the paper.
        title: its subject.
        runs: the kind of the runs that it shows: a key of `kinds.KINDS`. Rankings need searches, and transfers studies.
        drawing: the class that reads and draws the runs, as "module:Class" in this package.
        full, quick: the runs at each scale.
        pooling: the pooling of the runs of a curve. None: the figure has no curves of several runs.
        setting: the paper's setting in words, for titles of figures at the quick scale.
        default_curves: patterns of the curves that are drawn by default. Default: all.
        needs_official: spaces that only an official table covers, each with advice for users without this table.
        takes_space: whether --space applies.
    """

    source: str
    title: str
    runs: str
    drawing: str
    full: Scale
    quick: Scale
    pooling: Pooling | None = Pooling()
    setting: str = ""
    default_curves: tuple[str, ...] = ()
    needs_official: Mapping[str, str] = field(default_factory=dict)
    takes_space: bool = False

    @property
    def scales(self) -> dict[str, Scale]:
        """Both scales, by name."""
        return {"full": self.full, "quick": self.quick}


SPACES = {
    "s1": "search space 1",
    "s2": "search space 2",
    "s3": "search space 3",
    "nb101": "NAS-Bench-101",
    "nb101-mini": "NAS-Bench-Mini",
    "nb201": "NAS-Bench-201",
}
"""Names of spaces in titles; other spaces keep their registered names."""
DATA_SETS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "ImageNet16-120": "ImageNet16-120"}
METHODS = {"darts": "DARTS", "gdas": "GDAS", "pc-darts": "PC-DARTS", "enas": "ENAS", "random-ws": "Random WS"}
"""Names of one-shot optimizers in legends."""
LABELS = {
    "random": "random search",
    "regularized-evolution": "regularized evolution",
    "non-regularized-evolution": "non-regularized evolution",
    "reinforce": "REINFORCE",
    "local-search": "local search",
    "tpe": "TPE",
    "smac": "SMAC",
    "hyperband": "Hyperband",
    "bohb": "BOHB",
}
"""Names of black-box optimizers in legends; other optimizers keep their registered names."""
TRAJECTORIES = "trajectories:Trajectories"
"""The drawing of tuned optimizers over simulated time, which black-box studies can join."""
OTHER_FIGURES = {1: "an overview", 6: "the distribution of test errors"}
"""Content of the figures of NAS-Bench-1Shot1 that `reproduce` does not draw, by number."""


def space_panel(space: str, curves: tuple[Curve, ...], **options: Any) -> Panel:
    """Return the panel of a space."""
    return Panel(space, SPACES.get(space, space), {"space": space, **options}, curves)


# Figures and tables of NAS-Bench-1Shot1 -------------------------------------------------------------------------------

PAPER_SPACES = ("s1", "s2", "s3")
GRADIENT_METHODS = ("darts", "gdas", "pc-darts")
WEIGHT_DECAYS = ("1e-4", "3e-4", "9e-4", "27e-4", "81e-4")
TUNED_ON, STUDY_SEED, TRANSFERRED = "s3", 0, "-transferred"
"""Table 2: the space and the seed of the studies, and the suffix of curves whose configuration is transferred."""
_FULL: Options = {"scale": "full", "threads": 1}
_QUICK: Options = {"scale": "quick", "threads": 1, "image_side": 32, "batch_size": 32}  # as in docs/reproduced.md
_SMALL_RANDOM_SEARCH = {
    "enas": {"candidates": 20, "finalists": 3, "controller_steps": 10},
    "random-ws": {"candidates": 20, "finalists": 3},
}
_STUDY: Options = {"tuner": "bohb", "eta": 2}
_PAPER = "16 channels × 9 cells, 25,000 + 25,000 images (20,000 + 20,000 in tuning)"
_PAPER_TUNING = "16 channels × 9 cells, 20,000 + 20,000 images"
"""The paper's network and images: the published search scripts halve all 50,000 images, the tuning scripts 40,000."""


def _method_curves(*names: str) -> tuple[Curve, ...]:
    return tuple(Curve(name, METHODS[name], {"optimizer": name}) for name in names)


def _space_panels(
    curves: tuple[Curve, ...], names: tuple[str, ...] = PAPER_SPACES, **options: Any
) -> tuple[Panel, ...]:
    return tuple(space_panel(name, curves, **options) for name in names)


def _method_panels(space: str, curves: tuple[Curve, ...]) -> tuple[Panel, ...]:
    """Return a panel for each gradient method on one space."""
    return tuple(
        Panel(name, f"{METHODS[name]}, {SPACES[space]}", {"optimizer": name, "space": space}, curves)
        for name in GRADIENT_METHODS
    )


_ALL_METHODS = _method_curves(*METHODS)
_DECAYS = tuple(Curve(f"weight-decay-{x}", f"weight decay {x}", {"weight_decay": float(x)}) for x in WEIGHT_DECAYS)
_CUTOUT = (
    Curve("no-cutout", "without cutout", {"cutout_probability": 0.0}),
    Curve("cutout", "with cutout", {"cutout_probability": 1.0, "cutout_length": 16, "cutout_schedule": "constant"}),
)
_ORDERS = (
    Curve("first-order", "DARTS, first order", {"optimizer": "darts"}),
    Curve("second-order", "DARTS, second order", {"optimizer": "darts-second-order"}),
)
_TRANSFERS = tuple(
    Curve(f"{name}-{kind}", f"{METHODS[name]}, {kind}", {"optimizer": name})
    for name in GRADIENT_METHODS
    for kind in ("default", TRANSFERRED.removeprefix("-"))
)


def _searches(
    number: int, title: str, panels: tuple[Panel, ...], epochs: int = 50, quick_epochs: int = 8, **fields: Any
) -> Figure:
    """Return a figure of searches. full: the paper's setting; quick: minutes on two CPU cores, too small to rank."""
    quick = {**_QUICK, "images_per_half": 320, "epochs": quick_epochs}
    found = Figure(
        source=f"figure {number} of NAS-Bench-1Shot1",
        title=title,
        runs="search",
        drawing="regrets:RegretCurves",
        full=Scale(panels, {**_FULL, "epochs": epochs}, (0, 1, 2, 3, 4, 5)),
        quick=Scale(panels, quick, (0, 1), _SMALL_RANDOM_SEARCH),
        setting=f"{_PAPER}, {epochs} epochs, 6 seeds",
    )
    return replace(found, **fields)


def _studies(number: int, title: str, config_space: str, methods: tuple[str, ...], drawing: str) -> Figure:
    """Return a figure of studies of methods on every space; the epochs are the largest budget.

    full: the paper's 64 brackets and three repetitions; quick: up to an hour on two CPU cores, just enough for the
    model to propose some configurations of the last brackets. cs3 tunes the batch size.
    """
    panels = _space_panels(_method_curves(*methods), config_space=config_space)
    quick = {name: value for name, value in _QUICK.items() if name != "batch_size" or config_space != "cs3"}
    return Figure(
        source=f"figure {number} of NAS-Bench-1Shot1",
        title=f"{title}, {config_space}",
        runs="study",
        drawing=drawing,
        full=Scale(panels, {**_FULL, **_STUDY, "iterations": 64, "epochs": 100}, (0, 1, 2)),
        quick=Scale(panels, {**quick, **_STUDY, "images_per_half": 160, "iterations": 6, "epochs": 4}, (0, 1)),
        pooling=Pooling("study"),
        setting=f"{_PAPER_TUNING}, 280 searches of 25, 50, 100 epochs, 3 studies",
    )


def _trajectories(number: int, config_space: str) -> Figure:
    return _studies(number, "tuned optimizers over time", config_space, GRADIENT_METHODS, TRAJECTORIES)


def _importances(number: int) -> Figure:
    found = _studies(number, "importance of hyperparameters", "cs2", ("darts",), "importances:Importances")
    return replace(found, pooling=None)


def _transfers() -> Figure:
    """Return table 2, whose searches have the images of the studies."""
    panels = _space_panels(_TRANSFERS, ("s1", "s2"))
    found = _searches(2, "transfer from s3 (and 3 studies there)", panels, quick_epochs=2)
    return replace(
        found,
        source="table 2 of NAS-Bench-1Shot1",
        runs="transfer",
        drawing="transfers:Transfers",
        quick=replace(found.quick, options={**found.quick.options, "images_per_half": 160}),
    )


def _sizes(cells: tuple[int, ...], channels: tuple[int, ...], **options: Any) -> Scale:
    widths = tuple(Curve(f"channels-{number}", f"{number} channels", {"channels": number}) for number in channels)
    panels = tuple(Panel(f"cells-{n}", f"{n} cell{'s' * (n > 1)}", {"cells": n}, widths) for n in cells)
    return Scale(panels, {"threads": 1, **options})


_WEIGHT_DECAY = "weight decay of the weights, space"
_DARTS_CUTOUT = "cutout during the search"
_PAPER_FIGURES = {
    "figure2": _searches(2, "five one-shot optimizers", _space_panels(_ALL_METHODS)),
    "figure3": _searches(
        3,
        "one-shot versus true ranking",
        _space_panels(_ALL_METHODS),
        quick_epochs=6,
        runs="ranking",
        drawing="rankings:RankingCurves",
    ),
    "figure4": _searches(4, f"{_WEIGHT_DECAY} 3", _method_panels("s3", _DECAYS), quick_epochs=6),
    "figure5": _trajectories(5, "cs2"),
    "figure7": _searches(7, "five one-shot optimizers, longer", _space_panels(_ALL_METHODS), 100, 12),
    "figure8": _searches(8, "first and second order of DARTS", _space_panels(_ORDERS), 200, 12),
    "figure9": _searches(9, _DARTS_CUTOUT, _method_panels("s3", _CUTOUT)),
    "figure10": _searches(10, f"{_DARTS_CUTOUT}, GDAS", _space_panels(_CUTOUT, ("s1", "s2"), optimizer="gdas")),
    "figure11": _searches(11, f"{_DARTS_CUTOUT}, PC-DARTS", _space_panels(_CUTOUT, ("s1", "s2"), optimizer="pc-darts")),
    "figure12": _searches(12, f"{_WEIGHT_DECAY} 1", _method_panels("s1", _DECAYS), quick_epochs=6),
    "figure13": _searches(13, f"{_WEIGHT_DECAY} 2", _method_panels("s2", _DECAYS), quick_epochs=6),
    "figure14": _trajectories(14, "cs1"),
    "figure15": _trajectories(15, "cs3"),
    "figure16": _importances(16),
    "figure17": Figure(
        source="figure 17 of NAS-Bench-1Shot1",
        title="proxy and table errors, by proxy size",
        runs="proxy",
        drawing="proxies:ProxyCorrelations",
        full=_sizes((3, 6, 9), (2, 4, 8, 16, 36), scale="full", architectures=150),
        quick=_sizes((3,), (2, 4, 8), scale="quick", architectures=24),
        pooling=None,
        setting="150 architectures and 3, 6, 9 cells × 2, 4, 8, 16, 36 channels",
    ),
    "table2": _transfers(),
}
"""full: the paper's setting; quick: minutes to an hour on two CPU cores, too small to rank methods."""

# Figures of black-box optimizers --------------------------------------------------------------------------------------

OPTIMIZERS = tuple(
    Curve(name, LABELS.get(name, name), {"optimizer": name}) for name in BUILT_IN["black_box_optimizers"]
)
"""One curve per built-in optimizer, with its defaults."""
MULTI_TRIAL = ("random", "regularized-evolution", "reinforce", "bohb")
"""The methods of NAS-Bench-201 and NATS-Bench that train each architecture separately."""
MUTATION_RATES = (0.5, 1.0, 2.0, 4.0)
TOURNAMENTS = (2, 5, 25, 50)
"""Tournament sizes in addition to the default, 10. NAS-Bench-101 does not report the values of its figure 8."""
_RATES = tuple(
    Curve(
        f"mutation-rate-{rate:g}",
        f"mutation rate {rate:g}",
        {"optimizer": "regularized-evolution", "mutation": "rate", "mutation_rate": rate},
    )
    for rate in MUTATION_RATES
)
_TOURNAMENTS = tuple(
    Curve(f"tournament-{size}", f"tournament size {size}", {"optimizer": "regularized-evolution", "tournament": size})
    for size in TOURNAMENTS
)
_COMPARED = ("random", "non-regularized-evolution", "regularized-evolution")
_EVOLUTIONS = tuple(Curve(name, LABELS[name], {"optimizer": name}) for name in _COMPARED)
ROWS: Mapping[str, Mapping[str, str]] = {
    "optimizers": {curve.key: curve.label for curve in _EVOLUTIONS},
    "mutation rate": {curve.key: curve.label for curve in _RATES},
    "tournament size": {
        curve.key: curve.label
        for curve in (
            *_TOURNAMENTS[:2],
            Curve("regularized-evolution", "tournament size 10", {}),
            *_TOURNAMENTS[2:],
        )
    },
}
"""The rows of figure 8 of NAS-Bench-101: labels by curve. Two rows share regularized evolution with its defaults."""

_OFFICIAL = f"run `nb1shot1 table download` and give that table with {option('table')}, or give "
_BOTH_101 = ("nb101-mini", "nb101")
_FIGURE_8 = (*_EVOLUTIONS, *_RATES, *_TOURNAMENTS)


def _over_spaces(spaces: tuple[str, ...], curves: tuple[Curve, ...], **options: Any) -> Scale:
    return Scale(tuple(space_panel(space, curves) for space in spaces), options)


def _over_data_sets(**options: Any) -> Scale:
    panels = [Panel(key, title, {"space": "nb201", "dataset": key}, OPTIMIZERS) for key, title in DATA_SETS.items()]
    return Scale(tuple(panels), options)


def _studies_of_black_box(source: str, title: str, drawing: str, **fields: Any) -> Figure:
    """Return a figure of black-box studies. full: the paper's searches and simulated seconds; quick: fewer searches,
    which do not need an official table.
    """
    return Figure(source, title, "black-box", f"black_box:{drawing}", **fields)


_BLACK_BOX_FIGURES = {
    "nas101-figure7": _studies_of_black_box(
        "figure 7 of NAS-Bench-101",
        "black-box optimizers over time",
        "RegretAndECDF",
        full=_over_spaces(("nb101",), OPTIMIZERS, seconds=1e7, repeats=500),
        quick=_over_spaces(("s1",), OPTIMIZERS, seconds=1e6, repeats=50),
        pooling=Pooling("search"),
        needs_official=dict.fromkeys(_BOTH_101, f"{_OFFICIAL}{option('space', 's1')}"),
        takes_space=True,
    ),
    "nas101-figure8": _studies_of_black_box(
        "figure 8 of NAS-Bench-101",
        "evolution on a small and a large space",
        "MiniAgainstFull",
        full=_over_spaces(_BOTH_101, _FIGURE_8, seconds=1e7, repeats=100),
        quick=_over_spaces(("s1", "s3"), _FIGURE_8, seconds=1e6, repeats=50),
        pooling=Pooling("search", "median"),
        needs_official=dict.fromkeys(_BOTH_101, f"{_OFFICIAL}{option('scale', 'quick')}"),
    ),
    "nas201-figure6": _studies_of_black_box(
        "figure 6 of NAS-Bench-201",
        "sorted accuracies of all searches",
        "SortedRuns",
        full=_over_spaces(("nb201",), OPTIMIZERS, dataset="cifar10", seconds=12_000.0, repeats=500),
        quick=_over_spaces(("nb201",), OPTIMIZERS, dataset="cifar10", seconds=12_000.0, repeats=50),
        pooling=None,
        default_curves=MULTI_TRIAL,
    ),
    "nats-figure6": _studies_of_black_box(
        "figure 6 of NATS-Bench",
        "test accuracy over time",
        "AccuracyOverTime",
        full=_over_data_sets(seconds=20_000.0, repeats=500),
        quick=_over_data_sets(seconds=20_000.0, repeats=50),
        pooling=Pooling("search"),
        default_curves=MULTI_TRIAL,
    ),
}
FIGURES: dict[str, Figure] = {**_PAPER_FIGURES, **_BLACK_BOX_FIGURES}
"""All figures and tables by name: figures of NAS-Bench-1Shot1 by number, its table, figures of black-box optimizers."""
