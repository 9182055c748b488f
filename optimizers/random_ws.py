"""Random search with weight sharing (Li and Talwalkar, UAI 2019; NAS-Bench-1Shot1, algorithm 4).

See docs/random_ws.md.
"""

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.optimizers.sampling import SamplingOptimizer, draw_uniformly


class RandomWS(SamplingOptimizer):
    """Train one uniformly drawn architecture per step, including architectures with loose ends."""

    defaults = {"batch_size": 64, "grad_clip": 0.25}  # noqa: RUF012
    family_defaults = {"nasbench201": {"epochs": 250, "candidates": 100, "candidate_batches": 4, "finalists": 1}}  # noqa: RUF012

    original_family_defaults = {  # noqa: RUF012
        "nasbench201": {"candidate_batches": 8, "own_images": True, "unused_weights": "decayed-after-use"}
    }

    def sample(self) -> Architecture:
        """Draw an architecture uniformly over the space's encodings."""
        return draw_uniformly(self.space, self.generator)
