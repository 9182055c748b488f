"""Split-half reliability: how far a ranking of architectures depends on the images it was measured on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.experiments.correlation.criteria import evaluate

if TYPE_CHECKING:
    import pandas

Values = NDArray[np.floating | np.integer | np.bool_]

SPLITS, FEWEST_COLUMNS = 20, 8
"""Random splits for each size, and the smallest half of `growing` and `images_needed`, in columns."""

ROWS_AT_ONCE = 4096  # bounds the float64 copy of `values`
DECIMALS = 12  # sums in different orders must not break ties of means


class SplitHalf(NamedTuple):
    """Spearman's ρ between rankings by two disjoint random halves: mean, 2.5 % and 97.5 % quantile over splits."""

    mean: float
    low: float
    high: float


class ImagesNeeded(NamedTuple):
    """The smallest number of images that ranks as reliably as demanded.

    Args:
        images: how many.
        spearman: the split-half Spearman's ρ of two rankings by that many images each.
        extrapolated: True if `images` exceeds half of the given images, so that both numbers are an extrapolation by
            the Spearman-Brown formula, not a measurement.
    """

    images: int
    spearman: float
    extrapolated: bool


def split_half(values: Values, size: int, rng: np.random.Generator, splits: int = SPLITS) -> SplitHalf:
    """Return how well rankings by two disjoint random subsets of images agree.

    Args:
        values: (A, N) error (0 or 1, or bool) or loss (nats) of each architecture on each image; or (A, B) means over
            blocks of equally many images.
        size: columns in each of the two halves, 1 to N // 2.
        rng: draws the splits.
        splits: how many random pairs of halves.

    Raises:
        InvalidInputError: `size` or `splits` is out of range, a value is NaN or infinite, or a half gives all
            architectures the same mean, so that it ranks nothing.
    """
    _check(values, size, splits)
    return _agreement(values, size, _permutations(values, rng, splits))


def growing(
    values: Values, rng: np.random.Generator, splits: int = SPLITS, images_per_column: float = 1
) -> "pandas.DataFrame":
    """Return the split-half reliability of rankings by ever more images.

    Halves grow by doubling up to half of the columns; subsets of one split are nested. Sizes at which some half gives
    all architectures the same mean, and so ranks nothing, are left out.

    Args:
        values: (A, N), as for `split_half`.
        rng: draws the splits.
        splits: how many random pairs of halves for each size.
        images_per_column: images that each column stands for; a mean where columns stand for unequally many.

    Returns:
        A row for each size: `images` in each half, rounded; `spearman`, `low` and `high` (mean and quantiles, see
        `SplitHalf`); and `spearman_brown_all_images`: the reliability of a ranking by all images, extrapolated from
        this row by the Spearman-Brown formula, not measured.

    Raises:
        InvalidInputError: an argument is invalid, or halves of every size rank nothing.
    """
    import pandas

    _check(values, 1, splits)
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
    return pandas.DataFrame(rows, columns=["images", "spearman", "low", "high", "spearman_brown_all_images"])


def images_needed(
    values: Values,
    precision: float,
    rng: np.random.Generator,
    splits: int = SPLITS,
    images_per_column: int = 1,
) -> ImagesNeeded:
    """Return the smallest number of images whose split-half Spearman's ρ, mean over splits, reaches `precision`.

    The number is found by doubling and then bisection on nested subsets, a multiple of `images_per_column`. If half of
    the images does not reach the precision, the number is extrapolated.

    Args:
        values: (A, N), as for `split_half`.
        precision: the demanded Spearman's ρ, between 0 and 1.
        rng: draws the splits.
        splits: how many random pairs of halves for each size.
        images_per_column: images that each column stands for.

    Raises:
        InvalidInputError: an argument is invalid, or half of the images rank nothing or agree no better than by
            chance, so that nothing can be extrapolated.
    """
    if not 0 < precision < 1:
        raise InvalidInputError(f"precision cannot be {precision!r}: give a Spearman correlation between 0 and 1")
    _check(values, 1, splits)
    permutations = _permutations(values, rng, splits)
    largest = values.shape[1] // 2
    best = _agreement(values, largest, permutations).mean
    if best < precision:
        return _extrapolated(best, largest * images_per_column, precision)
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


