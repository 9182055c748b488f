"""SETN (Dong and Yang: One-Shot Neural Architecture Search via Self-Evaluated Template Network, ICCV 2019), as run in
NAS-Bench-201 (Dong and Yang, ICLR 2020). See docs/setn.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import option
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.adam import AdamHyperparameters, AdamOptimizer
from nasbench1shot1.optimizers.sampling import (
    RepeatedSelection,
    RepeatedSelectionHyperparameters,
    draw_uniformly,
    select,
    selection_scorings,
)
from nasbench1shot1.probability import most_probable
from nasbench1shot1.runs.options import Range
from nasbench1shot1.scales import below_full
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch

    from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class SETNHyperparameters(AdamHyperparameters, RepeatedSelectionHyperparameters):
    """Options of Λ's optimizer, and options for selecting the architecture of an epoch."""

    candidates: Annotated[int, Range(1)] = 100
    """Number of candidates: the most probable networks under Λ, which the shared weights score after every epoch."""


class SETN(AdamOptimizer, RepeatedSelection):
    """Train uniformly drawn architectures, and learn Λ, which determines the candidates.

    With bounds, only architectures within them are trained and are candidates.
    """

    Hyperparameters = SETNHyperparameters
    defaults = {"batch_size": 64}  # noqa: RUF012
    family_defaults = {"nasbench201": {"epochs": 250, "candidate_batches": 4, "finalists": 1}}  # noqa: RUF012
    original_family_defaults = {  # noqa: RUF012
        "nasbench201": {
            "grad_clip": 0.0,
            "candidate_batches": 8,
            "own_images": True,
            "scored_batch_size": 512,
            "final_candidates": 100,
            "weights_first": True,
            "unused_weights": "decayed",  # Λ's pass uses all weights
        }
    }
    scale_defaults = below_full(candidate_batches=2)
    hyperparameters: SETNHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.chosen = self.space.discretise(self.parameters)

    @property
    def is_relaxed(self) -> bool:
        """False: the weights train along single paths."""
        return False

    def mixing(self) -> Mixing:
        """Return one architecture, drawn uniformly over the space's encodings."""
        drawn = self._draw() if self.constraint is None else self.constraint.draw(self._draw)
        return Mixing(path=drawn)

    def _draw(self) -> Architecture:
        return draw_uniformly(self.space, self.generator)

    def architecture_step(self, step: SearchStep) -> None:
        """Take one Adam step on Λ, with the gradient of the validation loss at the softmax of Λ."""
        import torch

        from nasbench1shot1.optimizers.components.relaxation import softmax

        loss = step.loss(softmax(self.space, self.parameters, 1.0, None), step.architecture_batch)
        self.descend(torch.autograd.grad(loss, list(self.parameters.values()), allow_unused=True))

    def choose(self, shared: SharedWeights) -> None:
        """Select among `candidates`; raises the error of `choose_among`."""
        self.choose_among(self.hyperparameters.candidates, shared)

    def choose_among(self, candidates: int, shared: SharedWeights) -> None:
        """Score a number of the most probable networks with the shared weights, and choose the best.

        Raises DivergedError if Λ has diverged.
        """
        from nasbench1shot1.runs.divergence import check_finite

        advice = f"while it was learned: search again with a lower {option('architecture_learning_rate')}"
        check_finite(self.parameters.values(), "an architecture parameter", advice)
        networks = (architecture for architecture, _ in most_probable(self.space, self.parameters))
        probable = networks if self.constraint is None else filter(self.constraint.allows, networks)
        best = list(islice(probable, candidates))
        self.chosen = select(best, shared, self.hyperparameters, self.generator)

    def evaluation_mixing(self) -> Mixing:
        """Return the architecture that was chosen last."""
        return Mixing(path=self.chosen)

    def architecture(self) -> Architecture:
        """Return the architecture that was chosen last."""
        return self.chosen

    def scorings(self, batch_size: int, architecture_images: int) -> list[tuple[int, int]]:
        """Return the work for the candidates on some batches, and for the finalists on the whole architecture half."""
        return selection_scorings(self.hyperparameters, batch_size, architecture_images)

    def state_dict(self) -> dict[str, Any]:
        """Return Λ, Adam's moments and the architecture that was chosen last."""
        return {**super().state_dict(), "chosen": str(self.chosen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.chosen = Architecture.parse(state["chosen"])
