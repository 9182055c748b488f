"""The number of images that a ranking evaluates: a given number, or as many as a reliable ranking needs."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nasbench1shot1.experiments.correlation.evaluation import scores_of, shared_weights_of
from nasbench1shot1.experiments.correlation.options import image_count, required_reliability
from nasbench1shot1.experiments.correlation.reliability import ImagesNeeded, images_needed, spearman_brown
from nasbench1shot1.experiments.correlation.state import RankingState
from nasbench1shot1.ground.errors import InvalidInputError

PILOT_ARCHITECTURES = 200
"""Number of architectures on which `images="auto"` measures how many images are needed."""
PILOT_IMAGES = 512
"""Number of images with which that measurement begins."""


@dataclass(frozen=True)
class AutoImages:
    """The result of `images="auto"`; a field of config.json and summary.json.

    Attributes:
        threshold: the required split-half Spearman correlation.
        spearman: the split-half Spearman correlation of two rankings on `images` images each.
        images: number of images that the ranking evaluates.
        available: number of images of the architecture half.
        extrapolated: whether `spearman` is extrapolated by the Spearman-Brown formula, not measured.
    """

    threshold: float
    spearman: float
    images: int
    available: int
    extrapolated: bool

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes and `reached`: whether `spearman` is at least `threshold`."""
        return {**asdict(self), "reached": self.spearman >= self.threshold}


def images_to_evaluate(state: RankingState) -> tuple[int, AutoImages | None]:
    """Return the number of images to evaluate and, for `images="auto"`, its result.

    Args:
        state: the state of a ranking whose `rows` are the whole architecture half.

    Raises:
        InvalidInputError: more images are requested than are available, or no number of images gives a reliable
            ranking.
    """
    text, available = state.options.images, len(state.rows)
    wanted = required_reliability(text)
    if wanted is None:
        count = image_count(text) or available
        if count > available:
            raise InvalidInputError(
                f"--images {count} is more than the {available:,} images of the run's architecture half: lower it, or "
                "use --images all"
            )
        return count, None
    found = _limit(_pilot(state, wanted), wanted, available)
    return found.images, found


def _limit(needed: ImagesNeeded, threshold: float, available: int) -> AutoImages:
    """Return all available images, with their extrapolated correlation, if more would be needed."""
    if needed.images <= available:
        return AutoImages(threshold, needed.spearman, needed.images, available, needed.extrapolated)
    spearman = spearman_brown(needed.spearman, available / needed.images)
    return AutoImages(threshold, spearman, available, available, extrapolated=True)


def _pilot(state: RankingState, wanted: float) -> ImagesNeeded:
    """Return how many images `images="auto"` needs, measured on a sample of architectures at the last epoch."""
    numbers = state.numbers(state.epochs[-1])
    rng = np.random.default_rng([state.options.seed, 1])
    some = np.sort(rng.choice(numbers, min(PILOT_ARCHITECTURES, len(numbers)), replace=False))
    half, size, shared = state.rows, PILOT_IMAGES, shared_weights_of(state, state.epochs[-1])
    while True:
        state.rows = half[:size]
        wrong, _ = scores_of(state, shared, state.architectures(some))
        try:
            needed = images_needed(wrong, wanted, np.random.default_rng([state.options.seed, 2]))
        except InvalidInputError:  # these images give no ranking, or rankings that agree no better than by chance
            if size >= len(half):
                raise
            size = min(2 * size, len(half))
            continue
        if not needed.extrapolated or size >= len(half):
            state.rows = half
            return needed
        size = min(2 * max(size, needed.images), len(half))
