"""The record of NAS-Bench-201 (Dong and Yang 2020), the topology space of NATS-Bench."""

from nasbench1shot1.benchmark import Benchmark, BundledTable

_ROOM = "nasbench1shot1.nasbench201"

BENCHMARK = Benchmark(
    name="nasbench201",
    title="NAS-Bench-201",
    networks=("architecture", "architectures"),
    architecture=f"{_ROOM}.architecture:EdgeArchitecture",
    network=f"{_ROOM}.network:build_edge_network",
    training=f"{_ROOM}.training_options:EdgeTrainingConfig",
    cell=f"{_ROOM}.supernet:EdgeCell",
    skeleton=f"{_ROOM}.supernet:ResidualStages",
    keys=f"{_ROOM}.keys:IndexKeys",
    table="nb201",
    tables={
        "nb201": BundledTable(open=f"{_ROOM}.embedded_table:embedded_folder"),
    },
    files=(f"{_ROOM}.official_files:PTH", f"{_ROOM}.official_files:NATS_ARCHIVE"),
    statistics="nasbench1shot1.experiments.space_statistics.nasbench201.catalogue:ANALYSES",
    split="nasbench201",
    search_defaults={  # section 4 and appendix
        "cells": 15,
        "batch_size": 64,
        "weight_decay": 5e-4,
        "nesterov": True,
        "grad_clip": 5.0,
    },
    quick_defaults={"batch_size": 32},
    black_box_defaults={"seconds": 12_000.0, "epochs": 12},  # section 4 and appendix B
)
