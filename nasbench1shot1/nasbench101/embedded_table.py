"""Reproducible building of the bundled tables of NAS-Bench-101: measurements, and estimates from all measurements.

The same versions and numbers of threads give bit-identical tables.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import Encodings, encode_all
from nasbench1shot1.nasbench101.estimates.estimation import Matrix, Settings, Targets, cross_fit, folds_by_hash
from nasbench1shot1.nasbench101.estimates.fidelity import accuracy_fidelity, time_fidelity
from nasbench1shot1.nasbench101.estimates.measurements import Measurements, read_measurements
from nasbench1shot1.nasbench101.estimates.shrinkage import (
    REPEATS,
    Shrinkage,
    clip_residuals,
    fit_shrinkage,
    robust_sd,
    weight_from_repeats,
)
from nasbench1shot1.nasbench101.features import CellArrays, features, trainable_parameters
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.nasbench101.sources import (
    DATASET,
    DRAWS,
    IMAGES,
    RETRAINED,
    SAMPLE,
    TEST_MEANS,
    TEST_REPEATS,
    Floats,
    read_repeated_times,
)
from nasbench1shot1.tables.columns import PARTLY_MEASURED, standard
from nasbench1shot1.tables.description import Meta, exact_entry
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.writing import check_target, write_table

Report = Callable[[str], None]
FULL_BUDGET = 108
TEST, SECONDS = -2, -1
"""Places of the test accuracy and the training time among the targets; the validation accuracies come first."""
TEST_WEIGHT = 2.0
"""Weight of a mean test accuracy, relative to a single validation accuracy, whose noise has a larger variance."""


@dataclass(frozen=True)
class Contents:
    """What a bundled table contains.

    Attributes:
        name, version: name and version of the table.
        uses_single_repeats: whether the values of the validation accuracy are single measured repeats, where available.
            Otherwise all of them are estimates of the mean over three repeats.
    """

    name: str
    version: str
    uses_single_repeats: bool = False


EMBEDDED = Contents("nb101-embedded", "2")
FIVE_VERTICES = Contents("nb101-5v", "1", uses_single_repeats=True)


def build_embedded(out: Path, report: Report) -> None:
    """Build the embedded table, whose rows are the distinct cells of s1, s2 and s3, from the bundled measurements.

    Raises the errors of `build`.
    """
    _build_spaces(("s1", "s2", "s3"), out, EMBEDDED, report)


def build_five_vertices(out: Path, report: Report) -> None:
    """Build the table of all cells with at most five vertices from the bundled measurements.

    Raises the errors of `build`.
    """
    _build_spaces((FIVE_VERTICES.name,), out, FIVE_VERTICES, report)


def _build_spaces(names: Sequence[str], out: Path, contents: Contents, report: Report) -> None:
    from nasbench1shot1.nasbench101.cost import as_cell
    from nasbench1shot1.registry import search_space

    check_target(out)  # before the spaces are enumerated
    cells = {name: [as_cell(arch) for arch in search_space(name).architectures("unique")] for name in names}
    build(cells, out, contents, report=report)


def build(
    cells: Mapping[str, Sequence[Cell]],
    out: Path,
    contents: Contents = EMBEDDED,
    settings: Settings | None = None,
    report: Report = lambda line: None,
    date: str | None = None,
    sources: Path | None = None,
) -> Meta:
    """Fit the regressions and write the table.

    Args:
        cells: the distinct cells of each space, by the space's name.
        out: folder of the table; an existing table is replaced when the new one is complete.
        contents: name of the table, and what its values are.
        settings: amount of work; the default builds the bundled tables.
        report: receives progress messages, one line at a time.
        date: date in the table's description. Default: today.
        sources: folder of the measurements. Default: the package's own sources.

    Returns:
        The content of `meta.json`, including `fidelity`.

    Raises:
        DamagedFileError: a source cannot be read.
        InvalidInputError: `out` contains files other than a table.
        UserError: `out` cannot be written, or the extra [table] is not installed.
    """
    require_package("lightgbm", "building the table", extra="table")
    check_target(out)
    settings, known = settings or Settings(), read_measurements(sources)
    rows = _rows(cells, known)
    report(f"{len(rows.hashes):,} distinct cells, {len(rows.of_known):,} of them measured; computing features")
    estimates = _estimate(known, rows, settings, sources, report)
    scores = _scores(known, rows, estimates)
    for quantity, found in scores.items():
        report(f"{quantity}: {found}")
    meta = {
        "name": contents.name,
        "version": contents.version,
        "date": date or datetime.date.today().isoformat(),
        "keyed_by": "nasbench101",
        "datasets": [DATASET],
        "epochs": list(known.epochs),
        "repeats": 1,
        "spaces": list(cells),
        "columns": describe_columns(contents, known.epochs, list(cells)),
        "fidelity": {
            "method": f"{settings.folds}-fold cross-validation, folds by hash, fitted on {len(known.hashes):,} "
            f"measured cells, scored on those in {', '.join(cells)}",
            **scores,
        },
        "settings": asdict(settings),
        "software": {name: version(name) for name in ("lightgbm", "numpy", "torch")},
    }
    written = write_table(out, _columns(contents, known, rows, estimates), meta)
    report(f"written to {out}")
    return written


@dataclass(frozen=True)
class Rows:
    """The rows of the table, U distinct cells in ascending order of their hashes, and the positions of the N measured
    cells.

    Attributes:
        hashes: (U,) hashes of 16 bytes.
        encodings: (U,) encodings in NAS-Bench-101's canonical numbering.
        members: the ascending rows of each space.
        inside: (N,) whether each measured cell is in a space.
        of_known: (n,) the rows of the measured cells that are in a space.
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    members: dict[str, NDArray[np.int32]]
    inside: NDArray[np.bool_]
    of_known: NDArray[np.int64]

    def spread(self, values: Floats) -> Floats:
        """Return values of measured cells (N, E) in the table's rows (U, E), NaN elsewhere."""
        out = np.full((len(self.hashes), values.shape[1]), np.nan)
        out[self.of_known] = values[self.inside]
        return out


