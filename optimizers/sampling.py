"""Methods that train one sampled architecture per step and select the result with the shared weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import WITHOUT_STEPS_OF_LAMBDA, Hyperparameters, Mixing, OneShotOptimizer
from nasbench1shot1.runs.options import IF_GIVEN, Range
from nasbench1shot1.scales import below_full
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch

    from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class SamplingHyperparameters(Hyperparameters):
    """Options for selecting the architecture of an epoch."""

    candidates: Annotated[int, Range(1)] = 1000
    """Number of architectures drawn and scored with the shared weights after every epoch."""
    candidate_batches: Annotated[int, Range(1)] = 10
    """Number of batches of the architecture half that score each candidate."""
    finalists: Annotated[int, Range(1)] = 5
    """Number of best candidates scored again on the whole architecture half; 1 disables the second round."""
    own_images: Annotated[bool | None, IF_GIVEN] = None
    """Score every candidate on its own batches, as in the published code, instead of the same images for all.
    Default: no."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range."""
        super().check()
        if self.finalists > self.candidates:
            raise InvalidInputError(
                f"{option('finalists', self.finalists)} cannot be more than {option('candidates', self.candidates)}: "
                f"lower {option('finalists')} or raise {option('candidates')}"
            )


@dataclass(frozen=True, kw_only=True)
class RepeatedSelectionHyperparameters(SamplingHyperparameters):
    """Options of methods that can select once more when a search ends."""

    final_candidates: Annotated[int | None, Range(1), IF_GIVEN] = None
    """Number of candidates in a further selection at the end of the search, on other images. The search returns the
    architecture that it selects. Default: no further selection."""


class RepeatedSelection(OneShotOptimizer):
    """A method that selects among candidates after every epoch, and can select once more when the search ends."""

    @abstractmethod
    def choose_among(self, candidates: int, shared: SharedWeights) -> None:
        """Select the best of a number of candidates."""

    @property
    def has_final_selection(self) -> bool:
        """Whether the option `final_candidates` is set, unless a subclass ends the search in its own way."""
        if type(self).end_search is not RepeatedSelection.end_search:
            return super().has_final_selection
        return bool(self.hyperparameters.final_candidates)

    def end_search(self, shared: SharedWeights) -> None:
        """Select among `final_candidates`, if that option is set."""
        if self.hyperparameters.final_candidates:
            self.choose_among(self.hyperparameters.final_candidates, shared)

    def scorings_at_end(self, batch_size: int, architecture_images: int) -> Sequence[tuple[int, int]]:
        """Return the work of the further selection."""
        settings: RepeatedSelectionHyperparameters = self.hyperparameters
        if settings.final_candidates is None:
            return []
        return selection_scorings(
            replace(settings, candidates=settings.final_candidates), batch_size, architecture_images
        )


