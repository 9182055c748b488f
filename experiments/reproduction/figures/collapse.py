"""The searches of a study of why DARTS collapses on NAS-Bench-201: settings, each varied alone, at three lengths.

In NAS-Bench-201 (Dong and Yang 2020, table 5), DARTS ends with skip connections on all edges. We found no publication
that varies only the learning rate of Λ, its weight decay, the operation `none`, or the size of the halves.
"""

from collections.abc import Sequence

from nasbench1shot1.experiments.reproduction.figures.parts import Curve, Figure, Options, Panel, Scale

EPOCHS = (25, 50, 100)
"""Lengths of the searches; NAS-Bench-201's has 50 epochs."""
BASE = "base"
"""The curve whose setting all others change in one place."""
SHORTER = "half-images"
"""The curve with half of the images and twice as many epochs, so that the number of steps is that of the base."""
SEEDS, MORE_SEEDS = tuple(range(5)), tuple(range(5, 10))
MEASURED: Options = {"hessian_eigenvalue": True, "preferred_error": True, "cell_alignment": True}


def _panel(epochs: int, rate: float, half: int) -> Panel:
    """Return the searches of one length.

    Args:
        epochs: length of the base.
        rate: learning rate of Λ of the base.
        half: number of images in each half of the base.
    """
    curves = (
        Curve(BASE, "base", {}),
        Curve("augmented", "Λ's images augmented", {"augment_architecture_images": True}),
        Curve("low-rate", "learning rate of Λ ÷ 3", {"architecture_learning_rate": float(f"{rate / 3:.2g}")}),
        Curve("high-rate", "learning rate of Λ × 3", {"architecture_learning_rate": float(f"{rate * 3:.2g}")}),
        Curve("no-decay", "no decay of Λ", {"architecture_weight_decay": 0.0}),
        Curve("without-none", "without none", {"exclude_none": True}),
        Curve(SHORTER, "half of the images", {"images_per_half": half // 2, "epochs": 2 * epochs}),
    )
    return Panel(f"{epochs}-epochs", f"{epochs} epochs", {"space": "nb201", "epochs": epochs}, curves)


def searches(name: str, rate: float, half: int, lengths: Sequence[int] = EPOCHS) -> Scale:
    """Return the searches at a scale.

    Args:
        name: name of the scale.
        rate, half: the base, as for `_panel`. With this rate, the product of steps and rate is that of the full scale.
        lengths: numbers of epochs of the base.
    """
    options = {
        "scale": name,
        "threads": 1,
        "optimizer": "darts",
        "epochs": lengths[len(lengths) // 2],
        "architecture_learning_rate": rate,
        "architecture_weight_decay": 1e-3,
        "augment_architecture_images": False,
        **MEASURED,
    }
    panels = tuple(_panel(epochs, rate, half) for epochs in lengths)
    return Scale(panels, options, SEEDS, more_seeds={BASE: MORE_SEEDS, "augmented": MORE_SEEDS})


COLLAPSE_FIGURES = {
    "nas201-collapse": Figure(
        source="",
        title="why DARTS collapses on NAS-Bench-201",
        runs="search",
        drawing="collapse:Collapse",
        full=searches("full", 3e-4, 25_000),
        medium=searches("medium", 7.5e-4, 10_000),
        quick=searches("quick", 2.3e-3, 1_610),
        setting="16 channels × 15 cells, 25,000 + 25,000 images, 50 epochs; it ends with skip connections on all edges",
        fixed=frozenset({"epochs"}),
        shows_parameters=True,
    )
}
"""The study of the collapse, by name."""
