"""How well predictions rank architectures by true errors: all criteria, for every epoch, budget and scope."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.experiments.correlation.criteria import CRITERIA, FEWEST, bootstrap, evaluate, scopes
from nasbench1shot1.experiments.correlation.options import chosen_budgets
from nasbench1shot1.experiments.correlation.record import CORRELATION_COLUMNS, EpochScores, Ranking
from nasbench1shot1.experiments.correlation.reliability import DECIMALS
from nasbench1shot1.experiments.correlation.state import controller_draws
from nasbench1shot1.experiments.correlation.truth import ALL, Truth, headline, table_mask, true_errors
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.kept_weights import untrained_method
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.probability import log_probability_of_picks
from nasbench1shot1.reading import Reading
from nasbench1shot1.space import Choice, OneShotSpace
from nasbench1shot1.tables.table import Table

Floats = NDArray[np.float64]
Parameters = Mapping[str, NDArray[np.floating]]
Scopes = dict[str, np.ndarray]
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

    A log-probability is infinite for an architecture with an excluded entry; comparisons leave out such architectures.

    Attributes:
        epoch: the search epoch.
        values: (A,) arrays by the names in `LABELS`.
        groups: (A,) integers; architectures with equal cells have equal numbers.
        subsets: bool (A,) masks of further scopes by name, such as the controller's samples.
        cells: (A,) rows of the architectures' cells in the table. Default: `groups`.
        numbers: int64 (A,): `space[number]` is the architecture, or for means over copies the first copy. Default:
            unknown.
    """

    epoch: int
    values: Mapping[str, Floats]
    groups: NDArray[np.int64]
    subsets: Mapping[str, NDArray[np.bool_]]
    cells: NDArray[np.int64] | None = None
    numbers: NDArray[np.int64] | None = None

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the architectures' cells in the table, (A,)."""
        return self.groups if self.cells is None else self.cells

    def subset(self, mask: NDArray[np.bool_]) -> "Predictions":
        """Return the predictions for some of the architectures."""
        values = {name: of[mask] for name, of in self.values.items()}
        subsets = {name: of[mask] for name, of in self.subsets.items()}
        return Predictions(self.epoch, values, self.groups[mask], subsets, self.rows[mask], self._numbers_at(mask))

    def mean_over_copies(self) -> "tuple[Predictions, NDArray[np.int64]]":
        """Return one prediction per distinct cell, the mean over its copies, and the index of each first copy.

        Means are rounded to `DECIMALS`, so that equal means of different predictions are tied.
        """
        _, first, inverse = np.unique(self.groups, return_index=True, return_inverse=True)
        count = np.bincount(inverse)
        values = {name: np.round(np.bincount(inverse, of) / count, DECIMALS) for name, of in self.values.items()}
        subsets = {name: np.bincount(inverse, of) > 0 for name, of in self.subsets.items()}
        numbers = self._numbers_at(first)
        return Predictions(self.epoch, values, np.arange(len(first)), subsets, self.rows[first], numbers), first

    def _numbers_at(self, chosen: NDArray[Any]) -> NDArray[np.int64] | None:
        return None if self.numbers is None else self.numbers[chosen]


@dataclass(frozen=True, eq=False)
class Pairing:
    """The values of one predictor and the true errors of the same A architectures at one budget, on one split.

    Attributes:
        predictions: the predictions for these architectures.
        predictor: a name in `LABELS`.
        budget: epochs of training behind the true errors.
        split: "validation" or "test".
        errors: (A,) true errors, fractions, all known.
        measured: bool (A,), whether each true error is a measurement.
    """

    predictions: Predictions
    predictor: str
    budget: int
    split: str
    errors: Floats
    measured: NDArray[np.bool_]

    @property
    def criteria(self) -> Sequence[str]:
        """The names of the criteria that apply to the predictor."""
        return OF_PROBABILITY if self.predictor == "probability" else tuple(CRITERIA)

    @property
    def labels(self) -> tuple[str, str]:
        """The names of both sides in messages."""
        return LABELS[self.predictor], f"{self.split} errors after {self.budget} epochs"

    def scopes(self) -> dict[str, NDArray[np.bool_]]:
        """Return bool (A,) masks of all scopes with enough architectures, by name; "all" is always there."""
        found = {**scopes(self.errors), **self.predictions.subsets}
        return {name: mask for name, mask in found.items() if name == ALL or mask.sum() >= FEWEST}


class Correlations(NamedTuple):
    """The correlations of some epochs of a ranking.

    Attributes:
        frame: the content of correlations.csv.
        undefined: the criteria without a value.
        predictions: the predictions of the last of these epochs.
        truth: the corresponding true errors at `headline_place`, which the summary and the scatter plot show.
    """

    frame: pandas.DataFrame
    undefined: list[Undefined]
    predictions: Predictions
    truth: Truth


