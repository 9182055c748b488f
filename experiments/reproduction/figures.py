"""The figures and tables of the papers as data: panels of curves, each defined by a few options.

Figures of NAS-Bench-1Shot1: methods, spaces, epochs and seeds follow the paper's section 5 and appendix. The paper does
not print the values of weight decay, nor cutout's size (16 pixels) and probability (1): they follow the scripts of the
published code. The scripts apply cutout with probability 1 in every epoch, although the code intends the probability to
grow.

Figures of black-box optimizers: 7 and 8 of NAS-Bench-101, 6 of NAS-Bench-201 and 6 of NATS-Bench.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nasbench1shot1.registry import BUILT_IN


@dataclass(frozen=True)
class Curve:
    """One setting, which is searched once for every seed.

    Attributes:
        key: the name of its folder, and its name in `--only`.
        label: its name in the legend.
        options: options of `nasbench1shot1.search`, in addition to the options of the panel and of the scale.
    """

    key: str
    label: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Panel:
    """The curves that are drawn together; `options` apply to all of them."""

    key: str
    title: str
    options: Mapping[str, Any]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of NAS-Bench-1Shot1.

    Attributes:
        title: the subject of the figure.
        panels: the panels from left to right; the curves of all panels have the same keys.
        epochs: number of epochs of every search at the full scale.
        quick_epochs: number of epochs of every search at the quick scale.
    """

    title: str
    panels: tuple[Panel, ...]
    epochs: int = 50
    quick_epochs: int = 8

    def epochs_at(self, scale: str) -> int:
        """Return the number of epochs of every search at a scale."""
        return self.epochs if scale == "full" else self.quick_epochs

    def pairs(self) -> list[tuple[Panel, Curve]]:
        """Return every curve with its panel."""
        return [(panel, curve) for panel in self.panels for curve in panel.curves]


