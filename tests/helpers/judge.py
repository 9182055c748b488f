"""Known errors of all architectures instead of shared weights, for tests of selection."""

import numpy as np
import torch

HALF = 640
"""Number of images in the architecture half."""


class Judge:
    """Replacement for shared weights: known errors, which differ between a few images and the full half."""

    batch_size = 8

    def __init__(self, space) -> None:
        self.space, self.asked = space, []
        rng = np.random.default_rng(0)
        self.on_few, self.on_all = rng.permutation(len(space)), rng.permutation(len(space))

    def rows(self, images: int, drawn: torch.Generator) -> torch.Tensor:
        return torch.randperm(HALF, generator=drawn)[: min(images, HALF)]

    def errors(self, architectures, rows=None) -> np.ndarray:
        self.asked.append((list(architectures), rows))
        known = self.on_all if rows is None else self.on_few
        return np.array([known[self.space.index(arch)] / len(self.space) for arch in architectures])