def compute_correlations(
    ranking: Ranking, table: Table, epochs: Sequence[int], advance: Callable[[float], None] = lambda share: None
) -> Correlations:
    """Compute the correlations of some evaluated epochs, at least one.

    Arguments and errors are as in `outcome.write_outcome`.
    """
    frames, undefined = list[pandas.DataFrame](), list[Undefined]()
    for epoch in epochs:
        predictions, found = predictions_and_truths(ranking, table, epoch)
        options = ranking.options
        frame, missing = correlations(predictions, found, options.seed, options.resamples, advance)
        frames.append(frame)
        undefined += missing
    return Correlations(pandas.concat(frames, ignore_index=True), undefined, predictions, headline(found))


def correlations_so_far(ranking: Ranking, table: Table, epoch: int | None = None) -> Correlations:
    """Return the correlations of a ranking: as recorded if it is finished and has this table, or else computed.

    Args:
        ranking: the ranking, with at least one epoch evaluated.
        table: the table with the true errors.
        epoch: the epoch of the predictions; if correlations are computed, they are of this epoch only. Default: the
            last evaluated epoch, with the correlations of all of them.

    Returns:
        The correlations. Recorded ones do not repeat why criteria are undefined (summary.json does).

    Raises the errors of `compute_correlations`, and InvalidInputError if the epoch is not evaluated.
    """
    epochs = ranking.scored_epochs if epoch is None else [epoch]
    if not ranking.is_finished or table.id != ranking.config["table_id"]:
        return compute_correlations(ranking, table, epochs)
    predictions, truths = predictions_and_truths(ranking, table, epochs[-1])
    return Correlations(ranking.recorded_correlations, [], predictions, headline(truths))


def predictions_and_truths(ranking: Ranking, table: Table, epoch: int) -> tuple[Predictions, list[Truth]]:
    """Return the predictions of an epoch and the corresponding true errors, by architecture or (`mean`) by cell."""
    space, run, budgets = ranking.space, ranking.run, chosen_budgets(ranking.options.budgets, table.epochs)
    scores = ranking.scores(epoch)
    scores = scores.subset(table_mask(table, space, scores.numbers))
    architectures = [space[int(number)] for number in scores.numbers]
    errors = scores.exact_errors if ranking.options.copies == "mean" else scores.errors  # ties between means need these
    values = {"error": errors.astype(np.float64), "loss": scores.losses.astype(np.float64)}
    if untrained_method(run).learns_parameters and run.reading(epoch).has_probabilities:
        values["probability"] = -log_probabilities(space, logits_of(run, space, epoch), architectures)
    rows, subsets = table.rows(architectures), _subsets(ranking, table, scores, epoch)
    predictions = Predictions(epoch, values, rows, subsets, numbers=scores.numbers)
    found = true_errors(table, architectures, budgets, run.config["dataset"])
    return merge_copies(predictions, found, ranking.options.copies)


def merge_copies(predictions: Predictions, found: Sequence[Truth], copies: str) -> tuple[Predictions, list[Truth]]:
    """Return predictions and true errors as the option `copies` counts them: by architecture or ("mean") by cell."""
    if copies != "mean":
        return predictions, list(found)
    means, first = predictions.mean_over_copies()
    return means, [replace(of, errors=of.errors[first], measurements=of.measurements[first]) for of in found]


def _subsets(ranking: Ranking, table: Table, scores: EpochScores, epoch: int) -> Scopes:
    """Return the scopes that only some runs have: the samples from ENAS's controller."""
    if ranking.options.architectures != "all" or not untrained_method(ranking.run).learns_to_sample:
        return {}
    drawn = controller_draws(ranking.run, ranking.space, epoch, ranking.options.seed)
    drawn = drawn[table_mask(table, ranking.space, drawn)]
    if ranking.options.copies == "one":  # another sub-network may represent the cell of a sample
        ranked, cells = (table.rows([ranking.space[int(n)] for n in numbers]) for numbers in (scores.numbers, drawn))
        return {"controller": np.isin(ranked, cells)}
    return {"controller": np.isin(scores.numbers, drawn)}


