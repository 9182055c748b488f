"""OLES (Jiang et al.: Operation-Level Early Stopping for Robustifying Differentiable NAS, NeurIPS 2023).

See docs/oles.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import SearchStep, WeightStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_SETTINGS, GradientHyperparameters
from nasbench1shot1.phases import Phase
from nasbench1shot1.runs.options import IF_GIVEN, OnlyWith, Range

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nasbench1shot1.space import OneShotSpace

CORRECTED_THRESHOLD, PUBLISHED_THRESHOLD = -0.68, 0.4
"""The published threshold, and the cosine c that corresponds to it: 0.4 = √((1 + c) / 2) for equal norms."""


@dataclass(frozen=True, kw_only=True)
class OLESHyperparameters(GradientHyperparameters):
    """Options of OLES: DARTS that freezes operations that overfit the weight half."""

    threshold: Annotated[float | None, Range(-1, 1)] = None
    """Freeze an operation if the mean cosine of its gradients on the two halves is below this value. Default: -0.68, or
    0.4 with --summed-gradients (published)."""
    window: Annotated[int, Range(1)] = 20
    """Number of steps over which the cosine of an operation is averaged."""
    summed_gradients: bool = False
    """Compare the gradient on the weight half with the sum of both gradients, as in the published code."""
    clipped_gradients: Annotated[
        bool | None, OnlyWith("summed_gradients", (True,)), OnlyWith("grad_clip"), IF_GIVEN
    ] = None
    """Use the gradient on the weight half after clipping, as in the published code. Needs --summed-gradients.
    Default: no."""
    window_counts_one_more: Annotated[bool | None, IF_GIVEN] = None
    """Sum one value more than --window, but divide by --window, as in the published code. Default: no."""

    def check(self) -> None:
        """Raise InvalidInputError also for flooding, which can reverse the compared gradients."""
        super().check()
        self.check_not_flooded("OLES")


class OLES(DARTS):
    """DARTS that stops training an operation when its gradients on the two halves of the images disagree.

    The measure of an operation in a step is the mean over its weights of the mean cosine, along the first axis, between
    the gradient of the weight step and the gradient that the following batch of the architecture half gives.
    """

    Hyperparameters = OLESHyperparameters
    original_defaults = {  # noqa: RUF012
        "batch_size": 64,
        "summed_gradients": True,
        "clipped_gradients": True,
        "window_counts_one_more": True,
    }
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
    hyperparameters: OLESHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.frozen: dict[str, tuple[str, ...]] = {}
        self.cosines: dict[str, list[float]] = {}
        self._trained: dict[str, Tensor] = {}

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the cells of a space do not list the weights of operations."""
        space.check_cells("weights-of-operations", "OLES")

    def check_length(self, phases: Sequence[Phase], steps: int) -> None:
        """Raise InvalidInputError if the search ends before the first window, so that nothing can be frozen."""
        super().check_length(phases, steps)
        if not self.trains_weights_first:
            steps -= 1  # no weight step of the epoch precedes the first step of Λ
        values = steps * sum(phase.epochs for phase in phases if phase.moves_parameters)
        if self._values_per_window > values:
            raise InvalidInputError(
                f"OLES averages a cosine over {option('window', self.hyperparameters.window)} steps, and the search "
                f"has only {values} such steps: lower {option('window')}, or raise {option('epochs')}"
            )

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Forget the gradients of the last epoch, which a checkpoint does not hold."""
        super().begin_epoch(epoch, epochs, generator)
        self._trained = {}

    def architecture_step(self, step: SearchStep) -> None:
        """Compare the gradients of operations with those of the last weight step, then update Λ as DARTS does."""
        if self._trained:
            self._compare(step)
        super().architecture_step(step)

    def adjust_gradients(self, step: WeightStep) -> None:
        """Keep the gradients of all operations that still train."""
        names = [name for operation, of in step.operations.items() if operation not in self.frozen for name in of]
        gradients = {name: step.weights[name].grad for name in names}
        self._trained = {name: gradient.clone() for name, gradient in gradients.items() if gradient is not None}

    def frozen_weights(self) -> Collection[str]:
        """Return the weights of the frozen operations."""
        return [name for names in self.frozen.values() for name in names]

    def _compare(self, step: SearchStep) -> None:
        import torch

        if self.hyperparameters.clipped_gradients:  # since the weight step, which clips, nothing has changed them
            self._trained = {
                name: clipped for name in self._trained if (clipped := step.weights[name].grad) is not None
            }
        # the sample of the step of Λ; only that step updates batch-norm's running statistics
        loss = step.loss_at(step.weights, self.next_mixing(), step.architecture_batch)
        found = torch.autograd.grad(loss, [step.weights[name] for name in self._trained], allow_unused=True)
        gradients = dict(zip(self._trained, found, strict=True))
        for operation, names in step.operations.items():
            if operation not in self.frozen:
                self._observe(operation, names, gradients)

    def _observe(self, operation: str, names: Sequence[str], gradients: Mapping[str, Tensor | None]) -> None:
        """Record an operation's cosine of this step, and freeze it if the mean of a window is too low."""
        import torch

        settings, cosines = self.hyperparameters, []
        for name in names:
            trained, other = self._trained.get(name), gradients.get(name)
            if trained is not None and other is not None:
                compared = trained + other if settings.summed_gradients else other
                cosines.append(torch.nn.functional.cosine_similarity(trained, compared, dim=0).mean())
        if not cosines:
            return
        seen = self.cosines.setdefault(operation, [])
        seen.append(float(torch.stack(cosines).mean()))
        if len(seen) == self._values_per_window:
            if sum(seen) / settings.window < self._threshold:
                self.frozen[operation] = tuple(names)
            del self.cosines[operation]

    @property
    def _values_per_window(self) -> int:
        return self.hyperparameters.window + bool(self.hyperparameters.window_counts_one_more)

    @property
    def _threshold(self) -> float:
        usual = PUBLISHED_THRESHOLD if self.hyperparameters.summed_gradients else CORRECTED_THRESHOLD
        return usual if self.hyperparameters.threshold is None else self.hyperparameters.threshold

    def structure(self) -> Mapping[str, Any]:
        """Return what other gradient methods return, and the names of the frozen operations."""
        return {**super().structure(), **({"frozen": sorted(self.frozen)} if self.frozen else {})}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of DARTS, the frozen operations, and the cosines of the current windows."""
        frozen = {operation: list(names) for operation, names in self.frozen.items()}
        cosines = {operation: list(seen) for operation, seen in self.cosines.items()}
        return {**super().state_dict(), "frozen": frozen, "cosines": cosines}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.frozen = {operation: tuple(names) for operation, names in state["frozen"].items()}
        self.cosines = {operation: list(seen) for operation, seen in state["cosines"].items()}
