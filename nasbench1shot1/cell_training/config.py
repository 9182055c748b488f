"""The options of trainings with their types, ranges, defaults and help; the defaults are a benchmark's protocol."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.skeleton import Skeleton
from nasbench1shot1.runs.machine import MOST_THREADS, Device, default_threads, resolve_device
from nasbench1shot1.runs.options import (
    MOST_EPOCHS,
    Images,
    Range,
    absolute_file,
    check_ranges,
    flag,
    make_options,
    option_names,
)

SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {
        "epochs": 12,
        "images": "cifar10-sample",
        "stem_channels": 16,
        "cells_per_stack": 1,
        "batch_size": 50,
        "batch_norm_momentum": 0.1,
    },
}
"""Values that a scale sets for options that are not given. The fields' own defaults are NAS-Bench-101's protocol;
"quick" takes a minute on a CPU.
"""
EdgeDataset = Literal["cifar10-valid", "cifar10", "cifar100", "ImageNet16-120"]
EDGE_SCALES: dict[str, dict[str, Any]] = {
    "full": {},
    "quick": {"epochs": 12, "images": "cifar10-sample", "channels": 8, "cells_per_stage": 1, "batch_size": 50},
}
"""Values that a scale sets for NAS-Bench-201; "quick" takes about two minutes on a CPU."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """The options of every training. `resolved` replaces None by a value that depends on the machine.

    Attributes:
        BENCHMARK: title of the benchmark whose protocol is the default.
        SCALES: values that a scale sets for options that are not given.
        PUBLISHED: names of the options that the protocol fixes, for any budget.
        RECIPE: the class with the code of the protocol (`recipe.Recipe`), as "module:Class".
        TABLE: name of the benchmark's table; None: the table in use.
    """

    BENCHMARK: ClassVar[str]
    SCALES: ClassVar[Mapping[str, Mapping[str, Any]]]
    PUBLISHED: ClassVar[tuple[str, ...]]
    RECIPE: ClassVar[str]
    TABLE: ClassVar[str | None] = None

    epochs: Annotated[int, Range(1, MOST_EPOCHS)]
    """Budget: number of training epochs."""
    scale: Literal["full", "quick"] = "full"
    """full: the benchmark's protocol on the official CIFAR-10; quick: a small network on bundled images."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of initial weights, image order, crops and flips."""
    images: Images = "cifar10"
    """Image set: cifar10, cifar100, ImageNet16-120, cifar10-sample, the name of an imported set, or an .npz file."""
    batch_size: Annotated[int, Range(2)] = 256
    """Batch size."""
    learning_rate: Annotated[float, Range(0)]
    """Initial learning rate."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of the optimizer."""
    weight_decay: Annotated[float, Range(0)]
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    device: Device = "auto"
    """Device to compute on; auto selects a GPU if there is one."""
    threads: Annotated[int | None, Range(1, MOST_THREADS)] = None
    """Number of CPU threads; results are reproducible only with an equal number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16 for the network (autocast); batch-norm statistics and the optimizer stay in float32."""
    compile: bool = False
    """Compile the network with torch.compile (needs a C++ compiler on a CPU)."""
    checkpoint_every: Annotated[int, Range(1)] = 1
    """Write a checkpoint every N epochs, and after the last."""

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """Return a resolved configuration from named options; the scale sets options that are not given, or None.

        Raises:
            InvalidInputError: an option is unknown (the message suggests the closest known one) or belongs to another
                benchmark, or a value has the wrong type or is out of range.
        """
        check_options(cls, given)
        scale = make_options(cls, given, {}).scale
        return make_options(cls, given, cls.SCALES[scale]).resolved()

    def resolved(self) -> Self:
        """Fill in the values that depend on the machine, and check all values.

        Raises:
            InvalidInputError: a number is out of its range, or the device does not exist.
        """
        config = replace(
            self,
            threads=default_threads() if self.threads is None else self.threads,
            device=resolve_device(self.device),
            images=absolute_file(self.images) or self.images,
        )
        check_ranges(config)
        return config

    def as_dict(self) -> dict[str, Any]:
        """Return all options by name, for JSON."""
        return asdict(self)

    def is_published(self) -> bool:
        """Return whether the options match the benchmark's protocol, for any budget."""
        return all(getattr(self, name) == getattr(type(self), name) for name in self.PUBLISHED)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(TrainingOptions):
    """The options for training a cell; the defaults are NAS-Bench-101's protocol."""

    BENCHMARK = "NAS-Bench-101"
    SCALES = SCALES
    PUBLISHED = (
        "stem_channels", "stacks", "cells_per_stack", "batch_size", "learning_rate", "momentum", "rms_decay",
        "rms_epsilon", "weight_decay", "batch_norm_momentum",
    )  # fmt: skip
    RECIPE = "nasbench1shot1.cell_training.nasbench101:CellRecipe"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 108
    """Budget: number of training epochs; NAS-Bench-101 has 4, 12, 36 and 108."""
    stem_channels: Annotated[int, Range(1)] = 128
    """Number of channels of the stem and the first stack; each further stack doubles it."""
    stacks: Annotated[int, Range(1, 6)] = 3
    """Number of stacks of cells; the image is halved between stacks."""
    cells_per_stack: Annotated[int, Range(1)] = 3
    """Number of cells per stack."""
    numbering: Literal["given", "nasbench101"] = "given"
    """Order of the vertices: as in the cell (given), or as NAS-Bench-101 trained that cell (nasbench101)."""
    learning_rate: Annotated[float, Range(0)] = 0.2
    """Initial learning rate; a cosine schedule lowers it to zero, per step. The very first step has rate zero."""
    rms_decay: Annotated[float, Range(0, 1)] = 0.9
    """Decay of RMSProp's moving average of squared gradients."""
    rms_epsilon: Annotated[float, Range(0)] = 1.0
    """Constant added to RMSProp's moving average before the square root."""
    weight_decay: Annotated[float, Range(0)] = 1e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    batch_norm_momentum: Annotated[float, Range(0, 1)] = 0.003
    """Weight of a new batch in batch-norm's running statistics; 0.003 is TensorFlow's 0.997."""

    def skeleton(self, classes: int) -> Skeleton:
        """Return the network skeleton around the cells; the configuration must be resolved."""
        return Skeleton(
            stem_channels=self.stem_channels,
            stacks=self.stacks,
            cells_per_stack=self.cells_per_stack,
            classes=classes,
        )