# Criteria of one epoch ------------------------------------------------------------------------------------------------


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
        resamples: number of bootstrap resamples. Default: `criteria.default_resamples`.
        advance: function to call after each part, with its share of the work; all shares add up to 1.

    Returns:
        A frame with `CORRELATION_COLUMNS` (`measured`: fraction of measurements among the n true errors), and the
        undefined criteria.
    """
    rows, undefined = list[tuple[Any, ...]](), list[Undefined]()
    parts = list(pairings(predictions, truths))
    sizes = [len(part.errors) for part in parts]
    for part, size in zip(parts, sizes, strict=True):
        found, missing = compare(part, seed, resamples)
        rows += found
        undefined += missing
        advance(size / sum(sizes))
    return pandas.DataFrame(rows, columns=list(CORRELATION_COLUMNS)), undefined


def pairings(predictions: Predictions, truths: Sequence[Truth]) -> Iterator[Pairing]:
    """Yield everything to compare at one epoch; arguments as for `correlations`."""
    for truth in truths:
        for name in predictions.values:
            possible = np.isfinite(predictions.values[name]) if name == "probability" else np.True_
            for errors, known, measured in _versions(truth):
                mask = known & possible
                if mask.sum() < FEWEST and not np.all(possible):
                    continue  # almost all choices are decided
                yield Pairing(predictions.subset(mask), name, truth.budget, truth.split, errors[mask], measured[mask])


def _versions(truth: Truth) -> Iterator[tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield true errors and masks of known and of measured values: for all, then for measurements only."""
    yield truth.errors, truth.known, truth.measured
    has_measurement = truth.has_measurement
    if has_measurement.sum() >= FEWEST and not truth.measured[truth.known].all():
        yield truth.measurements, has_measurement, has_measurement


def compare(pairing: Pairing, seed: int, resamples: int | None) -> tuple[list[tuple[Any, ...]], list[Undefined]]:
    """Return the criteria of one predictor in every scope, as rows with `CORRELATION_COLUMNS`, and undefined ones."""

    @cache  # scopes can be equal, for example because true errors are tied
    def measure(chosen: bytes) -> tuple[dict[str, tuple[float, ...]], dict[str, str]]:
        return _evaluate_scope(pairing, np.frombuffer(chosen, np.bool_), seed, resamples)

    rows, undefined = list[tuple[Any, ...]](), list[Undefined]()
    place = (pairing.predictions.epoch, pairing.budget, pairing.split)
    for scope, mask in pairing.scopes().items():
        found, causes = measure(mask.tobytes())
        share = float(pairing.measured[mask].mean())
        for criterion, values in found.items():
            name = f"{criterion}_{pairing.predictor}"
            rows.append((*place, name, scope, *values, int(mask.sum()), share))
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


# Probability that a search's Λ assigns to architectures (NAS-Bench-201, table 7) --------------------------------------


def logits_of(run: Run, space: OneShotSpace, epoch: int) -> Parameters:
    """Return the parameters for `log_probabilities` at an epoch of a search: their softmax is the mixing weights.

    They are Λ itself if the mixing weights are the softmax of Λ. Excluded entries are −∞, and the entries that a
    decided choice keeps are equal.
    """
    parameters = {key: of[epoch] for key, of in run.architecture_parameters.items()}
    reading = run.reading(epoch)
    weights = reading.weights(parameters, space, run.lines[epoch].get("structure"))
    if reading == Reading() and not any(np.isnan(values).any() for values in weights.values()):
        return parameters
    with np.errstate(divide="ignore"):
        return {key: np.log(np.nan_to_num(values, nan=0.0)) for key, values in weights.items()}


def log_probabilities(space: OneShotSpace, parameters: Parameters, architectures: Sequence[Architecture]) -> Floats:
    """Return the log-probabilities (A,) of sub-networks, in nats.

    A single entry of a vector of Λ is drawn from its softmax. The k parents of a node are drawn without replacement
    from the softmax over the remaining entries, in any order (Plackett-Luce; Gumbel-top-k samples from this model).
    Only decisions that affect the network count (`OneShotSpace.live_choices`), so the result is the total probability
    of all architectures with this live part.

    Args:
        space: the space of the architectures.
        parameters: raw Λ or the result of `logits_of`, an array for every key of `space.mixing_shapes()`.
        architectures: A architectures.
    """

    @cache
    def of_picks(choice: Choice, picks: tuple[int, ...]) -> float:
        values = np.asarray(parameters[choice.key], np.float64)
        return log_probability_of_picks(values if choice.row is None else values[choice.row], picks)

    def of_architecture(arch: Architecture) -> float:
        one_hot, total = space.one_hot(arch), {False: 0.0, True: 0.0}
        for choice in space.live_choices(arch):
            weights = choice.of(one_hot)
            total[choice.key == space.operation_key] += of_picks(choice, tuple(np.flatnonzero(weights).tolist()))
        return total[False] + total[True]  # edges and operations apart, each in the order of the nodes

    return np.array([of_architecture(arch) for arch in architectures])
