"""RF-DARTS (Zhang et al.: Differentiable Architecture Search with Random Features, CVPR 2023). See docs/rf_darts.md."""

from collections.abc import Sequence

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.phases import Phase, bilevel_phases


class RFDARTS(DARTS):
    """DARTS on random convolutions: of the weights, only the scales and shifts of batch-norm train.

    All batch-norms have them, also in cells of NAS-Bench-201, whose searches usually leave them out.
    """

    defaults = {"batch_norm_affine": True}  # noqa: RUF012

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases, in which only batch-norm trains."""
        return bilevel_phases(epochs, warm_start_epochs, trains="batch-norm")
