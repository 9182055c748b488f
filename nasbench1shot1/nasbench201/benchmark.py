"""NAS-Bench-201 (Dong and Yang 2020), the topology space of NATS-Bench: its trainings (section 2.2) and its record."""

from nasbench1shot1.benchmark import Benchmark, BundledTable

DATASETS = ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")
"""The trainings by data set: "cifar10-valid" has half of CIFAR-10's training images, "cifar10" has all of them."""

CLASSES = {"cifar10-valid": 10, "cifar10": 10, "cifar100": 100, "ImageNet16-120": 120}
SIDES = {"cifar10-valid": 32, "cifar10": 32, "cifar100": 32, "ImageNet16-120": 16}
"""Width and height of the images in pixels."""

IMAGES = {
    "cifar10-valid": {"train": 25_000, "validation": 25_000, "test": 10_000},
    "cifar10": {"train": 50_000, "test": 10_000},
    "cifar100": {"train": 50_000, "validation": 5_000, "test": 5_000, "valtest": 10_000},
    "ImageNet16-120": {"train": 151_700, "validation": 3_000, "test": 3_000, "valtest": 6_000},
}
"""Number of images in each split; "valtest" is validation and test together. "cifar10" has none left for validation."""

OFFICIAL_SETS = {
    "cifar10-valid": {"train": "train", "validation": "x-valid", "test": "ori-test"},
    "cifar10": {"train": "train", "test": "ori-test"},
    "cifar100": {"train": "train", "validation": "x-valid", "test": "x-test", "valtest": "ori-test"},
    "ImageNet16-120": {"train": "train", "validation": "x-valid", "test": "x-test", "valtest": "ori-test"},
}
"""The official names of the splits. "ori-test" of the last two combines the validation and the test images."""

EPOCHS = (12, 200)
SEEDS = (111, 777, 888, 999)
"""Random seeds in the published files; an architecture has one to three of them for each training."""

OBJECTIVES = (
    {"dataset": "cifar10", "validation": "cifar10-valid", "test": "cifar10"},
    {"dataset": "cifar100", "validation": "cifar100", "test": "cifar100"},
    {"dataset": "ImageNet16-120", "validation": "ImageNet16-120", "test": "ImageNet16-120"},
)
"""For each data set of a search, the trainings that have its validation and test values."""

RESNET = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|"
ALL_SKIP = "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"
"""The cell that DARTS finds in table 5."""

_ROOM = "nasbench1shot1.nasbench201"

BENCHMARK = Benchmark(
    name="nasbench201",
    title="NAS-Bench-201",
    networks=("architecture", "architectures"),
    architecture=f"{_ROOM}.architecture:EdgeArchitecture",
    network=f"{_ROOM}.network:build_edge_network",
    training=f"{_ROOM}.training_options:EdgeTrainingConfig",
    cell=f"{_ROOM}.supernet:EdgeCell",
    cell_features=(
        "auxiliary-skip",
        "weights-of-operations",
        "partial-channels",
        "masked-operations",
        "observed-candidates",
        "unsampled-terms",
    ),
    skeleton=f"{_ROOM}.supernet:ResidualStages",
    keys=f"{_ROOM}.keys:EdgeKeys",
    table="nb201",
    tables={
        "nb201": BundledTable(folder="nasbench1shot1:data/nb201/table"),
    },
    files=(f"{_ROOM}.official_files:PTH", "nasbench1shot1.trial_files.archives:ARCHIVES"),
    trainings=f"{_ROOM}.official_files:TRAININGS",
    statistics="nasbench1shot1.experiments.space_statistics.nats_bench.topology:ANALYSES",
    reference_points={"ResNet cell": RESNET, "all-skip cell": ALL_SKIP},  # figure 2 and table 5
    split="nasbench201",
    halves=f"{_ROOM}.splits:official_halves",
    search_defaults={  # section 4 and appendix
        "cells": 15,
        "batch_size": 64,
        "weight_decay": 5e-4,
        "nesterov": True,
        "grad_clip": 5.0,
    },
    scale_defaults={"quick": {"batch_size": 32}},
    black_box_defaults={"seconds": 12_000.0, "epochs": 12},  # section 4 and appendix B
    has_original_preset=True,
    original_defaults={  # exps/NAS-Bench-201-algos in AutoDL-Projects
        "augment_architecture_images": True,
        "draw_with_replacement": True,
        "augment_scored_images": False,
        "evaluation_batch_norm": "batch-in-cells",
        "scored_batch_size": 64,
    },
)
