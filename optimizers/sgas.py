"""SGAS (Li et al.: SGAS: Sequential Greedy Architecture Search, CVPR 2020). See docs/sgas.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import SearchStep
from nasbench1shot1.optimizers.components.allowed import PENALTY
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_SETTINGS, GradientHyperparameters
from nasbench1shot1.phases import Phase, bilevel_phases
from nasbench1shot1.runs.options import OfLength, OnlyWith, Range
from nasbench1shot1.runs.schedules import Cosine

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.space import Choice, OneShotSpace
    from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class SGASHyperparameters(GradientHyperparameters):
    """Options of SGAS: DARTS that decides the choices one at a time during the search."""

    criterion: Annotated[int, Range(1, 2)] = 1
    """Score of a choice. 1: importance times certainty. 2: importance times certainty times stability."""
    decision_start: Annotated[int, Range(1), OfLength.EPOCHS] = 10
    """Number of epochs that update Λ before the first decision."""
    decision_interval: Annotated[int, Range(1), OfLength.EPOCHS] = 5
    """Number of epochs between two decisions."""
    stability_window: Annotated[int, Range(1), OnlyWith("criterion", (2,))] = 4
    """Number of previous epochs with which the stability compares the softmax of Λ."""
    batch_increase: Annotated[int, Range(0)] = 8
    """Number of images by which batches grow after each decision."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for meaningless combinations."""
        super().check()
        if self.relaxation in ("single-path", "interpolation"):
            raise InvalidInputError(
                "SGAS gives the k entries of a decided choice the weight 1/k, which "
                f"{option('relaxation', self.relaxation)} does not use: choose another {option('relaxation')}"
            )


class Measures(NamedTuple):
    """The measures of all choices by which SGAS selects one, (choices,) each, in float64."""

    importance: Tensor
    certainty: Tensor
    stability: Tensor


class SGAS(DARTS):
    """Train with DARTS, and decide one choice at a time: the one that is most important and most certain.

    A decided choice keeps its most probable entries, which have the weight 1/k for k entries. Its Λ does not change any
    more. The operation whose output is zero is never kept.
    """

    Hyperparameters = SGASHyperparameters
    defaults = {"epochs": 60}  # noqa: RUF012
    original_defaults = {"batch_size": 64}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
    hyperparameters: SGASHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.moved_epochs = 0
        self._history: list[list[Tensor]] = []

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the phases of DARTS, with a new phase with larger batches after every decision.

        Raises InvalidInputError if the search ends before the first decision.
        """
        settings, choices = self.hyperparameters, self.space.choices()
        if epochs <= warm_start_epochs + settings.decision_start:
            raise InvalidInputError(
                f"{option('decision_start', settings.decision_start)} leaves no epoch of {option('epochs', epochs)} "
                "after the first decision, without which SGAS is DARTS: lower the first or raise the second"
            )
        *warm_up, search = bilevel_phases(epochs, warm_start_epochs)
        decisions = sum(choice.entries > choice.picks for choice in choices)
        first = warm_start_epochs + settings.decision_start
        after = [first + number * settings.decision_interval for number in range(decisions)]
        ends = [warm_start_epochs, *(epoch for epoch in after if epoch < epochs), epochs]
        parts = [
            replace(
                search,
                epochs=end - begin,
                schedule=Cosine(epochs, begin + 1),
                batch_increase=number * settings.batch_increase,
            )
            for number, (begin, end) in enumerate(pairwise(ends))
        ]
        return [*warm_up, *parts]

    def architecture_step(self, step: SearchStep) -> None:
        """Move Λ as DARTS does, except for decided choices."""
        import torch

        choices = self.space.choices()
        decided = [choices[n].of(self.parameters) for n in set(range(len(choices))) - set(self.allowed.undecided)]
        before = [vector.detach().clone() for vector in decided]
        super().architecture_step(step)
        with torch.no_grad():
            for vector, value in zip(decided, before, strict=True):
                vector.copy_(value)

    def end_epoch(self, shared: SharedWeights) -> None:
        """Decide a choice if one is due, and remember the shares of this epoch."""
        settings, shares = self.hyperparameters, self._shares()
        self.moved_epochs += 1
        late = self.moved_epochs - settings.decision_start
        if late >= 0 and late % settings.decision_interval == 0 and self.allowed.undecided:
            self._decide(shares)
        self._history = [*self._history, shares][-settings.stability_window :]

    def _decide(self, shares: Sequence[Tensor]) -> None:
        """Keep the most probable entries of the undecided choice with the highest score."""
        found = score(self.measures(shares), self.hyperparameters.criterion)
        number = max(self.allowed.undecided, key=lambda undecided: float(found[undecided]))
        choice = self.space.choices()[number]
        order = shares[number].argsort(descending=True, stable=True)[: choice.picks]
        entries = candidates(self.space, choice)
        self.allowed.keep(number, [entries[position] for position in order.tolist()])

    def measures(self, shares: Sequence[Tensor]) -> Measures:
        """Return the measures of all choices, given their shares of this epoch (section 3.2, equations 3 to 7)."""
        import torch

        overlaps = [
            torch.stack([torch.minimum(old[number], new).sum() for old in self._history]).mean()
            if self._history
            else torch.zeros((), dtype=torch.float64)
            for number, new in enumerate(shares)
        ]
        certainties = [certainty(of_choice) for of_choice in shares]
        return Measures(self._importance(), torch.stack(certainties), torch.stack(overlaps))

    def _importance(self) -> Tensor:
        """Return Σ S(Λ) of every choice over its candidates; 1 if the option `exclude_none` leaves no other entries."""
        import torch

        choices = self.space.choices()
        if self.hyperparameters.exclude_none:
            return torch.ones(len(choices), dtype=torch.float64)
        whole = [choice.of(self.parameters).detach().double().softmax(dim=-1).cpu() for choice in choices]
        kept = [p[candidates(self.space, choice)].sum() for p, choice in zip(whole, choices, strict=True)]
        return torch.stack(kept)

    def _shares(self) -> list[Tensor]:
        """Return the softmax of every choice over its candidates, float64 on the CPU."""
        return [
            choice.of(self.parameters).detach().cpu().double()[candidates(self.space, choice)].softmax(dim=-1)
            for choice in self.space.choices()
        ]

    def preferences(self) -> Mapping[str, Tensor]:
        """Return Λ minus a penalty for entries that decided choices do not keep, and a larger one for `none`."""
        key, zero = self.space.operation_key, self.space.zero_operation
        scores = {name: value.detach().clone() for name, value in super().preferences().items()}
        if zero is not None:
            scores[key][..., zero] -= 2 * PENALTY
        return scores

    def remaining_share(self, epoch: int, phases: Sequence[Phase]) -> float:
        """Return the share of the choices that are not decided before an epoch."""
        decidable = self._decidable
        return 1 - min(_decisions_before(epoch, phases), len(decidable)) / max(len(decidable), 1)

    def rehearse(self, epoch: int, phases: Sequence[Phase]) -> None:
        """Decide as many choices as before an epoch."""
        missing = _decisions_before(epoch, phases) - len(self._decidable) + len(self.allowed.undecided)
        for number in self.allowed.undecided[: max(missing, 0)]:
            self.allowed.shorten(number, self.space.choices()[number].picks)

    @property
    def _decidable(self) -> list[int]:
        """The numbers of the choices that have more entries than an architecture takes."""
        return [number for number, choice in enumerate(self.space.choices()) if choice.entries > choice.picks]

    @property
    def changes_structure(self) -> bool:
        """True: Λ alone decides until the first decision."""
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the state of DARTS, the number of epochs that moved Λ, and the shares of the last of them."""
        history = [[shares.tolist() for shares in epoch] for epoch in self._history]
        return {**super().state_dict(), "moved_epochs": self.moved_epochs, "history": history}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        import torch

        super().load_state_dict(state)
        self.moved_epochs = int(state["moved_epochs"])
        self._history = [[torch.tensor(p, dtype=torch.float64) for p in epoch] for epoch in state["history"]]


