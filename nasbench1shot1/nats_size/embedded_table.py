"""Building of the bundled table of the size space: measured test accuracies after 90 epochs, and exact costs.

The package itself does not use this module. It documents how the bundled files were made; a test builds them again.

The source is a public copy of the test accuracies of all 32,768 architectures on three data sets. At 90 epochs, every
architecture was trained once, with seed 777. Each accuracy is a number of correctly classified test images, which is
stored. Parameters and FLOPs are calculated (`nats_size.cost`).

Validation accuracies, the trainings of 1 and 12 epochs, losses and times are only in NATS-Bench's official archive.
"""

from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import read_npz
from nasbench1shot1.nasbench201.benchmark import CLASSES, DATASETS, IMAGES, OBJECTIVES, SIDES
from nasbench1shot1.nats_size.architecture import SPACE_NAME
from nasbench1shot1.nats_size.benchmark import EPOCHS, SEEDS
from nasbench1shot1.nats_size.cost import all_flops, parameter_counts
from nasbench1shot1.nats_size.numbering import N_ARCHITECTURES, all_widths
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.description import MEMBER, Meta, exact_entry
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.stored_columns import stored_counts, to_counts
from nasbench1shot1.tables.writing import write_table

FULL_BUDGET = EPOCHS[-1]
SHORT = {"cifar10": "c10", "cifar100": "c100", "ImageNet16-120": "in16"}
"""Names of data sets in the source; "cifar10" is the training on all 50,000 images."""

MISSING = (
    "Validation accuracies, the trainings of 1 and 12 epochs, losses and times are missing (NaN); NATS-Bench's "
    "official archive has them."
)

_SOURCE = "vilhess/MONET, benchmark_scores/{Cifar10,Cifar100,ImageNet}-NATS.csv"
_META: Meta = {
    "name": SPACE_NAME,
    "version": "1",
    "keyed_by": "nats_size",
    "datasets": list(DATASETS),
    "objectives": list(OBJECTIVES),
    "epochs": list(EPOCHS),
    "repeats": 1,
    "seeds": list(SEEDS[FULL_BUDGET]),
    "spaces": [SPACE_NAME],
    "missing": MISSING,
}


def build_nats_size(source: Path, out: Path) -> Meta:
    """Write the table of the size space into a folder.

    Args:
        source: the .npz file of collected columns, with one row per official index (NOTICE describes it).
        out: folder of the new table.

    Returns:
        The description of the table.

    Raises:
        DamagedFileError: the source cannot be read, lacks a column, or is not in the official order.
    """
    found = read_npz(source, needed=("widths", *(f"{short}_test_e90" for short in SHORT.values())))
    if not np.array_equal(found["widths"], all_widths()):
        raise DamagedFileError(f"{source} does not have the official order of architectures: collect the file again")
    columns: Columns = {}
    about: dict[str, Any] = {}
    for dataset, short in SHORT.items():
        name, images = f"{dataset}.test_accuracy", IMAGES[dataset]["test"]
        counts = to_counts(found[f"{short}_test_e90"][:, None, None] / 100, images)
        if counts is None:
            raise DamagedFileError(f"{source} has accuracies on {dataset} that are not quotients of {images:,} images")
        columns[name] = stored_counts(counts, images)
        about[name] = standard("test_accuracy", dataset, epochs=(FULL_BUDGET,)).entry(
            sources=[_SOURCE], method=f"one training with seed 777; {images:,} test images", images=images
        )
    for dataset, classes in CLASSES.items():
        costs = {
            "trainable_parameters": parameter_counts(all_widths(), classes),
            "flops": all_flops(all_widths(), classes, SIDES[dataset]),
        }
        for metric, values in costs.items():
            name = f"{dataset}.{metric}"
            columns[name] = values.astype(np.int32)
            about[name] = standard(metric, dataset).entry(sources=[], method="calculated from the widths")
    rows = np.arange(N_ARCHITECTURES, dtype=np.uint16)
    for name, method in (("index", "the official index"), (f"{MEMBER}{SPACE_NAME}", "all rows")):
        columns[name], about[name] = rows, exact_entry(method)
    return write_table(out, columns, {**_META, "columns": about})
