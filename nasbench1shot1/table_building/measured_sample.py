"""The real sample of NAS-Bench-101 that the package carries, as a table of measurements and nothing else.

27,001 of the 423,624 cells, in effect drawn uniformly: one of the three official repeats at each budget, validation
accuracy and, at 108 epochs, training time. No test accuracy is in it. NOTICE says where it comes from.
"""

from pathlib import Path

import numpy as np

from nasbench1shot1.table_building.sources import IMAGES, SAMPLE, read_sample
from nasbench1shot1.tables.folder import Columns, Meta

NAME, VERSION = "nb101-sample", "1"
TIMED_BUDGET = 108


def sample_columns(sources: Path | None = None) -> tuple[Columns, Meta]:
    """Columns and description of the sample, for `Table.from_columns` or `write_table`.

    No search space lies in the sample whole, so it has no member of one.

    Args:
        sources: folder of the real measurements; the package's own if not given.

    Raises DamagedFileError where the sample cannot be read.
    """
    sample = read_sample(sources)
    columns: Columns = {
        "hash": sample.hashes.view(np.uint8).reshape(-1, 16),
        "cell": sample.encodings,
        "trainable_parameters": sample.parameters.astype(np.int32),
        "validation_accuracy": np.rint(sample.accuracy * IMAGES).astype(np.uint16)[:, :, None],
        "training_time": sample.seconds.astype(np.float32)[:, None, None],
    }
    measured = {"fidelity": "measured", "sources": [SAMPLE]}
    exact = {"fidelity": "exact", "sources": [SAMPLE]}
    about = {
        "hash": exact | {"method": "NAS-Bench-101's graph-invariant MD5"},
        "cell": exact | {"method": "pruned, numbered as NAS-Bench-101 first meets it"},
        "trainable_parameters": exact | {"method": "as the source gives it"},
        "validation_accuracy": measured
        | {
            "method": "one of three official repeats",
            "epochs": list(sample.epochs),
            "images": IMAGES,
            "rounded": "float32",
        },
        "training_time": measured | {"method": "of that repeat", "epochs": [TIMED_BUDGET]},
    }
    meta = {
        "name": NAME,
        "version": VERSION,
        "date": "2026-11-21",
        "epochs": list(sample.epochs),
        "repeats": 1,
        "spaces": [],
        "columns": about,
    }
    return columns, meta
