"""The uniform sample of NAS-Bench-101 that is bundled in data/sources, as a table."""

from pathlib import Path

import numpy as np

from nasbench1shot1.nasbench101.sources import DATASET, IMAGES, SAMPLE, cells_of, read_source
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.description import Meta, exact_entry
from nasbench1shot1.tables.folder import Columns

NAME, VERSION = "nb101-sample", "1"


def sample_columns(sources: Path | None = None) -> tuple[Columns, Meta]:
    """Return the columns and the description of the sample, for `Table.from_columns` or `write_table`.

    The sample has 27,001 cells of NAS-Bench-101, drawn uniformly, each with one of the three official repeats per
    budget. It does not contain any complete search space, so it has no `member_` columns.

    Args:
        sources: the folder with the measurements. Default: the package's own sources.

    Raises DamagedFileError if the sample cannot be read.
    """
    arrays = read_source(SAMPLE, sources)
    hashes, encodings = cells_of(arrays)
    epochs = tuple(map(int, arrays["epochs"]))
    columns: Columns = {
        "hash": hashes.view(np.uint8).reshape(-1, 16),
        "cell": encodings,
        "trainable_parameters": arrays["params"].astype(np.int32),
        "validation_accuracy": np.rint(arrays["valid_acc"] * IMAGES).astype(np.uint16)[:, :, None],
        "training_time": arrays["train_time_s_e108"].astype(np.float32)[:, None, None],
    }
    about = {
        "hash": exact_entry("NAS-Bench-101's graph-invariant MD5", SAMPLE),
        "cell": exact_entry("pruned, numbered as NAS-Bench-101 first meets it", SAMPLE),
        "trainable_parameters": standard("trainable_parameters", DATASET).entry(
            sources=[SAMPLE], method="as the source gives it"
        ),
        "validation_accuracy": standard("validation_accuracy", DATASET, epochs=epochs).entry(
            sources=[SAMPLE], method="one of three official repeats", images=IMAGES, rounded="float32"
        ),
        "training_time": standard("training_time", DATASET, epochs=(108,)).entry(
            sources=[SAMPLE], method="of that repeat"
        ),
    }
    meta = {
        "name": NAME,
        "version": VERSION,
        "date": "2026-11-21",
        "keyed_by": "nasbench101",
        "datasets": [DATASET],
        "epochs": list(epochs),
        "repeats": 1,
        "spaces": [],
        "columns": about,
    }
    return columns, meta
