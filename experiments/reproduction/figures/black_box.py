"""Figures of black-box optimizers as data: 7 and 8 of NAS-Bench-101 and 6 of NAS-Bench-201."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nasbench1shot1.experiments.reproduction.figures.parts import (
    LABELS,
    Curve,
    Figure,
    Pooling,
    Scale,
    method_curves,
    space_panels,
)
from nasbench1shot1.ground.errors import option
from nasbench1shot1.registry import BUILT_IN

OPTIMIZERS = method_curves(BUILT_IN["black_box_optimizers"], LABELS)
"""One curve per built-in optimizer, with its defaults."""
AS_PUBLISHED_201 = tuple(
    replace(curve, options={**curve.options, "budgets": "ignored"}) if curve.key == "bohb" else curve
    for curve in OPTIMIZERS
)
"""The same, with a BOHB that ignores its budgets: the script of NAS-Bench-201 trains every configuration alike."""
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
ROWS: Mapping[str, tuple[str, ...]] = {
    "optimizers": _COMPARED,
    "mutation rate": tuple(curve.key for curve in _RATES),
    "tournament size": (
        *(curve.key for curve in _TOURNAMENTS[:2]),
        "regularized-evolution",
        *(curve.key for curve in _TOURNAMENTS[2:]),
    ),
}
"""The rows of figure 8 of NAS-Bench-101, with the keys of their curves. Two share regularized evolution."""

_OFFICIAL = f"run `nb1shot1 table download` and give that table with {option('table')}, or give "
_BOTH_101 = ("nb101-mini", "nb101")
_PANEL_201 = space_panels(["nb201"], AS_PUBLISHED_201)
_FIGURE_8 = (*method_curves(_COMPARED, LABELS), *_RATES, *_TOURNAMENTS)


def _studies_of_black_box(source: str, title: str, drawing: str, **fields: Any) -> Figure:
    """Return a figure of black-box studies. full: the paper's searches and simulated seconds; quick: fewer searches,
    which do not need an official table.
    """
    return Figure(source, title, "black-box", f"black_box:{drawing}", **fields)


BLACK_BOX_FIGURES = {
    "nas101-figure7": _studies_of_black_box(
        "figure 7 of NAS-Bench-101",
        "black-box optimizers over time",
        "RegretAndECDF",
        full=Scale(space_panels(["nb101"], OPTIMIZERS), {"seconds": 1e7, "repeats": 500}),
        quick=Scale(space_panels(["s1"], OPTIMIZERS), {"seconds": 1e6, "repeats": 50}),
        pooling=Pooling("search"),
        needs_official=dict.fromkeys(_BOTH_101, f"{_OFFICIAL}{option('space', 's1')}"),
        takes_space=True,
    ),
    "nas101-figure8": _studies_of_black_box(
        "figure 8 of NAS-Bench-101",
        "evolution on a small and a large space",
        "MiniAgainstFull",
        full=Scale(space_panels(_BOTH_101, _FIGURE_8), {"seconds": 1e7, "repeats": 100}),
        quick=Scale(space_panels(["s1", "s3"], _FIGURE_8), {"seconds": 1e6, "repeats": 50}),
        pooling=Pooling("search", "median"),
        needs_official=dict.fromkeys(_BOTH_101, f"{_OFFICIAL}{option('scale', 'quick')}"),
    ),
    "nas201-figure6": _studies_of_black_box(
        "figure 6 of NAS-Bench-201",
        "sorted accuracies of all searches",
        "SortedRuns",
        full=Scale(_PANEL_201, {"dataset": "cifar10", "seconds": 12_000.0, "repeats": 500}),
        quick=Scale(_PANEL_201, {"dataset": "cifar10", "seconds": 12_000.0, "repeats": 50}),
        pooling=None,
        default_curves=MULTI_TRIAL,
    ),
}
"""All figures of black-box optimizers, by name."""
