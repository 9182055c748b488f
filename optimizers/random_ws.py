"""Random search with weight sharing (Li and Talwalkar, UAI 2019; NAS-Bench-1Shot1, algorithm 4).

See docs/random_ws.md.
"""

from collections.abc import Sequence
from typing import ClassVar

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.optimizers.sampling import (
    RepeatedSelection,
    RepeatedSelectionHyperparameters,
    SamplingHyperparameters,
    SamplingOptimizer,
    draw_uniformly,
)
from nasbench1shot1.phases import Phase, refuse_warm_up


class RandomWS(SamplingOptimizer, RepeatedSelection):
    """Train one uniformly drawn architecture per step, including architectures with loose ends."""

    Hyperparameters: ClassVar[type[SamplingHyperparameters]] = RepeatedSelectionHyperparameters
    defaults = {"batch_size": 64, "grad_clip": 0.25}  # noqa: RUF012
    family_defaults = {"nasbench201": {"epochs": 250, "candidates": 100, "candidate_batches": 4, "finalists": 1}}  # noqa: RUF012

    original_family_defaults = {  # noqa: RUF012
        "nasbench201": {
            "candidate_batches": 8,
            "own_images": True,
            "scored_batch_size": 512,
            "final_candidates": 100,
            "unused_weights": "decayed-after-use",
        }
    }

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases; raises InvalidInputError for a warm-up, which would not differ from the search."""
        refuse_warm_up("Random WS", warm_start_epochs)
        return super().phases(epochs, warm_start_epochs)

    def sample(self) -> Architecture:
        """Draw an architecture uniformly over the space's encodings."""
        return draw_uniformly(self.space, self.generator)
