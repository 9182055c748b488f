"""Every option of the training of a cell, once: its type, default and help; config.json is one of these, resolved."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from nasbench1shot1.errors import unknown_name
from nasbench1shot1.nasbench101.skeleton import NUMBERINGS, Skeleton
from nasbench1shot1.runs.compute import MOST_THREADS, PRECISIONS, default_threads, resolve_device
from nasbench1shot1.runs.options import absolute_file, check_range, given, option_names, typed_options

SCALES: dict[str, dict[str, Any]] = {
    "full": {
        "epochs": 108,
        "images": "cifar10",
        "stem_channels": 128,
        "cells_per_stack": 3,
        "batch_size": 256,
        "batch_norm_momentum": 0.003,
    },
    "quick": {
        "epochs": 12,
        "images": "cifar10-sample",
        "stem_channels": 16,
        "cells_per_stack": 1,
        "batch_size": 50,
        "batch_norm_momentum": 0.1,
    },
}
"""What a scale fills in where no option says otherwise: NAS-Bench-101's protocol, and one for a CPU and a minute."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The options of the training of a cell. None means that the scale, or the machine, decides (`resolved`)."""

    epochs: int | None = None
    """Budget: passes over the training images (full 108, quick 12; NAS-Bench-101 has 4, 12, 36 and 108)."""
    scale: str = "full"
    """full: NAS-Bench-101's protocol on the official CIFAR-10; quick: a small network on the carried sample."""
    seed: int = 0
    """Seed of everything random: initial weights, order of images, crops and flips."""
    images: str | None = None
    """Image set: cifar10, cifar10-sample, an imported name or an .npz file."""
    stem_channels: int | None = None
    """Channels of stem and first stack; every further stack doubles them (full 128, quick 16)."""
    stacks: int = 3
    """Stacks of cells; the image is halved between them."""
    cells_per_stack: int | None = None
    """Cells per stack (full 3, quick 1)."""
    numbering: str = "given"
    """Vertices as the cell numbers them (given), or as NAS-Bench-101 trained the same cell (nasbench101)."""
    batch_size: int | None = None
    """Images per step (full 256, quick 50)."""
    learning_rate: float = 0.2
    """Learning rate at the beginning; it falls to zero along a cosine, by step, and is zero in the very first step."""
    momentum: float = 0.9
    """Momentum of RMSProp."""
    rms_decay: float = 0.9
    """Weight of the old value in RMSProp's mean of squared gradients."""
    rms_epsilon: float = 1.0
    """Added to that mean under the root."""
    weight_decay: float = 1e-4
    """Half the sum of all squared trainable numbers, times this, is added to the loss (L2)."""
    batch_norm_momentum: float | None = None
    """Weight of the newest batch in batch-norm's running statistics (full 0.003: TensorFlow's 0.997; quick 0.1)."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, …"""
    threads: int | None = None
    """CPU threads; part of what makes a training repeatable. As many as PyTorch chooses if not given."""
    precision: str = "float32"
    """float32, or bfloat16: the network under autocast; batch-norm statistics and the optimizer stay float32."""
    compile: bool = False
    """Compile the network with torch.compile (needs a C++ compiler on a CPU)."""
    checkpoint_every: int = 1
    """Epochs between checkpoints; there also is one after each of the three evaluations."""

    def resolved(self) -> "TrainingConfig":
        """The same with every None filled in and every value checked.

        Raises:
            InvalidInputError: an unknown scale, numbering or precision, or a number out of its range.
        """
        for name, known in (("scale", SCALES), ("numbering", NUMBERINGS), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        filled = {name: value for name, value in SCALES[self.scale].items() if getattr(self, name) is None}
        threads = default_threads() if self.threads is None else self.threads
        config = replace(self, **filled, threads=threads, device=resolve_device(self.device))
        for name, (least, most) in _RANGES.items():
            check_range(name, getattr(config, name), least, most)
        return replace(config, images=absolute_file(config.images))

    def as_dict(self) -> dict[str, Any]:
        """All options by name, for JSON."""
        return asdict(self)

    def skeleton(self, classes: int) -> Skeleton:
        """What stands around the cells, of a resolved configuration."""
        return Skeleton(
            stem_channels=given(self.stem_channels),
            stacks=self.stacks,
            cells_per_stack=given(self.cells_per_stack),
            classes=classes,
        )


OPTIONS = option_names(TrainingConfig)
PROTOCOL = {
    **{name: value for name, value in SCALES["full"].items() if name not in ("epochs", "images")},
    **{
        name: getattr(TrainingConfig(), name)
        for name in ("stacks", "learning_rate", "momentum", "rms_decay", "rms_epsilon", "weight_decay")
    },
}
"""What makes a training NAS-Bench-101's, at whichever budget and on its images."""
_RANGES: dict[str, tuple[float, float]] = {
    "epochs": (1, math.inf),
    "seed": (0, math.inf),
    "stem_channels": (1, math.inf),
    "stacks": (1, 6),  # of 32 pixels nothing is left after six
    "cells_per_stack": (1, math.inf),
    "batch_size": (2, math.inf),
    "learning_rate": (0, math.inf),
    "momentum": (0, 1),
    "rms_decay": (0, 1),
    "rms_epsilon": (0, math.inf),
    "weight_decay": (0, math.inf),
    "batch_norm_momentum": (0, 1),
    "threads": (1, MOST_THREADS),
    "checkpoint_every": (1, math.inf),
}


def make_config(options: Mapping[str, Any]) -> TrainingConfig:
    """A configuration from named options.

    Raises:
        InvalidInputError: an unknown option (the closest known one is suggested) or a value of a wrong type.
    """
    return TrainingConfig(**typed_options(TrainingConfig, options))
