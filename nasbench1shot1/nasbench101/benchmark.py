"""The record of NAS-Bench-101 (Ying et al. 2019), to which the spaces of NAS-Bench-1Shot1 belong."""

from nasbench1shot1.benchmark import Benchmark, BundledTable

_ROOM = "nasbench1shot1.nasbench101"

BENCHMARK = Benchmark(
    name="nasbench101",
    title="NAS-Bench-101",
    networks=("cell", "cells"),
    architecture=f"{_ROOM}.architecture:CellArchitecture",
    network=f"{_ROOM}.network:build_network",
    training=f"{_ROOM}.training_options:TrainingConfig",
    cell=f"{_ROOM}.supernet:ChoiceBlockCell",
    skeleton=f"{_ROOM}.supernet:CellStacks",
    shared_passes=f"{_ROOM}.shared_passes:ChoiceBlockPaths",
    keys=f"{_ROOM}.keys:CellKeys",
    tables={
        "embedded": BundledTable(folder="nasbench1shot1:data/table", build=f"{_ROOM}.embedded_table:build_embedded"),
        "nb101-5v": BundledTable(
            folder="nasbench1shot1:data/nb101_5v/table", build=f"{_ROOM}.embedded_table:build_five_vertices"
        ),
        "nb101-sample": BundledTable(columns=f"{_ROOM}.sample:sample_columns"),
    },
    files=(f"{_ROOM}.official_files:TFRECORDS",),
    downloads={"only108": f"{_ROOM}.official_files:ONLY108", "full": f"{_ROOM}.official_files:FULL"},
    statistics="nasbench1shot1.experiments.space_statistics.nasbench101:ANALYSES",
    black_box_defaults={"seconds": 1e7},  # NAS-Bench-101, section 5
    has_original_preset=True,
    original_passes=f"{_ROOM}.original_passes:original_passes",
)
