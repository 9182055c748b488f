"""GAEA (Li et al.: Geometry-Aware Gradient Algorithms for Neural Architecture Search, ICLR 2021). See docs/gaea.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_WEIGHTS, RuleName
from nasbench1shot1.optimizers.levels import LevelHyperparameters, level_phases
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.options import IF_GIVEN, RATE, OfLength, OnlyWith, Range
from nasbench1shot1.runs.schedules import Cosine

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.optimizer import SearchStep
    from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class GAEAHyperparameters(LevelHyperparameters):
    """Options of GAEA: DARTS whose mixing weights are updated by exponentiated gradients."""

    rule: Annotated[RuleName | None, IF_GIVEN] = "exponentiated-gradient"
    """Update rule of Λ: adam, or exponentiated-gradient on the mixing weights."""
    architecture_learning_rate: Annotated[float, RATE, OfLength.STEP] = 0.1
    """Learning rate of Λ."""
    architecture_weight_decay: Annotated[float, RATE] = 0.0
    """Weight of an entropy term in the loss of Λ, or Adam's weight decay."""
    cosine_epochs: Annotated[int | None, Range(1), OfLength.EPOCHS, IF_GIVEN] = None
    """Length in epochs of the cosine schedule of the weights' learning rate; a search with fewer epochs uses only its
    beginning (published: 50, for 25 epochs). Default: the number of epochs."""
    returned_epoch: Annotated[
        Literal["last", "best"] | None, OnlyWith("training_images", ("weight-half",)), IF_GIVEN
    ] = None
    """Epoch whose Λ is returned. best: the epoch with the lowest one-shot error (published), which needs images that do
    not train the weights. Default: last."""


class GAEA(DARTS):
    """Train with the softmax of Λ = log θ; multiply θ by exp(-η ∂L/∂θ) and normalise it."""

    Hyperparameters = GAEAHyperparameters
    original_defaults = {"returned_epoch": "best"}  # noqa: RUF012
    original_family_defaults = {  # noqa: RUF012
        "nasbench201": {
            **PUBLISHED_WEIGHTS,
            "channels": 24,
            "epochs": 25,
            "cosine_epochs": 50,
            "exclude_none": True,
        }
    }
    hyperparameters: GAEAHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._best_error = math.inf
        self._best: dict[str, Tensor] = {}
        self._epoch = 0
        self._best_epoch: int | None = None
        self._selected_epoch: int | None = None
        self._has_moved = False

    @property
    def _returns_best(self) -> bool:
        settings = self.hyperparameters
        return settings.returned_epoch == "best" and settings.training_images == "weight-half"

    @property
    def selects_epoch(self) -> bool:
        """Whether the search returns its best epoch."""
        return self._returns_best

    @property
    def selected_epoch(self) -> int | None:
        """After `end_search`: the epoch with the lowest one-shot error if the search returns it; else None."""
        return self._selected_epoch

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases, on the images of the option `levels`.

        Raises InvalidInputError if the search is longer than `cosine_epochs`.
        """
        settings = self.hyperparameters
        phases = level_phases(settings, epochs, warm_start_epochs)
        if (length := settings.cosine_epochs) is None:
            return phases
        if length < epochs:
            raise InvalidInputError(
                f"{option('cosine_epochs', length)} is less than {option('epochs', epochs)}: give "
                f"{option('cosine_epochs', epochs)}, or lower {option('epochs')}"
            )
        first = {"search": warm_start_epochs + 1}
        return [replace(phase, schedule=Cosine(length, first.get(phase.name, 1))) for phase in phases]

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Note the number of the epoch."""
        super().begin_epoch(epoch, epochs, generator)
        self._epoch = epoch

    def architecture_step(self, step: SearchStep) -> None:
        """Move Λ once; before the first such step, no epoch can be the best."""
        super().architecture_step(step)
        self._has_moved = True

    def choose(self, shared: SharedWeights) -> None:
        """Keep Λ of the epoch with the lowest one-shot error so far, if it is to be returned."""
        if not (self._returns_best and self._has_moved):
            return
        error = float(shared.scores([self.evaluation_mixing()]).errors[0])
        if error < self._best_error:
            self._best_error, self._best_epoch = error, self._epoch
            self._best = {key: value.detach().clone() for key, value in self.parameters.items()}

    def mixture_scorings(self, batch_size: int, images: int) -> Sequence[tuple[int, int]]:
        """Return the work that finds the best epoch."""
        return [(1, images)] if self._returns_best else []

    @property
    def has_final_selection(self) -> bool:
        """Whether there is a best epoch to be returned."""
        return bool(self._best)

    def end_search(self, shared: SharedWeights) -> None:
        """Return to Λ of the best epoch, if it is to be returned."""
        for key, value in self._best.items():
            self.parameters[key].data.copy_(value)
        self._selected_epoch = self._best_epoch

    def state_dict(self) -> dict[str, Any]:
        """Return the state of DARTS and, if it is to be returned, the best epoch, its Λ and its error."""
        found = {"best_error": self._best_error, "best": dict(self._best), "best_epoch": self._best_epoch}
        return {**super().state_dict(), **(found if self._best else {})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self._best_error, self._best = state.get("best_error", math.inf), dict(state.get("best", {}))
        self._best_epoch, self._selected_epoch = state.get("best_epoch"), None