@dataclass(frozen=True)
class Estimates:
    """The estimates of a table, in log units: of the error at each budget, of the test error, and of the seconds.

    Attributes:
        values: (U, T) estimates of the rows.
        held_out: (N, T) predictions for the measured cells, by models that were fitted without the cell.
        shrinkage: how measurements are combined with predictions, for all targets except the seconds.
        seconds_sd, seconds_weight: the standard deviation of the residuals of the log seconds, and the weight of a
            measurement.
    """

    values: Floats
    held_out: Floats
    shrinkage: Shrinkage
    seconds_sd: float
    seconds_weight: float


def _rows(cells: Mapping[str, Sequence[Cell]], known: Measurements) -> Rows:
    of_hash = {cell.hash: cell for of_space in cells.values() for cell in of_space}
    texts = sorted(of_hash)
    row = {bytes.fromhex(text): i for i, text in enumerate(texts)}
    members = {
        space: np.sort(np.array([row[bytes.fromhex(cell.hash)] for cell in of_space], np.int32))
        for space, of_space in cells.items()
    }
    digests = np.ascontiguousarray(known.hashes).tobytes()
    found = np.array([row.get(digests[i : i + 16], -1) for i in range(0, len(digests), 16)])
    hashes = np.frombuffer(b"".join(row), "S16")
    encodings = canonicalise(encode_all(of_hash[text] for text in texts))
    return Rows(hashes, encodings, members, found >= 0, found[found >= 0])


def _features(encodings: Encodings) -> Matrix:
    """Compute the features in parts of 8,192 cells, whose counts take about 50 MB."""
    parts = [encodings[i : i + 8192] for i in range(0, len(encodings), 8192)]
    return np.concatenate([features(CellArrays.from_encodings(part))[0] for part in parts])


# Estimates ------------------------------------------------------------------------------------------------------------


