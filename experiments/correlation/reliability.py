"""Split-half reliability: how strongly a ranking of architectures depends on the evaluated images."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.experiments.correlation.criteria import MORE_IMAGES, evaluate
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.bootstrap import percentile_interval
from nasbench1shot1.ground.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

Values = NDArray[np.floating | np.integer | np.bool_]

COLUMNS = ("images", "spearman", "low", "high", "spearman_brown_all_images")
"""The columns of a reliability curve (`reliability_curve`)."""
SPLITS, FEWEST_COLUMNS = 20, 8
"""Number of random splits for each size, and columns in the smallest half (`reliability_curve`, `images_needed`)."""

ROWS_AT_ONCE = 4096  # bounds the float64 copy of `values`
DECIMALS = 12  # rounding keeps ties between means that were summed in different orders


class SplitHalf(NamedTuple):
    """Spearman's ρ between rankings on two disjoint random halves: mean, 2.5 % and 97.5 % quantile over splits."""

    mean: float
    low: float
    high: float


class ImagesNeeded(NamedTuple):
    """The smallest number of images on which a ranking reaches the required reliability.

    Args:
        images: number of images.
        spearman: split-half Spearman's ρ of two rankings on that many images each.
        extrapolated: whether `images` exceeds half of the given images. If so, both numbers are extrapolated by the
            Spearman-Brown formula, not measured.
    """

    images: int
    spearman: float
    extrapolated: bool


def split_half(values: ArrayLike, size: int, rng: np.random.Generator, splits: int = SPLITS) -> SplitHalf:
    """Return the rank correlation between rankings on two disjoint random subsets of images.

    Args:
        values: (A, N) error (0 or 1, or bool) or loss (nats) of each architecture on each image; or (A, B) means over
            blocks of equally many images.
        size: columns in each of the two halves, 1 to N // 2.
        rng: draws the splits.
        splits: number of random pairs of halves.

    Raises:
        InvalidInputError: `size` or `splits` is out of range, a value is NaN or infinite, or all architectures have
            equal means on a half, so that the correlation is undefined.
    """
    values = _checked(values, size, splits, rng)
    return _agreement(values, size, _permutations(values, rng, splits))


def reliability_curve(
    values: ArrayLike, rng: np.random.Generator, splits: int = SPLITS, images_per_column: float = 1
) -> "pandas.DataFrame":
    """Return the split-half reliability of rankings on increasing numbers of images.

    The sizes of halves double, up to half of the columns; the subsets of one split are nested. Sizes are left out if
    all architectures have equal means on one of the halves.

    Args:
        values: (A, N), as for `split_half`.
        rng: draws the splits.
        splits: number of random pairs of halves for each size.
        images_per_column: number of images in each column; the mean number if columns differ.

    Returns:
        One row per size: `images` in each half, rounded; `spearman`, `low` and `high` (mean and quantiles, see
        `SplitHalf`); and `spearman_brown_all_images`: the reliability of a ranking on all images, extrapolated from
        this row by the Spearman-Brown formula, not measured.

    Raises:
        InvalidInputError: an argument is invalid, or all architectures have equal means on a half of the largest size.
    """
    import pandas

    values = _checked(values, 1, splits, rng)
    permutations = _permutations(values, rng, splits)
    rows, columns = [], values.shape[1]
    for size in _sizes(columns):
        try:
            found = _agreement(values, size, permutations)
        except InvalidInputError:
            if size == columns // 2:
                raise
            continue
        all_images = spearman_brown(found.mean, columns / size)
        rows.append((round(size * images_per_column), *found, all_images))
    return pandas.DataFrame(rows, columns=list(COLUMNS))


def images_needed(
    values: ArrayLike,
    precision: float,
    rng: np.random.Generator,
    splits: int = SPLITS,
    images_per_column: int = 1,
) -> ImagesNeeded:
    """Return the smallest number of images whose split-half Spearman's ρ (mean over splits) reaches `precision`.

    The number is a multiple of `images_per_column`, found by doubling and then bisection on nested subsets. If half of
    the images do not reach the precision, the number is extrapolated.

    Args:
        values: (A, N), as for `split_half`.
        precision: the required Spearman's ρ, between 0 and 1.
        rng: draws the splits.
        splits: number of random pairs of halves for each size.
        images_per_column: number of images in each column.

    Raises:
        InvalidInputError: an argument is invalid; or the halves of all images give no ranking, or rankings that agree
            no better than by chance, so that nothing can be extrapolated.
    """
    if not 0 < precision < 1:
        raise InvalidInputError(f"precision cannot be {precision!r}: give a Spearman correlation between 0 and 1")
    values = _checked(values, 1, splits, rng)
    permutations = _permutations(values, rng, splits)
    largest = values.shape[1] // 2
    best = _agreement(values, largest, permutations).mean
    if best < precision:
        return _extrapolate(best, largest * images_per_column, precision)
    low, high, at_high = _bracket(values, precision, permutations, best)
    while high - low > 1:
        middle = (low + high) // 2
        agreement = _mean_or_zero(values, middle, permutations)
        low, high, at_high = (low, middle, agreement) if agreement >= precision else (middle, high, at_high)
    return ImagesNeeded(high * images_per_column, at_high, extrapolated=False)


