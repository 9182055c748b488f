"""Figures of black-box optimizers, as data: 7 and 8 of NAS-Bench-101, 6 of NAS-Bench-201 and 6 of NATS-Bench."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nasbench1shot1.experiments.reproduction.figures import Curve, Panel
from nasbench1shot1.registry import BUILT_IN

SPACES = {
    "s1": "search space 1",
    "s2": "search space 2",
    "s3": "search space 3",
    "nb101": "NAS-Bench-101",
    "nb101-mini": "NAS-Bench-Mini",
    "nb201": "NAS-Bench-201",
}
DATA_SETS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "ImageNet16-120": "ImageNet16-120"}
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
"""Names of optimizers in legends; other optimizers keep their registered names."""
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


def space_panel(space: str, curves: tuple[Curve, ...]) -> Panel:
    """Return the panel of a space."""
    return Panel(space, SPACES.get(space, space), {"space": space}, curves)


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