def _estimate(known: Measurements, rows: Rows, settings: Settings, sources: Path | None, report: Report) -> Estimates:
    """Fit the regression, and combine its predictions with measurements.

    Test accuracies that were only reported because they are high do not take part in the fit.
    """
    targets = np.log(np.column_stack([1 - known.mean_validation, 1 - known.test, known.seconds]))
    fitted = targets.copy()
    fitted[known.was_selected, TEST] = np.nan
    folds = folds_by_hash(known.hashes, settings.folds)
    predictions = cross_fit(
        _features(known.encodings),
        fitted,
        folds,
        _features(rows.encodings),
        _targets(len(known.epochs)),
        settings,
        report,
    )
    residuals = fitted - predictions.held_out
    has_all_repeats = np.arange(targets.shape[1] - 1) == len(known.epochs)
    shrinkage = fit_shrinkage(residuals[:, :SECONDS], has_all_repeats)
    sd = robust_sd(residuals[~np.isnan(residuals[:, SECONDS]), SECONDS])
    weight = weight_from_repeats(sd, np.log(read_repeated_times(sources)))
    n_repeats = np.column_stack([known.n_repeats, np.where(np.isnan(known.test), 0, REPEATS)])
    held_out, measured = predictions.held_out[rows.inside], targets[rows.inside]
    values = predictions.mean.copy()
    values[rows.of_known, :SECONDS] = shrinkage.shrink(
        held_out[:, :SECONDS], measured[:, :SECONDS], n_repeats[rows.inside]
    )
    seconds = clip_residuals(measured[:, SECONDS] - held_out[:, SECONDS], sd)
    values[rows.of_known, SECONDS] = held_out[:, SECONDS] + weight * np.nan_to_num(seconds)
    return Estimates(values, predictions.held_out, shrinkage, sd, weight)


def _targets(n_budgets: int) -> Targets:
    """Return the targets: one model predicts the validation and the test error of the longest trainings."""
    *early, full, test, seconds = range(n_budgets + 2)
    weights = (*(1.0 for _ in early), 1.0, TEST_WEIGHT, 1.0)
    return Targets((*((budget,) for budget in early), (full, test), (seconds,)), weights)


def _scores(known: Measurements, rows: Rows, estimates: Estimates) -> dict[str, Any]:
    """Return the fidelity of the held-out predictions on the measured cells of the spaces, by quantity and budget."""
    predicted, measured = 1 - np.exp(estimates.held_out), np.column_stack([known.validation[:, :, 0], known.test])
    row_of = np.full(len(known.hashes), -1)
    row_of[rows.inside] = rows.of_known

    def scores(target: int) -> dict[str, Any]:
        scored = rows.inside & ~np.isnan(measured[:, target])
        groups = {space: np.isin(row_of[scored], members) for space, members in rows.members.items()}
        return accuracy_fidelity(
            predicted[scored, target], measured[scored, target], groups if len(groups) > 1 else None
        ) | estimates.shrinkage.as_dict(target)

    test = len(known.epochs)
    timed = rows.inside & ~np.isnan(known.seconds)
    everywhere = ~np.isnan(known.test)
    seconds = time_fidelity(np.exp(estimates.held_out[timed, SECONDS]), known.seconds[timed]) | {
        "weight_of_measurement": round(estimates.seconds_weight, 4),
        "residual_sd_of_log": round(estimates.seconds_sd, 4),
    }
    return {
        "validation_accuracy": {str(epochs): scores(i) for i, epochs in enumerate(known.epochs)},
        "test_accuracy": {str(FULL_BUDGET): scores(test)},
        "test_accuracy of all measured cells": {
            str(FULL_BUDGET): accuracy_fidelity(predicted[everywhere, test], known.test[everywhere])
        },
        **_scores_of_other_split(known, estimates),
        "training_time": seconds,
        "correlation of a cell's residuals, by budget, then test": estimates.shrinkage.correlation.round(3).tolist(),
    }


def _scores_of_other_split(known: Measurements, estimates: Estimates) -> dict[str, Any]:
    """Return the fidelity of estimates that use the measurement of the other split, on all cells that have both."""
    test, full = len(known.epochs), known.epochs.index(FULL_BUDGET)
    both = ~np.isnan(known.test) & (known.n_repeats[:, full] > 0)
    measured = np.column_stack([1 - known.mean_validation, 1 - known.test])[both]
    found = {}
    for name, target, other in (("test", test, full), ("validation", full, test)):
        n_repeats = np.zeros((int(both.sum()), test + 1), np.int64)
        n_repeats[:, other] = known.n_repeats[both, full] if other == full else REPEATS
        shrunk = estimates.shrinkage.shrink(estimates.held_out[both, :SECONDS], np.log(measured), n_repeats)
        for how, of in (("predicted", estimates.held_out[both]), ("given the other split", shrunk)):
            scored = accuracy_fidelity(1 - np.exp(of[:, target]), 1 - measured[:, target])
            found[f"{name}_accuracy of cells with both, {how}"] = {str(FULL_BUDGET): scored}
    return found


