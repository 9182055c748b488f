"""GDAS (Dong and Yang: Searching for a Robust Neural Architecture in Four GPU Hours, CVPR 2019). See docs/gdas.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.components.relaxation_kinds import RelaxationName
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer
from nasbench1shot1.runs.options import IF_GIVEN, Range
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.passes import WithUnsampledTerms

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class GDASHyperparameters(GradientHyperparameters):
    """Options of GDAS: sampled operations, soft edges, and a falling temperature."""

    relaxation: RelaxationName = "gumbel-operations"
    """Relaxation, which turns Λ into mixing weights."""
    temperature_max: float = 10.0
    """Temperature of the relaxation in the first epoch, from which it falls linearly."""
    temperature_min: float = 0.1
    """Temperature of the relaxation in the last epoch."""
    architecture_grad_clip: Annotated[float, Range(0)] = 5.0
    """Maximum norm of Λ's gradient; 0 disables clipping."""
    unsampled_terms: Annotated[bool | None, IF_GIVEN] = None
    """On nb201, add the mixing weights of operations that were not sampled to the output of every edge, as in the
    published code: they are 0, but have a gradient. Default: no."""

    def check(self) -> None:
        """Raise InvalidInputError for values that contradict each other or are out of range."""
        super().check()
        if self.unsampled_terms and self.relaxation != "gumbel-operations":
            raise InvalidInputError(
                f"{option('unsampled_terms', True)} needs sampled operations: remove it, or use "
                f"{option('relaxation', 'gumbel-operations')}"
            )


class GDAS(GradientOptimizer):
    """Compute one operation per block in every pass, drawn by a hard Gumbel-softmax; edges are soft."""

    Hyperparameters = GDASHyperparameters
    original_defaults = {  # noqa: RUF012
        "epochs": 100,
        "temperature_min": 1.0,
        "temperature_ends_after": True,
        "draws": 9,
        "evaluation_noise": True,
    }
    family_defaults = {"nasbench201": {"epochs": 250}}  # noqa: RUF012
    original_family_defaults = {  # noqa: RUF012
        "nasbench201": {
            "epochs": 250,
            "temperature_min": 0.1,
            "temperature_ends_after": False,
            "draws": 1,
            "architecture_grad_clip": 0.0,
            "weights_first": True,
            "unsampled_terms": True,
            "unused_weights": "decayed-after-use",
        }
    }
    hyperparameters: GDASHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        if self.hyperparameters.unsampled_terms:
            self.space.check_cells("unsampled-terms", option("unsampled_terms", True))

    def mixing(self) -> Mixing:
        """Return the relaxation of Λ; with `unsampled_terms`, its operations add the weights of those not sampled."""
        mixing = super().mixing()
        if not self.hyperparameters.unsampled_terms:
            return mixing
        return replace(mixing, operations=_with_terms(mixing.operations))


def _with_terms(sampled: Any) -> Any:
    """Return sampled operations, also several sets of them, with the terms of operations that were not sampled."""
    return tuple(map(_with_terms, sampled)) if isinstance(sampled, tuple) else WithUnsampledTerms(sampled)
