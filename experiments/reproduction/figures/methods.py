"""The comparisons of all one-shot methods as data, one per benchmark. They do not come from a paper."""

from collections.abc import Mapping
from typing import Any

from nasbench1shot1.experiments.reproduction.figures.parts import BELOW_FULL, Figure, Scale, method_curves, space_panel
from nasbench1shot1.nats_size import benchmark as nats_size
from nasbench1shot1.registry import BUILT_IN
from nasbench1shot1.scales import SCALES

OF_WIDTHS = ("tas", "fbnetv2", "tunas")
"""Methods that only search widths."""
OF_OPERATIONS = ("pc-darts", "lambda-darts", "darts-minus", "oles", "is-darts", "drnas-progressive")
"""Methods that cannot search widths. A test compares both lists with the methods' `check_space`, which would have to
import all optimizers here."""
SEEDS = tuple(range(10))
SHARED_OPTIONS = ("preset", "epochs", "images", "images_per_half", "image_side", "channels", "cells", "reference")
"""Options that all searches of a comparison share. All others are hyperparameters, or do not change results."""


def methods_on(space: str) -> tuple[str, ...]:
    """Return the names of the built-in methods that can search a space."""
    unfit = OF_OPERATIONS if space == "nats-size" else OF_WIDTHS
    return tuple(name for name in BUILT_IN["optimizers"] if name not in unfit)


def _comparison(where: str, *spaces: str, defaults: Mapping[str, Mapping[str, Any]] | None = None) -> Figure:
    """Return the comparison on spaces of one benchmark; `defaults` are the benchmark's own of a scale.

    All methods share the size, the images and the number of epochs of a scale, and keep their own hyperparameters.
    """
    lengths = {name: {**SCALES[name], **(defaults or {}).get(name, {})}["epochs"] for name in BELOW_FULL}
    small = {name: {"scale": name, "threads": 1, "epochs": length} for name, length in lengths.items()}
    panels = tuple(space_panel(space, method_curves(methods_on(space))) for space in spaces)
    return Figure(
        source="",
        title=f"one-shot methods on {where}",
        runs="search",
        drawing="methods:MethodTable",
        joins="searches",
        shared_options=SHARED_OPTIONS,
        full=Scale(panels, {"scale": "full", "threads": 1, "epochs": 50}, SEEDS),
        long=Scale(panels, small["long"], SEEDS),
        medium=Scale(panels, small["medium"], SEEDS),
        quick=Scale(panels, small["quick"], SEEDS),
    )


METHOD_FIGURES = {
    "methods": _comparison("spaces of NAS-Bench-101", "s1", "s2", "s3"),
    "methods-nb201": _comparison("NAS-Bench-201", "nb201"),
    "methods-size": _comparison("NATS-Bench's size space", "nats-size", defaults=nats_size.BENCHMARK.scale_defaults),
}
"""The comparisons by name."""
