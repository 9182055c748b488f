"""IS-DARTS (He et al.: IS-DARTS: Stabilizing DARTS through Precise Measurement on Candidate Importance, AAAI 2024).

See docs/is_darts.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.optimizer import USES_ALL_WEIGHTS, WITHOUT_STEPS_OF_LAMBDA, Mixing, OneShotOptimizer
from nasbench1shot1.optimizers.components.allowed import AllowedEntries
from nasbench1shot1.phases import Phase, TrainingImages, data_of_weights, refuse_warm_up
from nasbench1shot1.reading import Reading
from nasbench1shot1.runs.options import OfLength, Range
from nasbench1shot1.runs.schedules import Cosine
from nasbench1shot1.scales import below_full
from nasbench1shot1.space import Choice, OneShotSpace

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from nasbench1shot1.supernets.weight_sharing import SharedWeights


@dataclass(frozen=True, kw_only=True)
class ISDARTSHyperparameters(Hyperparameters):
    """Options of IS-DARTS: which images train the weights, and when the least informative candidates are excluded."""

    training_images: TrainingImages = "weight-half"
    """Images used to train the weights and to measure the candidates: weight-half, or all (published)."""
    shrink_steps: Annotated[int, Range(1)] = 4
    """Number of exclusion steps; each one measures all candidates and excludes the least informative ones."""
    shrink_interval: Annotated[int, Range(1), OfLength.EPOCHS] = 2
    """Number of epochs between exclusion steps, and between the last step and the end of the search."""
    pooled_variance: bool = False
    """Average the variance of an output over the positions of an image before its power is taken. This avoids infinite
    measures where ReLU makes outputs constant."""
    preview_batches: Annotated[int, Range(1)] = 10
    """Number of batches that measure the candidates after an epoch without an exclusion step, only for the curve."""


class ISDARTS(OneShotOptimizer):
    """Train the mean of all candidates, and exclude the least informative ones in the last epochs, until one is left.

    Nothing learns Λ, which marks the preferred architecture with ones. Every allowed entry of a choice with n entries
    has the mixing weight 1 / n, and excluded entries have none. The information of a candidate is that of its outputs
    (`Measure`), without labels or gradients.

    Attributes:
        allowed: the entries of each choice that are not excluded.
        step: number of exclusion steps so far.
    """

    Hyperparameters = ISDARTSHyperparameters
    defaults = {"epochs": 30, "batch_size": 64}  # noqa: RUF012
    original_defaults = {"training_images": "all"}  # noqa: RUF012
    scale_defaults = below_full(preview_batches=2)
    family_defaults = {"nasbench101": {"pooled_variance": True}, "nasbench201": {"weight_decay": 3e-4}}  # noqa: RUF012
    hyperparameters: ISDARTSHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.parameters = {key: value.detach() for key, value in self.parameters.items()}
        self.allowed = AllowedEntries(self.space)
        self.chosen = self.space.discretise(self.parameters)
        self.epoch, self.epochs, self.step = 0, 0, 0

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the cells of a space do not show the outputs of all candidates."""
        space.check_cells("observed-candidates", "IS-DARTS")

    @classmethod
    def unused_options(cls, hyperparameters: ISDARTSHyperparameters) -> Mapping[str, str]:
        """Return the options for batches of Λ, because no gradient trains Λ, and the option for unused weights."""
        return {**WITHOUT_STEPS_OF_LAMBDA, **USES_ALL_WEIGHTS}

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the training of all candidates, and the epochs after the first exclusion.

        Raises InvalidInputError for a warm-up, and if no epoch is left for the first phase.
        """
        refuse_warm_up("IS-DARTS", warm_start_epochs)
        shrinking = self._shrinking
        if epochs <= shrinking:
            settings = self.hyperparameters
            raise InvalidInputError(
                f"{option('shrink_steps', settings.shrink_steps)} and "
                f"{option('shrink_interval', settings.shrink_interval)} leave no epoch of {option('epochs', epochs)} "
                "before the first exclusion: lower one of the first two, or raise the last"
            )
        data = data_of_weights(self.hyperparameters.training_images)
        before = epochs - shrinking
        return [
            Phase("training", before, Cosine(epochs), data=data),
            Phase("shrinking", shrinking, Cosine(epochs, before + 1), data=data),
        ]

    @property
    def _shrinking(self) -> int:
        """The number of epochs after the first exclusion."""
        return self.hyperparameters.shrink_steps * self.hyperparameters.shrink_interval

    @property
    def is_relaxed(self) -> bool:
        """True: the weights train under mixtures."""
        return True

    @property
    def mixes_shares(self) -> bool:
        """False: without excluded candidates, mixing weights add up to less than 1."""
        return False

    @property
    def evaluates_relaxation(self) -> bool:
        """False: mixing weights do not depend on Λ."""
        return False

    @property
    def changes_structure(self) -> bool:
        """True: choices are decided in the last epochs."""
        return True

    @property
    def scored_mixtures(self) -> int:
        """The number of times that the supernet passes a half of the images to measure its candidates."""
        return (self.hyperparameters.shrink_steps - self.step) * self._halves

    def mixture_scorings(self, batch_size: int, images: int) -> Sequence[tuple[int, int]]:
        """Return the work of the measure after an epoch without exclusions."""
        return [(1, min(self.hyperparameters.preview_batches * batch_size, self._halves * images))]

    @property
    def _halves(self) -> int:
        """The number of halves of the images that measure the candidates."""
        return 2 if self.hyperparameters.training_images == "all" else 1

    def score_mixing(self, shared: SharedWeights, rows: Tensor) -> None:
        """Measure the candidates on some images."""
        self._measure(shared, rows)

    def remaining_share(self, epoch: int, phases: Sequence[Phase]) -> float:
        """Return the share of the excludable entries of all choices that are left before an epoch."""
        choices, step = self.space.choices(), self._steps_before(epoch, phases)
        left = [_left(choice, step, self.hyperparameters.shrink_steps) - choice.picks for choice in choices]
        return sum(left) / max(sum(choice.entries - choice.picks for choice in choices), 1)

    def rehearse(self, epoch: int, phases: Sequence[Phase]) -> None:
        """Exclude as many entries as before an epoch."""
        self.step = self._steps_before(epoch, phases)
        for number, choice in enumerate(self.space.choices()):
            self.allowed.shorten(number, _left(choice, self.step, self.hyperparameters.shrink_steps))

    def _steps_before(self, epoch: int, phases: Sequence[Phase]) -> int:
        """Return the number of exclusion steps before an epoch."""
        begun = epoch - 1 - (sum(phase.epochs for phase in phases) - self._shrinking)
        settings = self.hyperparameters
        return 0 if begun < 0 else min(begun // settings.shrink_interval + 1, settings.shrink_steps)

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set the current epoch; before the first exclusion, all candidates are allowed."""
        super().begin_epoch(epoch, epochs, generator)
        self.epoch, self.epochs = epoch, epochs
        if epoch <= epochs - self._shrinking:
            self.allowed.clear()  # a search that ended at its first exclusion, and continues with more epochs
            self.step = 0

    @classmethod
    def reading(cls, hyperparameters: Any, epoch: int, epochs: int) -> Reading:
        """Return equal mixing weights of all candidates, without the excluded ones."""
        return Reading("equal", "equal")

    def mixing(self) -> Mixing:
        """Return the fixed mean of all candidates, without the excluded ones."""
        from nasbench1shot1.supernets.supernet import to_tensors

        shapes = self.space.mixing_shapes()
        weights = {key: np.zeros(shape, np.float32) for key, shape in shapes.items()}
        for number, choice in enumerate(self.space.choices()):
            choice.of(weights)[list(self.allowed[number])] = 1 / choice.entries
        return self.allowed.restrict(Mixing(to_tensors(weights, self.device)))

    def end_epoch(self, shared: SharedWeights) -> None:
        """Measure all candidates on all training images; exclude the least informative ones if this is due."""
        begun, settings = self.epoch - (self.epochs - self._shrinking), self.hyperparameters
        if begun < 0 or begun % settings.shrink_interval or begun == self._shrinking:
            return
        self.step = begun // settings.shrink_interval + 1
        measures = self._measure(shared, shared.training_rows(settings.training_images))
        for number, choice in enumerate(self.space.choices()):
            left = _left(choice, self.step, settings.shrink_steps)
            self.allowed.keep(number, most_informative(measures[number], self.allowed[number], left))

    def choose(self, shared: SharedWeights) -> None:
        """Prefer the most informative candidates that are left, measured on a few batches unless all are decided."""
        from nasbench1shot1.images.batches import batches
        from nasbench1shot1.supernets.supernet import to_tensors

        choices = self.space.choices()
        picks: list[tuple[int, ...]] = [self.allowed[number] for number in range(len(choices))]
        if self.allowed.undecided:
            rows = shared.training_rows(self.hyperparameters.training_images)
            some = min(self.hyperparameters.preview_batches * shared.batch_size, len(rows))
            measures = self._measure(shared, next(batches(rows, some, self.generator)))
            picks = [
                most_informative(measures[number], allowed, choice.picks)
                for number, (choice, allowed) in enumerate(zip(choices, picks, strict=True))
            ]
        self.chosen = self.space.from_picks(picks)
        self.parameters = to_tensors(self.space.one_hot(self.chosen), self.device)

    def _measure(self, shared: SharedWeights, rows: Tensor) -> list[NDArray[np.float64]]:
        """Return the measure of every entry of each choice; 0 for entries without an output."""
        measure = Measure(self.hyperparameters.pooled_variance)
        shared.observe(self.mixing(), rows, measure)
        found = measure.means()
        return [
            np.array([found.get((choice.key, choice.row, entry), 0.0) for entry in range(choice.entries)])
            for choice in self.space.choices()
        ]

    def architecture(self) -> Architecture:
        """Return the architecture that was chosen last."""
        return self.chosen

    def preferences(self) -> Mapping[str, Tensor]:
        """Return Λ, with excluded entries lowered slightly, so that allowed networks precede others as close."""
        allowed = self.allowed.masked(self.parameters)
        return {
            key: values.where(allowed[key] > -float("inf"), values - 1e-3) for key, values in self.parameters.items()
        }

    def structure(self) -> Mapping[str, Any]:
        """Return the allowed entries of every choice of which some are excluded."""
        return self.allowed.structure()

    def state_dict(self) -> dict[str, Any]:
        """Return the architecture that was chosen last, the allowed entries, and the number of exclusion steps."""
        return {"chosen": str(self.chosen), "step": self.step, **self.allowed.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        from nasbench1shot1.supernets.supernet import to_tensors

        self.chosen = Architecture.parse(state["chosen"])
        self.parameters = to_tensors(self.space.one_hot(self.chosen), self.device)
        self.allowed.load_state_dict(state)
        self.step = int(state["step"])


class Measure:
    """Collects the mean of 3 (x - μ)² / σ⁶ over the outputs x of every candidate, an observer of passes.

    μ and σ are the mean and the standard deviation (with n - 1) over the n channels of a position. The mean over the
    channels is 3 (n - 1) / n · σ⁻⁴, so a candidate is informative if its measure is small. The measure of an output
    that is constant over the channels is infinite.

    Args:
        pooled: average σ² over the positions of an image first.
    """

    def __init__(self, pooled: bool = False) -> None:
        self._pooled = pooled
        self._sums: dict[tuple[str, int | None, int], Tensor] = {}
        self._images: dict[tuple[str, int | None, int], int] = {}

    def __call__(self, key: str, row: int | None, entry: int, output: Tensor) -> None:
        """Add the outputs (N, C, H, W) of a candidate in one cell."""
        import torch

        candidate, channels = (key, row, entry), output.shape[1]
        variance = output.float().var(dim=1, correction=min(1, channels - 1)).double()
        if self._pooled:
            variance = variance.mean(dim=(1, 2), keepdim=True)
        power = torch.where(variance > 0, variance, 0).pow(-2)
        factor = 3 * (channels - 1) / channels or 1.0  # 1 for a single channel, whose variance is 0
        self._sums[candidate] = self._sums.get(candidate, 0) + factor * power.mean(dim=(1, 2)).sum()
        self._images[candidate] = self._images.get(candidate, 0) + len(output)

    def means(self) -> dict[tuple[str, int | None, int], float]:
        """Return the mean over all images and cells, by key, row and entry."""
        return {candidate: float(total) / self._images[candidate] for candidate, total in self._sums.items()}


def _left(choice: Choice, step: int, steps: int) -> int:
    """Return the number of entries of a choice that are left after one of the exclusion steps."""
    return choice.entries - (choice.entries - choice.picks) * step // steps


def most_informative(measures: NDArray[np.float64], allowed: Sequence[int], number: int) -> tuple[int, ...]:
    """Return a number of allowed entries with the smallest measures; of equal ones, later entries are preferred."""
    kept = sorted(allowed, key=lambda entry: (measures[entry], -entry))[:number]
    return tuple(sorted(kept))
