"""Reproducible building of the embedded table: estimates for every cell of s1, s2 and s3 from measurements of a sample.

The same versions and numbers of threads give bit-identical tables.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import Encodings, encode_all
from nasbench1shot1.nasbench101.estimation import (
    Predictions,
    Settings,
    Shrinkage,
    cross_fit,
    fit_error_curve,
    fit_shrinkages,
    folds_by_hash,
    robust_sd,
    validation_test_pairs,
    weight_from_repeats,
)
from nasbench1shot1.nasbench101.features import CellArrays, features, trainable_parameters
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.nasbench101.sample import (
    DATASET,
    IMAGES,
    OFFICIAL_PAIRS,
    RETRAINED,
    SAMPLE,
    Floats,
    Matrix,
    Sample,
    read_repeats,
    read_sample,
)
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.description import Meta
from nasbench1shot1.tables.folder import Columns, check_target, write_table

NAME, VERSION = "nb101-embedded", "1"
Report = Callable[[str], None]
FULL_BUDGET = 108
GOOD = 0.9
Mask = NDArray[np.bool_]


def build_embedded(out: Path, report: Report) -> None:
    """Build the embedded table, whose rows are the distinct cells of s1, s2 and s3, from the bundled measurements.

    Raises the errors of `build`.
    """
    from nasbench1shot1.nasbench101.cost import as_cell
    from nasbench1shot1.registry import search_space

    check_target(out)  # before the spaces are enumerated
    spaces = [search_space(name) for name in ("s1", "s2", "s3")]
    cells = {space.name: [as_cell(arch) for arch in space.architectures("unique")] for space in spaces}
    build(cells, out, report=report)


def build(
    cells: Mapping[str, Sequence[Cell]],
    out: Path,
    settings: Settings | None = None,
    report: Report = lambda line: None,
    date: str | None = None,
    sources: Path | None = None,
) -> Meta:
    """Fit the regressions and write the table.

    Args:
        cells: the distinct cells of each space, by the space's name.
        out: folder of the table; an existing table is replaced when the new one is complete.
        settings: amount of work; the default builds the embedded table in about eight minutes on one core.
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
    _check_extra()
    check_target(out)
    settings = settings or Settings()
    sample = read_sample(sources)
    rows = _rows(cells, sample)
    report(f"{len(rows.hashes):,} distinct cells, {len(rows.of_sample):,} of them measured; computing features")
    targets = np.column_stack([np.log(1 - sample.accuracy), np.log(sample.seconds)])
    folds = folds_by_hash(sample.hashes, settings.folds)
    predictions = cross_fit(_features(sample.encodings), targets, folds, _features(rows.encodings), settings, report)
    shrinkages = _shrinkages(sample, targets - predictions.held_out, sources)
    blended = _blend(predictions, targets, shrinkages, rows)
    columns, test = _columns(rows, sample, 1 - np.exp(blended[:, :-1]), np.exp(blended[:, -1]), sources)
    scores = _scores(sample, rows, predictions.held_out, shrinkages)
    for quantity, found in scores.items():
        report(f"{quantity}: {found}")
    meta = {
        "name": NAME,
        "version": VERSION,
        "date": date or datetime.date.today().isoformat(),
        "keyed_by": "nasbench101",
        "datasets": [DATASET],
        "epochs": list(sample.epochs),
        "repeats": 1,
        "spaces": list(cells),
        "columns": describe_columns(sample.epochs, list(cells)),
        "fidelity": {
            "method": f"{settings.folds}-fold cross-validation, folds by hash, fitted on the sample's "
            f"{len(sample.hashes):,} cells, scored on those in {', '.join(cells)}",
            **scores,
            "test_accuracy": test,
        },
        "settings": asdict(settings),
        "software": {name: version(name) for name in ("lightgbm", "numpy", "torch")},
    }
    written = write_table(out, columns, meta)
    report(f"written to {out}")
    return written


