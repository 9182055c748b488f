"""DARTS-PT (Wang et al.: Rethinking Architecture Selection in Differentiable NAS, ICLR 2021). See docs/darts_pt.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_SETTINGS, GradientHyperparameters
from nasbench1shot1.phases import Phase, bilevel_phases
from nasbench1shot1.runs.options import OfLength, OnlyWith, Range
from nasbench1shot1.runs.schedules import Constant

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.space import Choice, OneShotSpace
    from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class DARTSPTHyperparameters(GradientHyperparameters):
    """Options of DARTS-PT: DARTS that fixes choices by the accuracy lost without each candidate."""

    selection_epochs: Annotated[int, Range(1), OfLength.EPOCHS] = 25
    """Number of final epochs in which choices are fixed one by one while the supernet is fine-tuned."""
    selection_learning_rate: Annotated[float, Range(0, 1)] = 0.1
    """Learning rate of the weights during the selection epochs, as a fraction of --learning-rate."""
    selection_mode: Literal["evaluation", "training"] = "evaluation"
    """Mode of batch-norm while candidates are compared. evaluation: as for the one-shot error. training: statistics of
    each batch, which also updates the running statistics (published)."""
    selection_keeps_momentum: Annotated[bool, OnlyWith("momentum")] = True
    """Keep the momentum of the search when the selection begins; the published code discards it."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for combinations without a meaning."""
        super().check()
        self.check_mixes_all("DARTS-PT measures the supernet without each candidate")


class DARTSPT(DARTS):
    """Train with DARTS, then fix one choice after another: the candidate without which the supernet errs most.

    The choices are operations first, then edges, in an order that is drawn at random. Decisions are spread evenly over
    the selection epochs: the first follows the last epoch of the search, the last one precedes the last epoch. Mixing
    weights of fixed choices are one-hot; of a choice with k picks, they are 1 / k for each taken entry.
    """

    Hyperparameters = DARTSPTHyperparameters
    defaults = {"epochs": 125}  # noqa: RUF012
    original_defaults = {"selection_mode": "training", "selection_keeps_momentum": False}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
    hyperparameters: DARTSPTHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.epoch, self.epochs = 0, 1
        self._order = self._drawn_order(generator)

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the phases of DARTS, and the selection; raises InvalidInputError if it leaves no epoch for DARTS."""
        settings, selection = self.hyperparameters, self.hyperparameters.selection_epochs
        if epochs - selection <= warm_start_epochs:
            raise InvalidInputError(
                f"{option('selection_epochs', selection)} of {option('epochs', epochs)} leave no epoch for the search: "
                "lower the first or raise the second"
            )
        tuning = Phase(
            "selection",
            selection,
            Constant(settings.selection_learning_rate),
            clears_momentum=not settings.selection_keeps_momentum,
        )
        return [*bilevel_phases(epochs - selection, warm_start_epochs), tuning]

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Note which epoch it is; before the selection, no choice is fixed."""
        super().begin_epoch(epoch, epochs, generator)
        self.epoch, self.epochs = epoch, epochs
        if epoch <= epochs - self.hyperparameters.selection_epochs:
            self.allowed.clear()  # a search that ended just before the selection, and continues with more epochs

    def end_epoch(self, shared: SharedWeights) -> None:
        """Fix the choices that are due after this epoch."""
        due = self._due_after(self.epoch, self.epochs)
        while (undecided := self.allowed.undecided) and len(self._order) - len(undecided) < due:
            self._fix(next(number for number in self._order if number in undecided), shared)

    def _due_after(self, epoch: int, epochs: int) -> int:
        """Return the number of choices that are fixed after an epoch: all of them one epoch before the last."""
        selection = self.hyperparameters.selection_epochs
        begun, choices = epoch - (epochs - selection), len(self._order)
        if begun < 0:
            return 0
        return choices if begun >= selection - 1 else 1 + begun * (choices - 1) // (selection - 1)

    def _drawn_order(self, generator: torch.Generator) -> list[int]:
        """Return the numbers of all choices: operations in a random order, then edges in a random order."""
        import torch

        drawn = torch.randperm(len(self.space.choices()), generator=generator).tolist()
        choices = self.space.choices()
        return sorted(drawn, key=lambda number: choices[number].key != self.space.operation_key)

    def _fix(self, number: int, shared: SharedWeights) -> None:
        """Fix a choice: keep the entries without which the error on the whole architecture half is largest."""
        import torch

        choice = self.space.choices()[number]
        with torch.no_grad():
            mixing = self.evaluation_mixing()
        entries = self.allowed[number]
        passes = [_without(mixing, choice, entry) for entry in entries]
        in_training = self.hyperparameters.selection_mode == "training"
        scores = shared.scores_in_training(passes, self.generator) if in_training else shared.scores(passes)
        worst = np.lexsort((-scores.losses, -scores.errors))  # the loss decides between equal errors
        self.allowed.keep(number, [entries[place] for place in worst[: choice.picks].tolist()])

    @property
    def changes_structure(self) -> bool:
        """True: Λ alone decides until the selection."""
        return True

    def remaining_share(self, epoch: int, phases: Sequence[Phase]) -> float:
        """Return the share of the choices that are not fixed before an epoch."""
        return 1 - self._due_after(epoch - 1, sum(phase.epochs for phase in phases)) / len(self._order)

    def rehearse(self, epoch: int, phases: Sequence[Phase]) -> None:
        """Fix as many choices as before an epoch."""
        due = self._due_after(epoch - 1, sum(phase.epochs for phase in phases))
        missing = due - len(self._order) + len(self.allowed.undecided)
        left = [number for number in self._order if number in self.allowed.undecided]
        for number in left[: max(missing, 0)]:
            self.allowed.shorten(number, self.space.choices()[number].picks)

    @property
    def scored_mixtures(self) -> int:
        """The number of candidates of choices that are not fixed: the supernet is measured without each of them."""
        return sum(len(self.allowed[number]) for number in self.allowed.undecided)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of DARTS, and the order of the choices."""
        return {**super().state_dict(), "order": list(self._order)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self._order = list(state["order"])


def _without(mixing: Mixing, choice: Choice, entry: int) -> Mixing:
    """Return a mixing in which an entry of a choice has the weight 0, in every set of mixing weights."""

    def without(weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        changed = {**weights, choice.key: weights[choice.key].clone()}
        choice.of(changed)[entry] = 0.0
        return changed

    return mixing.with_each(without)
