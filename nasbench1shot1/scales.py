"""The scales of a search: defaults that each sets for options, and how other defaults depend on its length."""

from collections.abc import Mapping
from typing import Any, Literal

from nasbench1shot1.runs.options import OfLength

ScaleName = Literal["full", "long", "medium", "quick"]
_SMALL = {
    "image_side": 16,
    "channels": 8,
    "cells": 3,
    "batch_size": 64,
    "threads": 1,  # a second one would gain nothing with tensors this small (benchmarks/README.md, "The demo")
}
_PROXY = {**_SMALL, "images_per_half": 10_000}
SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "long": {**_PROXY, "epochs": 160},
    "medium": {**_PROXY, "epochs": 40},
    "quick": {**_SMALL, "images": "cifar10-sample", "epochs": 15},
}
"""Values that a scale sets for options that are not given; the fields' own defaults are the paper's setting.

On a CPU core, a search of DARTS takes half a minute to two minutes at the quick scale, 10 to 20 minutes at the medium
one, and four times as long at the long one. What they show is measured in docs/scales.md.
"""
HALVES: Mapping[str, Mapping[str, int]] = {
    "20k/20k": {"full": 20_000, "quick": 1_750},
    "25k/25k": {"full": 25_000, "quick": 1_750},
    "nasbench201": {"full": 25_000, "quick": 1_610},
}
"""Number of images on which the weights train, by scheme (`images.splits`): of CIFAR-10, and of the bundled sample.

Schemes that are not listed count as "25k/25k". The long and the medium scale set `images_per_half`.
"""


def below_full(**values: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return defaults that all scales below the full one share, for `scale_defaults`."""
    return {name: values for name, options in SCALES.items() if options}


def fitted(
    full: Mapping[str, Any], small: Mapping[str, Any], scale: str, scheme: str, marks: Mapping[str, OfLength]
) -> dict[str, Any]:
    """Return the defaults at a scale of options whose values depend on the length of the search.

    A number of epochs keeps its share of all epochs, but is at least 1. The learning rate of Λ is such that the product
    of rate and steps, which bounds how far Λ travels, is as large as at the full scale. Both refer to searches on
    CIFAR-10 with the epochs of the scales: given epochs or images change nothing.

    Args:
        full: defaults at the full scale, with `epochs` and `batch_size`.
        small: `epochs`, `batch_size` and `images_per_half` at the scale.
        scale: a key of `SCALES`.
        scheme: the scheme that splits the images.
        marks: the options, with what they depend on (`runs.options.names_of_length`).
    """
    share = small["epochs"] / full["epochs"]
    longer = _steps(full, "full", scheme) / _steps(small, scale, scheme)
    found = dict[str, Any]()
    for name, mark in marks.items():
        value = full[name]
        if value and mark is OfLength.EPOCHS:
            found[name] = max(1, round(value * share))
        elif value and mark is OfLength.STEP:
            found[name] = float(f"{value * longer:.2g}")
    return found


def _steps(options: Mapping[str, Any], scale: str, scheme: str) -> int:
    """Return the number of steps of a search."""
    images: int = options["images_per_half"] or HALVES.get(scheme, HALVES["25k/25k"])[scale]
    return int(options["epochs"]) * -(-images // int(options["batch_size"]))