def _extrapolated(reliability: float, images: int, precision: float) -> ImagesNeeded:
    if reliability <= 0:
        raise InvalidInputError(
            f"rankings by two halves of {images:,} images agree no better than by chance (Spearman {reliability:.2f}): "
            "evaluate on more images, or give the number of images"
        )
    factor = precision * (1 - reliability) / (reliability * (1 - precision))
    needed = int(np.ceil(factor * images))
    return ImagesNeeded(needed, spearman_brown(reliability, needed / images), extrapolated=True)


def _bracket(
    values: Values, precision: float, permutations: list[NDArray[np.int64]], best: float
) -> tuple[int, int, float]:
    """The largest size below the first that suffices, that size, and its agreement; sizes double."""
    below = 0
    for size in _sizes(values.shape[1])[:-1]:
        agreement = _mean_or_zero(values, size, permutations)
        if agreement >= precision:
            return below, size, agreement
        below = size
    return below, values.shape[1] // 2, best


def _mean_or_zero(values: Values, size: int, permutations: list[NDArray[np.int64]]) -> float:
    """A mean agreement; 0 for halves that rank nothing."""
    try:
        return _agreement(values, size, permutations).mean
    except InvalidInputError:
        return 0.0


def _sizes(columns: int) -> list[int]:
    """Halves that double from 8 columns, and at last half of the columns."""
    largest = columns // 2
    doubling = [FEWEST_COLUMNS << i for i in range(largest.bit_length())]
    return [*(size for size in doubling if size < largest), largest]


def _permutations(values: Values, rng: np.random.Generator, splits: int) -> list[NDArray[np.int64]]:
    return [rng.permutation(values.shape[1]) for _ in range(splits)]


def _agreement(values: Values, size: int, permutations: list[NDArray[np.int64]]) -> SplitHalf:
    """Agreement over splits: halves are the first `size` of a permutation's even and of its odd places."""
    halves = np.zeros((values.shape[1], 2 * len(permutations)))
    for split, permutation in enumerate(permutations):
        for half in (0, 1):
            halves[permutation[half::2][:size], 2 * split + half] = 1
    sums = np.concatenate([block @ halves for block in _blocks(values)])
    means = np.round(sums / size, DECIMALS)
    called = (f"means over {size} columns", f"means over {size} other columns")
    agreements = [
        evaluate(means[:, i], means[:, i + 1], ["spearman"], called)["spearman"] for i in range(0, means.shape[1], 2)
    ]
    low, high = np.quantile(agreements, [0.025, 0.975])
    return SplitHalf(float(np.mean(agreements)), float(low), float(high))


def _blocks(values: Values) -> Iterator[NDArray[np.float64]]:
    return (values[i : i + ROWS_AT_ONCE].astype(np.float64) for i in range(0, len(values), ROWS_AT_ONCE))


def _check(values: Values, size: int, splits: int) -> None:
    if values.ndim != 2 or values.shape[1] < 2:
        raise InvalidInputError(f"values of shape {values.shape} cannot be split: give (architectures, images ≥ 2)")
    if not 1 <= size <= values.shape[1] // 2:
        raise InvalidInputError(
            f"size cannot be {size}: give 1 to {values.shape[1] // 2}, half of the {values.shape[1]} columns"
        )
    if splits < 1:
        raise InvalidInputError(f"splits cannot be {splits}: give a positive number")
    if not all(np.isfinite(block).all() for block in _blocks(values)):
        raise InvalidInputError("some values are NaN or infinite, so they cannot be ranked: leave those rows out")
