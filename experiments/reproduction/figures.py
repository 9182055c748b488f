"""The figures and tables of NAS-Bench-1Shot1 as data: panels of curves, each defined by a few options.

Methods, spaces, epochs and seeds follow the paper's section 5 and appendix. The paper does not print the values of
weight decay, nor cutout's size (16 pixels) and probability (1): they follow the scripts of the published code. The
scripts apply cutout with probability 1 in every epoch, although the code intends the probability to grow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
    """A figure of the paper.

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

SPACES = {"s1": "search space 1", "s2": "search space 2", "s3": "search space 3"}
METHODS = {"darts": "DARTS", "gdas": "GDAS", "pc-darts": "PC-DARTS", "enas": "ENAS", "random-ws": "Random WS"}
GRADIENT_METHODS = ("darts", "gdas", "pc-darts")
WEIGHT_DECAYS = ("1e-4", "3e-4", "9e-4", "27e-4", "81e-4")


def _method_curves(*names: str) -> tuple[Curve, ...]:
    return tuple(Curve(name, METHODS[name], {"optimizer": name}) for name in names)


def _space_panels(
    curves: tuple[Curve, ...], names: tuple[str, ...] = tuple(SPACES), **options: Any
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
