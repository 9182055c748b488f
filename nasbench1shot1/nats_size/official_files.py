"""What NATS-Bench's archives have of the size space."""

from typing import Any

from nasbench1shot1.nasbench201.benchmark import CLASSES, DATASETS, IMAGES, OBJECTIVES, OFFICIAL_SETS
from nasbench1shot1.nats_size.architecture import WidthArchitecture
from nasbench1shot1.nats_size.benchmark import BENCHMARK, EPOCHS, SEEDS
from nasbench1shot1.nats_size.cost import parameter_count
from nasbench1shot1.trial_files.description import Trainings


def _parameters(architecture: WidthArchitecture, classes: int) -> int:
    return parameter_count(architecture.widths, classes)


def _configuration(text: str, classes: int) -> dict[str, Any]:
    return {"name": "infer.shape.tiny", "channels": text, "genotype": _CELL, "num_classes": classes}


_CELL = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
"""The cell of all networks, in NAS-Bench-201's format."""

TRAININGS = Trainings(
    benchmark=BENCHMARK,
    tag="sss",
    datasets=DATASETS,
    sets=OFFICIAL_SETS,
    images=IMAGES,
    classes=CLASSES,
    epochs=EPOCHS,
    seeds=tuple(sorted({seed for seeds in SEEDS.values() for seed in seeds})),
    objectives=OBJECTIVES,
    parameters=_parameters,
    configuration=_configuration,
)
