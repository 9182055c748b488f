"""x"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.encoded_probability import log_probability_of_picks, log_softmax
from nasbench1shot1.experiments.correlation.criteria import CRITERIA, FEWEST, bootstrap, evaluate, scopes
from nasbench1shot1.experiments.correlation.truth import ALL, Truth
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.space import OneShotSpace

Floats = NDArray[np.float64]
Parameters = Mapping[str, NDArray[np.floating]]


def log_probabilities(space: OneShotSpace, parameters: Parameters, architectures: Sequence[Architecture]) -> Floats:
    """Return the log-probabilities (A,) of sub-networks, in nats.

    A single entry of a vector of Λ is drawn from its softmax. The k parents of a node are drawn without replacement
    from the softmax over the remaining entries, in any order (Plackett-Luce; Gumbel-top-k samples from this model).
    In choice-block spaces, only blocks with a path to the output count, so the result is the total probability of all
    architectures with this live part.

    Args:
        space: the space of the architectures.
        parameters: raw Λ, an array for every key of `space.mixing_shapes()`.
        architectures: A architectures.
    """
    if isinstance(space, ChoiceBlockSpace):
        return _sum_over_live_parts(
            space, parameters, [arch for arch in architectures if isinstance(arch, CellArchitecture)]
        )
    return _sum_over_choices(space, parameters, architectures)


def _sum_over_choices(space: OneShotSpace, parameters: Parameters, architectures: Sequence[Architecture]) -> Floats:
    """Return the sums over all decisions (A,)."""
    one_hot = [space.one_hot(arch) for arch in architectures]
    total = np.zeros(len(architectures))
    for choice in space.choices():
        place = () if choice.row is None else choice.row
        logits = np.asarray(parameters[choice.key], np.float64)[place]
        of_picks = cache(lambda picks, logits=logits: log_probability_of_picks(logits, picks))
        total += [of_picks(tuple(np.flatnonzero(weights[choice.key][place]).tolist())) for weights in one_hot]
    return total


def _sum_over_live_parts(
    space: ChoiceBlockSpace, parameters: Parameters, architectures: Sequence[CellArchitecture]
) -> Floats:
    """Return the sums over the nodes with a path to the output (A,)."""

    @cache
    def of_parents(node: int, parents: tuple[int, ...]) -> float:
        key = space.mixing_key(node)
        return 0.0 if key is None else log_probability_of_picks(np.asarray(parameters[key], np.float64), parents)

    operations = log_softmax(np.asarray(parameters[space.operation_key], np.float64))

    def of_architecture(arch: CellArchitecture) -> float:
        nodes = (*arch.live_blocks, len(arch.parents))
        edges = sum(of_parents(node, arch.parents[node - 1]) for node in nodes)
        return edges + sum(float(operations[block - 1, arch.operations[block - 1]]) for block in arch.live_blocks)

    return np.array([of_architecture(arch) for arch in architectures])


# All criteria of how well predictions rank architectures by true errors, for every epoch, budget and scope ------------

COLUMNS = ("epoch", "budget", "split", "criterion", "scope", "value", "low", "high", "n", "measured")
"""The columns of correlations.csv (docs/ranking.md)."""
LABELS = {"error": "one-shot errors", "loss": "one-shot losses", "probability": "log-probabilities"}
"""Names of the predictors in messages, by the suffix of a criterion's name: `spearman_error`, …"""
OF_PROBABILITY = ("spearman", "kendall", "pearson", "sparse-kendall")


