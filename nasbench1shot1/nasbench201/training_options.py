"""The options of NAS-Bench-201's training protocol, with the published values as defaults, and a training's record."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.record import COMMON_FACTS, Training
from nasbench1shot1.nasbench201.benchmark import BENCHMARK
from nasbench1shot1.runs.options import MOST_EPOCHS, RATE, Range

Dataset = Literal["cifar10-valid", "cifar10", "cifar100", "ImageNet16-120"]
SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"epochs": 12, "images": "cifar10-sample", "channels": 8, "cells_per_stage": 1, "batch_size": 50},
}
"""Values that a scale sets for options that are not given; "quick" takes about two minutes on a CPU."""


@dataclass(frozen=True, kw_only=True)
class NATSTrainingConfig(TrainingOptions):
    """The options for training an architecture of one of NATS-Bench's spaces; the defaults are the protocol's."""

    PUBLISHED: ClassVar[tuple[str, ...]] = ("batch_size", "learning_rate", "momentum", "weight_decay", "precision")

    dataset: Dataset | None = None
    """cifar10-valid: train on half of CIFAR-10's training images and validate on the rest; cifar10: train on all;
    cifar100, ImageNet16-120: train on all, validate on half of the test images. Default: cifar10-valid, or --images."""
    learning_rate: Annotated[float, RATE] = 0.1
    """Initial learning rate; a cosine schedule lowers it after every epoch, and would reach zero after the last."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of SGD, in Nesterov's form."""
    weight_decay: Annotated[float, RATE] = 5e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    evaluate_every: Annotated[int | None, Range(1)] = 1
    """Evaluate every N epochs, and after the last; the benchmark evaluated after every epoch."""

    def resolved(self) -> Self:
        """Fill in the values that depend on the image set and the machine, and check all values.

        Raises the errors of `TrainingOptions.resolved`.
        """
        by_images: dict[str, Dataset] = {"cifar100": "cifar100", "ImageNet16-120": "ImageNet16-120"}
        return replace(super().resolved(), dataset=self.dataset or by_images.get(self.images, "cifar10-valid"))


@dataclass(frozen=True, kw_only=True)
class EdgeTrainingConfig(NATSTrainingConfig):
    """The options for training an architecture of nb201; the defaults are NAS-Bench-201's protocol."""

    BENCHMARK = BENCHMARK
    SCALES = SCALES
    PUBLISHED = ("channels", "cells_per_stage", *NATSTrainingConfig.PUBLISHED)
    RECIPE = "nasbench1shot1.nasbench201.recipe:EdgeRecipe"
    RECORD = "nasbench1shot1.nasbench201.training_options:EdgeTraining"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 200
    """Budget: number of training epochs; NAS-Bench-201 has 12 and 200."""
    channels: Annotated[int, Range(1)] = 16
    """Number of channels of the stem and the first stage; each further stage doubles it."""
    cells_per_stage: Annotated[int, Range(1)] = 5
    """Number of cells in each of the three stages."""


class NATSTraining(Training):
    """The training of an architecture of one of NATS-Bench's spaces; a subclass names its options."""

    FACTS = {"architecture": str, "index": int, **COMMON_FACTS}  # noqa: RUF012
    DESCRIBED = ("architecture", "index")

    @property
    def architecture(self) -> Architecture:
        """The architecture; raises DamagedFileError if config.json does not have one."""
        architecture: Architecture = self.trained
        return architecture


class EdgeTraining(NATSTraining):
    """The training of an architecture of nb201 with NAS-Bench-201's protocol."""

    KIND, OPTIONS = "NAS-Bench-201 training", EdgeTrainingConfig
