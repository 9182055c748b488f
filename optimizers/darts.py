"""DARTS, first order (Liu, Simonyan, Yang: DARTS, ICLR 2019; NAS-Bench-1Shot1, algorithm 1). See docs/darts.md."""

from torch.nn import functional as F

from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.gradient import GradientOptimizer


class DARTS(GradientOptimizer):
    """Softmax over every vector of Λ; Λ follows the validation gradient at the present weights."""

    def mixing(self) -> Mixing:
        """S(α), S(β), S(γ): one softmax over all candidates of each choice."""
        return Mixing({key: F.softmax(value, dim=-1) for key, value in self.parameters.items()})

    def architecture_step(self, step: SearchStep) -> None:
        """Descend the loss on a batch of the architecture half (equation 7 with ξ = 0)."""
        self.descend(step.loss(self.mixing(), step.architecture_batch))
