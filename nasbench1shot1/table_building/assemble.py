"""From real measurements to the embedded table: one command, the same bits every time."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.cell_encoding import Encodings, encode_all
from nasbench1shot1.cells import Cell
from nasbench1shot1.table_building.canonical import CellArrays, canonical
from nasbench1shot1.table_building.features import features
from nasbench1shot1.table_building.fidelity import accuracy_fidelity, time_fidelity
from nasbench1shot1.table_building.parameters import trainable_parameters
from nasbench1shot1.table_building.regression import Matrix, Predictions, Settings, cross_fit, folds_by_hash
from nasbench1shot1.table_building.shrinkage import Shrinkage, fit_shrinkage
from nasbench1shot1.table_building.sources import (
    IMAGES,
    OFFICIAL_PAIRS,
    RETRAINED,
    SAMPLE,
    Floats,
    Sample,
    read_repeats,
    read_sample,
)
from nasbench1shot1.table_building.test_accuracy import fit_error_curve, validation_test_pairs
from nasbench1shot1.table_folder import write_table

NAME, VERSION = "nb101-embedded", "1"
FULL_BUDGET = 108
Columns = dict[str, NDArray[Any]]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Cells:
    """The rows of the table: U distinct cells, ascending by hash.

    Attributes:
        hashes: (U,) of 16 bytes.
        encodings: (U,), numbered as NAS-Bench-101 first meets them.
        members: the ascending rows of each space.
        row_of_sample: (N,) row of each cell of the sample, -1 for cells in none of the spaces.
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    members: dict[str, NDArray[np.int32]]
    row_of_sample: NDArray[np.int64]


def build(
    cells: Mapping[str, Sequence[Cell]],
    out: Path,
    settings: Settings | None = None,
    report: Report = lambda line: None,
    date: str | None = None,
    sources: Path | None = None,
) -> dict[str, Any]:
    """Fit the regressions and write the table.

    Args:
        cells: the distinct cells of each space, by the space's name.
        out: folder of the table; a table that is there is replaced when the new one is whole.
        settings: amount of work; the default makes the embedded table in several minutes on two cores.
        report: is told what goes on, a line at a time.
        date: written into the table; today if not given.
        sources: folder of the real measurements, the package's own if not given.

    Returns:
        What `meta.json` says, its `fidelity` included.
    """
    settings = settings or Settings()
    sample = read_sample(sources)
    rows = _rows(cells, sample)
    report(f"{len(rows.hashes):,} distinct cells, {int((rows.row_of_sample >= 0).sum()):,} of them measured")
    of_sample, of_rows = _features(sample.encodings), _features(rows.encodings)
    columns: Columns = {
        "hash": rows.hashes.view(np.uint8).reshape(-1, 16),
        "cell": rows.encodings,
        "trainable_parameters": trainable_parameters(CellArrays.from_encodings(rows.encodings)).astype(np.int32),
        **{f"member_{space}": members for space, members in rows.members.items()},
    }
    fitted = _Fitted(sample, rows, of_sample, of_rows, settings, report, read_repeats(sources))
    accuracy, accuracy_report = fitted.validation_accuracy()
    accuracy = accuracy.astype(np.float32)
    seconds, time_report = fitted.training_time()
    pairs = validation_test_pairs(sample, sources)
    curve = fit_error_curve(*pairs)
    columns |= {
        "validation_accuracy": accuracy[..., None],
        "measured_validation_accuracy": fitted.measured(sample.accuracy)[..., None].astype(np.float32),
        "test_accuracy": (1 - curve(1 - accuracy[:, -1].astype(float)))[:, None, None].astype(np.float32),
        "training_time": _scaled(seconds, sample.epochs)[..., None].astype(np.float32),
        "measured_training_time": fitted.measured(sample.seconds[:, None])[..., None].astype(np.float32),
    }
    meta = {
        "name": NAME,
        "version": VERSION,
        "date": date or datetime.date.today().isoformat(),
        "epochs": list(sample.epochs),
        "repeats": 1,
        "spaces": list(cells),
        "columns": _about(list(sample.epochs), list(cells)),
        "fidelity": {
            "method": f"{settings.folds}-fold cross-validation, folds by hash, fitted on the whole sample of "
            f"{len(sample.hashes):,} cells, scored on the cells of {', '.join(cells)}",
            "validation_accuracy": accuracy_report,
            "training_time": time_report,
            "test_accuracy": {"pairs": curve.n_pairs, "root_mean_square_error": round(curve.residual, 5)},
        },
        "settings": asdict(settings),
        "software": {name: version(name) for name in ("lightgbm", "numpy", "scipy")},
    }
    written = write_table(out, columns, meta)
    report(f"written to {out}")
    return written


def _rows(cells: Mapping[str, Sequence[Cell]], sample: Sample) -> Cells:
    of_hash = {cell.hash: cell for of_space in cells.values() for cell in of_space}
    texts = sorted(of_hash)
    row = {text: i for i, text in enumerate(texts)}
    members = {
        space: np.sort(np.array([row[cell.hash] for cell in of_space], np.int32)) for space, of_space in cells.items()
    }
    measured = [row.get(digits, -1) for digits in _texts(sample.hashes)]
    hashes = np.frombuffer(bytes.fromhex("".join(texts)), "S16")
    encodings = canonical(encode_all(of_hash[text] for text in texts))
    return Cells(hashes, encodings, members, np.array(measured))


def _texts(hashes: NDArray[np.bytes_]) -> list[str]:
    digits = np.ascontiguousarray(hashes).tobytes().hex()
    return [digits[i : i + 32] for i in range(0, len(digits), 32)]


