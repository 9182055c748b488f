"""The figures and the table of NAS-Bench-1Shot1 (Zela, Siems and Hutter, ICLR 2020) as data, and further studies.

Methods, spaces, epochs and seeds follow the paper's section 5 and appendix. The paper does not print the values of
weight decay, nor cutout's size (16 pixels) and probability (1): they follow the scripts of the published code. The
scripts apply cutout with probability 1 in every epoch, although the code intends the probability to grow. For figure
17, the paper samples 150 architectures of space 3 and trains each alone in the fixed-width network of the supernet. It
states neither the number of epochs nor the optimizer; this package uses the settings of a search.
"""

from dataclasses import replace
from typing import Any

from nasbench1shot1.experiments.correlation.options import CONTROLLER
from nasbench1shot1.experiments.reproduction.figures.parts import (
    BELOW_FULL,
    METHODS,
    SPACES,
    Curve,
    Figure,
    Options,
    Panel,
    Pooling,
    Scale,
    method_curves,
    space_panels,
)
from nasbench1shot1.scales import SCALES

OTHER_FIGURES = {1: "an overview", 6: "the distribution of test errors"}
"""Content of the figures of NAS-Bench-1Shot1 that `reproduce` does not draw, by number."""

PAPER_SPACES = ("s1", "s2", "s3")
GRADIENT_METHODS = ("darts", "gdas", "pc-darts")
WEIGHT_DECAYS = ("1e-4", "3e-4", "9e-4", "27e-4", "81e-4")
TUNED_ON, STUDY_SEED, TRANSFERRED = "s3", 0, "-transferred"
"""Table 2: the space and the seed of the studies, and the suffix of curves whose configuration is transferred."""
_FULL: Options = {"scale": "full", "threads": 1}
_TINY: Options = {"scale": "quick", "threads": 1, "image_side": 32, "batch_size": 32}
"""Searches of studies at the quick scale, which are many (docs/reproduced.md)."""
_STUDY: Options = {"tuner": "bohb", "eta": 2}
_PAPER = "16 channels × 9 cells, 25,000 + 25,000 images (20,000 + 20,000 in tuning)"
_PAPER_TUNING = "16 channels × 9 cells, 20,000 + 20,000 images"
"""The paper's network and images: the published search scripts halve all 50,000 images, the tuning scripts 40,000."""


def _method_panels(space: str, curves: tuple[Curve, ...]) -> tuple[Panel, ...]:
    """Return a panel for each gradient method on one space."""
    return tuple(
        Panel(name, f"{METHODS[name]}, {SPACES[space]}", {"optimizer": name, "space": space}, curves)
        for name in GRADIENT_METHODS
    )


_ALL_METHODS = method_curves(METHODS)
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