@dataclass(frozen=True, kw_only=True)
class EdgeTrainingConfig(TrainingOptions):
    """The options for training an architecture of nb201; the defaults are NAS-Bench-201's protocol."""

    BENCHMARK = "NAS-Bench-201"
    SCALES = EDGE_SCALES
    PUBLISHED = ("channels", "cells_per_stage", "batch_size", "learning_rate", "momentum", "weight_decay")
    RECIPE = "nasbench1shot1.cell_training.nasbench201:EdgeRecipe"
    TABLE = "nb201"

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 200
    """Budget: number of training epochs; NAS-Bench-201 has 12 and 200."""
    dataset: EdgeDataset | None = None
    """cifar10-valid: train on half of CIFAR-10's training images and validate on the rest; cifar10: train on all;
    cifar100, ImageNet16-120: train on all, validate on half of the test images. Default: cifar10-valid, or --images."""
    channels: Annotated[int, Range(1)] = 16
    """Number of channels of the stem and the first stage; each further stage doubles it."""
    cells_per_stage: Annotated[int, Range(1)] = 5
    """Number of cells in each of the three stages."""
    learning_rate: Annotated[float, Range(0)] = 0.1
    """Initial learning rate; a cosine schedule lowers it after every epoch, and would reach zero after the last."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of SGD, in Nesterov's form."""
    weight_decay: Annotated[float, Range(0)] = 5e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    evaluate_every: Annotated[int, Range(1)] = 1
    """Evaluate every N epochs, and after the last; NAS-Bench-201 evaluated after every epoch."""

    def resolved(self) -> Self:
        """Fill in the values that depend on the image set and the machine, and check all values.

        Raises the errors of `TrainingOptions.resolved`.
        """
        by_images: dict[str, EdgeDataset] = {"cifar100": "cifar100", "ImageNet16-120": "ImageNet16-120"}
        return replace(super().resolved(), dataset=self.dataset or by_images.get(self.images, "cifar10-valid"))


OPTIONS = option_names(TrainingConfig)


def training_config(given: Mapping[str, Any]) -> TrainingConfig:
    """Return a resolved configuration for NAS-Bench-101 (`TrainingOptions.from_options`)."""
    return TrainingConfig.from_options(given)


def check_options(options: type[TrainingOptions], given: Iterable[str]) -> None:
    """Raise InvalidInputError for an option that only trainings of another benchmark have."""
    mine = option_names(options)
    for name in given:
        for other in (TrainingConfig, EdgeTrainingConfig):
            if name not in mine and name in option_names(other):
                raise InvalidInputError(
                    f"{flag(name)} does not apply to the training protocol of {options.BENCHMARK} (only to "
                    f"{other.BENCHMARK}'s): remove it"
                )