@dataclass(frozen=True)
class Undefined:
    """A criterion that has no value.

    Attributes:
        place: epoch, budget, split, criterion, scope.
        cause: the reason, as a sentence.
    """

    place: tuple[Any, ...]
    cause: str


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted values of A architectures, which stand for their true errors; smaller is better.

    Attributes:
        epoch: the search epoch.
        values: (A,) arrays by the names in `LABELS`.
        groups: (A,) integers; architectures with equal cells have equal numbers.
        subsets: bool (A,) masks of further scopes by name, such as the controller's samples.
    """

    epoch: int
    values: Mapping[str, Floats]
    groups: NDArray[np.int64]
    subsets: Mapping[str, NDArray[np.bool_]]

    def subset(self, mask: NDArray[np.bool_]) -> "Predictions":
        """Return the predictions for some of the architectures."""
        values = {name: of[mask] for name, of in self.values.items()}
        return Predictions(self.epoch, values, self.groups[mask], {name: of[mask] for name, of in self.subsets.items()})

    def mean_over_copies(self) -> "tuple[Predictions, NDArray[np.int64]]":
        """Return one prediction per distinct cell, the mean over its copies, and the index of each first copy."""
        _, first, inverse = np.unique(self.groups, return_index=True, return_inverse=True)
        count = np.bincount(inverse)
        values = {name: np.bincount(inverse, of) / count for name, of in self.values.items()}
        subsets = {name: np.bincount(inverse, of) > 0 for name, of in self.subsets.items()}
        return Predictions(self.epoch, values, np.arange(len(first)), subsets), first


@dataclass(frozen=True, eq=False)
class Pairing:
    """The values of one predictor and the true errors of the same A architectures at one budget, on one split.

    Attributes:
        predictions: the predictions for these architectures.
        predictor: a name in `LABELS`.
        budget: epochs of training behind the true errors.
        split: "validation" or "test".
        errors: (A,) true errors, fractions, all known.
        measured: fraction of measurements among the true errors.
    """

    predictions: Predictions
    predictor: str
    budget: int
    split: str
    errors: Floats
    measured: float

    @property
    def criteria(self) -> Sequence[str]:
        """Return the names of the criteria that apply to the predictor."""
        return OF_PROBABILITY if self.predictor == "probability" else tuple(CRITERIA)

    @property
    def labels(self) -> tuple[str, str]:
        """Return the names of both sides in messages."""
        return LABELS[self.predictor], f"{self.split} errors after {self.budget} epochs"

    def scopes(self) -> dict[str, NDArray[np.bool_]]:
        """Return bool (A,) masks of all scopes with enough architectures, by name; "all" is always there."""
        found = {**scopes(self.errors), **self.predictions.subsets}
        return {name: mask for name, mask in found.items() if name == ALL or mask.sum() >= FEWEST}


def merge_copies(predictions: Predictions, found: Sequence[Truth], copies: str) -> tuple[Predictions, list[Truth]]:
    """Return predictions and true errors as the option `copies` counts them: by architecture or ("mean") by cell."""
    if copies != "mean":
        return predictions, list(found)
    means, first = predictions.mean_over_copies()
    return means, [replace(of, errors=of.errors[first], measurements=of.measurements[first]) for of in found]


def correlations(
    predictions: Predictions,
    truths: Sequence[Truth],
    seed: int,
    resamples: int | None = None,
    advance: Callable[[float], None] = lambda share: None,
) -> tuple[pandas.DataFrame, list[Undefined]]:
    """Compute all criteria of one epoch.

    The rows of all architectures, whose true errors may be estimates, come first. If only some architectures are
    measured, rows for these architectures and their measurements follow. Scopes of fewer than three architectures are
    left out.

    Args:
        predictions: the predictions for A architectures.
        truths: the true errors of these architectures, for every budget and split.
        seed: random seed of the bootstrap.
        resamples: number of bootstrap resamples. Default: `intervals.default_resamples`.
        advance: function to call after each part, with its share of the work; all shares add up to 1.

    Returns:
        A frame with `COLUMNS` (`measured`: fraction of measurements among the n true errors), and undefined criteria.
    """
    rows, undefined = list[tuple[Any, ...]](), list[Undefined]()
    parts = list(pairings(predictions, truths))
    sizes = [len(part.errors) for part in parts]
    for part, size in zip(parts, sizes, strict=True):
        found, missing = compare(part, seed, resamples)
        rows += found
        undefined += missing
        advance(size / sum(sizes))
    return pandas.DataFrame(rows, columns=list(COLUMNS)), undefined


def pairings(predictions: Predictions, truths: Sequence[Truth]) -> Iterator[Pairing]:
    """Yield everything to compare at one epoch; arguments as for `correlations`."""
    for truth in truths:
        for name in predictions.values:
            for errors, mask, measured in _versions(truth):
                yield Pairing(predictions.subset(mask), name, truth.budget, truth.split, errors[mask], measured)


def _versions(truth: Truth) -> Iterator[tuple[Floats, NDArray[np.bool_], float]]:
    """Yield true errors, a mask of known values, and the measured fraction: for all, then for measurements only."""
    known, measured = ~np.isnan(truth.errors), truth.measured
    yield truth.errors, known, float(measured[known].mean())
    if FEWEST <= measured.sum() < known.sum():
        yield truth.measurements, measured, 1.0


def compare(pairing: Pairing, seed: int, resamples: int | None) -> tuple[list[tuple[Any, ...]], list[Undefined]]:
    """Return the criteria of one predictor in every scope, as rows with `COLUMNS`, and the undefined criteria."""

    @cache  # small samples have equal scopes
    def measure(chosen: bytes) -> tuple[dict[str, tuple[float, ...]], dict[str, str]]:
        return _evaluate_scope(pairing, np.frombuffer(chosen, np.bool_), seed, resamples)

    rows, undefined = list[tuple[Any, ...]](), list[Undefined]()
    place = (pairing.predictions.epoch, pairing.budget, pairing.split)
    for scope, mask in pairing.scopes().items():
        found, causes = measure(mask.tobytes())
        for criterion, values in found.items():
            name = f"{criterion}_{pairing.predictor}"
            rows.append((*place, name, scope, *values, int(mask.sum()), pairing.measured))
        for criterion, cause in causes.items():
            undefined.append(Undefined((*place, f"{criterion}_{pairing.predictor}", scope), cause))
    return rows, undefined


def _evaluate_scope(
    pairing: Pairing, mask: NDArray[np.bool_], seed: int, resamples: int | None
) -> tuple[dict[str, tuple[float, ...]], dict[str, str]]:
    """Return value, low and high of the criteria among some architectures, and the causes for undefined criteria."""
    predictions, labels = pairing.predictions.subset(mask), pairing.labels
    predicted, true = predictions.values[pairing.predictor], pairing.errors[mask]
    values, causes = _evaluate_defined(predicted, true, pairing.criteria, labels)
    rng = np.random.default_rng([seed, predictions.epoch, pairing.budget])
    ends = (
        bootstrap(predicted, true, values, rng, resamples, groups=predictions.groups, labels=labels) if values else {}
    )
    return {criterion: (value, *ends[criterion]) for criterion, value in values.items()}, causes


def _evaluate_defined(
    predicted: Floats, true: Floats, criteria: Sequence[str], labels: tuple[str, str]
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the values of the defined criteria, and the causes for undefined criteria."""
    try:
        return evaluate(predicted, true, criteria, labels), {}
    except InvalidInputError:
        pass
    values, causes = dict[str, float](), dict[str, str]()
    for criterion in criteria:
        try:
            values |= evaluate(predicted, true, [criterion], labels)
        except InvalidInputError as error:
            causes[criterion] = error.for_command_line
    return values, causes
