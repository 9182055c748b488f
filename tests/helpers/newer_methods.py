"""Makes the newer one-shot methods, without a search."""

from typing import Any

import torch
from tiny_search import SMALL_SPACE, generator

import nasbench1shot1 as nb
from nasbench1shot1.registry import optimizer

CPU = torch.device("cpu")


def made(name: str, space: Any = SMALL_SPACE, seed: int = 0, **options: Any) -> Any:
    method = optimizer(name)
    own = method.Hyperparameters(**options)
    own.check()
    return method(nb.search_space(space) if isinstance(space, str) else space, own, generator(seed), CPU)
