"""Third-party optimizers with a final selection after the search."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.random_ws import RandomWS
from nasbench1shot1.supernets.supernet import to_tensors
from nasbench1shot1.supernets.weight_sharing import SharedWeights

MUTANTS = 4


class EvolvesAtTheEnd(RandomWS):
    """Simplified single-path one-shot (Guo et al., ECCV 2020): mutants compete with the chosen architecture."""

    def end_search(self, shared: SharedWeights) -> None:
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=self.generator)))
        members = [self.chosen, *(self.space.mutate(self.chosen, rng) for _ in range(MUTANTS))]
        self.chosen = members[int(shared.scores(members).losses.argmin())]
        self.parameters = to_tensors(self.space.one_hot(self.chosen), self.device)

    def scorings_at_end(self, batch_size: int, architecture_images: int) -> list[tuple[int, int]]:
        return [(1 + MUTANTS, architecture_images)]


class PerturbsAtTheEnd(DARTS):
    """DARTS-PT (Wang et al., ICLR 2021) without tuning: an entry is scored by the loss increase without it."""

    final: nb.Architecture | None = None

    def end_search(self, shared: SharedWeights) -> None:
        with torch.no_grad():
            weights = self.mixing().weights
        assert isinstance(weights, Mapping)
        masked = []
        for key, value in weights.items():
            for number in range(value.numel()):
                kept = 1 - F.one_hot(torch.tensor(number), value.numel()).reshape(value.shape)
                masked.append(Mixing({**weights, key: value * kept}))
        losses = torch.from_numpy(shared.scores(masked).losses)
        sizes = [value.numel() for value in weights.values()]
        rises = zip(weights.items(), losses.split(sizes), strict=True)
        self.final = self.space.discretise({key: of.reshape(value.shape) for (key, value), of in rises})

    def architecture(self) -> nb.Architecture:
        return self.final or super().architecture()

    def scorings_at_end(self, batch_size: int, architecture_images: int) -> list[tuple[int, int]]:
        return [(sum(value.numel() for value in self.parameters.values()), architecture_images)]

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.final = None
