"""The record of the benchmark, which names all parts and imports none of them."""

from nasbench1shot1.benchmark import Benchmark, BundledTable

BENCHMARK = Benchmark(
    name="small-widths",
    title="Small-Widths",
    networks=("architecture", "architectures"),
    architecture="small_widths.space:WidthArchitecture",
    network="small_widths.network:build_network",
    training="small_widths.training:WidthTrainingOptions",
    cell="small_widths.network:WidthCell",
    skeleton="small_widths.network:WidthStages",
    keys="small_widths.table:KEYS",
    table="small-widths",
    tables={"small-widths": BundledTable(columns="small_widths.table:columns")},
    search_defaults={"cells": 3},
    black_box_defaults={"seconds": 1e4},
)
