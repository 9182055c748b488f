"""The size space of NATS-Bench (Dong et al. 2021, arXiv:2009.00437): its trainings and its record.

The data sets and their splits are those of NAS-Bench-201 (`nasbench201.benchmark`).
"""

from nasbench1shot1.benchmark import Benchmark, BundledTable

EPOCHS = (1, 12, 90)
"""The budgets, which the official API calls "01", "12" and "90"; each has a learning-rate schedule of its own."""

SEEDS = {1: (777,), 12: (777, 888, 999), 90: (777,)}
"""The random seeds of the published trainings by budget: at 90 epochs, every architecture was trained once."""

_ROOM = "nasbench1shot1.nats_size"

BENCHMARK = Benchmark(
    name="nats_size",
    title="NATS-Bench (size)",
    networks=("architecture", "architectures"),
    architecture=f"{_ROOM}.architecture:WidthArchitecture",
    keys=f"{_ROOM}.keys:WidthKeys",
    network=f"{_ROOM}.network:build_width_network",
    training=f"{_ROOM}.training_options:WidthTrainingConfig",
    table="nats-size",
    tables={"nats-size": BundledTable(folder="nasbench1shot1:data/nats_size/table")},
    statistics="nasbench1shot1.experiments.space_statistics.nats_bench.size:ANALYSES",
    reference_points={
        "largest network": "64:64:64:64:64",
        "pyramid": "16:32:32:64:64",  # NAS-Bench-201's widths
        "inverse pyramid": "64:64:32:32:16",
        "smallest network": "8:8:8:8:8",
    },
    has_largest_baseline=True,
    files=("nasbench1shot1.trial_files.archives:ARCHIVES",),
    trainings=f"{_ROOM}.official_files:TRAININGS",
    cell=f"{_ROOM}.supernet:WidthCell",
    skeleton=f"{_ROOM}.supernet:SizeStages",
    split="nasbench201",
    has_original_preset=True,
    original_defaults={  # exps/NATS-algos/search-size.py in AutoDL-Projects
        "draw_with_replacement": True,
        "augment_scored_images": False,
    },
    search_defaults={  # configs/nas-benchmark/algos/weight-sharing.config of AutoDL-Projects
        "channels": 64,
        "cells": 3,
        "batch_size": 64,
        "weight_decay": 5e-4,
        "nesterov": True,
    },
    scale_defaults={
        "long": {"channels": 64, "cells": 3, "epochs": 32},
        "medium": {"channels": 64, "cells": 3, "epochs": 8},
        "quick": {"channels": 64, "cells": 3, "batch_size": 32, "epochs": 8},
    },
    black_box_defaults={"seconds": 20_000.0, "epochs": 12},  # exps/NATS-algos/run-all.sh
)
