"""The scales of a search: defaults that each sets for options, and how other defaults depend on its length."""

from collections.abc import Mapping
from typing import Any

from nasbench1shot1.runs.options import OfLength

_SMALL = {
    "image_side": 16,
    "channels": 8,
    "cells": 3,
    "batch_size": 64,
    "threads": 1,  # a second one would gain nothing with tensors this small (benchmarks/README.md, "The demo")
}
SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "medium": {**_SMALL, "images_per_half": 10_000, "epochs": 40},
    "quick": {**_SMALL, "images": "cifar10-sample", "epochs": 15},
}
"""Values that a scale sets for options that are not given; the fields' own defaults are the paper's setting.

On a CPU core, a search of DARTS takes half a minute at the quick scale, and ten minutes at the medium one. What they
show is measured in docs/scales.md.
"""
HALVES = {"full": 25_000, "medium": SCALES["medium"]["images_per_half"], "quick": 1_750}
"""Number of images in each half at every scale: half of CIFAR-10, a part of it, and half of the bundled sample."""


def below_full(**values: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return defaults that all scales below the full one share, for `scale_defaults`."""
    return {name: values for name, options in SCALES.items() if options}


def fitted(
    full: Mapping[str, Any], small: Mapping[str, Any], scale: str, marks: Mapping[str, OfLength]
) -> dict[str, Any]:
    """Return the defaults at a scale of options whose values depend on the length of the search.

    A number of epochs remains the same fraction of all epochs, but is at least 1. The learning rate of Λ is such that
    the product of rate and steps, which bounds how far Λ moves, is as large as at the full scale.

    Args:
        full: defaults at the full scale, with `epochs` and `batch_size`.
        small: `epochs` and `batch_size` at the scale.
        scale: a key of `SCALES`.
        marks: the options, with what they depend on (`runs.options.names_of_length`).
    """
    share = small["epochs"] / full["epochs"]
    longer = _steps(full, "full") / _steps(small, scale)
    found = dict[str, Any]()
    for name, mark in marks.items():
        value = full[name]
        if value and mark is OfLength.EPOCHS:
            found[name] = max(1, round(value * share))
        elif value and mark is OfLength.STEP:
            found[name] = float(f"{value * longer:.2g}")
    return found


def _steps(options: Mapping[str, Any], scale: str) -> float:
    """Return the number of steps of a search."""
    return float(options["epochs"] * HALVES[scale] / options["batch_size"])
