"""The record of NAS-Bench-101 (Ying et al. 2019), to which the spaces of NAS-Bench-1Shot1 belong."""

from nasbench1shot1.benchmark import Benchmark, BundledTable

RESNET_LIKE = "nb101:0|1||||0,2:conv3x3,conv3x3,conv3x3,conv3x3,conv3x3"
"""The ResNet-like cell: two 3×3 convolutions, and a skip connection around both.

This is the basic block of He et al. (2016). The bundled table has a measured test accuracy of 93.18 %, a mean of three
trainings; the paper prints 93.12 % for its ResNet-like cell. This difference is within the noise of three trainings.
"""
INCEPTION_LIKE = "nb101:0|0|0|3|0|1,2,4,5:conv1x1,conv3x3,conv3x3,conv3x3,maxpool3x3"
"""The Inception-like cell of figure 1: one 1×1, one 3×3 and two 3×3 convolutions (instead of 5×5), and a max-pooling.

The branches are concatenated. Edges and operations were compared with the example in the documentation of `nasbench`.
The paper's test accuracy, 92.95 %, could not be checked: the bundled tables lack this cell of seven vertices.
"""

_ROOM = "nasbench1shot1.nasbench101"

BENCHMARK = Benchmark(
    name="nasbench101",
    title="NAS-Bench-101",
    networks=("cell", "cells"),
    architecture=f"{_ROOM}.architecture:CellArchitecture",
    network=f"{_ROOM}.network:build_network",
    training=f"{_ROOM}.training_options:TrainingConfig",
    cell=f"{_ROOM}.supernet:ChoiceBlockCell",
    cell_features=(
        "auxiliary-skip",
        "weights-of-operations",
        "partial-channels",
        "masked-operations",
        "masked-edges",
        "observed-candidates",
    ),
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
    reference_points={"ResNet-like cell": RESNET_LIKE, "Inception-like cell": INCEPTION_LIKE},  # section 3, figure 3
    costs={"flops": f"{_ROOM}.features:flops_of_table"},
    black_box_defaults={"seconds": 1e7},  # NAS-Bench-101, section 5
    has_original_preset=True,
    original_passes=f"{_ROOM}.original_passes:original_passes",
)
