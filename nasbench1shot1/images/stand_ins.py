"""Random images in place of official data sets that are not installed, to plan runs and to time their steps."""

from functools import lru_cache

import numpy as np

from nasbench1shot1.images.data_sets import DATA_SETS
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.store import is_imported

TILES = 8
"""Number of distinct random images; they repeat."""


def is_missing(name: str) -> bool:
    """Return whether a name belongs to an official data set that is not installed."""
    return name in DATA_SETS and not is_imported(name)


def images_for_planning(name: str) -> ImageSet:
    """Load an image set; random images of equal number, size and classes stand in for a missing official data set.

    Raises the errors of `load_images` for all other sets.
    """
    return stand_in(name) if is_missing(name) else load_images(name)


@lru_cache(maxsize=1)
def stand_in(name: str) -> ImageSet:
    """Return random images with the numbers, the size and the classes of an official data set, in canonical order."""
    import torch

    of = DATA_SETS[name]
    drawn = np.random.default_rng(0).integers(0, 256, (TILES, of.side, of.side, 3), np.uint8)
    parts = []
    for count in (of.training_images, of.test_images):
        images = torch.from_numpy(np.resize(drawn, (count, of.side, of.side, 3)))
        parts.append((images, torch.arange(count) % of.classes))
    (images, labels), (test_images, test_labels) = parts
    return ImageSet(
        name, images, labels, torch.arange(len(labels)), "stand-in", test_images, test_labels, dataset=of.name
    )
