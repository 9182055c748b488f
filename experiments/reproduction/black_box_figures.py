"""The figures of black-box optimizers, as data: NAS-Bench-101's 7 and 8, NAS-Bench-201's 6 and NATS-Bench's 6."""

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
"""Names of optimizers in legends; others have their own name."""
OPTIMIZERS = tuple(
    Curve(name, LABELS.get(name, name), {"optimizer": name}) for name in BUILT_IN["black_box_optimizers"]
)
"""A curve for each registered optimizer, with its defaults."""
MULTI_TRIAL = ("random", "regularized-evolution", "reinforce", "bohb")
"""The methods of NAS-Bench-201 and NATS-Bench that train each architecture on its own."""
MUTATION_RATES = (0.5, 1.0, 2.0, 4.0)
TOURNAMENTS = (2, 5, 25, 50)
"""Tournament sizes besides the default, 10. NAS-Bench-101 does not print the values of its figure 8."""
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
"""The rows of NAS-Bench-101's figure 8: labels by the keys of their curves. Two rows share the default evolution."""


@dataclass(frozen=True)
class BlackBoxScale:
    """The extent of a figure of black-box studies at a scale.

    Attributes:
        panels: spaces, or data sets of a space, that are searched.
        options: options of all studies.
    """

    panels: tuple[Panel, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class BlackBoxPlan:
    """A figure of black-box studies.

    Attributes:
        paper, number: where the figure is from.
        title: what it compares.
        scales: its extents by the name of the scale.
        usual: curves that are drawn if none are selected; all if empty.
        needs_official: spaces that only an official table covers, each with what to do without that table.
        takes_space: whether another space may be given.
    """

    paper: str
    number: int
    title: str
    scales: Mapping[str, BlackBoxScale]
    usual: tuple[str, ...] = ()
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
        usual=MULTI_TRIAL,
    ),
    "nats-figure6": BlackBoxPlan(
        "NATS-Bench",
        6,
        "test accuracy over time",
        {
            "full": _by_data_set(seconds=20_000.0, repeats=500),
            "quick": _by_data_set(seconds=20_000.0, repeats=50),
        },
        usual=MULTI_TRIAL,
    ),
}
"""All figures of black-box studies, by name. full: the paper's number of searches and simulated seconds; quick: a part
that needs no official table."""