def _features(encodings: Encodings) -> Matrix:
    """In parts: the counts of one part of 8,192 cells take about 50 MB."""
    parts = [encodings[i : i + 8192] for i in range(0, len(encodings), 8192)]
    return np.concatenate([features(CellArrays.from_encodings(part))[0] for part in parts])


def _scaled(seconds: Floats, epochs: tuple[int, ...]) -> Floats:
    return np.asarray(seconds[:, None] * np.array(epochs) / FULL_BUDGET)


@dataclass(frozen=True)
class _Fitted:
    """One regression after another on the same cells."""

    sample: Sample
    rows: Cells
    of_sample: Matrix
    of_rows: Matrix
    settings: Settings
    report: Report
    repeats: dict[int, dict[str, Floats]]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which cells of the sample are rows of the table."""
        return self.rows.row_of_sample >= 0

    def measured(self, values: Floats) -> Floats:
        """Values of the sample (N, E) in the table's rows (U, E), NaN elsewhere."""
        out = np.full((len(self.rows.hashes), values.shape[1]), np.nan)
        out[self.rows.row_of_sample[self.inside]] = values[self.inside]
        return out

    def validation_accuracy(self) -> tuple[Floats, dict[str, Any]]:
        """Estimates at every budget, (U, E), and how good the held-out predictions are."""
        estimates, found = [], {}
        for i, epochs in enumerate(self.sample.epochs):
            error = 1 - self.sample.accuracy[:, i]
            prediction = self._predict(np.log(error))
            measured = self.sample.accuracy[self.inside, i]
            scores = accuracy_fidelity(1 - np.exp(prediction.held_out[self.inside]), measured)
            shrinkage = fit_shrinkage(
                prediction.held_out[self.inside],
                np.log(error[self.inside]),
                np.log(1 - self.repeats[epochs]["valid_acc"]),
            )
            estimates.append(1 - np.exp(self._blend(prediction, np.log(error), shrinkage)))
            found[str(epochs)] = scores | _described(shrinkage)
            self.report(f"validation accuracy at {epochs} epochs: {scores}")
        return np.stack(estimates, axis=1), found

    def training_time(self) -> tuple[Floats, dict[str, Any]]:
        """Estimates in seconds at 108 epochs, (U,), and how good the held-out predictions are."""
        target = np.log(self.sample.seconds)
        prediction = self._predict(target)
        scores = time_fidelity(np.exp(prediction.held_out[self.inside]), self.sample.seconds[self.inside])
        shrinkage = fit_shrinkage(
            prediction.held_out[self.inside],
            target[self.inside],
            np.log(self.repeats[FULL_BUDGET]["train_time_s"]),
        )
        self.report(f"training time: {scores}")
        return np.exp(self._blend(prediction, target, shrinkage)), scores | _described(shrinkage)

    def _predict(self, target: Floats) -> Predictions:
        folds = folds_by_hash(self.sample.hashes, self.settings.folds)
        return cross_fit(self.of_sample, target, folds, self.of_rows, self.settings)

    def _blend(self, prediction: Predictions, target: Floats, shrinkage: Shrinkage) -> Floats:
        """The mean prediction; where there is a measurement, the held-out one with the measurement drawn in."""
        out = prediction.mean.copy()
        out[self.rows.row_of_sample[self.inside]] = shrinkage.drawn_in(
            prediction.held_out[self.inside], target[self.inside]
        )
        return out


def _described(shrinkage: Shrinkage) -> dict[str, Any]:
    weights = shrinkage.weight(shrinkage.level)
    return {
        "noise_of_log": round(float(shrinkage.noise.mean()), 4),
        "residual_of_log": [round(float(r), 4) for r in shrinkage.residual],
        "weight_of_measurement": [round(float(w), 3) for w in weights],
    }


def _about(epochs: list[int], spaces: list[str]) -> dict[str, dict[str, Any]]:
    """What `meta.json` says of every column."""
    exact = {"fidelity": "exact", "sources": [], "method": "derived from the cell alone"}
    measured = {"fidelity": "measured", "sources": [SAMPLE]}
    return {
        "hash": exact | {"method": "NAS-Bench-101's graph-invariant MD5"},
        "cell": exact | {"method": "pruned, numbered as NAS-Bench-101 first meets it"},
        "trainable_parameters": exact | {"method": "NAS-Bench-101's network, counted"},
        **{f"member_{space}": exact | {"method": f"rows of {space}'s distinct cells"} for space in spaces},
        "validation_accuracy": {
            "fidelity": "estimated",
            "sources": [SAMPLE, RETRAINED],
            "method": "gradient boosting on log error; the measurement, where there is one, drawn in by its worth",
            "epochs": epochs,
        },
        "measured_validation_accuracy": measured
        | {"method": "one of three official repeats, NaN where none", "epochs": epochs, "images": IMAGES},
        "test_accuracy": {
            "fidelity": "predicted",
            "sources": [OFFICIAL_PAIRS, RETRAINED, SAMPLE],
            "method": "rising curve of the validation estimate through real validation-test pairs",
            "epochs": [FULL_BUDGET],
        },
        "training_time": {
            "fidelity": "estimated",
            "sources": [SAMPLE, RETRAINED],
            "method": "gradient boosting on log seconds at 108 epochs; other budgets scaled by epochs / 108",
            "epochs": epochs,
        },
        "measured_training_time": measured
        | {"method": "of one official repeat, NaN where none", "epochs": [FULL_BUDGET]},
    }