class SamplingOptimizer(OneShotOptimizer):
    """A one-shot method without a relaxation: every weight step trains the weights of one sampled architecture.

    The recorded Λ marks the chosen architecture with ones. With bounds, only architectures within them are trained and
    are candidates: others are drawn again.
    """

    Hyperparameters = SamplingHyperparameters
    scale_defaults = below_full(candidates=100, candidate_batches=2)
    hyperparameters: SamplingHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.parameters = {key: value.detach() for key, value in self.parameters.items()}
        self.chosen = self.space.discretise(self.parameters)

    @classmethod
    def unused_options(cls, hyperparameters: SamplingHyperparameters) -> Mapping[str, str]:
        """Return the options for batches of Λ, which does not follow gradients."""
        return WITHOUT_STEPS_OF_LAMBDA

    @abstractmethod
    def sample(self) -> Architecture:
        """Draw an architecture with `self.generator`."""

    def mixing(self) -> Mixing:
        """Return one sampled architecture."""
        return Mixing(path=self.sample_allowed())

    def sample_allowed(self) -> Architecture:
        """Draw an architecture within the bounds of the search; raises the error of `Constraint.draw`."""
        return self.sample() if self.constraint is None else self.constraint.draw(self.sample)

    def evaluation_mixing(self) -> Mixing:
        """Return the architecture that was chosen last."""
        return Mixing(path=self.chosen)

    def choose(self, shared: SharedWeights) -> None:
        """Draw candidates and select the best one."""
        self.choose_among(self.hyperparameters.candidates, shared)

    def choose_among(self, candidates: int, shared: SharedWeights) -> None:
        """Draw candidates and select the best one; drop duplicates, unless each is scored on its own images."""
        from nasbench1shot1.supernets.supernet import to_tensors

        drawn = [self.sample_allowed() for _ in range(candidates)]
        if not self.hyperparameters.own_images:
            drawn = list(dict.fromkeys(drawn))
        self.chosen = select(drawn, shared, self.hyperparameters, self.generator)
        self.parameters = to_tensors(self.space.one_hot(self.chosen), self.device)

    def architecture(self) -> Architecture:
        """Return the architecture that was chosen last."""
        return self.chosen

    def scorings(self, batch_size: int, architecture_images: int) -> list[tuple[int, int]]:
        """Return the work for the candidates on some batches, and for the finalists on the whole architecture half."""
        return selection_scorings(self.hyperparameters, batch_size, architecture_images)

    def state_dict(self) -> dict[str, Any]:
        """Return the architecture that was chosen last."""
        return {"chosen": str(self.chosen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        from nasbench1shot1.supernets.supernet import to_tensors

        self.chosen = Architecture.parse(state["chosen"])
        self.parameters = to_tensors(self.space.one_hot(self.chosen), self.device)


def draw_uniformly(space: OneShotSpace, generator: torch.Generator) -> Architecture:
    """Draw an architecture uniformly over the space's encodings."""
    import torch

    seed = int(torch.randint(2**62, (), generator=generator))
    return space.sample(np.random.default_rng(seed))


def select(
    candidates: Sequence[Architecture],
    shared: SharedWeights,
    settings: SamplingHyperparameters,
    generator: torch.Generator,
) -> Architecture:
    """Select the best of distinct candidates with the shared weights, in two stages (NAS-Bench-1Shot1, algorithm 4).

    All candidates are scored on the same few images of the architecture half, and the best of them on the whole half.
    With the option `own_images`, each candidate is scored on the next batches of the shuffled half, as in the published
    code (`own_batches`).
    In the first stage, ties go to the earlier candidate; in the second stage, to the better one in the first stage.
    """
    images = settings.candidate_batches * shared.batch_size
    if settings.own_images:
        size, together = own_batches(images, shared.batch_size, shared.scored_batch_size)
        rows = shared.rows_in_turn(size, generator, together)
        errors = np.concatenate([shared.errors([candidate], next(rows)) for candidate in candidates])
    else:
        errors = shared.errors(candidates, shared.rows(images, generator))
    best = np.argsort(errors, kind="stable")[: settings.finalists]
    finalists = [candidates[int(i)] for i in best]
    return finalists[0] if len(finalists) == 1 else finalists[int(shared.errors(finalists).argmin())]


def own_batches(images: int, batch_size: int, scored_batch_size: int | None) -> tuple[int, int]:
    """Return the size of the batches that the half is divided into, and how many of them score one candidate.

    NAS-Bench-201's loader has batches of `scored_batch_size` images. Where a candidate's images are not such batches,
    they are batches of `batch_size`, as in NAS-Bench-1Shot1's loader.
    """
    size = scored_batch_size if scored_batch_size and images % scored_batch_size == 0 else batch_size
    return size, images // size


def selection_scorings(
    settings: SamplingHyperparameters, batch_size: int, architecture_images: int
) -> list[tuple[int, int]]:
    """Return the maximum work of `select`, in the form of `OneShotOptimizer.scorings`."""
    candidates = (settings.candidates, min(settings.candidate_batches * batch_size, architecture_images))
    return [candidates, (settings.finalists, architecture_images)] if settings.finalists > 1 else [candidates]
