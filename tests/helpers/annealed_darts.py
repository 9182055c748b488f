"""A third-party optimizer: DARTS with an annealed softmax."""

import torch
from torch.nn import functional as F

from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.darts import DARTS


class AnnealedDARTS(DARTS):
    """Softmax at a temperature that falls linearly from 1 to 0.1."""

    temperature = 1.0

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        super().begin_epoch(epoch, epochs, generator)
        self.temperature = 1 - 0.9 * (epoch - 1) / max(epochs - 1, 1)

    def mixing(self) -> Mixing:
        return Mixing({key: F.softmax(value / self.temperature, dim=-1) for key, value in self.parameters.items()})