@dataclass(frozen=True)
class FigureScale:
    """The size of the searches of a figure.

    Attributes:
        options: options of all searches.
        seeds: seeds of every curve.
        by_optimizer: options for the searches of one optimizer, by its name.
    """

    options: Mapping[str, Any]
    seeds: tuple[int, ...]
    by_optimizer: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class BlackBoxScale:
    """The studies of a figure at one scale.

    Attributes:
        panels: the searched spaces, or the searched data sets of a space.
        options: options of all studies.
    """

    panels: tuple[Panel, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class BlackBoxPlan:
    """A figure of black-box studies.

    Attributes:
        paper: the paper of the figure.
        number: number of the figure in the paper.
        title: subject of the figure.
        scales: the studies at each scale, by name.
        default_curves: curves drawn by default; all curves if empty.
        needs_official: spaces that only an official table covers, each with advice for users without this table.
        takes_space: whether --space applies.
    """

    paper: str
    number: int
    title: str
    scales: Mapping[str, BlackBoxScale]
    default_curves: tuple[str, ...] = ()
    needs_official: Mapping[str, str] = field(default_factory=dict)
    takes_space: bool = False


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


def space_panel(space: str, curves: tuple[Curve, ...]) -> Panel:
    """Return the panel of a space."""
    return Panel(space, SPACES.get(space, space), {"space": space}, curves)


# Figures and tables of NAS-Bench-1Shot1 -------------------------------------------------------------------------------

_QUICK = {"scale": "quick", "image_side": 32, "batch_size": 32}  # as in docs/reproduced.md
SCALES = {
    "full": FigureScale({"scale": "full"}, seeds=(0, 1, 2, 3, 4, 5)),
    "quick": FigureScale(
        {**_QUICK, "images_per_half": 320},
        seeds=(0, 1),
        by_optimizer={
            "enas": {"candidates": 20, "finalists": 3, "controller_steps": 10},
            "random-ws": {"candidates": 20, "finalists": 3},
        },
    ),
}
"""full: the paper's setting (six seeds); quick: minutes on two CPU cores, too small to rank methods."""

PAPER_SPACES = ("s1", "s2", "s3")
GRADIENT_METHODS = ("darts", "gdas", "pc-darts")
WEIGHT_DECAYS = ("1e-4", "3e-4", "9e-4", "27e-4", "81e-4")


def _method_curves(*names: str) -> tuple[Curve, ...]:
    return tuple(Curve(name, METHODS[name], {"optimizer": name}) for name in names)


def _space_panels(
    curves: tuple[Curve, ...], names: tuple[str, ...] = PAPER_SPACES, **options: Any
) -> tuple[Panel, ...]:
    return tuple(Panel(name, SPACES[name], {"space": name, **options}, curves) for name in names)


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

FIGURES: dict[str, PaperFigure] = {
    "figure2": PaperFigure("five one-shot optimizers", _space_panels(_ALL_METHODS)),
    "figure4": PaperFigure("weight decay of the weights, space 3", _method_panels("s3", _DECAYS), quick_epochs=6),
    "figure7": PaperFigure(
        "five one-shot optimizers, longer", _space_panels(_ALL_METHODS), epochs=100, quick_epochs=12
    ),
    "figure8": PaperFigure("first and second order of DARTS", _space_panels(_ORDERS), epochs=200, quick_epochs=12),
    "figure9": PaperFigure("cutout during the search", _method_panels("s3", _CUTOUT)),
    "figure10": PaperFigure("cutout during the search, GDAS", _space_panels(_CUTOUT, ("s1", "s2"), optimizer="gdas")),
    "figure11": PaperFigure(
        "cutout during the search, PC-DARTS", _space_panels(_CUTOUT, ("s1", "s2"), optimizer="pc-darts")
    ),
    "figure12": PaperFigure("weight decay of the weights, space 1", _method_panels("s1", _DECAYS), quick_epochs=6),
    "figure13": PaperFigure("weight decay of the weights, space 2", _method_panels("s2", _DECAYS), quick_epochs=6),
}
"""All figures of regret curves, by name."""

RANKING_FIGURES = {"figure3": PaperFigure("one-shot versus true ranking", _space_panels(_ALL_METHODS), quick_epochs=6)}
"""All figures of rank correlations, by name."""


def _tuning_figure(title: str, config_space: str, methods: tuple[str, ...] = GRADIENT_METHODS) -> PaperFigure:
    """Studies of methods on every space; the epochs are the largest budget."""
    panels = _space_panels(_method_curves(*methods), config_space=config_space)
    return PaperFigure(title, panels, epochs=100, quick_epochs=4)


TUNING_FIGURES = {
    "figure5": _tuning_figure("tuned optimizers over time, cs2", "cs2"),
    "figure14": _tuning_figure("tuned optimizers over time, cs1", "cs1"),
    "figure15": _tuning_figure("tuned optimizers over time, cs3", "cs3"),
}
"""All figures of studies over simulated time, by name. The paper also shows black-box optimizers."""

IMPORTANCE_FIGURES = {"figure16": _tuning_figure("importance of hyperparameters, cs2", "cs2", ("darts",))}
"""All figures of the importance of hyperparameters, by name."""

TRANSFER_TABLES = {
    "table2": PaperFigure(
        "transfer from s3 (and 3 studies there)",
        _space_panels(
            tuple(
                Curve(f"{name}-{kind}", f"{METHODS[name]}, {kind}", {"optimizer": name})
                for name in GRADIENT_METHODS
                for kind in ("default", "transferred")
            ),
            ("s1", "s2"),
        ),
        quick_epochs=2,
    )
}
"""All tables of transferred configurations, by name."""

TUNING_SCALES = {
    "full": FigureScale({"scale": "full", "eta": 2, "iterations": 64}, seeds=(0, 1, 2)),
    "quick": FigureScale({**_QUICK, "images_per_half": 160, "eta": 2, "iterations": 6}, seeds=(0, 1)),
}
"""Extent of the studies. full: the paper's 64 brackets and three repetitions; quick: up to an hour on two CPU cores,
just enough for the model to propose some configurations of the last brackets.
"""

OTHER_FIGURES = {1: "an overview", 6: "the distribution of test errors"}
"""Content of the paper's figures that `reproduce` does not draw, by number."""

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


def _scale(spaces: tuple[str, ...], curves: tuple[Curve, ...], **options: Any) -> BlackBoxScale:
    return BlackBoxScale(tuple(space_panel(space, curves) for space in spaces), options)


def _by_data_set(**options: Any) -> BlackBoxScale:
    panels = [Panel(key, title, {"space": "nb201", "dataset": key}, OPTIMIZERS) for key, title in DATA_SETS.items()]
    return BlackBoxScale(tuple(panels), options)


_OFFICIAL = "run `nb1shot1 table download` and give that table with --table, or give "
_FIGURE_8 = (*_EVOLUTIONS, *_RATES, *_TOURNAMENTS)
BLACK_BOX_FIGURES = {
    "nas101-figure7": BlackBoxPlan(
        "NAS-Bench-101",
        7,
        "black-box optimizers over time",
        {
            "full": _scale(("nb101",), OPTIMIZERS, seconds=1e7, repeats=500),
            "quick": _scale(("s1",), OPTIMIZERS, seconds=1e6, repeats=50),
        },
        needs_official=dict.fromkeys(("nb101", "nb101-mini"), _OFFICIAL + "--space s1"),
        takes_space=True,
    ),
    "nas101-figure8": BlackBoxPlan(
        "NAS-Bench-101",
        8,
        "evolution on a small and a large space",
        {
            "full": _scale(("nb101-mini", "nb101"), _FIGURE_8, seconds=1e7, repeats=100),
            "quick": _scale(("s1", "s3"), _FIGURE_8, seconds=1e6, repeats=50),
        },
        needs_official=dict.fromkeys(("nb101", "nb101-mini"), _OFFICIAL + "--scale quick"),
    ),
    "nas201-figure6": BlackBoxPlan(
        "NAS-Bench-201",
        6,
        "sorted accuracies of all searches",
        {
            "full": _scale(("nb201",), OPTIMIZERS, dataset="cifar10", seconds=12_000.0, repeats=500),
            "quick": _scale(("nb201",), OPTIMIZERS, dataset="cifar10", seconds=12_000.0, repeats=50),
        },
        default_curves=MULTI_TRIAL,
    ),
    "nats-figure6": BlackBoxPlan(
        "NATS-Bench",
        6,
        "test accuracy over time",
        {
            "full": _by_data_set(seconds=20_000.0, repeats=500),
            "quick": _by_data_set(seconds=20_000.0, repeats=50),
        },
        default_curves=MULTI_TRIAL,
    ),
}
"""All figures of black-box studies, by name. full: the number of searches and simulated seconds of the paper; quick:
fewer searches that do not need an official table."""

# Names of all figures and tables --------------------------------------------------------------------------------------

PROXY_FIGURE = "figure17"
_FIGURES = (*FIGURES, *RANKING_FIGURES, *TUNING_FIGURES, *IMPORTANCE_FIGURES, PROXY_FIGURE)
NAMES = (
    *sorted(_FIGURES, key=lambda name: int(name.removeprefix("figure"))),
    *TRANSFER_TABLES,
    *BLACK_BOX_FIGURES,
)
"""Figures by number, then tables, then figures of black-box optimizers."""
