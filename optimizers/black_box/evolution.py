"""Regularized (aging) evolution, and evolution that removes the worst individual.

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
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.runs.options import OnlyWith, Range

ATTEMPTS = 10_000
"""Maximum number of draws of a mutation with a rate until one is valid."""


@dataclass(frozen=True, kw_only=True)
class EvolutionHyperparameters(Hyperparameters):
    """The options of regularized and non-regularized evolution."""

    population: Annotated[int, Range(1)] = 100
    """Number of individuals in the population."""
    tournament: Annotated[int, Range(1)] = 10
    """Number of individuals drawn with replacement per tournament; the best becomes the parent."""
    mutation: Literal["published", "neighbour", "rate"] = "published"
    """published: the mutation of the benchmark's published evolution; neighbour: one elementary change, drawn
    uniformly; rate: each choice changes with probability --mutation-rate / number of choices."""
    mutation_rate: Annotated[float, Range(above=0), OnlyWith("mutation", ("rate",))] = 1.0
    """Expected number of changed choices per mutation with --mutation rate."""


class Individual(NamedTuple):
    """A trained architecture and its validation error."""

    validation_error: float
    architecture: Architecture


_ERROR = itemgetter(0)  # the fastest key for `min`


class Evolution(BlackBoxOptimizer):
    """Evolution with tournament selection. Subclasses decide which individual is removed.

    The first individuals are random architectures. With several simulated workers, `ask` returns random architectures
    until the first result is known and `population` architectures have been queried.

    With bounds, a random architecture or a child outside them is drawn again, a child with a new parent.
    """

    Hyperparameters = EvolutionHyperparameters
    # Appendix B of NAS-Bench-201: population 10, sample size 10. Scripts of NAS-Bench-1Shot1 and of NAS-Bench-101's
    # authors: population 100, sample size 10.
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "nasbench201": {"population": 10, "tournament": 10},
        "nats_size": {"population": 10, "tournament": 3},  # exps/NATS-algos/run-all.sh of AutoDL-Projects
    }

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.population: MutableSequence[Individual] = deque()
        self._size, self._tournament = self.hyperparameters.population, self.hyperparameters.tournament
        self._asked = 0

    @property
    def first_trainings(self) -> int:
        """The size of the population: the first individuals are random architectures."""
        return int(self._size)

    def ask(self) -> Query:
        """Return a random architecture until the first population is complete, then a mutated parent."""
        self._asked += 1
        if self._asked <= self._size or not self.population:
            return self.query(self.first_allowed(lambda: self.space.sample(self.rng)))
        return self.query(self.first_allowed(lambda: self.mutate(self.select_parent())))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Add an individual to the population; remove one if the population is then too large."""
        self.population.append(Individual(validation_error, query.architecture))
        if len(self.population) > self._size:
            self.remove()

    def select_parent(self) -> Architecture:
        """Return the winner of a tournament; ties are won by the individual drawn first."""
        size, population = len(self.population), self.population
        sampled = [population[int(draw * size)] for draw in self.rng.random(self._tournament).tolist()]
        best: Individual = min(sampled, key=_ERROR)
        return best.architecture

    def mutate(self, arch: Architecture) -> Architecture:
        """Return a mutated copy of an architecture."""
        kind = self.hyperparameters.mutation
        if kind == "rate":
            return self._mutated_with_rate(arch)
        if kind == "published":
            return self.space.published_mutate(arch, self.rng)
        return self.space.mutate(arch, self.rng)

    def _mutated_with_rate(self, arch: Architecture) -> Architecture:
        """Change each choice independently; redraw until the result is valid, as in NAS-Bench-101's example.

        The result can equal the parent.
        """
        # here, because some spaces have no variables
        probability = min(self.hyperparameters.mutation_rate / len(self.space.variables()), 1.0)
        for _ in range(ATTEMPTS):
            if (child := self.space.mutate_each(arch, probability, self.rng)) is not None:
                return child
        raise InvalidInputError(
            f"no valid mutation of '{arch}' in {self.space.name} with rate {self.hyperparameters.mutation_rate:g}: "
            f"lower {option('mutation_rate')}"
        )

    @abstractmethod
    def remove(self) -> None:
        """Remove one individual."""


class RegularizedEvolution(Evolution):
    """Evolution that removes the oldest individual, so that lucky evaluations do not stay forever."""

    def remove(self) -> None:
        """Remove the individual whose training ended first."""
        del self.population[0]


class NonRegularizedEvolution(Evolution):
    """Evolution that removes the individual with the highest validation error; of tied ones, the oldest."""

    def remove(self) -> None:
        """Remove the worst individual."""
        del self.population[max(range(len(self.population)), key=lambda place: self.population[place].validation_error)]
