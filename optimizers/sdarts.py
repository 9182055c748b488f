"""SDARTS (Chen and Hsieh: Stabilizing Differentiable Architecture Search via Perturbation-based Regularization, ICML
2020): DARTS whose weights train under perturbed mixing weights. See docs/sdarts.md.
"""

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_SETTINGS


class RandomSDARTS(DARTS):
    """DARTS with random perturbations of the mixing weights in weight steps (SDARTS-RS)."""

    defaults = {"perturbation": "random", "epochs": 100}  # noqa: RUF012
    original_defaults = {"perturbation_variant": "published"}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012


class AdversarialSDARTS(DARTS):
    """DARTS with adversarial perturbations of the mixing weights in weight steps (SDARTS-ADV)."""

    defaults = {"perturbation": "adversarial", "epochs": 100}  # noqa: RUF012
    original_defaults = {"perturbation_variant": "published"}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
