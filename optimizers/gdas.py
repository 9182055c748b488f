"""GDAS (Dong and Yang: Searching for a Robust Neural Architecture in Four GPU Hours, CVPR 2019). See docs/gdas.md."""

from dataclasses import dataclass
from typing import Annotated

from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer, RelaxationName
from nasbench1shot1.runs.options import Range


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
            "unused_weights": "decayed-after-use",
        }
    }