@dataclass(frozen=True)
class Rows:
    """The rows of the table, U distinct cells in ascending order of their hashes, and the positions of the sample's
    N cells.

    Attributes:
        hashes: (U,) hashes of 16 bytes.
        encodings: (U,) encodings in NAS-Bench-101's canonical numbering.
        members: the ascending rows of each space.
        inside: (N,) whether each cell of the sample is in a space.
        of_sample: (n,) the rows of the sample's cells that are in a space.
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    members: dict[str, NDArray[np.int32]]
    inside: NDArray[np.bool_]
    of_sample: NDArray[np.int64]

    def spread(self, values: Floats) -> Floats:
        """Return the sample's values (N, E) in the table's rows (U, E), NaN elsewhere."""
        out = np.full((len(self.hashes), values.shape[1]), np.nan)
        out[self.of_sample] = values[self.inside]
        return out


def _check_extra() -> None:
    if find_spec("lightgbm") is None:
        raise UserError("building the table needs lightgbm: in a checkout, run pip install '.[table]'")


def _rows(cells: Mapping[str, Sequence[Cell]], sample: Sample) -> Rows:
    of_hash = {cell.hash: cell for of_space in cells.values() for cell in of_space}
    texts = sorted(of_hash)
    row = {bytes.fromhex(text): i for i, text in enumerate(texts)}
    members = {
        space: np.sort(np.array([row[bytes.fromhex(cell.hash)] for cell in of_space], np.int32))
        for space, of_space in cells.items()
    }
    digests = np.ascontiguousarray(sample.hashes).tobytes()
    found = np.array([row.get(digests[i : i + 16], -1) for i in range(0, len(digests), 16)])
    hashes = np.frombuffer(b"".join(row), "S16")
    encodings = canonicalise(encode_all(of_hash[text] for text in texts))
    return Rows(hashes, encodings, members, found >= 0, found[found >= 0])


def _features(encodings: Encodings) -> Matrix:
    """Compute the features in parts of 8,192 cells, whose counts take about 50 MB."""
    parts = [encodings[i : i + 8192] for i in range(0, len(encodings), 8192)]
    return np.concatenate([features(CellArrays.from_encodings(part))[0] for part in parts])


def _shrinkages(sample: Sample, residuals: Floats, sources: Path | None) -> list[Shrinkage]:
    """Return the shrinkages of each budget's log error, and of the log seconds."""
    repeats = read_repeats(sources)
    shared = fit_shrinkages(residuals[:, :-1], [np.log(1 - repeats[epochs]["valid_acc"]) for epochs in sample.epochs])
    sd = robust_sd(residuals[:, -1])
    return [*shared, Shrinkage(weight_from_repeats(sd, np.log(repeats[FULL_BUDGET]["train_time_s"])), sd)]


def _blend(predictions: Predictions, targets: Floats, shrinkages: list[Shrinkage], rows: Rows) -> Floats:
    """Return the mean predictions; for measured cells, combine the held-out prediction with the measurement."""
    out = predictions.mean.copy()
    held_out, measured = predictions.held_out[rows.inside], targets[rows.inside]
    for i, shrinkage in enumerate(shrinkages):
        out[rows.of_sample, i] = shrinkage.shrink(held_out[:, i], measured[:, i])
    return out


def _columns(
    rows: Rows, sample: Sample, accuracy: Floats, seconds: Floats, sources: Path | None
) -> tuple[Columns, dict[str, Any]]:
    """Return all columns, and the fidelity of the test accuracies."""
    stored = accuracy.astype(np.float32)
    curve = fit_error_curve(*validation_test_pairs(sample, sources))
    test = 1 - curve(1 - stored[:, -1:].astype(np.float64))  # from the stored values, so that both rank equally
    scaled = seconds[:, None] * np.array(sample.epochs) / FULL_BUDGET
    estimates = {
        "validation_accuracy": stored,
        "measured_validation_accuracy": rows.spread(sample.accuracy),
        "test_accuracy": test,
        "training_time": scaled,
        "measured_training_time": rows.spread(sample.seconds[:, None]),
    }
    columns: Columns = {
        "hash": rows.hashes.view(np.uint8).reshape(-1, 16),
        "cell": rows.encodings,
        "trainable_parameters": trainable_parameters(CellArrays.from_encodings(rows.encodings)).astype(np.int32),
        **{f"member_{space}": members for space, members in rows.members.items()},
        **{name: values[..., None].astype(np.float32) for name, values in estimates.items()},
    }
    return columns, {"pairs": curve.n_pairs, "root_mean_square_error": round(curve.residual, 5)}


