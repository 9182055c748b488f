"""What a ranking measures before it starts: how many images it needs, and how long it will take."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.experiments.correlation.analysis import Pairing, Predictions, compare, merge_copies, pairings
from nasbench1shot1.experiments.correlation.evaluation import CHUNK, scores_of, shared_weights_of
from nasbench1shot1.experiments.correlation.options import (
    RankingOptions,
    chosen_budgets,
    chosen_epochs,
    image_count,
    required_reliability,
)
from nasbench1shot1.experiments.correlation.reliability import ImagesNeeded, images_needed, spearman_brown
from nasbench1shot1.experiments.correlation.state import RankingState, in_sharing_order, select_numbers
from nasbench1shot1.experiments.correlation.truth import table_mask, true_errors
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.one_shot_search.kept_weights import require_kept_epochs
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.registry import one_shot, search_space
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.tables.table import Table

PILOT_ARCHITECTURES = 200
"""Number of architectures on which `images="auto"` measures how many images are needed."""
PILOT_IMAGES = 512
"""Number of images with which that measurement begins."""
TIMED = 24
"""Number of architectures whose evaluation is timed."""
TIMED_RESAMPLES = 5
"""Number of bootstrap resamples that are timed."""
PROBABILITY = 0.7
"""Work for the predictor `probability`, relative to the error or the loss: it only has correlations."""


# Number of images -----------------------------------------------------------------------------------------------------


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
                f"{option('images', count)} is more than the {available:,} images of the run's architecture half: "
                f"lower it, or use {option('images', 'all')}"
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


# Expected time --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expectation:
    """The remaining seconds of a ranking.

    Attributes:
        evaluation: for the architectures that are not yet evaluated; 0 if all are.
        statistics: for the correlations and their confidence intervals.
    """

    evaluation: float
    statistics: float


def expected_seconds(state: RankingState, table: Table, left: int) -> Expectation:
    """Estimate the remaining seconds of a ranking; `left` is the number of evaluations that are left, in all epochs."""
    numbers = state.numbers(state.epochs[-1])
    architectures = state.architectures(numbers)
    compared = state.architectures(numbers[table_mask(table, state.space, numbers)])
    dataset = state.run.config["dataset"]
    statistics = statistics_seconds(compared, table, state.options, state.learns_parameters, dataset)
    evaluation = left * _seconds_per_architecture(state, architectures) if left else 0.0
    return Expectation(evaluation, len(state.epochs) * statistics)


def statistics_seconds(
    architectures: Sequence[Architecture],
    table: Table,
    options: RankingOptions,
    learns_parameters: bool,
    dataset: str | None = None,
) -> float:
    """Estimate the seconds for all criteria and confidence intervals of one epoch.

    Every budget, split and scope is timed with a few bootstrap resamples, on random predictions by one predictor.

    Args:
        architectures: the ranked architectures.
        table: the table with their true errors.
        options: resolved options, which decide on budgets, copies and the number of resamples.
        learns_parameters: whether the probability is a predictor, in addition to error and loss.
        dataset: data set of the search. Default: the table's first one.
    """
    values = {"error": np.random.default_rng(0).random(len(architectures)).round(3)}
    predictions = Predictions(0, values, table.rows(architectures), {})
    found = true_errors(table, architectures, chosen_budgets(options.budgets, table.epochs), dataset)
    parts, few = (
        list(pairings(*merge_copies(predictions, found, options.copies))),
        min(TIMED_RESAMPLES, options.resamples),
    )
    compare(parts[-1], 0, 1)  # not timed, because it imports scipy
    one, several = (_seconds_to_compare(parts, resamples) for resamples in (1, few))
    each = max(several - one, 0.0) / (few - 1)
    return (one + each * (options.resamples - 1)) * (2 + PROBABILITY * learns_parameters)


def _seconds_to_compare(parts: Sequence[Pairing], resamples: int) -> float:
    started = time.perf_counter()
    for part in parts:
        compare(part, 0, resamples)
    return time.perf_counter() - started


def timed_architectures(space: OneShotSpace, architectures: Sequence[Architecture]) -> list[Architecture]:
    """Return the architectures whose evaluation is timed.

    Architectures that share passes are consecutive ones, as in an evaluation. Without shared passes, they are evenly
    spaced: the first architectures of the size space are the narrowest, which take the least time.
    """
    if space.benchmark.shared_passes is None:
        places = np.linspace(0, len(architectures) - 1, min(TIMED, len(architectures))).round().astype(int)
        return [architectures[place] for place in places.tolist()]
    chunk = architectures[:CHUNK]
    return [chunk[i] for i in in_sharing_order(space, chunk)][:TIMED]


def _seconds_per_architecture(state: RankingState, architectures: Sequence[Architecture]) -> float:
    """Return the mean seconds to evaluate an architecture at an epoch."""
    some = timed_architectures(state.space, architectures)
    shared = shared_weights_of(state, state.epochs[-1])
    with torch.inference_mode():
        scores_of(state, shared, some[:2])
        started = time.perf_counter()
        scores_of(state, shared, some)
    return (time.perf_counter() - started) / len(some)


# Work -----------------------------------------------------------------------------------------------------------------


def sizes_of(run: Run, options: RankingOptions) -> dict[str, str]:
    """Return the numbers of architectures, of images and of epochs of a ranking before it begins, as text.

    The number of images is an upper bound for `images="auto"`, which measures it, and the number of architectures if
    there are bounds on costs. Raises the errors of `select_numbers`.
    """
    available = int(run.config["architecture_images"])
    epochs = chosen_epochs(options.epochs, require_kept_epochs(run), run.folder)
    numbers = select_numbers(options, one_shot(search_space(run.config["space"])), run, epochs[-1])
    return {
        "architectures": str(len(numbers)),
        "images": str(min(image_count(options.images) or available, available)),
        "ranked_epochs": str(len(epochs)),
    }
