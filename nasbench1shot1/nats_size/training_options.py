"""The options of the training protocol of NATS-Bench's size space, and a training's record."""

from dataclasses import dataclass
from typing import Annotated, Any

from nasbench1shot1.nasbench201.training_options import NATSTraining, NATSTrainingConfig
from nasbench1shot1.nats_size.benchmark import BENCHMARK
from nasbench1shot1.runs.options import MOST_EPOCHS, Range

SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"epochs": 12, "images": "cifar10-sample", "batch_size": 50},
}
"""Values that a scale sets for options that are not given; widths are those of the architecture at every scale."""


@dataclass(frozen=True, kw_only=True)
class WidthTrainingConfig(NATSTrainingConfig):
    """The options for training an architecture of nats-size; the defaults are NATS-Bench's protocol."""

    BENCHMARK = BENCHMARK
    SCALES = SCALES
    RECIPE = "nasbench1shot1.nats_size.recipe:WidthRecipe"
    RECORD = "nasbench1shot1.nats_size.training_options:WidthTraining"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 90
    """Budget: number of training epochs; NATS-Bench has 1, 12 and 90."""


class WidthTraining(NATSTraining):
    """The training of an architecture of nats-size with NATS-Bench's protocol."""

    KIND, OPTIONS = "NATS-Bench size training", WidthTrainingConfig
