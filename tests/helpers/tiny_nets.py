"""Tiny supernets in float64 with the functions of a search on them, and gradient methods in float64."""

from typing import Any

import torch
from small_supernets import small
from tiny_search import generator, tiny_batch

from nasbench1shot1.optimizer import Batch, Mixing, SearchStep
from nasbench1shot1.supernets.layers import unchanged_statistics


def in_float64(method: Any, seed: int = 3) -> Any:
    """Give a gradient method Λ in float64, spread out, and an Adam that moves it."""
    drawn = generator(seed)
    method.parameters = {
        key: torch.randn(value.shape, generator=drawn, dtype=torch.float64).requires_grad_()
        for key, value in method.parameters.items()
    }
    group = method.adam.param_groups[0]
    settings = {name: group[name] for name in ("lr", "betas", "weight_decay")}
    method.adam = torch.optim.Adam(method.parameters.values(), **settings)
    return method


class Net:
    """A tiny supernet in float64, and the functions of a search on it."""

    def __init__(self, space: Any, cells: int) -> None:
        self.net = small(space, channels=4, cells=cells).double().train()
        self.weights = dict(self.net.named_parameters())
        self.sgd = torch.optim.SGD(self.net.parameters(), 0.025, 0.9, weight_decay=3e-4)

    def loss(self, mixing: Mixing, batch: Batch) -> torch.Tensor:
        return self.loss_at(self.weights, mixing, batch)

    def loss_at(self, weights: Any, mixing: Mixing, batch: Batch) -> torch.Tensor:
        with unchanged_statistics(self.net):
            logits = torch.func.functional_call(self.net, dict(weights), (batch.images, *mixing.arguments()))
        return torch.nn.functional.cross_entropy(logits, batch.labels)

    def step(self) -> SearchStep:
        return SearchStep(
            **dict.fromkeys(SearchStep.__dataclass_fields__)  # structural fields that no method here reads
            | {"loss": self.loss, "loss_at": self.loss_at, "weights": self.weights, "weight_optimizer": self.sgd}
            | {"weight_batch": tiny_batch(seed=1), "architecture_batch": tiny_batch(seed=2), "frozen": ()}
        )
