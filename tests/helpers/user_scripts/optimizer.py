"""One-shot optimizers of one's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

import nasbench1shot1 as nb
from nasbench1shot1.optimizer import Hyperparameters, Mixing, SearchStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.options import Range
from nasbench1shot1.runs.schedules import Constant, Cosine


@dataclass(frozen=True, kw_only=True)
class BetaHyperparameters(GradientHyperparameters):
    beta_decay: Annotated[float, Range(0)] = 50.0


class BetaDARTS(DARTS):
    Hyperparameters = BetaHyperparameters
    hyperparameters: BetaHyperparameters
    strength = 0.0

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        super().begin_epoch(epoch, epochs, generator)
        self.strength = self.hyperparameters.beta_decay * epoch / epochs

    def descend(self, gradients: tuple[Tensor | None, ...]) -> None:
        leaves = [value.detach().requires_grad_() for value in self.parameters.values()]
        vectors = torch.cat([value.logsumexp(dim=-1).reshape(-1) for value in leaves])
        terms = torch.autograd.grad(self.strength * vectors.mean(), leaves)
        super().descend(tuple(t if g is None else g + t for g, t in zip(gradients, terms, strict=True)))


class InPhases(DARTS):
    def phases(self, epochs: int, warm_start_epochs: int) -> list[Phase]:
        whole = Phase("training", epochs - 5, Cosine(epochs - 5), moves_parameters=False, data="all")
        return [whole, Phase("tuning", 5, Constant(0.1), trains="batch-norm")]


@dataclass(frozen=True, kw_only=True)
class Own(Hyperparameters):
    replaced: int = 10


class Uniform(nb.OneShotOptimizer):
    Hyperparameters = Own
    hyperparameters: Own

    def mixing(self) -> Mixing:
        return Mixing({key: torch.softmax(value, dim=-1) for key, value in self.parameters.items()})

    def architecture_step(self, step: SearchStep) -> None:
        print(step.architecture_batch.images.shape)

    def state_dict(self) -> dict[str, Any]:
        return {"own": 1}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        print(state["own"])


run = nb.search(BetaDARTS, space="s1", scale="quick", beta_decay=1.0, out="runs/beta")
runs = nb.search_seeds(range(3), optimizer=Uniform, space=nb.search_space("s1"), workers=2)
print(run.summary["test_regret"], [one.final_epoch for one in runs], runs[0].config["seed"])
