"""The options of the training protocol of NATS-Bench's size space, and a training's record."""

from dataclasses import dataclass
from typing import Annotated, Any

from nasbench1shot1.cell_training.record import COMMON_FACTS, Training
from nasbench1shot1.nasbench201.training_options import NATSTrainingConfig
from nasbench1shot1.nats_size.architecture import WidthArchitecture
from nasbench1shot1.nats_size.benchmark import BENCHMARK
from nasbench1shot1.runs.options import MOST_EPOCHS, Range

SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"epochs": 12, "images": "cifar10-sample", "batch_size": 50},
}
"""Values that a scale sets for options that are not given; widths are those of the architecture at every scale."""
FACTS = {"architecture": str, "index": int, **COMMON_FACTS}
"""Fields of config.json besides the options, with their types."""


@dataclass(frozen=True, kw_only=True)
class WidthTrainingConfig(NATSTrainingConfig):
    """The options for training an architecture of nats-size; the defaults are NATS-Bench's protocol."""

    BENCHMARK = BENCHMARK
    SCALES = SCALES
    RECIPE = "nasbench1shot1.nats_size.recipe:WidthRecipe"
    RECORD = "nasbench1shot1.nats_size.training_options:WidthTraining"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 90
    """Budget: number of training epochs; NATS-Bench has 1, 12 and 90."""


class WidthTraining(Training):
    """The training of an architecture of nats-size with NATS-Bench's protocol."""

    KIND, OPTIONS, FACTS = "NATS-Bench size training", WidthTrainingConfig, FACTS
    DESCRIBED = ("architecture", "index")

    @property
    def architecture(self) -> WidthArchitecture:
        """Return the architecture; raises DamagedFileError if config.json does not have one."""
        architecture: WidthArchitecture = self.trained
        return architecture