def _decisions_before(epoch: int, phases: Sequence[Phase]) -> int:
    """Return the number of decisions before an epoch: every phase after the first that moves Λ follows one."""
    ends = accumulate(phase.epochs for phase in phases)
    begun = [phase for phase, end in zip(phases, ends, strict=True) if end - phase.epochs < epoch]
    return max(sum(phase.moves_parameters for phase in begun) - 1, 0)


def candidates(space: OneShotSpace, choice: Choice) -> list[int]:
    """Return the entries of a choice that SGAS may keep: all except the operation whose output is zero."""
    excluded = space.zero_operation if choice.key == space.operation_key else None
    return [entry for entry in range(choice.entries) if entry != excluded]


def certainty(shares: Tensor) -> Tensor:
    """Return 1 - H(p) / log n of shares p, (n,) → () (equations 4 and 5); 1 for a single entry."""
    import torch

    if len(shares) < 2:
        return torch.ones_like(shares).sum()
    entropy: Tensor = -torch.special.xlogy(shares, shares).sum()
    return 1 - entropy / math.log(len(shares))


def score(measures: Measures, criterion: int) -> Tensor:
    """Return the score of each choice, (choices,): the product of the measures, each scaled to 0 … 1.

    Criterion 1 is importance · certainty, criterion 2 also includes the stability (equations 6 and 8). A measure that
    is equal for all choices has no effect.
    """
    first, *others = [scaled(measure) for measure in (measures if criterion == 2 else measures[:2])]
    for other in others:
        first = first * other
    return first


EQUAL = 1e-12
"""Range up to which the values of a measure count as equal: the importance is 1, up to rounding, without a `none`."""


def scaled(values: Tensor) -> Tensor:
    """Return values (n,) scaled linearly to 0 … 1; ones if they are equal."""
    import torch

    smallest, largest = values.min(), values.max()
    spread = largest - smallest
    return torch.ones_like(values) if spread <= EQUAL else (values - smallest) / spread