def spearman_brown(reliability: float, factor: float) -> float:
    """Return the reliability of `factor` times as many images (Spearman 1910, Brown 1910); 0 if `reliability` ≤ 0.

    The formula is exact for Pearson's r of parallel measurements and an approximation for Spearman's ρ.
    """
    return factor * reliability / (1 + (factor - 1) * reliability) if reliability > 0 else 0.0


def _extrapolate(reliability: float, images: int, precision: float) -> ImagesNeeded:
    if reliability <= 0:
        raise InvalidInputError(
            f"rankings on two halves of {images:,} images agree no better than by chance (Spearman {reliability:.2f}): "
            "evaluate on more images, or give the number of images"
        )
    factor = precision * (1 - reliability) / (reliability * (1 - precision))
    needed = int(np.ceil(factor * images))
    return ImagesNeeded(needed, spearman_brown(reliability, needed / images), extrapolated=True)


def _bracket(
    values: Values, precision: float, permutations: list[NDArray[np.int64]], best: float
) -> tuple[int, int, float]:
    """Return, among doubling sizes, the last insufficient size, the first sufficient size, and its agreement."""
    below = 0
    for size in _sizes(values.shape[1])[:-1]:
        agreement = _mean_or_zero(values, size, permutations)
        if agreement >= precision:
            return below, size, agreement
        below = size
    return below, values.shape[1] // 2, best


def _mean_or_zero(values: Values, size: int, permutations: list[NDArray[np.int64]]) -> float:
    """Return the mean agreement, or 0 if it is undefined."""
    try:
        return _agreement(values, size, permutations).mean
    except InvalidInputError:
        return 0.0


def _sizes(columns: int) -> list[int]:
    """Return the sizes of halves: doubling from 8 columns, then half of all columns."""
    largest = columns // 2
    doubling = [FEWEST_COLUMNS << i for i in range(largest.bit_length())]
    return [*(size for size in doubling if size < largest), largest]


def _permutations(values: Values, rng: np.random.Generator, splits: int) -> list[NDArray[np.int64]]:
    return [rng.permutation(values.shape[1]) for _ in range(splits)]


def _agreement(values: Values, size: int, permutations: list[NDArray[np.int64]]) -> SplitHalf:
    """Return the agreement over splits; halves are the first `size` even and odd positions of a permutation."""
    halves = np.zeros((values.shape[1], 2 * len(permutations)))
    for split, permutation in enumerate(permutations):
        for half in (0, 1):
            halves[permutation[half::2][:size], 2 * split + half] = 1
    sums = np.concatenate([block @ halves for block in _blocks(values)])
    means = np.round(sums / size, DECIMALS)
    labels = (f"means over {size} columns", f"means over {size} other columns")
    advice = (MORE_IMAGES, MORE_IMAGES)  # both halves are one-shot errors or losses
    agreements = [
        evaluate(means[:, i], means[:, i + 1], ["spearman"], labels, advice)["spearman"]
        for i in range(0, means.shape[1], 2)
    ]
    low, high = percentile_interval(agreements, tail=0.025)
    return SplitHalf(float(np.mean(agreements)), float(low), float(high))


def _blocks(values: Values) -> Iterator[NDArray[np.float64]]:
    return (values[i : i + ROWS_AT_ONCE].astype(np.float64) for i in range(0, len(values), ROWS_AT_ONCE))


def _checked(given: ArrayLike, size: int, splits: int, rng: np.random.Generator) -> Values:
    """Return values as an array; raises InvalidInputError if an argument is invalid."""
    check_rng(rng)
    values = np.asarray(given)
    if values.ndim != 2 or values.shape[1] < 2:
        raise InvalidInputError(f"values of shape {values.shape} cannot be split: give (architectures, images ≥ 2)")
    if not 1 <= size <= values.shape[1] // 2:
        raise InvalidInputError(
            f"size cannot be {size}: give 1 to {values.shape[1] // 2}, half of the {values.shape[1]} columns"
        )
    if splits < 1:
        raise InvalidInputError(f"splits cannot be {splits}: give a positive number")
    if not all(np.isfinite(block).all() for block in _blocks(values)):
        raise InvalidInputError("some values are NaN or infinite, so they cannot be ranked: leave these rows out")
    return values