def _scores(sample: Sample, rows: Rows, held_out: Floats, shrinkages: list[Shrinkage]) -> dict[str, Any]:
    """Return the fidelity of the held-out predictions on the cells of the spaces, by quantity and budget."""
    predicted = held_out[rows.inside]
    of_space = {space: np.isin(rows.of_sample, members) for space, members in rows.members.items()}
    accuracy = {
        str(epochs): accuracy_fidelity(1 - np.exp(predicted[:, i]), sample.accuracy[rows.inside, i], of_space)
        | shrinkages[i].as_dict()
        for i, epochs in enumerate(sample.epochs)
    }
    seconds = time_fidelity(np.exp(predicted[:, -1]), sample.seconds[rows.inside])
    return {"validation_accuracy": accuracy, "training_time": seconds | shrinkages[-1].as_dict()}


def describe_columns(epochs: tuple[int, ...], spaces: list[str]) -> dict[str, dict[str, Any]]:
    """Return the entry of every column in `meta.json`."""
    exact = {"fidelity": "exact", "sources": []}

    def metric(name: str, fidelity: str, budgets: tuple[int, ...], *sources: str, **more: Any) -> dict[str, Any]:
        return standard(name, DATASET, fidelity=fidelity, epochs=budgets).entry(sources=list(sources), **more)

    return {
        "hash": exact | {"method": "NAS-Bench-101's graph-invariant MD5"},
        "cell": exact | {"method": "pruned, numbered as NAS-Bench-101 first meets it"},
        "trainable_parameters": metric(
            "trainable_parameters", "exact", (), method="counted on NAS-Bench-101's network"
        ),
        **{f"member_{space}": exact | {"method": f"rows of {space}'s distinct cells"} for space in spaces},
        "validation_accuracy": metric(
            "validation_accuracy",
            "estimated",
            epochs,
            SAMPLE,
            method="regression on log error; measurements, where available, are combined with the prediction by "
            "shrinkage",
        ),
        "measured_validation_accuracy": metric(
            "validation_accuracy",
            "measured",
            epochs,
            SAMPLE,
            method="one of three official repeats, NaN where none",
            images=IMAGES,
        ),
        "test_accuracy": metric(
            "test_accuracy",
            "predicted",
            (FULL_BUDGET,),
            OFFICIAL_PAIRS,
            RETRAINED,
            SAMPLE,
            method="rising curve of the validation estimate through real validation-test pairs",
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
            "training_time", "measured", (FULL_BUDGET,), SAMPLE, method="of one official repeat, NaN where none"
        ),
    }


# Fidelity: held-out predictions compared with measurements ------------------------------------------------------------


def accuracy_fidelity(predicted: Floats, measured: Floats, groups: Mapping[str, Mask]) -> dict[str, Any]:
    """Compare held-out predictions of validation accuracy with single measured repeats, (N,) fractions each.

    `groups` are (N,) masks, one for each space, for separate rank correlations.
    """
    good = measured > GOOD
    found: dict[str, Any] = {"cells": len(measured), "spearman": _spearman(predicted, measured)}
    found |= {f"spearman_{name}": _spearman(predicted[group], measured[group]) for name, group in groups.items()}
    if good.sum() > 100:
        found |= {"cells_above_0.9": int(good.sum()), "spearman_above_0.9": _spearman(predicted[good], measured[good])}
    return found | {"median_absolute_error": _round(np.median(np.abs(predicted - measured)))}


def time_fidelity(predicted: Floats, measured: Floats) -> dict[str, Any]:
    """Compare held-out predictions of training times with measured times, (N,) seconds each."""
    return {
        "cells": len(measured),
        "spearman": _spearman(predicted, measured),
        "median_relative_error": _round(np.median(np.abs(predicted / measured - 1))),
    }


def _spearman(a: Floats, b: Floats) -> float:
    from scipy.stats import spearmanr

    return _round(spearmanr(a, b).statistic)


def _round(value: Any) -> float:
    return round(float(value), 4)
