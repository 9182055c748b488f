"""The uniform sample of NAS-Bench-101 that is bundled in data/sources, as a table."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.encoding import Encodings
from nasbench1shot1.nasbench101.sources import DATASET, IMAGES, SAMPLE, cells_of, read_source
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.description import Meta, exact_entry
from nasbench1shot1.tables.folder import Columns

NAME, VERSION = "nb101-sample", "1"
TIMED_BUDGET = 108


@dataclass(frozen=True)
class Sample:
    """27,001 cells of NAS-Bench-101, drawn uniformly, each with one of the three official repeats per budget.

    Attributes:
        hashes: (N,) MD5s of 16 bytes, ascending.
        encodings: (N,) encodings of the cells.
        epochs: the four budgets in epochs.
        accuracy: (N, 4) validation accuracies, fractions.
        seconds: (N,) training times of the 108-epoch trainings.
        parameters: (N,) numbers of trainable parameters.
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    epochs: tuple[int, ...]
    accuracy: NDArray[np.float64]
    seconds: NDArray[np.float64]
    parameters: NDArray[np.int64]


def read_sample(folder: Path | None = None) -> Sample:
    """Return the sample of NAS-Bench-101; raises DamagedFileError if it cannot be read.

    Args:
        folder: the folder with `nb101_partial_val.npz`. Default: the package's own sources.
    """
    arrays = read_source(SAMPLE, folder)
    hashes, encodings = cells_of(arrays)
    return Sample(
        hashes=hashes,
        encodings=encodings,
        epochs=tuple(int(e) for e in arrays["epochs"]),
        accuracy=arrays["valid_acc"],
        seconds=arrays["train_time_s_e108"],
        parameters=arrays["params"].astype(np.int64),
    )


def sample_columns(sources: Path | None = None) -> tuple[Columns, Meta]:
    """Return the columns and the description of the sample, for `Table.from_columns` or `write_table`.

    The sample does not contain any complete search space, so it has no `member_` columns.

    Args:
        sources: the folder with the measurements. Default: the package's own sources.

    Raises DamagedFileError if the sample cannot be read.
    """
    sample = read_sample(sources)
    columns: Columns = {
        "hash": sample.hashes.view(np.uint8).reshape(-1, 16),
        "cell": sample.encodings,
        "trainable_parameters": sample.parameters.astype(np.int32),
        "validation_accuracy": np.rint(sample.accuracy * IMAGES).astype(np.uint16)[:, :, None],
        "training_time": sample.seconds.astype(np.float32)[:, None, None],
    }
    about = {
        "hash": exact_entry("NAS-Bench-101's graph-invariant MD5", SAMPLE),
        "cell": exact_entry("pruned, numbered as NAS-Bench-101 first meets it", SAMPLE),
        "trainable_parameters": standard("trainable_parameters", DATASET).entry(
            sources=[SAMPLE], method="as the source gives it"
        ),
        "validation_accuracy": standard("validation_accuracy", DATASET, epochs=sample.epochs).entry(
            sources=[SAMPLE], method="one of three official repeats", images=IMAGES, rounded="float32"
        ),
        "training_time": standard("training_time", DATASET, epochs=(TIMED_BUDGET,)).entry(
            sources=[SAMPLE], method="of that repeat"
        ),
    }
    meta = {
        "name": NAME,
        "version": VERSION,
        "date": "2026-11-21",
        "keyed_by": "nasbench101",
        "datasets": [DATASET],
        "epochs": list(sample.epochs),
        "repeats": 1,
        "spaces": [],
        "columns": about,
    }
    return columns, meta
