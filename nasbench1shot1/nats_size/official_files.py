"""What NATS-Bench's archives have of the size space."""

from dataclasses import replace
from typing import Any

from nasbench1shot1.nasbench201 import official_files as nasbench201
from nasbench1shot1.nats_size.architecture import CELL, WidthArchitecture
from nasbench1shot1.nats_size.benchmark import BENCHMARK, EPOCHS, SEEDS
from nasbench1shot1.nats_size.cost import parameter_count


def _parameters(architecture: WidthArchitecture, classes: int) -> int:
    return parameter_count(architecture.widths, classes)


def _configuration(text: str, classes: int) -> dict[str, Any]:
    return {"name": "infer.shape.tiny", "channels": text, "genotype": CELL.official, "num_classes": classes}


TRAININGS = replace(
    nasbench201.TRAININGS,
    benchmark=BENCHMARK,
    tag="sss",
    epochs=EPOCHS,
    seeds=tuple(sorted({seed for seeds in SEEDS.values() for seed in seeds})),
    parameters=_parameters,
    configuration=_configuration,
    unprinted={},
)
"""The trainings of the size space, which have the data sets and splits of NAS-Bench-201."""