# Columns --------------------------------------------------------------------------------------------------------------


def _columns(contents: Contents, known: Measurements, rows: Rows, estimates: Estimates) -> Columns:
    single = np.rint(rows.spread(known.validation[:, :, 0]) * IMAGES) / IMAGES  # one source has them in float32
    test, validation = rows.spread(known.test[:, None]), 1 - np.exp(estimates.values[:, : len(known.epochs)])
    predicted_test = 1 - np.exp(estimates.values[:, TEST, None])
    seconds = np.exp(estimates.values[:, SECONDS, None]) * np.array(known.epochs) / FULL_BUDGET
    if contents.uses_single_repeats:
        validation = np.where(np.isnan(single), validation, single)
    metrics = {
        "validation_accuracy": validation if contents.uses_single_repeats else validation.astype(np.float32),
        "measured_validation_accuracy": single.astype(np.float32),
        "test_accuracy": np.where(np.isnan(test), predicted_test, test),
        "measured_test_accuracy": test.astype(np.float32),
        "training_time": seconds.astype(np.float32),
        "measured_training_time": rows.spread(known.seconds[:, None]).astype(np.float32),
    }
    return {
        "hash": rows.hashes.view(np.uint8).reshape(-1, 16),
        "cell": rows.encodings,
        "trainable_parameters": trainable_parameters(CellArrays.from_encodings(rows.encodings)).astype(np.int32),
        **{f"member_{space}": members for space, members in rows.members.items()},
        **{name: np.asarray(values)[..., None] for name, values in metrics.items()},
    }


def describe_columns(contents: Contents, epochs: tuple[int, ...], spaces: list[str]) -> dict[str, dict[str, Any]]:
    """Return the entry of every column in `meta.json`."""
    full, everything = (FULL_BUDGET,), (SAMPLE, DRAWS, TEST_MEANS)

    def metric(name: str, fidelity: str, budgets: tuple[int, ...], *sources: str, **more: Any) -> dict[str, Any]:
        return standard(name, DATASET, fidelity=fidelity, epochs=budgets).entry(sources=list(sources), **more)

    estimate = "regression on log error; measurements of the cell, where available, are combined with the prediction"
    return {
        "hash": exact_entry("NAS-Bench-101's graph-invariant MD5"),
        "cell": exact_entry("pruned, numbered as NAS-Bench-101 first meets it"),
        "trainable_parameters": metric(
            "trainable_parameters", "exact", (), method="counted on NAS-Bench-101's network"
        ),
        **{f"member_{space}": exact_entry(f"rows of {space}'s distinct cells") for space in spaces},
        "validation_accuracy": metric(
            "validation_accuracy",
            PARTLY_MEASURED if contents.uses_single_repeats else "estimated",
            epochs,
            *everything,
            method=f"one of three official repeats where known, else {estimate}"
            if contents.uses_single_repeats
            else f"{estimate} by shrinkage",
        ),
        "measured_validation_accuracy": metric(
            "validation_accuracy",
            "measured",
            epochs,
            SAMPLE,
            DRAWS,
            method="one of three official repeats, NaN where none",
            images=IMAGES,
        ),
        "test_accuracy": metric(
            "test_accuracy",
            PARTLY_MEASURED,
            full,
            *everything,
            method=f"mean of the three official repeats where known, else {estimate}",
        ),
        "measured_test_accuracy": metric(
            "test_accuracy",
            "measured",
            full,
            TEST_MEANS,
            method="mean of the three official repeats, NaN where not known",
            images=TEST_REPEATS * IMAGES,
        ),
        "training_time": metric(
            "training_time",
            "estimated",
            epochs,
            SAMPLE,
            RETRAINED,
            method="regression on log seconds at 108 epochs; other budgets scaled by epochs / 108",
        ),
        "measured_training_time": metric(
            "training_time", "measured", full, SAMPLE, method="of one official repeat, NaN where none"
        ),
    }
