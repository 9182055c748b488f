"""Regularized (aging) evolution, and evolution that removes the worst.

Source: Real et al., Regularized Evolution for Image Classifier Architecture Search (AAAI 2019, arXiv:1802.01548),
algorithm 1; NAS-Bench-101 (Ying et al. 2019), section 5 and figure 8.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, MutableSequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.runs.options import Range

ATTEMPTS = 10_000
"""Mutations with a rate that are drawn before a space is given up because none of them was valid."""


@dataclass(frozen=True, kw_only=True)
class EvolutionHyperparameters(Hyperparameters):
    """The options of both evolutions."""

    population: Annotated[int, Range(1)] = 100
    """Number of individuals (nb201: 10)."""
    tournament: Annotated[int, Range(1)] = 10
    """Number of individuals, drawn with replacement, of which the best becomes the parent."""
    mutation: Literal["published", "neighbour", "rate"] = "published"
    """published: the mutation of the benchmark's published evolution; neighbour: one elementary change, drawn
    uniformly; rate: every choice changes with the probability --mutation-rate / number of choices."""
    mutation_rate: Annotated[float, Range(above=0)] = 1.0
    """Expected number of changed choices under --mutation rate."""


class Individual(NamedTuple):
    """A trained architecture, and its validation error."""

    validation_error: float
    architecture: Architecture


_ERROR = itemgetter(0)  # the quickest key for `min`


class Evolution(BlackBoxOptimizer):
    """Evolution with tournament selection; its subclasses decide who is removed.

    The first individuals are random architectures. With several simulated workers, random architectures are asked for
    until the first result is known and as many as the population has were asked for.
    """

    Hyperparameters = EvolutionHyperparameters
    # NAS-Bench-201's appendix B has a population of 10 and a sample size of 10. The scripts of NAS-Bench-1Shot1 and of
    # NAS-Bench-101's authors have a population of 100 and a sample size of 10.
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"nasbench201": {"population": 10, "tournament": 10}}

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.population: MutableSequence[Individual] = deque()
        self._size, self._tournament = self.hyperparameters.population, self.hyperparameters.tournament
        self._probability = min(self.hyperparameters.mutation_rate / len(self.space.variables()), 1.0)
        self._asked = 0

    def ask(self) -> Query:
        """Return a random architecture while the first population is incomplete, else a mutated parent."""
        self._asked += 1
        if self._asked <= self._size or not self.population:
            return self.query(self.space.sample(self.rng))
        return self.query(self.mutated(self.parent()))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Add an individual; if the population is too large, remove one."""
        self.population.append(Individual(validation_error, query.architecture))
        if len(self.population) > self._size:
            self.remove()

    def parent(self) -> Architecture:
        """Return the best of a tournament; of equals, the one that was drawn first."""
        size, population = len(self.population), self.population
        sampled = [population[int(draw * size)] for draw in self.rng.random(self._tournament).tolist()]
        best: Individual = min(sampled, key=_ERROR)
        return best.architecture

    def mutated(self, arch: Architecture) -> Architecture:
        """Return a mutated copy."""
        kind = self.hyperparameters.mutation
        if kind == "rate":
            return self._mutated_with_rate(arch)
        if kind == "published":
            return self.space.published_mutate(arch, self.rng)
        return self.space.mutate(arch, self.rng)

    def _mutated_with_rate(self, arch: Architecture) -> Architecture:
        """Change every choice independently; draw again where the result is invalid, as NAS-Bench-101's example does.

        The result can equal the parent.
        """
        for _ in range(ATTEMPTS):
            if (child := self.space.mutate_each(arch, self._probability, self.rng)) is not None:
                return child
        raise InvalidInputError(
            f"no mutation of '{arch}' with a rate of {self.hyperparameters.mutation_rate:g} is in {self.space.name}: "
            "lower --mutation-rate"
        )

    @abstractmethod
    def remove(self) -> None:
        """Remove one individual."""


class RegularizedEvolution(Evolution):
    """Evolution that removes the oldest individual: aging keeps lucky evaluations from staying for ever."""

    def remove(self) -> None:
        """Remove the individual whose training ended first."""
        del self.population[0]


class NonRegularizedEvolution(Evolution):
    """Evolution that removes the individual with the largest validation error; of equals, the oldest."""

    def remove(self) -> None:
        """Remove the worst individual."""
        del self.population[max(range(len(self.population)), key=lambda place: self.population[place].validation_error)]
