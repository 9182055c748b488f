"""A one-shot method outside the package: the weights are trained on a population of architectures, which evolves.

Simplified from Yang et al.: CARS: Continuous Evolution for Efficient Neural Architecture Search, CVPR 2020.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch

import nasbench1shot1 as nb
from nasbench1shot1.optimizer import Hyperparameters, Mixing
from nasbench1shot1.runs.options import Range, check_range
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.supernet import to_tensors
from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class PopulationHyperparameters(Hyperparameters):
    """The method's own options on the command line and in config.json, in addition to the common options."""

    population: Annotated[int, Range(2)] = 50
    """Architectures that are alive at a time."""
    replaced: int = 10
    """How many of them, the worst, give way to mutants of the others after every epoch."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range."""
        super().check()
        check_range("replaced", self.replaced, 1, self.population - 1)


class Population(nb.OneShotOptimizer):
    """Each weight step trains one member; after each epoch, mutants of the others replace the worst."""

    Hyperparameters = PopulationHyperparameters
    defaults: ClassVar = {"batch_size": 64}
    hyperparameters: PopulationHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        rng = self._numpy_generator()
        self.members = [self.space.sample(rng) for _ in range(self.hyperparameters.population)]
        self._prefer(self.members[0])

    def mixing(self) -> Mixing:
        """Return the member for the next weight step; only its operations are computed and trained."""
        return Mixing(path=self.members[int(torch.randint(len(self.members), (), generator=self.generator))])

    def end_epoch(self, shared: SharedWeights) -> None:
        """Evolve by the errors on one batch of the architecture half."""
        rng, rows = self._numpy_generator(), shared.rows(shared.batch_size, self.generator)
        best_first = np.argsort(shared.errors(self.members, rows), kind="stable")
        kept = [self.members[i] for i in best_first[: -self.hyperparameters.replaced]]
        parents = rng.integers(len(kept), size=self.hyperparameters.replaced)
        self.members = kept + [self.space.mutate(kept[i], rng) for i in parents]

    def choose(self, shared: SharedWeights) -> None:
        """Prefer the member with the lowest error on the full architecture half."""
        self._prefer(self.members[int(shared.errors(self.members).argmin())])

    def evaluation_mixing(self) -> Mixing:
        """The member preferred."""
        return Mixing(path=self.preferred)

    def architecture(self) -> nb.Architecture:
        """The member preferred."""
        return self.preferred

    def scorings(self, batch_size: int, architecture_images: int) -> list[tuple[int, int]]:
        """All members on one batch, and on the full architecture half."""
        return [(len(self.members), min(batch_size, architecture_images)), (len(self.members), architecture_images)]

    def state_dict(self) -> dict[str, Any]:
        """Return the members and the preferred one."""
        return {"members": [str(arch) for arch in self.members], "preferred": str(self.preferred)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        self.members = [nb.Architecture.parse(text) for text in state["members"]]
        self._prefer(nb.Architecture.parse(state["preferred"]))

    def _prefer(self, arch: nb.Architecture) -> None:
        """This method does not use Λ; the recorded Λ encodes the architecture."""
        self.preferred = arch
        self.parameters = to_tensors(self.space.one_hot(arch), self.device)

    def _numpy_generator(self) -> np.random.Generator:
        """Return a NumPy generator for the space, seeded by the generator of the search."""
        return np.random.default_rng(int(torch.randint(2**62, (), generator=self.generator)))
