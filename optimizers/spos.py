"""SPOS (Guo et al.: Single Path One-Shot Neural Architecture Search with Uniform Sampling, ECCV 2020).

See docs/spos.md.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat
from math import gcd
from typing import TYPE_CHECKING, Annotated

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.random_ws import RandomWS
from nasbench1shot1.optimizers.sampling import SamplingHyperparameters
from nasbench1shot1.phases import Phase, TrainingImages, data_of_weights, refuse_warm_up
from nasbench1shot1.runs.options import OnlyWith, Range
from nasbench1shot1.runs.schedules import Cosine
from nasbench1shot1.scales import below_full

if TYPE_CHECKING:
    from torch import Tensor

    from nasbench1shot1.supernets.weight_sharing import SharedWeights

BATCH = 128  # images in a batch of recalibration, as published
FITNESS_BATCH = 200  # images in a batch of the loader for fitness, as published
ATTEMPTS = 10  # proposals for each wanted architecture, as published; a small space may have no others


@dataclass(frozen=True, kw_only=True)
class SPOSHyperparameters(SamplingHyperparameters):
    """Options of SPOS: training along uniformly sampled single paths, then evolution with the shared weights."""

    training_images: TrainingImages = "weight-half"
    """Images that train the weights: weight-half, so that fitness is measured on held-out images; or all."""
    candidates: Annotated[int, Range(1)] = 50
    """Number of architectures drawn and scored after every epoch, only for the curve; evolution does not use them."""
    finalists: Annotated[int, Range(1)] = 1
    """Number of best candidates scored again on the whole architecture half; 1 disables the second round."""
    generations: Annotated[int, Range(1)] = 20
    """Number of generations of the evolution after the last epoch."""
    population: Annotated[int, Range(2)] = 50
    """Number of architectures in a generation."""
    survivors: Annotated[int, Range(1), OnlyWith("generations", above=1)] = 10
    """Number of parents of each generation: the best architectures found so far."""
    crossovers: Annotated[int, Range(0), OnlyWith("generations", above=1)] = 25
    """Number of crossovers per generation, whose choices come from two parents."""
    mutations: Annotated[int, Range(0), OnlyWith("generations", above=1)] = 25
    """Number of mutations per generation; random architectures complete the generation."""
    mutation_probability: Annotated[float, Range(0, 1), OnlyWith("mutations"), OnlyWith("generations", above=1)] = 0.1
    """Probability that a mutation redraws a choice."""
    recalibration_batches: Annotated[int, Range(1), OnlyWith("evaluation_batch_norm", ("recalibrated",))] = 1
    """Number of batches of 128 training images that recalibrate batch-norm before the fitness of an architecture is
    measured (published: 200). 1: one batch, which all architectures share. More: separate, augmented batches for each
    architecture."""
    fitness_images: Annotated[int, Range(0)] = 0
    """Number of images of the architecture half on which fitness is measured (published: 8,000). 0: all of them. All
    architectures share the images. With --own-images, each architecture is scored on the next images of the shuffled
    half, or on the whole half if it has fewer."""

    def check(self) -> None:
        """Raise InvalidInputError for values that are out of range or contradict each other."""
        super().check()
        if self.generations > 1 and self.crossovers + self.mutations > self.population:
            raise InvalidInputError(
                f"{option('crossovers', self.crossovers)} and {option('mutations', self.mutations)} add up to more "
                f"than {option('population', self.population)}: lower them, or raise {option('population')}"
            )


class SPOS(RandomWS):
    """Train one uniformly drawn architecture per step; evolve architectures after the last epoch.

    Accuracy under the shared weights is the fitness, with batch-norm statistics that are computed anew for every
    architecture. No architecture is scored twice. With bounds, only architectures within them are drawn.
    """

    Hyperparameters = SPOSHyperparameters
    defaults = {"batch_size": 64}  # noqa: RUF012
    original_defaults = {  # noqa: RUF012
        "evaluation_batch_norm": "recalibrated",
        "recalibration_batches": 200,
        "fitness_images": 8000,
        "own_images": True,
        "augment_scored_images": False,
    }
    scale_defaults = below_full(
        candidates=20, candidate_batches=2, generations=5, recalibration_batches=1, fitness_images=0
    )
    family_defaults = {}  # noqa: RUF012
    original_family_defaults = {"nasbench201": {"evaluation_batch_norm": "recalibrated"}}  # noqa: RUF012
    hyperparameters: SPOSHyperparameters

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return one phase that trains the weights; raises InvalidInputError for a warm-up."""
        refuse_warm_up("SPOS", warm_start_epochs)
        data = data_of_weights(self.hyperparameters.training_images)
        return [Phase("training", epochs, Cosine(epochs), moves_parameters=False, data=data)]

    def check_images(self, weight_images: int, architecture_images: int) -> None:
        """Raise InvalidInputError if recalibration, or fitness on shared images, needs more images than there are."""
        settings = self.hyperparameters
        if settings.fitness_images > architecture_images and not settings.own_images:
            raise InvalidInputError(
                f"{option('fitness_images', settings.fitness_images)} is more than the {architecture_images:,} images "
                "of the architecture half: lower it, or use more images"
            )
        if settings.recalibration_batches > 1 and weight_images < BATCH:
            raise InvalidInputError(
                f"{option('recalibration_batches', settings.recalibration_batches)} needs batches of {BATCH} images, "
                f"and the weight half has only {weight_images:,}: remove it, or use more images"
            )

    def end_search(self, shared: SharedWeights) -> None:
        """Evolve architectures on images of the architecture half, and choose the best one."""
        import torch

        from nasbench1shot1.supernets.supernet import to_tensors

        settings = self.hyperparameters
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=self.generator)))
        errors: dict[Architecture, float] = {}
        best: list[Architecture] = []
        errors_of = self._fitness(shared)
        for _ in range(settings.generations):
            made = self._generation(best, errors, rng)
            if not made:
                break  # every architecture of the space is scored
            errors.update(zip(made, errors_of(made), strict=True))
            best = sorted(errors, key=errors.__getitem__)[: settings.survivors]  # stable: ties go to the earlier one
        self.chosen = best[0]
        self.parameters = to_tensors(self.space.one_hot(self.chosen), self.device)

    def _fitness(self, shared: SharedWeights) -> Callable[[Sequence[Architecture]], list[float]]:
        """Return the function that measures the errors of architectures as the options select."""
        settings, calibration = self.hyperparameters, None
        if settings.recalibration_batches > 1 and shared.batch_norm == "recalibrated":
            calibration = shared.training_batches(BATCH, self.generator)
        rows: Iterator[Tensor | None] = repeat(None)
        if settings.fitness_images and settings.own_images:
            size = gcd(settings.fitness_images, FITNESS_BATCH)  # whole batches, also for other numbers of images
            rows = shared.rows_in_turn(size, self.generator, settings.fitness_images // size)
        elif settings.fitness_images:
            rows = repeat(shared.rows(settings.fitness_images, self.generator))

        def errors(made: Sequence[Architecture]) -> list[float]:
            if calibration is not None:
                batches = settings.recalibration_batches
                return [shared.recalibrated_error(arch, islice(calibration, batches), next(rows)) for arch in made]
            if settings.fitness_images and settings.own_images:
                return [float(shared.errors([arch], next(rows))[0]) for arch in made]
            chosen = next(rows)
            return list(map(float, shared.errors(made) if chosen is None else shared.errors(made, chosen)))

        return errors

    def _generation(
        self, parents: Sequence[Architecture], scored: dict[Architecture, float], rng: np.random.Generator
    ) -> list[Architecture]:
        """Return architectures that were not scored yet: crossovers, mutations, and random ones to fill up."""
        settings, made = self.hyperparameters, dict[Architecture, None]()
        if parents:
            self._propose(made, scored, settings.crossovers, lambda: self._crossover(parents, rng))
            self._propose(made, scored, settings.mutations, lambda: self._mutation(parents, rng))
        self._propose(made, scored, settings.population - len(made), lambda: self._random(rng))
        return list(made)

    def _propose(
        self,
        made: dict[Architecture, None],
        scored: Container[Architecture],
        number: int,
        propose: Callable[[], Architecture | None],
    ) -> None:
        """Add a number of new architectures within the bounds, or fewer if too many proposals are unsuitable."""
        wanted = len(made) + number
        for _ in range(ATTEMPTS * number):
            if len(made) == wanted:
                return
            arch = propose()
            if arch is None or arch in scored:
                continue
            if self.constraint is None or self.constraint.allows(arch):
                made[arch] = None

    def _random(self, rng: np.random.Generator) -> Architecture:
        """Draw an architecture within the bounds uniformly; raises the error of `Constraint.draw`."""
        draw = partial(self.space.sample, rng)
        return draw() if self.constraint is None else self.constraint.draw(draw)

    def _crossover(self, parents: Sequence[Architecture], rng: np.random.Generator) -> Architecture | None:
        """Return an architecture each of whose choices comes from one of two parents with equal probability."""
        first, second = (self.space.values_of(parents[int(i)]) for i in rng.integers(len(parents), size=2))
        taken = rng.random(len(first)) < 0.5
        return self._from_values([a if of_first else b for a, b, of_first in zip(first, second, taken, strict=True)])

    def _mutation(self, parents: Sequence[Architecture], rng: np.random.Generator) -> Architecture | None:
        """Return a parent some of whose choices are drawn again uniformly."""
        values = self.space.values_of(parents[int(rng.integers(len(parents)))])
        sizes = self.space.variables()
        drawn = rng.random(len(values)) < self.hyperparameters.mutation_probability
        fresh = rng.integers(sizes)
        return self._from_values(
            [int(new) if is_drawn else old for old, new, is_drawn in zip(values, fresh, drawn, strict=True)]
        )

    def _from_values(self, values: Sequence[int]) -> Architecture | None:
        """Return the architecture with these values; None for a combination that the space does not have."""
        with suppress(InvalidInputError):
            return self.space.from_values(values)
        return None

    def scorings_at_end(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """Return the work of the evolution: images of fitness and of recalibration, whose first batch always counts."""
        settings = self.hyperparameters
        images = min(settings.fitness_images or architecture_images, architecture_images)
        return [(settings.generations * settings.population, images + (settings.recalibration_batches - 1) * BATCH)]
