"""The options of the training of a cell, each with its type, range, default and help."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from nasbench1shot1.nasbench101.skeleton import Skeleton
from nasbench1shot1.runs.compute import MOST_THREADS, default_threads, resolve_device
from nasbench1shot1.runs.options import MOST_EPOCHS, Range, absolute_file, check_ranges, filled, option_names

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


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The options of the training of a cell. `resolved` replaces None by the value that the machine decides."""

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 108
    """Budget: number of training epochs (quick scale: 12; NAS-Bench-101 has 4, 12, 36 and 108)."""
    scale: Literal["full", "quick"] = "full"
    """full: NAS-Bench-101's protocol on the official CIFAR-10; quick: a small network on bundled images."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of initial weights, image order, crops and flips."""
    images: str = "cifar10"
    """Image set: cifar10, cifar100, ImageNet16-120, cifar10-sample, the name of an imported set, or an .npz file."""
    stem_channels: Annotated[int, Range(1)] = 128
    """Number of channels of the stem and the first stack; each further stack doubles it (quick scale: 16)."""
    stacks: Annotated[int, Range(1, 6)] = 3
    """Number of stacks of cells; the image is halved between stacks."""
    cells_per_stack: Annotated[int, Range(1)] = 3
    """Number of cells per stack (quick scale: 1)."""
    numbering: Literal["given", "nasbench101"] = "given"
    """Order of the vertices: as in the cell (given), or as NAS-Bench-101 trained that cell (nasbench101)."""
    batch_size: Annotated[int, Range(2)] = 256
    """Batch size (quick scale: 50)."""
    learning_rate: Annotated[float, Range(0)] = 0.2
    """Initial learning rate; a cosine schedule lowers it to zero, per step. The very first step has rate zero."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of RMSProp."""
    rms_decay: Annotated[float, Range(0, 1)] = 0.9
    """Decay of RMSProp's moving average of squared gradients."""
    rms_epsilon: Annotated[float, Range(0)] = 1.0
    """Constant added to RMSProp's moving average before the square root."""
    weight_decay: Annotated[float, Range(0)] = 1e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    batch_norm_momentum: Annotated[float, Range(0, 1)] = 0.003
    """Weight of a new batch in batch-norm's running statistics; 0.003 is TensorFlow's 0.997 (quick scale: 0.1)."""
    device: str = "auto"
    """Device: auto, cpu, cuda, cuda:1, …"""
    threads: Annotated[int | None, Range(1, MOST_THREADS)] = None
    """Number of CPU threads; results are reproducible only with an equal number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16 for the network (autocast); batch-norm statistics and the optimizer stay in float32."""
    compile: bool = False
    """Compile the network with torch.compile (needs a C++ compiler on a CPU)."""
    checkpoint_every: Annotated[int, Range(1)] = 1
    """Write a checkpoint every N epochs, and after each of the three evaluations."""

    def resolved(self) -> "TrainingConfig":
        """Fill in what the machine decides and check every value.

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

    def skeleton(self, classes: int) -> Skeleton:
        """Return the network skeleton around the cells; the configuration must be resolved."""
        return Skeleton(
            stem_channels=self.stem_channels,
            stacks=self.stacks,
            cells_per_stack=self.cells_per_stack,
            classes=classes,
        )


OPTIONS = option_names(TrainingConfig)
PROTOCOL = {
    name: getattr(TrainingConfig, name)
    for name in (
        "stem_channels", "stacks", "cells_per_stack", "batch_size", "learning_rate", "momentum", "rms_decay",
        "rms_epsilon", "weight_decay", "batch_norm_momentum",
    )
}  # fmt: skip
"""The options of NAS-Bench-101's training protocol, for any budget."""


def training_config(given: Mapping[str, Any]) -> TrainingConfig:
    """Return a resolved configuration from named options; what is not given, or None, is the scale's.

    Raises:
        InvalidInputError: an unknown option (the closest known one is suggested), a value of a wrong type or out of
            range.
    """
    scale = filled(TrainingConfig, given, {}).scale
    return filled(TrainingConfig, given, SCALES[scale]).resolved()
