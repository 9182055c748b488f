"""Batch-norm statistics of an architecture on several batches, as in the published code of SPOS.

`SharedWeights` otherwise recalibrates on one batch of up to 128 reference images, which all architectures share.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.supernets.batch_norm import statistics
from nasbench1shot1.supernets.layers import BatchNorm2d

MOMENTUM = 0.1  # PyTorch's, which the published code uses


class MovingStatistics:
    """Moving averages of mean and variance of every `BatchNorm2d` of a network, over several batches.

    Batches are normalised by their own statistics until `is_fixed` is set, and by the averages from then on
    (`layers.normalised_by`). PyTorch's training mode computes such averages with a momentum of 0.1. Here, they are
    divided by the total weight of all batches, so that they do not depend on initial values. After the 200 batches of
    the published code, which starts at mean 0 and variance 1, this weight is 1 - 7e-10.
    """

    def __init__(self) -> None:
        self.is_fixed = False
        self._averages: dict[BatchNorm2d, Tensor] = {}
        self._calls: dict[BatchNorm2d, int] = {}

    def __call__(self, layer: BatchNorm2d, x: Tensor) -> Tensor:
        """Normalise x (N, C, H, W)."""
        if self.is_fixed:
            mean, variance = self._averages[layer]
        else:
            mean, variance = statistics(x.float() if x.dtype == torch.bfloat16 else x)
            self._update(layer, mean, variance, x.numel() // x.shape[1])
        scale_and_shift = layer.affine_parameters(x.shape[1])
        return F.batch_norm(x, mean, variance, *scale_and_shift, training=False, eps=layer.eps)

    def _update(self, layer: BatchNorm2d, mean: Tensor, variance: Tensor, pixels: int) -> None:
        new = torch.stack([mean, variance * pixels / max(pixels - 1, 1)])  # PyTorch averages unbiased variances
        calls = self._calls[layer] = self._calls.get(layer, 0) + 1
        share = MOMENTUM / (1 - (1 - MOMENTUM) ** calls)
        old = self._averages.get(layer)
        self._averages[layer] = new if old is None else old + share * (new - old)
