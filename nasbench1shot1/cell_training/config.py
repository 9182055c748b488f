"""Every option of the training of a cell, once: its type, default and help; config.json is one of these, resolved."""

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
"""What a scale fills in where no option says otherwise. The fields' own defaults are NAS-Bench-101's protocol; "quick"
is one for a CPU and a minute.
"""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The options of the training of a cell. None means that the machine decides (`resolved`)."""

    epochs: Annotated[int, Range(1, MOST_EPOCHS)] = 108
    """Budget: passes over the training images (full 108, quick 12; NAS-Bench-101 has 4, 12, 36 and 108)."""
    scale: Literal["full", "quick"] = "full"
    """full: NAS-Bench-101's protocol on the official CIFAR-10; quick: a small network on the carried sample."""
    seed: Annotated[int, Range(0)] = 0
    """Seed of everything random: initial weights, order of images, crops and flips."""
    images: str = "cifar10"
    """Image set: cifar10, cifar10-sample, an imported name or an .npz file."""
    stem_channels: Annotated[int, Range(1)] = 128
    """Channels of stem and first stack; every further stack doubles them (full 128, quick 16)."""
    stacks: Annotated[int, Range(1, 6)] = 3
    """Stacks of cells; the image is halved between them."""
    cells_per_stack: Annotated[int, Range(1)] = 3
    """Cells per stack (full 3, quick 1)."""
    numbering: Literal["given", "nasbench101"] = "given"
    """Vertices as the cell numbers them (given), or as NAS-Bench-101 trained the same cell (nasbench101)."""
    batch_size: Annotated[int, Range(2)] = 256
    """Images per step (full 256, quick 50)."""
    learning_rate: Annotated[float, Range(0)] = 0.2
    """Learning rate at the beginning; it falls to zero along a cosine, by step, and is zero in the very first step."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of RMSProp."""
    rms_decay: Annotated[float, Range(0, 1)] = 0.9
    """Weight of the old value in RMSProp's mean of squared gradients."""
    rms_epsilon: Annotated[float, Range(0)] = 1.0
    """Added to that mean under the root."""
    weight_decay: Annotated[float, Range(0)] = 1e-4
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    batch_norm_momentum: Annotated[float, Range(0, 1)] = 0.003
    """Weight of the newest batch in batch-norm's running statistics (full 0.003: TensorFlow's 0.997; quick 0.1)."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, …"""
    threads: Annotated[int | None, Range(1, MOST_THREADS)] = None
    """Number of CPU threads; results are repeatable only with the same number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16: the network under autocast; batch-norm statistics and the optimizer stay float32."""
    compile: bool = False
    """Compile the network with torch.compile (needs a C++ compiler on a CPU)."""
    checkpoint_every: Annotated[int, Range(1)] = 1
    """Epochs between checkpoints; there also is one after each of the three evaluations."""

    def resolved(self) -> "TrainingConfig":
        """Fill in what the machine decides and check every value.

        Raises:
            InvalidInputError: a number is out of its range, or there is no such device.
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
        """All options by name, for JSON."""
        return asdict(self)

    def skeleton(self, classes: int) -> Skeleton:
        """What stands around the cells, of a resolved configuration."""
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
"""What makes a training NAS-Bench-101's, at whichever budget and on its images."""


def training_config(given: Mapping[str, Any]) -> TrainingConfig:
    """Return a resolved configuration from named options; what is not given, or None, is the scale's.

    Raises:
        InvalidInputError: an unknown option (the closest known one is suggested), a value of a wrong type or out of
            range.
    """
    scale = filled(TrainingConfig, given, {}).scale
    return filled(TrainingConfig, given, SCALES[scale]).resolved()