def _searches(number: int, title: str, panels: tuple[Panel, ...], epochs: int = 50, **fields: Any) -> Figure:
    """Return a figure of searches. full: the paper's setting; quick: minutes on two CPU cores, too small to rank."""
    small = {
        name: {"scale": name, "threads": 1, "epochs": epochs * SCALES[name]["epochs"] // 50} for name in BELOW_FULL
    }
    found = Figure(
        source=f"figure {number} of NAS-Bench-1Shot1",
        title=title,
        runs="search",
        drawing="regrets:RegretCurves",
        full=Scale(panels, {**_FULL, "epochs": epochs}, (0, 1, 2, 3, 4, 5)),
        long=Scale(panels, small["long"], tuple(range(10))),
        medium=Scale(panels, small["medium"], tuple(range(10))),
        quick=Scale(panels, small["quick"], (0, 1)),
        setting=f"{_PAPER}, {epochs} epochs, 6 seeds",
    )
    return replace(found, **fields)


_RANKED_EPOCHS = {"full": 5, "long": 4, "medium": 4, "quick": 3}
"""Number of ranked epochs of a search in figure 3, evenly spaced (paper: every tenth epoch)."""
_SAMPLE = {"architectures": "400", "images": "1000", "resamples": 100}
_RANKINGS: dict[str, dict[str, Any]] = {
    "full": {"architectures": "all", "images": "1000"},
    "long": _SAMPLE,
    "medium": _SAMPLE,
    "quick": {"architectures": "100", "images": "200", "resamples": 10},
}
"""Options of the rankings by scale. The paper evaluates on the 10,000 test images of CIFAR-10."""


def _ranked_searches() -> Figure:
    """Return figure 2, whose searches save the weights that figure 3 ranks."""
    found = _searches(2, "one-shot optimizers", space_panels(PAPER_SPACES, _ALL_METHODS))
    kept: dict[str, Any] = {
        name: replace(scale, kept_epochs=_RANKED_EPOCHS[name]) for name, scale in found.scales.items()
    }
    return replace(found, **kept)


def _rankings(searches: Figure) -> Figure:
    """Return figure 3, the rankings of the searches of figure 2."""

    def scale(name: str) -> Scale:
        # the paper ranks 100 architectures that the controller draws
        of_enas: Options = {"architectures": CONTROLLER} if name == "full" else {}
        curves = {
            space: tuple(
                Curve(curve.key, curve.label, {"search": space, **(of_enas if curve.key == "enas" else {})})
                for curve in _ALL_METHODS
            )
            for space in PAPER_SPACES
        }
        panels = (Panel(space, SPACES[space], {}, curves[space], f"{space}-rankings") for space in PAPER_SPACES)
        return Scale(tuple(panels), _RANKINGS[name], searches.scales[name].seeds)

    return replace(
        searches,
        source="figure 3 of NAS-Bench-1Shot1",
        title="one-shot versus true ranking",
        runs="ranking",
        drawing="rankings:RankingCurves",
        full=scale("full"),
        long=scale("long"),
        medium=scale("medium"),
        quick=scale("quick"),
        runs_of="figure2",
    )


def _studies(number: int, title: str, config_space: str, methods: tuple[str, ...], drawing: str) -> Figure:
    """Return a figure of studies of methods on every space; the epochs are the largest budget.

    full: the paper's 64 brackets and three repetitions; medium: two to six hours per study on a CPU core; quick: up to
    an hour for all studies on two CPU cores. Six brackets are just enough for the model to propose some configurations
    of the last ones. cs3 tunes the batch size.
    """
    panels = space_panels(PAPER_SPACES, method_curves(methods), config_space=config_space)
    quick = {name: value for name, value in _TINY.items() if name != "batch_size" or config_space != "cs3"}
    return Figure(
        source=f"figure {number} of NAS-Bench-1Shot1",
        title=f"{title}, {config_space}",
        runs="study",
        drawing=drawing,
        full=Scale(panels, {**_FULL, **_STUDY, "iterations": 64, "epochs": 100}, (0, 1, 2)),
        medium=Scale(panels, {"scale": "medium", "threads": 1, **_STUDY, "iterations": 6, "epochs": 40}, (0, 1, 2)),
        quick=Scale(panels, {**quick, **_STUDY, "images_per_half": 160, "iterations": 6, "epochs": 4}, (0, 1)),
        pooling=Pooling("study"),
        setting=f"{_PAPER_TUNING}, 280 searches of 25, 50, 100 epochs, 3 studies",
    )


def _trajectories(number: int, config_space: str) -> Figure:
    found = _studies(number, "tuned optimizers over time", config_space, GRADIENT_METHODS, "trajectories:Trajectories")
    return replace(found, joins="studies")


def _importances() -> Figure:
    found = _studies(16, "importance of hyperparameters", "cs2", ("darts",), "importances:Importances")
    return replace(found, pooling=None)


def _tuners() -> Figure:
    """Return the comparison of tuners of GDAS, with about equal numbers of searches.

    quick: searches as at the quick scale, except for fewer images and 16 epochs.
    """

    def panels(brackets_of_random: int) -> tuple[Panel, ...]:
        curves = (
            Curve("gdas-bohb", "GDAS tuned by BOHB", {"tuner": "bohb"}),
            Curve("gdas-smac", "GDAS tuned by SMAC", {"tuner": "smac"}),
            Curve("gdas-random", "GDAS tuned by random search", {"tuner": "random", "iterations": brackets_of_random}),
        )
        return space_panels(PAPER_SPACES, curves, optimizer="gdas", config_space="cs2")

    quick = {"scale": "quick", "threads": 1, "images_per_half": 640, "eta": 2, "iterations": 6, "epochs": 16}
    return Figure(
        source="",
        title="tuners of GDAS over time, cs2",
        runs="study",
        drawing="trajectories:Trajectories",
        full=Scale(panels(94), {**_FULL, "eta": 2, "iterations": 64, "epochs": 100}, (0, 1, 2)),
        quick=Scale(panels(9), quick, tuple(range(10))),
        pooling=Pooling("study"),
        joins="studies",
    )


def _transfers() -> Figure:
    """Return table 2, whose searches have the images of the studies."""
    found = _searches(2, "transfer from s3 (and 3 studies there)", space_panels(("s1", "s2"), _TRANSFERS))
    return replace(
        found,
        source="table 2 of NAS-Bench-1Shot1",
        runs="transfer",
        drawing="transfers:Transfers",
        long=None,
        quick=replace(found.quick, options={**_TINY, "images_per_half": 160, "epochs": 2}),
    )


def _sizes(cells: tuple[int, ...], channels: tuple[int, ...], **options: Any) -> Scale:
    widths = tuple(Curve(f"channels-{number}", f"{number} channels", {"channels": number}) for number in channels)
    panels = tuple(Panel(f"cells-{n}", f"{n} cell{'s' * (n > 1)}", {"cells": n}, widths) for n in cells)
    return Scale(panels, {"threads": 1, **options})


LENGTHS = (50, 100, 200)
"""Epochs of the paper's searches in figures 2, 7 and 8."""


def _longer_searches() -> Figure:
    """Return the comparison of searches of several lengths, whose learning rates of Λ do not depend on the length.

    Below the full scale, all lengths have the ratio of the scale's epochs to 50.
    """

    def panels(scale: str) -> tuple[Panel, ...]:
        ratio = SCALES[scale].get("epochs", LENGTHS[0]) / LENGTHS[0]
        curves = tuple(
            Curve(f"epochs-{length}", f"{length} epochs (paper)", {"epochs": round(ratio * length)})
            for length in LENGTHS
        )
        return tuple(
            Panel(f"{name}-{space}", f"{METHODS[name]}, {SPACES[space]}", {"optimizer": name, "space": space}, curves)
            for name in ("darts", "gdas")
            for space in PAPER_SPACES
        )

    def scale(name: str, seeds: int) -> Scale:
        return Scale(panels(name), {"scale": name, "threads": 1, "epochs": LENGTHS[0]}, tuple(range(seeds)))

    return Figure(
        source="",
        title="longer searches of DARTS and GDAS",
        runs="search",
        drawing="regrets:RegretCurves",
        full=scale("full", 6),
        long=scale("long", 10),
        medium=scale("medium", 10),
        quick=scale("quick", 2),
        fixed=frozenset({"epochs"}),
    )


_WEIGHT_DECAY = "weight decay of the weights, space"
_DARTS_CUTOUT = "cutout during the search"
_FIGURE_2 = _ranked_searches()
PAPER_FIGURES = {
    "figure2": _FIGURE_2,
    "figure3": _rankings(_FIGURE_2),
    "figure4": _searches(4, f"{_WEIGHT_DECAY} 3", _method_panels("s3", _DECAYS)),
    "figure5": _trajectories(5, "cs2"),
    "figure7": _searches(7, "one-shot optimizers, longer", space_panels(PAPER_SPACES, _ALL_METHODS), 100),
    "figure8": _searches(8, "first and second order of DARTS", space_panels(PAPER_SPACES, _ORDERS), 200),
    "figure9": _searches(9, _DARTS_CUTOUT, _method_panels("s3", _CUTOUT)),
    "figure10": _searches(10, f"{_DARTS_CUTOUT}, GDAS", space_panels(("s1", "s2"), _CUTOUT, optimizer="gdas")),
    "figure11": _searches(11, f"{_DARTS_CUTOUT}, PC-DARTS", space_panels(("s1", "s2"), _CUTOUT, optimizer="pc-darts")),
    "figure12": _searches(12, f"{_WEIGHT_DECAY} 1", _method_panels("s1", _DECAYS)),
    "figure13": _searches(13, f"{_WEIGHT_DECAY} 2", _method_panels("s2", _DECAYS)),
    "figure14": _trajectories(14, "cs1"),
    "figure15": _trajectories(15, "cs3"),
    "figure16": _importances(),
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

FURTHER_STUDIES = {"longer-searches": _longer_searches(), "tuners": _tuners()}
"""Further studies of the paper's methods, which are not in the paper."""
